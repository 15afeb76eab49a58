"""From embeddings to the output, with masks, positions, heads and a second sentence: every step computed again."""

import dataclasses
import itertools
import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn.functional import scaled_dot_product_attention
from torch.testing import assert_close

from attn_core import Lesson, LessonTrace, run_lesson
from attn_core.attention import BlindQueryError
from attn_core.edits import Edit
from attn_core.masks import HiddenKeys
from attn_core.presets import matrix_edits
from attn_core.thread import EmbeddedSequence, Layers, Thread, divisor
from tests.independent import tenths

MASKS = ("none", "causal", "padding", "drawn")
POSITIONS = ("none", "sinusoidal", "learned")
HIDDEN = (HiddenKeys(0, (1, 3)), HiddenKeys(2, (0, 1)))


def lesson(mask: str = "none", positions: str = "none", n_heads: int = 1, second: bool = False, **more) -> Lesson:
    """Four queries; four keys, or six of another sentence; the last key is padding. Six columns."""
    texts = {"text": "the cat sat down", "second_text": "I am a dog you"} if second else {"text": "the cat sat"}
    fields = {"lang": "en", "d_model": 6, "padding": 1, "hidden": HIDDEN} | texts | more
    return Lesson(mask=mask, positions=positions, n_heads=n_heads, **fields)


every_kind = list(itertools.product(MASKS, POSITIONS, (1, 2, 3), (False, True)))

# Fields of lessons of every kind, to be made into a lesson inside of the tests.
kinds = st.fixed_dictionaries(
    {
        "mask": st.sampled_from(MASKS),
        "positions": st.sampled_from(POSITIONS),
        "n_heads": st.sampled_from([1, 2, 3, 6]),
        "second": st.booleans(),
        "seed": st.integers(0, 999_999),
        "scale": st.sampled_from(["sqrt_d_k", "none", "d_k"]),
    }
)
few = settings(max_examples=25)


# Worked by hand.

SHARE = math.e / (1 + math.e)


def two_words(**fields) -> LessonTrace:
    """x, W_Q, W_K, W_V all the identity of two rows, W_O = [[0, 1], [2, 0]]."""
    identity = [[1.0, 0.0], [0.0, 1.0]]
    given = {"x": identity, "W_Q": identity, "W_K": identity, "W_V": identity, "W_O": [[0.0, 1.0], [2.0, 0.0]]}
    edits = tuple(edit for name, rows in given.items() for edit in matrix_edits(name, rows))
    return run_lesson(Lesson(lang="en", text="a b", d_model=2, edits=edits, **fields))


def test_as_many_heads_as_columns():
    """Heads of one column: scores are products of two numbers, and √d_k = 1 divides nothing."""
    trace = two_words(n_heads=2)
    assert (trace.d_k, trace.divisor) == (1, 1.0)
    assert [head.scores.tolist() for head in trace.heads] == [[[1, 0], [0, 0]], [[0, 0], [0, 1]]]
    assert_close(trace.heads[0].weights, torch.tensor([[SHARE, 1 - SHARE], [0.5, 0.5]], dtype=torch.float64))
    assert_close(trace.heads[1].weights, torch.tensor([[0.5, 0.5], [1 - SHARE, SHARE]], dtype=torch.float64))
    assert_close(trace.joined, torch.tensor([[SHARE, 0.5], [0.5, SHARE]], dtype=torch.float64))
    assert_close(trace.y, torch.tensor([[1.0, SHARE], [2 * SHARE, 0.5]], dtype=torch.float64))


def test_a_causal_mask_leaves_the_first_query_one_key():
    trace = two_words(n_heads=2, mask="causal")
    assert [head.masked[0].tolist() for head in trace.heads] == [[1, -math.inf], [0, -math.inf]]
    assert [head.weights[0].tolist() for head in trace.heads] == [[1, 0], [1, 0]]
    assert_close(trace.joined, torch.tensor([[1.0, 0.0], [0.5, SHARE]], dtype=torch.float64))


def test_one_head_divides_by_the_root_of_all_columns():
    trace = two_words()
    assert_close(trace.attention.scaled, torch.eye(2, dtype=torch.float64) / math.sqrt(2))


def test_positions_are_added_before_the_layers():
    trace = two_words(positions="sinusoidal")
    expected = [[1, 1], [math.sin(1), 1 + math.cos(1)]]  # e.g. row 0: (1, 0) + (sin 0, cos 0)
    for values in (trace.asking.inputs, trace.q, trace.k, trace.v):
        assert_close(values, torch.tensor(expected, dtype=torch.float64))
    assert trace.x.tolist() == [[1, 0], [0, 1]]


# Every step against plain Python.


def times(left: list[list[float]], right: list[list[float]]) -> list[list[float]]:
    columns = list(zip(*right, strict=True))
    return [[sum(a * b for a, b in zip(row, column, strict=True)) for column in columns] for row in left]


def place(kind: str, row: int, column: int, seed: int) -> float:
    """One entry of a position vector of six columns."""
    if kind == "sinusoidal":
        angle = row / 10_000 ** ((column - column % 2) / 6)
        return math.cos(angle) if column % 2 else math.sin(angle)
    return float(tenths(row + 1, 6, 10, 4_000_000 + 2 * seed)[row, column]) if kind == "learned" else 0.0


def is_hidden(kind: str, query: int, key: int, n_keys: int) -> bool:
    drawn = {(0, 1), (0, 3), (2, 0), (2, 1)}
    return {"none": False, "causal": key > query, "padding": key == n_keys - 1, "drawn": (query, key) in drawn}[kind]


def softmax(row: list[float]) -> list[float]:
    powers = [math.exp(value) for value in row]
    return [power / sum(powers) for power in powers]


@pytest.mark.parametrize(("mask", "positions", "n_heads", "second"), every_kind)
def test_every_step_against_plain_loops(mask, positions, n_heads, second):
    trace = run_lesson(lesson(mask, positions, n_heads, second, seed=n_heads))
    w_e, *layers = (w.tolist() for w in (trace.w_e, trace.w_q, trace.w_k, trace.w_v, trace.w_o))
    inputs = []
    for sequence in (trace.asking, trace.answering):
        ids = [trace.vocabulary.words.index(token) for token in sequence.tokens]
        x = [w_e[chosen] for chosen in ids]
        p = [[place(positions, row, column, n_heads) for column in range(6)] for row in range(len(ids))]
        added = [[a + b for a, b in zip(*rows, strict=True)] for rows in zip(x, p, strict=True)]
        for found, values in ((sequence.x, x), (sequence.p, p), (sequence.inputs, added)):
            assert_close(found, torch.tensor(values, dtype=torch.float64))
        inputs.append(added)
    q, k, v = times(inputs[0], layers[0]), times(inputs[1], layers[1]), times(inputs[1], layers[2])
    joined: list[list[float]] = [[] for _ in q]
    d_k = 6 // n_heads
    for head, found in enumerate(trace.heads):
        own = [[row[head * d_k : (head + 1) * d_k] for row in rows] for rows in (q, k, v)]
        scores = times(own[0], [list(column) for column in zip(*own[1], strict=True)])
        scaled = [[score / math.sqrt(d_k) for score in row] for row in scores]
        masked = [
            [-math.inf if is_hidden(mask, i, j, len(k)) else value for j, value in enumerate(row)]
            for i, row in enumerate(scaled)
        ]
        weights = [softmax(row) for row in masked]
        output = times(weights, own[2])
        steps = {"scores": scores, "scaled": scaled, "masked": masked, "weights": weights, "output": output}
        for name, values in steps.items():
            assert_close(getattr(found, name), torch.tensor(values, dtype=torch.float64), msg=name)
        joined = [row + more for row, more in zip(joined, output, strict=True)]
    assert_close(trace.joined, torch.tensor(joined, dtype=torch.float64))
    assert_close(trace.y, torch.tensor(times(joined, layers[3]), dtype=torch.float64))


# Against torch's own.


@few
@given(kinds)
def test_each_head_against_torch(fields):
    trace = run_lesson(lesson(**fields))
    assert len(trace.heads) == trace.n_heads == fields["n_heads"]
    for head in range(trace.n_heads):
        shown = trace.with_head(head)
        q, k, v = (shown.of_head(values) for values in (trace.q, trace.k, trace.v))
        theirs = scaled_dot_product_attention(q, k, v, attn_mask=trace.mask, scale=1 / trace.divisor)
        assert_close(shown.output, theirs)


@pytest.mark.parametrize(("mask", "positions", "n_heads", "second"), every_kind[::5])
def test_all_heads_against_torch_s_module(mask, positions, n_heads, second):
    trace = run_lesson(lesson(mask, positions, n_heads, second, seed=5))
    module = torch.nn.utils.skip_init(torch.nn.MultiheadAttention, 6, n_heads, bias=False, dtype=torch.float64)
    with torch.no_grad():
        module.in_proj_weight.copy_(torch.cat([w.T for w in (trace.w_q, trace.w_k, trace.w_v)]))
        module.out_proj.weight.copy_(trace.w_o.T)
        asked, offered = trace.asking.inputs, trace.answering.inputs
        y, weights = module(asked, offered, offered, attn_mask=~trace.mask, average_attn_weights=False)
    assert_close(trace.y, y)
    assert_close(torch.stack([head.weights for head in trace.heads]), weights)


# What must be so whatever the numbers are.


@few
@given(kinds)
def test_a_weight_is_0_exactly_where_the_mask_hides(fields):
    trace = run_lesson(lesson(**fields))
    for head in trace.heads:
        assert torch.equal(head.weights == 0, ~trace.mask)
        assert torch.equal(head.masked.isneginf(), ~trace.mask)
        assert torch.equal(head.masked[trace.mask], head.scaled[trace.mask])
        assert_close(head.weights.sum(dim=-1), torch.ones(4, dtype=torch.float64))


@few
@given(kinds, st.floats(-1000, 1000))
def test_behind_a_padding_mask_padding_changes_no_output(fields, value):
    plain = lesson(**fields | {"mask": "padding"})
    row = run_lesson(plain).vocabulary.words.index("[PAD]")
    before, after = (
        run_lesson(dataclasses.replace(plain, edits=edits)) for edits in ((), (Edit("W_E", row, 2, value),))
    )
    assert after.answering.x[-1, 2] == value
    n_words = 4 if fields["second"] else 3  # alone, the last query is the padding itself
    assert torch.equal(before.y[:n_words], after.y[:n_words])


@few
@given(kinds, st.integers(1, 3), st.floats(-1000, 1000))
def test_under_a_causal_mask_no_output_depends_on_later_tokens(fields, token, value):
    plain = lesson(**fields | {"mask": "causal", "second": False})
    before, after = (
        run_lesson(dataclasses.replace(plain, edits=edits)) for edits in ((), (Edit("x", token, 1, value),))
    )
    assert torch.equal(before.y[:token], after.y[:token])
    assert torch.equal(before.x[:token], after.x[:token])


def test_without_the_mask_it_does():
    for mask in ("none", "causal"):
        plain = lesson(mask)
        changed = dataclasses.replace(plain, edits=(Edit("x", 3, 1, 9.0),))
        same = torch.equal(run_lesson(plain).y[:3], run_lesson(changed).y[:3])
        assert same == (mask == "causal")


@few
@given(kinds, st.sampled_from(["W_Q", "W_K", "W_V"]), st.integers(0, 5), st.integers(0, 5))
def test_a_head_depends_on_its_own_columns_only(fields, layer, row, column):
    plain = lesson(**fields)
    before, after = (run_lesson(dataclasses.replace(plain, edits=e)) for e in ((), (Edit(layer, row, column, 77.5),)))
    own = column // before.d_k
    for head, (one, other) in enumerate(zip(before.heads, after.heads, strict=True)):
        if head != own:
            assert all(torch.equal(getattr(one, step.name), getattr(other, step.name)) for step in STEPS)
    changed = (before.joined != after.joined).any(dim=0).nonzero().flatten().tolist()
    assert set(changed) <= set(after.with_head(own).head_columns)


STEPS = dataclasses.fields(run_lesson(Lesson()).attention)


@few
@given(kinds)
def test_w_o_mixes_the_joined_heads_and_nothing_else(fields):
    plain = lesson(**fields)
    identity = torch.eye(6, dtype=torch.float64).tolist()
    trace = run_lesson(dataclasses.replace(plain, edits=matrix_edits("W_O", identity)))
    assert torch.equal(trace.y, trace.joined)
    assert torch.equal(trace.joined, run_lesson(plain).joined)
    for head in range(trace.n_heads):
        shown = trace.with_head(head)
        assert torch.equal(shown.of_head(trace.joined), shown.output)


@few
@given(kinds)
def test_the_sum_of_embedding_and_position_is_all_that_counts(fields):
    """Put in by hand as the embedding of a lesson without positions, it gives the same numbers."""
    placed = run_lesson(lesson(**fields | {"second": False}))
    edits = matrix_edits("x", placed.asking.inputs.tolist())
    plain = run_lesson(lesson(**fields | {"second": False, "positions": "none"}, edits=edits))
    assert torch.equal(plain.y, placed.y)


@few
@given(kinds)
def test_a_sentence_that_looks_at_itself_by_name(fields):
    """The same sentence as second text gives what it gives alone."""
    alone = run_lesson(lesson(**fields | {"second": False}, padding=0))
    named = run_lesson(lesson(**fields | {"second": False}, padding=0, second_text="the cat sat"))
    assert named.is_cross
    assert not alone.is_cross
    assert torch.equal(named.y, alone.y)


# What the record says about itself.


@pytest.mark.parametrize(
    ("fields", "found"),
    [
        ({}, (False, False, False)),
        ({"mask": "causal"}, (True, False, False)),
        ({"mask": "padding"}, (False, False, False)),  # there is no padding
        ({"mask": "padding", "padding": 1}, (True, False, False)),
        ({"padding": 1}, (False, False, False)),
        ({"mask": "drawn", "hidden": (HiddenKeys(4, (0,)),)}, (False, False, False)),  # there is no such query
        ({"mask": "causal", "text": "猫"}, (False, False, False)),  # nothing comes later
        ({"positions": "learned"}, (False, True, False)),
        ({"positions": "sinusoidal", "text": "猫"}, (False, True, False)),
        ({"second_text": "猫"}, (False, False, True)),
    ],
    ids=str,
)
def test_which_parts_a_thread_has(fields, found):
    trace = run_lesson(Lesson(**fields))
    assert (trace.is_masked, trace.has_positions, trace.is_cross) == found


def test_the_columns_of_a_head():
    trace = run_lesson(Lesson(d_model=6, n_heads=3, head=1))
    assert (trace.n_heads, trace.d_k, trace.head, list(trace.head_columns)) == (3, 2, 1, [2, 3])
    assert torch.equal(trace.of_head(trace.q), trace.q[:, 2:4])
    assert list(trace.with_head(2).head_columns) == [4, 5]
    assert trace.attention is trace.heads[1]
    assert trace.output is trace.heads[1].output


@pytest.mark.parametrize(("scale", "d_k", "value"), [("sqrt_d_k", 9, 3.0), ("none", 9, 1.0), ("d_k", 9, 9.0)])
def test_divisors(scale, d_k, value):
    assert divisor(scale, d_k) == value


@pytest.mark.parametrize(("n_heads", "value"), [(1, math.sqrt(6)), (2, math.sqrt(3)), (6, 1.0)])
def test_more_heads_divide_by_less(n_heads, value):
    trace = run_lesson(Lesson(d_model=6, n_heads=n_heads))
    assert trace.divisor == value
    for head in trace.heads:
        assert torch.equal(head.scaled, head.scores / value)


# What cannot be computed.


def numbers(*size: int) -> torch.Tensor:
    return torch.ones(size, dtype=torch.float64)


def ran(**changed) -> Thread:
    """Two tokens of four columns."""
    sequence = EmbeddedSequence(("a", "b"), numbers(2, 3), numbers(2, 4), numbers(2, 4), numbers(2, 4))
    given = {"mask": numbers(2, 2) > 0, "n_heads": 2, "head": 0, "scale": "none"} | changed
    named = {"features": ("x", "y", "z"), "entries_symbol": "v", "w_e": numbers(3, 4), "edits": ()}
    return Thread.run(sequence, sequence, Layers(*[numbers(4, 4)] * 4), **given, **named)


def test_heads_that_do_not_divide_the_columns():
    with pytest.raises(ValueError, match=r"^n_heads must divide d_model, got 3 and 4$"):
        ran(n_heads=3)


def test_a_query_that_sees_nothing():
    mask = torch.tensor([[True, False], [False, False]])
    with pytest.raises(BlindQueryError, match=r"^every query must see at least one key; none is visible to query 1$"):
        ran(mask=mask)


def test_a_head_that_is_not_there_is_the_last_one():
    assert ran(head=7).head == 1
