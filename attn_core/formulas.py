"""The formulas of the lecture in LaTeX, coloured as the pictures are."""

from attn_core.palette import EMBEDDING, KEY, QUERY, SCORES, VALUE

# Between equations in braces: a narrow screen breaks the line here, and not inside of them.
_BREAK = r" \qquad \allowbreak "


def _in(color: str, latex: str) -> str:
    return rf"\textcolor{{{color}}}{{{latex}}}"


Q, K, V, X, S, A = (
    _in(color, letter)
    for color, letter in ((QUERY, "Q"), (KEY, "K"), (VALUE, "V"), (EMBEDDING, "X"), (SCORES, "S"), (SCORES, "A"))
)
P = _in(EMBEDDING, "P")

ATTENTION = (
    rf"\mathrm{{Attention}}({Q}, {K}, {V}) = "
    rf"\mathrm{{softmax}}\!\left(\dfrac{{{Q}\,{K}^{{\top}}}}{{\sqrt{{d_k}}}}\right){V}"
)
EMBEDDING_LAYER = rf"{X} = \text{{one-hot}} \cdot W_E"
PATCH_LAYER = (
    rf"{{{X} = \text{{patches}} \cdot W_E}} \qquad \allowbreak "
    r"(N \times d) = (N \times p^2 C) \cdot (p^2 C \times d)"
)
WEIGHTED_SUM = rf"O = {A}\,{V} \qquad o_i = \sum_j {_in(SCORES, 'a_{i,j}')}\,{_in(VALUE, 'v_j')}"
SIMILARITY = rf"{S} = {Q}\,{K}^{{\top}} \qquad s_{{i,j}} = \sum_m {_in(QUERY, 'q_{i,m}')}\,{_in(KEY, 'k_{j,m}')}"
SOFTMAX = (
    rf"{_in(SCORES, 'a_{i,j}')} = \dfrac{{e^{{{_in(SCORES, 'z_{i,j}')}}}}}{{\sum_{{l}} e^{{{_in(SCORES, 'z_{i,l}')}}}}}"
    rf" \qquad {_in(SCORES, 'z')} = \dfrac{{{_in(SCORES, 's')}}}{{\sqrt{{d_k}}}}"
)
MASKING = (
    rf"{{{A} = \mathrm{{softmax}}\!\left(\dfrac{{{Q}\,{K}^{{\top}}}}{{\sqrt{{d_k}}}} + M\right)}}"
    rf"{_BREAK}{{m_{{i,j}} \in \{{0, -\infty\}}}}"
)
POSITIONS = (
    rf"{X} + {P}{_BREAK}{{{_in(EMBEDDING, 'p_{t,2i}')} = \sin(t / 10000^{{2i/d}})}}"
    rf"{_BREAK}{{{_in(EMBEDDING, 'p_{t,2i+1}')} = \cos(t / 10000^{{2i/d}})}}"
)
ORDER = rf"\mathrm{{Attention}}(\Pi\,{Q}, \Pi\,{K}, \Pi\,{V}) = \Pi\,\mathrm{{Attention}}({Q}, {K}, {V})"
_OF_HEAD = rf"\dfrac{{{_in(QUERY, 'Q_h')}\,{_in(KEY, 'K_h')}^{{\top}}}}{{\sqrt{{d_k}}}}"
MULTI_HEAD = (
    rf"{{O_h = \mathrm{{softmax}}\!\left({_OF_HEAD}\right){_in(VALUE, 'V_h')}}}"
    rf"{_BREAK}{{Y = \left[\,O_0\;\cdots\;O_{{H-1}}\,\right] W_O}}"
)
_PRODUCT = rf"{_in(QUERY, 'q')}\cdot{_in(KEY, 'k')}"
VARIANCE = (
    rf"\mathrm{{Var}}\!\left({_PRODUCT}\right) = d_k"
    rf"\quad\Rightarrow\quad \mathrm{{Var}}\!\left(\dfrac{{{_PRODUCT}}}{{\sqrt{{d_k}}}}\right) = 1"
)
LEARNING = (
    rf"L = -\dfrac{{1}}{{N}}\sum_{{n=1}}^{{N}} \ln p_n{_BREAK}"
    rf"{{W \leftarrow W - \eta\;\mathrm{{Adam}}\!\left(\dfrac{{\partial L}}{{\partial W}}\right)}}"
)


def projections(*, crossed: bool, positions: bool) -> str:
    """What query, key and value are made of: a second sequence if keys and values come from one, and positions if any.

    Source: Vaswani et al. 2017 (arXiv 1706.03762), sections 3.2.2 and 3.2.3.
    """
    asking = rf"({X} + {P})" if positions else X
    second = _in(EMBEDDING, "X_2")
    answering = rf"({second} + {_in(EMBEDDING, 'P_2')})" if positions else second
    other = answering if crossed else asking
    products = rf"{Q} = {asking}\,W_Q", rf"{K} = {other}\,W_K", rf"{V} = {other}\,W_V"
    return _BREAK.join(f"{{{product}}}" for product in products)
