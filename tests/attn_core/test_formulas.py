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
LATEX |= {
    f"projections, {crossed=}, {positions=}": formulas.projections(crossed=crossed, positions=positions)
    for crossed in (False, True)
    for positions in (False, True)
}
COLORS = {"Q": QUERY, "q": QUERY, "K": KEY, "k": KEY, "V": VALUE, "X": EMBEDDING, "P": EMBEDDING, "S": SCORES}
COLORS |= {"v": VALUE, "x": EMBEDDING, "p": EMBEDDING, "s": SCORES, "A": SCORES, "a": SCORES, "z": SCORES}


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
    assert uncolored(formulas.MASKING) == (
        r"{A = \mathrm{softmax}\!\left(\dfrac{Q\,K^{\top}}{\sqrt{d_k}} + M\right)}"
        r" \qquad \allowbreak {m_{i,j} \in \{0, -\infty\}}"
    )
    assert uncolored(formulas.POSITIONS) == (
        r"X + P \qquad \allowbreak {p_{t,2i} = \sin(t / 10000^{2i/d})}"
        r" \qquad \allowbreak {p_{t,2i+1} = \cos(t / 10000^{2i/d})}"
    )
    assert uncolored(formulas.ORDER) == (
        r"\mathrm{Attention}(\Pi\,Q, \Pi\,K, \Pi\,V) = \Pi\,\mathrm{Attention}(Q, K, V)"
    )
    assert uncolored(formulas.MULTI_HEAD) == (
        r"{O_h = \mathrm{softmax}\!\left(\dfrac{Q_h\,K_h^{\top}}{\sqrt{d_k}}\right)V_h}"
        r" \qquad \allowbreak {Y = \left[\,O_0\;\cdots\;O_{H-1}\,\right] W_O}"
    )
    product = rf"\textcolor{{{QUERY}}}{{q}}\cdot\textcolor{{{KEY}}}{{k}}"
    expected = (
        rf"\mathrm{{Var}}\!\left({product}\right) = d_k"
        rf"\quad\Rightarrow\quad \mathrm{{Var}}\!\left(\dfrac{{{product}}}{{\sqrt{{d_k}}}}\right) = 1"
    )
    assert expected == formulas.VARIANCE


@pytest.mark.parametrize(
    ("crossed", "positions", "read"),
    [
        (False, False, ("Q = X W_Q", "K = X W_K", "V = X W_V")),
        (True, False, ("Q = X W_Q", "K = X_2 W_K", "V = X_2 W_V")),
        (False, True, ("Q = (X + P) W_Q", "K = (X + P) W_K", "V = (X + P) W_V")),
        (True, True, ("Q = (X + P) W_Q", "K = (X_2 + P_2) W_K", "V = (X_2 + P_2) W_V")),
    ],
)
def test_keys_and_values_may_come_from_another_sentence(crossed: bool, positions: bool, read: tuple[str, ...]) -> None:
    found = uncolored(formulas.projections(crossed=crossed, positions=positions))
    assert found.replace("\\,", " ") == r" \qquad \allowbreak ".join(f"{{{equation}}}" for equation in read)


def test_the_palette_is_okabe_and_ito_s() -> None:
    assert (QUERY, KEY, VALUE, EMBEDDING) == ("#D55E00", "#0072B2", "#009E73", "#CC79A7")
    assert len({ROLE_COLORS[role] for role in ("query", "key", "value", "embedding", "scores", "one_hot")}) == 6
    assert all(re.fullmatch(r"#[0-9A-F]{6}", color) for color in ROLE_COLORS.values())
