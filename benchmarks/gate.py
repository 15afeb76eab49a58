"""What a class that trains at the same time does to a reader on another page.

A real server; 50 websocket sessions open the embedding page. As a yardstick they first only run it again, in the same
moment; then they press "Train" in the same moment, each with a seed of its own; then all with the same seed (one
training serves them all). Meanwhile one more session clicks through the similarity page, with a pause after each click.
Printed are its waits (median, 95th percentile), as seconds and as ratios to the same clicks before; when the last of
the 50 pages was ready; how many jobs the gate ran, how many at once, and how many sessions failed (anything but 0 is
a fault).

Pages that run again cost processor time too: compare with the first row.

    python -m benchmarks.gate [--quick] [--json FILE]
"""

import contextlib
import statistics
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from benchmarks.rows import Row, percentile, run_alone
from benchmarks.session import ROOT, SERVE, Server, Tab, opened, serving

SESSIONS, STEPS = 50, 200
PAUSE = 0.25  # seconds between two clicks
CLICKS_BEFORE, WARM_UP = 40, 5

# The server notes how many jobs run whenever one starts.
COUNTING = """
from pages.shared.jobs import Gate

go_on, running, lock = Gate._go_on, 0, __import__("threading").Lock()

def counted(gate, job):
    global running
    with lock:
        running += 1
        print(running, file=open({path!r}, "a"), flush=True)
    try:
        return go_on(gate, job)
    finally:
        with lock:
            running -= 1

Gate._go_on = counted
"""


HEADING = (
    f"{'':18}{'':>7}  wait in seconds         × alone   last page   jobs  jobs at  sessions\n"
    f"{'':18}{'clicks':>7}{'p50':>9}{'p95':>8}{'p50':>9}{'p95':>7}{'ready, s':>10}{'run':>7}{'once':>9}{'failed':>10}"
)


@dataclass(frozen=True)
class Crowd:
    """What happened while all pressed: the clicker's waits, seconds until the last page was ready, jobs, failures."""

    waits: list[float]
    total: float
    jobs: list[int]
    failures: list[str]


def one_click(tab: Tab) -> float:
    """Seconds until the page is ready after a click."""
    before = time.perf_counter()
    tab.answer(tab.step())
    return time.perf_counter() - before


def press(tab: Tab, steps: int, start: threading.Barrier) -> None:
    """Waits for all others, then trains; `steps` 0 only runs the page again."""
    start.wait()
    if steps == 0:
        tab.answer()
        return
    tab.answer(tab.button("train"))
    if f"training_steps={steps}" not in tab.query:
        raise RuntimeError(f"the link does not hold {steps} steps: {tab.query!r}")


def crowd(server: Server, seeds: list[int], steps: int, clicker: Tab, jobs: Path) -> Crowd:
    """All sessions press at once while the clicker clicks."""
    with contextlib.ExitStack() as stack:
        tabs = [stack.enter_context(opened(server, "one_hot", f"lang=en&seed={seed}")) for seed in seeds]
        if steps:
            for tab in tabs:
                tab.answer(tab.slider("wanted_steps", steps))
        jobs.write_text("")
        pool, start = stack.enter_context(ThreadPoolExecutor(len(tabs))), threading.Barrier(len(tabs) + 1)
        pressing = [pool.submit(press, tab, steps, start) for tab in tabs]
        start.wait()
        began, waits = time.perf_counter(), []
        while not waits or not all(future.done() for future in pressing):
            waits.append(one_click(clicker))
            time.sleep(PAUSE)
        total = time.perf_counter() - began
        failures = [repr(future.exception()) for future in pressing if future.exception()]
        return Crowd(waits, total, [int(n) for n in jobs.read_text().split()], failures)


def line(name: str, found: Crowd, before: list[float]) -> str:
    p50, p95 = statistics.median(found.waits), percentile(found.waits, 0.95)
    ratios = p50 / statistics.median(before), p95 / percentile(before, 0.95)
    return (
        f"{name:18}{len(found.waits):>7}{p50:>9.2f}{p95:>8.2f}{ratios[0]:>9.1f}{ratios[1]:>7.1f}"
        f"{found.total:>10.1f}{len(found.jobs):>7}{max(found.jobs, default=0):>9}{len(found.failures):>10}"
    )


def measure(n: int, steps: int, n_before: int) -> tuple[dict[str, Crowd], list[float]]:
    """What happened in each of the three cases, and the clicker's waits before."""
    cases = {
        "no training": ([0] * n, 0),
        "different seeds": (list(range(1, n + 1)), steps),
        "the same seed": ([n + 1] * n, steps),
    }
    found: dict[str, Crowd] = {}
    with contextlib.ExitStack() as stack:
        jobs = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "jobs"
        server = stack.enter_context(serving(ROOT / "app.py", COUNTING.format(path=str(jobs)) + SERVE))
        clicker = stack.enter_context(opened(server, "similarity", "lang=en"))
        before = [one_click(clicker) for _ in range(WARM_UP + n_before)][WARM_UP:]
        print(f"alone: {n_before} clicks, median {statistics.median(before):.3f} s", end=", ")
        print(f"95 % within {percentile(before, 0.95):.3f} s; then {n} sessions train {steps} steps each")
        print(HEADING)
        for name, (seeds, wanted) in cases.items():
            found[name] = crowd(server, seeds, wanted, clicker, jobs)
            print(line(name, found[name], before), *found[name].failures[:3], sep="\n", flush=True)
    return found, before


def rows(quick: bool) -> list[Row]:
    n, steps, n_before = (2, 20, 2) if quick else (SESSIONS, STEPS, CLICKS_BEFORE)
    found, before = measure(n, steps, n_before)
    yardstick, training = found["no training"], found["different seeds"]
    wait = percentile(training.waits, 0.95)
    runs_again = percentile(yardstick.waits, 0.95)
    return [
        Row(
            "a click while a class trains: wait p95",
            wait,
            "s",
            None,
            f"one session clicks through the similarity page while {n} train {steps} steps each, seeds of their own",
            f"{runs_again:.3f} s while as many only run their page again, {percentile(before, 0.95):.3f} s alone",
        ),
        Row(
            "sessions that failed to train",
            sum(len(crowd.failures) for crowd in found.values()),
            "",
            0,
            f"of {n} that press Train in the same moment: each with its own seed, then all with the same",
        ),
    ]


if __name__ == "__main__":
    run_alone(rows, __doc__)
