"""Exercises: every answer against plain NumPy, and only questions that the printed numbers answer."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from attn_core import Lesson, run_lesson
from attn_core.edits import Edit
from attn_core.exercises import (
    KINDS,
    PRODUCTS,
    Cell,
    Exercise,
    ExerciseSettings,
    Law,
    Split,
    exercises,
    given_numbers,
    hides_a_key,
    is_right,
)
from attn_core.exercises import given as given_picture
from attn_core.masks import HiddenKeys
from tests.attn_core.test_lesson import lesson_of

TRACE = run_lesson(Lesson(lang="en"))
SEEDS = range(8)
# Made into a lesson inside of the tests: beartype looks at a random entry of a tuple, which a strategy must not.
lessons = st.fixed_dictionaries(
    {
        "text": st.sampled_from(
            ["the cat sat down", "one", "the the the", "私は学生です", "a b c d e f g h i j k l m n"]
        ),
        "d_model": st.integers(2, 16),
        "seed": st.integers(0, 999_999),
        "scale": st.sampled_from(["sqrt_d_k", "none", "d_k"]),
        "n_heads": st.sampled_from([1, 1, 2, 4, 16]),
        "head": st.integers(0, 15),
        "mask": st.sampled_from(["none", "causal", "padding", "drawn"]),
        "padding": st.integers(0, 2),
        "hidden": st.dictionaries(st.integers(0, 5), st.sets(st.integers(1, 6), min_size=1), max_size=5),
        "positions": st.sampled_from(["none", "sinusoidal", "learned"]),
        "second_text": st.sampled_from(["", "", "one", "I run", "a b c d e f g h i j k l"]),
    }
)
# Every part there is: four queries, five keys of another sentence, three heads of two columns.
WHOLE = Lesson(
    lang="en", second_text="I am a dog you", d_model=6, n_heads=3, head=1, positions="sinusoidal", mask="causal"
)
few = settings(max_examples=20)
seeds = st.integers(0, 999_999)


def made(trace, seed=0):
    return {exercise.kind: exercise for exercise in exercises(trace, ExerciseSettings(exercise_seed=seed))}


def raw(trace):
    """The lesson's inputs as NumPy, and everything after them computed anew; steps are the chosen head's."""
    one_hot, w_e, w_q, w_k, w_v, w_o = (
        np.array(v.tolist()) for v in (trace.one_hot, trace.w_e, trace.w_q, trace.w_k, trace.w_v, trace.w_o)
    )
    asking, answering = (np.array((s.x + s.p).tolist()) for s in (trace.asking, trace.answering))
    q, heads = asking @ w_q, []
    for own in np.split(np.arange(len(w_q)), trace.lesson.n_heads):
        scores = q[:, own] @ (answering @ w_k[:, own]).T
        scaled = scores / {"sqrt_d_k": math.sqrt(len(own)), "none": 1, "d_k": len(own)}[trace.lesson.scale]
        exponential = np.exp(scaled) * np.array(trace.mask.tolist())
        weight = exponential / exponential.sum(-1, keepdims=True)
        heads.append({"score": scores, "scaled": scaled, "exponential": exponential, "weight": weight})
        heads[-1]["output"] = weight @ answering @ w_v[:, own]
    cells = {"embedding": one_hot @ w_e, "position": asking, "query": q} | heads[trace.lesson.head]
    return cells | {"y": np.hstack([head["output"] for head in heads]) @ w_o}


def worked_by_hand(found, columns, divisor):
    """The answer from the numbers beside the question, with a calculator."""
    if found.kind == "position":
        return columns[0][found.about.column] + columns[1][found.about.column]
    if found.kind == "scaled":
        return columns[0][0] / divisor
    if found.kind == "exponential":
        return math.exp(columns[0][0])
    if found.kind == "weight":
        return math.exp(columns[0][found.about.column]) / sum(map(math.exp, columns[0]))
    return sum(left * right for left, right in zip(*columns, strict=True))


def exercise(answer, decimals):
    return Exercise("score", Cell(0, 0), answer, decimals, ())


NOT_IN_EVERY_LESSON = ("position", "head_size", "visible", "y")


def test_every_kind_appears_in_the_order_of_the_computation():
    whole = run_lesson(WHOLE)
    for seed in SEEDS:
        assert tuple(made(whole, seed)) == KINDS
        assert tuple(made(TRACE, seed)) == tuple(kind for kind in KINDS if kind not in NOT_IN_EVERY_LESSON)
    assert len(KINDS) == 14


@pytest.mark.parametrize(
    ("fields", "kinds"),
    [
        ({"positions": "learned"}, ("position",)),
        ({"mask": "causal"}, ("visible",)),
        ({"mask": "padding"}, ()),  # there is no padding
        ({"mask": "drawn", "hidden": (HiddenKeys(1, (0, 9)),)}, ("visible",)),
        ({"n_heads": 2}, ("head_size", "y")),
        ({"second_text": "I run"}, ()),
    ],
    ids=str,
)
def test_only_what_the_lesson_has_is_asked_about(fields, kinds):
    assert set(made(run_lesson(Lesson(lang="en", **fields)))) & set(NOT_IN_EVERY_LESSON) == set(kinds)


@given(lessons, seeds)
@few
def test_answers_are_those_of_numpy(lesson, seed):
    trace = run_lesson(lesson_of(lesson))
    expected, found = raw(trace), made(trace, seed)
    for kind, matrix in expected.items():
        if kind in found:
            about = found[kind].about
            assert found[kind].answer == pytest.approx(matrix[about.row, about.column], rel=1e-9, abs=1e-12), kind
    if "visible" in found:
        row = np.array(trace.mask.tolist())[found["visible"].about.row]
        assert found["visible"].answer == row.sum()
        assert row[found["visible"].about.column]
    if "head_size" in found:
        assert found["head_size"].about == Split(trace.lesson.d_model, trace.lesson.n_heads)
        assert found["head_size"].answer == trace.lesson.d_model / trace.lesson.n_heads
    about = found["one_hot"].about
    assert found["one_hot"].answer == np.argmax(np.array(trace.one_hot.tolist())[about.row]) == trace.ids[about.row]


@given(seeds)
@few
def test_variances_and_divisors_follow_the_closed_forms(seed):
    found = made(TRACE, seed)
    law = found["variance"].about
    fourth = (1 + law.mean**2) ** 2 - law.mean**4  # E[q²] E[k²] − (E[q] E[k])²
    assert found["variance"].answer == pytest.approx(law.d_k * fourth)
    law = found["divisor"].about
    assert law.entries in ("normal", "uniform", "signs")
    assert found["divisor"].answer ** 2 == pytest.approx(law.d_k)


def test_every_law_is_asked_about():
    laws = {made(TRACE, seed)["variance"].about.entries for seed in range(24)}
    assert laws == {"normal", "uniform", "signs", "shifted"}


@given(lessons, seeds)
@few
def test_who_calculates_with_the_printed_numbers_is_right(lesson, seed):
    trace = run_lesson(lesson_of(lesson))
    for found in exercises(trace, ExerciseSettings(exercise_seed=seed)):
        numbers = given_numbers(trace, found)
        if not numbers:
            continue
        by_hand = worked_by_hand(found, list(numbers.values())[1:], trace.divisor)
        assert is_right(found, round(by_hand, found.decimals)), found
        assert is_right(found, float(found.printed.replace("−", "-")))
        assert is_right(found, found.rounded)


@given(lessons, seeds)
@few
def test_no_hidden_key_is_asked_about(lesson, seed):
    """Its weight is 0 and its logit −∞ whatever the numbers are; nothing asked is infinite or no number."""
    trace = run_lesson(lesson_of(lesson))
    for found in exercises(trace, ExerciseSettings(exercise_seed=seed)):
        assert math.isfinite(found.answer)
        if found.kind in ("score", "scaled", "exponential", "weight"):
            assert trace.mask[found.about.row, found.about.column]
            assert found.kind not in ("exponential", "weight") or found.answer > 0


@pytest.mark.parametrize("mask", ["causal", "padding", "drawn"])
def test_a_masked_weight_is_shared_out_anew(mask):
    """A query from which some keys are hidden and at least two are not."""
    hidden = (HiddenKeys(0, (1, 2, 3, 4)), HiddenKeys(2, (3,)))
    trace = run_lesson(Lesson(lang="en", mask=mask, padding=1, hidden=hidden))
    for seed in SEEDS:
        found = made(trace, seed)["weight"]
        seen = trace.mask[found.about.row].tolist()
        assert 2 <= sum(seen) < len(seen)
        assert hides_a_key(trace, found.about.row)
        assert found.answer < 1
        assert (-math.inf in given_numbers(trace, found)["z"]) is True
        assert r"e^{-\infty}" in found.solution[1]


def test_solutions_of_the_new_kinds():
    whole = made(run_lesson(WHOLE))
    assert whole["head_size"].solution == (r"d_k = d_{\text{model}} / H = 6 / 3 = \boldsymbol{2}",)
    row = whole["visible"].about.row
    terms = " + ".join("1" if key <= row else "0" for key in range(5))
    assert whole["visible"].solution == (rf"\#\{{\,j : m_{{{row},j}} = 0\,\}} = {terms} = \boldsymbol{{{row + 1}}}",)
    assert whole["position"].solution[0].startswith(r"\theta_{")
    assert (
        whole["output"].solution[0].startswith(f"o_{{{whole['output'].about.row},{2 + whole['output'].about.column}}}")
    )


def test_the_same_seed_asks_the_same_and_another_seed_asks_something_else():
    asked = [exercises(TRACE, ExerciseSettings(exercise_seed=seed)) for seed in SEEDS]
    assert asked == [exercises(TRACE, ExerciseSettings(exercise_seed=seed)) for seed in SEEDS]
    assert len(set(asked)) == len(asked)
    assert asked[0] == exercises(TRACE, ExerciseSettings(question=7))


def test_the_chosen_cell_of_the_lesson_changes_no_question():
    other = run_lesson(Lesson(lang="en", query=1, key=3, column=2))
    assert exercises(TRACE, ExerciseSettings()) == exercises(other, ExerciseSettings())


@pytest.mark.parametrize(
    ("answer", "decimals", "tolerance", "right", "wrong"),
    [
        (0.25, 2, 0.005, (0.25, 0.245, 0.255), (0.2449999, 0.2550001, -0.25)),
        (-1.2345, 4, 0.00005, (-1.23445, -1.23455), (-1.2344, 1.2345)),
        (2 / 3, 3, 0.0005, (0.667, 0.6666666, 2 / 3 - 0.0005), (0.668, 0.666, 0.67)),
        (3.0, 0, 0.0, (3.0,), (3.4, 2.5, 3.0001, math.nan, math.inf)),
        (0.0, 1, 0.05, (-0.0, 0.05), (0.0501,)),
    ],
)
def test_the_tolerance_is_half_a_unit_in_the_last_decimal_and_none_for_whole_numbers(
    answer, decimals, tolerance, right, wrong
):
    asked = exercise(answer, decimals)
    assert asked.tolerance == pytest.approx(tolerance)
    if answer == 2 / 3:  # 0.666 is nearer to 2/3 than a whole unit, but farther than half of one
        assert abs(0.666 - answer) < 0.001
    assert [is_right(asked, value) for value in right] == [True] * len(right)
    assert [is_right(asked, value) for value in wrong] == [False] * len(wrong)


def test_answers_are_asked_for_as_precisely_as_they_are_known():
    found = made(TRACE)
    assert {kind: found[kind].decimals for kind in ("one_hot", "embedding", "query", "score", "variance")} == {
        "one_hot": 0, "embedding": 1, "query": 2, "score": 4, "variance": 0,
    }  # fmt: skip
    assert all(made(TRACE, seed)[kind].decimals in (2, 3) for seed in SEEDS for kind in ("weight", "output"))


@given(lessons, seeds)
@few
def test_no_rounded_answer_reads_as_zero(lesson, seed):
    found = made(run_lesson(lesson_of(lesson)), seed)
    for kind in ("exponential", "weight"):
        if kind in found:
            assert found[kind].rounded != 0 or found[kind].answer > found[kind].tolerance


def test_the_solution_ends_with_the_answer():
    for seed in SEEDS:
        for found in exercises(TRACE, ExerciseSettings(exercise_seed=seed)):
            last = found.solution[-1].rsplit(r"\boldsymbol{", 1)[1].rstrip("}")
            assert is_right(found, round(float(last), found.decimals)), found


def test_solutions_of_variances_name_the_sizes():
    shifted = next(m for seed in range(24) if (m := made(TRACE, seed)["variance"]).about.entries == "shifted")
    mean, d_k = shifted.about.mean, shifted.about.d_k
    assert f"{mean:g}^2" in shifted.solution[0]
    assert shifted.solution[1].endswith(rf"= {d_k} \cdot {1 + 2 * mean**2:g} = \boldsymbol{{{shifted.answer:g}}}")


@pytest.mark.parametrize("trace", [TRACE, run_lesson(WHOLE)], ids=["fewest parts", "most parts"])
def test_the_picture_hides_the_result_until_solved(trace):
    for found in exercises(trace, ExerciseSettings()):
        hidden, shown = (given_picture(trace, found, solved=solved) for solved in (False, True))
        if found.kind in PRODUCTS:
            assert hidden.result.values.isnan().all()
            assert float(shown.result.values[found.about.row, found.about.column]) == pytest.approx(found.answer)
        if isinstance(found.about, Law | Split) or found.kind == "one_hot":
            assert hidden is shown is None
            assert given_numbers(trace, found) == {}
        if found.kind == "visible":
            assert hidden is None
            assert shown.hidden[found.about.row].tolist() == (~trace.mask[found.about.row]).tolist()
            assert given_numbers(trace, found) == {}
        if found.kind == "position":
            assert torch.equal(hidden.values, trace.asking.p)


def test_a_drawn_mask_is_shown_at_once():
    trace = run_lesson(Lesson(mask="drawn", hidden=(HiddenKeys(1, (0,)),)))
    picture = given_picture(trace, made(trace)["visible"], solved=False)
    assert torch.equal(picture.hidden, ~trace.mask)


@pytest.mark.parametrize("value", [1000.0, -1000.0, 0.123456789, 0.0])
def test_numbers_put_in_by_hand_leave_only_questions_that_can_be_answered(value):
    edits = tuple(Edit(name, row, 0, value) for name in ("W_Q", "W_K", "W_V", "x") for row in range(4))
    trace = run_lesson(Lesson(lang="en", edits=edits))
    for seed in SEEDS:
        found = made(trace, seed)
        assert {"one_hot", "embedding", "variance", "divisor"} <= found.keys()
        assert all(math.isfinite(e.answer) and abs(e.answer) < 1e9 for e in found.values())


@given(seeds, st.integers(0, 13))
def test_a_link_holds_the_seed_and_the_question(seed, question):
    chosen = ExerciseSettings(exercise_seed=seed, question=question)
    assert ExerciseSettings.from_query(chosen.to_query()) == chosen
    assert not set(ExerciseSettings.names()) & set(Lesson.names())
