"""The one place through which heavy work goes: training, large experiments, model runs.

As many jobs run at once as the machine has cores; the others stand in line and are told their place in it. Equal keys
are one job: a class that asks for the same is served by one run, and what is finished is kept for all sessions.
`attn_core` gives a generator whose pieces tell the progress and whose last piece is the result. A page says:

    key = ("learning", settings)                          # a kind, and everything the result depends on

    def progress(piece: LearningStep) -> tuple[float, str]:
        return piece.step / piece.steps, _("step {n}, loss {loss:.4f}", n=piece.step, loss=piece.loss)

    st.button(_("Train"), key="train", on_click=gate.want, args=(key,))
    result = gate.run(key, lambda: learn(settings), progress)
    if result is not None:
        show(result)

`run` returns the result where it is known, and None where nobody in this session has asked for it. Otherwise it shows
the line or the progress, with a button that stops, waits for the result, and takes bar and button away again. What
comes after `run` in the script waits too: draw first what should be seen meanwhile.

A reader may do anything while a job runs: the page runs again, comes back to `run`, and finds the job further on.
Streamlit lets only a click outside of fragments break into a script, so no part of a page that waits is one. While a
script waits for a job, other sessions' scripts run (`pages.shared.turns`).

A job that no session has watched for some seconds pauses, and one that takes long lets others have their turn. Both go
on from their last piece. One that has worked for MAX_JOB_SECONDS stops as if its reader had stopped it, and the page
says so; whoever asks again goes on from there.
"""

import atexit
import os
import time
from collections.abc import Callable, Hashable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import streamlit as st

from pages.shared.faults import FAULT
from pages.shared.jobs import Gate, Glance
from pages.shared.text import _
from pages.shared.turns import TURNS

Piece = TypeVar("Piece")

_WANTED, _WATCHER, _WAITS, _WHOLE = "_wanted", "_watcher", "_waits", "_whole"
SPENT = "_spent"  # in the session where a run was stopped at the limit, and that is still to be told
_LIMIT = Path("/sys/fs/cgroup/cpu.max")  # microseconds of processor time in each period
_POLL = 0.1  # seconds
_UNANNOUNCED = 0.3  # seconds: what is finished by then needs no bar


class RunError(ValueError):
    """A job cannot be done; the message is that of the ValueError in it, which is the cause."""


def cores() -> int:
    """Cores this process may use; a container's share counts, where Linux tells it."""
    n = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    quota, period = _LIMIT.read_text().split() if _LIMIT.exists() else ("max", "1")
    return n if quota == "max" else max(1, min(n, round(int(quota) / int(period))))


GATE = Gate(cores())
atexit.register(GATE.close)  # a thread inside torch must not outlive the interpreter


def run(
    key: Hashable,
    make: Callable[[], Iterator[Piece]],
    progress: Callable[[Piece], tuple[float, str]],
    *,
    by_itself: bool = False,
    on_stop: Callable[[Piece | None], None] | None = None,
) -> Piece | None:
    """The job's result, or None where this session has not asked for it, has stopped it, or has been told it failed.

    Args:
        key: a kind of work and the frozen settings that the result depends on; equal keys, one job.
        make: starts the work: a generator of at least one piece, none of them None. It runs in one thread, in which no
            st.… works, and should start no other. It should yield several times a second: only there can it be
            stopped. A piece should hold what is shown and no more: those of 64 jobs stay in memory.
        progress: the share that is done (0 … 1) and a sentence about a piece. It runs in the page's script, so it may
            also draw into a placeholder of the page's.
        by_itself: start without being asked for, unless stopped.
        on_stop: called with the last piece (None if there is none yet) when this session's reader presses stop.

    Raises:
        RunError: the job says with a ValueError what is wrong with it; told once, the next `want` tries again.
    """
    place = st.empty()
    known = GATE.glance(key)
    if known is not None and known.state == "finished":
        return known.latest
    if not _decisions().get(key, by_itself):
        return None
    found = _look(key, make) if known else _within_moments(key, make)
    if not found.ended:
        _leave_fragment()
        with place.container(horizontal=True, vertical_alignment="center"):
            found = _watch(key, make, progress, on_stop)
        place.empty()
        st.session_state[_WAITS] = False
    if found.state == "spent":
        st.session_state[SPENT] = True
        _stop_pressed(key, on_stop)
        st.rerun()
    if found.state == "failed":
        _decisions()[key] = False
        if not isinstance(found.error, ValueError):
            st.container(key=FAULT).error(_("The computation failed. Try again, or ask for less."))
            return None
        raise RunError(str(found.error)) from found.error
    return found.latest


def begin_run() -> None:
    """Called at the start of a run of the whole app."""
    st.session_state[_WHOLE] = st.session_state.pop(_WAITS, False)


def waits() -> bool:
    """Whether a job was waited for when this run of the whole app began: the page must then be no fragment."""
    return bool(st.session_state.get(_WHOLE))


def want(key: Hashable) -> None:
    """Asks for a job: a button's callback. The page's `run` then starts it."""
    _decisions()[key] = True


def stop(key: Hashable) -> Any:
    """Stops this session's run; the last piece it reached, or None. If others watch the same job, theirs goes on."""
    _decisions()[key] = False
    GATE.leave(_watcher())
    return latest(key)


def latest(key: Hashable) -> Any:
    """The last piece of a job so far, whoever asked for it: finished, running or stopped; None if there is none."""
    known = GATE.glance(key)
    return None if known is None else known.latest


def _leave_fragment() -> None:
    """Starts a run in which the page is no fragment, unless this is one."""
    st.session_state[_WAITS] = True
    if not waits():
        st.rerun()


def _within_moments(key: Hashable, make: Callable[[], Iterator[Piece]]) -> Glance[Piece]:
    """The job after a moment too short to announce it."""
    give_up = time.monotonic() + _UNANNOUNCED
    while not (found := _look(key, make)).ended and time.monotonic() < give_up:
        TURNS.pause(_POLL / 10)
    return found


def _watch(
    key: Hashable,
    make: Callable[[], Iterator[Piece]],
    progress: Callable[[Piece], tuple[float, str]],
    on_stop: Callable[[Piece | None], None] | None,
) -> Glance[Piece]:
    """Shows the line or the progress until the job has ended."""
    bar, told = st.progress(0.0), None
    st.button(_("Stop"), icon=":material/stop:", key="stop", on_click=_stop_pressed, args=(key, on_stop))
    while not (found := _look(key, make)).ended:
        if (now := (found.state, found.before, id(found.latest))) != told:
            bar.progress(*_in_words(found, progress))
            told = now
        TURNS.pause(_POLL)
    return found


def _look(key: Hashable, make: Callable[[], Iterator[Piece]]) -> Glance[Piece]:
    """How the job stands; reading the session's state gives way to a run of the page that a reader has asked for."""
    return GATE.watch(_watcher(), key, make)


def _in_words(found: Glance[Piece], progress: Callable[[Piece], tuple[float, str]]) -> tuple[float, str]:
    share, text = (0.0, "") if found.latest is None else progress(found.latest)
    if found.state == "running":
        return share, text or _("It has just begun.")
    return share, _("Runs before yours: {n}", n=found.before) if found.before else _("Yours is the next run.")


def _stop_pressed(key: Hashable, on_stop: Callable[[Any], None] | None) -> None:
    piece = stop(key)
    if on_stop is not None:
        on_stop(piece)


def _decisions() -> dict[Hashable, bool]:
    """What this session's reader has asked for (True) or stopped (False)."""
    return st.session_state.setdefault(_WANTED, {})


def _watcher() -> object:
    """Who this session is to the gate."""
    return st.session_state.setdefault(_WATCHER, object())
