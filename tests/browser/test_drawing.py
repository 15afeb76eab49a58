"""Drawing a mask: by clicks, by keys, from the mask that is there, until a query sees nothing, and back again."""

import re

from playwright.sync_api import expect

from tests import independent
from tests.browser.driving import click_cell, press, settle, wait_for_numbers

PICTURE, WEIGHTS = "mask_drawing", "mask_weights"


def weights(query: str):
    return independent.lesson_from_link(f"/?{query}")["weights"]


def test_a_click_hides_and_a_second_click_shows(visit):
    page = visit("/masks_positions?lang=en")
    for row, column, hidden in ((0, 3, "0:3"), (1, 3, "0:3 1:3"), (1, 3, "0:3"), (1, 3, "0:3 1:3")):
        click_cell(page, PICTURE, row, column)
        wait_for_numbers(page, WEIGHTS, 0, weights(f"lang=en&mask=drawn&hidden={hidden}"))
        expect(page).to_have_url(re.compile(re.escape(hidden.replace(":", "%3A").replace(" ", "+")) + "&"))


def test_a_drawing_starts_from_the_causal_mask(visit):
    page = visit("/masks_positions?lang=en&mask=causal")
    click_cell(page, PICTURE, 0, 3)
    wait_for_numbers(page, WEIGHTS, 0, weights("lang=en&mask=drawn&hidden=0:1-2 1:2-3 2:3"))
    click_cell(page, WEIGHTS, 3, 1)  # this picture chooses the cell and draws nothing
    expect(page).to_have_url(re.compile("query=3&key=1$"))
    wait_for_numbers(page, WEIGHTS, 0, weights("lang=en&mask=drawn&hidden=0:1-2 1:2-3 2:3"))


def test_drawing_by_keys(visit):
    page = visit("/masks_positions?lang=en&query=0&key=2")
    press(page, "h")
    wait_for_numbers(page, WEIGHTS, 0, weights("lang=en&mask=drawn&hidden=0:2"))
    press(page, "ArrowRight")
    expect(page).to_have_url(re.compile("key=3$"))
    settle(page)
    press(page, "h")
    wait_for_numbers(page, WEIGHTS, 0, weights("lang=en&mask=drawn&hidden=0:2-3"))


def test_a_query_that_sees_nothing_is_named_until_it_sees_something(visit):
    page = visit("/masks_positions?lang=en&mask=drawn&hidden=2:0-2&query=2&key=3")
    click_cell(page, PICTURE, 2, 3)
    warning = page.get_by_text("Query 2: sat may see no key")
    expect(warning).to_be_visible()
    wait_for_numbers(page, WEIGHTS, 0, weights("lang=en"))
    click_cell(page, PICTURE, 2, 0)
    expect(warning).to_have_count(0)
    wait_for_numbers(page, WEIGHTS, 0, weights("lang=en&mask=drawn&hidden=2:1-3"))
