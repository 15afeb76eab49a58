"""Figures of plain pieces, and that a wrong piece does not get past the tests."""

import base64
import json
import math

import numpy as np
import plotly.graph_objects as go
import pytest
from plotly.io import to_json

from attn_core.figures.plain import Piece, annotation, bar, figure, heatmap, image, packed, scatter


def test_a_figure_is_what_plotly_makes_of_the_same_pieces() -> None:
    traces = [heatmap(z=[[1, 2]], text=None), scatter(x=[1, None], y=[2, None]), bar(y=[3]), image(source="data:,")]
    layout = {"height": 100, "annotations": [annotation("a", 1, 2)], "xaxis": {"tickvals": [1], "ticktext": ["b"]}}
    frames = [{"name": "0", "data": [heatmap(z=[[3, 4]])], "traces": [0]}]
    drawn = figure(traces, layout, frames)
    sent, theirs = (
        json.loads(to_json(one.to_dict(), validate=False))
        for one in (drawn, go.Figure({"data": traces, "layout": layout, "frames": frames}))
    )
    assert sent["layout"].pop("template") == {"layout": {}}
    del theirs["layout"]["template"]
    assert sent == theirs
    assert [trace.type for trace in drawn.data] == ["heatmap", "scatter", "bar", "image"]
    assert drawn.layout.annotations[0].showarrow is False


def test_what_is_sent_is_what_can_be_read() -> None:
    drawn = figure([scatter(x=[1], y=[2])], {"height": 100}, [{"name": "0", "data": [scatter(x=[3], y=[4])]}])
    sent = json.loads(to_json(drawn.to_dict(), validate=False))
    assert sent["data"] == [trace.to_plotly_json() for trace in drawn.data]
    assert sent["layout"] == drawn.layout.to_plotly_json()
    assert sent["frames"][0]["name"] == drawn.frames[0].name


@pytest.mark.parametrize("shape", [(2, 3), (40, 1)])
def test_packed_numbers_are_read_as_they_were(shape: tuple[int, int]) -> None:
    numbers = np.linspace(-1, 1, math.prod(shape), dtype=np.float32).reshape(shape)
    piece = packed(numbers)
    figure([heatmap(z=piece)], {})
    read = np.frombuffer(base64.b64decode(piece["bdata"]), piece["dtype"])
    assert (read.reshape([int(n) for n in piece["shape"].split(", ")]) == numbers).all()


def test_none_is_left_out() -> None:
    assert heatmap(text=None, z=[[None]]) == {"type": "heatmap", "z": [[None]]}


@pytest.mark.parametrize(
    ("trace", "layout", "wrong"),
    [
        (scatter(colour="red"), {}, "colour"),
        (scatter(marker={"colour": "red"}), {}, "colour"),
        (scatter(mode="dots"), {}, "dots"),
        (heatmap(zmin="low"), {}, "low"),
        (bar(), {"hight": 100}, "hight"),
        (bar(), {"annotations": [annotation("", 0, 0, anchor="left")]}, "anchor"),
        (bar(), {"shapes": [{"type": "square"}]}, "square"),
        (bar(), {"xaxis": {"titel": "a"}}, "titel"),
    ],
)
def test_the_check_finds_what_plotly_does_not_know(trace: Piece, layout: Piece, wrong: str) -> None:
    with pytest.raises(ValueError, match=wrong):
        figure([trace], layout)
