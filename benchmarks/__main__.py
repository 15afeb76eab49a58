"""Every benchmark, one after the other, each in a process of its own; then all figures in one table.

    python -m benchmarks [--quick] [--json FILE]
    python -m benchmarks --median FILE FILE FILE

The short form shows that every benchmark runs and says something about every row of the table; its figures mean
nothing. `--median` prints the table of medians over several runs, as Markdown.
"""

import argparse
import multiprocessing
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from benchmarks.rows import Row, in_a_line, print_rows, read_rows, rows_of, write_rows
from benchmarks.session import ROOT, machine
from benchmarks.table import as_markdown, medians, missing, of_table

MODULES = (
    "core",
    "scaling",
    "scaling_memory",
    "growth",
    "start",
    "browser",
    "interaction",
    "classroom",
    "gate",
    "pretrained",
    "pretrained_server",
)


def in_its_own_process(name: str, quick: bool) -> list[Row]:
    """A benchmark's rows; what it has loaded is gone afterwards."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return pool.submit(rows_of, name, quick).result()


def measure(quick: bool) -> Iterator[list[Row]]:
    """The rows of one after the other; one that fails is reported, and the others run."""
    for name in MODULES:
        print(f"\n== {name}", flush=True)
        began = time.perf_counter()
        try:
            yield in_its_own_process(name, quick)
        except Exception as error:  # a quarter of an hour is not given up for one of many
            print(f"failed: {error!r}")
        print(f"   ({time.perf_counter() - began:.0f} s)", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="the short form of each")
    parser.add_argument("--json", type=Path, metavar="FILE", default=ROOT / "build" / "bench.json", help="for the rows")
    parser.add_argument("--median", type=Path, nargs="+", metavar="FILE", help="only print the medians of these")
    options = parser.parse_args()
    if options.median:
        print(as_markdown(of_table(medians([read_rows(path) for path in options.median]))))
        return
    about = machine()
    print(in_a_line(about), flush=True)
    rows: list[Row] = []
    for found in measure(options.quick):
        rows += found
        write_rows(options.json, about, rows)  # what has been found is kept, whatever comes after
    table = of_table(rows)
    print("\n== all other figures")
    print_rows([row for row in rows if row not in table])
    print("\n== the table")
    print_rows(table)
    if lacking := missing(rows):
        sys.exit(f"not measured: {'; '.join(lacking)}")


if __name__ == "__main__":
    main()
