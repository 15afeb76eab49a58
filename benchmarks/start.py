"""From nothing to the first page, beside what no Streamlit app with torch can do without: importing both.

Every start is a new process; files are in the page cache after the first one, which does not count. Seconds on the
clock, started in turn, medians of the ratios within a round:

- imports: `python -c "import streamlit, torch"`, and the same with plotly;
- script: `streamlit run app.py` until the script of the front door has finished for a websocket session;
- painted: the same until Chromium has painted the first chart's numbers. The browser runs already, but has nothing
  of the app in its cache; it shares the processors with the server.

    python -m benchmarks.start [--quick] [--json FILE]
"""

import contextlib
import functools
import subprocess
import sys
import time

from playwright.sync_api import Browser

from benchmarks.browser import Reader
from benchmarks.chromium import chromium
from benchmarks.rounds import time_rounds
from benchmarks.rows import Row, run_alone
from benchmarks.session import ROOT, opened, serving

GOAL = 1.5


def imports(names: str) -> None:
    subprocess.run([sys.executable, "-c", f"import {names}"], check=True)


def script_finished() -> None:
    """The session is closed and the server ended by the time this returns; that takes some hundredths of a second."""
    with serving(ROOT / "app.py") as server, opened(server, ""):
        pass


def first_painted(browser: Browser) -> None:
    with serving(ROOT / "app.py") as server, contextlib.closing(browser.new_context(locale="en-US")) as context:
        Reader.arriving(context, server.address).wait_for_numbers()


def rows(quick: bool) -> list[Row]:
    """Both ends of a start over the imports."""
    n_rounds = 1 if quick else 7
    method = f"seconds on the clock, new processes in turn, median of {n_rounds} rounds"
    with chromium() as browser:
        works = {
            "imports": functools.partial(imports, "streamlit, torch"),
            "with plotly": functools.partial(imports, "streamlit, torch, plotly.graph_objects"),
            "script": script_finished,
            "painted": functools.partial(first_painted, browser),
        }
        found = time_rounds(works, n_rounds, clock=time.perf_counter)
    named = {
        "painted": ("start to first painted numbers / importing streamlit and torch", GOAL),
        "script": ("start to the first page's script finished / importing streamlit and torch", None),
        "with plotly": ("importing streamlit, torch and plotly / importing streamlit and torch", None),
    }
    return [
        Row(what, found.ratio(name, "imports"), "×", goal, method, found.beside(name, "imports"))
        for name, (what, goal) in named.items()
    ]


if __name__ == "__main__":
    run_alone(rows, __doc__)
