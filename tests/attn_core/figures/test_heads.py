"""All heads side by side, read back."""

import dataclasses
import itertools

import pytest
import torch

from attn_core import Lesson, run_lesson
from attn_core.comparison import compare_heads, query_weights
from attn_core.figures.contributions import head_contributions
from attn_core.figures.falk import falk
from attn_core.figures.grid import grid
from attn_core.figures.heads import heads_grid
from attn_core.palette import EMBEDDING, KEY, NEUTRAL, QUERY, SCORES, VALUE
from attn_core.presets import matrix_edits
from attn_core.shares import head_shares
from attn_core.stages import heads_weights, stage
from tests.attn_core.figures.samples import assert_stays_still, counting, matrix, shape_of

HALVES = [matrix([[0.25, 0.75, 0.0], [1.0, 0.0, 0.0]], symbol=f"A_{head}", role="weights") for head in range(5)]


def test_a_block_for_every_head() -> None:
    trace = run_lesson(Lesson(lang="en", second_text="I am a dog you", d_model=6, n_heads=6))
    matrices = heads_weights(trace)
    figure = heads_grid(matrices, 0, 0, 0)
    for head, block in enumerate(figure.data[:6]):
        assert torch.equal(torch.tensor(block.z, dtype=torch.float64), trace.heads[head].weights)
        assert (block.zmin, block.zmax) == (0, 1)
        assert (len(block.x), len(block.y)) == (6, 5)
        assert (block.x[-1] - block.x[0], block.y[-1] - block.y[0]) == pytest.approx((1, 1))
    assert [note.text for note in figure.layout.annotations] == [f"<b>A<sub>{head}</sub></b>" for head in range(6)]
    assert_stays_still(figure)


@pytest.mark.parametrize(
    ("n_heads", "a_row"), [(1, 1), (2, 2), (3, 3), (4, 4), (5, 3), (6, 3), (7, 4), (8, 4), (9, 3), (16, 4)]
)
def test_blocks_stand_in_rows_of_at_most_four_and_never_meet(n_heads: int, a_row: int) -> None:
    figure = heads_grid([dataclasses.replace(HALVES[0], symbol=f"A_{head}") for head in range(n_heads)], 0, 0, 0)
    corners = [(block.x[0], block.y[0]) for block in figure.data[:n_heads]]
    assert len({x for x, _ in corners}) == a_row
    assert corners == sorted(corners, key=lambda corner: corner[::-1])
    for (x, y), (other_x, other_y) in itertools.combinations(corners, 2):
        assert abs(x - other_x) > 1.05 or abs(y - other_y) > 1.2
    low_x, high_x = figure.layout.xaxis.range
    high_y, low_y = figure.layout.yaxis.range
    assert all(low_x < x < x + 1 < high_x and low_y < y < y + 1 < high_y for x, y in corners)


def test_a_click_gives_head_query_and_key() -> None:
    targets = heads_grid(HALVES, 0, 0, 0).data[5]
    assert [list(cell) for cell in targets.customdata] == [
        [head, row, column] for head in range(5) for row in range(2) for column in range(3)
    ]
    figure = heads_grid(HALVES, 0, 0, 0)
    for (head, row, column), x, y in zip(targets.customdata, targets.x, targets.y, strict=True):
        block = figure.data[head]
        assert block.x[column] < x < block.x[column + 1]
        assert block.y[row] < y < block.y[row + 1]
    assert targets.hovertext[1] == "A<sub>0</sub> · r0 · c1: 0.75"


def test_what_is_chosen_is_framed() -> None:
    figure = heads_grid(HALVES[:2], 1, 1, 2)
    start = figure.data[1].x[0]
    rows, chosen = figure.layout.shapes[:2], figure.layout.shapes[2:]
    assert [shape_of(row) for row in rows] == [(0, 1, 0.5, 1, QUERY, 2), (start, start + 1, 0.5, 1, QUERY, 2)]
    assert [shape_of(shape) for shape in chosen] == [
        (start, start + 1, 0, 1, SCORES, 4),
        (pytest.approx(start + 2 / 3), pytest.approx(start + 1), 0.5, 1, KEY, 4),
    ]


@pytest.mark.parametrize(("n_heads", "columns", "numbers"), [(2, 5, True), (4, 2, True), (2, 6, False), (4, 3, False)])
def test_numbers_have_two_decimals_and_give_way_to_colour(n_heads: int, columns: int, numbers: bool) -> None:
    weights = torch.full((2, columns), 1 / columns, dtype=torch.float64)
    heads = [matrix(weights.tolist(), symbol=f"A_{head}", role="weights") for head in range(n_heads)]
    block = heads_grid(heads, 0, 0, 0).data[0]
    assert (block.text is not None) == (block.texttemplate is not None) == numbers
    if numbers:
        assert block.text[0][0] == f"{1 / columns:.2f}"


def test_labels_of_every_block_and_of_many_only_the_chosen_ones() -> None:
    few = heads_grid(HALVES[:2], 0, 1, 2).layout
    assert list(few.xaxis.ticktext) == ["c0", "c1", "c2"] * 2
    assert list(few.yaxis.ticktext) == ["r0", "r1"]
    assert list(few.xaxis.tickvals[:3]) == pytest.approx([1 / 6, 1 / 2, 5 / 6])
    tokens = tuple(f"t{i}" for i in range(16))
    many = [matrix(counting(16, 16), role="scores", rows=tokens, columns=tokens) for _ in range(8)]
    layout = heads_grid(many, 0, 5, 7).layout
    assert list(layout.xaxis.ticktext) == ["t7"] * 4
    assert list(layout.yaxis.ticktext) == ["t5"] * 2


@pytest.mark.parametrize(("n_heads", "n_tokens"), [(1, 1), (1, 32), (16, 4), (16, 32)])
def test_never_higher_than_a_screen(n_heads: int, n_tokens: int) -> None:
    lesson = Lesson(text=" ".join("abcdefghijklmnopqrstuvwxyzABCDEF"[:n_tokens]), d_model=16, n_heads=n_heads)
    figure = heads_grid(heads_weights(run_lesson(lesson)), 0, 0, 0)
    assert 60 < figure.layout.height <= 540
    assert figure.data[0].xgap == (0 if n_tokens * min(n_heads, 4) > 40 else 1)
    assert_stays_still(figure)


def test_hidden_cells_are_struck_through_in_every_head() -> None:
    trace = run_lesson(Lesson(lang="en", mask="causal", n_heads=2))
    strokes = heads_grid(heads_weights(trace), 0, 0, 0).data[3:]
    assert len(strokes) == 2
    for head, stroke in enumerate(strokes):
        assert list(stroke.x).count(None) == 6  # of 16 cells, 6 lie behind their query
        assert min(x for x in stroke.x if x is not None) > head * 1.08


def test_hostile_tokens() -> None:
    trace = run_lesson(Lesson(text="<b> the the", n_heads=2))
    layout = heads_grid(heads_weights(trace), 0, 0, 0).layout
    assert list(layout.yaxis.ticktext) == ["&lt;", "b", "&gt;", "the", "the"]


# The joined heads, and their shares.


def test_joined_heads_are_told_apart() -> None:
    trace = run_lesson(Lesson(d_model=6, n_heads=3, head=1))
    product = stage(trace, "y")
    figure = falk(product, 2, 4)
    left, right = figure.data[0], figure.data[1]
    lines = [shape for shape in figure.layout.shapes if shape.line.color == NEUTRAL and shape.line.width == 2]
    assert [(line.x0, line.x1) for line in lines[::2]] == [(left.x[2],) * 2, (left.x[4],) * 2]
    assert [(line.y0, line.y1) for line in lines[1::2]] == [(right.y[2],) * 2, (right.y[4],) * 2]
    frames = [shape_of(shape) for shape in figure.layout.shapes if shape.line.dash == "dot"]
    assert frames == [
        (left.x[2], left.x[4], left.y[0], left.y[-1], VALUE, 3),
        (right.x[0], right.x[-1], right.y[2], right.y[4], VALUE, 3),
    ]
    names = {note.text: note.x for note in figure.layout.annotations if note.text.startswith("<b>O<sub>")}
    assert names == {f"<b>O<sub>{head}</sub></b>": left.x[2 * head + 1] for head in range(3)}


def test_of_many_heads_only_the_chosen_one_is_named() -> None:
    figure = falk(stage(run_lesson(Lesson(d_model=16, n_heads=16, head=11)), "y"), 0, 0)
    assert [note.text for note in figure.layout.annotations if "O<sub>" in note.text] == ["<b>O<sub>11</sub></b>"]


def test_a_single_head_has_no_parts() -> None:
    figure = falk(stage(run_lesson(Lesson()), "y"), 0, 0)
    assert len(figure.layout.shapes) == 3
    assert not [note for note in figure.layout.annotations if "O<sub>" in note.text]


def test_stacked_shares_end_at_their_sum() -> None:
    trace = run_lesson(Lesson(n_heads=4))
    shared = head_shares(trace, 2)
    figure = head_contributions(shared, ["a", "b", "c", "d"], 2)
    *bars, total = figure.data
    assert [list(bar.y) for bar in bars] == shared.shares.tolist()
    assert list(total.y) == trace.y[2].tolist()
    for column in range(4):
        assert sum(bar.y[column] for bar in bars) == pytest.approx(total.y[column], abs=1e-15)
    low, high = figure.layout.yaxis.range
    upwards = max(sum(max(bar.y[column], 0) for bar in bars) for column in range(4))
    downwards = max(sum(max(-bar.y[column], 0) for bar in bars) for column in range(4))
    assert -low == high == pytest.approx(1.1 * max(upwards, downwards))
    assert list(figure.layout.xaxis.ticktext) == ["y0", "y1", "y2", "y3"]
    assert [bar.name for bar in bars] == ["a", "b", "c", "d"]
    assert [bar.text[0] for bar in bars] == ["a", "b", "c", "d"]
    assert [bar.marker.color == EMBEDDING for bar in bars] == [False, False, True, False]


def test_names_inside_the_bars_of_a_few_heads_only() -> None:
    shared = head_shares(run_lesson(Lesson(d_model=16, n_heads=16)), 0)
    figure = head_contributions(shared, [f"head {head}" for head in range(16)], 0)
    assert {bar.text[0] for bar in figure.data[:-1]} == {""}
    assert figure.data[15].name == "head 15"


def test_shares_that_are_all_zero_have_a_picture() -> None:
    shared = head_shares(run_lesson(Lesson(n_heads=2, edits=matrix_edits("W_O", [[0.0] * 4] * 4))), 0)
    assert head_contributions(shared, ["a", "b"], 0).layout.yaxis.range == pytest.approx((-0.011, 0.011))


def test_one_query_in_every_head_and_its_shares_as_rows() -> None:
    trace = run_lesson(Lesson(lang="en", n_heads=2, mask="causal", second_text="I am a dog you"))
    weights = query_weights(trace, 1, ("h0", "h1"))
    assert torch.equal(weights.values, compare_heads(trace, 1).weights)
    assert (weights.rows, weights.columns) == (("h0", "h1"), trace.key_tokens)
    assert weights.hidden is not None
    assert weights.hidden.tolist() == [[False, False, True, True, True]] * 2
    assert grid(weights).layout.annotations[0].text == "<b>a<sup>(h)</sup><sub>1</sub></b>  2 × 5"
    shares = head_shares(trace, 1).matrix(1, ("h0", "h1"))
    assert grid(shares).layout.annotations[0].text == "<b>y<sup>(h)</sup><sub>1</sub></b>  2 × 4"
    assert shares.columns == ("y0", "y1", "y2", "y3")
