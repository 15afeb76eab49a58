"""Softmax step by step."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch.testing import assert_close

from attn_core import Lesson, run_lesson
from attn_core.softmax import SoftmaxSettings, entropy, softmax_steps


def rows(*values: list[float]) -> Tensor:
    return torch.tensor(values, dtype=torch.float64)


def tables(low: float = -50, high: float = 50) -> st.SearchStrategy[Tensor]:
    sizes = st.tuples(st.integers(1, 4), st.integers(1, 5))
    number = st.floats(low, high)
    return sizes.flatmap(
        lambda size: st.lists(st.lists(number, min_size=size[1], max_size=size[1]), min_size=size[0], max_size=size[0])
    ).map(lambda values: torch.tensor(values, dtype=torch.float64))


every_setting = st.fixed_dictionaries(
    {"temperature": st.floats(0.1, 10), "offset": st.integers(0, 200), "subtract_maximum": st.booleans()}
)


# Worked by hand.


def test_one_and_e() -> None:
    e = math.e
    trace = softmax_steps(rows([0.0, 1.0]), SoftmaxSettings())
    assert_close(trace.exponentials, rows([1.0, e]))
    assert_close(trace.totals, rows([1 + e]))
    assert_close(trace.weights, rows([1 / (1 + e), e / (1 + e)]))
    assert trace.entropy.item() == pytest.approx(math.log(1 + e) - e / (1 + e))


def test_each_setting_does_one_thing() -> None:
    scores = rows([2.0, 4.0], [6.0, 0.0])
    plain = softmax_steps(scores, SoftmaxSettings())
    assert torch.equal(plain.logits, scores)
    assert torch.equal(plain.shifted, scores)
    assert softmax_steps(scores, SoftmaxSettings(temperature=2.0)).logits.tolist() == [[1, 2], [3, 0]]
    assert softmax_steps(scores, SoftmaxSettings(offset=10)).logits.tolist() == [[12, 14], [16, 10]]
    both = softmax_steps(scores, SoftmaxSettings(temperature=2.0, offset=10, subtract_maximum=True))
    assert both.logits.tolist() == [[11, 12], [13, 10]]
    assert both.shifted.tolist() == [[-1, 0], [0, -3]]


def test_equal_scores_share_equally() -> None:
    trace = softmax_steps(rows([0.7, 0.7, 0.7, 0.7]), SoftmaxSettings())
    assert_close(trace.weights, rows([0.25, 0.25, 0.25, 0.25]))
    assert trace.entropy.item() == pytest.approx(math.log(4))
    assert trace.largest_entropy == math.log(4)


def test_a_single_key_has_it_all() -> None:
    trace = softmax_steps(rows([-3.0], [5.0]), SoftmaxSettings())
    assert trace.weights.tolist() == [[1.0], [1.0]]
    assert trace.entropy.tolist() == [0.0, 0.0]
    assert trace.largest_entropy == 0.0


def test_a_masked_key_has_nothing() -> None:
    for subtract in (False, True):
        trace = softmax_steps(rows([0.0, -math.inf, 0.0]), SoftmaxSettings(subtract_maximum=subtract))
        assert trace.weights.tolist() == [[0.5, 0.0, 0.5]]
        assert trace.entropy.item() == pytest.approx(math.log(2))


# Against plain Python and torch's own.


@given(tables(), every_setting)
def test_every_step_against_plain_python(scores: Tensor, fields: dict) -> None:
    changed = SoftmaxSettings(**fields)
    trace = softmax_steps(scores / 10, changed)  # at most 50 / 10 / 0.1 + 200: no overflow
    for i, row in enumerate((scores / 10).tolist()):
        logits = [score / changed.temperature + changed.offset for score in row]
        highest = max(logits) if changed.subtract_maximum else 0.0
        powers = [math.exp(logit - highest) for logit in logits]
        weights = [power / sum(powers) for power in powers]
        assert trace.logits[i].tolist() == pytest.approx(logits)
        assert trace.shifted[i].tolist() == pytest.approx([logit - highest for logit in logits])
        assert trace.exponentials[i].tolist() == pytest.approx(powers)
        assert trace.totals[i].tolist() == pytest.approx([sum(powers)])
        assert trace.weights[i].tolist() == pytest.approx(weights)
        assert trace.entropy[i].item() == pytest.approx(-sum(w * math.log(w) for w in weights if w > 0), abs=1e-12)


@given(tables(), every_setting)
def test_against_torch_softmax(scores: Tensor, fields: dict) -> None:
    changed = SoftmaxSettings(**fields | {"subtract_maximum": True})
    trace = softmax_steps(scores, changed)
    assert_close(trace.weights, torch.softmax(scores / changed.temperature, dim=-1), rtol=1e-9, atol=1e-12)
    assert_close(trace.totals, trace.exponentials.sum(-1, keepdim=True))
    assert_close(trace.weights.sum(-1), torch.ones(len(scores), dtype=torch.float64))
    assert ((trace.exponentials >= 0) & (trace.exponentials <= 1)).all()


@given(tables(-300, 300))
def test_subtracting_the_maximum_changes_no_weight(scores: Tensor) -> None:
    plain, shifted = (softmax_steps(scores, SoftmaxSettings(subtract_maximum=yes)) for yes in (False, True))
    assert_close(plain.weights, shifted.weights)
    assert_close(plain.weights, torch.softmax(scores, dim=-1))


@given(tables())
def test_entropy_against_torch(scores: Tensor) -> None:
    weights = torch.softmax(scores / 10, dim=-1)
    assert_close(entropy(weights), torch.distributions.Categorical(probs=weights).entropy(), rtol=1e-9, atol=1e-9)


@given(tables(-800, 600))
def test_entropy_lies_between_0_and_ln_n(scores: Tensor) -> None:
    trace = softmax_steps(scores, SoftmaxSettings(subtract_maximum=True))
    assert (trace.entropy >= -1e-12).all()
    assert (trace.entropy <= trace.largest_entropy + 1e-12).all()


@given(tables(), st.floats(0.1, 10), st.floats(0.1, 10))
def test_a_higher_temperature_spreads_the_weights(scores: Tensor, one: float, other: float) -> None:
    low, high = sorted((one, other))
    cold, warm = (
        softmax_steps(scores, SoftmaxSettings(temperature=t, subtract_maximum=True)).entropy for t in (low, high)
    )
    assert (cold <= warm + 1e-9).all()


def test_entropy_has_leading_axes_of_its_own() -> None:
    weights = torch.full((2, 3, 4), 0.25, dtype=torch.float64)
    assert_close(entropy(weights), torch.full((2, 3), math.log(4), dtype=torch.float64))
    assert entropy(torch.tensor([0.0, 1.0, 0.0])).item() == 0.0


def test_the_lesson_s_own_weights() -> None:
    attention = run_lesson(Lesson()).attention
    assert_close(softmax_steps(attention.masked, SoftmaxSettings()).weights, attention.weights)


# What float64 does.


def test_an_offset_of_1000_overflows() -> None:
    trace = softmax_steps(rows([0.0, 1.0, 2.0]), SoftmaxSettings(offset=1000))
    assert trace.exponentials.tolist() == [[math.inf] * 3]
    assert trace.totals.tolist() == [[math.inf]]
    assert trace.weights.isnan().all()
    assert trace.entropy.isnan().all()


def test_an_offset_of_1000_with_the_maximum_subtracted() -> None:
    trace = softmax_steps(rows([0.0, 1.0, 2.0]), SoftmaxSettings(offset=1000, subtract_maximum=True))
    assert_close(trace.weights, torch.softmax(rows([0.0, 1.0, 2.0]), dim=-1))


def test_the_exponential_overflows_above_709() -> None:
    fits = softmax_steps(rows([0.0]), SoftmaxSettings(offset=709))
    assert (fits.exponentials.isfinite().all(), fits.weights.tolist()) == (True, [[1.0]])
    assert softmax_steps(rows([0.0]), SoftmaxSettings(offset=710)).exponentials.tolist() == [[math.inf]]


def test_one_overflow_spoils_its_own_row_alone() -> None:
    trace = softmax_steps(rows([800.0, 0.0], [0.0, 0.0]), SoftmaxSettings())
    assert trace.exponentials.tolist() == [[math.inf, 1.0], [1.0, 1.0]]
    assert trace.weights[0].isnan().tolist() == [True, False]
    assert trace.weights[0, 1].item() == 0.0
    assert trace.weights[1].tolist() == [0.5, 0.5]


def test_underflow_of_a_whole_row_is_not_a_number_either() -> None:
    scores = rows([-800.0, -801.0])
    assert softmax_steps(scores, SoftmaxSettings()).weights.isnan().all()
    assert_close(softmax_steps(scores, SoftmaxSettings(subtract_maximum=True)).weights, torch.softmax(scores, dim=-1))


def test_the_scores_are_left_alone() -> None:
    scores = rows([1.0, 2.0])
    before = scores.clone()
    softmax_steps(scores, SoftmaxSettings(temperature=3.0, offset=5, subtract_maximum=True))
    assert torch.equal(scores, before)


# The settings.


@given(st.floats(0.1, 10), st.integers(0, 1000), st.booleans())
def test_a_link_holds_the_settings(temperature: float, offset: int, subtract: bool) -> None:
    changed = SoftmaxSettings(temperature=temperature, offset=offset, subtract_maximum=subtract)
    assert SoftmaxSettings.from_query(changed.to_query()) == changed


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"temperature": 0.0}, r"^temperature must be 0\.1 … 10, got 0\.0$"),
        ({"temperature": math.nan}, r"^temperature must be 0\.1 … 10, got nan$"),
        ({"offset": 1001}, r"^offset must be 0 … 1000, got 1001$"),
        ({"offset": -1}, r"^offset must be 0 … 1000, got -1$"),
    ],
    ids=str,
)
def test_settings_that_are_refused(fields: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        SoftmaxSettings(**fields)
