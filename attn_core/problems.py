"""Sequences with their right answers, and how well a model does on them."""

from dataclasses import dataclass, replace
from typing import Self

import torch
from jaxtyping import Float, Int
from torch import Tensor

# In answers and sources: nothing is asked here.
NOTHING = -1


@dataclass(frozen=True)
class Problems:
    """Sequences of token IDs with the right answer at every place that asks for one.

    Attributes:
        inputs: the token at each place.
        answers: the ID of the right answer, or NOTHING.
        sources: for each layer of the known solution, the place that a row must attend to, or NOTHING;
            without any layer where no solution is known.
        shares: how much each sequence counts; they sum to 1.
    """

    inputs: Int[Tensor, "sequence token"]
    answers: Int[Tensor, "sequence token"]
    sources: Int[Tensor, "layer sequence token"]
    shares: Float[Tensor, " sequence"]

    def take(self, rows: Int[Tensor, " row"]) -> Self:
        """Some of the sequences; what they count among themselves stays as it was."""
        shares = self.shares[rows]
        return replace(
            self,
            inputs=self.inputs[rows],
            answers=self.answers[rows],
            sources=self.sources[:, rows],
            shares=shares / shares.sum(),
        )


def equal_shares(n: int) -> Float[Tensor, " sequence"]:
    """Each of n sequences counts 1 / n."""
    return torch.full((n,), 1 / n, dtype=torch.float64)


def average(values: Float[Tensor, "sequence token"], problems: Problems) -> Float[Tensor, ""]:
    """The mean over all places that ask for an answer, each counting as much as its sequence."""
    counts = problems.shares[:, None] * (problems.answers != NOTHING)
    return (counts * values).sum() / counts.sum()


def log_loss(
    log_probabilities: Float[Tensor, "sequence token answer"], problems: Problems
) -> Float[Tensor, "sequence token"]:
    """−ln of the probability of the right answer at each place; of answer 0 where nothing is asked."""
    right = problems.answers.clamp(min=0)
    return -log_probabilities.gather(-1, right[..., None]).squeeze(-1)


def is_right(
    log_probabilities: Float[Tensor, "sequence token answer"], problems: Problems
) -> Float[Tensor, "sequence token"]:
    """1 where the likeliest answer is the right one, else 0."""
    return (log_probabilities.argmax(dim=-1) == problems.answers).to(log_probabilities.dtype)


def ideal_weights(sources: Int[Tensor, "*batch query"]) -> Float[Tensor, "*batch query query"]:
    """All of a row's weight on its source; a row of zeros where nothing is asked."""
    places = torch.arange(sources.shape[-1])
    return (sources[..., None] == places).to(torch.float64)


def closeness(
    learned: Float[Tensor, "*batch query key"], ideal: Float[Tensor, "*batch query key"]
) -> Float[Tensor, ""]:
    """1 − the mean total variation distance of the learned rows from the ideal ones: 1 is equal, 0 is disjoint.

    The total variation distance of two rows is ½ Σ |learned − ideal|. From a row that is 1 at one place and
    0 elsewhere it is 1 − the learned weight of that place, so the closeness to such rows is the mean weight that
    lies where it should. Rows that are all zeros in `ideal` do not count.

    Raises:
        ValueError: every ideal row is zeros.
    """
    asked = ideal.sum(dim=-1) > 0
    if not asked.any():
        raise ValueError(f"ideal must have a row that is not all zeros, got none of {asked.numel()}")
    distances = (learned - ideal).abs().sum(dim=-1) / 2
    return 1 - distances[asked].mean()
