"""What a benchmark finds: one row a figure, with its goal and how it was measured; how rows are printed and kept."""

import argparse
import importlib
import json
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.session import machine


@dataclass(frozen=True)
class Row:
    """One figure; `goal` is the largest value that is good enough, None where none is set.

    `beside` has what a ratio was made of: our figure and the floor's or the peer's from the same run.
    """

    what: str
    value: float
    unit: str
    goal: float | None
    method: str
    beside: str = ""

    @property
    def met(self) -> bool | None:
        return None if self.goal is None else self.value <= self.goal


def percentile(values: Iterable[float], share: float) -> float:
    """The smallest of the values that at least this share of them do not exceed; of none, no number."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)] if ordered else math.nan


def number(value: float) -> str:
    """Three figures, and all digits before the point."""
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"


def goal_in_words(row: Row) -> str:
    return "" if row.goal is None else f"≤ {number(row.goal)}"


_MET = {None: "", True: "yes", False: "NO"}


def print_rows(rows: Sequence[Row]) -> None:
    """A table, each row with its method below it."""
    width = max((len(row.what) for row in rows), default=0)
    print(f"\n{'':{width}}{'found':>12}{'goal':>10}  met")
    for row in rows:
        found = f"{number(row.value)} {row.unit}"
        print(f"{row.what:{width}}{found:>12}{goal_in_words(row):>10}  {_MET[row.met]:5}{row.beside}")
        print(f"    {row.method}")


def write_rows(path: Path, about: dict[str, str], rows: Sequence[Row]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    found = {"machine": about, "rows": [asdict(row) for row in rows]}
    path.write_text(json.dumps(found, indent=1, ensure_ascii=False), encoding="utf-8")


def read_rows(path: Path) -> list[Row]:
    return [Row(**row) for row in json.loads(path.read_text(encoding="utf-8"))["rows"]]


def rows_of(name: str, quick: bool) -> list[Row]:
    """The rows of the benchmark with this name."""
    found: list[Row] = importlib.import_module(f"benchmarks.{name}").rows(quick)
    return found


def in_a_line(about: dict[str, str]) -> str:
    return ", ".join(f"{name} {value}" for name, value in about.items())


def run_alone(measure: Callable[[bool], list[Row]], description: str) -> None:
    """The command line of one benchmark."""
    parser = argparse.ArgumentParser(description=description.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="smallest sizes: shows that it runs, not how fast")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the rows to a file")
    options = parser.parse_args()
    about = machine()
    print(in_a_line(about), flush=True)
    rows = measure(options.quick)
    print_rows(rows)
    if options.json:
        write_rows(options.json, about, rows)
