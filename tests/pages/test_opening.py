"""Every page opens in both languages, with a text alternative to every picture."""

import pytest

from tests.pages.reading import LANGUAGES, PAGE_NAMES, address, charts, warnings

TITLES = {
    "overview": {"ja": "全体像", "en": "Overview"},
    "one_hot": {"ja": "one-hot と埋め込み", "en": "One-hot and embedding"},
    "similarity": {"ja": "類似度行列", "en": "Similarity matrix"},
    "softmax": {"ja": "softmax と注意の重み", "en": "Softmax weights"},
    "scaling": {"ja": "なぜ √dₖ で割るのか", "en": "Why divide by √dₖ"},
}


@pytest.mark.parametrize("lang", LANGUAGES)
@pytest.mark.parametrize("name", PAGE_NAMES)
def test_page_opens(open_page, name, lang):
    page = open_page(name, lang=lang)
    assert not page.exception
    assert warnings(page) == []
    assert len(page.title) == 1
    assert page.title[0].value == TITLES.get(name, {lang: page.title[0].value})[lang]
    assert address(page)["lang"] == lang
    assert charts(page) or name == "exercises"  # where the question decides


@pytest.mark.parametrize("lang", LANGUAGES)
@pytest.mark.parametrize("name", PAGE_NAMES)
def test_every_chart_says_what_it_shows(open_page, name, lang):
    page = open_page(name, lang=lang)
    alternatives = {key: chart.alt for key, chart in charts(page).items()}
    assert len(alternatives) == len(page.get("plotly_chart")), "two pictures with the same key"
    assert all(alternatives.values()), alternatives
    assert len(set(alternatives.values())) == len(alternatives), "two pictures with the same words"


WHOLE = {"second_text": "猫 と 犬", "positions": "learned", "mask": "causal", "n_heads": "2"}


@pytest.mark.parametrize(
    ("stage", "parts", "left", "right"),
    [
        ("one_hot", {}, False, True),
        ("v", {}, True, True),
        ("output", {}, True, False),
        ("y", {}, True, False),  # a lesson without the step shows the last one before it
        ("output", WHOLE, True, True),
        ("y", WHOLE, True, False),
    ],
)
def test_the_stages_of_the_overview(open_page, stage, parts, left, right):
    page = open_page("overview", lang="ja", stage=stage, **parts)
    assert not page.exception
    assert (not page.button(key="step_left").disabled, not page.button(key="step_right").disabled) == (left, right)


@pytest.mark.parametrize("name", PAGE_NAMES)
def test_page_opens_with_every_part_a_lesson_may_have(open_page, name):
    page = open_page(name, lang="ja", **WHOLE, padding="1", head="1", query="3", key="3", column="3")
    assert not page.exception
    assert address(page)["n_heads"] == "2"


def test_the_first_page_has_no_previous_one_and_the_last_no_next(open_page):
    buttons = {name: {button.key for button in open_page(name).button} for name in (PAGE_NAMES[0], PAGE_NAMES[-1])}
    assert buttons[PAGE_NAMES[0]] & {"previous_page", "next_page"} == {"next_page"}
    assert buttons[PAGE_NAMES[-1]] & {"previous_page", "next_page"} == {"previous_page"}


@pytest.mark.parametrize("lang", LANGUAGES)
def test_page_turners_name_their_neighbours(open_page, lang):
    pages = [open_page(name, lang=lang) for name in PAGE_NAMES]
    titles = [page.title[0].value for page in pages]
    assert [page.button(key="next_page").label for page in pages[:-1]] == titles[1:]
    assert [page.button(key="previous_page").label for page in pages[1:]] == titles[:-1]


def test_turning_the_page_keeps_the_lesson(open_page):
    page = open_page("similarity", lang="en", text="a dog I am", seed="9", query="1", key="3", view="cosine")
    page = page.button(key="next_page").click().run()
    assert page.title[0].value == TITLES["softmax"]["en"]
    whole = {"lang": "en", "text": "a dog I am", "seed": "9", "query": "1", "key": "3", "view": "cosine"}
    assert address(page) == whole
    page = page.button(key="previous_page").click().run()
    assert page.title[0].value == TITLES["similarity"]["en"]
    assert address(page) == whole
