"""The numbers on the screen are those of the link, computed a second time without the app."""

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
}


def chosen(url: str, n_tokens: int) -> tuple[int, int]:
    given = independent.parameters(url)
    row, column = int(given.get("query", 2)), int(given.get("key", 0))
    return min(row, n_tokens - 1), min(column, n_tokens - 1)


@pytest.mark.parametrize("link", LINKS.values(), ids=LINKS)
def test_similarity(visit, link):
    page = visit(f"/similarity?{link}")
    expected = independent.lesson_from_link(page.url)
    for trace, values in enumerate((expected["q"], expected["k"].T, expected["scores"])):
        assert_allclose(numbers(page, PICTURE, trace), values, atol=1e-9)
    cell = chosen(page.url, len(expected["ids"]))
    score, scaled, cosine = printed_totals(page)
    assert_allclose(score, expected["scores"][cell], atol=0.50001e-4)
    assert_allclose(scaled, expected["scaled"][cell], atol=0.50001e-4)
    lengths = (expected["q"] ** 2).sum(1)[cell[0]] ** 0.5 * (expected["k"] ** 2).sum(1)[cell[1]] ** 0.5
    assert_allclose(cosine, expected["scores"][cell] / lengths, atol=0.50001e-4)


@pytest.mark.parametrize("link", [LINKS["Japanese default"], LINKS["other size and seed"], LINKS["repeated words"]])
def test_softmax(visit, link):
    page = visit(f"/softmax?{link}")
    expected = independent.lesson_from_link(page.url)
    assert_allclose(numbers(page, "softmax_logits", 0), expected["scaled"], atol=1e-9)
    assert_allclose(numbers(page, "softmax_weights", 0), expected["weights"], atol=1e-9)
    cell = chosen(page.url, len(expected["ids"]))
    assert_allclose(printed_totals(page)[-1], expected["weights"][cell], atol=0.50001e-4)


def test_embedding(visit):
    page = visit("/one_hot?lang=en&seed=5&column=1&query=3")
    expected = independent.lesson_from_link(page.url)
    for trace, name in enumerate(("one_hot", "w_e", "x")):
        assert_allclose(numbers(page, "one_hot_product", trace), expected[name], atol=1e-9, err_msg=name)
    assert_allclose(printed_totals(page)[0], expected["x"][3, 1], atol=1e-9)


def test_overview(visit):
    page = visit("/?lang=ja&seed=8")
    expected = independent.lesson_from_link(page.url)
    for trace, name in enumerate(("one_hot", "x", "q", "k", "v", "scores", "scaled", "weights", "output")):
        assert_allclose(numbers(page, "overview_strip", trace), expected[name], atol=1e-9, err_msg=name)
    assert_allclose(numbers(page, "overview_matrix", 0), expected["output"], atol=1e-9)


def test_a_link_shows_the_same_numbers_in_another_browser(visit):
    first = visit("/similarity?lang=en&seed=21&d_model=3&text=I+am+a+dog&query=3&key=2", lang="ja")
    second = visit(first.url.removeprefix(first.url.split("/similarity")[0]), lang="en", theme="dark")
    assert second.url == first.url
    assert printed_totals(second) == printed_totals(first)
    for trace in range(3):
        assert_allclose(numbers(second, PICTURE, trace), numbers(first, PICTURE, trace), atol=0)
