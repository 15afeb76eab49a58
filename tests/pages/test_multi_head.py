"""The page of several heads, without a browser: its options, its numbers, and two sentences on every page."""

import types
from urllib.parse import urlencode

import numpy as np
import pytest
from numpy.testing import assert_allclose
from streamlit.testing.v1 import AppTest

from attn_core import Lesson, run_lesson
from attn_core.comparison import compare_heads
from attn_core.numbers import compact, written
from attn_core.reference import torch_difference
from attn_core.shares import head_shares
from pages.shared import picker
from tests import independent
from tests.pages.reading import LANGUAGES, address, charts, figure, tables, warnings, words

PAGE = "multi_head"
SECOND = "I am a dog you"
# Four queries, five keys, two heads of three columns, the second one chosen.
CROSS = {"lang": "en", "second_text": SECOND, "d_model": "6", "n_heads": "2", "head": "1", "query": "1", "key": "4"}


def checked(app: AppTest) -> AppTest:
    assert [error.value for error in app.exception] == []
    return app


def expected(app: AppTest) -> dict[str, np.ndarray]:
    """The lesson behind the page's own address, computed without the app."""
    return independent.lesson_from_link("/?" + urlencode(address(app)))


def shown(app: AppTest, key: str, trace: int = 0) -> np.ndarray:
    return np.array(figure(app, key)["data"][trace]["z"])


# The number of heads.


@pytest.mark.parametrize(("d_model", "options"), [(4, "1 2 4"), (5, "1 5"), (12, "1 2 3 4 6 12"), (16, "1 2 4 8 16")])
def test_only_divisors_of_d_model_can_be_chosen(open_page, d_model, options):
    page = checked(open_page(PAGE, lang="en", d_model=str(d_model)))
    choice = page.button_group(key="n_heads")
    assert list(choice.options) == options.split()
    assert choice.value == 1


def test_a_chosen_number_of_heads_goes_into_the_link_and_moves_the_numbers(open_page):
    page = open_page(PAGE, lang="en")
    before = shown(page, "joined_product", 2)
    page = checked(page.button_group(key="n_heads").set_value(2).run())
    assert address(page) == {"lang": "en", "n_heads": "2"}
    after = expected(page)
    assert_allclose(shown(page, "joined_product", 0), after["joined"], atol=1e-12)
    assert_allclose(shown(page, "joined_product", 1), after["w_o"], atol=1e-12)
    assert_allclose(shown(page, "joined_product", 2), after["y"], atol=1e-12)
    assert not np.allclose(before, after["y"])
    assert r"$\sqrt{d_k} = \sqrt{2} \approx \boldsymbol{1.4142}$" in words(page)


def test_another_d_model_keeps_a_number_of_heads_that_divides_it(open_page):
    page = open_page(PAGE, lang="en", d_model="12", n_heads="6", head="5")
    for d_model, n_heads in ((8, 4), (7, 1), (16, 1)):
        page = checked(page.slider(key="d_model").set_value(d_model).run())
        assert page.session_state["_records"][Lesson].n_heads == n_heads
        assert page.button_group(key="n_heads").value == n_heads
        assert not warnings(page)


def test_one_head_invites_to_choose_two(open_page):
    one, two = (checked(open_page(PAGE, lang="en", n_heads=n)) for n in ("1", "2"))
    assert [info.value for info in one.info] == [
        "There is one head now. Choose **2** or more above: the columns of Q, K and V are shared out among the heads, "
        "and the picture below shows one block for each."
    ]
    assert not two.info
    assert_allclose(shown(one, "heads_weights"), expected(one)["weights"], atol=1e-12)


# What the page shows.


@pytest.mark.parametrize("lang", LANGUAGES)
@pytest.mark.parametrize("query", [{}, {"n_heads": "4", "mask": "causal"}, {"d_model": "16", "n_heads": "16"}], ids=str)
def test_every_picture_has_words_with_numbers(open_page, lang, query):
    page = checked(open_page(PAGE, lang=lang, **query))
    alternatives = [chart.alt for chart in charts(page).values()]
    assert len(alternatives) == 5
    assert all(any(character.isdigit() for character in alt) for alt in alternatives)


def test_the_weights_of_every_head(open_page):
    page = checked(open_page(PAGE, **CROSS))
    for head in range(2):
        other = independent.lesson_from_link("/?" + urlencode(address(page) | {"head": str(head)}))
        assert_allclose(shown(page, "heads_weights", head), other["weights"], atol=1e-12)
        assert_allclose(shown(page, "heads_query")[head], other["weights"][1], atol=1e-12)
        peak = f"head {head}: {SECOND.split()[other['weights'][1].argmax()]} {other['weights'][1].max():.4f}"
        assert peak in charts(page)["heads_weights"].alt


def test_what_differs_between_heads_is_measured(open_page):
    page = checked(open_page(PAGE, **CROSS))
    compared = compare_heads(run_lesson(page.session_state["_records"][Lesson]), 1)
    table = tables(page)[0]
    assert list(table.index) == ["0", "1"]
    for column, values in zip(
        table.columns, (compared.entropy, compared.distance, compared.mean_distance), strict=True
    ):
        assert list(table[column]) == [written(value, 4) for value in values.tolist()]
    assert table.columns[1] == "distance from head 1"


def test_the_shares_add_up_to_the_chosen_query_s_output(open_page):
    page = checked(open_page(PAGE, **CROSS))
    y = expected(page)["y"][1]
    *bars, total = figure(page, "heads_shares")["data"]
    assert_allclose(np.sum([bar["y"] for bar in bars], axis=0), y, atol=1e-12)
    assert_allclose(total["y"], y, atol=1e-12)
    assert_allclose(shown(page, "heads_share_rows").sum(axis=0), y, atol=1e-12)
    shared = head_shares(run_lesson(page.session_state["_records"][Lesson]), 1)
    table = tables(page)[1]
    assert list(table.index) == ["0", "1", "Σ"]
    assert list(table["along y"]) == [written(value, 4) for value in (*shared.along.tolist(), shared.length)]
    assert table["of y's length"].iloc[-1] == "100.0%"


def test_the_difference_from_torch_is_shown(open_page):
    page = checked(open_page(PAGE, **CROSS))
    found = torch_difference(run_lesson(page.session_state["_records"][Lesson]))
    [text] = [text for text in words(page) if "`torch.nn.MultiheadAttention`" in text and "float64" in text]
    assert f"**{compact(found.output, 2)}** in Y" in text
    assert found.output < 1e-14


def test_a_click_on_another_head_s_cell_chooses_head_query_and_key(monkeypatch):
    """What the browser sends back for a point of the picture."""
    lesson, taken = Lesson(n_heads=2), []
    selection = types.SimpleNamespace(points=[{"customdata": [1, 3, 2]}])
    monkeypatch.setattr(picker.st, "session_state", {"heads_weights": types.SimpleNamespace(selection=selection)})
    monkeypatch.setattr(picker, "change", lambda record, **values: taken.append((record, values)))
    monkeypatch.setattr(picker.st, "plotly_chart", lambda *_, on_select, **__: on_select())
    picker.cell_chart(None, "heads_weights", "", fields=("head", "query", "key"))
    assert taken == [(type(lesson), {"head": 1, "query": 3, "key": 2})]


def test_lists_choose_without_a_mouse(open_page):
    page = open_page(PAGE, lang="en", n_heads="2")
    for key, value in (("head", 1), ("query", 0), ("key", 3), ("column", 2)):
        page = checked(page.selectbox(key=key).set_value(value).run())
        assert address(page)[key] == str(value)
    page = checked(page.button(key="step_right").click().run())
    assert (address(page)["query"], address(page).get("key", "0")) == ("1", "0")
    y = expected(page)["y"][1, 2]
    assert f"y of cat, column 2, is {y:.4f}".replace("-", "−") in charts(page)["joined_product"].alt


def test_in_lecture_mode_the_head_can_still_be_chosen_by_keyboard(open_page):
    page = checked(open_page(PAGE, lang="en", n_heads="2", lecture="true"))
    page = checked(page.selectbox(key="head").set_value(1).run())
    assert address(page)["head"] == "1"


# Two sentences.


def test_a_second_sentence_goes_into_the_link(open_page):
    page = open_page(PAGE, lang="en")
    page = checked(page.text_input(key="second_text").set_value(SECOND).run())
    assert address(page) == {"lang": "en", "second_text": SECOND}
    assert shown(page, "heads_weights").shape == (4, 5)
    assert "the weights of each head: **4 × 5**" in " ".join(words(page))
    page = checked(page.text_input(key="second_text").set_value("").run())
    assert address(page) == {"lang": "en"}
    assert shown(page, "heads_weights").shape == (4, 4)


def test_a_second_sentence_without_a_word_says_so(open_page):
    page = checked(open_page(PAGE, lang="en", second_text="\u200b "))
    assert warnings(page) == ["The second sentence holds no word: keys and values come from the first."]


@pytest.mark.parametrize("heads", [{"n_heads": "1", "head": "0"}, {}], ids=["one head", "two heads"])
def test_every_page_shows_the_second_sentence(open_page, heads):
    query = CROSS | heads
    numbers = independent.lesson_from_link("/?" + urlencode(query))
    first, second = ["the", "cat", "sat", "down"], SECOND.split()

    overview = checked(open_page("overview", **query))
    blocks = {"second": "second_x", **{name: name for name in ("q", "k", "v", "scores", "scaled", "weights", "output")}}
    for place, name in zip(range(2, 10), blocks.values(), strict=True):
        assert_allclose(shown(overview, "overview_strip", place), numbers[name], atol=1e-12, err_msg=name)

    for layer in ("k", "v"):
        page = checked(open_page("query_key_value", layer=layer, **query))
        assert_allclose(shown(page, "layer_product", 0), numbers["second_x"], atol=1e-12)
        assert_allclose(shown(page, "layer_product", 2), numbers[layer], atol=1e-12)
        assert figure(page, "layer_product")["layout"]["yaxis"]["ticktext"] == second
        assert "for you, column 0" in charts(page)["layer_product"].alt
        assert r"K} = \textcolor{#CC79A7}{X_2}\,W_K" in " ".join(words(page))

    similarity = checked(open_page("similarity", **query))
    assert_allclose(shown(similarity, "similarity_product", 2), numbers["scores"], atol=1e-12)
    axes = figure(similarity, "similarity_product")["layout"]
    assert (axes["xaxis"]["ticktext"], axes["yaxis"]["ticktext"]) == (second, first)

    softmax = checked(open_page("softmax", **query))
    assert_allclose(shown(softmax, "softmax_weights"), numbers["weights"], atol=1e-12)
    assert figure(softmax, "softmax_bars")["layout"]["yaxis"]["ticktext"] == second

    weighted = checked(open_page("weighted_sum", **query))
    assert_allclose(shown(weighted, "sum_product", 0), numbers["weights"], atol=1e-12)
    assert_allclose(shown(weighted, "sum_product", 2), numbers["output"], atol=1e-12)
    assert [bar["name"] for bar in figure(weighted, "sum_contributions")["data"][:5]] == [
        f"{place}: {token}" for place, token in enumerate(second)
    ]

    one_hot = checked(open_page("one_hot", **query))
    assert list(one_hot.dataframe[0].value.iloc[:, 0]) == [*first, *second]


def test_a_head_s_columns_keep_their_numbers(open_page):
    page = checked(open_page("weighted_sum", column="4", **CROSS))
    assert page.selectbox(key="column").options == ["3: v3", "4: v4", "5: v5"]
    assert page.selectbox(key="column").value == 4
    assert "output of cat, column 4" in charts(page)["sum_product"].alt
    page = checked(page.selectbox(key="head").set_value(0).run())
    assert page.selectbox(key="column").value == 2, "the nearest column that the other head has"
    page = checked(page.button(key="step_right").click().run())
    assert (page.session_state["_records"][Lesson].query, page.session_state["_records"][Lesson].column) == (2, 0)


@pytest.mark.parametrize(
    "second",
    ["word " * 40 + "x" * 700, "👩‍👩‍👧 🏳️‍🌈 <script>alert(1)</script> $x$ \\frac *a* [b](c) א ב \u202e"],
    ids=["long", "emoji, marks, right to left"],
)
@pytest.mark.parametrize("name", ["overview", "query_key_value", "similarity", "softmax", "weighted_sum", PAGE])
def test_any_second_sentence_can_be_shown(open_page, name, second):
    checked(open_page(name, lang="en", second_text=second, n_heads="2", head="1", key="31", query="31"))
