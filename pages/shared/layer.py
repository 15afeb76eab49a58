"""Training a lesson's embedding layer: once for all who want the same, through the gate."""

from collections.abc import Callable

from attn_core import Lesson
from attn_core.embeddings import EmbeddingProgress, is_kept, keep_layer, train_layer
from attn_core.lesson import layer_training
from pages.shared import gate
from pages.shared.text import _


def train(lesson: Lesson, on_stop: Callable[[int | None], None]) -> bool:
    """Trains the lesson's layer for its number of steps, and shows the progress; False if that was done before.

    `on_stop` is called with the step at which the reader stops: a layer of that many steps is there. It is called
    with None where the training has not begun.

    Raises:
        ValueError: the corpus cannot be trained on, or the training failed.
    """
    training = layer_training(lesson)
    if is_kept(training):
        return False

    def stopped(reached: EmbeddingProgress | None) -> None:
        if reached is not None:
            keep_layer(training, reached)
        on_stop(None if reached is None else reached.step)

    key = ("embeddings", training)
    gate.want(key)
    found = gate.run(key, lambda: train_layer(training), _progress, on_stop=stopped)
    if found is None:
        raise ValueError("the training failed")
    keep_layer(training, found)
    return True


def _progress(piece: EmbeddingProgress) -> tuple[float, str]:
    text = _("step {step} of {steps}, loss {loss:.4f}", step=piece.step, steps=piece.steps, loss=piece.loss)
    return piece.step / piece.steps, text
