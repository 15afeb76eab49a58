"""The table of all that has a goal: what must be in it, the medians of several runs, and how it is shown."""

import statistics
from collections.abc import Sequence
from dataclasses import replace

from benchmarks.rows import Row, goal_in_words, number

# The beginnings of its rows' names. Of several rows the one farthest from its goal counts.
TABLE = (
    "a click, dearest page / bare page",
    "a click, dearest page / without freeze",
    "class of 100: wait p95",
    "class of 100: errors",
    "memory of one more session",
    "memory without a pretrained model",
    "memory with the bundled model",
    "attend / nn.MultiheadAttention",
    "attend / matmul, softmax, matmul",
    "√d_k experiment / drawing alone",
    "√d_k experiment / NumPy",
    "√d_k experiment, peak memory",
    "real model: bytes / BertViz",
    "real model: first picture / BertViz",
    "start to first painted numbers / importing streamlit and torch",
)


def missing(rows: Sequence[Row]) -> list[str]:
    """What the table must have and nobody has measured."""
    return [name for name in TABLE if not any(row.what.startswith(name) for row in rows)]


def medians(runs: Sequence[Sequence[Row]]) -> list[Row]:
    """Each row of the first run, with its median over those that have it."""
    values: dict[str, list[float]] = {}
    for row in (row for run in runs for row in run):
        values.setdefault(row.what, []).append(row.value)
    return [replace(row, value=statistics.median(values[row.what])) for row in runs[0]]


def of_table(rows: Sequence[Row]) -> list[Row]:
    """One row for each name of the table: of several the one with the largest value."""
    groups = ([row for row in rows if row.what.startswith(name)] for name in TABLE)
    return [max(group, key=lambda row: row.value) for group in groups if group]


def as_markdown(rows: Sequence[Row]) -> str:
    lines = [f"| {row.what} | {number(row.value)} {row.unit} | {goal_in_words(row)} | {row.method} |" for row in rows]
    return "\n".join(["| what | found | goal | measured |", "|---|---|---|---|", *lines])
