"""One cell worked out: its terms, their sum, and the lines a reader sees."""

import dataclasses
import inspect
import itertools
import math
import re
from decimal import Decimal

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from attn_core import Lesson, LessonTrace, run_lesson
from attn_core.edits import Edit
from attn_core.explain import (
    Explanation,
    explain,
    explain_cosine,
    explain_head_size,
    explain_masked_weight,
    explain_position,
    explain_product,
    explain_scaled,
    explain_shares,
    explain_weight,
)
from attn_core.masking import mask_effect
from attn_core.masks import HiddenKeys
from attn_core.numbers import is_exact
from attn_core.palette import NEUTRAL, ROLE_COLORS
from attn_core.softmax import SoftmaxSettings, softmax_steps
from attn_core.stages import STEPS, Matrix, Stage, share_stage, stage
from tests.attn_core.latex import assert_well_formed, colored, number, relation, summands, uncolored

words = st.lists(st.sampled_from(["the", "cat", "sat", "zebra", "<b>", "猫", "私は"]), min_size=1, max_size=4)
lessons = st.fixed_dictionaries(
    {
        "text": words.map(" ".join),
        "d_model": st.integers(2, 5),
        "seed": st.integers(0, 999_999),
        "scale": st.sampled_from(["sqrt_d_k", "none", "d_k"]),
    }
)


def matrix(values: list[list[float]], symbol: str = "A", entry: str = "a", role: str = "scores") -> Matrix:
    rows = tuple(f"r{i}" for i in range(len(values)))
    columns = tuple(f"c{i}" for i in range(len(values[0])))
    return Matrix(symbol, entry, role, torch.tensor(values, dtype=torch.float64), rows, columns)


def product(left: list[list[float]], right: list[list[float]]) -> Stage:
    """Weights times values."""
    of_left, of_right = matrix(left), matrix(right, "V", "v", "value")
    result = (of_left.values @ of_right.values).tolist()
    return Stage("output", of_left, of_right, matrix(result, "O", "o", "value"))


def every_cell(trace: LessonTrace) -> list[tuple[Stage, Explanation]]:
    """Cells from all over every stage: about thirty, where there are more."""
    cells = [
        (shown, step, i, j)
        for step in STEPS
        for shown in [stage(trace, step)]
        for i in range(shown.result.values.shape[0])
        for j in range(shown.result.values.shape[1])
    ]
    return [(shown, explain(trace, step, i, j)) for shown, step, i, j in cells[:: max(1, len(cells) // 30)]]


# Worked by hand.


def test_two_by_two() -> None:
    worked = explain_product(product([[1.5, -2.0], [0.0, 3.0]], [[2.0, 0.5], [-1.0, 4.0]]), 0, 1)
    assert [(t.label, t.left, t.right, t.product, t.running) for t in worked.terms] == [
        ("c0", 1.5, 0.5, 0.75, 0.75),
        ("c1", -2.0, 4.0, -8.0, -7.25),
    ]
    assert (worked.row, worked.column, worked.total, worked.decimals, worked.exact) == (0, 1, -7.25, 2, True)
    assert worked.latex == (
        r"o_{0,1} = \textcolor{#9281F0}{1.5} \cdot \textcolor{#009E73}{0.5}"
        r" + \textcolor{#9281F0}{(-2.0)} \cdot \textcolor{#009E73}{4.0}",
        "= 0.75 + (-8.00)",
        r"= \boldsymbol{-7.25}",
    )


def test_a_single_term_needs_no_line_of_products() -> None:
    worked = explain_product(product([[1.0]], [[-0.5]]), 0, 0)
    assert worked.latex == (
        r"o_{0,0} = \textcolor{#9281F0}{1} \cdot \textcolor{#009E73}{(-0.5)}",
        r"= \boldsymbol{-0.5}",
    )


def test_rounded_factors_and_rounded_products_say_so() -> None:
    worked = explain_product(product([[1 / 3, 2 / 3]], [[1.0], [2.0]]), 0, 0)
    assert (worked.exact, worked.decimals) == (False, 4)
    assert [uncolored(line) for line in worked.latex] == [
        r"o_{0,0} \approx 0.3333 \cdot 1 + 0.6667 \cdot 2",
        r"\approx 0.3333 + 1.3333",
        r"\approx \boldsymbol{1.6667}",
    ]


def test_exact_factors_with_rounded_products() -> None:
    worked = explain_product(product([[0.001, 1.0]], [[0.01], [1.0]]), 0, 0)
    assert [uncolored(line) for line in worked.latex] == [
        r"o_{0,0} = 0.001 \cdot 0.01 + 1.000 \cdot 1.00",
        r"\approx 0.0000 + 1.0000",
        r"\approx \boldsymbol{1.0000}",
    ]


def test_a_large_product_is_a_power_of_ten() -> None:
    worked = explain_product(product([[3e5, 1.0]], [[4e5], [1.0]]), 0, 0)
    assert worked.exact is False
    assert worked.latex[1:] == (
        r"\approx 1.2000 \cdot 10^{11} + 1.0000",
        r"\approx \boldsymbol{1.2000 \cdot 10^{11}}",
    )


@pytest.mark.parametrize("lang", ["ja", "en"])
def test_the_default_lesson(lang: str) -> None:
    trace = run_lesson(Lesson(lang=lang))
    assert [uncolored(line) for line in explain(trace, "q", 2, 0).latex] == [
        r"q_{2,0} = (-1.6) \cdot (-0.2) + 0.2 \cdot 0.9 + 0.6 \cdot (-0.7) + (-0.6) \cdot (-0.3)",
        "= 0.32 + 0.18 + (-0.42) + 0.18",
        r"= \boldsymbol{0.26}",
    ]
    assert [uncolored(line) for line in explain(trace, "scores", 2, 0).latex] == [
        r"s_{2,0} = 0.26 \cdot (-0.13) + (-1.72) \cdot 1.53 + (-0.16) \cdot 0.83 + 0.40 \cdot 0.23",
        "= (-0.0338) + (-2.6316) + (-0.1328) + 0.0920",
        r"= \boldsymbol{-2.7062}",
    ]
    assert [term.label for term in explain(trace, "output", 2, 0).terms] == list(trace.tokens)
    assert [term.label for term in explain(trace, "scores", 2, 0).terms] == ["q0", "q1", "q2", "q3"]


@pytest.mark.parametrize("lang", ["ja", "en"])
def test_one_hot_times_the_layer_selects_a_row(lang: str) -> None:
    trace = run_lesson(Lesson(lang=lang))
    worked = explain(trace, "x", 2, 0)
    assert [term.label for term in worked.terms] == list(trace.vocabulary.words)
    assert [term.left for term in worked.terms] == [0, 0, 0, 1, 0, 0, 0, 0, 0, 0]
    assert worked.latex[0].startswith(r"x_{2,0} = \textcolor{#8A8A8A}{0 \cdot (-1.3)} + ")
    assert r"} + 1 \cdot (-1.6) + \textcolor" in worked.latex[0]
    assert worked.latex[1:] == (
        "= " + r"\textcolor{#8A8A8A}{0.0} + " * 3 + "(-1.6)" + r" + \textcolor{#8A8A8A}{0.0}" * 6,
        r"= \boldsymbol{-1.6}",
    )


@pytest.mark.parametrize(("value", "printed"), [("5", "5"), ("-0.25", "-0.25"), ("1e-9", "0.0000")])
def test_a_cell_put_in_by_hand_says_so(value: str, printed: str) -> None:
    trace = run_lesson(Lesson.from_query({"edits": f"x[2,0]={value}"}))
    worked, untouched = explain(trace, "x", 2, 0), explain(trace, "x", 2, 1)
    assert worked.total == trace.x[2, 0].item() == float(value)
    assert worked.terms[-1].running == -1.6
    assert worked.latex[2:] == (r"= \boldsymbol{-1.6}", rf"x_{{2,0}} := \boldsymbol{{{printed}}}")
    assert len(untouched.latex) == 3
    assert explain(trace, "q", 2, 0).terms[0].left == float(value)


# Every lesson.


@settings(max_examples=4)
@given(lessons)
def test_terms_multiply_and_add_up_to_the_cell(fields: dict) -> None:
    for shown, worked in every_cell(run_lesson(Lesson(**fields))):
        total = 0.0
        for place, term in enumerate(worked.terms):
            assert term.label == shown.left.columns[place]
            assert term.left == shown.left.values[worked.row, place].item()
            assert term.right == shown.right.values[place, worked.column].item()
            assert term.product == term.left * term.right
            total += term.product
            assert term.running == pytest.approx(total, abs=1e-14)
        assert len(worked.terms) == shown.left.values.shape[1] == shown.right.values.shape[0]
        cell = shown.result.values[worked.row, worked.column].item()
        assert worked.total == pytest.approx(cell, rel=1e-13, abs=1e-13)


@settings(max_examples=4)
@given(lessons)
def test_what_is_printed(fields: dict) -> None:
    for shown, worked in every_cell(run_lesson(Lesson(**fields))):
        for line in worked.latex:
            assert_well_formed(line)
        assert worked.latex[0].startswith(f"{shown.result.entry}_{{{worked.row},{worked.column}}} ")
        if r"\cdots" in worked.latex[0]:  # zeros of a long one-hot product: a test of their own
            continue
        factors = summands(worked.latex[0])
        for term, (left, right) in zip(worked.terms, factors, strict=True):
            assert left == round(Decimal(term.left), -left.as_tuple().exponent)
            assert right == round(Decimal(term.right), -right.as_tuple().exponent)
        [[total]] = summands(worked.latex[-1])
        assert total == round(Decimal(worked.total), worked.decimals)
        if len(worked.terms) > 1:
            assert [p for [p] in summands(worked.latex[1])] == [
                round(Decimal(term.product), worked.decimals) for term in worked.terms
            ]


@settings(max_examples=4)
@given(lessons)
def test_where_it_says_equal_it_is_equal(fields: dict) -> None:
    for shown, worked in every_cell(run_lesson(Lesson(**fields))):
        if r"\cdots" in worked.latex[0]:
            continue
        factors, [[total]] = summands(worked.latex[0]), summands(worked.latex[-1])
        if relation(worked.latex[0]) == "=":
            assert sum(left * right for left, right in factors) == pytest.approx(Decimal(worked.total))
        assert (relation(worked.latex[0]) == "=") == (
            is_exact(shown.left.values, 4) and is_exact(shown.right.values, 4)
        )
        assert relation(worked.latex[-1]) == ("=" if worked.exact else r"\approx")
        if worked.exact and len(worked.terms) > 1:
            assert sum(p for [p] in summands(worked.latex[1])) == total
        if shown.step not in ("output", "y"):
            assert worked.exact
            assert sum(left * right for left, right in factors) == total


@settings(max_examples=4)
@given(lessons)
def test_the_colours_are_the_palette_s(fields: dict) -> None:
    for shown, worked in every_cell(run_lesson(Lesson(**fields))):
        if r"\cdots" in worked.latex[0]:
            assert {color for line in worked.latex for color, _ in colored(line)} == {NEUTRAL}
            continue
        zeros = sum(term.left == 0 for term in worked.terms)
        if shown.step == "x":
            for line in worked.latex[:2]:
                assert [color for color, _ in colored(line)] == [NEUTRAL] * zeros
            assert all(body.startswith(r"0 \cdot ") for _, body in colored(worked.latex[0]))
            assert all(Decimal(body) == 0 for _, body in colored(worked.latex[1]))
        else:
            roles = [ROLE_COLORS[shown.left.role], ROLE_COLORS[shown.right.role]] * len(worked.terms)
            assert [color for color, _ in colored(worked.latex[0])] == [color for color in roles if color != NEUTRAL]
        assert all(r"\textcolor" not in line for line in worked.latex[2 if shown.step == "x" else 1 :])


def test_a_zero_weight_is_no_selection_and_stays_in_its_colour() -> None:
    worked = explain_product(product([[0.0, 1.0]], [[2.0], [3.0]]), 0, 0)
    assert NEUTRAL not in "".join(worked.latex)


@pytest.mark.parametrize(("row", "column"), [(-1, 0), (4, 0), (0, -1), (0, 3), (9, 9)])
@pytest.mark.parametrize("step", ["x", "q", "output"])
def test_a_cell_outside(step: str, row: int, column: int) -> None:
    trace = run_lesson(Lesson(d_model=3))
    message = re.escape(f"cell ({row}, {column}) is outside 4 × 3")
    with pytest.raises(IndexError, match=f"^{message}$"):
        explain(trace, step, row, column)


def test_an_unknown_step() -> None:
    with pytest.raises((ValueError, TypeError), match="step"):
        inspect.unwrap(explain)(run_lesson(Lesson()), "z", 0, 0)


# The divisor.


@pytest.mark.parametrize(
    ("scale", "row", "line"),
    [
        ("sqrt_d_k", 2, r"\dfrac{s_{2,0}}{\sqrt{4}} = \dfrac{-2.7062}{2} = \boldsymbol{-1.3531}"),
        ("none", 2, r"\dfrac{s_{2,0}}{1} = \dfrac{-2.7062}{1} = \boldsymbol{-2.7062}"),
        ("d_k", 1, r"\dfrac{s_{1,0}}{4} = \dfrac{-1.1659}{4} \approx \boldsymbol{-0.2915}"),
    ],
)
def test_the_division_of_the_default_lesson(scale: str, row: int, line: str) -> None:
    assert explain_scaled(run_lesson(Lesson(scale=scale)), row, 0) == (line,)


@settings(max_examples=4)
@given(lessons)
def test_the_division_is_equal_only_where_nothing_was_rounded(fields: dict) -> None:
    trace = run_lesson(Lesson(**fields))
    pattern = r"\\dfrac\{s_\{0,0\}\}\{(.*)\} (=|\\approx) \\dfrac\{(.*)\}\{(.*)\} (=|\\approx) (.*)"
    [line] = explain_scaled(trace, 0, 0)
    assert_well_formed(line)
    symbol, divides, score, divisor, equals, scaled = re.fullmatch(pattern, line).groups()
    lesson = trace.lesson
    size = lesson.d_model
    assert symbol == {"sqrt_d_k": rf"\sqrt{{{size}}}", "none": "1", "d_k": str(size)}[lesson.scale]
    assert float(score) == pytest.approx(trace.attention.scores[0, 0].item(), abs=1e-12)
    assert float(divisor) == pytest.approx(trace.divisor, abs=5.1e-5)
    assert (divides == "=") == (Decimal(divisor) == Decimal(trace.divisor))
    value = trace.attention.scaled[0, 0].item()
    assert float(number(scaled)) == pytest.approx(value, abs=5.1e-5)
    if equals == "=":
        assert float(number(scaled)) == pytest.approx(value, abs=1e-12)
    else:
        assert abs(float(number(scaled)) - value) > 1e-12


# The cosine.


def with_vectors(q: list[float], k: list[float]) -> LessonTrace:
    """A lesson of one word with this query and this key."""
    trace = run_lesson(Lesson(text="word", d_model=2))
    return dataclasses.replace(
        trace, q=torch.tensor([q], dtype=torch.float64), k=torch.tensor([k], dtype=torch.float64)
    )


def test_the_cosine_of_3_4_and_4_3() -> None:
    [line] = explain_cosine(with_vectors([3.0, 4.0], [4.0, 3.0]), 0, 0)
    assert uncolored(line) == (
        r"\cos = \dfrac{q \cdot k}{\lVert q \rVert\, \lVert k \rVert}"
        r" \approx \dfrac{24.0000}{5.0000 \cdot 5.0000} \approx \boldsymbol{0.9600}"
    )
    assert colored(line) == [("#D55E00", "q"), ("#0072B2", "k"), ("#D55E00", "q"), ("#0072B2", "k")]


@pytest.mark.parametrize(
    ("q", "k", "without"),
    [
        ([0.0, 0.0], [4.0, 3.0], r"\textcolor{#D55E00}{q}"),
        ([3.0, 4.0], [0.0, 0.0], r"\textcolor{#0072B2}{k}"),
        ([0.0, 0.0], [0.0, 0.0], r"\textcolor{#D55E00}{q}"),
    ],
)
def test_a_vector_without_length_is_not_divided_by(q: list[float], k: list[float], without: str) -> None:
    [line] = explain_cosine(with_vectors(q, k), 0, 0)
    assert line == rf"\lVert {without} \rVert = 0 \;\Rightarrow\; \cos := \boldsymbol{{0}}"
    assert_well_formed(line)


@settings(max_examples=4)
@given(lessons)
def test_the_cosine_against_plain_python(fields: dict) -> None:
    trace = run_lesson(Lesson(**fields))
    [line] = explain_cosine(trace, 0, len(trace.tokens) - 1)
    q, k = trace.q[0].tolist(), trace.k[-1].tolist()
    inner, lengths = sum(a * b for a, b in zip(q, k, strict=True)), (math.hypot(*q), math.hypot(*k))
    assert_well_formed(line)
    if 0 not in lengths:
        printed = [float(text) for text in re.findall(r"-?\d+\.\d{4}", line)]
        assert printed == pytest.approx([inner, *lengths, inner / math.prod(lengths)], abs=5.1e-5)


# Long sums.


def test_of_a_long_sum_the_first_and_the_largest_terms_are_written() -> None:
    factors = [0.5, 0.1, -0.2, 0.3, 9.0, 0.2, -8.0, *[0.1] * 8, 7.0, 0.0, -6.0]
    found = explain_product(product([factors], [[1.0]] * 18), 0, 0)
    factors_line, products_line, total_line = map(uncolored, found.latex)
    written = ["0.5", "0.1", "(-0.2)", "9.0", "(-8.0)", "7.0", "(-6.0)"]
    assert factors_line == " + ".join([rf"{factor} \cdot 1" for factor in ["o_{0,0} = 0.5", *written[1:]]] + ["R_{11}"])
    assert products_line == f"= {' + '.join(written)} + 1.3"
    assert total_line == r"= \boldsymbol{3.7}"
    assert found.n_rest == 11
    assert len(found.terms) == 18


def test_a_sum_as_long_as_a_lesson_allows_is_written_in_full() -> None:
    found = explain_product(product([[0.1] * 16], [[1.0]] * 16), 0, 0)
    assert found.n_rest == 0
    assert found.latex[0].count(r"\cdot") == 16


@given(st.lists(st.integers(-99, 99), min_size=1, max_size=40))
def test_what_is_written_adds_up(factors: list[int]) -> None:
    tenth = [factor / 10 for factor in factors]
    found = explain_product(product([tenth], [[1.0]] * len(tenth)), 0, 0)
    if len(tenth) > 1:
        assert (
            sum(number[0] for number in summands(found.latex[1].replace(r"\textcolor{#8A8A8A}{\cdots}", "0")))
            == Decimal(sum(factors)) / 10
        )
    assert found.total == pytest.approx(sum(tenth))


# One weight.


def logits(*rows: list[float], **changed: object) -> tuple[str, ...]:
    """The weight of key 1 for query 0."""
    steps = softmax_steps(torch.tensor(rows, dtype=torch.float64), SoftmaxSettings(**changed))
    lines = explain_weight(steps, 0, 1)
    for line in lines:
        assert_well_formed(line)
    return lines


def test_a_weight_of_three_quarters() -> None:
    assert logits([0.0, math.log(3)], [5.0, 5.0]) == (
        r"a_{0,1} = e^{z_{0,1}} \,/\, \textstyle\sum_l e^{z_{0,l}}",
        r"\textstyle\sum_l e^{z_{0,l}} \approx e^{0.0000} + e^{1.0986}",
        r"\approx 1.0000 + 3.0000 \approx 4.0000",
        r"a_{0,1} \approx 3.0000 \,/\, 4.0000 \approx \boldsymbol{0.7500}",
    )


def test_the_maximum_subtracted() -> None:
    assert logits([0.0, math.log(3)], subtract_maximum=True, offset=1000)[1:] == (
        r"\textstyle\sum_l e^{z_{0,l}} \approx e^{-1.0986} + e^{0.0000}",
        r"\approx 0.3333 + 1.0000 \approx 1.3333",
        r"a_{0,1} \approx 1.0000 \,/\, 1.3333 \approx \boldsymbol{0.7500}",
    )


def test_a_key_behind_the_mask() -> None:
    assert logits([0.0, -math.inf])[1:] == (
        r"\textstyle\sum_l e^{z_{0,l}} \approx e^{0.0000} + e^{-\infty}",
        r"\approx 1.0000 + 0.0000 \approx 1.0000",
        r"a_{0,1} \approx 0.0000 \,/\, 1.0000 \approx \boldsymbol{0.0000}",
    )


def test_overflow_is_shown_as_what_it_is() -> None:
    assert logits([0.0, 1.0], offset=1000)[2:] == (
        r"\approx \infty + \infty \approx \infty",
        r"a_{0,1} \approx \infty \,/\, \infty \approx \boldsymbol{\text{NaN}}",
    )


def test_huge_exponentials_are_powers_of_ten() -> None:
    assert logits([0.0, 0.0], offset=100)[2:] == (
        r"\approx 2.6881 \cdot 10^{43} + 2.6881 \cdot 10^{43} \approx 5.3762 \cdot 10^{43}",
        r"a_{0,1} \approx 2.6881 \cdot 10^{43} \,/\, 5.3762 \cdot 10^{43} \approx \boldsymbol{0.5000}",
    )


def test_tiny_exponentials_never_read_zero_over_zero() -> None:
    assert logits([-100.0, -100.0])[2:] == (
        r"\approx 3.7201 \cdot 10^{-44} + 3.7201 \cdot 10^{-44} \approx 7.4402 \cdot 10^{-44}",
        r"a_{0,1} \approx 3.7201 \cdot 10^{-44} \,/\, 7.4402 \cdot 10^{-44} \approx \boldsymbol{0.5000}",
    )


def test_of_a_long_row_the_chosen_and_the_largest_exponentials_are_written() -> None:
    row = [0.0, -9.0, *[math.log(2)] * 2, *[-math.inf] * 10, *[math.log(4)] * 2, math.log(3)]
    tiny = r"1.2341 \cdot 10^{-4}"
    _, powers, sums, weight = logits(row)
    shifted = ("-9.0000", "0.6931", "1.3863", "1.3863", "1.0986")
    assert powers.endswith(rf"\approx {' + '.join(f'e^{{{power}}}' for power in shifted)} + R_{{12}}")
    assert sums == rf"\approx {tiny} + 2.0000 + 4.0000 + 4.0000 + 3.0000 + 3.0000 \approx 16.0001"
    assert weight == rf"a_{{0,1}} \approx {tiny} \,/\, 16.0001 \approx \boldsymbol{{0.0000}}"


def test_the_weight_of_the_default_lesson() -> None:
    trace = run_lesson(Lesson())
    lines = explain_weight(softmax_steps(trace.attention.masked, SoftmaxSettings()), 2, 0)
    powers = [math.exp(value) for value in (-1.3531, 1.6026, -1.2946, -0.3871)]
    assert lines[1].endswith(r"\approx e^{-1.3531} + e^{1.6026} + e^{-1.2946} + e^{-0.3871}")
    assert lines[2] == rf"\approx {' + '.join(f'{power:.4f}' for power in powers)} \approx {sum(powers):.4f}"
    assert lines[3].endswith(rf"\boldsymbol{{{powers[0] / sum(powers):.4f}}}")
    assert f"{trace.attention.weights[2, 0].item():.4f}" in lines[3]


def test_a_long_one_hot_product_shows_the_ends_and_the_neighbours_of_the_one() -> None:
    trace = run_lesson(Lesson(d_model=12, text="猫"))
    worked = explain(trace, "x", 0, 0)
    assert len(worked.terms) == 13 + ("猫" not in trace.vocabulary.words[:13])
    place = trace.ids[0]
    shown = sorted({0, place - 1, place, place + 1, len(worked.terms) - 1})
    assert worked.latex[0].count(r"\cdot ") == len(shown)
    assert worked.latex[0].count(r"\cdots") == sum(b - a > 1 for a, b in itertools.pairwise(shown))
    assert worked.total == trace.x[0, 0].item()


# Several heads.


def test_a_head_s_output_keeps_the_number_that_its_column_has_in_the_whole() -> None:
    trace = run_lesson(Lesson(n_heads=2, head=1))
    first = explain(trace, "output", 2, 0)
    assert first.latex[0].startswith(r"o_{2,2} \approx ")
    assert first.total == pytest.approx(float(trace.joined[2, 2]))
    assert explain(trace, "scores", 2, 0).latex[0].startswith("s_{2,0} = ")
    with pytest.raises(IndexError, match=r"^cell \(2, 2\) is outside 4 × 2$"):
        explain(trace, "output", 2, 2)


@pytest.mark.parametrize(
    ("fields", "size", "divisor"),
    [
        ({}, r"d_k = d_{\text{model}} / H = 4 / 1 = \boldsymbol{4}", r"\sqrt{d_k} = \sqrt{4} = \boldsymbol{2}"),
        (
            {"n_heads": 2},
            r"d_k = d_{\text{model}} / H = 4 / 2 = \boldsymbol{2}",
            r"\sqrt{d_k} = \sqrt{2} \approx \boldsymbol{1.4142}",
        ),
        (
            {"d_model": 16, "n_heads": 4, "scale": "d_k"},
            r"d_k = d_{\text{model}} / H = 16 / 4 = \boldsymbol{4}",
            r"d_k = \boldsymbol{4}",
        ),
        ({"n_heads": 4, "scale": "none"}, r"d_k = d_{\text{model}} / H = 4 / 4 = \boldsymbol{1}", r"\boldsymbol{1}"),
    ],
    ids=str,
)
def test_how_many_columns_a_head_has(fields: dict, size: str, divisor: str) -> None:
    lines = explain_head_size(run_lesson(Lesson(**fields)))
    assert lines == (size, divisor)
    assert all(assert_well_formed(line) is None for line in lines)


@pytest.mark.parametrize("n_heads", [2, 4])
def test_the_heads_shares_of_a_cell(n_heads: int) -> None:
    trace = run_lesson(Lesson(n_heads=n_heads, second_text="I am a dog you"))
    name, terms, total = explain_shares(trace, 2, 3)
    assert name == r"y_{2,3} = \textstyle\sum_h y^{(h)}_{2,3}"
    printed = [float(text.strip("() ")) for text in terms.removeprefix(r"\approx").split("+")]
    shares = [float(share_stage(trace.with_head(head)).result.values[2, 3]) for head in range(n_heads)]
    assert printed == pytest.approx(shares, abs=0.00005)
    assert total == rf"\approx \boldsymbol{{{float(trace.y[2, 3]):.4f}}}"
    shown = explain_product(share_stage(trace.with_head(1)), 2, 3)
    assert shown.latex[0].startswith(r"y^{(1)}_{2,3} \approx ")
    assert shown.total == pytest.approx(shares[1])


def test_the_share_of_a_single_head_is_everything() -> None:
    trace = run_lesson(Lesson())
    assert explain_shares(trace, 0, 1) == (
        r"y_{0,1} = \textstyle\sum_h y^{(h)}_{0,1}",
        rf"\approx \boldsymbol{{{float(trace.y[0, 1]):.4f}}}",
    )


# Masks.


def masked_weight(row: int, column: int, **fields: object) -> tuple[str, ...]:
    lines = explain_masked_weight(mask_effect(run_lesson(Lesson(**fields))), row, column)
    assert all(assert_well_formed(line) is None for line in lines)
    return lines


def test_a_visible_weight_is_a_larger_share() -> None:
    effect = mask_effect(run_lesson(Lesson(mask="causal")))
    without, hidden, weight = effect.without.values[1, 0], effect.hidden[1, 0], effect.weights.values[1, 0]
    assert masked_weight(1, 0, mask="causal") == (
        rf"h_{{1}} = \textstyle\sum_{{l:\,m_{{1,l}}=-\infty}} a^{{\ast}}_{{1,l}} \approx {hidden:.4f}",
        rf"a_{{1,0}} = a^{{\ast}}_{{1,0}} \,/\, (1 - h_{{1}}) \approx {without:.4f} \,/\, {1 - hidden:.4f} "
        rf"\approx \boldsymbol{{{weight:.4f}}}",
    )
    assert weight == pytest.approx(without / (1 - hidden))


def test_a_hidden_weight_is_0() -> None:
    assert masked_weight(1, 2, mask="causal") == (
        r"z_{1,2} + m_{1,2} = z_{1,2} - \infty = -\infty",
        r"a_{1,2} \propto e^{-\infty} = \boldsymbol{0}",
    )


@pytest.mark.parametrize(("row", "fields"), [(3, {"mask": "causal"}), (1, {})])
def test_a_row_without_hidden_keys_is_what_it_was(row: int, fields: dict) -> None:
    weight = run_lesson(Lesson()).attention.weights[row, 0]
    assert masked_weight(row, 0, **fields) == (
        rf"a_{{{row},0}} = a^{{\ast}}_{{{row},0}} \approx \boldsymbol{{{weight:.4f}}}",
    )


def test_small_shares_are_powers_of_ten_and_none_is_0_over_0() -> None:
    drawn = {"mask": "drawn", "hidden": (HiddenKeys(0, (0,)),)}
    far = tuple(Edit("W_Q", i, j, float(i == j)) for i in range(4) for j in range(4))
    far += tuple(Edit("W_K", i, j, float(i == j)) for i in range(4) for j in range(4))
    keys = [[5.0, 0, 0, 0], [0.5, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]]
    x = tuple(Edit("x", i, j, float(n)) for i, row in enumerate(keys) for j, n in enumerate(row))
    _, share = masked_weight(0, 1, edits=(*far, *x), **drawn)  # scores 12.5, 1.25, 0, 0
    assert share.count(r"\cdot 10^{") == 2
    further = (*far, *x, Edit("x", 0, 0, 100.0))  # e^-5000: not even a float64 of its own
    _, share = masked_weight(0, 1, edits=further, **drawn)
    assert r"0.0000 \,/\, 0.0000" not in share
    assert share.startswith(r"a_{0,1} = e^{z_{0,1}} \,/\, \textstyle\sum_{l:\,m_{0,l}=0} e^{z_{0,l}} \approx")


# Positions.


def position_entry(row: int, column: int, positions: str, **fields: object) -> tuple[str, ...]:
    lines = explain_position(run_lesson(Lesson(positions=positions, **fields)), positions, row, column)
    assert all(assert_well_formed(line) is None for line in lines)
    return tuple(uncolored(line) for line in lines)


def test_a_sinusoidal_entry() -> None:
    """私は学生です: x of 学生 is −1.6, 0.2, 0.6, −0.6."""
    assert position_entry(2, 0, "sinusoidal") == (
        r"\theta_{2,0} = 2 \,/\, 10000^{2 \cdot 0 / 4} = 2",
        r"p_{2,0} = \sin(\theta_{2,0}) \approx 0.9093",
        r"x_{2,0} + p_{2,0} \approx -1.6 + 0.9093 \approx \boldsymbol{-0.6907}",
    )
    assert position_entry(2, 3, "sinusoidal") == (
        r"\theta_{2,3} = 2 \,/\, 10000^{2 \cdot 1 / 4} = 0.02",
        r"p_{2,3} = \cos(\theta_{2,3}) \approx 0.9998",
        r"x_{2,3} + p_{2,3} \approx -0.6 + 0.9998 \approx \boldsymbol{0.3998}",
    )


def test_the_first_place_is_exact() -> None:
    assert position_entry(0, 1, "sinusoidal") == (
        r"\theta_{0,1} = 0 \,/\, 10000^{2 \cdot 0 / 4} = 0",
        r"p_{0,1} = \cos(\theta_{0,1}) = 1",
        r"x_{0,1} + p_{0,1} = -0.8 + 1.0 = \boldsymbol{0.2}",
    )


def test_a_slow_pair_s_angle_is_a_power_of_ten() -> None:
    angle = 1 / 10000 ** (14 / 16)
    mantissa, exponent = f"{angle:.4e}".split("e")
    first, second, _ = position_entry(1, 14, "sinusoidal", d_model=16)
    assert (
        first == rf"\theta_{{1,14}} = 1 \,/\, 10000^{{2 \cdot 7 / 16}} \approx {mantissa} \cdot 10^{{{int(exponent)}}}"
    )
    assert second.endswith(rf"{mantissa} \cdot 10^{{{int(exponent)}}}")


def test_a_learned_entry_has_one_decimal() -> None:
    trace = run_lesson(Lesson(positions="learned"))
    x, p = float(trace.x[1, 2]), float(trace.asking.p[1, 2])
    shown = f"({p:.1f})" if p < 0 else f"{p:.1f}"
    assert position_entry(1, 2, "learned") == (
        rf"x_{{1,2}} + p_{{1,2}} = {x:.1f} + {shown} = \boldsymbol{{{x + p:.1f}}}",
    )


def test_without_positions_nothing_is_added() -> None:
    edits = (Edit("p", 2, 0, 0.5),)
    assert position_entry(2, 0, "none", edits=edits) == (r"x_{2,0} + p_{2,0} = -1.6 + 0.0 = \boldsymbol{-1.6}",)


@pytest.mark.parametrize(("positions", "before"), [("sinusoidal", 2), ("learned", 0)])
def test_a_position_put_in_by_hand(positions: str, before: int) -> None:
    lines = position_entry(2, 0, positions, edits=(Edit("p", 2, 0, 0.5),))
    assert lines[before:] == ("p_{2,0} := 0.5", r"x_{2,0} + p_{2,0} = -1.6 + 0.5 = \boldsymbol{-1.1}")


def test_both_are_in_the_embeddings_colour() -> None:
    lines = explain_position(run_lesson(Lesson(positions="sinusoidal")), "sinusoidal", 2, 0)
    found = [part for line in lines for part in colored(line)]
    assert {color for color, _ in found} == {ROLE_COLORS["embedding"]}
    assert [text for _, text in found] == ["p_{2,0}", "x_{2,0}", "p_{2,0}", "-1.6", "0.9093"]
