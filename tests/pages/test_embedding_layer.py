"""Training the embedding layer from the page and from a link: once, through the gate, and stopped at any step."""

import threading
from collections.abc import Iterator

import pytest
import streamlit as st
import torch

from attn_core import Lesson, run_lesson
from attn_core import embeddings as core
from attn_core.embeddings import EmbeddingProgress, LayerTraining, is_kept
from pages.shared import gate, layer
from pages.shared.jobs import Gate
from tests.pages.reading import address, warnings, words
from tests.pages.waiting import until

STEPS = 30


@pytest.fixture(autouse=True)
def own_gate(monkeypatch: pytest.MonkeyPatch) -> Gate:
    """A gate with one place, and nothing trained yet."""
    core._kept.clear()
    monkeypatch.setattr(gate, "GATE", Gate(1))
    return gate.GATE


@pytest.fixture
def trained(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many steps each training was for; the trial of a single step is not counted."""
    counted, train_embeddings = [], core.train_embeddings

    def counting(*args, steps: int, **settings) -> Iterator[EmbeddingProgress]:
        if steps > 1:
            counted.append(steps)
        return train_embeddings(*args, steps=steps, **settings)

    monkeypatch.setattr(core, "train_embeddings", counting)
    return counted


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> threading.Semaphore:
    """Each step of a training waits until it is let."""
    let, train_layer = threading.Semaphore(0), layer.train_layer

    def waiting(training: LayerTraining) -> Iterator[EmbeddingProgress]:
        for progress in train_layer(training):
            let.acquire()
            yield progress

    monkeypatch.setattr(layer, "train_layer", waiting)
    return let


def look_while_it_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ends the run of a page where it would show the progress: with the bar and the button to stop."""
    monkeypatch.setattr(gate, "_in_words", lambda *_: st.stop())


def training(steps: int, seed: int = 0) -> LayerTraining:
    return LayerTraining("", "en", 4, seed, steps)


def step_reached(of: LayerTraining) -> int | None:
    latest = gate.latest(("embeddings", of))
    return None if latest is None else latest.step


def settled(page) -> bool:
    return not page.exception and not page.get("progress") and all(button.key != "stop" for button in page.button)


def test_the_button_trains_once_and_the_link_holds_the_steps(open_page, trained):
    page = open_page("one_hot", lang="en")
    page = page.slider(key="wanted_steps").set_value(STEPS).run()
    page = page.button(key="train").click().run()
    assert settled(page)
    assert address(page) == {"lang": "en", "training_steps": str(STEPS)}
    assert f"**after {STEPS} steps**" in words(page)
    assert trained == [STEPS]
    page = page.button(key="forget").click().run()
    assert address(page) == {"lang": "en"}
    page.button(key="train").click().run()
    assert trained == [STEPS]  # known already


@pytest.mark.parametrize("name", ["one_hot", "softmax"])
def test_a_class_that_opens_a_link_trains_once_through_the_gate(open_page, trained, own_gate, name):
    for _ in range(3):
        page = open_page(name, lang="en", training_steps=str(STEPS))
        assert settled(page)
        assert warnings(page) == []
    assert trained == [STEPS]
    assert own_gate.glance(("embeddings", training(STEPS))).state == "finished"


def test_the_page_shows_what_the_link_computes_without_any_page(open_page):
    page = open_page("one_hot", lang="en", training_steps=str(STEPS))
    shown = page.session_state["_trace"][1].w_e
    core._kept.clear()
    assert torch.equal(shown, run_lesson(Lesson(lang="en", training_steps=STEPS)).w_e)


def test_stopping_the_button_s_training_keeps_the_step_reached(open_page, trained, held, monkeypatch):
    look_while_it_waits(monkeypatch)
    page = open_page("one_hot", lang="en").button(key="train").click().run()
    held.release(8)
    until(lambda: step_reached(training(200)) == 7)
    page = page.button(key="stop").click().run()
    assert settled(page)
    assert address(page) == {"lang": "en", "training_steps": "7"}
    assert trained == [200]  # the seven steps are not taken again
    held.release(1000)


def test_stopping_before_the_first_step_leaves_the_lesson_alone(open_page, held, monkeypatch):
    look_while_it_waits(monkeypatch)
    page = open_page("one_hot", lang="en").button(key="train").click().run()
    page = page.button(key="stop").click().run()
    assert settled(page)
    assert address(page) == {"lang": "en"}
    held.release(1000)


def test_a_link_s_training_can_be_stopped_too(open_page, trained, held, monkeypatch):
    look_while_it_waits(monkeypatch)
    page = open_page("softmax", lang="en", training_steps=str(STEPS))
    page = page.button(key="stop").click().run()
    assert settled(page)
    assert address(page) == {"lang": "en"}
    assert trained == [STEPS]
    held.release(1000)


def test_a_corpus_that_cannot_be_trained_on_is_refused(open_page, own_gate):
    page = open_page("one_hot", lang="en", corpus="cat. dog.").button(key="train").click().run()
    assert settled(page)
    assert address(page) == {"lang": "en", "corpus": "cat. dog."}
    assert warnings(page) == [
        "“cat\\. dog\\.” is not possible for `corpus` and was left out. Allowed: sentences with two different words "
        "each, and more words in all than d\\_model."
    ]
    assert own_gate.glance(("embeddings", LayerTraining("cat. dog.", "en", 4, 0, 200))) is None


def test_a_link_to_a_corpus_that_cannot_be_trained_on_is_untrained(open_page):
    page = open_page("softmax", lang="en", corpus="cat. dog.", training_steps=str(STEPS))
    assert settled(page)
    assert warnings(page) == ["The sentences to train on hold too few words for this d_model; the layer is untrained."]


def test_what_is_stopped_is_kept_for_a_link_of_that_many_steps(open_page, held, monkeypatch):
    with monkeypatch.context() as patch:
        look_while_it_waits(patch)
        page = open_page("one_hot", lang="en").button(key="train").click().run()
        held.release(6)
        until(lambda: step_reached(training(200)) == 5)
        page.button(key="stop").click().run()
    assert is_kept(training(5))
    assert settled(open_page("softmax", lang="en", training_steps="5"))
    held.release(1000)
