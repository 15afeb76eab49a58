"""Runs take turns: one at a time, whoever waits keeps nobody else waiting, and nothing that hangs stops everybody."""

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from benchmarks.session import ROOT, SERVE, opened, serving
from pages.shared.turns import Turns

LONG = 60.0


def test_of_many_runs_one_is_at_work() -> None:
    turns, at_work, most = Turns(LONG), [], []

    def run(number: int) -> None:
        with turns.turn():
            at_work.append(number)
            most.append(len(at_work))
            time.sleep(0.001)
            at_work.remove(number)

    with ThreadPoolExecutor(8) as sessions:
        list(sessions.map(run, range(40)))
    assert most == [1] * 40


def in_a_thread(work: Callable[[], None]) -> threading.Thread:
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread


def test_a_pause_is_somebody_else_s_turn() -> None:
    turns, done = Turns(LONG), threading.Event()

    def other() -> None:
        with turns.turn():
            done.set()

    with turns.turn():
        thread = in_a_thread(other)
        assert not done.wait(0.1)
        while not done.is_set():
            turns.pause(0.001)
        thread.join(LONG)
        again = in_a_thread(other)
        done.clear()
        assert not done.wait(0.1), "after the pause the turn is this thread's again"
    again.join(LONG)
    assert done.is_set()


def test_a_pause_of_a_thread_without_a_turn_only_sleeps() -> None:
    turns = Turns(LONG)
    with turns.turn():
        in_a_thread(lambda: turns.pause(0)).join(LONG)
        done = threading.Event()

        def other() -> None:
            with turns.turn():
                done.set()

        waiting = in_a_thread(other)
        assert not done.wait(0.1), "it has given away what it never had"
    waiting.join(LONG)
    assert done.is_set()


class Interrupted(BaseException):
    """As Streamlit ends a run that is to begin anew."""


def test_a_run_that_is_broken_off_gives_its_turn_back() -> None:
    turns = Turns(LONG)
    with pytest.raises(Interrupted), turns.turn():
        raise Interrupted
    began = time.monotonic()
    with turns.turn():
        assert time.monotonic() - began < LONG / 2


def test_a_run_that_hangs_stops_nobody() -> None:
    turns, hung, ended = Turns(0.05), threading.Event(), threading.Event()

    def hang() -> None:
        with turns.turn():
            hung.set()
            ended.wait(LONG)

    thread = in_a_thread(hang)
    hung.wait(LONG)
    for _ in range(2):  # one that ran without a turn has none to give back
        with turns.turn():
            assert not ended.is_set()
    ended.set()
    thread.join(LONG)
    with turns.turn():
        pass


COUNTING = """
import pathlib
import threading
import time
from attn_core import explain

def counted(*arguments, work=explain.explain_cosine):
    with lock:
        at_work.append(1)
        pathlib.Path({path!r}).write_text(str(max(len(at_work), int(pathlib.Path({path!r}).read_text()))))
    time.sleep(0.05)
    with lock:
        at_work.pop()
    return work(*arguments)

at_work, lock = [], threading.Lock()
pathlib.Path({path!r}).write_text("0")
explain.explain_cosine = counted
"""


def test_clicks_and_runs_of_the_whole_app_take_turns(tmp_path: Path) -> None:
    """On a page that takes its time: without turns several sessions would be in the middle of it at once."""
    most = tmp_path / "most"

    def session(seed: int) -> None:
        with opened(server, "similarity", f"lang=en&seed={seed}") as tab:
            for _ in range(3):
                tab.answer(tab.button("step_right"))

    with serving(ROOT / "app.py", COUNTING.format(path=str(most)) + SERVE) as server, ThreadPoolExecutor(4) as sessions:
        list(sessions.map(session, range(4)))
    assert most.read_text() == "1"
