"""What order means to attention: shuffle the tokens, compute again, put the outputs back in order, compare."""

import dataclasses
import functools
from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor

from attn_core.lesson import Lesson, LessonTrace, run_lesson
from attn_core.limits import MAX_SEED
from attn_core.links import Linked, OneOf, Whole, linked
from attn_core.positions import POSITIONS
from attn_core.stages import Matrix, stage
from attn_core.thread import EmbeddedSequence, Thread

ORDERS = ("reversed", "shuffled")


@dataclass(frozen=True)
class OrderSettings(Linked):
    """Into which order the tokens are put."""

    new_order: str = linked("reversed", OneOf(ORDERS))
    shuffle_seed: int = linked(0, Whole(0, MAX_SEED))


@dataclass(frozen=True)
class PermutationExperiment:
    """One lesson, before and after its tokens changed places.

    Attributes:
        order: which of the first tokens stands at each new place.
        before: the chosen head's output of every token.
        after: the same in the new order, computed anew.
        restored: `after` with every row back where its token was.
        new_tokens: the tokens in the new order.
        largest_difference: between `restored` and `before`.
    """

    order: tuple[int, ...]
    new_tokens: tuple[str, ...]
    before: Float[Tensor, "token d_k"]
    after: Float[Tensor, "token d_k"]
    restored: Float[Tensor, "token d_k"]

    @property
    def largest_difference(self) -> float:
        return float((self.restored - self.before).abs().max())

    @property
    def is_same(self) -> bool:
        """Whether nothing but the rounding of sums in another order has changed."""
        return self.largest_difference <= 1e-12 * max(1.0, float(self.before.abs().max()))


Verdict = Literal["same", "same_cross", "cannot_tell", "different"]


def verdict(trace: LessonTrace, experiment: PermutationExperiment) -> Verdict:
    """What the experiment shows; equal outputs tell nothing where order is in force or the tokens are alike."""
    if not experiment.is_same:
        return "different"
    order_in_force = trace.has_positions or (trace.is_masked and trace.lesson.mask != "padding")
    if order_in_force or experiment.new_tokens == trace.tokens:
        return "cannot_tell"
    return "same_cross" if trace.is_cross else "same"


def token_order(trace: LessonTrace, settings: OrderSettings) -> tuple[int, ...]:
    """The new order; padding, which stands behind the sentence, stays there.

    A shuffle that happens to change nothing gives way to the reversed order.
    """
    n_tokens = len(trace.tokens)
    n_padding = 0 if trace.is_cross else trace.lesson.padding
    n_words = n_tokens - n_padding
    shuffled = torch.randperm(n_words, generator=torch.Generator().manual_seed(settings.shuffle_seed)).tolist()
    if settings.new_order == "reversed" or shuffled == sorted(shuffled):
        shuffled = list(range(n_words))[::-1]
    return (*shuffled, *range(n_words, n_tokens))


def permutation_experiment(trace: Thread, order: tuple[int, ...]) -> PermutationExperiment:
    """Puts the asking sequence into a new order and computes everything from x on again.

    A token takes its embedding along (one changed by hand, too); positions, and the mask, stay at their places.

    Raises:
        ValueError: `order` does not have every token once.
    """
    if sorted(order) != list(range(len(trace.tokens))):
        raise ValueError(f"order must have each of 0 … {len(trace.tokens) - 1} once, got {order}")
    after = _computed_again(trace, _reordered(trace.asking, order)).output
    restored = torch.empty_like(after)
    restored[list(order)] = after
    return PermutationExperiment(order, tuple(trace.tokens[i] for i in order), trace.output, after, restored)


def _reordered(sequence: EmbeddedSequence, order: tuple[int, ...]) -> EmbeddedSequence:
    places = list(order)
    x = sequence.x[places]
    tokens = tuple(sequence.tokens[i] for i in places)
    return EmbeddedSequence(tokens, sequence.entries[places], x, sequence.p, x + sequence.p)


def _computed_again(trace: Thread, asking: EmbeddedSequence) -> Thread:
    return Thread.run(
        asking,
        trace.answering if trace.is_cross else asking,
        trace.layers,
        mask=trace.mask,
        n_heads=trace.n_heads,
        head=trace.head,
        scale=trace.scale,
        features=trace.features,
        entries_symbol=trace.entries_symbol,
        w_e=trace.w_e,
        edits=trace.edits,
    )


def output_matrices(trace: Thread, experiment: PermutationExperiment) -> tuple[Matrix, Matrix, Matrix]:
    """The outputs before, after in the new order, and after with every row back at its token's first place."""
    before = stage(trace, "output").result
    after = dataclasses.replace(before, symbol=f"{before.symbol}'", values=experiment.after, rows=experiment.new_tokens)
    return before, after, dataclasses.replace(after, values=experiment.restored, rows=before.rows)


@dataclass(frozen=True)
class OrderVariant:
    """One combination of positions and mask, and the experiment's largest difference under it."""

    positions: str
    mask: str
    largest_difference: float


def order_variants(lesson: Lesson, order: tuple[int, ...]) -> tuple[OrderVariant, ...]:
    """The experiment under all positions, without a mask and with the lesson's (causal, where it has none).

    Raises:
        ValueError: as `run_lesson`, and as `permutation_experiment`.
    """
    defaults = Lesson()
    cell = {name: getattr(defaults, name) for name in ("query", "key", "column")}
    return _order_variants(dataclasses.replace(lesson, ignored=(), **cell), order)


@functools.lru_cache(maxsize=64)  # choosing another cell computes nothing anew
def _order_variants(lesson: Lesson, order: tuple[int, ...]) -> tuple[OrderVariant, ...]:
    masks = ("none", "causal" if lesson.mask == "none" else lesson.mask)
    return tuple(
        OrderVariant(positions, mask, _difference(dataclasses.replace(lesson, positions=positions, mask=mask), order))
        for positions in POSITIONS
        for mask in masks
    )


def _difference(lesson: Lesson, order: tuple[int, ...]) -> float:
    return permutation_experiment(run_lesson(lesson), order).largest_difference
