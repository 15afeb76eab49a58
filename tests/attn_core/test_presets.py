"""Every prepared lesson makes the point that its sentence claims."""

import dataclasses
import json
import math
from pathlib import Path

import pytest
import torch
from torch.testing import assert_close

from attn_core import Lesson, run_lesson
from attn_core.presets import PRESETS

CASES = {
    case["name"]: case
    for case in json.loads((Path(__file__).parents[1] / "data/published.json").read_text("utf-8"))["cases"]
}


@pytest.mark.parametrize("name", PRESETS)
def test_each_is_one_link_of_bearable_length(name):
    lesson = PRESETS[name]
    assert Lesson.from_query(lesson.to_query()) == lesson
    assert run_lesson(lesson).unused_edits == ()


def test_the_journey_of_the_book():
    case, trace = CASES["journey"], run_lesson(PRESETS["journey"])
    assert list(trace.tokens) == case["tokens"]
    row = trace.lesson.query
    assert row == case["query"]
    for printed, computed in (
        (case["scores"], trace.attention.scores[row]),
        (case["weights"], trace.attention.weights[row]),
        (case["output"], trace.output[row]),
    ):
        assert_close(computed, torch.tensor(printed, dtype=torch.float64), atol=0.00005, rtol=0)


def test_one_over_one_plus_e():
    case, trace = CASES["one over one plus e"], run_lesson(PRESETS["one_over_one_plus_e"])
    assert_close(trace.q[:1], torch.tensor(case["query"], dtype=torch.float64))
    assert_close(trace.k, torch.tensor(case["key"], dtype=torch.float64))
    assert_close(trace.attention.weights[:1], torch.tensor(case["weights"], dtype=torch.float64))
    assert_close(float(trace.attention.weights[0, 1]), math.e / (1 + math.e))


def test_identical_words_get_identical_outputs():
    trace = run_lesson(PRESETS["identical_words"])
    assert trace.tokens[0] == trace.tokens[3]
    assert torch.equal(trace.output[0], trace.output[3])


def test_reversing_the_text_reverses_the_outputs_and_changes_nothing_else():
    there, back = run_lesson(Lesson()), run_lesson(PRESETS["reversed_order"])
    assert back.tokens == there.tokens[::-1]
    assert_close(back.output, there.output.flip(0))


def test_each_word_attends_most_to_itself():
    weights = run_lesson(PRESETS["to_itself"]).attention.weights
    assert (weights.argmax(dim=1) == torch.arange(4)).all()
    assert float(weights.diagonal().min()) > 0.9


def test_without_the_divisor_a_row_saturates():
    lesson = PRESETS["saturation"]
    trace = run_lesson(lesson)
    largest = trace.attention.weights[trace.lesson.query].max()
    divided = torch.softmax(trace.attention.scores / math.sqrt(lesson.d_model), dim=-1)[trace.lesson.query].max()
    assert float(largest) > 0.99
    assert float(divided) < 0.9


def test_a_key_far_below_the_others_is_as_good_as_masked():
    trace = run_lesson(PRESETS["hidden_key"])
    assert float(trace.attention.weights[:, 1].max()) < 1e-30


def test_queries_of_zero_have_no_preference():
    trace = run_lesson(PRESETS["no_preference"])
    assert_close(trace.attention.weights, torch.full((4, 4), 0.25, dtype=torch.float64))
    assert_close(trace.output, trace.v.mean(dim=0).expand(4, 4))


def test_a_single_word_can_only_attend_to_itself():
    trace = run_lesson(PRESETS["one_word"])
    assert trace.attention.weights.tolist() == [[1.0]]
    assert torch.equal(trace.output, trace.v)


@pytest.mark.parametrize("lang", ["ja", "en"])
def test_two_heads_look_at_the_word_itself_and_at_the_word_before(lang):
    """At an angle of 90° the score is 0, at 180° −16: the weights are 1, e^−a, e^−a and e^−2a over their sum."""
    trace = run_lesson(Lesson.from_query(PRESETS["two_heads"].to_query() | {"lang": lang}))
    near, far = math.exp(-16 / math.sqrt(2)), math.exp(-32 / math.sqrt(2))
    largest = 1 / (1 + 2 * near + far)
    itself, before = (head.weights for head in trace.heads)
    assert itself.argmax(dim=1).tolist() == [0, 1, 2, 3]
    assert before.argmax(dim=1).tolist() == [0, 0, 1, 2]
    assert_close(itself.max(dim=1).values, torch.full((4,), largest, dtype=torch.float64))
    assert_close(before.max(dim=1).values, torch.full((4,), largest, dtype=torch.float64))
    assert largest > 0.9999
    assert trace.head == 1
    assert int(before[trace.lesson.query].argmax()) == trace.lesson.key


@pytest.mark.parametrize("lang", ["ja", "en"])
def test_each_word_looks_at_its_translation(lang):
    trace = run_lesson(Lesson.from_query(PRESETS["translation_pair"].to_query() | {"lang": lang}))
    assert trace.tokens == ("私", "は", "学生", "です")
    assert trace.key_tokens == ("I", "am", "a", "student")
    weight, rest = math.exp(4.5) / (math.exp(4.5) + 3), 1 / (math.exp(4.5) + 3)
    expected = [
        [weight, rest, rest, rest],
        [0.25] * 4,  # は has no counterpart: it looks at all alike
        [rest, rest, rest, weight],
        [rest, weight, rest, rest],
    ]
    assert_close(trace.attention.weights, torch.tensor(expected, dtype=torch.float64))
    assert weight > 0.96


def test_under_the_causal_mask_words_added_later_change_no_earlier_output():
    lesson = PRESETS["causal"]
    trace = run_lesson(lesson)
    words = lesson.text.split()
    for length in range(1, len(words)):
        shorter = run_lesson(dataclasses.replace(lesson, text=" ".join(words[:length])))
        assert_close(shorter.output, trace.output[:length])
    assert not torch.equal(trace.output[0], trace.output[3])  # the two "I" see different words
    assert torch.equal(trace.x[0], trace.x[3])


def test_padding_without_a_mask_takes_weight_from_every_word():
    trace, bare = run_lesson(PRESETS["padding_seen"]), run_lesson(Lesson())
    taken = trace.attention.weights[:4, 4:].sum(dim=1)
    assert float(taken.min()) > 0.1
    assert_close(trace.attention.weights[:4, :4].sum(dim=1), 1 - taken)
    assert (trace.attention.weights[:4, :4] < bare.attention.weights).all()
    assert float((trace.output[:4] - bare.output).abs().max()) > 0.1


def test_padding_with_its_mask_leaves_the_words_as_they_were():
    trace, bare = run_lesson(PRESETS["padding_hidden"]), run_lesson(Lesson())
    assert trace.attention.weights[:, 4:].abs().max() == 0
    assert_close(trace.output[:4], bare.output)


def test_positions_tell_equal_words_apart():
    trace, without = run_lesson(PRESETS["equal_words_apart"]), run_lesson(PRESETS["identical_words"])
    assert trace.tokens == without.tokens
    assert trace.tokens[0] == trace.tokens[3]
    assert torch.equal(without.output[0], without.output[3])
    assert float((trace.output[0] - trace.output[3]).abs().max()) > 0.5
