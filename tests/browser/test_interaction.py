"""What a person does: type, slide, click, step, turn pages, go back, reload, change the language."""

import re

from numpy.testing import assert_allclose
from playwright.sync_api import expect

from tests import independent
from tests.browser.driving import click_cell, numbers, press, settle, wait_for_numbers, wait_for_title, wait_for_total

PICTURE = "similarity_product"


def lesson(query: str):
    return independent.lesson_from_link(f"/?{query}")


def test_typing_a_sentence_moves_the_numbers(visit):
    page = visit("/similarity?lang=en")
    before = numbers(page, PICTURE, 2)
    page.locator(".st-key-text input").fill("I am a dog")
    page.keyboard.press("Enter")
    expected = lesson("lang=en&text=I+am+a+dog")
    wait_for_numbers(page, PICTURE, 2, expected["scores"])
    assert abs(before - expected["scores"]).max() > 0
    expect(page).to_have_url(re.compile(r"lang=en&text=I\+am\+a\+dog$"))
    wait_for_total(page, expected["scores"][2, 0])


def test_a_slider_moves_the_numbers(visit):
    page = visit("/similarity?lang=en")
    page.get_by_role("button", name="Lesson settings").click()
    page.get_by_role("slider", name="d_model").focus()
    page.keyboard.press("ArrowRight")
    expected = lesson("lang=en&d_model=5")
    wait_for_numbers(page, PICTURE, 0, expected["q"])
    wait_for_numbers(page, PICTURE, 2, expected["scores"])
    expect(page).to_have_url(re.compile("d_model=5"))
    page.keyboard.press("Escape")
    wait_for_total(page, expected["scores"][2, 0])


def test_a_click_on_the_picture_chooses_the_cell(visit):
    page = visit("/similarity?lang=ja")
    scores = lesson("lang=ja")["scores"]
    wait_for_total(page, scores[2, 0])
    for row, column in ((0, 3), (3, 1)):
        click_cell(page, PICTURE, row, column)
        expect(page).to_have_url(re.compile(f"query={row}&key={column}$"))
        wait_for_total(page, scores[row, column])


def test_arrow_keys_step_through_the_cells(visit):
    page = visit("/similarity?lang=ja&query=0&key=2")
    scores = lesson("lang=ja")["scores"]
    for key, row, column in (("ArrowRight", 0, 3), ("ArrowRight", 1, 0), ("ArrowLeft", 0, 3)):
        press(page, key)
        wait_for_total(page, scores[row, column])
    expect(page).to_have_url(re.compile("query=0&key=3$"))


def test_arrow_keys_stay_quiet_while_someone_types(visit):
    page = visit("/similarity?lang=en")
    page.locator(".st-key-text input").focus()
    page.keyboard.press("ArrowRight")
    page.locator(".st-key-text input").fill("the cat")
    page.keyboard.press("Enter")
    wait_for_numbers(page, PICTURE, 2, lesson("lang=en&text=the+cat")["scores"])
    assert "query=" not in page.url


def test_pages_turn_with_the_lesson_kept_and_back_restores(visit):
    page = visit("/similarity?lang=en&seed=4&query=1&key=3")
    weights = lesson("lang=en&seed=4")["weights"]
    press(page, "PageDown")
    wait_for_title(page, "Softmax weights")
    expect(page).to_have_url(re.compile(r"/softmax\?lang=en&seed=4&query=1&key=3$"))
    wait_for_numbers(page, "softmax_weights", 0, weights)
    press(page, "PageUp")
    wait_for_title(page, "Similarity matrix")
    press(page, "PageUp")
    expect(page.get_by_role("heading", level=1, name="Similarity matrix")).to_have_count(0)
    settle(page)
    page.go_back()
    wait_for_title(page, "Similarity matrix")
    expect(page).to_have_url(re.compile(r"/similarity\?lang=en&seed=4&query=1&key=3$"))
    wait_for_total(page, lesson("lang=en&seed=4")["scores"][1, 3])


def test_back_restores_what_was_chosen_before(visit):
    page = visit("/similarity?lang=en&query=1&key=1")
    scores = lesson("lang=en")["scores"]
    click_cell(page, PICTURE, 3, 2)
    wait_for_total(page, scores[3, 2])
    expect(page).to_have_url(re.compile("query=3&key=2$"))
    page.go_back()
    expect(page).to_have_url(re.compile("query=1&key=1$"))
    wait_for_total(page, scores[1, 1])


def test_a_reload_keeps_everything(visit):
    page = visit("/softmax?lang=en")
    page.locator(".st-key-text input").fill("a dog I am")
    page.keyboard.press("Enter")
    expected = lesson("lang=en&text=a+dog+I+am")["weights"]
    wait_for_numbers(page, "softmax_weights", 0, expected)
    expect(page).to_have_url(re.compile("text=a"))
    address = page.url
    page.reload()
    settle(page)
    assert page.url == address
    assert_allclose(numbers(page, "softmax_weights", 0), expected, atol=1e-9)
    assert page.locator(".st-key-text input").input_value() == "a dog I am"


def test_the_language_switch(visit):
    page = visit("/similarity?lang=ja&seed=6")
    page.wait_for_function("document.documentElement.lang === 'ja'")
    page.locator(".st-key-lang").get_by_text("English", exact=True).click()
    wait_for_title(page, "Similarity matrix")
    wait_for_numbers(page, PICTURE, 2, lesson("lang=en&seed=6")["scores"])
    page.wait_for_function("document.documentElement.lang === 'en'")
    expect(page).to_have_url(re.compile(r"/similarity\?lang=en&seed=6$"))
    expect(page.locator(".st-key-text input")).to_have_value("the cat sat down")
    page.locator(".st-key-lang").get_by_text("日本語", exact=True).click()
    wait_for_title(page, "類似度行列")
    wait_for_numbers(page, PICTURE, 2, lesson("lang=ja&seed=6")["scores"])


def test_a_bare_address_speaks_the_browsers_language(visit):
    assert visit("/", lang="en").locator("h1").inner_text() == "Overview"
    assert visit("/", lang="ja").locator("h1").inner_text() == "全体像"


def test_a_prepared_link_of_the_plan_opens_its_state(visit):
    page = visit("/?lang=en&seed=9")
    page.get_by_role("link", name="Order does not matter, until positions are added").click()
    wait_for_title(page, "Masks and positions")
    expect(page).to_have_url(re.compile(r"/masks_positions\?lang=en&seed=9&part=order$"))
    wait_for_numbers(page, "order_before", 0, lesson("lang=en&seed=9")["output"])


def test_an_open_share_shows_the_link_of_what_is_seen(visit):
    page = visit("/similarity?lang=en&query=1&key=0", lang="en")
    page.locator(".st-key-share_popover button").first.click()
    link = page.locator("[data-testid=stPopoverBody] [data-testid=stCode]").first
    expect(link).to_contain_text("query=1")
    press(page, "ArrowRight")
    expect(link).to_contain_text("key=1")
    page.keyboard.press("Escape")
    expect(link).to_have_count(0)
