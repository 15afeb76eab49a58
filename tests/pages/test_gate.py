"""The gate for heavy work: its jobs with plain threads, and what a page does with it."""

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from pages.shared import gate
from pages.shared.jobs import Gate, Glance
from tests.pages.waiting import until

GRACE = 5.0


class Steps:
    """A job that makes one piece each time it is let: 1, 2, … up to n."""

    def __init__(self, n: int) -> None:
        self.n, self.made, self.n_starts = n, 0, 0
        self._let = threading.Semaphore(0)

    def __call__(self) -> Iterator[int]:
        self.n_starts += 1
        for step in range(1, self.n + 1):
            self._let.acquire()
            self.made = step
            yield step

    def let(self, n: int = 1) -> None:
        self._let.release(n)


class Clock:
    """Seconds that pass only when told to."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def result(of: Gate, key: str) -> Any:
    """What the job has come to, once it is finished."""
    until(lambda: of.glance(key).state == "finished")
    return of.glance(key).latest


def state(of: Gate, key: str) -> str:
    return of.glance(key).state


def five() -> Iterator[int]:
    yield 5


# Places and the line.


def test_a_job_runs_to_its_last_piece():
    jobs = Gate(1)
    assert jobs.glance("a") is None
    jobs.watch("reader", "a", lambda: iter("xyz"))
    assert result(jobs, "a") == "z"
    assert jobs.watch("reader", "a", five) == Glance("finished", 0, "z")


@pytest.mark.parametrize("places", [1, 2, 3])
def test_no_more_jobs_at_once_than_there_are_places(places):
    jobs, lock, go = Gate(places), threading.Lock(), threading.Event()
    running, most = 0, 0

    def work() -> Iterator[int]:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        yield 0
        go.wait()
        with lock:
            running -= 1
        yield 1

    for number in range(8):
        jobs.watch(number, f"job {number}", work)
    until(lambda: running == places)
    states = [state(jobs, f"job {number}") for number in range(8)]
    assert states == ["running"] * places + ["waiting"] * (8 - places)
    go.set()
    assert [result(jobs, f"job {number}") for number in range(8)] == [1] * 8
    assert most == places


def test_the_line_is_served_in_order_and_says_who_comes_first():
    jobs, first, order = Gate(1), Steps(1), []

    def noting(name: str) -> Iterator[str]:
        order.append(name)
        yield name

    jobs.watch("reader", "first", first)
    names = ["c", "a", "b"]
    for name in names:
        jobs.watch(name, name, lambda name=name: noting(name))
    assert [jobs.glance(name).before for name in names] == [0, 1, 2]
    jobs.watch("c", "c", five)  # who asks again keeps the place
    jobs.leave("a")
    assert [jobs.glance(name).before for name in ("c", "b")] == [0, 1]
    first.let()
    assert result(jobs, "b") == "b"
    assert order == ["c", "b"]


def test_a_long_job_lets_short_ones_pass():
    clock, long = Clock(), Steps(9)
    jobs = Gate(1, turn=10, grace=100, clock=clock)
    jobs.watch("reader", "long", long)
    long.let()
    until(lambda: jobs.glance("long").latest == 1)
    jobs.watch("other", "short", five)
    clock.now = 9.9
    long.let()
    until(lambda: long.made == 2)
    assert state(jobs, "short") == "waiting"
    clock.now = 10
    long.let()
    assert result(jobs, "short") == 5
    long.let(6)
    assert result(jobs, "long") == 9
    assert long.n_starts == 1


def test_a_long_job_runs_on_where_nobody_waits():
    clock, long = Clock(), Steps(3)
    jobs = Gate(1, turn=10, grace=100, clock=clock)
    jobs.watch("reader", "long", long)
    clock.now = 50
    long.let(3)
    assert result(jobs, "long") == 3
    assert long.n_starts == 1


# Stopping and going on.


def test_stop_frees_the_place_at_the_next_piece():
    jobs, long = Gate(1), Steps(1000)
    jobs.watch("reader", "long", long)
    jobs.watch("other", "next", five)
    until(lambda: long.n_starts)
    jobs.leave("reader")
    assert state(jobs, "next") == "waiting"
    long.let()
    assert result(jobs, "next") == 5
    assert jobs.glance("long") == Glance("paused", 0, 1)
    assert long.made == 1


def test_a_stopped_job_goes_on_where_it_was():
    jobs, steps = Gate(1), Steps(3)
    jobs.watch("reader", "a", steps)
    until(lambda: steps.n_starts)
    jobs.leave("reader")
    steps.let()
    until(lambda: state(jobs, "a") == "paused")
    again = jobs.watch("other", "a", steps)
    assert (again.state, again.latest) == ("running", 1)
    steps.let(2)
    assert result(jobs, "a") == 3
    assert steps.n_starts == 1


def test_who_comes_before_the_piece_has_ended_finds_it_running_on():
    jobs, steps = Gate(1), Steps(2)
    jobs.watch("reader", "a", steps)
    jobs.leave("reader")
    jobs.watch("other", "a", steps)
    steps.let(2)
    assert result(jobs, "a") == 2


def test_who_asks_for_something_else_has_left():
    jobs, steps = Gate(1), Steps(9)
    jobs.watch("reader", "old", steps)
    jobs.watch("reader", "new", five)
    steps.let()
    assert result(jobs, "new") == 5
    assert state(jobs, "old") == "paused"


# Sharing.


def test_equal_requests_are_one_job():
    jobs, steps = Gate(2), Steps(2)
    for reader in range(50):
        jobs.watch(reader, ("kind", 1), steps)
    steps.let(2)
    assert result(jobs, ("kind", 1)) == 2
    assert steps.n_starts == 1
    assert {jobs.watch(reader, ("kind", 1), steps) for reader in range(50)} == {Glance("finished", 0, 2)}


def test_if_one_stops_the_others_run_goes_on():
    jobs, steps = Gate(1), Steps(3)
    for reader in ("one", "two"):
        jobs.watch(reader, "a", steps)
    jobs.leave("one")
    steps.let(3)
    assert result(jobs, "a") == 3


@dataclass(frozen=True)
class Sized:
    """A piece that says how much memory it holds."""

    n_bytes: int


def test_results_are_kept_up_to_a_bound_of_memory():
    jobs = Gate(1, kept_bytes=100)

    def kept_after(key: str, n_bytes: int) -> str:
        jobs.watch("reader", key, lambda: iter([Sized(n_bytes)]))
        assert result(jobs, key).n_bytes == n_bytes
        return "".join(key for key in "abcde" if jobs.glance(key) is not None)

    assert [kept_after("a", 60), kept_after("b", 0), kept_after("c", 40)] == ["a", "ab", "abc"]
    assert kept_after("d", 1) == "bcd"
    assert kept_after("e", 1000) == "e"  # the last one stays, however large


def test_results_are_kept_up_to_a_bound():
    jobs = Gate(1, kept=2)
    for key in "abc":
        jobs.watch("reader", key, lambda key=key: iter([key]))
        assert result(jobs, key) == key
        jobs.glance("a")  # asked for again and again
    assert [key for key in "abc" if jobs.glance(key) is not None] == ["a", "c"]


def test_paused_jobs_are_bounded_too_but_never_those_in_work():
    jobs, blocking = Gate(1, kept=1), Steps(1)
    jobs.watch("reader", "running", blocking)
    for key in "abc":
        jobs.watch(key, key, five)
    for key in "ab":
        jobs.leave(key)
    assert [key for key in ("running", *"abc") if jobs.glance(key) is not None] == ["running", "b", "c"]
    blocking.let()
    assert result(jobs, "c") == 5


# Errors.


def failing(error: BaseException) -> Callable[[], Iterator[int]]:
    def work() -> Iterator[int]:
        yield 1
        raise error

    return work


@pytest.mark.parametrize(
    "error", [ValueError("d_k must be 1"), ZeroDivisionError("by 0"), SystemExit("3 places")], ids=repr
)
def test_an_error_reaches_everybody_once_and_frees_the_place(error, caplog):
    jobs, gone = Gate(1), threading.Event()

    def work() -> Iterator[int]:
        gone.wait()
        yield from failing(error)()

    for reader in ("one", "two"):
        jobs.watch(reader, "bad", work)
    gone.set()
    until(lambda: state(jobs, "bad") == "failed")
    for reader in ("one", "two"):
        assert jobs.watch(reader, "bad", work) == Glance("failed", 0, 1, error)
    jobs.watch("one", "good", five)
    assert result(jobs, "good") == 5
    if isinstance(error, ValueError):
        assert not caplog.records
    else:
        (told,) = (record.getMessage() for record in caplog.records)
        assert told.startswith(f"a job failed: {type(error).__name__}\n")
        assert str(error) not in told


def test_a_failed_job_starts_anew_for_whoever_asks_again():
    jobs = Gate(1)
    jobs.watch("reader", "a", failing(ValueError("no")))
    until(lambda: state(jobs, "a") == "failed")
    assert jobs.watch("reader", "a", five).state == "failed"
    jobs.watch("reader", "a", five)
    assert result(jobs, "a") == 5


def test_what_cannot_be_started_fails():
    jobs = Gate(1)
    jobs.watch("reader", "a", lambda: 1 / 0)
    until(lambda: state(jobs, "a") == "failed")
    assert isinstance(jobs.glance("a").error, ZeroDivisionError)


def test_a_job_without_a_piece_fails():
    jobs = Gate(1)
    jobs.watch("reader", "a", lambda: iter(()))
    until(lambda: state(jobs, "a") == "failed")
    assert str(jobs.glance("a").error) == "the job ended without a piece"


@pytest.mark.parametrize(("places", "kept"), [(0, 1), (1, 0)])
def test_a_gate_without_places(places, kept):
    with pytest.raises(ValueError, match=rf"^places and kept must be at least 1, got {places} and {kept}$"):
        Gate(places, kept=kept)


def test_a_closed_gate_stops_at_the_next_piece_and_starts_nothing():
    jobs, steps = Gate(1), Steps(9)
    jobs.watch("reader", "a", steps)
    jobs.watch("other", "b", five)
    until(lambda: steps.n_starts)
    closing = threading.Thread(target=jobs.close)
    closing.start()
    until(lambda: jobs._closed)
    steps.let(9)
    closing.join(30)
    assert (steps.made, state(jobs, "a"), state(jobs, "b")) == (1, "paused", "paused")
    assert jobs.watch("reader", "c", five).state == "paused"


def test_jobs_give_way_to_the_threads_of_pages():
    jobs = Gate(1)

    def ranks() -> Iterator[tuple[int, int]]:
        with ThreadPoolExecutor(1) as pool:
            yield own_rank(), pool.submit(own_rank).result()

    before = own_rank()
    jobs.watch("reader", "a", ranks)
    expected = min(19, before + 10) if sys.platform == "linux" else before
    assert result(jobs, "a") == (expected, expected)
    assert own_rank() == before


def own_rank() -> int:
    return os.getpriority(os.PRIO_PROCESS, threading.get_native_id())


# Those who have gone without a word.


def test_a_running_job_that_nobody_watches_any_more_pauses():
    clock, steps = Clock(), Steps(9)
    jobs = Gate(1, grace=GRACE, clock=clock)
    jobs.watch("reader", "a", steps)
    clock.now = GRACE
    steps.let()
    until(lambda: jobs.glance("a").latest == 1)
    assert state(jobs, "a") == "running"  # not yet: a page that runs again takes a moment
    clock.now += 0.001
    steps.let()
    until(lambda: state(jobs, "a") == "paused")
    assert steps.made <= 2


def test_who_goes_on_watching_keeps_the_job():
    clock, steps = Clock(), Steps(4)
    jobs = Gate(1, grace=GRACE, clock=clock)
    for step in range(1, 5):
        jobs.watch("reader", "a", steps)
        steps.let()
        until(lambda step=step: jobs.glance("a").latest == step)
        clock.now += 0.9 * GRACE
    assert result(jobs, "a") == 4


def test_who_has_gone_leaves_the_line():
    clock, first = Clock(), Steps(1)
    jobs = Gate(1, grace=GRACE, clock=clock)
    jobs.watch("reader", "first", first)
    jobs.watch("gone", "second", five)
    until(lambda: first.n_starts)
    clock.now = 2 * GRACE
    jobs.watch("reader", "first", first)
    assert jobs.watch("waiting", "third", five) == Glance("waiting")
    assert state(jobs, "second") == "paused"
    first.let()
    assert result(jobs, "third") == 5
    assert jobs.glance("second") == Glance("paused")


# All at once.


def test_a_crowd_of_threads():
    jobs, lock = Gate(2, kept=100), threading.Lock()
    running, most, starts = 0, 0, []

    def work(number: int) -> Iterator[int]:
        nonlocal running, most
        starts.append(number)
        for piece in range(5):
            with lock:
                running += 1
                most = max(most, running)
            time.sleep(0)
            with lock:
                running -= 1
            yield 10 * number + piece

    def reader(name: int) -> None:
        for number in range(20):
            while jobs.watch(name, number, lambda number=number: work(number)).state != "finished":
                if (name + number) % 7 == 0:
                    jobs.leave(name)
                time.sleep(0.0005)

    crowd = [threading.Thread(target=reader, args=(name,)) for name in range(12)]
    for thread in crowd:
        thread.start()
    for thread in crowd:
        thread.join(60)
    assert [jobs.glance(number).latest for number in range(20)] == [10 * number + 4 for number in range(20)]
    assert sorted(starts) == list(range(20))
    assert most <= 2


# What a page does with it.


@pytest.fixture(autouse=True)
def own_gate(monkeypatch: pytest.MonkeyPatch) -> Gate:
    """A gate with one place, empty at first, instead of the server's."""
    monkeypatch.setattr(gate, "GATE", Gate(1))
    return gate.GATE


# What the page below asks for; its script has no other way to them than to import them.
work: Steps | Callable[[], Iterator[int]] = five
by_itself = False


def progress(piece: int) -> tuple[float, str]:
    """Ends the run of the page where a test wants to look at it: with the bar and the button."""
    if piece == 2:
        st.stop()
    return piece / 9, f"piece {piece}"


def page() -> None:
    import streamlit as st

    from pages.shared import gate
    from tests.pages import test_gate as test

    gate.begin_run()
    key = ("test", st.slider("Settings", 0, 9, key="settings"))
    st.button("Start", key="start", on_click=gate.want, args=(key,))
    reached = st.session_state.get("reached")
    try:
        result = gate.run(
            key,
            test.work,
            test.progress,
            by_itself=test.by_itself,
            on_stop=lambda piece: st.session_state.update(reached=piece),
        )
    except ValueError as error:
        st.error(str(error))
    else:
        st.text(f"result {result}, latest {gate.latest(key)}, reached {reached}")


@pytest.fixture
def open_page(monkeypatch: pytest.MonkeyPatch) -> Callable[..., AppTest]:
    """The page above in a session of its own."""

    def open_page(job: Callable[[], Iterator[int]], **changes: bool) -> AppTest:
        for name, value in {"work": job, **changes}.items():
            monkeypatch.setitem(globals(), name, value)
        return AppTest.from_function(page, default_timeout=60).run()

    return open_page


def shown(app: AppTest) -> str:
    assert not app.exception
    assert not app.get("progress")
    assert not [button for button in app.button if button.key == "stop"]
    return app.text[0].value


def errors(app: AppTest) -> list[str]:
    assert not app.get("progress")
    return [error.value for error in app.error]


def test_nothing_starts_before_it_is_wanted(open_page):
    app = open_page(five)
    assert shown(app) == "result None, latest None, reached None"
    assert shown(app.button(key="start").click().run()) == "result 5, latest 5, reached None"
    assert shown(app.run()) == "result 5, latest 5, reached None"


def test_a_job_may_start_by_itself(open_page):
    assert shown(open_page(five, by_itself=True)) == "result 5, latest 5, reached None"


def test_other_sessions_find_the_result(open_page):
    job = Steps(1)
    job.let()
    open_page(job).button(key="start").click().run()
    assert shown(open_page(job)) == "result 1, latest 1, reached None"
    assert job.n_starts == 1


def test_other_settings_are_another_job(open_page):
    app = open_page(five).button(key="start").click().run()
    assert shown(app.slider(key="settings").set_value(3).run()) == "result None, latest None, reached None"
    assert shown(app.slider(key="settings").set_value(0).run()) == "result 5, latest 5, reached None"


@pytest.mark.parametrize("by_itself", [False, True])
def test_stop_and_go_on(own_gate, open_page, by_itself):
    job = Steps(3)
    job.let(2)
    app = open_page(job, by_itself=by_itself)
    if not by_itself:
        app.button(key="start").click().run()
    assert app.get("progress")  # in the middle of it
    assert shown(app.button(key="stop").click().run()) == "result None, latest 2, reached 2"
    job.let()  # the piece it was at
    until(lambda: state(own_gate, ("test", 0)) == "paused")
    assert shown(app.run()) == "result None, latest 3, reached 2"
    assert shown(app.button(key="start").click().run()) == "result 3, latest 3, reached 2"
    assert job.n_starts == 1


def test_stopping_leaves_the_run_of_a_classmate_alone(own_gate, open_page):
    job = Steps(3)
    job.let(2)
    app = open_page(job).button(key="start").click().run()
    own_gate.watch("classmate", ("test", 0), job)
    app.button(key="stop").click().run()
    job.let()
    assert result(own_gate, ("test", 0)) == 3
    assert shown(app.run()) == "result 3, latest 3, reached 2"


def test_a_page_that_waits_in_line(own_gate, open_page, monkeypatch):
    monkeypatch.setattr(gate, "_UNANNOUNCED", 0)
    before, app, waiting = Steps(1), open_page(five), ("test", 0)
    own_gate.watch("classmate", "before", before)
    pressed = threading.Thread(target=app.button(key="start").click().run)
    pressed.start()
    until(lambda: own_gate.glance(waiting) == Glance("waiting"))
    before.let()
    pressed.join(60)
    assert shown(app) == "result 5, latest 5, reached None"


def test_an_error_is_told_once_and_can_be_tried_again(open_page):
    app = open_page(failing(ValueError("the numbers 3 and 4"))).button(key="start").click().run()
    assert errors(app) == ["the numbers 3 and 4"]
    assert shown(app.run()) == "result None, latest 1, reached None"
    assert errors(app.button(key="start").click().run()) == ["the numbers 3 and 4"]


@pytest.mark.parametrize("error", [MemoryError("17 bytes"), ZeroDivisionError("by 0")], ids=repr)
def test_what_is_no_fault_of_the_settings_is_told_without_its_details(own_gate, open_page, error):
    app = open_page(failing(error)).button(key="start").click().run()
    assert errors(app) == ["The computation failed. Try again, or ask for less."]
    assert not app.exception
    assert shown(app.run()) == "result None, latest 1, reached None"
    own_gate.watch("classmate", "next", five)
    assert result(own_gate, "next") == 5


def test_an_error_after_the_bar_takes_the_bar_away(own_gate, open_page, monkeypatch):
    monkeypatch.setattr(gate, "_UNANNOUNCED", 0)
    before = Steps(1)
    own_gate.watch("classmate", "before", before)
    app = open_page(failing(ValueError("no")))
    pressed = threading.Thread(target=app.button(key="start").click().run)
    pressed.start()
    until(lambda: own_gate.glance(("test", 0)))
    before.let()
    pressed.join(60)
    assert errors(app) == ["no"]


@pytest.mark.parametrize(
    ("glance", "words"),
    [
        (Glance("waiting", 2), (0.0, "Runs before yours: 2")),
        (Glance("waiting", 0, 3), (1 / 3, "Yours is the next run.")),
        (Glance("running"), (0.0, "It has just begun.")),
        (Glance("running", 0, 3), (1 / 3, "piece 3")),
    ],
    ids=str,
)
def test_what_a_reader_is_told(monkeypatch, glance, words):
    monkeypatch.setattr(gate, "_", lambda message, **values: message.format(**values))
    assert gate._in_words(glance, progress) == words


@pytest.mark.parametrize(
    ("limit", "expected"), [("max 100000", 8), ("200000 100000", 2), ("50000 100000", 1), ("1600000 100000", 8)]
)
def test_a_container_has_its_share_of_the_cores(monkeypatch, tmp_path, limit, expected):
    (tmp_path / "cpu.max").write_text(f"{limit}\n")
    monkeypatch.setattr(gate, "_LIMIT", tmp_path / "cpu.max")
    monkeypatch.setattr(gate.os, "sched_getaffinity", lambda _: range(8))
    assert gate.cores() == expected


def test_a_machine_that_tells_no_limit(monkeypatch, tmp_path):
    monkeypatch.setattr(gate, "_LIMIT", tmp_path / "none")
    monkeypatch.delattr(gate.os, "sched_getaffinity")
    monkeypatch.setattr(gate.os, "cpu_count", lambda: None)
    assert gate.cores() == 1
