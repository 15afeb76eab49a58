"""The page of masks and positions, without a browser: what is drawn goes into the link, what is shown is computed."""

import math

import pytest
import torch
from streamlit.testing.v1 import AppTest

from attn_core import Lesson, run_lesson
from attn_core.blind import TORCH_VERSION
from attn_core.masking import mask_effect
from attn_core.masks import make_mask
from attn_core.numbers import compact
from attn_core.permutation import OrderSettings, permutation_experiment, token_order
from tests.pages.reading import LANGUAGES, address, charts, figure, tables, warnings, words

PAGE = "masks_positions"
PARTS = ("masks", "positions", "order")


def checked(app: AppTest) -> AppTest:
    assert [error.value for error in app.exception] == []
    return app


def cells(app: AppTest, key: str) -> torch.Tensor:
    """The numbers of a picture's first matrix."""
    return torch.tensor([[math.nan if n is None else n for n in row] for row in figure(app, key)["data"][0]["z"]])


def printed(app: AppTest, key: str) -> list[list[str]]:
    return figure(app, key)["data"][0]["text"]


def turn_over(app: AppTest, query: int, key: int) -> AppTest:
    """The lists and the button: what a reader without a mouse has."""
    app.selectbox(key="query").set_value(query)
    app.selectbox(key="key").set_value(key)
    checked(app.run())
    return checked(app.button(key="turn_over").click().run())


# Masks.


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize(("lang", "mask"), [("ja", "none"), ("en", "causal"), ("ja", "padding"), ("en", "drawn")])
def test_every_part_under_every_mask(open_page, lang, part, mask):
    page = checked(open_page(PAGE, lang=lang, part=part, mask=mask, padding="1", hidden="0:1-2", positions="learned"))
    assert all(chart.alt for chart in charts(page).values())
    assert page.title[0].value == {"ja": "マスクと位置", "en": "Masks and positions"}[lang]
    assert not warnings(page)


def test_the_mask_is_the_matrix_that_is_added(open_page):
    page = open_page(PAGE, lang="en", mask="causal")
    assert printed(page, "mask_drawing") == [
        ["0", "−∞", "−∞", "−∞"], ["0", "0", "−∞", "−∞"], ["0", "0", "0", "−∞"], ["0", "0", "0", "0"],
    ]  # fmt: skip
    assert "6 of 16 cells are hidden. sat may not look at: down." in charts(page)["mask_drawing"].alt


def test_scaled_masked_and_weights_are_the_lesson_s(open_page):
    page = open_page(PAGE, lang="en", mask="causal", n_heads="2", head="1")
    trace = run_lesson(Lesson(lang="en", mask="causal", n_heads=2, head=1))
    assert torch.allclose(cells(page, "mask_scaled"), trace.attention.scaled.float())
    assert torch.allclose(cells(page, "mask_weights"), trace.attention.weights.float())
    effect = mask_effect(trace)
    assert torch.allclose(cells(page, "mask_without"), effect.without.values.float())
    for row, shown in enumerate(printed(page, "mask_masked")):
        assert [text == "−∞" for text in shown] == [key > row for key in range(4)]
    percent = f"**{100 * float(effect.hidden[2, 0]):.1f} %**"
    assert any(percent in text for text in words(page))


def test_drawing_a_cell_goes_into_the_link(open_page):
    page = turn_over(open_page(PAGE, lang="en"), 0, 3)
    assert address(page) == {"lang": "en", "mask": "drawn", "hidden": "0:3", "query": "0", "key": "3"}
    page = turn_over(page, 0, 2)
    assert address(page)["hidden"] == "0:2-3"
    page = turn_over(page, 0, 3)
    assert address(page)["hidden"] == "0:2"
    page = turn_over(page, 0, 2)
    assert "hidden" not in address(page)
    assert address(page)["mask"] == "drawn"


def test_a_drawing_starts_from_the_mask_that_is_there(open_page):
    page = turn_over(open_page(PAGE, lang="en", mask="causal"), 0, 3)
    assert address(page)["mask"] == "drawn"
    assert address(page)["hidden"] == "0:1-2 1:2-3 2:3"
    weights = run_lesson(Lesson.from_query(address(page))).attention.weights
    assert torch.allclose(cells(page, "mask_weights"), weights.float())


def test_the_button_says_what_it_does(open_page):
    page = open_page(PAGE, lang="en", mask="causal", query="0", key="1")
    assert page.button(key="turn_over").label == "Show this key"
    page.selectbox(key="key").set_value(0)
    assert checked(page.run()).button(key="turn_over").label == "Hide this key"


@pytest.mark.parametrize("lang", LANGUAGES)
def test_a_blind_row_is_named_and_can_be_mended(open_page, lang):
    page = checked(open_page(PAGE, lang=lang, mask="drawn", hidden="1:0-3", query="1", key="0"))
    token = {"ja": "は", "en": "cat"}[lang]
    (warning,) = warnings(page)
    assert f"1\\: {token}" in warning
    assert printed(page, "mask_drawing")[1] == ["−∞"] * 4  # the drawing is still there
    assert torch.allclose(cells(page, "mask_weights"), run_lesson(Lesson(lang=lang)).attention.weights.float())
    page = turn_over(page, 1, 2)
    assert not warnings(page)
    assert address(page)["hidden"] == "1:0-1,3"
    assert cells(page, "mask_weights")[1].tolist() == [0, 0, 1, 0]


def test_choosing_padding_brings_two_along(open_page):
    page = open_page(PAGE, lang="en")
    page = checked(page.button_group(key="mask").set_value("padding").run())
    assert (address(page)["mask"], address(page)["padding"]) == ("padding", "2")
    assert printed(page, "mask_drawing") == [["0"] * 4 + ["−∞"] * 2] * 6
    page = checked(page.slider(key="padding").set_value(1).run())
    page.button_group(key="mask").set_value("none")
    page = checked(page.run())
    page = checked(page.button_group(key="mask").set_value("padding").run())
    assert address(page)["padding"] == "1"


def test_number_types(open_page):
    page = open_page(PAGE, lang="en", number_type="float16", mask="causal", query="1")
    one, every = (tables(page)[index] for index in (0, 1))
    assert one["stored as"].tolist() == ["−∞", "−∞", "−10⁴", "−100", "−10"]
    assert one["gap to the next number"].tolist() == ["–", "–", "8", "0.0625", "0.007812"]
    assert one.index.tolist() == ["−∞", "−10⁹", "−10⁴", "−100", "−10"]
    assert every.loc["−10⁹"].tolist()[1:] == ["all equal", "all equal", "NaN"]
    assert every.loc["−10⁴"].tolist()[2:] == ["all equal", "all equal"]
    assert every.loc["−∞"].tolist() == ["NaN"] * 4
    assert every.loc["−10⁴", "float64"].startswith("as without a mask")
    assert any("hidden: sat, down" in text for text in words(page))


def test_a_blind_query_s_answers(open_page):
    page = open_page(PAGE, lang="en", query="3")
    assert page.code[0].value == ("BlindQueryError: every query must see at least one key; none is visible to query 3")
    answers = tables(page)[2]
    assert answers["in short"].tolist()[:3] == ["NaN", "mean of all values", "zeros"]
    assert answers["weights"].tolist()[:3] == ["4 × NaN", "4 × 0.2500", "not returned"]
    assert any(TORCH_VERSION in text for text in words(page))


# Positions.


def test_the_sum(open_page):
    page = open_page(PAGE, lang="en", part="positions", positions="sinusoidal")
    trace = run_lesson(Lesson(lang="en", positions="sinusoidal"))
    for key, values in (("x", trace.x), ("p", trace.asking.p), ("inputs", trace.asking.inputs)):
        assert torch.allclose(cells(page, f"position_{key}"), values.float())
    assert any(r"\sin(\theta_{2,0}) \approx 0.9093" in text for text in words(page))
    page = checked(page.button(key="step_right").click().run())
    assert any(r"\cos(\theta_{2,1}) \approx -0.4161" in text for text in words(page))


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ({"positions": "none"}, "Nothing is added"),
        ({"positions": "learned"}, "they are untrained: random numbers"),
        ({"positions": "sinusoidal"}, "**distance alone**"),
        ({"positions": "sinusoidal", "d_model": "5"}, "As d_model is odd"),
        ({"positions": "sinusoidal", "edits": "p[1,1]=0.5"}, "changed by hand"),
    ],
)
def test_what_is_said_of_positions(open_page, query, said):
    page = checked(open_page(PAGE, lang="en", part="positions", **query))
    assert any(said in text for text in words(page))
    has_line = len(figure(page, "position_products")["data"]) == 2
    assert has_line == (query in ({"positions": "none"}, {"positions": "sinusoidal"}))


# Order.


def test_the_experiment(open_page):
    page = open_page(PAGE, lang="en", part="order", positions="learned", new_order="shuffled", shuffle_seed="3")
    lesson = Lesson(lang="en", positions="learned")
    trace = run_lesson(lesson)
    settings = OrderSettings(new_order="shuffled", shuffle_seed=3)
    found = permutation_experiment(trace, token_order(trace, settings))
    for key in ("before", "after", "restored"):
        assert torch.allclose(cells(page, f"order_{key}"), getattr(found, key).float())
    assert page.metric[0].value == compact(found.largest_difference, 2)
    assert figure(page, "order_after")["layout"]["yaxis"]["ticktext"] == list(found.new_tokens)


def test_the_same_rows_or_others(open_page):
    page = open_page(PAGE, lang="en", part="order")
    assert float(page.metric[0].value.split("·")[0]) < 10
    assert "10⁻¹" in page.metric[0].value or page.metric[0].value == "0"
    assert any("in another order. What is left" in text for text in words(page))
    page = checked(page.button_group(key="mask").set_value("causal").run())
    assert float(page.metric[0].value) > 0.1
    assert any("The outputs themselves have changed" in text for text in words(page))
    table = tables(page)[0]
    assert table.loc["None", "causal mask"] == page.metric[0].value
    assert float(table.loc["Sinusoidal", "no mask"]) > 0.1


def test_a_mask_chosen_here_brings_padding_too(open_page):
    page = open_page(PAGE, lang="en", part="order")
    page = checked(page.button_group(key="mask").set_value("padding").run())
    assert address(page)["padding"] == "2"
    assert figure(page, "order_after")["layout"]["yaxis"]["ticktext"] == ["down", "sat", "cat", "the", "[PAD]", "[PAD]"]
    assert any("in another order. What is left" in text for text in words(page))


# Odd lessons.


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize(
    "query",
    [
        {"text": "word"},
        {"text": "a " * 40, "padding": "4", "mask": "padding"},
        {"text": "the cat", "second_text": "a dog sat", "mask": "causal", "positions": "sinusoidal"},
        {"d_model": "16", "n_heads": "16", "head": "9", "positions": "learned"},
        {"scale": "none", "d_model": "16", "mask": "causal"},
        {"mask": "drawn", "hidden": "0:0-98 5:3"},
        {"text": "<b>*x*</b> $y$ | `z`", "mask": "causal"},
    ],
    ids=["one word", "long", "two sentences", "sixteen heads", "saturated", "blind", "marks"],
)
def test_odd_lessons(open_page, part, query):
    checked(open_page(PAGE, lang="en", part=part, **query))


def test_the_sizes_agree(open_page):
    page = open_page(PAGE, lang="en", text="the cat", second_text="a dog sat", mask="causal")
    assert printed(page, "mask_drawing") == [["0", "−∞", "−∞"], ["0", "0", "−∞"]]
    assert make_mask("causal", 2, 3).tolist() == [[True, False, False], [True, True, False]]
