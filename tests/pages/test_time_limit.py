"""Heavy work has an end: a job works for as long as one may, and its readers are told."""

import pytest

from attn_core.limits import MAX_JOB_SECONDS
from pages.shared import gate
from pages.shared.jobs import Gate, Glance
from tests.pages.reading import LANGUAGES, warnings
from tests.pages.test_gate import Clock, Steps, result, state
from tests.pages.waiting import until

LONG = 10_000.0  # seconds: nobody counts as gone
SAID = {"ja": "計算を止めました。", "en": "The computation was stopped: it had worked for 120 seconds"}


def work_until(clock: Clock, steps: Steps, now: float) -> None:
    """One more piece, at the end of which it is so late."""
    until(lambda: steps.n_starts)  # the job has looked at the clock
    clock.now = now
    made = steps.made
    steps.let()
    until(lambda: steps.made > made)


def test_a_job_stops_when_it_has_worked_for_as_long_as_it_may():
    """All who watch it are told once; it goes on from there for whoever asks then, for as long again."""
    clock, steps = Clock(), Steps(9)
    jobs = Gate(1, grace=LONG, clock=clock)
    jobs.watch("one", "a", steps)
    jobs.watch("other", "a", steps)
    work_until(clock, steps, MAX_JOB_SECONDS - 1)
    until(lambda: jobs.glance("a").latest == 1)
    assert state(jobs, "a") == "running"
    work_until(clock, steps, MAX_JOB_SECONDS)
    until(lambda: state(jobs, "a") == "spent")
    for reader in ("one", "other"):
        told = jobs.watch(reader, "a", steps)
        assert told == Glance("spent", 0, 2)
        assert told.ended
    assert state(jobs, "a") == "spent"
    steps.let(7)
    jobs.watch("one", "a", steps)
    assert result(jobs, "a") == 9
    assert steps.n_starts == 1


def test_a_place_is_free_when_a_job_has_spent_its_time():
    clock, steps, next_one = Clock(), Steps(9), Steps(1)
    jobs = Gate(1, turn=LONG, grace=LONG, clock=clock)
    jobs.watch("one", "a", steps)
    jobs.watch("other", "b", next_one)
    next_one.let()
    work_until(clock, steps, MAX_JOB_SECONDS)
    assert result(jobs, "b") == 1
    assert state(jobs, "a") == "spent"


def test_waiting_is_not_work():
    clock, steps, other = Clock(), Steps(3), Steps(1)
    jobs = Gate(1, turn=10, grace=LONG, clock=clock)
    jobs.watch("one", "a", steps)
    until(lambda: steps.n_starts)
    jobs.watch("other", "b", other)
    work_until(clock, steps, 10)
    until(lambda: other.n_starts)
    assert state(jobs, "a") == "waiting"
    work_until(clock, other, MAX_JOB_SECONDS * 2)
    steps.let(2)
    assert result(jobs, "a") == 3


RUNS = {
    "one_hot": {"training_steps": "1000"},
    "training": {"trained": "true", "learning_steps": "400"},
    "image_patches": {"vit_live": "true", "vit_epochs": "40"},
    "scaling": {"n_samples": "10000", "largest_d_k": "1024"},
}


@pytest.mark.parametrize("lang", LANGUAGES)
@pytest.mark.parametrize("name", RUNS)
def test_a_page_says_that_a_run_was_stopped(open_page, monkeypatch, name, lang):
    """It shows what was reached, as if the reader had stopped it, and says so once."""
    monkeypatch.setattr(gate, "GATE", Gate(1, limit=1e-9))
    page = open_page(name, lang=lang, seed="31", **RUNS[name])
    assert not page.exception
    assert [text[: len(SAID[lang])] for text in warnings(page)] == [SAID[lang]]
    assert page.title[0].value
    page = page.run()
    assert not page.exception
    assert warnings(page) == []
