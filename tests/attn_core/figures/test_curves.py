"""Curves over one axis, read back."""

from attn_core.figures.curves import Curve, curves
from attn_core.palette import KEY, NEUTRAL, SCORES


def test_lines_and_levels() -> None:
    lines = [
        Curve("loss", range(1, 4), (3.0, 2.0, 1.0), NEUTRAL),
        Curve("unseen", [0, 3], [2.5, 1.5], SCORES, marks=True),
        Curve("weight", [0, 3], [0.5, 1.0], KEY, dash="dash"),
    ]
    figure = curves(lines, x="step", y="nats", x_end=4, y_range=(0.25, 3.5), levels=[("best", 0.5), ("pairs", 0.75)])
    loss, unseen, weight, best, pairs = figure.data
    assert [trace.name for trace in figure.data] == ["loss", "unseen", "weight", "best", "pairs"]
    assert (list(loss.x), list(loss.y), loss.mode, loss.line.color) == ([1, 2, 3], [3, 2, 1], "lines", NEUTRAL)
    assert (unseen.mode, unseen.line.color) == ("lines+markers", SCORES)
    assert (weight.line.dash, weight.line.color) == ("dash", KEY)
    assert (list(best.x), list(best.y), best.line.dash) == ([0, 4], [0.5, 0.5], "dash")
    assert (list(pairs.y), pairs.line.dash) == ([0.75, 0.75], "dot")
    assert (tuple(figure.layout.xaxis.range), tuple(figure.layout.yaxis.range)) == ((0, 4), (0.25, 3.5))
    assert (figure.layout.xaxis.title.text, figure.layout.yaxis.title.text) == ("step", "nats")
    assert figure.layout.xaxis.fixedrange is figure.layout.yaxis.fixedrange is True
    assert figure.layout.dragmode is False
    assert figure.layout.height <= 540


def test_nothing_learned_yet() -> None:
    figure = curves([Curve("loss", [], [], NEUTRAL)], x="", y="", x_end=1, y_range=(0, 1))
    assert len(figure.data) == 1
    assert figure.data[0].x == ()
