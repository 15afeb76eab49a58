"""What the heads of a model attend to, measured on one text: how widely, how far, and which pieces."""

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from attn_core.pieces import SPACE, Pieces
from attn_core.softmax import entropy

Pattern = Literal["first", "previous", "next", "itself", "same_word", "separator"]
Label = Literal["first", "previous", "next", "itself", "same_word", "separator", "broad", "mixed"]
PATTERNS: tuple[Pattern, ...] = ("first", "previous", "next", "itself", "same_word", "separator")

# A head is called by a pattern that gets at least half its weight, and twice what equal weights would give it (in a
# short or repetitive text those alone may be half); else broad where its entropy is near the largest possible.
PATTERN_FROM = 0.5
PATTERN_OVER_CHANCE = 2.0
BROAD_FROM = 0.8


@dataclass(frozen=True)
class HeadMeasure:
    """What one head does on one text.

    Every number is a mean over queries. Those that count are the pieces of the text that may see two keys or more:
    special tokens stand for no word, and a query with one visible key gives it all its weight in any head.
    Numbers are None where no query counts.

    Attributes:
        layer, head: counted from 0.
        entropy: of a query's weights, in nats.
        breadth: that entropy as a share of the largest possible, ln of the number of keys the query may see; 0 … 1.
        distance: Σ weight · |query − key|, in pieces; None for pictures.
        shares: the weight that goes to the keys of each pattern, 0 … 1, as a mean over those queries that may see
            such a key; see `pattern_keys`. A key may belong to several patterns. None where no query sees one.
        chance: what the shares would be if every query gave all keys it may see the same weight.
    """

    layer: int
    head: int
    entropy: float | None
    breadth: float | None
    distance: float | None
    shares: Mapping[Pattern, float | None]
    chance: Mapping[Pattern, float | None]

    @property
    def label(self) -> Label:
        """What the head is called; see `read_measure`."""
        return read_measure(self).label

    @property
    def share(self) -> float | None:
        """The number that the label rests on; see `read_measure`."""
        return read_measure(self).share


@dataclass(frozen=True)
class HeadReading:
    """What a head is called, as data; pages have the words.

    Attributes:
        label: a pattern, "broad" or "mixed".
        pattern: the label where it is a pattern, else the pattern with the largest share; None where there is none.
        share: the pattern's share; for "broad" the breadth. None where nothing could be measured.
    """

    label: Label
    pattern: Pattern | None
    share: float | None


def read_measure(measure: HeadMeasure) -> HeadReading:
    """What a head is called: its strongest pattern from PATTERN_FROM on, or "broad" from BROAD_FROM on, or "mixed".

    A pattern also needs PATTERN_OVER_CHANCE times its chance. Equal shares: the first of PATTERNS.

    Source: the patterns are those of Clark et al. 2019 (arXiv 1906.04341), sections 3.1 to 3.3; the thresholds are
    ours.
    """
    shares = {pattern: share for pattern in PATTERNS if (share := measure.shares[pattern]) is not None}
    ranked = sorted(shares, key=lambda pattern: shares[pattern], reverse=True)
    for pattern in ranked:
        if shares[pattern] >= max(PATTERN_FROM, PATTERN_OVER_CHANCE * (measure.chance[pattern] or 0.0)):
            return HeadReading(pattern, pattern, shares[pattern])
    largest = ranked[0] if ranked else None
    if measure.breadth is not None and measure.breadth >= BROAD_FROM:
        return HeadReading("broad", largest, measure.breadth)
    return HeadReading("mixed", largest, shares[largest] if largest else None)


def strongest(measures: tuple[HeadMeasure, ...], pattern: Pattern) -> HeadMeasure | None:
    """The head that gives most weight to a pattern, the first of equals; None where no head could be measured."""
    measured = [(share, measure) for measure in measures if (share := measure.shares[pattern]) is not None]
    return max(measured, key=lambda pair: pair[0], default=(None, None))[1]


def measure_heads(
    weights: Float[Tensor, "layer head query key"],
    pieces: Pieces,
    visible: Bool[Tensor, "query key"] | None = None,
) -> tuple[HeadMeasure, ...]:
    """Measures every head of every layer, layer by layer, in float64.

    Clark et al. take the mean over all tokens, special ones and the first included; here only those queries count
    that stand for a piece of the text and have a choice.

    Args:
        weights: each row sums to 1; as many keys as queries.
        pieces: what queries and keys stand for. The patches of a picture have no words and stand in no line: of
            them "first" (the class token) and "itself" are measured, the rest is None.
        visible: True where a query may attend to a key, in every head; None where it always may.

    Raises:
        ValueError: keys and queries, pieces, or what is visible differ in number.

    Source: Clark et al. 2019 (arXiv 1906.04341), sections 3.1 to 3.3.
    """
    _check_sizes(weights, pieces, visible)
    seen = torch.ones(weights.shape[-2:], dtype=torch.bool) if visible is None else visible
    counts, keys = _counting(seen, pieces), pattern_keys(seen, pieces)
    exact, equal = weights.double(), seen.double() / seen.sum(dim=-1, keepdim=True)
    entropies, largest = entropy(exact), seen.sum(dim=-1).double().log()
    distances = (exact * _steps(len(seen)).abs()).sum(dim=-1)
    columns = (
        _mean(entropies, counts),
        _mean(entropies / largest, counts),
        _mean(distances, counts & pieces.has_words),
        _shares(exact, keys, counts),
    )
    chance = _by_pattern(_shares(equal[None, None], keys, counts)[0, 0].tolist())
    heads = itertools.product(*map(range, weights.shape[:2]))
    found = zip(heads, *(column.flatten(end_dim=1).tolist() for column in columns), strict=True)
    return tuple(
        HeadMeasure(layer, head, _number(nats), _number(breadth), _number(distance), _by_pattern(shares), chance)
        for (layer, head), nats, breadth, distance, shares in found
    )


def pattern_keys(seen: Bool[Tensor, "query key"], pieces: Pieces) -> Bool[Tensor, "pattern query key"]:
    """Which keys, of those a query may see, belong to each of PATTERNS.

    first: the key at place 0, whatever it is, for all queries but its own. previous, next: the place before, after.
    itself: the query's own place. same_word: other pieces of the text with the same name, capitals and a leading
    space aside. separator: special tokens at any place but the first. Of a picture only first and itself.
    """
    step, place = _steps(len(seen)), torch.arange(len(seen))
    special = torch.tensor(pieces.special, dtype=torch.bool)
    first = (place == 0) & (step != 0)
    separator = (special & (place > 0)).expand_as(seen)
    same_word = _same_names(pieces) & ~special & (step != 0)
    keys = torch.stack([first, step == -1, step == 1, step == 0, same_word, separator]) & seen
    of_pictures = torch.tensor([pattern in ("first", "itself") for pattern in PATTERNS])
    return keys if pieces.has_words else keys & of_pictures[:, None, None]


def _same_names(pieces: Pieces) -> Bool[Tensor, "query key"]:
    names = [name.removeprefix(SPACE).casefold() for name in pieces.names]
    numbers = torch.tensor([names.index(name) for name in names], dtype=torch.long)
    return numbers[:, None] == numbers


def _steps(n: int) -> Int[Tensor, "query key"]:
    """How many places each key is after each query."""
    place = torch.arange(n)
    return place - place[:, None]


def _counting(seen: Bool[Tensor, "query key"], pieces: Pieces) -> Bool[Tensor, " query"]:
    """The queries that a mean is taken over: no special tokens, and none without a choice."""
    return (seen.sum(dim=-1) > 1) & ~torch.tensor(pieces.special, dtype=torch.bool)


def _mean(values: Float[Tensor, "*head query"], counts: Bool[Tensor, "*#head query"]) -> Float[Tensor, "*head"]:
    """The mean over the queries that count; not a number where none does."""
    return values.where(counts, 0.0).sum(dim=-1) / counts.sum(dim=-1)


def _shares(
    weights: Float[Tensor, "layer head query key"],
    keys: Bool[Tensor, "pattern query key"],
    counts: Bool[Tensor, " query"],
) -> Float[Tensor, "layer head pattern"]:
    """The mean weight that goes to each pattern's keys, over the queries that count and may see such a key."""
    sums = torch.einsum("lhqk,pqk->lhpq", weights, keys.to(weights.dtype))
    return _mean(sums, keys.any(dim=-1) & counts)


def _by_pattern(shares: list[float]) -> dict[Pattern, float | None]:
    return {pattern: _number(share) for pattern, share in zip(PATTERNS, shares, strict=True)}


def _number(value: float) -> float | None:
    return None if math.isnan(value) else value


def _check_sizes(weights: Tensor, pieces: Pieces, visible: Tensor | None) -> None:
    _check_square(weights)
    if len(pieces.names) != weights.shape[-1]:
        raise ValueError(f"there must be as many pieces as keys, got {len(pieces.names)} and {weights.shape[-1]}")
    if visible is not None and visible.shape != weights.shape[-2:]:
        raise ValueError(f"visible must be of shape {tuple(weights.shape[-2:])}, got {tuple(visible.shape)}")


def _check_square(weights: Tensor) -> None:
    if weights.shape[-2] != weights.shape[-1]:
        raise ValueError(f"there must be as many keys as queries, got {weights.shape[-1]} and {weights.shape[-2]}")


# All layers together, and a text without its special tokens.


def rollout(weights: Float[Tensor, "layer head query key"]) -> Float[Tensor, "layer query key"]:
    """How much of each piece of the text is mixed into each place, after each layer.

    In each layer the heads' mean plus the identity, for the residual connection adds a place's own vector, and
    each row divided by its sum: half attention, half the place itself. These matrices are multiplied, the later
    layer from the left. A rough account: what the values and the dense layers do is left out.

    Raises:
        ValueError: keys and queries differ in number.

    Source: Abnar and Zuidema 2020 (arXiv 2005.00928), section 3.
    """
    _check_square(weights)
    added = weights.mean(dim=1) + torch.eye(weights.shape[-1], dtype=weights.dtype)
    layers = added / added.sum(dim=-1, keepdim=True)
    return torch.stack([*itertools.accumulate(layers, lambda before, layer: layer @ before)])


def without_special(
    weights: Float[Tensor, "*batch query key"], special: tuple[bool, ...]
) -> Float[Tensor, "*batch piece piece"]:
    """The weights from pieces of the text to pieces of the text; what went to special tokens is missing in a row.

    Raises:
        ValueError: there is not one flag for each query and key.
    """
    if weights.shape[-2:] != (len(special), len(special)):
        raise ValueError(f"weights must be of shape {(len(special),) * 2}, got {tuple(weights.shape[-2:])}")
    kept = torch.tensor([place for place, flag in enumerate(special) if not flag], dtype=torch.long)
    return weights[..., kept[:, None], kept]


def renormalised(weights: Float[Tensor, "*batch query key"]) -> Float[Tensor, "*batch query key"]:
    """Each row divided by its sum; a row of zeros, which has nothing to share out, stays."""
    total = weights.sum(dim=-1, keepdim=True)
    return weights / total.where(total > 0, 1.0)
