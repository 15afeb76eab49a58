"""Waiting for what another thread does."""

import time
from collections.abc import Callable
from typing import Any


def until(condition: Callable[[], Any]) -> Any:
    """Waits for another thread to bring it about."""
    give_up = time.monotonic() + 30
    while not (found := condition()):
        assert time.monotonic() < give_up, "it did not happen"
        time.sleep(0.001)
    return found
