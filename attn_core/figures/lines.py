"""One head's weights as lines from tokens to tokens."""

import math
from collections.abc import Iterable, Iterator, Sequence

import plotly.graph_objects as go
import torch
from jaxtyping import Float
from torch import Tensor

from attn_core.figures.cells import label, label_width, still_layout
from attn_core.figures.plain import Piece, figure, scatter
from attn_core.figures.targets import nearest_targets
from attn_core.numbers import written
from attn_core.palette import KEY, NEUTRAL, QUERY, SCORES
from attn_core.stages import Matrix

DRAWN_FROM = 0.02  # for queries that are not held
WRITTEN_FROM = 0.05

_STRENGTHS = 8  # a trace each
_FAINT = 0.4
_ROW_HEIGHT, _MAX_HEIGHT, _HEADING = 28, 700, 30
_LARGEST_TEXT, _SMALLEST_TEXT, _LINE_HEIGHT = 15, 9, 1.1
_PHONE, _LINES_THERE, _BESIDE_LABELS = 350, 90, 24  # pixels across
_LABEL_TEXT = 15  # what label_width is for
_NUMBER = 2.6  # its width, in sizes of the text
_DECIMALS = 2
_NAMED = 3  # tokens under the pointer


def lines(matrix: Matrix, query: int, key: int) -> go.Figure:
    """Queries at the left, keys at the right; a line is as strong as the *square root* of its weight, in eight steps.

    The held query's lines have the query's colour; its weights from WRITTEN_FROM on are written at the keys, that of
    the held key always. Other queries' lines are faint, and drawn from DRAWN_FROM on. Where there is no room for
    every label, keys with a weight to write go first. The pointer names the three tokens that a query looks at most
    (→), or that look at a key most (←).

    Traces: others' lines, the held query's, queries, keys, click targets. Their customdata is [query, key]: at the
    left a click changes the query and leaves the key, at the right the other way round.
    """
    n_rows = max(matrix.values.shape)
    height = min(_MAX_HEIGHT, _ROW_HEIGHT * n_rows + _HEADING)
    row_height, (left, right) = (height - _HEADING) / n_rows, _label_widths(matrix)
    fitting = min(row_height / _LINE_HEIGHT, (_PHONE - _LINES_THERE - _BESIDE_LABELS) / (left + right))
    size = max(_SMALLEST_TEXT, min(_LARGEST_TEXT, int(fitting)))
    apart = math.ceil(_LINE_HEIGHT * size / row_height)
    held, others = torch.zeros_like(matrix.values), matrix.values.where(matrix.values >= DRAWN_FROM, 0.0)
    held[query], others[query] = matrix.values[query], 0.0
    return figure(
        [
            *_pairs(others, SCORES, _FAINT),
            *_pairs(held, QUERY, 1.0),
            _tokens(0, _query_labels(matrix, query, apart), query, QUERY, size),
            _tokens(1, _key_labels(matrix, query, key, apart), key, KEY, size),
            _targets(matrix, query, key),
        ],
        _layout(height, n_rows, left * size, right * size),
    )


def _pairs(weights: Float[Tensor, "query key"], color: str, part: float) -> Iterator[Piece]:
    """A line for every weight that is not 0; one trace for each strength that occurs."""
    strengths = (weights.sqrt() * _STRENGTHS).ceil().clamp(max=_STRENGTHS)
    for strength in range(1, _STRENGTHS + 1):
        pairs = (strengths == strength).nonzero().tolist()
        if pairs:
            yield scatter(
                x=[0, 1, None] * len(pairs),
                y=[end for pair in pairs for end in (*pair, None)],
                mode="lines",
                line={"color": color, "width": max(1.0, part * strength)},
                opacity=part * strength / _STRENGTHS,
                hoverinfo="skip",
            )


def _query_labels(matrix: Matrix, query: int, apart: int) -> list[str]:
    shown = _with_room([query], len(matrix.rows), apart)
    return [_marked(name, i == query) if i in shown else "" for i, name in enumerate(matrix.rows)]


def _key_labels(matrix: Matrix, query: int, key: int, apart: int) -> list[str]:
    """Keys, the held query's weights behind them."""
    weights = matrix.values[query].tolist()
    with_number = [key, *(j for j in _largest_first(weights) if weights[j] >= WRITTEN_FROM)]
    shown = _with_room(with_number, len(weights), apart)
    labels = [_marked(name, j == key) if j in shown else "" for j, name in enumerate(matrix.columns)]
    for j in shown.intersection(with_number):
        labels[j] += f" <b>{written(weights[j], _DECIMALS)}</b>"
    return labels


def _marked(name: str, held: bool) -> str:
    return f"<b>{label(name)}</b>" if held else label(name)


def _largest_first(weights: Sequence[float]) -> list[int]:
    return sorted(range(len(weights)), key=lambda place: -weights[place])


def _with_room(first: Iterable[int], count: int, apart: int) -> set[int]:
    """Places at least so far apart: those of `first` in their order, then the others in theirs."""
    shown: set[int] = set()
    for place in (*first, *range(count)):
        if shown.isdisjoint(range(place - apart + 1, place + apart)):
            shown.add(place)
    return shown


def _tokens(x: int, labels: Sequence[str], held: int, color: str, size: int) -> Piece:
    """A dot a token, the held one in its colour, and the labels outside."""
    dot = size // 2
    return scatter(
        x=[x] * len(labels),
        y=list(range(len(labels))),
        mode="markers+text",
        marker={
            "color": [color if place == held else NEUTRAL for place in range(len(labels))],
            "size": [2 * dot if place == held else dot for place in range(len(labels))],
            "line": {"width": 0},
            "opacity": 1.0,
        },
        text=list(labels),
        textposition="middle right" if x else "middle left",
        textfont={"size": size},
        cliponaxis=False,
        hoverinfo="skip",
    )


def _targets(matrix: Matrix, query: int, key: int) -> Piece:
    """At every token; they are found from anywhere in its row and half, the label included."""
    n_queries, n_keys = matrix.values.shape
    rows, columns = ([label(name) for name in names] for names in (matrix.rows, matrix.columns))
    looks_at = [f"{row} → {_most(weights, columns)}" for row, weights in zip(rows, matrix.values, strict=True)]
    looked_at_by = [
        f"{column} ← {_most(weights, rows)}" for column, weights in zip(columns, matrix.values.T, strict=True)
    ]
    return nearest_targets(
        [0] * n_queries + [1] * n_keys,
        [*range(n_queries), *range(n_keys)],
        [(i, key) for i in range(n_queries)] + [(query, j) for j in range(n_keys)],
        looks_at + looked_at_by,
    )


def _most(weights: Float[Tensor, " token"], names: Sequence[str]) -> str:
    """The tokens with the largest weights, and these."""
    values = weights.tolist()
    return " · ".join(
        f"{names[place]} {written(values[place], _DECIMALS)}" for place in _largest_first(values)[:_NAMED]
    )


def _label_widths(matrix: Matrix) -> tuple[float, float]:
    """The widest label of queries and of keys (with a number), in sizes of the text."""
    left, right = (max(map(label_width, names)) / _LABEL_TEXT for names in (matrix.rows, matrix.columns))
    return left, right + _NUMBER


def _layout(height: int, n_rows: int, left: float, right: float) -> Piece:
    """On a phone the labels, so many pixels wide, just have room; elsewhere they have more."""
    lines_there = max(_LINES_THERE, _PHONE - _BESIDE_LABELS - left - right)
    beside = _BESIDE_LABELS / 2
    layout = still_layout(
        height=height,
        x_range=(-(beside + left) / lines_there, 1 + (beside + right) / lines_there),
        y_range=(-0.5, n_rows - 0.5),
    )
    names = (f'<span style="color:{color}"><b>{name}</b></span>' for name, color in (("q", QUERY), ("k", KEY)))
    layout["xaxis"] |= {"tickvals": [0, 1], "ticktext": list(names), "automargin": True}
    layout["yaxis"]["visible"] = False
    return layout
