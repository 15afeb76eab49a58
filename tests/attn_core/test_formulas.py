"""The formulas: well-formed LaTeX in the colours of the pictures."""

import re

import pytest

from attn_core import formulas
from attn_core.palette import EMBEDDING, KEY, QUERY, ROLE_COLORS, SCORES, VALUE
from tests.attn_core.latex import assert_well_formed, colored, uncolored

LATEX = {
    name: value
    for name, value in vars(formulas).items()
    if name.isupper() and isinstance(value, str) and not value.startswith("#")
}
COLORS = {"Q": QUERY, "q": QUERY, "K": KEY, "k": KEY, "V": VALUE, "X": EMBEDDING, "S": SCORES}
COLORS |= {"v": VALUE, "x": EMBEDDING, "s": SCORES, "A": SCORES, "a": SCORES, "z": SCORES}


@pytest.mark.parametrize("name", LATEX)
def test_well_formed(name: str) -> None:
    assert_well_formed(LATEX[name])
    assert "$" not in LATEX[name]


@pytest.mark.parametrize("name", LATEX)
def test_each_letter_has_its_colour(name: str) -> None:
    for color, letter in colored(LATEX[name]):
        assert color == COLORS[letter[0]]


@pytest.mark.parametrize("name", LATEX)
def test_no_letter_that_has_a_colour_stands_without_it(name: str) -> None:
    rest = re.sub(r"\\[A-Za-z]+(\{[A-Za-z-]+\})?|W_.|d_k|#[0-9A-F]{6}", "", LATEX[name])
    for _, letter in colored(LATEX[name]):
        rest = rest.replace(letter, "", 1)
    assert not re.search(r"[QKVXSA]", rest), rest


def test_the_formulas_read() -> None:
    assert uncolored(formulas.ATTENTION) == (
        r"\mathrm{Attention}(Q, K, V) = \mathrm{softmax}\!\left(\dfrac{Q\,K^{\top}}{\sqrt{d_k}}\right)V"
    )
    assert uncolored(formulas.EMBEDDING_LAYER) == r"X = \text{one-hot} \cdot W_E"
    assert uncolored(formulas.SIMILARITY) == r"S = Q\,K^{\top} \qquad s_{i,j} = \sum_m q_{i,m}\,k_{j,m}"
    assert uncolored(formulas.SOFTMAX) == (
        r"a_{i,j} = \dfrac{e^{z_{i,j}}}{\sum_{l} e^{z_{i,l}}} \qquad z = \dfrac{s}{\sqrt{d_k}}"
    )
    product = rf"\textcolor{{{QUERY}}}{{q}}\cdot\textcolor{{{KEY}}}{{k}}"
    expected = (
        rf"\mathrm{{Var}}\!\left({product}\right) = d_k"
        rf"\quad\Rightarrow\quad \mathrm{{Var}}\!\left(\dfrac{{{product}}}{{\sqrt{{d_k}}}}\right) = 1"
    )
    assert expected == formulas.VARIANCE


def test_the_palette_is_okabe_and_ito_s() -> None:
    assert (QUERY, KEY, VALUE, EMBEDDING) == ("#D55E00", "#0072B2", "#009E73", "#CC79A7")
    assert len({ROLE_COLORS[role] for role in ("query", "key", "value", "embedding", "scores", "one_hot")}) == 6
    assert all(re.fullmatch(r"#[0-9A-F]{6}", color) for color in ROLE_COLORS.values())
