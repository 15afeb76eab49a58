"""Rows and the table made of them."""

import dataclasses
import math
from pathlib import Path

import pytest

from benchmarks import table
from benchmarks.rows import Row, percentile, print_rows, read_rows, write_rows
from benchmarks.table import TABLE, as_markdown, medians, missing, of_table


def row(what: str = "a wait", value: float = 1.0, goal: float | None = 2.0) -> Row:
    return Row(what, value, "s", goal, "measured somehow", "0.1 s beside 0.1 s")


def test_a_goal_is_met_up_to_its_own_value():
    assert row(value=2.0).met is True
    assert row(value=2.1).met is False
    assert row(goal=None).met is None


@pytest.mark.parametrize(
    ("values", "share", "expected"),
    [((3, 1, 2), 0.5, 2), ((1, 2, 3, 4), 0.5, 2), (range(1, 101), 0.95, 95), ((7,), 0.95, 7), ((1, 2), 1, 2)],
)
def test_a_share_of_the_values_is_not_above_the_percentile(values, share, expected):
    assert percentile(values, share) == expected


def test_of_no_values_there_is_no_percentile():
    assert math.isnan(percentile([], 0.95))


def test_rows_are_read_as_they_were_written(tmp_path: Path):
    rows = [row(), row("√dₖ", 0.5, None)]
    write_rows(tmp_path / "new" / "bench.json", {"cores": "2"}, rows)
    assert read_rows(tmp_path / "new" / "bench.json") == rows


def test_the_printed_table_has_every_figure_with_its_method(capsys: pytest.CaptureFixture[str]):
    print_rows([row(value=2.5), row("bytes", 12345.0, None)])
    lines = capsys.readouterr().out.splitlines()
    assert lines[2].split() == "a wait 2.5 s ≤ 2 NO 0.1 s beside 0.1 s".split()
    assert lines[3].strip() == "measured somehow"
    assert lines[4].split()[:3] == ["bytes", "12345", "s"]


def test_every_row_of_the_table_is_measured_by_a_benchmark():
    sources = [path.read_text(encoding="utf-8") for path in Path(table.__file__).parent.glob("*.py")]
    measured = "\n".join(text for text in sources if "def rows(" in text)
    assert [name for name in TABLE if f'"{name}' not in measured] == []


def test_what_nobody_has_measured_is_missing():
    rows = [row(f"{name}: some size") for name in TABLE]
    assert missing(rows) == []
    assert missing(rows[1:]) == [TABLE[0]]


def test_the_median_of_each_row_over_the_runs():
    runs = [[row("a", 1), row("b", 10)], [row("b", 30), row("a", 3)], [row("a", 2), row("b", 20)]]
    assert medians(runs) == [row("a", 2), row("b", 20)]


def test_of_several_sizes_the_table_has_the_largest_value():
    small, large = row(f"{TABLE[1]}: small", 1), row(f"{TABLE[1]}: large", 3)
    first = row(TABLE[0])
    assert of_table([small, large, first, row("something else", 9)]) == [first, large]


def test_the_table_as_markdown():
    shown = as_markdown([row(), dataclasses.replace(row("bytes", 123.4, None), unit="kB")])
    assert shown.splitlines()[2:] == [
        "| a wait | 1 s | ≤ 2 | measured somehow |",
        "| bytes | 123 kB |  | measured somehow |",
    ]
