"""One run of a script at a time: several at once only hold each other up.

Python computes in one thread at a time. Where many sessions' runs are at work together it goes from one to the other
every few milliseconds, each finds its data gone from the processor's caches, and all end late. In turn, a class of 100
waited a tenth as long, for two thirds of the work.
"""

import contextlib
import threading
import time
from collections.abc import Iterator

_LONGEST = 10.0  # seconds; whoever has waited so long runs beside the others: nothing that hangs may stop everybody


class Turns:
    """Who may run; a thread has a turn at most."""

    def __init__(self, longest: float = _LONGEST) -> None:
        self._free, self._longest, self._mine = threading.Lock(), longest, threading.local()

    @contextlib.contextmanager
    def turn(self) -> Iterator[None]:
        """Waits for a turn, and has it until the block ends, however it does."""
        self._take()
        try:
            yield
        finally:
            self._give()

    def pause(self, seconds: float) -> None:
        """Sleeps, and lets others have their turn meanwhile: for whoever waits for something else than a turn."""
        had_one = self._give()
        time.sleep(seconds)
        if had_one:
            self._take()

    def _take(self) -> None:
        self._mine.has_one = self._free.acquire(timeout=self._longest)

    def _give(self) -> bool:
        """Ends this thread's turn; whether it had one."""
        had_one: bool = getattr(self._mine, "has_one", False)
        if had_one:
            self._mine.has_one = False
            self._free.release()
        return had_one


TURNS = Turns()
