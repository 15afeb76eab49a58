"""Weights over the steps of a training, read back."""

import dataclasses
import json

import pytest
import torch

from attn_core.figures.animation import AnimationLabels, animation, weights_picture
from attn_core.palette import KEY, SCORES
from attn_core.stages import Matrix
from tests.attn_core.figures.samples import assert_stays_still, matrix, shape_of

LABELS = AnimationLabels("Play", "Pause")


def weights(*rows: list[float]) -> Matrix:
    return matrix(list(rows), symbol="A", role="weights")


STEPS = [weights([0.5, 0.3, 0.2], [1 / 3, 1 / 3, 1 / 3]), weights([0.9, 0.1, 0], [0, 1, 0])]


def test_the_picture() -> None:
    figure = weights_picture(STEPS[0], [(0, 2), (1, 0)])
    (drawn,) = figure.data
    assert [list(row) for row in drawn.z] == [[0.5, 0.3, 0.2], [0.33, 0.33, 0.33]]
    assert [list(row) for row in drawn.text] == [["0.50", "0.30", "0.20"], ["0.33", "0.33", "0.33"]]
    assert (drawn.zmin, drawn.zmax, drawn.colorscale[-1][1]) == (0, 1, SCORES)
    assert [shape_of(shape) for shape in figure.layout.shapes] == [(2, 3, 0, 1, KEY, 3), (0, 1, 1, 2, KEY, 3)]
    assert (list(figure.layout.xaxis.ticktext), list(figure.layout.yaxis.ticktext)) == (
        ["c0", "c1", "c2"],
        ["r0", "r1"],
    )
    assert figure.frames == ()
    assert_stays_still(figure)


def test_a_frame_for_every_step() -> None:
    figure = animation(STEPS, ["step 0", "step 9"], 1, marked=[(0, 0)], labels=LABELS)
    assert [frame.name for frame in figure.frames] == ["0", "1"]
    assert [[list(row) for row in frame.data[0].z] for frame in figure.frames] == [
        [[0.5, 0.3, 0.2], [0.33, 0.33, 0.33]],
        [[0.9, 0.1, 0], [0, 1, 0]],
    ]
    assert [list(frame.traces) for frame in figure.frames] == [[0], [0]]
    assert figure.frames[0].data[0].text[0][0] == "0.50"
    assert [list(row) for row in figure.data[0].z] == [[0.9, 0.1, 0], [0, 1, 0]], "the one that is shown at first"
    assert_stays_still(figure)


@pytest.mark.parametrize("shown", [0, 1])
def test_the_slider_stops_at_every_frame(shown: int) -> None:
    figure = animation(STEPS, ["step 0", "step 9"], shown, marked=[], labels=LABELS)
    (slider,) = figure.layout.sliders
    assert slider.active == shown
    assert [step.label for step in slider.steps] == ["step 0", "step 9"]
    assert [list(step.args[0]) for step in slider.steps] == [["0"], ["1"]]
    assert all(step.method == "animate" and step.args[1]["frame"]["redraw"] for step in slider.steps)


def test_the_buttons_play_and_pause_without_motion_between_frames() -> None:
    (buttons,) = animation(STEPS, ["a", "b"], 0, marked=[], labels=LABELS).layout.updatemenus
    play, pause = buttons.buttons
    assert [play.label, pause.label] == ["Play", "Pause"]
    assert (play.args[0], list(pause.args[0])) == (None, [None])
    assert play.args[1]["fromcurrent"] is True
    assert play.args[1]["frame"]["duration"] > 0 == pause.args[1]["frame"]["duration"]
    assert all(button.args[1]["transition"]["duration"] == 0 for button in (play, pause))


def test_hidden_cells_are_struck_through_in_every_frame() -> None:
    hidden = torch.tensor([[False, True, True], [False, False, True]])
    steps = [dataclasses.replace(step, hidden=hidden) for step in STEPS]
    figure = animation(steps, ["a", "b"], 0, marked=[], labels=LABELS)
    strokes = figure.data[1]
    assert strokes.x.count(None) == 3
    assert all(list(frame.traces) == [0] for frame in figure.frames)


def test_hostile_tokens_and_height() -> None:
    names = ("<b>x</b>", *"abcdefgh")
    large = matrix([[1 / 9] * 9] * 9, role="weights", rows=names, columns=names)
    figure = animation([large] * 60, ["x"] * 60, 59, marked=[], labels=LABELS)
    assert figure.layout.xaxis.ticktext[0] == "&lt;b&gt;x&lt;/b&gt;"
    assert figure.layout.height <= 540
    assert len(json.dumps(figure.to_plotly_json(), default=str)) < 150_000
