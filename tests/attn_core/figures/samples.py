"""Small matrices to draw, and what is asked of every figure."""

import json

import plotly.graph_objects as go
import torch

from attn_core.stages import Matrix, Role, Stage


def matrix(
    values: list[list[float]],
    *,
    symbol: str = "S",
    role: Role = "scores",
    rows: tuple[str, ...] | None = None,
    columns: tuple[str, ...] | None = None,
) -> Matrix:
    return Matrix(
        symbol,
        symbol.lower(),
        role,
        torch.tensor(values, dtype=torch.float64),
        rows or tuple(f"r{i}" for i in range(len(values))),
        columns or tuple(f"c{i}" for i in range(len(values[0]))),
    )


def counting(rows: int, columns: int) -> list[list[float]]:
    """1, 2, 3, … in reading order."""
    return [[float(columns * i + j + 1) for j in range(columns)] for i in range(rows)]


def product(rows: int = 2, inner: int = 3, columns: int = 4) -> Stage:
    """Q Kᵀ of whole numbers, every axis of another length."""
    left = matrix(counting(rows, inner), symbol="Q", role="query")
    right = matrix(counting(inner, columns), symbol=r"K^{\top}", role="key", rows=left.columns)
    result = matrix((left.values @ right.values).tolist(), rows=left.rows, columns=right.columns)
    return Stage("scores", left, right, result)


def shape_of(shape: go.layout.Shape) -> tuple[float, float, float, float, str, int]:
    return (shape.x0, shape.x1, shape.y0, shape.y1, shape.line.color, shape.line.width)


def assert_stays_still(figure: go.Figure) -> None:
    """A picture that a finger scrolls past, rather than drags or zooms; with no number JSON does not know."""
    assert figure.layout.xaxis.fixedrange is True
    assert figure.layout.yaxis.fixedrange is True
    assert figure.layout.dragmode is False
    assert figure.layout.showlegend is False
    json.loads(figure.to_json(), parse_constant=lambda name: (_ for _ in ()).throw(AssertionError(name)))
