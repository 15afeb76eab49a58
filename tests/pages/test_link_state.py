"""The link is the state: URL → records → widgets, and widgets → records → URL → numbers."""

from urllib.parse import urlencode

import numpy as np
import pytest
from numpy.testing import assert_allclose
from streamlit.testing.v1 import AppTest

from attn_core import Lesson
from attn_core.links import Ignored
from pages.shared.settings import SimilaritySettings
from pages.shared.shell import RECORDS
from tests import independent
from tests.pages.reading import LANGUAGES, PAGE_NAMES, address, figure, warnings


def shown(app: AppTest, key: str, trace: int) -> np.ndarray:
    return np.array(figure(app, key)["data"][trace]["z"])


def expected(app: AppTest, tokens: tuple[str, ...] | None = None) -> dict[str, np.ndarray]:
    """The lesson behind the page's own address, computed without the app."""
    return independent.lesson_from_link("/?" + urlencode(address(app)), tokens)


def test_the_link_becomes_the_record(open_page):
    page = open_page(
        "similarity",
        lang="en",
        text="I am a dog",
        d_model="6",
        seed="7",
        scale="none",
        query="3",
        key="1",
        view="scaled",
    )
    lesson = Lesson(lang="en", text="I am a dog", d_model=6, seed=7, scale="none", query=3, key=1)
    assert page.session_state["_records"][Lesson] == lesson
    assert page.session_state["_records"][SimilaritySettings] == SimilaritySettings(view="scaled")
    assert Lesson.from_query(address(page)) == lesson
    assert page.text_input(key="text").value == "I am a dog"
    assert page.slider(key="d_model").value == 6
    assert page.number_input(key="seed").value == 7
    assert page.radio(key="scale").value == "none"
    assert page.selectbox(key="query").value == 3
    assert page.selectbox(key="key").value == 1


def test_defaults_stay_out_of_the_link(open_page):
    for name in PAGE_NAMES:
        assert set(address(open_page(name, lang="ja"))) <= {"lang", "n_samples", "largest_d_k"}


@pytest.mark.parametrize("lang", LANGUAGES)
@pytest.mark.parametrize(
    "query",
    [
        {},
        {"d_model": "6", "seed": "7"},
        {"scale": "none"},
        {"scale": "d_k", "d_model": "2"},
        {"text": "the cat the cat", "query": "3", "key": "1"},
        {"d_model": "6", "n_heads": "3", "head": "1"},
        {"positions": "sinusoidal", "mask": "causal", "query": "3"},
        {"second_text": "I run", "positions": "learned", "padding": "1", "n_heads": "2"},
    ],
    ids=str,
)
def test_the_numbers_are_those_of_the_link(open_page, lang, query):
    page = open_page("similarity", lang=lang, **query)
    numbers = expected(page)
    heads = independent.split(int(query.get("n_heads", 1)), numbers["q"], numbers["k"])
    q, k = heads[int(query.get("head", 0))]
    assert_allclose(shown(page, "similarity_product", 0), q, atol=1e-12)
    assert_allclose(shown(page, "similarity_product", 1), k.T, atol=1e-12)
    assert_allclose(shown(page, "similarity_product", 2), numbers["scores"], atol=1e-12)
    row, column = int(query.get("query", 2)), int(query.get("key", 0))
    assert f"{numbers['scores'][row, column]:.4f}".replace("-", "−") in page.get("plotly_chart")[0].proto.alt


def test_every_page_shows_the_same_lesson(open_page):
    query = {"lang": "en", "d_model": "5", "seed": "11"}
    numbers = expected(open_page("softmax", **query))
    assert_allclose(shown(open_page("one_hot", **query), "one_hot_product", 2), numbers["x"], atol=1e-12)
    assert_allclose(shown(open_page("softmax", **query), "softmax_weights", 0), numbers["weights"], atol=1e-12)
    overview = open_page("overview", **query)
    for place, name in enumerate(("one_hot", "x", "q", "k", "v", "scores", "scaled", "weights", "output")):
        assert_allclose(shown(overview, "overview_strip", place), numbers[name], atol=1e-12, err_msg=name)


@pytest.mark.parametrize("name", ["one_hot", "x", "inputs", "masked", "weights", "output", "joined", "y"])
def test_every_step_of_the_overview_is_that_of_the_link(open_page, name):
    query = {"text": "the cat saw a dog", "second_text": "I run", "positions": "sinusoidal", "mask": "causal"}
    page = open_page("overview", lang="en", stage=name, d_model="6", n_heads="2", head="1", seed="3", **query)
    cells, numbers = figure(page, "overview_matrix")["data"][0], expected(page)[name]
    assert np.array_equal(np.array(cells["text"]) == "−∞", np.isneginf(numbers))
    finite = np.isfinite(numbers)
    assert_allclose(np.array(cells["z"])[finite], numbers[finite], atol=1e-12)


@pytest.mark.parametrize(
    ("kind", "key", "value", "written"),
    [
        ("text_input", "text", "I am a dog", "I am a dog"),
        ("slider", "d_model", 6, "6"),
        ("number_input", "seed", 12, "12"),
        ("radio", "scale", "none", "none"),
    ],
)
def test_widgets_of_the_lesson_move_the_numbers_and_the_link(open_page, kind, key, value, written):
    page = open_page("softmax", lang="en")
    before = shown(page, "softmax_weights", 0)
    page = getattr(page, kind)(key=key).set_value(value).run()
    assert not page.exception
    assert address(page)[key] == written
    assert getattr(page.session_state["_records"][Lesson], key) == value
    after = shown(page, "softmax_weights", 0)
    assert not np.array_equal(before, after)
    assert_allclose(after, expected(page)["weights"], atol=1e-12)


def test_cutting_into_characters_moves_the_tokens(open_page):
    page = open_page("similarity", lang="ja")
    page = page.radio(key="segmentation").set_value("characters").run()
    assert address(page)["segmentation"] == "characters"
    assert figure(page, "similarity_product")["layout"]["xaxis"]["ticktext"] == list("私は学生です")


def test_lists_and_steps_choose_the_cell(open_page):
    page = open_page("similarity", lang="en")
    page = page.selectbox(key="query").set_value(0).run()
    page = page.selectbox(key="key").set_value(3).run()
    assert (address(page)["query"], address(page)["key"]) == ("0", "3")
    page = page.button(key="step_right").click().run()  # on to the next row
    assert (address(page)["query"], address(page).get("key", "0")) == ("1", "0")
    page = page.button(key="step_left").click().run()
    assert (page.session_state["_records"][Lesson].query, page.session_state["_records"][Lesson].key) == (0, 3)


def test_the_chosen_cell_is_moved_inside_a_shorter_text(open_page):
    page = open_page("similarity", lang="en", text="the cat", query="31", key="31")
    assert not page.exception
    assert page.selectbox(key="query").value == 1


def test_widgets_of_single_pages_move_their_numbers(open_page):
    page = open_page("softmax", lang="en")
    page = page.slider(key="temperature").set_value(0.5).run()
    assert address(page)["temperature"] == "0.5"
    plain_weights = independent.lesson_from_link("/?lang=en")
    powers = np.exp(plain_weights["scaled"] / 0.5)
    assert_allclose(shown(page, "softmax_weights", 0), powers / powers.sum(1, keepdims=True), atol=1e-12)

    page = open_page("similarity", lang="en")
    page = page.get("button_group")[-1].set_value("scaled").run()
    assert address(page)["view"] == "scaled"
    assert_allclose(shown(page, "similarity_product", 2), plain_weights["scaled"], atol=1e-12)

    page = open_page("overview", lang="en")
    page = page.button(key="step_left").click().run()
    assert address(page)["stage"] == "weights"
    assert_allclose(shown(page, "overview_matrix", 0), plain_weights["weights"], atol=1e-12)


def test_an_overflow_is_shown_and_mended_by_the_switch(open_page):
    page = open_page("softmax", lang="en", offset="1000")
    assert not page.exception
    assert address(page)["offset"] == "1000"
    page = page.toggle(key="subtract_maximum").set_value(True).run()
    assert address(page)["subtract_maximum"] == "true"
    assert_allclose(shown(page, "softmax_weights", 0), independent.lesson_from_link("/?lang=en")["weights"], atol=1e-9)


def test_looking_up_words(open_page):
    page = open_page("one_hot", lang="en")
    page = page.text_input(key="lookup").set_value("cat").run()
    assert "**cat** has ID 2." in [m.value for m in page.markdown]
    page = page.text_input(key="lookup").set_value("[UNK]$x$").run()
    assert any(m.value.startswith(r"**\[UNK\]\$x\$** is not in the vocabulary") for m in page.markdown)


def test_the_experiment_follows_its_widgets(open_page):
    page = open_page("scaling", lang="en")
    for key, value in (("entries", "signs"), ("divisor", "power")):
        page = page.selectbox(key=key).set_value(value).run()
        assert address(page)[key] == value
    page = page.slider(key="exponent").set_value(1.0).run()
    page = page.select_slider(key="n_samples").set_value(1000).run()
    assert address(page) == {
        "lang": "en",
        "entries": "signs",
        "divisor": "power",
        "exponent": "1.0",
        "n_samples": "1000",
        "largest_d_k": "8",
    }
    variance = figure(page, "scaling_variance")
    assert not page.exception
    assert variance["data"]
    page = page.button(key="step_left").click().run()
    assert address(page)["shown_d_k"] == "4"


def test_a_large_experiment_waits_to_be_started(open_page):
    page = open_page("scaling", lang="en", n_samples="1000000", largest_d_k="4096")
    assert not page.exception
    assert page.button(key="start").label == "Start"
    assert [info.value for info in page.info] == [
        "This experiment draws 16,382,000,000 random numbers; that takes a while."
    ]
    assert page.title[0].value == "Why divide by √dₖ"


@pytest.mark.parametrize("lang", LANGUAGES)
@pytest.mark.parametrize("name", PAGE_NAMES)
def test_the_language_switch(open_page, name, lang):
    other = "en" if lang == "ja" else "ja"
    page = open_page(name, lang=lang)
    page = page.button_group(key="lang").set_value(other).run()
    assert not page.exception
    assert address(page)["lang"] == other
    assert page.text_input(key="text").value == independent.DEFAULT_TEXT[other]
    assert page.title[0].value == open_page(name, lang=other).title[0].value


def test_a_text_of_ones_own_stays_when_the_language_changes(open_page):
    page = open_page("similarity", lang="ja", text="猫 は 本", seed="3")
    page = page.button_group(key="lang").set_value("en").run()
    assert address(page) == {"lang": "en", "text": "猫 は 本", "seed": "3"}


def test_the_session_wins_over_the_address(open_page):
    page = open_page("similarity", lang="en", seed="3")
    page.query_params["seed"] = "5"
    page = page.run()
    assert page.session_state["_records"][Lesson].seed == 3
    assert address(page) == {"lang": "en", "seed": "3"}


def test_a_prepared_link_wins_over_the_session(open_page):
    page = open_page("similarity", lang="en", seed="3", view="cosine")
    page.query_params.clear()
    page.query_params["open"] = "true"
    page.query_params["lang"] = "en"
    page.query_params["d_model"] = "8"
    page = page.run()
    assert page.session_state["_records"][Lesson] == Lesson(lang="en", d_model=8)
    assert page.session_state["_records"][SimilaritySettings] == SimilaritySettings()
    assert address(page) == {"lang": "en", "d_model": "8"}, "the word that opens a prepared link leaves the address"


def test_parameters_of_others_leave_the_address(open_page):
    page = open_page("similarity", lang="en", utm_source="x")
    assert warnings(page) == []
    assert address(page) == {"lang": "en"}


@pytest.mark.parametrize(
    ("locale", "lang"), [("ja", "ja"), ("ja-JP", "ja"), ("en-US", "en"), ("de-DE", "en"), (None, "en")]
)
def test_the_browser_chooses_the_language_of_a_bare_address(open_page, monkeypatch, locale, lang):
    monkeypatch.setattr("streamlit.runtime.context.ContextProxy.locale", locale)
    page = open_page("overview")
    assert page.session_state["_records"][Lesson].lang == lang


def test_a_refused_change_is_reported_and_changes_nothing():
    def script():
        from attn_core import Lesson
        from pages.shared.link import change, current

        change(Lesson, seed=5)
        change(Lesson, seed=-1)
        assert current(Lesson).seed == 5

    app = AppTest.from_function(script, default_timeout=60).run()
    assert not app.exception
    assert app.session_state["_records"][Lesson].ignored == (Ignored("seed", "-1", "0 … 999999"),)


def test_every_record_has_its_own_words():
    """A field's name is its widget's key and its parameter: two records of one link must not share one."""
    names = [name for record in RECORDS for name in record.names()]
    assert len(names) == len(set(names))
