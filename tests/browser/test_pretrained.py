"""A real model in a real browser: clicks and keys, the link, files, texts that would be more than text, a phone."""

import csv
import re
from pathlib import Path
from urllib.parse import quote, urlencode

import numpy as np
import pytest
from numpy.testing import assert_allclose
from playwright.sync_api import Page, expect

from tests import eager
from tests.browser.driving import (
    click_cell,
    injected,
    numbers,
    press,
    settle,
    wait_for_numbers,
    wait_for_title,
    wait_for_total,
)
from tests.browser.layout import cut_text, excess_width

TIRED = "The animal didn't cross the street because it was too tired."
WIDE = "The animal didn't cross the street because it was too wide."
SIX = "0.2 1.8 4.5 2.9 3.1 5.11"
HEAD = "head_weights"


def link(**query: str) -> str:
    return "/pretrained?" + urlencode({"lang": "en", **query}, quote_via=quote)


def weights(layer: int, head: int, passage: str = TIRED) -> np.ndarray:
    return eager.bundled(passage).weights[layer, head]


def wait_for_head(page: Page, layer: int, head: int, passage: str = TIRED, key: str = HEAD) -> None:
    """Waits until the picture of one head shows this one; the numbers are the model's, in float32."""
    wait_for_numbers(page, key, 0, weights(layer, head, passage), within=1e-6)


def test_clicks_choose_a_head_and_a_cell(visit):
    page = visit(link())
    wait_for_head(page, 5, 11)
    wait_for_total(page, eager.bundled(TIRED).head(5, 11)["scores"][10, 2])
    click_cell(page, "all_heads", 2, 9)
    expect(page).to_have_url(re.compile("pretrained_layer=2&pretrained_head=9$"))
    wait_for_head(page, 2, 9)
    scores = eager.bundled(TIRED).head(2, 9)["scores"]
    for key, place in ((HEAD, (3, 4)), ("head_lines", (7, 4)), ("head_lines", (7, 12)), ("head_product", (5, 6))):
        click_cell(page, key, *place)
        expect(page).to_have_url(re.compile("pretrained_query={}&pretrained_key={}$".format(*place)))
        wait_for_total(page, scores[place])
    page.locator(".st-key-strongest_next button").click()
    expect(page).to_have_url(re.compile("pretrained_layer=1&pretrained_head=8&"))
    wait_for_head(page, 1, 8)


def test_keys_step_through_the_heads_and_pin(visit):
    page = visit(link(pretrained_layer="1", pins="0.2 4.5 2.9 3.1"))
    for key, layer, head in (("ArrowRight", 2, 0), ("ArrowRight", 2, 1), ("ArrowLeft", 2, 0)):
        press(page, key)
        wait_for_head(page, layer, head)
    expect(page).to_have_url(re.compile("pretrained_layer=2&pretrained_head=0&"))
    press(page, "p")
    expect(page.locator(".st-key-pinned_2_0")).to_be_visible()
    settle(page)
    expect(page).to_have_url(re.compile(r"pins=0\.2(\+|%20)4\.5(\+|%20)2\.9(\+|%20)3\.1(\+|%20)2\.0$"))
    assert_allclose(numbers(page, "pinned_2_0", 0), weights(2, 0), atol=1e-6)
    press(page, "ArrowRight")
    wait_for_head(page, 2, 1)
    press(page, "p")
    expect(page.locator(".st-key-pinned_2_1")).to_be_visible()
    settle(page)
    press(page, "ArrowRight")
    wait_for_head(page, 2, 2)
    expect(page.locator(".st-key-pin button")).to_be_disabled()
    expect(page.get_by_text("6 heads are pinned, no more fit: unpin one first.")).to_be_visible()
    address = page.url
    press(page, "p")
    press(page, "ArrowLeft")
    wait_for_head(page, 2, 1)
    assert page.url == address.replace("pretrained_head=2", "pretrained_head=1")
    press(page, "p")
    expect(page.locator(".st-key-pinned_2_1")).to_have_count(0)


def test_a_row_of_the_table_opens_its_head(visit):
    page = visit(link())
    table = page.locator(".st-key-head_table canvas").first
    table.scroll_into_view_if_needed()
    box = table.bounding_box()
    page.mouse.click(box["x"] + 18, box["y"] + 52)  # the box of the first row
    expect(page).to_have_url(re.compile("pretrained_layer=0&pretrained_head=0$"))
    wait_for_head(page, 0, 0)


def test_back_and_reload(visit):
    page = visit(link(pretrained_layer="3", pretrained_head="1"))
    wait_for_head(page, 3, 1)
    click_cell(page, "all_heads", 0, 2)
    wait_for_head(page, 0, 2)
    page.go_back()
    wait_for_head(page, 3, 1)
    page.reload()
    settle(page)
    assert_allclose(numbers(page, HEAD, 0), weights(3, 1), atol=1e-6)


def test_a_text_of_one_s_own_and_the_other_language(visit):
    page = visit(link(passage=WIDE))
    page.locator(".st-key-passage textarea").fill("Time flies like an arrow.")
    page.keyboard.press("Control+Enter")
    wait_for_head(page, 5, 11, "Time flies like an arrow.")
    expect(page).to_have_url(re.compile("passage=Time"))
    page.locator(".st-key-lang").get_by_text("日本語", exact=True).click()
    wait_for_title(page, "本物のモデル")
    assert_allclose(numbers(page, HEAD, 0), weights(5, 11, "Time flies like an arrow."), atol=1e-6)
    page.get_by_role("link", name="it は何を指す？").click()
    wait_for_head(page, 3, 1)
    wait_for_head(page, 3, 1, WIDE, "text_1")
    expect(page).to_have_url(re.compile("lang=ja&second_passage=The.*&pretrained_layer=3&pretrained_head=1$"))


def test_files_are_made_when_they_are_asked_for(visit, tmp_path: Path):
    page = visit(link(pretrained_layer="3", pretrained_head="1"))
    with page.expect_download() as saved:
        page.get_by_role("button", name="This head's weights (.csv)").click()
    assert saved.value.suggested_filename == "head_3.1.csv"
    saved.value.save_as(tmp_path / "head.csv")
    header, *rows = csv.reader((tmp_path / "head.csv").read_text("utf-8-sig").splitlines())
    assert header[1:4] == ["[CLS]", "the", "animal"]
    assert_allclose(np.array([row[1:] for row in rows], dtype=float), weights(3, 1), atol=1e-6)
    with page.expect_download() as saved:
        page.get_by_role("button", name="Python script that prints these numbers").click()
    script = Path(saved.value.path()).read_text("utf-8")
    assert "layer, head, query, key = 3, 1, 10, 2\n" in script


def test_stopped_while_it_loads(fresh_server, visit):
    page = visit("/exercises?lang=en", at=fresh_server)
    page.goto(fresh_server + link())
    page.locator(".st-key-stop button").click()
    read = page.locator(".st-key-read button")
    expect(read).to_have_text(re.compile("Read"))
    settle(page)
    assert page.locator(".js-plotly-plot").count() == 0
    read.click()
    wait_for_head(page, 5, 11)
    expect(page.locator(".st-key-stop")).to_have_count(0)


HOSTILE = (
    "<img src=x onerror=alert(1)>",
    "<script>alert(1)</script>",
    "$\\href{javascript:alert(1)}{x}$",
    "[a](javascript:alert(1))",
    "![i](//example.org/i.png)",
    "**b** _i_ `c` ~~s~~ :red[x] \\ \\\\",
)


def test_hostile_texts_are_shown_as_typed(visit):
    """Every mark is a token; the one that asks is shown in Markdown, all are in tables, lists and pictures."""
    text = " ".join(HOSTILE)
    page = visit(link(passage=text, second_passage=text, pins="0.2", pretrained_query="1", pretrained_key="2"))
    assert page.locator(".st-key-passage textarea").input_value() == text
    shown = page.locator("[data-testid=stMain]").inner_text()
    asked = eager.bundled(text).names[2]
    assert f"< gives {asked} the weight" in shown
    assert shown.count("< attends most to: ") == 2
    assert "Most of what has reached <: " in shown
    assert injected(page) == 0
    page.get_by_text("All numbers").click()
    expect(page.locator("[data-testid=stExpander] canvas").first).to_be_visible()
    settle(page)
    assert injected(page) == 0


FULL = {"pins": SIX, "second_passage": WIDE, "special_tokens": "false"}


@pytest.mark.parametrize(
    ("lang", "width", "theme", "query"),
    [
        ("ja", 390, "dark", FULL),
        ("en", 1280, "light", FULL),
        ("en", 390, "light", FULL | {"pins": "40.0", "lecture": "true"}),
    ],
    ids=["phone", "desk", "lecture mode on a phone"],
)
def test_nothing_is_cut(visit, lang, width, theme, query):
    page = visit(link(**query | {"lang": lang}), lang=lang, width=width, theme=theme)
    assert excess_width(page) <= 1
    assert cut_text(page) == []
