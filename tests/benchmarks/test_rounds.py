"""Works in rounds: what a ratio is made of, on a clock that the works move themselves."""

import gc

import pytest

from benchmarks.rounds import Rounds, in_words, time_rounds


class Clock:
    """Moves only when told."""

    def __init__(self) -> None:
        self.now, self.order = 0.0, []

    def __call__(self) -> float:
        return self.now

    def work(self, name: str, seconds: float) -> None:
        assert not gc.isenabled() or name not in self.order  # only the run that warms up may collect
        self.now += seconds
        self.order.append(name)


def test_every_second_round_goes_backwards() -> None:
    clock = Clock()
    found = time_rounds({"a": lambda: clock.work("a", 2.0), "b": lambda: clock.work("b", 4.0)}, 3, clock=clock)
    assert "".join(clock.order) == "ab" + "ab" + "ba" + "ab"  # first a run of each that warms up
    assert found.seconds == {"a": (2.0, 2.0, 2.0), "b": (4.0, 4.0, 4.0)}
    assert found.ratio("b", "a") == 2.0
    assert gc.isenabled()


def test_short_works_are_repeated() -> None:
    clock = Clock()
    found = time_rounds({"short": lambda: clock.work("short", 0.25)}, 1, at_least=2.0, clock=clock)
    assert len(clock.order) == 2 + 8
    assert found.seconds == {"short": (0.25,)}


def test_the_ratio_is_taken_within_a_round() -> None:
    found = Rounds({"a": (1.0, 10.0, 3.0), "b": (1.0, 5.0, 1.0)})
    assert found.ratio("a", "b") == 2.0  # of 1, 2 and 3; the medians 3 and 1 would say 3
    assert (found.median("a"), found.best("b")) == (3.0, 1.0)
    assert found.beside("a", "b") == "3.00 s beside 1.00 s"


@pytest.mark.parametrize(("seconds", "words"), [(1.5, "1.50 s"), (0.0123, "12.3 ms"), (4.56e-5, "45.6 µs")])
def test_times_in_words(seconds: float, words: str) -> None:
    assert in_words(seconds) == words
