"""Pictures with patches and attention, read back."""

import numpy as np
import plotly.graph_objects as go
import pytest
import torch

from attn_core.figures.picture import heads_over_picture, patch_numbers, patch_picture
from attn_core.images import patch_names
from attn_core.palette import DARKEST_PIXEL, KEY, QUERY, SCORES
from tests.attn_core.figures.samples import assert_stays_still, shape_of
from tests.attn_core.pictures import colours_of

GREY = (torch.arange(16, dtype=torch.float64) / 15).reshape(4, 4, 1)
COLOURS = torch.stack([GREY[:, :, 0], 1 - GREY[:, :, 0], 0 * GREY[:, :, 0]], dim=-1)
WEIGHTS = torch.tensor([0.1, 0.2, 0.3, 0.4], dtype=torch.float64)
NAMES = patch_names(2, 2)


def points(trace: go.Scatter) -> list[tuple[float, float, list[int], str]]:
    return [
        (x, y, list(cell), text)
        for x, y, cell, text in zip(trace.x, trace.y, trace.customdata, trace.hovertext, strict=True)
    ]


def test_the_picture_and_its_grid():
    figure = patch_picture(COLOURS, 2, 1, NAMES)
    image, grid, targets = figure.data
    assert colours_of(image.source).tolist() == (COLOURS * 255).round().int().tolist()
    assert (image.x0, image.dx, image.y0, image.dy) == (0.125, 0.25, 0.125, 0.25)
    assert list(grid.x) == [0, 0, None, 0, 1, None, 0.5, 0.5, None, 0, 1, None, 1, 1, None, 0, 1, None]
    assert points(targets) == [
        (0.25, 0.25, [0, 0], "(0,0)"),
        (0.75, 0.25, [0, 1], "(0,1)"),
        (0.25, 0.75, [1, 0], "(1,0)"),
        (0.75, 0.75, [1, 1], "(1,1)"),
    ]
    assert [shape_of(shape) for shape in figure.layout.shapes] == [(0.5, 1.0, 0.0, 0.5, QUERY, 5)]
    assert figure.layout.yaxis.scaleanchor == "x"
    assert_stays_still(figure)


def test_a_grey_picture():
    assert colours_of(patch_picture(GREY, 2, 0, NAMES).data[0].source)[0, 1].tolist() == [17, 17, 17]


def test_attention_over_the_picture():
    figure = patch_picture(GREY, 2, 0, NAMES, key=3, weights=WEIGHTS)
    assert colours_of(figure.data[0].source)[3, 3].tolist() == [153, 153, 153], "white, dimmed"
    _, _, overlay, numbers, targets = figure.data
    assert [list(row) for row in overlay.z] == [[0.1, 0.2], [0.3, 0.4]]
    assert (overlay.zmin, overlay.zmax) == (0, 0.4)
    assert (list(overlay.x), list(overlay.y)) == ([0, 0.5, 1], [0, 0.5, 1])
    assert list(overlay.colorbar.ticktext) == ["0", "0.4000"]
    assert list(numbers.text) == ["0.1000", "0.2000", "0.3000", "0.4000"]
    assert list(zip(numbers.x, numbers.y, strict=True))[1] == (0.75, 0.25)
    assert [text for *_, text in points(targets)] == [
        "(0,0): 0.1000",
        "(0,1): 0.2000",
        "(1,0): 0.3000",
        "(1,1): 0.4000",
    ]
    assert [shape_of(shape)[4] for shape in figure.layout.shapes] == [KEY, QUERY]
    assert shape_of(figure.layout.shapes[0])[:4] == (0.5, 1.0, 0.5, 1.0)
    assert figure.layout.height <= 540
    assert_stays_still(figure)


def test_a_patch_that_is_its_own_key_has_one_frame():
    figure = patch_picture(GREY, 2, 2, NAMES, key=2, weights=WEIGHTS)
    assert [shape_of(shape)[4] for shape in figure.layout.shapes] == [QUERY]


def test_a_query_that_is_no_patch_has_no_frame():
    figure = patch_picture(GREY, 2, None, NAMES, weights=WEIGHTS)
    assert len(figure.layout.shapes) == 0


def test_many_patches_have_no_numbers():
    names, weights = patch_names(8, 8), torch.full((64,), 1 / 64, dtype=torch.float64)
    figure = patch_picture(GREY.repeat(2, 2, 1), 8, 63, names, weights=weights)
    assert figure.data[3].text is None or len(figure.data[3].text) == 0
    assert len(figure.data[4].customdata) == 64


def test_weights_of_nothing():
    assert_stays_still(patch_picture(GREY, 2, 0, NAMES, weights=torch.zeros(4, dtype=torch.float64)))


# One patch.


def test_a_grey_patch():
    figure = patch_numbers(torch.tensor([0.0, 0.25, 0.5, 1.0], dtype=torch.float64), 2, 1)
    (block,) = figure.data
    assert [list(row) for row in block.z] == [[0.0, 0.25], [0.5, 1.0]]
    assert [list(row) for row in block.text] == [["0.00", "0.25"], ["0.50", "1.00"]]
    assert (block.zmin, block.zmax) == (0, 1)
    assert [tuple(stop) for stop in block.colorscale] == [(0.0, DARKEST_PIXEL), (1.0, "#FFFFFF")]
    assert_stays_still(figure)


def test_a_patch_in_colour_has_a_block_per_channel():
    numbers = torch.tensor([0.11, 0.12, 0.13, 0.21, 0.22, 0.23, 0.31, 0.32, 0.33, 0.41, 0.42, 0.43]).double()
    figure = patch_numbers(numbers, 2, 3)
    red, green, blue = figure.data
    assert [list(row) for row in red.text] == [["0.11", "0.21"], ["0.31", "0.41"]]
    assert [list(row) for row in green.text] == [["0.12", "0.22"], ["0.32", "0.42"]]
    assert [list(row) for row in blue.text] == [["0.13", "0.23"], ["0.33", "0.43"]]
    assert red.y[-1] < green.y[0]
    assert list(figure.layout.yaxis.ticktext) == ["R", "G", "B"]
    assert figure.layout.height <= 540


@pytest.mark.parametrize(("patch_size", "numbers"), [(8, True), (16, False)])
def test_a_large_patch_keeps_its_colours_only(patch_size, numbers):
    figure = patch_numbers(torch.zeros(3 * patch_size**2, dtype=torch.float64), patch_size, 3)
    assert all((block.text is not None) == numbers for block in figure.data)
    assert figure.layout.height <= 540


# Layers and heads.

LAYERS = torch.arange(2 * 3 * 4, dtype=torch.float64).reshape(2, 3, 4) / 24
ROWS, COLUMNS = ("L0", "L1"), ("H0", "H1", "H2")


def heads(query: int | None = 2) -> go.Figure:
    return heads_over_picture(GREY, LAYERS, 2, ROWS, COLUMNS, layer=1, head=2, query=query)


def test_every_head_has_the_picture_and_its_weights():
    figure = heads()
    pictures, overlay, targets = figure.data
    z, edges = np.array(overlay.z, dtype=float), (np.array(overlay.x), np.array(overlay.y))
    assert z.shape == (5, 8)
    assert np.isnan(z[2]).all()
    assert np.isnan(z[:, [2, 5]]).all()
    assert (overlay.zmin, overlay.zmax, overlay.showscale) == (0, 23 / 24, False)
    colours = colours_of(pictures.source, "RGBA")
    assert colours.shape == (9, 14, 4)
    dimmed = (0.6 * GREY.expand(-1, -1, 3) * 255).round().numpy()
    for layer in range(2):
        for head in range(3):
            block = z[3 * layer : 3 * layer + 2, 3 * head : 3 * head + 2]
            assert np.array_equal(block, LAYERS[layer, head].reshape(2, 2).numpy())
            left, top = edges[0][3 * head], edges[1][3 * layer]
            assert (left, top) == (1.25 * head, 1.25 * layer)
            picture = colours[5 * layer : 5 * layer + 4, 5 * head : 5 * head + 4]
            assert np.array_equal(picture[:, :, :3], dimmed)
            assert (picture[:, :, 3] == 255).all()
            assert pictures.x0 + 5 * head * pictures.dx == pytest.approx(left + 0.125)
    assert (colours[4, :, 3] == 0).all()
    assert (colours[:, [4, 9], 3] == 0).all()
    assert [list(place) for place in targets.customdata] == [[0, 0], [0, 1], [0, 2], [1, 0], [1, 1], [1, 2]]
    assert list(targets.x)[:3] == [0.5, 1.75, 3.0]
    assert list(targets.hovertext) == [f"{row} · {column}" for row in ROWS for column in COLUMNS]
    assert (list(figure.layout.yaxis.ticktext), list(figure.layout.xaxis.ticktext)) == (list(ROWS), list(COLUMNS))
    assert list(figure.layout.xaxis.tickvals) == list(targets.x)[:3]
    assert figure.layout.height <= 540
    assert_stays_still(figure)


def test_the_chosen_head_and_the_query_are_framed():
    *queries, chosen = [shape_of(shape) for shape in heads().layout.shapes]
    assert chosen == (2.5, 3.5, 1.25, 2.25, SCORES, 4)
    assert len(queries) == 6
    assert queries[0] == (0.0, 0.5, 0.5, 1.0, QUERY, 3)
    assert queries[5] == (2.5, 3.0, 1.75, 2.25, QUERY, 3)


def test_the_class_token_has_no_place_in_the_picture():
    assert [shape_of(shape)[4] for shape in heads(None).layout.shapes] == [SCORES]
