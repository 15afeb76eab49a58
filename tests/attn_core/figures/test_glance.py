"""All heads in one picture, its pixels compared with the weights."""

import base64
import io
import json

import numpy as np
import plotly.graph_objects as go
import pytest
import torch
from PIL import Image

from attn_core.figures.glance import glance
from attn_core.palette import SCORES
from tests.attn_core.figures.samples import assert_stays_still, shape_of
from tests.attn_core.pictures import colours_of

ROWS, COLUMNS = ("L0", "L1"), ("H0", "H1", "H2")
WHITE, FULL = np.array([255, 255, 255]), np.array([0x92, 0x81, 0xF0])


def random_weights(*shape: int) -> torch.Tensor:
    """Some of them 0, as behind a mask."""
    numbers = torch.randn(shape, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    return (4 * numbers).masked_fill(numbers < -0.5, -torch.inf).softmax(-1).nan_to_num()


def drawn(weights: torch.Tensor, layer: int = 1, head: int = 2) -> go.Figure:
    layers, heads = ([f"{letter}{i}" for i in range(n)] for letter, n in zip("LH", weights.shape[:2], strict=True))
    hover = [[f"says {i}.{j}" for j in range(len(heads))] for i in range(len(layers))]
    return glance(weights, layer, head, layers, heads, hover)


def cell_colours(figure: go.Figure, shape: torch.Size) -> np.ndarray:
    """The colour of every cell, found where the axes say that its middle is; every pixel of a cell has it."""
    image, targets = figure.data
    n_queries, n_keys = shape[2:]
    colours = colours_of(image.source, "RGBA").astype(int)
    found = np.zeros((*shape, 4), dtype=int)
    for (layer, head), x, y in zip(targets.customdata, targets.x, targets.y, strict=True):
        edges_x = [round((x - 0.5 + j / n_keys - image.x0) / image.dx + 0.5) for j in range(n_keys + 1)]
        edges_y = [round((y - 0.5 + i / n_queries - image.y0) / image.dy + 0.5) for i in range(n_queries + 1)]
        for i in range(n_queries):
            for j in range(n_keys):
                block = colours[edges_y[i] : edges_y[i + 1], edges_x[j] : edges_x[j + 1]].reshape(-1, 4)
                assert (block == block[0]).all(), (layer, head, i, j)
                found[layer, head, i, j] = block[0]
    return found


def test_colours_worked_by_hand() -> None:
    weights = torch.tensor([[[[1.0, 0.0], [0.25, 0.75]]]], dtype=torch.float64)
    colours = cell_colours(drawn(weights, 0, 0), weights.shape)[0, 0, :, :, :3]
    assert colours[0].tolist() == [FULL.tolist(), WHITE.tolist()]
    assert colours[1, 0].tolist() == [200, 192, 248], "half of the colour at a quarter"
    assert colours[1, 1].tolist() == [162, 147, 242], "12 of 14 steps: √0.75 is 0.866"


@pytest.mark.parametrize("shape", [(2, 3, 5, 7), (2, 3, 2, 2), (3, 2, 65, 50), (1, 4, 97, 3)])
def test_every_weight_has_its_colour_at_its_place(shape: tuple[int, ...]) -> None:
    weights = random_weights(*shape)
    colours = cell_colours(drawn(weights, 0, 1), weights.shape)
    share = weights.sqrt().unsqueeze(-1).numpy()
    wanted = WHITE + share * (FULL - WHITE)
    assert np.abs(colours[..., :3] - wanted).max() <= 164 / 28 + 0.5, "half a step, and half for rounding"
    assert (colours[..., 3] == 255).all()
    assert (colours[weights.numpy() == 0] == 255).all(), "what is hidden is white"


@pytest.mark.parametrize(("n", "pixels"), [(2, 96), (12, 96), (33, 66), (64, 64), (130, 130)])
def test_small_matrices_are_enlarged(n: int, pixels: int) -> None:
    source = drawn(torch.ones(1, 1, n, 3), 0, 0).data[0].source
    assert colours_of(source, "RGBA").shape == (pixels, 96, 4)


def test_faint_weights_are_not_white() -> None:
    weights = torch.full((1, 1, 128, 128), 1 / 128)
    assert (cell_colours(drawn(weights, 0, 0), weights.shape)[..., 1] < 250).all()


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_model_s_own_numbers(dtype: torch.dtype) -> None:
    weights = torch.tensor([[[[1.0000001, 0.0]]]]).to(dtype)
    assert cell_colours(drawn(weights, 0, 0), weights.shape)[0, 0, 0, 0, :3].tolist() == FULL.tolist()


def test_gaps_between_the_heads() -> None:
    figure = drawn(random_weights(2, 3, 5, 4))
    colours = colours_of(figure.data[0].source, "RGBA")
    assert colours.shape == (2 * 95 + 5, 3 * 96 + 2 * 5, 4)
    gaps = colours[..., 3] < 255
    assert gaps[95:100].all()
    assert gaps[:, 96:101].all()
    assert gaps[:, 197:202].all()
    assert gaps.sum() == gaps[:, 0].sum() * gaps.shape[1] + gaps[0].sum() * gaps.shape[0] - 5 * 10


def test_pixels_lie_where_the_axes_say() -> None:
    figure = drawn(random_weights(2, 3, 5, 4))
    image, targets = figure.data
    assert (image.x0, image.dx, image.y0, image.dy) == (0.5 / 96, 1 / 96, 0.5 / 95, 1 / 95)
    assert image.zsmooth == "fast", "else a browser drops cells where the screen is smaller than the picture"
    assert list(targets.x)[:3] == pytest.approx([0.5, 1.5 + 5 / 96, 2.5 + 10 / 96])
    assert list(targets.y)[::3] == pytest.approx([0.5, 1.5 + 5 / 95])
    assert figure.layout.yaxis.scaleanchor is False
    low, high = figure.layout.xaxis.range
    assert low < 0
    assert high > 3 + 10 / 96
    bottom, top = figure.layout.yaxis.range
    assert top < 0
    assert bottom > 2 + 5 / 95


def test_names_click_targets_and_what_the_pointer_says() -> None:
    figure = drawn(random_weights(2, 3, 5, 4))
    targets = figure.data[1]
    assert [list(place) for place in targets.customdata] == [[0, 0], [0, 1], [0, 2], [1, 0], [1, 1], [1, 2]]
    assert targets.hovertext[5] == "L1 · H2: says 1.2"
    assert (list(figure.layout.xaxis.ticktext), list(figure.layout.yaxis.ticktext)) == (list(COLUMNS), list(ROWS))
    assert list(figure.layout.xaxis.tickvals) == list(targets.x)[:3]
    assert list(figure.layout.yaxis.tickvals) == list(targets.y)[::3]
    assert targets.marker.opacity == 0
    assert targets.marker.size <= 6, "of larger points Plotly takes the last that holds the pointer"
    assert figure.layout.hoverdistance == -1
    assert_stays_still(figure)


def test_the_chosen_head_is_framed() -> None:
    [frame] = [shape_of(shape) for shape in drawn(random_weights(2, 3, 5, 4), layer=1, head=2).layout.shapes]
    left, top = 2 + 10 / 96, 1 + 5 / 95
    assert frame[:4] == pytest.approx((left, left + 1, top, top + 1))
    assert frame[4] == SCORES


def test_hostile_texts() -> None:
    figure = glance(torch.ones(1, 1, 2, 2), 0, 0, ["L0"], ["H0"], [["<b>x</b> & y"]])
    assert figure.data[1].hovertext[0] == "L0 · H0: &lt;b&gt;x&lt;/b&gt; &amp; y"


@pytest.mark.parametrize(("n_layers", "height"), [(1, 90), (6, 420), (12, 420), (24, 420)])
def test_the_height_is_bounded(n_layers: int, height: int) -> None:
    assert drawn(torch.ones(n_layers, 2, 2, 2), 0, 0).layout.height == height


def test_a_picture_of_few_colours_travels_as_few_bytes() -> None:
    figure = drawn(random_weights(6, 12, 64, 64))
    image = Image.open(io.BytesIO(base64.b64decode(figure.data[0].source.partition(",")[2])))
    assert image.mode == "P"
    assert len(image.getpalette()) == 16 * 3
    assert len(figure.to_json()) <= 200_000
    assert len(json.dumps(random_weights(6, 12, 64, 64).tolist())) > 20 * len(figure.to_json())
