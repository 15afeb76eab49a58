"""Masks: every kind against plain loops, hidden keys to and from a link, cells turned over, blind queries."""

import inspect

import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st

from attn_core import Lesson, run_lesson
from attn_core.attention import BlindQueryError
from attn_core.limits import MAX_PADDING
from attn_core.links import PartlyReadError
from attn_core.masks import (
    MASKS,
    PADDING,
    HiddenKeys,
    HiddenList,
    blind_queries,
    hidden_keys,
    make_mask,
    toggled,
)

sizes = st.integers(1, 6)
drawings = st.integers(1, 5).flatmap(
    lambda n_keys: st.lists(st.lists(st.booleans(), min_size=n_keys, max_size=n_keys), min_size=1, max_size=5)
)


def visible(text: str) -> list[list[bool]]:
    """A mask as a drawing: o is visible, · hidden."""
    return [[cell == "o" for cell in row] for row in text.split()]


# Each kind.


@pytest.mark.parametrize(
    ("kind", "more", "drawing"),
    [
        ("none", {}, "oooo oooo oooo"),
        ("none", {"n_padding": 2, "hidden": (HiddenKeys(0, (0,)),)}, "oooo oooo oooo"),
        ("causal", {}, "o··· oo·· ooo·"),
        ("padding", {"n_padding": 1}, "ooo· ooo· ooo·"),
        ("padding", {"n_padding": 3}, "o··· o··· o···"),
        ("padding", {"n_padding": 0}, "oooo oooo oooo"),
        ("drawn", {"hidden": (HiddenKeys(0, (1, 3)), HiddenKeys(2, (0,)))}, "o·o· oooo ·ooo"),
        ("drawn", {}, "oooo oooo oooo"),
        ("drawn", {"hidden": (HiddenKeys(1, (0, 4, 9)), HiddenKeys(3, (0,)))}, "oooo ·ooo oooo"),
    ],
)
def test_three_queries_and_four_keys(kind, more, drawing):
    assert make_mask(kind, 3, 4, **more).tolist() == visible(drawing)


def test_more_queries_than_keys():
    assert make_mask("causal", 4, 2).tolist() == visible("o· oo oo oo")


@given(sizes, sizes, st.data())
def test_against_loops(n_queries, n_keys, data):
    n_padding = data.draw(st.integers(0, n_keys))
    causal, padding = (
        make_mask("causal", n_queries, n_keys),
        make_mask("padding", n_queries, n_keys, n_padding=n_padding),
    )
    for query in range(n_queries):
        for key in range(n_keys):
            assert bool(causal[query, key]) == (key <= query)
            assert bool(padding[query, key]) == (key < n_keys - n_padding)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("diagonal", 2, 2), r"^mask must be one of none, causal, padding, drawn, got 'diagonal'$"),
        (("", 1, 1), r"^mask must be one of none, causal, padding, drawn, got ''$"),
    ],
)
def test_an_unknown_kind(arguments, message):
    with pytest.raises(ValueError, match=message):
        make_mask(*arguments)


@pytest.mark.parametrize("n_padding", [-1, 4])
def test_more_padding_than_keys(n_padding):
    with pytest.raises(ValueError, match=rf"^n_padding must be between 0 and 3, the number of keys, got {n_padding}$"):
        make_mask("padding", 2, 3, n_padding=n_padding)


# Drawing.


@given(drawings)
@example([[True]])
@example([[False]])
def test_hidden_keys_are_the_mask(rows):
    mask = torch.tensor(rows)
    hidden = hidden_keys(mask)
    assert torch.equal(make_mask("drawn", *mask.shape, hidden=hidden), mask)
    assert HiddenList().accepts(hidden)


@given(drawings, st.data())
def test_turning_a_cell_over_changes_that_cell_alone(rows, data):
    mask = torch.tensor(rows)
    query, key = (data.draw(st.integers(0, size - 1)) for size in mask.shape)
    before = mask.clone()
    turned = make_mask("drawn", *mask.shape, hidden=toggled(mask, query, key))
    assert torch.equal(mask, before)
    assert (turned != mask).nonzero().tolist() == [[query, key]]
    assert toggled(turned, query, key) == hidden_keys(mask)


def test_a_drawing_starts_from_the_mask_that_is_there():
    assert toggled(make_mask("causal", 3, 3), 0, 1) == (HiddenKeys(0, (2,)), HiddenKeys(1, (2,)))
    assert toggled(make_mask("none", 3, 3), 1, 2) == (HiddenKeys(1, (2,)),)


@given(drawings)
def test_blind_queries_see_no_key(rows):
    assert blind_queries(torch.tensor(rows)) == tuple(i for i, row in enumerate(rows) if not any(row))


@pytest.mark.parametrize("kind", ["none", "causal", "padding"])
@pytest.mark.parametrize("second_text", ["", "a"])
def test_only_a_drawn_mask_can_blind(kind, second_text):
    trace = run_lesson(Lesson(lang="en", mask=kind, padding=MAX_PADDING, second_text=second_text))
    assert blind_queries(trace.mask) == ()


# Hidden keys in a link.


@pytest.mark.parametrize(
    ("hidden", "text"),
    [
        (HiddenKeys(0, (1,)), "0:1"),
        (HiddenKeys(12, (1, 2, 3)), "12:1-3"),
        (HiddenKeys(2, (0, 2, 3, 7)), "2:0,2-3,7"),
        (HiddenKeys(31, (0, 31)), "31:0,31"),
    ],
)
def test_written_and_read(hidden, text):
    assert str(hidden) == text
    assert HiddenKeys.parse(text) == hidden


@pytest.mark.parametrize(
    "text", ["", "0", "0:", ":1", "0:1-", "0:1,,2", "0:-1", "100:1", "0:100", "0:3-1", "0:3-1,2", "a:b", "٠:١"]
)
def test_what_is_no_hidden_key(text):
    with pytest.raises(ValueError, match="keys"):
        HiddenKeys.parse(text)


@pytest.mark.parametrize(
    ("query", "keys", "message"),
    [
        (0, (), r"^keys must be in order, each once, and at least one, got \(\)$"),
        (0, (1, 1), r"^keys must be in order, each once, and at least one, got \(1, 1\)$"),
        (0, (2, 1), r"^keys must be in order, each once, and at least one, got \(2, 1\)$"),
        (0, (100,), r"^positions must be between 0 and 99, got 0 and \(100,\)$"),
        (-1, (0,), r"^positions must be between 0 and 99, got -1 and \(0,\)$"),
    ],
)
def test_hidden_keys_refuse(query, keys, message):
    with pytest.raises(ValueError, match=message):
        HiddenKeys(query, keys)


def test_a_list_gathers_what_belongs_together():
    assert HiddenList().read("2:0 0:3 0:1-2") == (HiddenKeys(0, (1, 2, 3)), HiddenKeys(2, (0,)))
    assert HiddenList().read("") == ()
    with pytest.raises(PartlyReadError) as partly:
        HiddenList().read("0:1 x 1:2 3:")
    assert partly.value.value == (HiddenKeys(0, (1,)), HiddenKeys(1, (2,)))
    assert partly.value.unread == ("x", "3:")


@pytest.mark.parametrize(
    "value", [(HiddenKeys(1, (0,)), HiddenKeys(0, (0,))), (HiddenKeys(0, (0,)), HiddenKeys(0, (1,))), ("0:1",), None]
)
def test_a_list_accepts_each_query_once_in_order(value):
    assert not HiddenList().accepts(value)


# In a lesson.


@pytest.mark.parametrize("kind", MASKS)
def test_a_lesson_hides_what_its_mask_hides(kind):
    hidden = (HiddenKeys(0, (1, 2)), HiddenKeys(3, (0,)))
    trace = run_lesson(Lesson(mask=kind, padding=2, hidden=hidden, n_heads=2))
    mask = make_mask(kind, 6, 6, n_padding=2, hidden=hidden)
    assert torch.equal(trace.mask, mask)
    assert trace.is_masked == (kind != "none")
    for head in trace.heads:
        assert torch.equal(torch.isneginf(head.masked), ~mask)
        assert torch.equal(head.weights == 0, ~mask)


def test_padding_stands_behind_the_keys():
    trace = run_lesson(Lesson(lang="en", padding=2))
    assert trace.tokens == trace.key_tokens == ("the", "cat", "sat", "down", PADDING, PADDING)
    crossed = run_lesson(Lesson(lang="en", padding=1, second_text="a dog"))
    assert (crossed.tokens, crossed.key_tokens) == (("the", "cat", "sat", "down"), ("a", "dog", PADDING))


def test_a_blind_query_is_refused_by_name():
    with pytest.raises(BlindQueryError, match=r"none is visible to query 1$"):
        run_lesson(Lesson(mask="drawn", hidden=(HiddenKeys(1, (0, 1, 2, 3)),)))


def test_the_source_is_named():
    assert "section 3.2.3" in inspect.getdoc(make_mask)
