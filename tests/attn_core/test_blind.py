"""A query that may see nothing: refused by name, and what library functions really return for it."""

import math

import pytest
import torch
from torch import nn
from torch.nn import functional
from torch.testing import assert_close

from attn_core import Lesson, run_lesson
from attn_core.blind import TORCH_VERSION, BlindAnswer, blind_row

LESSONS = [
    Lesson(),
    Lesson(lang="en", mask="causal", n_heads=2, head=1, positions="sinusoidal"),
    Lesson(lang="en", text="the cat", second_text="a dog sat", d_model=3, scale="none"),
]
names = pytest.mark.parametrize("lesson", LESSONS, ids=["default", "causal, two heads", "two sentences"])


def answers(trace, row=1):
    return {answer.call: answer for answer in blind_row(trace, row).answers}


@pytest.mark.parametrize("row", [0, 3])
def test_the_refusal_names_the_row(row):
    blind = blind_row(run_lesson(Lesson()), row)
    assert blind.refusal == f"every query must see at least one key; none is visible to query {row}"


@names
def test_a_softmax_over_minus_infinity_has_no_answer(lesson):
    answer = answers(run_lesson(lesson))["torch.softmax, masked_fill(-inf)"]
    assert answer.outcome == "nan"
    assert answer.weights.isnan().all()
    assert answer.output.isnan().all()


@names
def test_a_finite_fill_makes_the_output_the_mean_of_forbidden_values(lesson):
    trace = run_lesson(lesson)
    answer = answers(trace)["torch.softmax, masked_fill(-1e9)"]
    n_keys = len(trace.key_tokens)
    assert answer.outcome == "equal"
    assert_close(answer.weights, torch.full((n_keys,), 1 / n_keys, dtype=torch.float64))
    values = trace.of_head(trace.v)
    means = [sum(values[key, column].item() for key in range(n_keys)) / n_keys for column in range(trace.d_k)]
    assert answer.output.tolist() == pytest.approx(means)


@names
def test_scaled_dot_product_attention_is_asked_itself(lesson):
    trace = run_lesson(lesson)
    mask = trace.mask.clone()
    mask[1] = False
    q, k, v = (trace.of_head(values)[None, None] for values in (trace.q, trace.k, trace.v))
    expected = functional.scaled_dot_product_attention(q, k, v, attn_mask=mask, scale=1 / trace.divisor)[0, 0]
    answer = answers(trace)["F.scaled_dot_product_attention"]
    assert answer.weights is None
    assert torch.equal(answer.output, expected[1])
    assert_close(expected[0], trace.output[0])  # the row that sees something is ours
    assert answer.outcome == "zeros"


@names
@pytest.mark.parametrize("need_weights", [True, False])
def test_the_module_is_asked_itself(lesson, need_weights):
    """Built here from parts, by the functional form: NaN or zeros, whatever this version of torch returns."""
    trace = run_lesson(lesson)
    mask = trace.mask.clone()
    mask[1] = False
    keys = trace.answering.inputs
    w_q = trace.w_q * math.sqrt(trace.d_k) / trace.divisor
    output, weights = functional.multi_head_attention_forward(
        trace.asking.inputs, keys, keys, len(w_q), trace.n_heads,
        torch.cat([w_q.T, trace.w_k.T, trace.w_v.T]), None, None, None, False, 0.0, trace.w_o.T.contiguous(), None,
        attn_mask=~mask, need_weights=need_weights, average_attn_weights=False,
    )  # fmt: skip
    answer = answers(trace)[f"nn.MultiheadAttention, need_weights={need_weights}"]
    assert_close(answer.output, output[1], equal_nan=True)
    assert answer.outcome in ("nan", "zeros")
    if need_weights:
        assert_close(answer.weights, weights[trace.head, 1], equal_nan=True)
    else:
        assert answer.weights is None
        assert answer.outcome == "zeros"


def test_every_way_is_asked_once():
    assert list(answers(run_lesson(Lesson()))) == [
        "torch.softmax, masked_fill(-inf)",
        "torch.softmax, masked_fill(-1e9)",
        "F.scaled_dot_product_attention",
        "nn.MultiheadAttention, need_weights=True",
        "nn.MultiheadAttention, need_weights=False",
    ]
    assert torch.__version__ == TORCH_VERSION


def test_the_thread_stays_as_it_was():
    trace = run_lesson(Lesson(mask="causal"))
    before = trace.mask.clone()
    blind_row(trace, 2)
    assert torch.equal(trace.mask, before)


@pytest.mark.parametrize(
    ("weights", "output", "named"),
    [
        (None, [0.0, 0.0], "zeros"),
        (None, [math.nan, math.nan], "nan"),
        (None, [0.5, 0.5], "others"),
        ([0.5, 0.5], [0.1, 0.3], "equal"),
        ([0.0, 0.0], [0.0, 0.0], "zeros"),
    ],
)
def test_an_answer_s_outcome(weights, output, named):
    known = None if weights is None else torch.tensor(weights, dtype=torch.float64)
    assert BlindAnswer("", known, torch.tensor(output, dtype=torch.float64)).outcome == named


def test_the_module_of_torch_means_hidden_by_true():
    """What the page says of torch's two meanings of True."""
    module = nn.MultiheadAttention.__doc__
    assert module
    x = torch.eye(2, dtype=torch.float64)
    hidden = torch.tensor([[False, True], [False, False]])
    one = torch.eye(2, dtype=torch.float64)
    _, weights = functional.multi_head_attention_forward(
        x, x, x, 2, 1, torch.cat([one, one, one]), None, None, None, False, 0.0, one, None, attn_mask=hidden
    )
    assert weights[0].tolist() == [1.0, 0.0]
    assert functional.scaled_dot_product_attention(x, x, x, attn_mask=~hidden)[0].tolist() == [1.0, 0.0]
