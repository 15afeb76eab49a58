"""The lesson at a glance, read back."""

import dataclasses
import itertools
import math

import pytest

from attn_core import Lesson, run_lesson
from attn_core.figures.strip import strip
from attn_core.palette import CELL_COLORS, NEUTRAL, ROLE_COLORS
from attn_core.stages import thread
from tests.attn_core.figures.samples import assert_stays_still, shape_of

MATRICES = thread(run_lesson(Lesson(d_model=3)))
STEPS = list(MATRICES)
WHOLE = Lesson(
    lang="en", second_text="I am a dog you", d_model=6, n_heads=2, positions="sinusoidal", mask="causal"
)  # every block there is


def corners(figure) -> list[tuple[float, float]]:
    return [(block.x[0], block.y[0]) for block in figure.data[:-1]]


def test_a_block_per_matrix() -> None:
    figure = strip(MATRICES, "one_hot")
    *blocks, targets = figure.data
    for block, matrix in zip(blocks, MATRICES.values(), strict=True):
        assert [list(row) for row in block.z] == matrix.values.tolist()
        assert (block.text, block.texttemplate) == (None, None)
        n_rows, n_columns = matrix.values.shape
        assert (len(block.x), len(block.y)) == (n_columns + 1, n_rows + 1)
        assert (block.x[-1] - block.x[0], block.y[-1] - block.y[0]) == pytest.approx((1, 1))
        assert block.colorscale[-1][1] == CELL_COLORS[matrix.role]
        assert ((block.zmin, block.zmax) == (0.0, 1.0)) == (matrix.symbol in (r"\text{one-hot}", "A"))
    assert [list(cell) for cell in targets.customdata] == [[i] for i in range(9)]
    assert [x - 0.5 for x in targets.x] == pytest.approx([x for x, _ in corners(figure)])
    assert [y - 0.5 for y in targets.y] == pytest.approx([y for _, y in corners(figure)])
    assert_stays_still(figure)


@pytest.mark.parametrize("lesson", [Lesson(), WHOLE], ids=["fewest", "most"])
def test_blocks_neither_touch_nor_leave_the_picture(lesson: Lesson) -> None:
    matrices = thread(run_lesson(lesson))
    figure = strip(matrices, list(matrices)[-1])
    for (x, y), (other_x, other_y) in itertools.combinations(corners(figure), 2):
        assert abs(x - other_x) > 1.1 or abs(y - other_y) > 1.1
    low_x, high_x = figure.layout.xaxis.range
    high_y, low_y = figure.layout.yaxis.range
    assert all(low_x < x - 0.05 and x + 1.05 < high_x for x, _ in corners(figure))
    assert all(low_y < y - 0.05 and y + 1.05 < high_y for _, y in corners(figure))
    assert figure.layout.xaxis.showticklabels is figure.layout.yaxis.showticklabels is False


@pytest.mark.parametrize("step", ["one_hot", "v", "scores", "output"])
def test_lit_up_to_the_stage(step: str) -> None:
    figure, stage = strip(MATRICES, step), STEPS.index(step)
    assert [block.opacity == 1.0 for block in figure.data[:-1]] == [i <= stage for i in range(9)]
    *frames, current = figure.layout.shapes
    assert [shape_of(frame) for frame in frames] == [(x, x + 1, y, y + 1, NEUTRAL, 1) for x, y in corners(figure)]
    x, y = corners(figure)[stage]
    assert shape_of(current)[:4] == pytest.approx((x - 0.05, x + 1.05, y - 0.04, y + 1.04))
    assert (current.line.color, current.line.width) == (ROLE_COLORS[MATRICES[step].role], 4)


def test_names_shapes_and_arrows() -> None:
    notes = [note.text for note in strip(MATRICES, "one_hot").layout.annotations]
    assert [text for text in notes if text.startswith("<b>")] == [
        "<b>one-hot</b>",
        "<b>X</b>",
        "<b>Q</b>",
        "<b>K</b>",
        "<b>V</b>",
        "<b>S</b>",
        "<b>S / √d<sub>k</sub></b>",
        "<b>A</b>",
        "<b>O</b>",
    ]
    assert [text for text in notes if "×" in text] == ["4 × 10"] + ["4 × 3"] * 4 + ["4 × 4"] * 3 + ["4 × 3"]
    assert notes.count("→") == 5  # one-hot → X → Q; S → S/√d_k → A → O; Q, K and V stand side by side


@pytest.mark.parametrize(("scale", "name"), [("none", "<b>S / 1</b>"), ("d_k", "<b>S / d<sub>k</sub></b>")])
def test_the_name_tells_the_divisor(scale: str, name: str) -> None:
    figure = strip(thread(run_lesson(Lesson(scale=scale))), "one_hot")
    assert name in [note.text for note in figure.layout.annotations]


def test_a_second_sentence_stands_beside_the_first() -> None:
    matrices = thread(run_lesson(WHOLE))
    notes = strip(matrices, "one_hot").layout.annotations
    names = [note.text for note in notes if note.text.startswith("<b>")]
    assert names == [
        "<b>one-hot</b>",
        "<b>X</b>",
        "<b>X + P</b>",
        "<b>X<sub>2</sub> + P<sub>2</sub></b>",
        *(f"<b>{letter}</b>" for letter in "QKV"),
        "<b>S<sub>0</sub></b>",
        "<b>S<sub>0</sub> / √d<sub>k</sub></b>",
        "<b>S<sub>0</sub> / √d<sub>k</sub>, masked</b>",
        "<b>A<sub>0</sub></b>",
        "<b>O<sub>0</sub></b>",
        "<b>O</b>",
        "<b>Y</b>",
    ]
    shapes = [note.text for note in notes if "×" in note.text]
    assert shapes == ["4 × 10", "4 × 6", "4 × 6", "5 × 6", "4 × 6", "5 × 6", "5 × 6"] + ["4 × 5"] * 4 + [
        "4 × 3",
        "4 × 6",
        "4 × 6",
    ]
    arrows = [round(note.x + 0.15, 2) for note in notes if note.text == "→" and note.y < 1]
    assert arrows == [1.3, 2.6, 5.2]  # into X, X + P and Q; X₂ + P₂, K and V are beside


def test_numbers_that_are_none() -> None:
    values = MATRICES["one_hot"].values.clone()
    values[0, 0], values[0, 1] = math.nan, math.inf
    x = dataclasses.replace(MATRICES["x"], values=values)
    figure = strip({"x": x, "scores": MATRICES["scores"]}, "x")
    assert figure.data[0].zmax == 1.0
    assert_stays_still(figure)


def test_a_stage_that_is_not_there() -> None:
    with pytest.raises(ValueError, match="'y' is not in list"):
        strip(MATRICES, "y")
