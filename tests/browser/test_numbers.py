"""The numbers on the screen are those of the link, computed a second time without the app."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from tests import independent
from tests.browser.driving import numbers, printed_totals

PICTURE = "similarity_product"
LINKS = {
    "Japanese default": "lang=ja",
    "English default": "lang=en",
    "other size and seed": "lang=ja&d_model=6&seed=7&query=3&key=1",
    "no division": "lang=en&scale=none&query=0&key=2",
    "repeated words": "lang=en&text=the+cat+the+cat+the&query=4&key=1&seed=12",
    "one of three heads": "lang=en&d_model=6&n_heads=3&head=2&seed=5",
    "a second sentence, a mask, positions": (
        "lang=en&second_text=I+run+too&padding=1&mask=padding&positions=sinusoidal&query=3&key=1"
    ),
    "a drawn mask, learned positions": "lang=ja&mask=drawn&hidden=2:1-3+0:0&positions=learned&seed=3",
}


def chosen(url: str, scores: np.ndarray) -> tuple[int, int]:
    given = independent.parameters(url)
    row, column = int(given.get("query", 2)), int(given.get("key", 0))
    return min(row, len(scores) - 1), min(column, len(scores[0]) - 1)


def of_head(url: str, *matrices: np.ndarray) -> tuple[np.ndarray, ...]:
    """The columns of the link's head."""
    given = independent.parameters(url)
    return independent.split(int(given.get("n_heads", 1)), *matrices)[int(given.get("head", 0))]


@pytest.mark.parametrize("link", LINKS.values(), ids=LINKS)
def test_similarity(visit, link):
    page = visit(f"/similarity?{link}")
    expected = independent.lesson_from_link(page.url)
    q, k = of_head(page.url, expected["q"], expected["k"])
    for trace, values in enumerate((q, k.T, expected["scores"])):
        assert_allclose(numbers(page, PICTURE, trace), values, atol=1e-9)
    cell = chosen(page.url, expected["scores"])
    score, scaled, cosine = printed_totals(page)
    assert_allclose(score, expected["scores"][cell], atol=0.50001e-4)
    assert_allclose(scaled, expected["scaled"][cell], atol=0.50001e-4)
    lengths = (q**2).sum(1)[cell[0]] ** 0.5 * (k**2).sum(1)[cell[1]] ** 0.5
    assert_allclose(cosine, expected["scores"][cell] / lengths, atol=0.50001e-4)


@pytest.mark.parametrize("name", [name for name in LINKS if name not in ("English default", "no division")])
def test_softmax(visit, name):
    page = visit(f"/softmax?{LINKS[name]}")
    expected = independent.lesson_from_link(page.url)
    seen = expected["mask"]  # what is hidden is drawn at the low end, with −∞ in it
    assert_allclose(numbers(page, "softmax_logits", 0)[seen], expected["masked"][seen], atol=1e-9)
    assert_allclose(numbers(page, "softmax_weights", 0), expected["weights"], atol=1e-9)
    cell = chosen(page.url, expected["weights"])
    assert_allclose(printed_totals(page)[-1], expected["weights"][cell], atol=0.50001e-4)


def test_embedding(visit):
    page = visit("/one_hot?lang=en&seed=5&column=1&query=3")
    expected = independent.lesson_from_link(page.url)
    for trace, name in enumerate(("one_hot", "w_e", "x")):
        assert_allclose(numbers(page, "one_hot_product", trace), expected[name], atol=1e-9, err_msg=name)
    assert_allclose(printed_totals(page)[0], expected["x"][3, 1], atol=1e-9)


@pytest.mark.parametrize(
    ("link", "steps"),
    [
        ("lang=ja&seed=8", ()),
        ("lang=ja&seed=8&n_heads=2&head=1", ("joined", "y")),
    ],
    ids=["one head", "two heads"],
)
def test_overview(visit, link, steps):
    page = visit(f"/?{link}")
    expected = independent.lesson_from_link(page.url)
    steps = ("one_hot", "x", "q", "k", "v", "scores", "scaled", "weights", "output", *steps)
    for trace, name in enumerate(steps):
        assert_allclose(numbers(page, "overview_strip", trace), expected[name], atol=1e-9, err_msg=name)
    assert_allclose(numbers(page, "overview_matrix", 0), expected[steps[-1]], atol=1e-9)


def test_a_link_shows_the_same_numbers_in_another_browser(visit):
    first = visit("/similarity?lang=en&seed=21&d_model=3&text=I+am+a+dog&query=3&key=2", lang="ja")
    second = visit(first.url.removeprefix(first.url.split("/similarity")[0]), lang="en", theme="dark")
    assert second.url == first.url
    assert printed_totals(second) == printed_totals(first)
    for trace in range(3):
        assert_allclose(numbers(second, PICTURE, trace), numbers(first, PICTURE, trace), atol=0)
