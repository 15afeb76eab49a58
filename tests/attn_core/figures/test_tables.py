"""Every number that a figure shows, as tables of text."""

import numpy as np
import torch

from attn_core import Lesson, run_lesson
from attn_core.figures.bars import weight_bars
from attn_core.figures.curves import Curve, curves
from attn_core.figures.falk import falk
from attn_core.figures.grid import grid
from attn_core.figures.plain import figure, heatmap, image, packed, scatter
from attn_core.figures.tables import Table, tables
from attn_core.stages import stage
from tests.attn_core.figures.samples import matrix


def test_a_product_has_a_table_for_each_matrix() -> None:
    product = stage(run_lesson(Lesson(lang="en", text="a <b> & c")), "scores")
    left, right, result = tables(falk(product, 0, 0))
    tokens = product.result.rows
    assert (left.names, [row[0] for row in left.rows]) == (("", "q0", "q1", "q2", "q3"), list(tokens))
    assert (right.names, [row[0] for row in right.rows]) == (("", *tokens), ["k0", "k1", "k2", "k3"])
    assert [list(row[1:]) for row in result.rows] == [list(row) for row in product.result.texts]
    assert [table.title.split()[0] for table in (left, right, result)] == ["Q", "KT", "S"]


def test_sums_of_rows_stand_in_a_table_of_their_own() -> None:
    shown = matrix([[0.25, 0.75], [0.5, 1.0]], rows=("one", "two"), columns=("x", "y"))
    cells, sums = tables(grid(shown, totals=shown.values.sum(-1, keepdim=True)))
    assert cells.rows == (("one", "0.25", "0.75"), ("two", "0.50", "1.00"))
    assert sums == Table("", ("", "Σ"), (("one", "1.0"), ("two", "1.5")))


def test_bars_and_marks_by_the_names_of_their_places() -> None:
    weights = torch.tensor([0.25, 0.75], dtype=torch.float64)
    bars, marks = tables(weight_bars(("cat", "<b>"), weights, 0, weights.flip(0)))
    assert bars.rows == (("0.2500", "0.25", "cat"), ("0.7500", "0.75", "<b>"))
    assert marks.rows == (("0.75", "cat"), ("0.25", "<b>"))


def test_curves_with_the_names_of_the_axes() -> None:
    drawn = curves([Curve("loss", [1, 2], [0.5, -0.25], "#000000")], x="step", y="nats", x_end=2, y_range=(0, 1))
    assert tables(drawn) == (Table("loss", ("step", "nats"), (("1", "0.5"), ("2", "−0.25"))),)


def test_packed_numbers() -> None:
    block = heatmap(z=packed(np.array([[0.5, -2.0]], dtype=np.float32)), x=[0, 1, 2], y=[0, 1])
    assert tables(figure([block], {"xaxis": {}, "yaxis": {}})) == (Table("", ("", "0", "1"), (("0", "0.5", "−2"),)),)


def test_what_only_leads_the_eye_has_no_table() -> None:
    stroke = scatter(x=[0, 1], y=[0, 1], mode="lines")
    target = scatter(x=[0], y=[0], marker={"opacity": 0})
    assert tables(figure([stroke, target, image(source="data:,")], {"xaxis": {}, "yaxis": {}})) == ()
