"""Answers: what counts as a number, what counts as an attempt, and what a spreadsheet gets."""

import contextlib
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attn_core.answers import Progress, answer, parse_number, reveal
from attn_core.exercises import Cell, Exercise
from attn_core.numbers import written

ASKED = Exercise("weight", Cell(0, 1), 0.3333333, 3, ())


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("-0.5", -0.5), ("−0.5", -0.5), ("－０．５", -0.5), ("ー0.5", -0.5), ("–0.5", -0.5), ("+0.5", 0.5),
        ("0,5", 0.5), ("０，５", 0.5), ("12,25", 12.25), ("0,125", 0.125), ("-0,125", -0.125), (",5", 0.5), (".5", 0.5),
        ("３", 3.0), ("3.", 3.0), ("  7 ", 7.0), ("\u30007\u3000", 7.0), ("007", 7.0), ("1024", 1024.0),
        ("1.024", 1.024), ("1,0244", 1.0244), ("1024,500", 1024.5), ("-0", 0.0),
    ],
)  # fmt: skip
def test_numbers_are_read_as_people_type_them(text, value):
    assert parse_number(text) == value


@pytest.mark.parametrize(
    "text",
    ["", " ", "two", "二", "1/2", "0.5.1", "1,2,3", "--1", "1 2", "nan", "inf", "−∞", "1e5", "0x10", "1_0", ".", "-",
     "٣", "5%", "½", "=1+1", "0.5a", "1" * 16, "1" * 10_000, "<b>1</b>"],
)  # fmt: skip
def test_what_is_no_number_is_refused_with_its_text(text):
    with pytest.raises(ValueError, match=r"a number is written like -0\.5 or 12, got '"):
        parse_number(text)


@pytest.mark.parametrize("text", ["1,024", "-12,345", "１，０２４", "999,999"])
def test_a_comma_that_may_separate_thousands_is_refused(text):
    with pytest.raises(ValueError, match="may mean decimals or thousands"):
        parse_number(text)


@given(st.floats(-1e6, 1e6), st.integers(0, 4))
def test_what_the_pages_print_can_be_typed(value, decimals):
    assert parse_number(written(value, decimals)) == pytest.approx(round(value, decimals))


@given(st.text(max_size=20))
def test_any_text_is_a_finite_number_or_refused(text):
    with contextlib.suppress(ValueError):
        assert math.isfinite(parse_number(text))


def test_every_number_is_an_attempt_until_one_is_right():
    wrong = answer(Progress(), ASKED, "0.3")
    assert (wrong.given, wrong.right, wrong.attempts, wrong.finished) == (0.3, False, 1, False)
    right = answer(wrong, ASKED, "０．３３３")
    assert (right.given, right.right, right.attempts, right.finished) == (0.333, True, 2, True)
    assert answer(right, ASKED, "9") == right
    assert reveal(right) == right


def test_what_is_no_number_is_no_attempt():
    with pytest.raises(ValueError, match="got 'a third'"):
        answer(Progress(), ASKED, "a third")
    assert not Progress().tried


def test_after_the_solution_was_shown_no_answer_counts():
    shown = reveal(answer(Progress(), ASKED, "0.3"))
    assert shown.finished
    assert not shown.right
    assert answer(shown, ASKED, "0.333") == shown
