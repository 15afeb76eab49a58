"""Several heads and a second sentence, chosen by mouse, and what the link says afterwards."""

import re

from numpy.testing import assert_allclose
from playwright.sync_api import expect

from tests.browser.driving import click_cell, numbers, settle, traces, wait_for_numbers
from tests.independent import lesson_from_link


def test_a_click_on_another_head_s_cell_chooses_head_query_and_key(visit):
    page = visit("/multi_head?lang=en&n_heads=2")
    click_cell(page, "heads_weights", 1, 3, 0)
    expect(page).to_have_url(re.compile(r"n_heads=2&query=3&head=1$"))
    settle(page)
    click_cell(page, "heads_weights", 0, 1, 2)
    expect(page).to_have_url(re.compile(r"n_heads=2&query=1&key=2$"))
    settle(page)
    click_cell(page, "heads_share_rows", 1, 3)
    expect(page).to_have_url(re.compile(r"query=1&key=2&column=3&head=1$"))
    wait_for_numbers(page, "joined_product", 2, lesson_from_link(page.url)["y"])


def test_the_number_of_heads_and_a_second_sentence(visit):
    page = visit("/multi_head?lang=en")
    page.locator(".st-key-n_heads").get_by_text("4", exact=True).click()
    expect(page).to_have_url(re.compile(r"n_heads=4$"))
    wait_for_numbers(page, "joined_product", 2, lesson_from_link(page.url)["y"])
    page.locator(".st-key-second_text input").fill("I am a dog you")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"second_text=I"))
    expected = lesson_from_link(page.url)
    assert expected["weights"].shape == (4, 5)
    wait_for_numbers(page, "heads_weights", 0, expected["weights"])
    total = next(trace["y"] for trace in traces(page, "heads_shares") if trace["name"] == "y")
    assert_allclose(total, expected["y"][2], atol=1e-9)
    assert numbers(page, "heads_share_rows", 0).shape == (4, 4)
