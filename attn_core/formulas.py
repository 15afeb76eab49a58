"""The formulas of the lecture in LaTeX, coloured as the pictures are."""

from attn_core.palette import EMBEDDING, KEY, QUERY, SCORES, VALUE


def _in(color: str, latex: str) -> str:
    return rf"\textcolor{{{color}}}{{{latex}}}"


Q, K, V, X, S, A = (
    _in(color, letter)
    for color, letter in ((QUERY, "Q"), (KEY, "K"), (VALUE, "V"), (EMBEDDING, "X"), (SCORES, "S"), (SCORES, "A"))
)

ATTENTION = (
    rf"\mathrm{{Attention}}({Q}, {K}, {V}) = "
    rf"\mathrm{{softmax}}\!\left(\dfrac{{{Q}\,{K}^{{\top}}}}{{\sqrt{{d_k}}}}\right){V}"
)
EMBEDDING_LAYER = rf"{X} = \text{{one-hot}} \cdot W_E"
PROJECTIONS = rf"{Q} = {X}\,W_Q \qquad {K} = {X}\,W_K \qquad {V} = {X}\,W_V"
WEIGHTED_SUM = rf"O = {A}\,{V} \qquad o_i = \sum_j {_in(SCORES, 'a_{i,j}')}\,{_in(VALUE, 'v_j')}"
SIMILARITY = rf"{S} = {Q}\,{K}^{{\top}} \qquad s_{{i,j}} = \sum_m {_in(QUERY, 'q_{i,m}')}\,{_in(KEY, 'k_{j,m}')}"
SOFTMAX = (
    rf"{_in(SCORES, 'a_{i,j}')} = \dfrac{{e^{{{_in(SCORES, 'z_{i,j}')}}}}}{{\sum_{{l}} e^{{{_in(SCORES, 'z_{i,l}')}}}}}"
    rf" \qquad {_in(SCORES, 'z')} = \dfrac{{{_in(SCORES, 's')}}}{{\sqrt{{d_k}}}}"
)
_PRODUCT = rf"{_in(QUERY, 'q')}\cdot{_in(KEY, 'k')}"
VARIANCE = (
    rf"\mathrm{{Var}}\!\left({_PRODUCT}\right) = d_k"
    rf"\quad\Rightarrow\quad \mathrm{{Var}}\!\left(\dfrac{{{_PRODUCT}}}{{\sqrt{{d_k}}}}\right) = 1"
)
