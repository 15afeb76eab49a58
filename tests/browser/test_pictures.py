"""Pictures in a real browser: clicks on patches and heads, an uploaded picture, training now."""

import re

import numpy as np
from playwright.sync_api import expect

from attn_core.figures.picture import patch_picture
from attn_core.images import Picture, patch_names, read_picture, sample_picture
from tests.attn_core.pictures import encoded, gradient
from tests.browser.driving import click_cell, press, settle, wait_for_numbers

PICTURE = "patches_picture"


def wait_for_picture(page, picture: Picture) -> None:
    """Waits until the browser holds this picture."""
    source = patch_picture(picture.pixels, 4, 0, patch_names(4, 4)).data[0].source
    page.wait_for_function(
        "([key, source]) => document.querySelector(`.st-key-${key} .js-plotly-plot`)?.data?.[0]?.source === source",
        arg=[PICTURE, source],
    )
    settle(page)


def test_clicks_choose_patches_cells_heads_and_tokens(visit):
    page = visit("/image_patches?lang=en&patch_step=scores")
    click_cell(page, PICTURE, 2, 3)
    expect(page).to_have_url(re.compile("patch=11&patch_step=scores$"))
    settle(page)
    click_cell(page, "patches_attention", 3, 0)
    expect(page).to_have_url(re.compile("patch=12&patch_step=scores$"))
    settle(page)
    click_cell(page, "patches_product", 7, 9)
    expect(page).to_have_url(re.compile("patch=7&patch_key=9&"))
    settle(page)
    press(page, "ArrowRight")
    expect(page).to_have_url(re.compile("patch=7&patch_key=10&"))
    settle(page)
    click_cell(page, "digit_heads", 0, 2)
    expect(page).to_have_url(re.compile("vit_layer=0&vit_head=2$"))
    settle(page)
    click_cell(page, "digit_attention", 1, 1)
    expect(page).to_have_url(re.compile("vit_layer=0&vit_head=2&vit_query=6$"))


def test_an_uploaded_picture_stays_in_its_session(visit):
    page = visit("/image_patches?lang=ja&picture=own", width=390)
    wait_for_picture(page, sample_picture("flower"))
    data = encoded(gradient(80, 60), "JPEG")
    upload = page.locator(".st-key-upload input[type=file]")
    upload.set_input_files({"name": "photo.jpg", "mimeType": "image/jpeg", "buffer": data})
    wait_for_picture(page, read_picture(data))
    expect(page).to_have_url(re.compile(r"lang=ja&picture=own$"))
    upload.set_input_files({"name": "photo.jpg", "mimeType": "image/jpeg", "buffer": b"no picture at all"})
    expect(page.get_by_text("ここで読める形式の画像ではありません。")).to_be_visible()
    wait_for_picture(page, read_picture(data))
    page.reload()
    settle(page)
    wait_for_picture(page, sample_picture("flower"))


def test_training_now_can_be_stopped(visit):
    page = visit("/image_patches?lang=en&vit_seed=4242&vit_epochs=40")
    page.locator(".st-key-train_digits button").click()
    expect(page).to_have_url(re.compile("vit_live=true"))
    page.locator(".st-key-stop button").click()
    expect(page).to_have_url(re.compile("vit_seed=4242$"))
    settle(page)
    expect(page.locator(".st-key-stop")).to_have_count(0)


def test_a_link_trains_again(visit):
    page = visit("/image_patches?lang=en&vit_live=true&vit_epochs=1&vit_seed=11")
    expect(page.get_by_text("Other settings than the stored model's")).to_be_visible()
    counts = page.evaluate("document.querySelector('.st-key-digit_confusion .js-plotly-plot').data[0].z")
    again = visit("/image_patches?lang=en&vit_live=true&vit_epochs=1&vit_seed=11")
    wait_for_numbers(again, "digit_confusion", 0, np.array(counts))
