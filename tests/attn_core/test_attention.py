"""Every recorded step of attend(), from closed forms to properties."""

import dataclasses
import inspect
import itertools
import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.testing import assert_close

from attn_core import AttentionTrace, attend

STEPS = ("scores", "scaled", "masked", "weights", "output")

# attend() as it is at run time: the suite's type checker would refuse wrong shapes before attend sees them.
bare_attend = inspect.unwrap(attend)

# Small, odd, and all of different length.
QUERY, KEY, D_K, D_V = 3, 5, 7, 9


def normal(*shape: int, seed: int, factor: float = 1.0) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64) * factor


def inputs(*batch: int, seed: int = 0) -> tuple[Tensor, Tensor, Tensor]:
    return (
        normal(*batch, QUERY, D_K, seed=seed),
        normal(*batch, KEY, D_K, seed=seed + 1),
        normal(*batch, KEY, D_V, seed=seed + 2),
    )


def some_mask(*shape: int, seed: int = 3) -> Tensor:
    """A mask with both values in it, in which every query sees at least the first key."""
    mask = torch.rand(shape, generator=torch.Generator().manual_seed(seed)) < 0.5
    mask[..., 0] = True
    assert not mask.all()
    return mask


# Closed forms.


def test_two_keys_in_closed_form():
    trace = attend(
        torch.tensor([[0.0, math.sqrt(2)]], dtype=torch.float64),
        torch.eye(2, dtype=torch.float64),
        torch.tensor([[1.0, 0.0, 4.0], [0.0, 1.0, 2.0]], dtype=torch.float64),
    )
    e = math.e
    expected = {
        "scores": [[0.0, math.sqrt(2)]],
        "scaled": [[0.0, 1.0]],
        "masked": [[0.0, 1.0]],
        "weights": [[1 / (1 + e), e / (1 + e)]],
        "output": [[1 / (1 + e), e / (1 + e), (4 + 2 * e) / (1 + e)]],
    }
    for step, values in expected.items():
        assert_close(getattr(trace, step), torch.tensor(values, dtype=torch.float64), rtol=0, atol=1e-15)


def test_equal_scores_give_the_mean_of_the_values():
    _, key, value = inputs()
    trace = attend(torch.zeros(QUERY, D_K, dtype=torch.float64), key, value)
    assert_close(trace.weights, torch.full((QUERY, KEY), 1 / KEY, dtype=torch.float64))
    assert_close(trace.output, value.mean(dim=0).expand(QUERY, D_V))


def test_a_single_visible_key_gets_all_the_weight():
    query, key, value = inputs()
    mask = torch.zeros(QUERY, KEY, dtype=torch.bool)
    mask[0, 4] = mask[1, 2] = mask[2, 0] = True
    trace = attend(query, key, value, mask=mask)
    assert torch.equal(trace.weights, mask.to(torch.float64))
    assert torch.equal(trace.output, value[[4, 2, 0]])


def test_orthonormal_keys_pick_out_the_query_s_coordinates():
    query = normal(QUERY, 4, seed=5)
    trace = attend(query, torch.eye(4, dtype=torch.float64), torch.eye(4, dtype=torch.float64), scale=1.0)
    assert torch.equal(trace.scores, query)
    assert torch.equal(trace.output, trace.weights)


# Step by step against plain Python.


def by_loops(query, key, value, mask, divisor) -> dict[str, list[list[float]]]:
    """The definition, number by number, on nested lists."""
    steps: dict[str, list[list[float]]] = {step: [] for step in STEPS}
    for row, q in enumerate(query):
        scores = [sum(a * b for a, b in zip(q, k, strict=True)) for k in key]
        scaled = [score / divisor for score in scores]
        masked = [s if mask is None or mask[row][column] else -math.inf for column, s in enumerate(scaled)]
        powers = [math.exp(s) for s in masked]
        weights = [power / sum(powers) for power in powers]
        output = [sum(w * v[d] for w, v in zip(weights, value, strict=True)) for d in range(len(value[0]))]
        for step, numbers in zip(STEPS, (scores, scaled, masked, weights, output), strict=True):
            steps[step].append(numbers)
    return steps


MASKS = {
    "no mask": None,
    "all visible": torch.ones(QUERY, KEY, dtype=torch.bool),
    "causal": torch.ones(QUERY, KEY, dtype=torch.bool).tril(),
    "scattered": some_mask(QUERY, KEY),
}


@pytest.mark.parametrize("mask", MASKS.values(), ids=MASKS)
@pytest.mark.parametrize("scale", [None, 1.0, 7.0, 0.3])
@pytest.mark.parametrize("batch", [(), (2,), (4, 2)], ids=str)
def test_every_step_against_loops(batch, scale, mask):
    query, key, value = inputs(*batch)
    trace = attend(query, key, value, mask=mask, scale=scale)
    divisor = math.sqrt(D_K) if scale is None else scale
    for index in itertools.product(*map(range, batch)):
        entry = (tensor[index].tolist() for tensor in (query, key, value))
        expected = by_loops(*entry, None if mask is None else mask.tolist(), divisor)
        for step in STEPS:
            actual = getattr(trace, step)
            assert actual.shape == (*batch, *torch.tensor(expected[step]).shape)
            assert_close(actual[index], torch.tensor(expected[step], dtype=torch.float64), rtol=1e-12, atol=1e-13)


def test_each_batch_entry_may_have_its_own_mask():
    query, key, value = inputs(2)
    mask = some_mask(2, QUERY, KEY)
    trace = attend(query, key, value, mask=mask)
    for entry in range(2):
        alone = attend(query[entry], key[entry], value[entry], mask=mask[entry])
        for step in STEPS:
            assert_close(getattr(trace, step)[entry], getattr(alone, step))


def test_one_set_of_keys_serves_every_batch_entry():
    query, _, _ = inputs(2)
    _, key, value = inputs()
    trace = attend(query, key, value)
    assert_close(trace.output, attend(query, key.expand(2, KEY, D_K), value.expand(2, KEY, D_V)).output)


def test_the_mask_leaves_earlier_steps_alone():
    query, key, value = inputs()
    mask = some_mask(QUERY, KEY)
    free, trace = attend(query, key, value), attend(query, key, value, mask=mask)
    assert torch.equal(trace.scores, free.scores)
    assert torch.equal(trace.scaled, free.scaled)
    assert torch.equal(trace.masked[mask], free.scaled[mask])
    assert torch.equal(torch.isneginf(trace.masked), ~mask)
    assert torch.equal(trace.weights == 0, ~mask)


# Against torch's own.


@pytest.mark.parametrize("mask", MASKS.values(), ids=MASKS)
@pytest.mark.parametrize("scale", [None, 2.5])
@pytest.mark.parametrize("batch", [(), (2,), (4, 2)], ids=str)
def test_output_equals_torch_s(batch, scale, mask):
    query, key, value = inputs(*batch)
    theirs = nn.functional.scaled_dot_product_attention(
        query, key, value, attn_mask=mask, scale=None if scale is None else 1 / scale
    )
    assert_close(attend(query, key, value, mask=mask, scale=scale).output, theirs)


@pytest.mark.parametrize("mask", MASKS.values(), ids=MASKS)
def test_weights_equal_those_of_torch_s_module(mask):
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(4)
        module = nn.MultiheadAttention(D_K, 1, kdim=D_K, vdim=D_K, batch_first=True, dtype=torch.float64)
    query, key = normal(2, QUERY, D_K, seed=6), normal(2, KEY, D_K, seed=7)
    value = normal(2, KEY, D_K, seed=8)
    blocked = None if mask is None else ~mask  # torch's module: True = may NOT attend
    output, weights = module(query, key, value, attn_mask=blocked, average_attn_weights=False)

    w_q, w_k, w_v = module.in_proj_weight.chunk(3)
    b_q, b_k, b_v = module.in_proj_bias.chunk(3)
    trace = attend(query @ w_q.T + b_q, key @ w_k.T + b_k, value @ w_v.T + b_v, mask=mask)
    assert_close(trace.weights, weights[:, 0])
    assert_close(module.out_proj(trace.output), output)


# Properties.

sizes = st.tuples(*[st.integers(1, 6)] * 4)  # query, key, d_k, d_v


@st.composite
def problems(draw) -> tuple[Tensor, Tensor, Tensor]:
    n_queries, n_keys, d_k, d_v = draw(sizes)
    seed, factor = draw(st.integers(0, 10_000)), draw(st.sampled_from([0.01, 1.0, 30.0]))
    return (
        normal(n_queries, d_k, seed=seed, factor=factor),
        normal(n_keys, d_k, seed=seed + 1, factor=factor),
        normal(n_keys, d_v, seed=seed + 2),
    )


@st.composite
def masked_problems(draw) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    query, key, value = draw(problems())
    return query, key, value, some_visible(len(query), len(key), draw(st.integers(0, 10_000)))


def some_visible(n_queries: int, n_keys: int, seed: int) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    mask = torch.rand(n_queries, n_keys, generator=generator) < 0.6
    mask[torch.arange(n_queries), torch.randint(n_keys, (n_queries,), generator=generator)] = True
    return mask


@given(masked_problems())
def test_each_row_of_weights_sums_to_one(problem):
    query, key, value, mask = problem
    weights = attend(query, key, value, mask=mask).weights
    assert (weights >= 0).all()
    assert_close(weights.sum(dim=-1), torch.ones(len(query), dtype=torch.float64))


@given(masked_problems())
def test_inputs_are_never_changed(problem):
    before = [tensor.clone() for tensor in problem]
    query, key, value, mask = problem
    attend(query, key, value, mask=mask)
    assert all(torch.equal(tensor, copy) for tensor, copy in zip(problem, before, strict=True))


@given(masked_problems(), st.randoms(use_true_random=False))
def test_permuted_queries_give_permuted_rows(problem, random):
    query, key, value, mask = problem
    order = random.sample(range(len(query)), len(query))
    trace, permuted = attend(query, key, value, mask=mask), attend(query[order], key, value, mask=mask[order])
    for step in STEPS:
        assert_close(getattr(permuted, step), getattr(trace, step)[order])


@given(masked_problems(), st.randoms(use_true_random=False))
def test_permuted_keys_give_permuted_weights_and_the_same_output(problem, random):
    query, key, value, mask = problem
    order = random.sample(range(len(key)), len(key))
    trace, permuted = attend(query, key, value, mask=mask), attend(query, key[order], value[order], mask=mask[:, order])
    assert_close(permuted.weights, trace.weights[:, order])
    assert_close(permuted.output, trace.output)


@given(problems(), st.floats(-100, 100))
def test_a_constant_added_to_a_row_of_scores_changes_no_weight(problem, constant):
    query, key, value = problem
    query_plus = torch.cat([query, torch.full((len(query), 1), constant, dtype=torch.float64)], dim=-1)
    key_plus = torch.cat([key, torch.ones(len(key), 1, dtype=torch.float64)], dim=-1)
    trace, moved = attend(query, key, value, scale=2.0), attend(query_plus, key_plus, value, scale=2.0)
    assert_close(moved.scores, trace.scores + constant, rtol=1e-9, atol=1e-9)
    assert_close(moved.weights, trace.weights, rtol=1e-7, atol=1e-9)


@given(masked_problems(), st.integers(0, 10_000))
def test_outputs_lie_in_the_convex_hull_of_the_visible_values(problem, seed):
    query, key, value, mask = problem
    directions = normal(value.shape[-1], 8, seed=seed)
    outputs = attend(query, key, value, mask=mask).output @ directions
    along = (value @ directions)[None].expand(len(query), -1, -1)
    hidden = ~mask[:, :, None]
    assert (outputs <= along.masked_fill(hidden, -math.inf).amax(dim=1) + 1e-9).all()
    assert (outputs >= along.masked_fill(hidden, math.inf).amin(dim=1) - 1e-9).all()


@given(problems())
def test_output_is_linear_in_the_values(problem):
    query, key, value = problem
    doubled = attend(query, key, 2 * value + 1)
    assert_close(doubled.output, 2 * attend(query, key, value).output + 1)


def test_huge_scores_stay_finite():
    trace = attend(torch.tensor([[1e6, 0.0]]), torch.tensor([[1.0, 0.0], [-1.0, 0.0]]), torch.eye(2))
    assert torch.equal(trace.weights, torch.tensor([[1.0, 0.0]]))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_inputs_dtype_is_kept(dtype):
    query, key, value = (tensor.to(dtype) for tensor in inputs())
    trace = attend(query, key, value, mask=some_mask(QUERY, KEY))
    assert {getattr(trace, step).dtype for step in STEPS} == {dtype}


@pytest.mark.parametrize("mask", [None, some_mask(QUERY, KEY)], ids=["free", "masked"])
@pytest.mark.parametrize("step", ["scores", "scaled", "weights", "output"])
def test_gradients(step, mask):
    arguments = tuple(tensor.requires_grad_() for tensor in inputs())
    assert torch.autograd.gradcheck(lambda q, k, v: getattr(attend(q, k, v, mask=mask), step), arguments)


# The record.


def test_the_record_is_frozen_and_complete():
    trace = attend(*inputs())
    assert tuple(field.name for field in dataclasses.fields(AttentionTrace)) == STEPS
    assert all(isinstance(getattr(trace, step), Tensor) for step in STEPS)
    with pytest.raises(dataclasses.FrozenInstanceError):
        trace.scores = trace.scaled


# Bad input.


def test_query_and_key_of_different_size():
    query, _, value = inputs()
    with pytest.raises(ValueError, match=r"^query and key must have the same last size, got 7 and 6$"):
        bare_attend(query, normal(KEY, 6, seed=1), value)


def test_key_and_value_of_different_length():
    query, key, _ = inputs()
    with pytest.raises(ValueError, match=r"^key and value must have the same length, got 5 and 4$"):
        bare_attend(query, key, normal(4, D_V, seed=1))


@pytest.mark.parametrize(("n_keys", "d_k"), [(0, 7), (5, 0)])
def test_nothing_to_attend_to(n_keys, d_k):
    with pytest.raises(ValueError, match=rf"at least one key and one dimension, got \({n_keys}, {d_k}\)$"):
        bare_attend(torch.ones(QUERY, d_k), torch.ones(n_keys, d_k), torch.ones(n_keys, D_V))


@pytest.mark.parametrize("scale", [0.0, -1.0, math.inf, math.nan])
def test_a_divisor_that_is_not_positive_and_finite(scale):
    with pytest.raises(ValueError, match=rf"^scale must be a positive finite number, got {scale}$"):
        attend(*inputs(), scale=scale)


@pytest.mark.parametrize("dtype", [torch.float64, torch.int64, torch.uint8])
def test_a_mask_that_is_not_boolean(dtype):
    mask = torch.ones(QUERY, KEY, dtype=dtype)
    with pytest.raises(ValueError, match=rf"^mask must be boolean \(True = may attend\), got {dtype}$"):
        bare_attend(*inputs(), mask=mask)


def test_a_mask_of_another_shape():
    message = r"^mask of shape \(5, 3\) does not fit scores of shape \(3, 5\)$"
    with pytest.raises(ValueError, match=message):
        bare_attend(*inputs(), mask=torch.ones(KEY, QUERY, dtype=torch.bool))


def test_blind_queries_are_named():
    mask = torch.ones(QUERY, KEY, dtype=torch.bool)
    mask[0] = mask[2] = False
    with pytest.raises(ValueError, match=r"^every query must see at least one key; none is visible to query 0, 2$"):
        attend(*inputs(), mask=mask)


def test_blind_queries_of_a_batch_are_named_with_their_entry():
    mask = torch.ones(2, QUERY, KEY, dtype=torch.bool)
    mask[1, 2] = False
    with pytest.raises(ValueError, match=r"none is visible to query \(1, 2\)$"):
        attend(*inputs(2), mask=mask)


def test_the_suite_checks_shapes():
    with pytest.raises(TypeError, match="Type-check error"):
        attend(torch.ones(QUERY, D_K), torch.ones(KEY, D_K + 1), torch.ones(KEY, D_V))
