"""The app's server on a machine full of faults: `python -m tests.faults.faulty run app.py …`, as streamlit is run.

The disk is full: no file can grow. A process may have few files open unless it asks for more. A lesson with a certain
text breaks the page of similarities when half of it is drawn, one with a certain seed of training runs out of memory.
On SIGUSR1 the machine's clock jumps an hour forwards, on SIGUSR2 two hours back.
"""

import itertools
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

from streamlit.web.cli import main

from attn_core import explain, learning
from attn_core.lesson import LessonTrace

BREAKING_TEXT, FAILING_SEED, PIECES, FEW_FILES = "secret words", 666, 2, 100

_read_clock, _train, _explain_cosine = time.time, learning.train, explain.explain_cosine
_jumped = 0.0


def _fill_disk() -> None:
    """What the server tells goes through a pipe, to a process whose files may grow."""
    log = subprocess.Popen(["cat"], stdin=subprocess.PIPE)
    for told in (sys.stdout, sys.stderr):
        os.dup2(log.stdin.fileno(), told.fileno())
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))


def _allow_few_files() -> None:
    resource.setrlimit(resource.RLIMIT_NOFILE, (FEW_FILES, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))


def _jump(number: int, _frame: object) -> None:
    global _jumped
    _jumped += 3600 if number == signal.SIGUSR1 else -7200


def _break_page(trace: LessonTrace, *places: int) -> Any:
    if trace.lesson.text == BREAKING_TEXT:
        raise KeyError(trace.lesson.text)
    return _explain_cosine(trace, *places)


def _run_out_of_memory(settings: learning.LearningSettings) -> Iterator[learning.LearningProgress]:
    pieces = _train(settings)
    if settings.learning_seed != FAILING_SEED:
        yield from pieces
        return
    yield from itertools.islice(pieces, PIECES)
    raise MemoryError(f"cannot allocate {settings.learning_seed} GB")


if __name__ == "__main__":
    _fill_disk()
    _allow_few_files()
    time.time = lambda: _read_clock() + _jumped
    for number in (signal.SIGUSR1, signal.SIGUSR2):
        signal.signal(number, _jump)
    explain.explain_cosine, learning.train = _break_page, _run_out_of_memory
    main()
