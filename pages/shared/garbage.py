"""Collecting garbage: once a second, through what has come in that second.

Streamlit would do it after every run (`runner.postScriptGC`), and Python goes through everything now and then.
"""

import gc
import threading
import time
from collections.abc import Callable

# Seconds.
_FREEZE_AFTER = 1.0
_THAW_AFTER = 120.0


class Freezer:
    """Freezes what is there: torch, a model, and what the sessions hold (60 made a collection 20 times as long).

    What is left behind in circles later stays until everything is thawed for one whole collection.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._lock = clock, threading.Lock()
        self._frozen = self._thawed = float("-inf")

    def keep_collections_short(self) -> None:
        """To be called in every run; where another run is at it already, it is enough that one is."""
        if not self._lock.acquire(blocking=False):
            return
        try:
            self._freeze(self._clock())
        finally:
            self._lock.release()

    def _freeze(self, now: float) -> None:
        if now < self._frozen + _FREEZE_AFTER:
            return
        if now >= self._thawed + _THAW_AFTER:
            gc.unfreeze()
            self._thawed = now
        gc.collect()
        gc.freeze()
        self._frozen = now


FREEZER = Freezer()
