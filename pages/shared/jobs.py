"""Jobs that wait for one another: the threads behind `pages.shared.gate`, without Streamlit.

A job is a generator that yields what it has reached, piece by piece; its last piece is its result. Jobs are known by
a key: equal keys are one job, however many watch it. A job runs for as long as somebody watches it, and no longer than
its limit. Left alone it pauses at its next piece and keeps what it has; asked for again, it goes on from there.
"""

import contextlib
import os
import sys
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, TypeVar

from attn_core.draws import use_one_thread_per_operation
from attn_core.limits import MAX_JOB_SECONDS
from pages.shared.faults import log_fault

_BEHIND = 10  # of the 20 ranks below a usual thread's

Piece = TypeVar("Piece")
State = Literal["waiting", "running", "paused", "spent", "finished", "failed"]


@dataclass(frozen=True)
class Glance(Generic[Piece]):
    """How a job stands at one moment.

    `before` counts the jobs that wait for a place and come first; `latest` is the last piece so far, the result once
    finished; `error` is what made it fail. A job that is "spent" has worked for as long as one may.
    """

    state: State
    before: int = 0
    latest: Piece | None = None
    error: BaseException | None = None

    @property
    def ended(self) -> bool:
        """Whether there is nothing more to wait for."""
        return self.state in ("spent", "finished", "failed")


@dataclass(eq=False)
class Job(Generic[Piece]):
    """One piece of heavy work; changed only by the gate, under its lock."""

    make: Callable[[], Iterator[Piece]]
    state: State = "waiting"
    pieces: Iterator[Piece] | None = None
    latest: Piece | None = None
    error: BaseException | None = None
    worked: float = 0.0  # seconds since it was asked for
    watchers: dict[Hashable, float] = field(default_factory=dict)  # and when each was last seen

    @property
    def active(self) -> bool:
        return self.state in ("waiting", "running")


class Gate:
    """Lets a bounded number of jobs run at once; the others stand in line, first come, first served.

    A job whose turn is over goes to the end of the line if there is one: a few long jobs do not keep all the short
    ones waiting.

    Args:
        places: jobs that may run at once, each in a thread of its own.
        turn: seconds that a job may run while others wait.
        limit: seconds that a job may work, from the time it is asked for; measured at its pieces.
        kept: finished and paused jobs that are kept; the one not asked for longest goes first.
        kept_bytes: what the kept pieces may hold together, by their `n_bytes` where they have one; the last one stays.
        grace: seconds after which somebody who has not been seen counts as gone.
        clock: tells seconds.
    """

    def __init__(
        self,
        places: int,
        *,
        turn: float = 10.0,
        limit: float = MAX_JOB_SECONDS,
        kept: int = 64,
        kept_bytes: int = 64_000_000,
        grace: float = 5.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        if places < 1 or kept < 1:
            raise ValueError(f"places and kept must be at least 1, got {places} and {kept}")
        self._places, self._turn, self._grace, self._clock = places, turn, grace, clock
        self._limit, self._kept, self._kept_bytes = limit, kept, kept_bytes
        self._jobs: OrderedDict[Hashable, Job[Any]] = OrderedDict()  # the one not asked for longest comes first
        self._line: list[Job[Any]] = []
        self._running: set[threading.Thread] = set()
        self._closed = False
        self._lock = threading.Lock()

    def watch(self, watcher: Hashable, key: Hashable, make: Callable[[], Iterator[Piece]]) -> Glance[Piece]:
        """Asks for a job, or goes on watching it: called again and again, so that the gate sees the watcher is there.

        Who watches one job has left every other. That a job failed, or has spent its time, is told once to each who
        watched it. For whoever asks after that, a failed one starts anew, and a spent one goes on.
        """
        with self._lock:
            job = self._jobs.get(key)
            if job is None or (job.state == "failed" and watcher not in job.watchers):
                job = self._jobs[key] = Job(make)
                self._line.append(job)
            self._jobs.move_to_end(key)
            self._leave_all_but(watcher, job)
            if job.state == "spent" and watcher not in job.watchers:
                job.state, job.worked = "paused", 0.0
            if job.state in ("failed", "spent"):
                del job.watchers[watcher]
            elif job.state != "finished":
                job.watchers[watcher] = self._clock()
            if job.state == "paused":
                job.state = "waiting"
                self._line.append(job)
            self._fill_places()
            return self._glance(job)

    def leave(self, watcher: Hashable) -> None:
        """Frees at once what nobody else watches: a place in the line, or a running job's place at its next piece."""
        with self._lock:
            self._leave_all_but(watcher, None)
            self._fill_places()

    def glance(self, key: Hashable) -> Glance[Any] | None:
        """How a job stands, without asking for it; None where it is not known."""
        with self._lock:
            if (job := self._jobs.get(key)) is None:
                return None
            self._jobs.move_to_end(key)
            return self._glance(job)

    def close(self) -> None:
        """Starts nothing any more, and waits until every running job has come to its next piece."""
        with self._lock:
            self._closed = True
            running = set(self._running)
        for thread in running:
            thread.join(self._grace)

    def _glance(self, job: Job[Piece]) -> Glance[Piece]:
        before = self._line.index(job) if job.state == "waiting" else 0
        return Glance(job.state, before, job.latest, job.error)

    def _leave_all_but(self, watcher: Hashable, kept: Job[Any] | None) -> None:
        for job in self._jobs.values():
            if job is not kept and job.active:
                job.watchers.pop(watcher, None)

    def _is_watched(self, job: Job[Any]) -> bool:
        oldest = self._clock() - self._grace
        job.watchers = {watcher: seen for watcher, seen in job.watchers.items() if seen >= oldest}
        return bool(job.watchers) and not self._closed

    def _fill_places(self) -> None:
        """Sends the line's first jobs to the free places, after those nobody waits for have left it."""
        for job in [job for job in self._line if not self._is_watched(job)]:
            self._line.remove(job)
            job.state = "paused"
        while self._line and len(self._running) < self._places:
            job = self._line.pop(0)
            job.state = "running"
            thread = threading.Thread(target=self._run, args=(job,), name="gate", daemon=True)
            self._running.add(thread)
            thread.start()
        self._forget_oldest()

    def _forget_oldest(self) -> None:
        resting = {key: getattr(job.latest, "n_bytes", 0) for key, job in self._jobs.items() if not job.active}
        while len(resting) > self._kept or (len(resting) > 1 and sum(resting.values()) > self._kept_bytes):
            oldest = next(iter(resting))
            del resting[oldest], self._jobs[oldest]

    def _run(self, job: Job[Any]) -> None:
        """A place's thread: piece after piece, until the end, an error, nobody watches, or others have their turn."""
        _give_way()
        use_one_thread_per_operation()
        try:
            state: State = self._go_on(job)
        except BaseException as error:  # whatever a job raises belongs to those who watch it
            state, job.error = "failed", error
            if not isinstance(error, ValueError):  # a fault of ours
                log_fault("a job failed", error)
        with self._lock:
            job.state = state
            if state == "waiting":
                self._line.append(job)
            elif state in ("finished", "failed"):
                job.pieces = None
            self._running.remove(threading.current_thread())
            self._fill_places()

    def _go_on(self, job: Job[Any]) -> State:
        began = self._clock()
        before, job.pieces = job.worked, job.pieces or iter(job.make())
        while (state := self._next_state(job, began)) == "running":
            try:
                job.latest = next(job.pieces)
            except StopIteration:
                if job.latest is None:
                    raise ValueError("the job ended without a piece") from None
                return "finished"
            job.worked = before + self._clock() - began
        return state

    def _next_state(self, job: Job[Any], began: float) -> State:
        with self._lock:
            if not self._is_watched(job):
                return "paused"
            if job.worked >= self._limit:
                return "spent"
            return "waiting" if self._line and self._clock() >= began + self._turn else "running"


def _give_way() -> None:
    """Ranks this thread, and those it starts, behind the threads that answer readers, where the system ranks threads.

    Without that a click on another page takes about twice as long while a class trains (benchmarks/gate.py).
    """
    if sys.platform == "linux":
        with contextlib.suppress(OSError):  # not every sandbox allows it
            this = threading.get_native_id()
            os.setpriority(os.PRIO_PROCESS, this, os.getpriority(os.PRIO_PROCESS, this) + _BEHIND)
