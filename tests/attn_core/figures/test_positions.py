"""The picture of inner products over distance, read back."""

import torch

from attn_core import Lesson
from attn_core.figures.positions import DistanceLabels, products_over_distance, waves
from attn_core.palette import NEUTRAL, SCORES
from attn_core.position_study import PositionProducts, all_positions, closed_form, position_products

LABELS = DistanceLabels("distance", "product")


def test_points_and_line():
    lesson = Lesson(positions="sinusoidal")
    measured, curve = position_products(all_positions(lesson).values.T), closed_form(lesson)
    points, line = products_over_distance(measured, curve, LABELS).data
    assert (list(points.x), list(points.y)) == (measured.distances.tolist(), measured.products.tolist())
    assert (list(line.x), list(line.y)) == (curve.distances.tolist(), curve.products.tolist())
    assert (points.mode, points.marker.color, line.mode, line.line.color) == ("markers", SCORES, "lines", NEUTRAL)


def test_without_a_closed_form_there_is_no_line():
    measured = PositionProducts(torch.tensor([0, 1]), torch.tensor([1.0, 0.5]), 0.0)
    figure = products_over_distance(measured, None, LABELS)
    assert len(figure.data) == 1
    layout = figure.layout
    assert (layout.xaxis.title.text, layout.yaxis.title.text, layout.height) == ("distance", "product", 340)
    assert list(layout.xaxis.range) == [-1, 2]
    assert (layout.dragmode, layout.xaxis.fixedrange, layout.yaxis.fixedrange) == (False, True, True)


def test_waves_are_labelled_at_every_fourth_position():
    matrix = all_positions(Lesson(positions="sinusoidal"))
    figure = waves(matrix, 1, 6)
    assert [list(row) for row in figure.data[0].z] == matrix.values.tolist()
    assert list(figure.layout.xaxis.ticktext) == ["0", "4", "8", "12", "16", "20", "24", "28"]
    assert list(figure.layout.xaxis.tickvals) == [place + 0.5 for place in range(0, 32, 4)]
    frame = figure.layout.shapes[-1]
    assert (frame.x0, frame.x1, frame.y0, frame.y1) == (6, 7, 1, 2)
