"""Lines from tokens to tokens, read back: which pairs, how strong, what is written and what a click says."""

import itertools

import plotly.graph_objects as go
import pytest
import torch

from attn_core.figures.cells import label_width
from attn_core.figures.lines import DRAWN_FROM, WRITTEN_FROM, lines
from attn_core.palette import KEY, NEUTRAL, QUERY, SCORES
from attn_core.stages import Matrix
from tests.attn_core.figures.samples import assert_stays_still, matrix

# Two queries, three keys: cross attention.
SMALL = matrix([[0.25, 0.7499, 0.0001], [0.0, 0.985, 0.015]], role="weights", rows=("it", "ran"), columns=tuple("abc"))


def of_size(n_queries: int, n_keys: int, sharpness: float = 3.0) -> Matrix:
    numbers = torch.randn(n_queries, n_keys, dtype=torch.float64, generator=torch.Generator().manual_seed(2))
    weights = (sharpness * numbers).masked_fill(numbers < -1.5, -torch.inf).softmax(-1)
    rows, columns = (tuple(f"{letter}{i}" for i in range(n)) for letter, n in (("q", n_queries), ("k", n_keys)))
    return Matrix("A", "a", "weights", weights, rows, columns)


def parts(figure: go.Figure) -> tuple[list[go.Scatter], list[go.Scatter], go.Scatter, go.Scatter, go.Scatter]:
    """Others' lines, the held query's, queries, keys, click targets."""
    *drawn, queries, keys, targets = figure.data
    others, held = ([trace for trace in drawn if trace.line.color == color] for color in (SCORES, QUERY))
    assert drawn == [*others, *held], "the held query's lie on top"
    return others, held, queries, keys, targets


def pairs(trace: go.Scatter) -> list[tuple[int, int]]:
    """The pairs that a trace joins, once it is sure that its pieces are lines from left to right."""
    assert trace.mode == "lines"
    n = len(trace.x) // 3
    assert list(trace.x) == [0, 1, None] * n
    assert list(trace.y[2::3]) == [None] * n
    return list(zip(trace.y[::3], trace.y[1::3], strict=True))


def test_worked_by_hand() -> None:
    others, held, *_ = parts(lines(SMALL, 0, 1))
    assert [(pairs(trace), trace.opacity, trace.line.width) for trace in held] == [
        ([(0, 2)], 1 / 8, 1),  # √0.0001 is 0.01, in eighths rounded up 1
        ([(0, 0)], 4 / 8, 4),  # √0.25 is 4 eighths
        ([(0, 1)], 7 / 8, 7),  # √0.7499 is 6.93 eighths
    ]
    assert [(pairs(trace), trace.opacity, trace.line.width) for trace in others] == [([(1, 1)], 0.4, 3.2)]


def test_what_is_hidden_has_no_line() -> None:
    _, held, *_ = parts(lines(SMALL, 1, 0))
    assert [pair for trace in held for pair in pairs(trace)] == [(1, 2), (1, 1)]


@pytest.mark.parametrize("shape", [(7, 7), (5, 11), (11, 5), (130, 130), (64, 97)])
def test_every_pair_is_drawn_once_as_strong_as_its_weight(shape: tuple[int, int]) -> None:
    drawn, query = of_size(*shape), 3
    others, held, *_ = parts(lines(drawn, query, 2))
    found = [(pair, trace.opacity / part) for part, traces in ((0.4, others), (1.0, held)) for trace in traces
             for pair in pairs(trace)]  # fmt: skip
    weights = {(i, j): float(drawn.values[i, j]) for i, j in itertools.product(*map(range, shape))}
    wanted = {pair for pair, weight in weights.items() if weight > 0 and (pair[0] == query or weight >= DRAWN_FROM)}
    assert len(found) == len(dict(found)) == len(wanted)
    assert dict(found).keys() == wanted
    for pair, opacity in found:
        assert 0 <= opacity - weights[pair] ** 0.5 < 1 / 8 + 1e-9
    assert len(others) + len(held) <= 16


def test_a_weight_of_one_that_rounding_made_larger() -> None:
    _, held, *_ = parts(lines(matrix([[1.0000001, 0.0]], role="weights"), 0, 0))
    assert [(pairs(trace), trace.opacity) for trace in held] == [([(0, 0)], 1.0)]


# Tokens.


def test_the_held_query_s_weights_are_written_at_the_keys() -> None:
    _, _, queries, keys, _ = parts(lines(SMALL, 0, 1))
    assert list(queries.text) == ["<b>it</b>", "ran"]
    assert list(keys.text) == ["a <b>0.25</b>", "<b>b</b> <b>0.75</b>", "c"]
    assert (list(queries.x), list(queries.y)) == ([0, 0], [0, 1])
    assert (list(keys.x), list(keys.y)) == ([1, 1, 1], [0, 1, 2])
    assert (queries.textposition, keys.textposition) == ("middle left", "middle right")


def test_the_held_key_s_weight_is_written_however_small() -> None:
    *_, keys, _ = parts(lines(SMALL, 1, 2))
    assert list(keys.text) == ["a", "b <b>0.98</b>", "<b>c</b> <b>0.01</b>"]


def test_which_weights_are_written() -> None:
    drawn = of_size(4, 12)
    *_, keys, _ = parts(lines(drawn, 1, 0))
    weights = drawn.values[1].tolist()
    wanted = [f" <b>{w:.2f}</b>" if j == 0 or w >= WRITTEN_FROM else "" for j, w in enumerate(weights)]
    assert [text.partition(" ")[1:] for text in keys.text] == [text.partition(" ")[1:] for text in wanted]
    assert 0 < sum(map(bool, wanted)) < 12


def test_the_held_tokens_have_their_colours() -> None:
    _, _, queries, keys, _ = parts(lines(SMALL, 1, 2))
    assert list(queries.marker.color) == [NEUTRAL, QUERY]
    assert list(keys.marker.color) == [NEUTRAL, NEUTRAL, KEY]
    assert queries.marker.size[1] > queries.marker.size[0]
    assert "q" in (names := lines(SMALL, 1, 2).layout.xaxis.ticktext)[0]
    assert (QUERY in names[0], "k" in names[1], KEY in names[1]) == (True, True, True)


def test_no_text_has_a_colour_that_one_theme_swallows() -> None:
    _, _, queries, keys, _ = parts(figure := lines(SMALL, 0, 0))
    assert (queries.textfont.color, keys.textfont.color) == (None, None)
    assert (figure.layout.paper_bgcolor, figure.layout.plot_bgcolor) == ("rgba(0,0,0,0)", "rgba(0,0,0,0)")


# Many tokens.


@pytest.mark.parametrize("n", [2, 12, 64, 100, 130])
def test_labels_do_not_overlap(n: int) -> None:
    drawn = of_size(n, n, sharpness=5.0)
    figure = lines(drawn, n // 2, n - 1)
    assert figure.layout.height <= 700
    _, _, queries, keys, _ = parts(figure)
    row_height = (figure.layout.height - 30) / n
    for tokens, held in ((queries, n // 2), (keys, n - 1)):
        assert tokens.text[held].startswith("<b>")
        places = [place for place, text in enumerate(tokens.text) if text]
        assert tokens.textfont.size >= 9
        assert all((b - a) * row_height >= tokens.textfont.size for a, b in itertools.pairwise(places))
        assert n > 64 or len(places) == n
    largest = int(drawn.values[n // 2].argmax())
    assert abs(largest - (n - 1)) < 3 or f"<b>{drawn.values[n // 2, largest]:.2f}</b>" in keys.text[largest]


def test_wide_labels_fit_a_phone() -> None:
    names = tuple("東京都特許許可局長" for _ in range(12))
    drawn = Matrix("A", "a", "weights", torch.full((12, 12), 1 / 12, dtype=torch.float64), names, names)
    figure = lines(drawn, 3, 4)
    low, high = figure.layout.xaxis.range
    size = figure.data[-2].textfont.size
    pixels = 350 / (high - low)
    wide = label_width(names[0]) * size / 15
    assert -low * pixels >= wide + size / 2
    assert (high - 1) * pixels >= wide + 2.6 * size + size / 2
    assert pixels >= 89, "room for the lines"


def test_short_labels_leave_the_room_to_the_lines() -> None:
    low, high = lines(SMALL, 0, 0).layout.xaxis.range
    assert 350 / (high - low) > 200


# Clicks, and what the pointer says.


def test_a_click_changes_the_query_or_the_key() -> None:
    *_, targets = parts(figure := lines(SMALL, 1, 2))
    found = list(zip(targets.x, targets.y, map(list, targets.customdata), strict=True))
    assert found[:2] == [(0, 0, [0, 2]), (0, 1, [1, 2])]
    assert found[2:] == [(1, 0, [1, 0]), (1, 1, [1, 1]), (1, 2, [1, 2])]
    assert targets.marker.size <= 6, "of larger points Plotly takes the last that holds the pointer"
    assert figure.layout.hoverdistance == -1
    assert_stays_still(figure)


def test_the_pointer_names_the_three_largest_weights() -> None:
    drawn = matrix(
        [[0.1, 0.2, 0.4, 0.3], [0.97, 0.0, 0.01, 0.02], [0.5, 0.5, 0.0, 0.0]],
        role="weights",
        rows=tuple("xyz"),
        columns=tuple("abcd"),
    )
    *_, targets = parts(lines(drawn, 0, 0))
    assert list(targets.hovertext) == [
        "x → c 0.40 · d 0.30 · b 0.20",
        "y → a 0.97 · d 0.02 · c 0.01",
        "z → a 0.50 · b 0.50 · c 0.00",
        "a ← y 0.97 · z 0.50 · x 0.10",
        "b ← z 0.50 · x 0.20 · y 0.00",
        "c ← x 0.40 · y 0.01 · z 0.00",
        "d ← x 0.30 · y 0.02 · z 0.00",
    ]


def test_hostile_and_repeated_tokens() -> None:
    names = ("<b>x</b>", "the", "the")
    drawn = matrix([[1 / 3] * 3] * 3, role="weights", rows=names, columns=names)
    _, _, queries, keys, targets = parts(lines(drawn, 0, 2))
    assert list(queries.text) == ["<b>&lt;b&gt;x&lt;/b&gt;</b>", "the", "the"]
    assert list(keys.text) == ["&lt;b&gt;x&lt;/b&gt; <b>0.33</b>", "the <b>0.33</b>", "<b>the</b> <b>0.33</b>"]
    assert targets.hovertext[0].startswith("&lt;b&gt;x&lt;/b&gt; → &lt;b&gt;x&lt;/b&gt; 0.33 · the")


def test_one_token() -> None:
    figure = lines(matrix([[1.0]], role="weights"), 0, 0)
    assert [list(place) for place in figure.data[-1].customdata] == [[0, 0], [0, 0]]
    assert_stays_still(figure)
