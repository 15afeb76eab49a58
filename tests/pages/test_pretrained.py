"""The page of real models, without a browser: its numbers against the model run by itself, its choices in the link."""

import ast
import csv
import functools
import io
import json
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import numpy as np
import pytest
import streamlit as st
import transformers
from numpy.testing import assert_allclose
from PIL import Image
from streamlit.testing.v1 import AppTest

from attn_core import models
from attn_core import reading as core_reading
from attn_core.images import digits
from attn_core.models import BUNDLED, loading
from attn_core.palette import SCORES
from attn_core.reading import ReadingProgress
from pages.shared import gate
from pages.shared import pretrained_choice as choice
from pages.shared.jobs import Gate
from pages.shared.shell import PAGES
from pages.shared.text import plain
from tests import eager
from tests.attn_core.fake_hub import FakeHub, fake_hub
from tests.attn_core.pictures import colours_of
from tests.attn_core.saved_models import KINDS, save
from tests.eager import Eager
from tests.pages.clicking import choose_row, click, send
from tests.pages.reading import LANGUAGES, address, charts, figure, tables, warnings, words
from tests.pages.test_bad_input import MARKS, ODD
from tests.pages.waiting import until

PAGE = "pretrained"
TIRED = "The animal didn't cross the street because it was too tired."
WIDE = "The animal didn't cross the street because it was too wide."
LONG = "One word after another, thirty of them or so, until the row of weights is too long to be written out in full."


def checked(app: AppTest) -> AppTest:
    assert [error.value for error in app.exception] == []
    return app


def errors(app: AppTest) -> list[str]:
    return [error.value for error in checked(app).error]


def shown(app: AppTest, key: str, trace: int = 0) -> np.ndarray:
    return np.array(figure(app, key)["data"][trace]["z"])


def keys(app: AppTest) -> set[str]:
    return {button.key for button in app.button}


def told(app: AppTest, part: str) -> str:
    """The one piece of text on the page with this in it."""
    [found] = [text for text in words(app) if part in text]
    return found


def rounded(value: float) -> str:
    return f"{value:.4f}".replace("-", "−")


def of_link(app: AppTest) -> Eager:
    """The text of the page's own address, read by the model without the page."""
    return eager.bundled(address(app).get("passage", TIRED))


def chosen(app: AppTest) -> tuple[int, int, int, int]:
    """Layer, head, query and key of the page's own address, inside what the model and the text have."""
    given, own = address(app), of_link(app)
    defaults = {"layer": 5, "head": 11, "query": 10, "key": 2}
    found = (int(given.get(f"pretrained_{name}", default)) for name, default in defaults.items())
    last = (*own.weights.shape[:2], len(own.names), len(own.names))
    layer, head, query, key = (min(place, size - 1) for place, size in zip(found, last, strict=True))
    return layer, head, query, key


# What the page says by default.


@pytest.mark.parametrize("lang", LANGUAGES)
def test_the_facts(open_page, lang):
    page = checked(open_page(PAGE, lang=lang))
    own, facts = of_link(page), told(page, "·10⁻⁷")
    assert [int(number) for number in re.findall(r"\d+", facts)[:4]] == [6, 12, 32, 16]
    assert (*own.weights.shape[:2], own.query.shape[-1], len(own.names)) == (6, 12, 32, 16)
    exact = np.array([[own.head(layer, head)["weights"] for head in range(12)] for layer in range(6)])
    [said] = re.findall(r"(\d\.\d)·10⁻⁷", facts)
    assert 0.5 < 1e-7 * float(said) / np.abs(exact - own.weights).max() < 2  # float32's last bits hang on the processor
    assert not warnings(page)


def shades(app: AppTest, layer: int, head: int, n: int) -> np.ndarray:
    """One head of the picture of all heads: each cell's share of the weights' colour."""
    picture, targets = figure(app, "all_heads")["data"]
    colours = colours_of(picture["source"], "RGBA")[..., :3].astype(float)
    place = targets["customdata"].index([layer, head])
    rows, columns = (
        [
            round((targets[axis][place] - 0.5 + (cell + 0.5) / n - picture[f"{axis}0"]) / picture[f"d{axis}"])
            for cell in range(n)
        ]
        for axis in "yx"
    )
    full = np.array([int(SCORES[i : i + 2], 16) for i in (1, 3, 5)])
    return (255 - colours[np.ix_(rows, columns)]).sum(axis=-1) / (255 - full).sum()


@pytest.mark.parametrize("passage", [TIRED, "word " * 126, "no"], ids=["short", "128 tokens", "3 tokens"])
def test_the_picture_of_all_heads(open_page, passage):
    page = checked(open_page(PAGE, lang="en", passage=passage))
    own = of_link(page)
    for layer in range(6):
        for head in range(12):
            found = shades(page, layer, head, len(own.names))
            assert_allclose(found * 14, np.sqrt(own.weights[layer, head]) * 14, atol=0.55, err_msg=f"{layer}.{head}")


@pytest.mark.parametrize(
    "query",
    [
        {},
        {"pretrained_layer": "0", "pretrained_head": "2"},
        {"pretrained_query": "0", "pretrained_key": "15", "lang": "ja"},
        {"passage": "hi", "pretrained_query": "1", "pretrained_key": "1"},
        {"passage": LONG, "pretrained_query": "20", "pretrained_key": "7", "pretrained_layer": "2"},
    ],
    ids=str,
)
def test_one_head_in_full(open_page, query):
    page = checked(open_page(PAGE, **{"lang": "en", **query}))
    own, (layer, head, row, column) = of_link(page), chosen(page)
    weights, steps = own.weights[layer, head], own.head(layer, head)
    assert_allclose(shown(page, "head_weights"), weights, atol=1e-6)
    for trace, values in enumerate((steps["q"], steps["k"].T, steps["scores"])):
        assert_allclose(shown(page, "head_product", trace), values, atol=1e-5)
    ends = [(0, row, "#D55E00"), (1, column, "#0072B2")]
    queries, keys_ = [trace for trace in figure(page, "head_lines")["data"] if trace["mode"] == "markers+text"]
    for side, place, colour in ends:
        assert (queries, keys_)[side]["marker"]["color"][place] == colour
    written = {place: text for place, text in enumerate(keys_["text"]) if "<b>" in text}
    assert column in written
    for place, text in written.items():
        assert f"<b>{weights[row, place]:.2f}</b>" in text
    most = sorted(range(len(weights)), key=lambda place: -weights[row, place])[:3]
    for key in ("head_weights", "head_lines"):
        assert all(f"{own.names[place]} {weights[row, place]:.4f}" in charts(page)[key].alt for place in most)


def test_all_numbers_are_sent_when_asked_for(open_page):
    page = open_page(PAGE, lang="en")
    assert [table for table in page.dataframe if "2 animal" in table.value.columns] == []
    page.session_state["all_numbers"] = True
    [table] = [table.value for table in checked(page.run()).dataframe if "2 animal" in table.value.columns]
    own = of_link(page)
    assert list(table.index) == list(table.columns) == [f"{place} {name}" for place, name in enumerate(own.names)]
    assert_allclose(table.to_numpy(dtype=float), own.weights[5, 11], atol=0.51e-4)


# One weight worked out: every number that is printed.


def numbers_in(latex: str) -> list[float]:
    """The numbers that a line prints, in order, without those in the names of things."""
    text = re.sub(r"\\textcolor\{#[0-9A-F]{6}\}", "", latex)
    text = re.sub(r"[A-Za-z]_\{[^{}]*\}|\\sqrt\{\d+\}", "", text)
    text = re.sub(r"([\d.]+) \\cdot 10\^\{(-?\d+)\}", r"\1e\2", text)
    return [
        float(number) for number in re.findall(r"-?(?:inf|\d+(?:\.\d+)?(?:e-?\d+)?)", text.replace("\\infty", "inf"))
    ]


def first_and_largest(products: np.ndarray) -> list[int]:
    """The first three terms, and of the others the four that count most, in order."""
    return [0, 1, 2, *sorted(sorted(range(3, len(products)), key=lambda place: -abs(products[place]))[:4])]


def expected_lines(steps: dict[str, np.ndarray], row: int, column: int) -> list[list[float]]:
    """What the lines of the worked example print: factors, products, total, division, powers, weight."""
    q, k = steps["q"][row], steps["k"][column]
    products, scaled, powers = q * k, steps["scaled"][row], steps["powers"][row]
    terms = first_and_largest(products) if len(products) > 16 else list(range(len(products)))
    rest = [products.sum() - products[terms].sum()] * (len(products) > 16)
    kept = list(range(len(powers)))
    if len(kept) > 16:
        kept = sorted({column, *sorted(kept, key=lambda place: -powers[place])[:4]})
    others = [powers.sum() - powers[kept].sum()] * (len(powers) > 16)
    return [
        [factor for place in terms for factor in (q[place], k[place])],
        [*products[terms], *rest],
        [products.sum()],
        [products.sum(), np.sqrt(len(q)), scaled[column]],
        [],
        [scaled[place] if powers[place] else -np.inf for place in kept],
        [*powers[kept], *others, powers.sum()],
        [powers[column], powers.sum(), steps["weights"][row, column]],
    ]


def worked_lines(app: AppTest) -> list[str]:
    return [text[1:-1] for text in words(app) if text.startswith("$") and "large" not in text]


def assert_worked(lines: list[str], expected: list[list[float]]) -> None:
    assert len(lines) == len(expected)
    for line, values in zip(lines, expected, strict=True):
        printed = numbers_in(line)
        assert len(printed) == len(values), line
        for number, value in zip(printed, values, strict=True):
            assert number == pytest.approx(value, rel=2e-5, abs=0.51e-4), line


CELLS = {
    "default": {},
    "Japanese": {"lang": "ja"},
    "the previous token": {"pretrained_layer": "0", "pretrained_head": "2", "pretrained_key": "9"},
    "the first and the last token": {"pretrained_query": "0", "pretrained_key": "15", "pretrained_layer": "3"},
    "a tiny weight": {"pretrained_layer": "0", "pretrained_head": "2", "pretrained_query": "4", "pretrained_key": "12"},
    "three tokens": {"passage": "hi", "pretrained_query": "1", "pretrained_key": "1"},
    "a long text": {"passage": LONG, "pretrained_query": "20", "pretrained_key": "7", "pretrained_layer": "2"},
}


@pytest.mark.parametrize("query", CELLS.values(), ids=CELLS)
def test_one_weight_worked_out(open_page, query):
    page = checked(open_page(PAGE, **{"lang": "en", **query}))
    own, (layer, head, row, column) = of_link(page), chosen(page)
    steps = own.head(layer, head)
    assert_worked(worked_lines(page), expected_lines(steps, row, column))
    weight = steps["weights"][row, column]
    query, key = (plain(own.names[place]) for place in (row, column))
    sentences = {
        "en": f"**{query}** gives **{key}** the weight **{weight:.4f}**: {weight:.0%} of its attention in "
        f"layer {layer}, head {head}.",
        "ja": f"層 {layer}・ヘッド {head} では、**{query}** から **{key}** への重みは **{weight:.4f}**。"
        f"注意全体の {weight:.0%} にあたります。",
    }
    assert sentences[address(page)["lang"]] in words(page)
    assert rounded(steps["scores"][row, column]) in charts(page)["head_product"].alt


def test_every_term_and_the_running_sum(open_page):
    page = checked(open_page(PAGE, lang="en"))
    page.session_state["every_term"] = True
    page = checked(page.run())
    [table] = [table.value for table in page.dataframe if "running sum" in table.value.columns]
    steps = of_link(page).head(5, 11)
    left, right = steps["q"][10], steps["k"][2]
    assert list(table["term"]) == [f"q{place}" for place in range(32)]
    for name, values in (
        ("left factor", left),
        ("right factor", right),
        ("product", left * right),
        ("running sum", np.cumsum(left * right)),
    ):
        assert_allclose(table[name], values, atol=1e-5, err_msg=name)


# Every head in numbers.

COLUMNS = ("first token", "previous token", "next token", "token itself", "same word elsewhere", "separator")


def shares(weights: np.ndarray, names: tuple[str, ...]) -> list[float | None]:
    """What the pieces of a text, special tokens at both ends apart, give to each kind of key; a mean over queries."""
    places = range(1, len(names) - 1)
    same = {q: [k for k in places if k != q and names[k] == names[q]] for q in places}
    kinds = [{q: [0] for q in places}, *({q: [q + step] for q in places} for step in (-1, 1, 0))]
    kinds += [same, {q: [len(names) - 1] for q in places}]
    found = [[weights[q, keys].sum() for q, keys in kind.items() if keys] for kind in kinds]
    return [float(np.mean(values)) if values else None for values in found]


def in_words(weights: np.ndarray, names: tuple[str, ...]) -> str:
    """What a head is called, from the thresholds that the page states."""
    found = dict(zip(COLUMNS, shares(weights, names), strict=True))
    equal = dict(zip(COLUMNS, shares(np.full_like(weights, 1 / len(names)), names), strict=True))
    ranked = sorted((name for name in COLUMNS if found[name] is not None), key=lambda name: -found[name])
    for name in ranked:
        if found[name] >= max(0.5, 2 * equal[name]):
            return f"attends to the {name}: {found[name]:.0%}"
    inner = weights[1:-1]
    breadth = float(-(inner * np.log(inner)).sum(axis=1).mean() / np.log(len(names)))
    if breadth >= 0.8:
        return f"attends broadly: {breadth:.0%} of the largest entropy"
    return f"no one pattern; most to the {ranked[0]}: {found[ranked[0]]:.0%}"


def head_table(app: AppTest) -> Any:
    [table] = [table.value for table in app.dataframe if table.key == "head_table"]
    return table


@pytest.mark.parametrize("passage", [TIRED, "The dog chased the cat and the cat chased the mouse.", LONG])
def test_every_head_in_numbers(open_page, passage):
    page = checked(open_page(PAGE, lang="en", passage=passage))
    own, table = of_link(page), head_table(page)
    assert list(zip(table["layer"], table["head"], strict=True)) == [(i, j) for i in range(6) for j in range(12)]
    distance = np.abs(np.subtract.outer(range(len(own.names)), range(len(own.names))))
    for place, (_, row) in enumerate(table.iterrows()):
        weights = own.weights[divmod(place, 12)]
        inner = weights[1:-1]
        assert row["entropy"] == pytest.approx(-(inner * np.log(inner)).sum(axis=1).mean(), abs=1e-5)
        assert row["mean distance"] == pytest.approx((inner * distance[1:-1]).sum(axis=1).mean(), abs=1e-5)
        assert list(row[list(COLUMNS)]) == pytest.approx(shares(weights, own.names), abs=1e-6)
        assert row["in words"] == in_words(weights, own.names)
    assert told(page, "**layer 5, head 11**: ") == f"**layer 5, head 11**: {table['in words'].iloc[-1]}"


def test_the_strongest_heads(open_page):
    page = checked(open_page(PAGE, lang="en"))
    own = of_link(page)
    every = [shares(own.weights[divmod(place, 12)], own.names) for place in range(72)]
    labels = [button.label for button in page.button if button.key.startswith("strongest_")]
    expected = []
    for number, name in enumerate(COLUMNS):
        place = int(np.argmax([row[number] for row in every]))
        expected.append(f"{name}: {every[place][number]:.0%} in layer {place // 12}, head {place % 12}")
    assert labels == expected


@pytest.mark.parametrize("n_layers", [1, 4])
def test_rollout(open_page, n_layers):
    page = open_page(PAGE, lang="en")
    page = checked(page.slider(key="rollout_layers").set_value(n_layers).run())
    assert address(page)["rollout_layers"] == str(n_layers)
    own = of_link(page)
    rolled = own.rollout(n_layers)
    assert_allclose(shown(page, "rollout"), rolled, atol=1e-6)
    most = sorted(range(16), key=lambda place: -rolled[10, place])[:3]
    said = ", ".join(f"{own.names[place]} {rolled[10, place]:.4f}" for place in most)
    assert plain(f"Most of what has reached it: {said}.") in words(page)
    assert charts(page)["rollout"].alt == f"Rollout over {n_layers} layers. Most of what has reached it: {said}."


@pytest.mark.parametrize("lang", LANGUAGES)
def test_every_picture_has_words_with_numbers(open_page, lang):
    page = checked(open_page(PAGE, lang=lang, pins="0.2 4.5", second_passage=WIDE))
    alternatives = [chart.alt for chart in charts(page).values()]
    assert len(alternatives) == 9
    assert all(re.search(r"\d\.\d{4}|\d%", alt) for alt in alternatives)


# Choosing.


def test_clicks_choose_and_the_link_holds_it(open_page):
    page = open_page(PAGE, lang="en", pins="1.8", second_passage=WIDE)
    kept = {"lang": "en", "pins": "1.8", "second_passage": WIDE}
    page = checked(click(page, "all_heads", 2, 3))
    place = {"pretrained_layer": "2", "pretrained_head": "3"}
    assert address(page) == kept | place
    assert_allclose(shown(page, "head_weights"), of_link(page).weights[2, 3], atol=1e-6)
    for key, cell in (
        ("head_weights", (3, 4)),
        ("head_lines", (7, 4)),  # a token at the left: another query, the same key
        ("head_lines", (7, 12)),  # at the right: the other way round
        ("head_product", (5, 6)),
        ("rollout", (1, 1)),
        ("pinned_1_8", (14, 15)),
        ("text_0", (6, 5)),
        ("text_1", (8, 9)),
    ):
        page = checked(click(page, key, *cell))
        assert address(page) == kept | place | dict(
            zip(("pretrained_query", "pretrained_key"), map(str, cell), strict=True)
        )
        query, cell_key = (plain(of_link(page).names[place_]) for place_ in cell)
        assert told(page, f"**{query}** gives **{cell_key}** the weight")


def test_lists_keys_buttons_and_rows_choose(open_page):
    page = open_page(PAGE, lang="en")
    for key, value in (
        ("pretrained_layer", 1),
        ("pretrained_head", 10),
        ("pretrained_query", 4),
        ("pretrained_key", 15),
    ):
        page = checked(page.selectbox(key=key).set_value(value).run())
        assert address(page)[key] == str(value)
    for button, place in (("right", (1, 11)), ("right", (2, 0)), ("left", (1, 11))):  # on to the next layer and back
        page = checked(page.button(key=f"step_{button}").click().run())
        assert tuple(page.selectbox(key=f"pretrained_{name}").value for name in ("layer", "head")) == place
    page = checked(page.button(key="strongest_first").click().run())
    assert (address(page)["pretrained_layer"], address(page)["pretrained_head"]) == ("4", "5")
    page = checked(choose_row(page, "head_table", 17))
    assert (address(page)["pretrained_layer"], address(page)["pretrained_head"]) == ("1", "5")
    assert_allclose(shown(page, "head_weights"), of_link(page).weights[1, 5], atol=1e-6)
    assert_worked(worked_lines(page), expected_lines(of_link(page).head(1, 5), 4, 15))


WHOLE = {
    "passage": LONG,
    "second_passage": TIRED,
    "pretrained_layer": "3",
    "pretrained_head": "1",
    "pretrained_query": "7",
    "pretrained_key": "4",
    "pins": "0.2 4.5 1.8",
    "special_tokens": "false",
    "renormalised": "true",
    "rollout_layers": "2",
}


def test_a_cold_link_restores_everything(open_page):
    page = checked(open_page(PAGE, lang="en", **WHOLE))
    assert address(page) == {"lang": "en", **WHOLE}
    assert not warnings(page)
    own, other = eager.bundled(LONG), eager.bundled(TIRED)
    fewer = own.weights[3, 1][1:-1, 1:-1]
    assert_allclose(shown(page, "head_weights"), fewer / fewer.sum(axis=1, keepdims=True), atol=1e-6)
    fewer = other.weights[3, 1][1:-1, 1:-1]
    assert_allclose(shown(page, "text_1"), fewer / fewer.sum(axis=1, keepdims=True), atol=1e-6)
    assert {f"pinned_{place}" for place in ("0_2", "4_5", "1_8")} <= charts(page).keys()
    assert_allclose(shown(page, "rollout"), own.rollout(2), atol=1e-6)
    assert_worked(worked_lines(page), expected_lines(own.head(3, 1), 7, 4))
    assert page.text_area(key="passage").value == LONG
    assert page.text_area(key="second_passage").value == TIRED
    assert page.slider(key="rollout_layers").value == 2
    assert (page.toggle(key="special_tokens").value, page.toggle(key="renormalised").value) == (False, True)


def test_a_link_past_what_the_model_has_shows_the_last(open_page):
    far = {"layer": "47", "head": "47", "query": "1023", "key": "1023"}
    given = {f"pretrained_{name}": value for name, value in far.items()} | {"rollout_layers": "48", "pins": "40.0"}
    page = checked(open_page(PAGE, lang="en", **given))
    assert not warnings(page)
    assert {name: page.selectbox(key=f"pretrained_{name}").value for name in far} == {
        "layer": 5,
        "head": 11,
        "query": 15,
        "key": 15,
    }
    assert_worked(worked_lines(page), expected_lines(of_link(page).head(5, 11), 15, 15))
    assert "**layer 40, head 0**: this model has no such head." in words(page)
    page = checked(page.button(key="unpin_40_0").click().run())
    assert "pins" not in address(page)


# Pins, another text, special tokens, examples.


def test_pins(open_page):
    page = open_page(PAGE, lang="en", pins="5.1 5.2 5.3 5.4")
    for head, pins in ((11, "5.1 5.2 5.3 5.4 5.11"), (0, "5.1 5.2 5.3 5.4 5.11 5.0")):
        page.selectbox(key="pretrained_head").set_value(head).run()
        page = checked(page.button(key="pin").click().run())
        assert page.button(key="pin").label == "Unpin"
        assert address(page)["pins"] == pins
        assert_allclose(shown(page, f"pinned_5_{head}"), of_link(page).weights[5, head], atol=1e-6)
    page = checked(page.button(key="pin").click().run())
    assert address(page)["pins"] == "5.1 5.2 5.3 5.4 5.11"
    page = checked(page.button(key="unpin_5_2").click().run())
    assert address(page)["pins"] == "5.1 5.3 5.4 5.11"
    assert {"pinned_5_0", "pinned_5_2"}.isdisjoint(charts(page))


@pytest.mark.parametrize(
    ("lang", "said"),
    [("en", "6 heads are pinned, no more fit: unpin one first."), ("ja", "6 個のヘッドを留めています。")],
    ids=["en", "ja"],
)
def test_a_seventh_pin(open_page, lang, said):
    page = checked(open_page(PAGE, lang=lang, pins="0.0 0.1 0.2 0.3 0.4 5.11"))
    assert not page.button(key="pin").disabled
    assert not [text for text in words(page) if said in text]
    page = checked(page.button(key="step_left").click().run())
    assert page.button(key="pin").disabled
    assert told(page, said)
    page = checked(page.button(key="unpin_0_3").click().run())
    assert not page.button(key="pin").disabled


def test_another_text(open_page):
    page = open_page(PAGE, lang="en", pretrained_layer="3", pretrained_head="1")
    assert {"text_0", "text_1"}.isdisjoint(charts(page))
    page = checked(page.text_area(key="second_passage").set_value(WIDE).run())
    assert address(page)["second_passage"] == WIDE
    for key, passage in (("text_0", TIRED), ("text_1", WIDE)):
        own = eager.bundled(passage)
        assert_allclose(shown(page, key), own.weights[3, 1], atol=1e-6)
        assert rounded(own.weights[3, 1, 10, 2]) in charts(page)[key].alt
    page = checked(page.text_area(key="second_passage").set_value(" \n").run())
    assert {"text_0", "text_1"}.isdisjoint(charts(page))


def test_special_tokens_out(open_page):
    page = open_page(PAGE, lang="en", pretrained_layer="4", pretrained_head="5", pins="0.2")
    assert not [text for text in words(page) if "leave special tokens out" in text]
    page = checked(page.toggle(key="special_tokens").set_value(False).run())
    own = of_link(page)
    fewer = own.weights[:, :, 1:-1, 1:-1]
    assert_allclose(shown(page, "head_weights"), fewer[4, 5], atol=1e-6)
    assert_allclose(shown(page, "pinned_0_2"), fewer[0, 2], atol=1e-6)
    assert figure(page, "head_weights")["layout"]["yaxis"]["ticktext"] == list(own.names[1:-1])
    assert_allclose(shades(page, 4, 5, 14) * 14, np.sqrt(fewer[4, 5]) * 14, atol=0.55)
    assert f"the row of **it** sums to {fewer[4, 5, 9].sum():.4f}, " in told(page, "leave special tokens out")
    page = checked(click(page, "head_weights", 0, 13))
    assert (address(page)["pretrained_query"], address(page)["pretrained_key"]) == ("1", "14")

    page = checked(page.toggle(key="renormalised").set_value(True).run())
    again = fewer[4, 5] / fewer[4, 5].sum(axis=1, keepdims=True)
    assert_allclose(shown(page, "head_weights"), again, atol=1e-6)
    assert "no longer the model's own weights" in told(page, "leave special tokens out")
    assert_worked(worked_lines(page), expected_lines(own.head(4, 5), 1, 14))
    assert_allclose(shown(page, "rollout"), own.rollout(6), atol=1e-6)
    page = checked(page.toggle(key="special_tokens").set_value(True).run())
    assert_allclose(shown(page, "head_weights"), own.weights[4, 5], atol=1e-6)


def first_head(text: str) -> str:
    """The first head that a text names, as pins are written."""
    found = re.search(r"[Ll]ayer (\d), head (\d+)|第 (\d) 層ヘッド (\d+)", text)
    return ".".join(filter(None, found.groups())) if found else ""


def test_the_examples_open_what_they_say(open_page):
    pages = [open_page(PAGE, lang=lang) for lang in LANGUAGES]
    japanese, english = ([dict(parse_qsl(link.proto.query_string)) for link in page.get("page_link")] for page in pages)
    assert [link | {"lang": "en"} for link in japanese] == english
    claims = [[place for caption in page.caption if (place := first_head(caption.value))] for page in pages]
    for link, *claimed in zip(english, *claims, strict=True):
        page = checked(open_page(PAGE, **link))
        assert not warnings(page)
        layer, head, row, column = chosen(page)
        assert claimed == [f"{layer}.{head}"] * 2
        assert_allclose(shown(page, "head_weights"), of_link(page).weights[layer, head], atol=1e-6)
        assert_worked(worked_lines(page), expected_lines(of_link(page).head(layer, head), row, column))


# Texts of one's own.


@pytest.mark.parametrize(
    ("lang", "said"),
    [
        ("en", "The text is longer than 128 tokens: the last {n} were not read."),
        ("ja", "文が 128 トークンより長いので、終わりの {n} トークンは読んでいません。"),
    ],
    ids=["en", "ja"],
)
def test_a_long_text_is_cut_and_said_so(open_page, lang, said):
    long = "a " * 345  # 690 characters
    page = checked(open_page(PAGE, lang=lang, passage=long, pretrained_query="127", second_passage="b " * 140))
    assert warnings(page) == [said.format(n=eager.n_tokens(text) - 128) for text in (long, "b " * 140)]
    assert shown(page, "head_weights").shape == (128, 128)
    assert_allclose(shown(page, "head_weights"), of_link(page).weights[5, 11], atol=1e-6)
    assert not warnings(checked(open_page(PAGE, lang=lang, passage="a " * 126)))


def test_seven_hundred_characters(open_page):
    page = checked(open_page(PAGE, lang="en", passage="x" * 700))
    assert address(page)["passage"] == "x" * 700
    assert {page.text_area(key=key).max_chars for key in ("passage", "second_passage")} == {700}
    page = checked(open_page(PAGE, lang="en", passage="x" * 701))
    [warning] = warnings(page)
    assert warning.endswith("is not possible for `passage` and was left out. Allowed: ≤ 700.")
    assert page.text_area(key="passage").value == TIRED


@pytest.mark.parametrize(
    ("lang", "passage", "said"),
    [
        ("en", "", "The model finds nothing to read in this text"),
        ("en", " \n\t ", "The model finds nothing to read in this text"),
        ("ja", "\u200b\x00", "この文には、モデルが前後に付ける"),
    ],
    ids=["empty", "blank", "invisible"],
)
def test_a_text_without_a_word(open_page, lang, passage, said):
    """Without special tokens nothing would be left: they stay, and there is nothing to measure."""
    page = checked(open_page(PAGE, lang=lang, passage=passage, special_tokens="false"))
    [warning] = warnings(page)
    assert warning.startswith(said)
    own = of_link(page)
    assert own.names == ("[CLS]", "[SEP]")
    assert_allclose(shown(page, "head_weights"), own.weights[5, 11], atol=1e-6)
    assert_worked(worked_lines(page), expected_lines(own.head(5, 11), 1, 1))
    assert not [key for key in keys(page) if key.startswith("strongest")]
    assert not [text for text in words(page) if "The strongest head" in text or "種類ごとにいちばん" in text]
    assert set(head_table(page).iloc[:, 2]) == {
        "not measured: too few tokens" if lang == "en" else "トークンが少なく、測れません"
    }


def test_odd_texts(open_page):
    """Typed one after the other into the same session, in both places."""
    page = open_page(PAGE, lang="en", pretrained_query="1", pretrained_key="1", pins="0.2")
    for what, text in ODD.items():
        page.text_area(key="second_passage").set_value(text)
        page = checked(page.text_area(key="passage").set_value(text).run())
        assert not [warning for warning in warnings(page) if "tokens" not in warning], what
        assert (address(page)["passage"], address(page)["second_passage"]) == (text, text), what
        assert {"head_weights", "head_lines", "head_product", "rollout", "text_0", "text_1"} <= charts(page).keys(), (
            what
        )


def test_tokens_are_shown_as_typed(open_page):
    """Marks that Markdown or LaTeX would read, two at a time."""
    marks = [*MARKS, *"{}(^-="]
    page = open_page(PAGE, lang="en", passage=" ".join(marks), second_passage=" ".join(marks))
    assert of_link(page).names[1:-1] == tuple(marks)
    for place in range(1, len(marks), 2):
        page = checked(click(page, "head_weights", place, place + 1))
        query, key = (plain(mark) for mark in marks[place - 1 : place + 1])
        assert told(page, "the weight **").startswith(f"**{query}** gives **{key}** the weight")
        rows = [text for text in words(page) if "attends most to" in text]
        assert [text.startswith(rf"{query} attends most to\: ") for text in rows] == [True] * 2
        assert told(page, "Most of what").startswith(rf"Most of what has reached {query}\: ")
    assert page.selectbox(key="pretrained_query").options[1] == f"1: {marks[0]}"


def test_labels_and_hover_are_safe_from_html(open_page):
    page = checked(open_page(PAGE, lang="en", passage="<b> & </b>", second_passage="<i>", pins="0.2"))
    for key, chart in charts(page).items():
        figure_text = json.dumps(figure(page, key), ensure_ascii=False)
        # What is not a picture's own markup: bold numbers, coloured names, raised signs.
        assert not re.search(r"<(?!/?(b|span|sup|sub)\b)", figure_text), key
        assert "&lt;" in figure_text or key == "all_heads", key
        assert chart.alt
    assert figure(page, "head_weights")["layout"]["yaxis"]["ticktext"] == [
        *("[CLS]", "&lt;", "b", "&gt;", "&amp;", "&lt;", "/", "b", "&gt;", "[SEP]")
    ]


def test_special_tokens_that_are_typed_are_text(open_page):
    page = checked(open_page(PAGE, lang="en", passage="[CLS] a [SEP]", special_tokens="false"))
    typed = ["“[CLS]”", "a", "“[SEP]”"]
    assert figure(page, "head_weights")["layout"]["yaxis"]["ticktext"] == typed
    assert of_link(page).names == ("[CLS]", "[CLS]", "a", "[SEP]", "[SEP]")
    assert_allclose(shown(page, "head_weights"), of_link(page).weights[5, 11, 1:-1, 1:-1], atol=1e-6)


# Models by name.

DECODER, VISION, JAPANESE = (
    "distilbert/distilgpt2",
    "WinKawaks/vit-tiny-patch16-224",
    "hotchpotch/bert-base-japanese-v3-retromae",
)
KNOWN = {"gpt2": DECODER, "vit": VISION, "japanese": JAPANESE, "bert": "google-bert/bert-base-uncased"}


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Path, Any]]:
    """Small models: their folders, and themselves."""
    return {kind: (folder := tmp_path_factory.mktemp(kind), save(folder, kind)) for kind in KINDS}


@pytest.fixture(scope="module")
def repositories(small: dict[str, tuple[Path, Any]]) -> dict[str, dict[str, bytes]]:
    """Each under the name of a known model and as owner/kind, and some that cannot be used."""
    found = {}
    for kind, (folder, _) in small.items():
        found[KNOWN[kind]] = found[f"owner/{kind}"] = {path.name: path.read_bytes() for path in folder.iterdir()}
    bert = found["owner/bert"]
    weights = bert["model.safetensors"]
    return {
        **found,
        "owner/pickle": {"config.json": bert["config.json"], "pytorch_model.bin": weights},
        "owner/code": {**bert, "config.json": b'{"model_type": "bert", "auto_map": {"AutoModel": "run.Me"}}'},
        "owner/damaged": {**bert, "model.safetensors": weights[:500]},
        "owner/t5": {**bert, "config.json": b'{"model_type": "t5"}'},
        "owner/large": bert,
    }


@pytest.fixture
def hub(repositories, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[FakeHub]:
    """A hub on this machine, an empty cache, and a gate of this test's own; any name is allowed."""
    monkeypatch.setattr(models, "_loads", dict(models._loads))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(gate, "GATE", Gate(2))
    monkeypatch.setattr(choice, "_SEEING", set())
    monkeypatch.setenv("ATTENTION_EXPLORER_ANY_MODEL", "true")
    with fake_hub(repositories) as found:
        monkeypatch.setattr(core_reading, "loading", functools.partial(loading, endpoint=found.endpoint))
        yield found


REFUSED = {
    "bad name": ("“bad name” cannot be the name of a model.", "「bad name」は"),
    "owner/none": ("There is no model “owner/none”", "「owner/none」"),
    "owner/pickle": ("“owner/pickle” has no weights in the safetensors format", "「owner/pickle」には safetensors"),
    "owner/code": ("“owner/code” brings program code of its own", "「owner/code」"),
    "owner/damaged": ("The files of “owner/damaged” are damaged or incomplete.", "「owner/damaged」"),
    "owner/t5": ("The attention of “owner/t5” does something", "「owner/t5」"),
    "owner/large": ("“owner/large” is too large for this server: at most 500 MB are read.", "「owner/large」"),
}


def of_names(text: str) -> str:
    """The names in a message are escaped, the rest is Markdown."""
    return re.sub(r"[a-z]+/[a-z0-9]+", lambda match: plain(match[0]), text)


def assert_refused(page: AppTest, message: str) -> None:
    """The message, nothing else of the run, and all that a reader needs to go on; this is the same in all languages."""
    [error] = errors(page)
    assert error.startswith(of_names(message))
    assert bool(re.search("[ぁ-ん]", error)) == (address(page)["lang"] == "ja")
    assert not charts(page)
    assert not page.get("progress")
    if address(page)["lang"] == "ja":
        return
    page = page.text_area(key="passage").set_value(WIDE).run()
    assert errors(page) == [error]
    assert page.selectbox(key="model").options[0] == BUNDLED
    page = checked(page.button(key="bundled_model").click().run())
    assert address(page) == {"lang": address(page)["lang"], "passage": WIDE}
    assert_allclose(shown(page, "head_weights"), eager.bundled(WIDE).weights[5, 11], atol=1e-6)
    assert not page.error


@pytest.mark.parametrize("lang", LANGUAGES)
@pytest.mark.parametrize("name", REFUSED)
def test_a_model_that_cannot_be_used(hub, open_page, tmp_path, lang, name):
    if name == "owner/large":
        hub.sizes["model.safetensors"] = 600_000_000
    page = open_page(PAGE, lang=lang, model=name)
    assert page.selectbox(key="model").value == name
    assert str(tmp_path) not in "".join(words(page))
    assert_refused(page, REFUSED[name][LANGUAGES[::-1].index(lang)])
    assert not [path for path in hub.paths("GET") if "pytorch_model" in path or ".py" in path]


@pytest.mark.parametrize(
    ("lang", "message"),
    [
        ("en", "The model “distilbert/distilgpt2” would have to be downloaded, and this server cannot reach it."),
        ("ja", "モデル「distilbert/distilgpt2」はダウンロードが必要ですが、このサーバーからは取りに行けません。"),
    ],
    ids=["en", "ja"],
)
@pytest.mark.parametrize("status", [503, None], ids=["no answer", "nobody there"])
def test_no_network(hub, open_page, monkeypatch, lang, message, status):
    if status is None:
        monkeypatch.setattr(core_reading, "loading", functools.partial(loading, endpoint="http://127.0.0.1:9"))
    else:
        hub.status = status
    assert_refused(open_page(PAGE, lang=lang, model=DECODER), message)


@pytest.mark.parametrize(
    ("lang", "message"),
    [
        ("en", "On this server only the models in the list can be used."),
        ("ja", "このサーバーで使えるのは、一覧にあるモデルだけです。"),
    ],
    ids=["en", "ja"],
)
def test_a_name_that_the_operator_does_not_allow(hub, open_page, monkeypatch, lang, message):
    monkeypatch.delenv("ATTENTION_EXPLORER_ANY_MODEL")
    page = open_page(PAGE, lang=lang, model="owner/bert")
    assert hub.paths() == []
    assert_refused(page, message)


def test_an_error_is_told_once_and_read_tries_again(hub, open_page):
    hub.status = 503
    page = open_page(PAGE, lang="en", model=DECODER, passage="hold on")
    assert len(errors(page)) == 1
    hub.status = 200
    page = checked(page.button_group(key="lang").set_value("ja").run())
    assert not page.error
    page = checked(page.button(key="read").click().run())
    assert not page.error
    assert "head_weights" in charts(page)


# A decoder, a Japanese model.


@pytest.mark.usefixtures("hub")
@pytest.mark.parametrize("lang", LANGUAGES)
def test_a_decoder_hides_what_comes_later(small, open_page, lang):
    folder, model = small["gpt2"]
    text = "hold on"
    own = eager.read(model, transformers.AutoTokenizer.from_pretrained(folder), text)
    page = checked(open_page(PAGE, lang=lang, model=DECODER, passage=text, pins="0.1", pretrained_query="4"))
    assert figure(page, "head_weights")["layout"]["yaxis"]["ticktext"] == [*"hold", "·", *"on"]
    steps = own.head(1, 3)  # the last of both
    assert_allclose(shown(page, "head_weights"), own.weights[1, 3], atol=1e-6)
    assert_allclose(shown(page, "head_product", 2), steps["scores"], atol=1e-6)
    assert_worked(worked_lines(page), expected_lines(steps, 4, 2))
    hidden = 7 * 6 // 2
    for key in ("head_weights", "pinned_0_1", "head_product"):
        strokes = [trace for trace in figure(page, key)["data"] if trace.get("mode") == "lines"]
        assert [len(trace["x"]) for trace in strokes] == [3 * hidden], key
    assert "special_tokens" not in {toggle.key for toggle in page.toggle}
    assert "next_token" not in keys(page)

    page = checked(page.selectbox(key="pretrained_key").set_value(6).run())
    mask = {"en": "the score becomes −∞, and the weight is 0", "ja": "スコアは −∞、重みは 0 になります"}
    assert told(page, mask[lang])
    assert f"**{plain('·')}**" in told(page, "**0.0000**")
    assert worked_lines(page)[-1].endswith(r"\boldsymbol{0.0000}")


@pytest.mark.usefixtures("hub")
def test_a_decoder_without_a_token(open_page):
    page = open_page(PAGE, lang="en", model=DECODER, passage="")
    assert errors(page) == ["This model finds no token in the text: type a word."]
    page = checked(page.text_area(key="passage").set_value("a").run())
    assert not page.error
    assert_allclose(shown(page, "head_weights"), [[1]])


@pytest.mark.usefixtures("hub")
def test_odd_texts_in_bytes(open_page):
    page = open_page(PAGE, lang="en", model=DECODER, passage="a", pretrained_query="0", pretrained_key="0")
    short = {what: text for what, text in ODD.items() if len(text.encode()) <= 40}  # as many as the model has places
    for what, text in short.items():
        page = checked(page.text_area(key="passage").set_value(text).run())
        assert not page.error, what
        assert "\ufffd" not in "".join(figure(page, "head_weights")["layout"]["yaxis"]["ticktext"]), what


@pytest.mark.usefixtures("hub")
def test_a_japanese_model(small, open_page):
    folder, model = small["japanese"]
    text = "私は学生です。"
    own = eager.read(model, transformers.AutoTokenizer.from_pretrained(folder), text)
    page = checked(open_page(PAGE, lang="ja", model=JAPANESE, passage=text, pretrained_query="3"))
    names = ["[CLS]", "私", "は", "学生", "です", "。", "[SEP]"]
    assert figure(page, "head_weights")["layout"]["yaxis"]["ticktext"] == names == list(own.names)
    assert_allclose(shown(page, "head_weights"), own.weights[1, 3], atol=1e-6)
    assert_worked(worked_lines(page), expected_lines(own.head(1, 3), 3, 2))
    assert told(page, "**学生** から **は** への重みは")


@pytest.mark.usefixtures("hub")
def test_any_name_can_be_typed_where_it_is_allowed(open_page):
    page = open_page(PAGE, lang="en", passage="the animal crosses")
    page = checked(send(page, page.selectbox(key="model").id, "owner/bert"))
    assert address(page) == {"lang": "en", "model": "owner/bert", "passage": "the animal crosses"}
    assert "##es" in figure(page, "head_weights")["layout"]["yaxis"]["ticktext"]
    page = checked(page.selectbox(key="model").set_value(BUNDLED).run())
    assert_allclose(shown(page, "head_weights"), of_link(page).weights[5, 11], atol=1e-6)


# A vision model.


@pytest.fixture
def own_vision(small) -> Eager:
    """What the small vision model does with digit 64."""
    folder, model = small["vit"]
    grey = np.round(digits().pixels[64].numpy() * 255).astype(np.uint8)
    processor = transformers.AutoImageProcessor.from_pretrained(folder)
    inputs = processor(images=Image.fromarray(grey).convert("RGB"), return_tensors="pt")
    return eager.run(model, (), pixel_values=inputs["pixel_values"])


@pytest.mark.usefixtures("hub")
@pytest.mark.parametrize("name", [VISION, "owner/vit"], ids=["in the list", "not in the list"])
@pytest.mark.parametrize("lang", LANGUAGES)
def test_a_vision_model_s_attention_lies_over_the_picture(own_vision, open_page, lang, name):
    place = {"pretrained_layer": "1", "pretrained_head": "2", "pretrained_query": "3", "pretrained_key": "1"}
    page = checked(open_page(PAGE, lang=lang, model=name, digit="64", pins="0.1", **place, special_tokens="false"))
    assert address(page) == {"lang": lang, "model": name, "pins": "0.1", **place, "special_tokens": "false"}
    patches = own_vision.weights[1, 2, 3, 1:]
    names = ("(0,0)", "(0,1)", "(1,0)", "(1,1)")
    assert_allclose(overlay(page, "head_overlay").ravel(), patches, atol=1e-6)
    assert_allclose(overlay(page, "pinned_0_1").ravel(), own_vision.weights[0, 1, 3, 1:], atol=1e-6)
    assert_allclose(overlay(page, "rollout").ravel(), own_vision.rollout(2)[3, 1:], atol=1e-6)
    every = overlay(page, "all_heads", 1)
    for layer in range(2):
        for head in range(4):
            tile = every[3 * layer : 3 * layer + 2, 3 * head : 3 * head + 2]
            assert_allclose(tile.ravel(), own_vision.weights[layer, head, 3, 1:], atol=1e-6)

    order = sorted(range(4), key=lambda patch: -patches[patch])
    table = tables(page)[0]
    assert list(table.index) == [names[patch] for patch in order]
    assert list(table.iloc[:, 0]) == [rounded(patches[patch]) for patch in order]
    elsewhere = told(page, "all 5 weights sum to 1" if lang == "en" else "5 個の重みの和は 1 です")
    assert rounded(own_vision.weights[1, 2, 3, 0]) in elsewhere
    assert_worked(worked_lines(page), expected_lines(own_vision.head(1, 2), 3, 1))
    assert {"head_weights", "head_lines", "head_product"}.isdisjoint(charts(page))
    assert not page.text_area
    assert page.button_group(key="picture").value == "digit"
    assert "special_tokens" not in {toggle.key for toggle in page.toggle}
    assert len(page.get("download_button")) == 3
    frames = [shape["line"]["color"] for shape in figure(page, "head_overlay")["layout"]["shapes"]]
    assert frames == ["#0072B2", "#D55E00"]


def overlay(page: AppTest, key: str, trace: int = 2) -> np.ndarray:
    """The weights that lie over a picture."""
    return np.array(figure(page, key)["data"][trace]["z"], dtype=float)


@pytest.mark.usefixtures("hub")
def test_clicks_over_a_picture_choose_the_patch_that_asks(own_vision, open_page):
    page = open_page(PAGE, lang="en", model=VISION, pins="0.1")
    for key, (row, column) in (("head_overlay", (0, 1)), ("pinned_0_1", (1, 1)), ("rollout", (1, 0))):
        page = checked(click(page, key, row, column))
        token = 1 + 2 * row + column
        assert address(page)["pretrained_query"] == str(token)
        assert_allclose(overlay(page, "head_overlay").ravel(), own_vision.weights[1, 3, token, 1:], atol=1e-6)
    page = checked(click(page, "all_heads", 0, 2))
    assert (address(page)["pretrained_layer"], address(page)["pretrained_head"]) == ("0", "2")
    page = checked(page.selectbox(key="pretrained_query").set_value(0).run())  # the class token, which is no patch
    assert_allclose(overlay(page, "head_overlay").ravel(), own_vision.weights[0, 2, 0, 1:], atol=1e-6)
    page = checked(page.selectbox(key="pretrained_key").set_value(4).run())
    assert_worked(worked_lines(page), expected_lines(own_vision.head(0, 2), 0, 4))


@pytest.mark.usefixtures("hub")
def test_another_picture_is_seen(open_page):
    page = open_page(PAGE, lang="en", model=VISION, pretrained_query="0")
    before = overlay(page, "head_overlay")
    page = checked(page.button_group(key="picture").set_value("flower").run())
    assert address(page)["picture"] == "flower"
    assert not np.allclose(overlay(page, "head_overlay"), before, atol=1e-9)
    page = checked(page.selectbox(key="model").set_value(BUNDLED).run())
    assert_allclose(shown(page, "head_weights"), eager.bundled(TIRED).weights[5, 11], atol=1e-6)


# The run.


@pytest.fixture
def own_run(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[tuple[str, ...]]]:
    """An empty gate; the list of texts that runs have been started for, and a run that waits once its weights are here.

    While it waits, the page's own run ends where it would show the progress, as a browser sees it.
    """
    started: list[tuple[str, ...]] = []

    def watch(go_on: threading.Event | None = None) -> list[tuple[str, ...]]:
        def run(name: str, texts: Any, picture: Any, *, any_name: bool) -> Iterator[ReadingProgress]:
            started.append(tuple(texts))
            if go_on is not None:
                yield ReadingProgress("weights", 0.5)
                go_on.wait()
            yield from core_reading.reading(name, texts, picture, any_name=any_name)

        def progress(piece: ReadingProgress) -> tuple[float, str]:
            if go_on is not None and not go_on.is_set():
                st.stop()
            return original(piece)

        original = choice._progress
        monkeypatch.setattr(choice, "reading", run)
        monkeypatch.setattr(choice, "_progress", progress)
        monkeypatch.setattr(gate, "GATE", Gate(2))
        return started

    return watch


def test_stopped_while_it_loads_and_read_later(own_run, open_page):
    go_on = threading.Event()
    started = own_run(go_on)
    page = checked(open_page(PAGE, lang="en"))
    assert page.get("progress")
    assert not charts(page)
    page = checked(page.button(key="stop").click().run())
    assert not page.get("progress")
    assert not charts(page)
    assert page.button(key="read").label == "Read"
    assert page.text_area(key="passage").value == TIRED
    go_on.set()
    page = checked(page.button(key="read").click().run())
    assert_allclose(shown(page, "head_weights"), of_link(page).weights[5, 11], atol=1e-6)
    assert started == [(TIRED,)], "it goes on where it was stopped"


def test_two_who_ask_for_the_same_text_cost_one_run(own_run, open_page):
    go_on = threading.Event()
    started = own_run(go_on)
    pages = [checked(open_page(PAGE, lang=lang, pretrained_layer="2")) for lang in LANGUAGES]
    assert all(page.get("progress") for page in pages)
    go_on.set()
    until(lambda: gate.GATE.glance(("pretrained", BUNDLED, (TIRED,))).ended)
    for page in pages:
        page = checked(page.run())
        assert_allclose(shown(page, "head_weights"), of_link(page).weights[2, 11], atol=1e-6)
    checked(open_page(PAGE, lang="en", pretrained_head="3", special_tokens="false"))
    assert started == [(TIRED,)]
    checked(open_page(PAGE, lang="en", passage=WIDE))
    checked(open_page(PAGE, lang="en", second_passage=WIDE))
    assert started == [(TIRED,), (WIDE,), (TIRED, WIDE)]


def test_the_progress_in_words(monkeypatch):
    monkeypatch.setattr(choice, "_", lambda message, **values: message.format(**values))
    said = {
        stage: choice._progress(ReadingProgress(stage, 0.25))
        for stage in ("libraries", "download", "check", "weights", "reading")
    }
    assert {share for share, _ in said.values()} == {0.25}
    assert len({text for _, text in said.values()}) == 5


# Taking it along.


@pytest.fixture
def downloads(monkeypatch: pytest.MonkeyPatch) -> dict[str, Callable[[], Any]]:
    """What a click on each of the page's downloads would make, by the name of the file."""
    found: dict[str, Callable[[], Any]] = {}
    original = st.download_button

    def noting(label: str, data: Callable[[], Any], name: str, *args: Any, **options: Any) -> bool:
        found[name] = data
        return original(label, data, name, *args, **options)

    monkeypatch.setattr(st, "download_button", noting)
    return found


def table_of(data: bytes) -> list[list[str]]:
    return list(csv.reader(io.StringIO(data.decode("utf-8-sig"))))


def test_the_downloads_hold_the_numbers_of_the_page(downloads, open_page):
    page = checked(open_page(PAGE, lang="en", pretrained_layer="3", pretrained_head="1", pretrained_query="8"))
    assert set(downloads) == {"head_3.1.npz", "head_3.1.csv", "heads.csv", "pretrained.py"}
    own = of_link(page)
    steps = own.head(3, 1)
    arrays = np.load(io.BytesIO(downloads["head_3.1.npz"]()), allow_pickle=False)
    assert arrays["tokens"].tolist() == list(own.names)
    for name, values in (("query", "q"), ("key", "k"), *((name, name) for name in ("scores", "scaled", "weights"))):
        assert_allclose(arrays[name], steps[values], atol=1e-5, err_msg=name)
    assert_allclose(arrays["all_weights"], own.weights, atol=1e-6)

    header, *rows = table_of(downloads["head_3.1.csv"]())
    assert header[1:4] == ["[CLS]", "the", "animal"]
    assert_allclose(np.array([row[1:] for row in rows], dtype=float), steps["weights"], atol=1e-6)

    header, *rows = table_of(downloads["heads.csv"]())
    table = head_table(page)
    for name, column in (("entropy", "entropy"), ("distance", "mean distance"), ("same_word", "same word elsewhere")):
        numbers = [float(row[header.index(name)]) for row in rows]
        assert numbers == pytest.approx(table[column].tolist(), rel=1e-12)


def constants(script: str) -> dict[str, Any]:
    """What a script assigns before it imports nothing more: names and their plain values."""
    found: dict[str, Any] = {}
    for node in ast.parse(script).body:
        if isinstance(node, ast.Assign):
            try:
                value = ast.literal_eval(node.value)
            except ValueError:
                continue
            [target] = node.targets
            names = [name.id for name in target.elts] if isinstance(target, ast.Tuple) else [target.id]
            found |= dict(zip(names, value if len(names) > 1 else [value], strict=True))
    return found


def test_the_script_is_that_of_the_chosen_cell(downloads, open_page):
    page = open_page(PAGE, lang="en", passage='"""quoted""" \\ $names {x}')
    page = checked(click(page, "head_weights", 3, 4))
    checked(click(page, "all_heads", 2, 7))
    found = constants(downloads["pretrained.py"]())
    own = of_link(page)
    assert {name: found[name] for name in ("layer", "head", "query", "key")} == {
        "layer": 2,
        "head": 7,
        "query": 3,
        "key": 4,
    }
    assert found["passage"] == '"""quoted""" \\ $names {x}'
    assert found["names"] == list(own.names)
    assert len(found["ids"]) == len(own.names)


# Other pages.

_MODULES = """
import json, sys
from streamlit.runtime.pages_manager import PagesManager
from streamlit.testing.v1 import AppTest

original = PagesManager.__init__

def remembering(self, *args, **options):
    PagesManager.uses_pages_directory = False
    original(self, *args, **options)

PagesManager.__init__ = remembering
found = {}
for name in json.loads(sys.argv[1]):
    page = AppTest.from_file("app.py", default_timeout=60)
    page.query_params["n_samples"], page.query_params["largest_d_k"] = "100", "8"
    if name != "overview":
        page.switch_page(f"pages/{name}.py")
    page.run()
    assert not page.exception, name
    found[name] = sorted({"transformers", "tokenizers", "huggingface_hub"} & sys.modules.keys())
print(json.dumps(found))
"""


def test_only_this_page_loads_the_libraries_of_models():
    names = [entry.name for entry in PAGES if entry.name != PAGE]
    done = subprocess.run(
        [sys.executable, "-c", _MODULES, json.dumps([*names, PAGE])],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        encoding="utf-8",
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert {name: found[name] for name in names} == {name: [] for name in names}
    assert "transformers" in found[PAGE]
