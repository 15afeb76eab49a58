"""Works timed one after the other, round by round, so that whatever else the machine does meets all of them alike."""

import gc
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Rounds:
    """Seconds of every work in every round."""

    seconds: Mapping[str, tuple[float, ...]]

    def median(self, work: str) -> float:
        return statistics.median(self.seconds[work])

    def best(self, work: str) -> float:
        return min(self.seconds[work])

    def ratio(self, above: str, below: str) -> float:
        """The median over the rounds of the ratio within a round."""
        return statistics.median(a / b for a, b in zip(self.seconds[above], self.seconds[below], strict=True))

    def beside(self, above: str, below: str) -> str:
        """What the ratio was made of."""
        return f"{in_words(self.median(above))} beside {in_words(self.median(below))}"


def in_words(seconds: float) -> str:
    if seconds >= 1:
        return f"{seconds:.2f} s"
    return f"{1e3 * seconds:.3g} ms" if seconds >= 1e-3 else f"{1e6 * seconds:.3g} µs"


def time_rounds(
    works: Mapping[str, Callable[[], object]],
    n_rounds: int,
    *,
    at_least: float = 0.0,
    clock: Callable[[], float] = time.process_time,
) -> Rounds:
    """Times each work once a round, after a run that warms it up; every second round goes backwards.

    Short works are repeated until a round of them takes about `at_least` seconds. Processor time leaves out
    what other programs take.
    """
    repeats = {name: _repeats(work, at_least, clock) for name, work in works.items()}
    seconds: dict[str, list[float]] = {name: [] for name in works}
    for place in range(n_rounds):
        for name in list(works)[:: -1 if place % 2 else 1]:
            seconds[name].append(_time(works[name], repeats[name], clock))
    return Rounds({name: tuple(found) for name, found in seconds.items()})


def _repeats(work: Callable[[], object], at_least: float, clock: Callable[[], float]) -> int:
    """A run that warms up, and one that tells how many fill a round."""
    work()
    return max(1, round(at_least / max(1e-7, _time(work, 1, clock)))) if at_least else 1


def _time(work: Callable[[], object], repeats: int, clock: Callable[[], float]) -> float:
    """Seconds of one run, garbage collected before and not meanwhile."""
    gc.collect()
    gc.disable()
    try:
        before = clock()
        for _ in range(repeats):
            work()
        return (clock() - before) / repeats
    finally:
        gc.enable()
