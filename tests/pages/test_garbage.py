"""Collections pass over what is frozen, and what is left in circles is found all the same."""

import gc
import weakref
from collections.abc import Iterator

import pytest

from pages.shared.garbage import Freezer


class Circle:
    def __init__(self) -> None:
        self.itself = self


class Clock:
    """Seconds that pass only when told to."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Iterator[Clock]:
    yield Clock()
    gc.unfreeze()


def test_what_is_there_is_frozen_and_a_second_later_what_has_come(clock: Clock) -> None:
    freezer = Freezer(clock)
    freezer.keep_collections_short()
    before = gc.get_freeze_count()
    assert before > 1000
    kept = [Circle() for _ in range(1000)]
    freezer.keep_collections_short()
    assert gc.get_freeze_count() <= before, "a run in the same second freezes nothing more"
    clock.now += 1.0
    freezer.keep_collections_short()
    assert gc.get_freeze_count() >= before + len(kept) - 100  # others have gone meanwhile


def test_circles_that_were_frozen_go_in_the_end(clock: Clock) -> None:
    freezer = Freezer(clock)
    left = Circle()
    gone = weakref.ref(left)
    freezer.keep_collections_short()
    del left
    clock.now += 1.0
    freezer.keep_collections_short()
    gc.collect()
    assert gone() is not None
    clock.now += 120.0
    freezer.keep_collections_short()
    assert gone() is None
    assert gc.get_freeze_count() > 1000


def test_a_run_does_not_wait_for_another_s_collection(clock: Clock) -> None:
    freezer = Freezer(clock)
    with freezer._lock:
        freezer.keep_collections_short()
    assert gc.get_freeze_count() == 0
