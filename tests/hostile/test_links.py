"""Every parameter of every link, and what its numbers come to: nothing raises, nothing exceeds a limit."""

import ast
import csv
import dataclasses
import io
import json
import math
from typing import Any, Literal, get_origin, get_type_hints

import numpy as np
import pytest
import torch
from hypothesis import strategies as st

from attn_core import Lesson, run_lesson, tokenize
from attn_core.attention import BlindQueryError
from attn_core.demonstration import DemonstrationSettings, run_demonstration
from attn_core.edits import EDITED_MATRICES, Edit, EditList
from attn_core.export import arrays, matrix_names, to_csv, to_npz
from attn_core.figures.falk import falk
from attn_core.figures.grid import grid
from attn_core.lesson import LessonTrace
from attn_core.limits import LARGEST_EDIT, MAX_EDITS, MAX_REPORTED, MAX_SIZE, MAX_TOKENS
from attn_core.links import Linked, PartlyReadError
from attn_core.masks import HiddenKeys
from attn_core.pretrained_settings import HeadPlace
from attn_core.script import to_script
from attn_core.spreadsheet import table
from attn_core.stages import STEPS, stage
from pages.shared.shell import RECORDS
from tests.hostile.cases import cases
from tests.hostile.inputs import edits, junk, links, texts


def assert_finite(values: torch.Tensor) -> None:
    """Numbers; −∞ only where a mask hides a key."""
    assert bool((values.isfinite() | (values == -math.inf)).all())


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.__name__)
def test_no_link_asks_for_more_than_is_allowed(record):
    @cases(1, query=links(record))
    def whatever_it_says(query):
        found = record.from_query(query)
        for name in record.names():
            assert record.allowed(name).accepts(getattr(found, name)), name
        assert record.from_query(found.to_query()) == found
        assert all(entry.name in query and len(entry.value) <= MAX_REPORTED for entry in found.ignored)

    whatever_it_says()


def past_the_limits(record: type[Linked], name: str) -> list[Any]:
    """Values of the field's own type that are too much for it."""
    default, allowed = getattr(record(), name), record.allowed(name)
    if isinstance(default, bool):
        return []
    if isinstance(default, int):
        return [allowed.low - 1, allowed.high + 1, 10**12, -(10**12)]
    if isinstance(default, float):
        return [allowed.low - 1, allowed.high + 1, math.nan, math.inf, -math.inf]
    if isinstance(default, str):
        return ["x" * 10**6]
    part = {"edits": Edit("x", 0, 0, 1.0), "hidden": HiddenKeys(0, (0,)), "pins": HeadPlace(0, 0)}[name]
    return [(part,) * 10_000]


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.__name__)
def test_no_record_is_made_with_more(record):
    """Not by a widget either: the record itself refuses, and names the field."""
    for name in record.names():
        for value in past_the_limits(record, name):
            if get_origin(get_type_hints(record)[name]) is Literal:  # the types of this suite refuse it before
                assert not record.allowed(name).accepts(value)
                continue
            with pytest.raises(ValueError, match=f"^{name} must be "):
                record(**{name: value})


def lesson_trace(query: dict[str, str]) -> LessonTrace:
    """The lesson of a link as a page shows it: with the default text where there is no token, without a blind mask."""
    lesson = Lesson.from_query(query | {"training_steps": "0"})
    if not tokenize(lesson.text, lesson.segmentation):
        lesson = dataclasses.replace(lesson, text=lesson.defaults().text)
    try:
        return run_lesson(lesson)
    except BlindQueryError:
        return run_lesson(dataclasses.replace(lesson, mask="none"))


@cases(16, query=links(Lesson))
def test_every_lesson_has_its_numbers(query):
    trace = lesson_trace(query)
    assert len(trace.tokens) <= MAX_TOKENS
    assert trace.w_q.shape[0] <= MAX_SIZE
    for name, values in arrays(trace).items():
        if values.dtype == np.float64:
            assert_finite(torch.from_numpy(values))
        assert name
    assert torch.allclose(trace.attention.weights.sum(-1), torch.ones(len(trace.tokens), dtype=torch.float64))


@cases(4, query=links(Lesson), step=st.sampled_from(STEPS))
def test_every_lesson_can_be_drawn(query, step):
    trace = lesson_trace(query)
    product = stage(trace, step)
    for figure in (falk(product, 0, 0), grid(product.result)):
        json.loads(figure.to_json(), parse_constant=pytest.fail)


@cases(3, query=links(Lesson), number=st.integers(0, 10**6))
def test_every_lesson_can_be_taken_along(query, number):
    """The script is Python whose strings are the tokens, whatever they say; the arrays need no pickle."""
    trace = lesson_trace(query)
    lines = [node for node in ast.parse(to_script(trace)).body if isinstance(node, ast.Assign)]
    assigned = {ast.unparse(node.targets[0]): node.value for node in lines}
    assert tuple(ast.literal_eval(assigned["tokens"])) == trace.tokens
    assert tuple(ast.literal_eval(assigned["vocabulary"])) == trace.vocabulary.words
    with np.load(io.BytesIO(to_npz(trace)), allow_pickle=False) as file:
        assert tuple(file["tokens"].tolist()) == tuple(token.rstrip("\0") for token in trace.tokens)
    names = matrix_names(trace)
    assert_harmless(to_csv(trace, names[number % len(names)]))


def assert_harmless(written: str) -> None:
    """No cell that is text begins a formula in any spreadsheet."""
    for row in csv.reader(io.StringIO(written, newline="")):
        for cell in row:
            try:
                float(cell)
            except ValueError:
                assert not cell.lstrip().startswith(("=", "+", "-", "@", "＝", "＋", "－", "＠")), cell


@cases(8, cell=st.one_of(junk, texts))
def test_no_cell_of_a_table_is_a_formula(cell):
    """What is written can be read again: without the apostrophe in front, it is the text."""
    written = table([("given", cell), (1.5, cell)])
    rows = list(csv.reader(io.StringIO(written, newline="")))
    assert rows[0][1] in (cell, f"'{cell}")
    assert_harmless(table([("given", cell)]))


@cases(12, text=st.one_of(edits, junk, st.lists(st.one_of(edits, junk), max_size=4).map(" ".join)))
def test_the_syntax_of_edits(text):
    """Whatever is typed: edits inside their limits, and the parts that are none; written and read again the same."""
    allowed = EditList()
    try:
        found, unread = allowed.read(text), ()
    except PartlyReadError as partly:
        found, unread = partly.value, partly.unread
    assert allowed.accepts(found)
    assert len(found) + len(unread) == len(text.split())
    assert len(found) <= MAX_EDITS
    assert all(math.isfinite(edit.value) and abs(edit.value) <= LARGEST_EDIT for edit in found)
    assert allowed.read(" ".join(map(str, found))) == found


@cases(4, values=st.dictionaries(st.sampled_from(EDITED_MATRICES), st.sampled_from((-1e3, 1e3, 1e-300)), min_size=1))
def test_the_largest_numbers_in_every_cell(values):
    """Every number of a matrix at its limit: each step is still finite."""
    every = tuple(Edit(name, r, c, value) for name, value in values.items() for r in range(4) for c in range(4))
    trace = run_lesson(Lesson(lang="en", edits=every, scale="none", positions="learned"))
    for values in arrays(trace).values():
        if values.dtype == np.float64:
            assert_finite(torch.from_numpy(values))


@cases(5, query=links(DemonstrationSettings))
def test_every_module_has_its_numbers(query):
    run = run_demonstration(DemonstrationSettings.from_query(query))
    for part in dataclasses.astuple(run):
        if isinstance(part, torch.Tensor):
            assert_finite(part)
