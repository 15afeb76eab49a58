"""A text, or a picture, as a pretrained model reads it: query, key, value and weights of every layer and head.

The model's own numbers are float32. One head at a time is computed anew from its query, key and value in float64,
so that every step printed is the sum, the quotient or the exponential of what is printed before it.
"""

import dataclasses
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from attn_core.attention import AttentionTrace, attend
from attn_core.head_measures import HeadMeasure, measure_heads, rollout, without_special
from attn_core.head_measures import renormalised as each_to_1
from attn_core.images import Picture, patch_names
from attn_core.model_folder import Stage as LoadStage
from attn_core.models import PretrainedModel, loading
from attn_core.pieces import Pieces, cut
from attn_core.pretrained import AttentionCall, UnsupportedAttentionError, attention_calls
from attn_core.pretrained_settings import HeadPlace
from attn_core.softmax import SoftmaxSettings, SoftmaxTrace, softmax_steps
from attn_core.stages import Matrix, Stage


class EmptyTextError(ValueError):
    """The model's tokenizer finds nothing in the text."""


@dataclass(frozen=True)
class HeadSteps:
    """One head of a reading, every step of it in float64. A mask is True where a query may attend to a key."""

    place: HeadPlace
    tokens: tuple[str, ...]
    query: Float[Tensor, "query d_k"]
    key: Float[Tensor, "key d_k"]
    value: Float[Tensor, "key d_v"]
    mask: Bool[Tensor, "query key"]
    divisor: float
    attention: AttentionTrace

    @property
    def d_k(self) -> int:
        """The size of a query."""
        return self.query.shape[1]

    @property
    def divides_by_root(self) -> bool:
        """Whether the divisor is √d_k; some models have another."""
        return math.isclose(self.divisor, math.sqrt(self.d_k), rel_tol=1e-6)

    @cached_property
    def softmax(self) -> SoftmaxTrace:
        """The steps from masked scores to weights."""
        return softmax_steps(self.attention.masked, SoftmaxSettings())

    def product(self) -> Stage:
        """Q Kᵀ of this head."""
        size = [str(place) for place in range(self.d_k)]
        queries, keys = tuple(f"q{place}" for place in size), tuple(f"k{place}" for place in size)
        hidden = None if bool(self.mask.all()) else ~self.mask
        return Stage(
            "scores",
            Matrix("Q", "q", "query", self.query, self.tokens, queries),
            Matrix(r"K^{\top}", "k", "key", self.key.T, keys, self.tokens),
            Matrix("S", "s", "scores", self.attention.scores, self.tokens, self.tokens, hidden=hidden),
        )


@dataclass(frozen=True)
class Shown:
    """The weights among those tokens that are shown, and where these are in the text; what a query may see is True."""

    places: tuple[int, ...]
    tokens: tuple[str, ...]
    weights: Float[Tensor, "layer head query key"]
    visible: Bool[Tensor, "layer query key"]

    def matrix(self, place: HeadPlace) -> Matrix:
        """One head's weights as a matrix to draw."""
        values, visible = self.weights[place.layer, place.head].double(), self.visible[place.layer]
        hidden = None if bool(visible.all()) else ~visible
        return Matrix(f"{place}", "a", "weights", values, self.tokens, self.tokens, hidden=hidden)

    def row_sum(self, place: HeadPlace, row: int) -> float:
        """What one query gives to all tokens that are shown."""
        return float(self.weights[place.layer, place.head, row].double().sum())

    def nearest(self, place: int) -> int:
        """Where a token of the text is among those shown; for one that is not, the nearest."""
        return min(range(len(self.places)), key=lambda index: abs(self.places[index] - place))


@dataclass(frozen=True)
class PatchWeights:
    """What one token of a picture gives to each patch, in every layer and head.

    Attributes:
        pixels: the picture.
        per_edge: patches beside each other.
        patches: their names.
        patch: the token, if it is a patch; None for a class token.
        name: what the token is called.
        weights: those that go to patches; with what goes to class tokens they sum to 1.
    """

    pixels: Float[Tensor, "row column channel"]
    per_edge: int
    patches: tuple[str, ...]
    patch: int | None
    name: str
    n_special: int
    weights: Float[Tensor, "layer head patch"]

    def most(self, place: HeadPlace, n: int) -> tuple[tuple[str, float], ...]:
        """The patches with the largest weights in one head, the largest first."""
        weights = self.weights[place.layer, place.head]
        order = weights.argsort(descending=True, stable=True).tolist()[:n]
        return tuple((self.patches[place], float(weights[place])) for place in order)

    def elsewhere(self, place: HeadPlace) -> float:
        """The weight that goes to no patch."""
        return 1 - float(self.weights[place.layer, place.head].double().sum())

    def patch_of(self, token: int) -> int | None:
        """The patch that a token is, past the end the last one; None for a class token."""
        patch = min(token - self.n_special, len(self.patches) - 1)
        return patch if patch >= 0 else None

    def token_at(self, row: int, column: int) -> int:
        """The token of a patch by its row and column."""
        return self.n_special + row * self.per_edge + column


@dataclass(frozen=True)
class Reading:
    """What a model does with one text.

    Attributes:
        pieces: the text as the model's tokenizer cuts it; of a picture, its class token and patches.
        query, key, value: those of every layer and head, as the model has them.
        visible: True where a query may attend to a key, layer by layer.
        divisors: what the scores of each layer are divided by.
        weights: the model's own attention weights.
        measures: what each head attends to, by layer and head.
        difference: the largest difference between the model's weights and those computed from its q and k in float64.
        picture: what a vision model saw.
    """

    model: str
    pieces: Pieces
    query: Float[Tensor, "layer head query d_k"]
    key: Float[Tensor, "layer head key d_k"]
    value: Float[Tensor, "layer head key d_v"]
    visible: Bool[Tensor, "layer query key"]
    divisors: tuple[float, ...]
    weights: Float[Tensor, "layer head query key"]
    measures: tuple[HeadMeasure, ...]
    difference: float
    picture: Picture | None = None

    @property
    def n_layers(self) -> int:
        return self.weights.shape[0]

    @property
    def n_heads(self) -> int:
        return self.weights.shape[1]

    def patch_weights(self, query: int) -> PatchWeights:
        """What a token of a picture gives to each patch."""
        return self._over_picture(self.weights, query)

    def rollout_weights(self, query: int) -> PatchWeights:
        """What has reached it from each patch, up to each layer; as one head a layer."""
        return self._over_picture(self.rollout()[:, None], query)

    def _over_picture(self, weights: Float[Tensor, "layer head query key"], query: int) -> PatchWeights:
        if self.picture is None:
            raise ValueError(f"{self.model} has read a text, no picture")
        names, n_special = self.pieces.names, self.pieces.special.count(True)
        token = min(query, len(names) - 1)
        return PatchWeights(
            pixels=self.picture.pixels,
            per_edge=math.isqrt(len(names) - n_special),
            patches=names[n_special:],
            patch=token - n_special if token >= n_special else None,
            name=names[token],
            n_special=n_special,
            weights=weights[:, :, token, n_special:],
        )

    @property
    def n_bytes(self) -> int:
        """The memory that a kept reading takes."""
        kept = (self.query, self.key, self.value, self.visible, self.weights)
        return sum(tensor.numel() * tensor.element_size() for tensor in kept)

    def nearest_place(self, place: HeadPlace) -> HeadPlace:
        """The head, or where the model has fewer the last one."""
        return HeadPlace(min(place.layer, self.n_layers - 1), min(place.head, self.n_heads - 1))

    def measure(self, place: HeadPlace) -> HeadMeasure:
        """What one head attends to."""
        return self.measures[place.layer * self.n_heads + place.head]

    def head(self, place: HeadPlace) -> HeadSteps:
        """Every step of one head in float64."""
        index = (place.layer, place.head)
        query, key, value = (part[index].double() for part in (self.query, self.key, self.value))
        mask, divisor = self.visible[place.layer], self.divisors[place.layer]
        attention = attend(query, key, value, mask=mask, scale=divisor)
        return HeadSteps(place, self.pieces.names, query, key, value, mask, divisor, attention)

    def shown(self, *, special: bool, renormalised: bool) -> Shown:
        """The weights with or without the special tokens; a text of nothing else keeps them."""
        places = tuple(range(len(self.pieces.names)))
        if special or all(self.pieces.special):
            return Shown(places, self.pieces.names, self.weights, self.visible)
        kept = tuple(place for place in places if not self.pieces.special[place])
        weights = without_special(self.weights, self.pieces.special)
        names = tuple(self.pieces.names[place] for place in kept)
        visible = self.visible[:, kept][:, :, kept]
        return Shown(kept, names, each_to_1(weights) if renormalised else weights, visible)

    def rollout(self) -> Float[Tensor, "layer query key"]:
        """How much of each token has reached each place up to a layer, if residual and attention count alike."""
        return rollout(self.weights.double())


def read_text(pretrained: PretrainedModel, text: str) -> Reading:
    """Lets a model of language read a text, and keeps what its attention does.

    Raises:
        UnsupportedAttentionError: the model does something that a reading cannot hold.
        EmptyTextError: there is nothing to read.
    """
    pieces = cut(pretrained.tokenizer, text)
    if not pieces.ids:
        raise EmptyTextError("the text has no token that this model reads")
    ids = torch.tensor([pieces.ids])
    calls = attention_calls(pretrained.model, {"input_ids": ids, "attention_mask": torch.ones_like(ids)})
    return _reading(pretrained, calls, pieces)


def see_picture(pretrained: PretrainedModel, picture: Picture) -> Reading:
    """Lets a vision model look at a picture, brought to the model's size by its own rules, and keeps the same.

    Raises:
        UnsupportedAttentionError: the model does something that a reading cannot hold, or its tokens are not a
            square of patches after a class token.
    """
    inputs = pretrained.tokenizer(images=picture.image().convert("RGB"), return_tensors="pt")
    calls = attention_calls(pretrained.model, {"pixel_values": inputs["pixel_values"]})
    n_tokens = calls[0].query.shape[-2]
    per_edge = math.isqrt(n_tokens)
    n_special = n_tokens - per_edge**2
    if n_special not in (1, 2):
        raise UnsupportedAttentionError(
            f"{pretrained.name} has {n_tokens} tokens, no square of patches after one or two"
        )
    names = ("[CLS]", "[DIST]")[:n_special] + patch_names(per_edge, per_edge)
    special = tuple(place < n_special for place in range(n_tokens))
    pieces = Pieces(tuple(range(n_tokens)), names, special, (None,) * n_tokens, 0)
    return dataclasses.replace(_reading(pretrained, calls, pieces), picture=picture)


def _reading(pretrained: PretrainedModel, calls: tuple[AttentionCall, ...], pieces: Pieces) -> Reading:
    n_layers, shapes = pretrained.n_layers, {call.query.shape for call in calls}
    if any(call.is_cross for call in calls) or len(shapes) > 1 or len(calls) != n_layers:
        raise UnsupportedAttentionError(f"the layers of {pretrained.name} are not all of one kind")
    query, key, value = (torch.stack([getattr(call, part)[0] for call in calls]) for part in ("query", "key", "value"))
    weights = torch.stack([call.trace.weights[0] for call in calls])
    visible = torch.stack([_visible(call) for call in calls])
    divisors = tuple(call.divisor for call in calls)
    measures = tuple(
        dataclasses.replace(measure, layer=layer)  # each layer may see something else
        for layer in range(len(calls))
        for measure in measure_heads(weights[layer, None], pieces, visible[layer])
    )
    found = Reading(pretrained.name, pieces, query, key, value, visible, divisors, weights, measures, 0.0)
    return dataclasses.replace(found, difference=_largest_difference(found))


def _visible(call: AttentionCall) -> Bool[Tensor, "query key"]:
    """One text has one mask, the same for every head."""
    shape = call.trace.weights.shape[-2:]
    return torch.ones(shape, dtype=torch.bool) if call.mask is None else call.mask[0, 0].broadcast_to(shape)


def _largest_difference(found: Reading) -> float:
    """Layer by layer, so that only one layer's steps are in memory."""
    differences = []
    for layer in range(found.n_layers):
        query, key, value = (part[layer].double() for part in (found.query, found.key, found.value))
        exact = attend(query, key, value, mask=found.visible[layer], scale=found.divisors[layer]).weights
        differences.append(float((exact - found.weights[layer].double()).abs().max()))
    return max(differences)


@dataclass(frozen=True)
class ReadingProgress:
    """How far it has come: what is being done, the share of it that is done, and what has been read."""

    stage: LoadStage | Literal["reading"]
    share: float
    readings: tuple[Reading, ...] = ()

    @property
    def n_bytes(self) -> int:
        """The memory that a kept piece takes."""
        return sum(reading.n_bytes for reading in self.readings)


def reading(name: str, texts: Sequence[str], picture: Picture, *, any_name: bool) -> Iterator[ReadingProgress]:
    """Loads a model, if it is not yet there, and lets it read the texts, or if it is one of vision see the picture.

    The last piece has all readings.

    Raises:
        ModelError: the model cannot be used; `reason` says why.
        UnsupportedAttentionError: it does something that a reading cannot hold.
        EmptyTextError: a text is empty for this model.
    """
    for piece in loading(name, any_name=any_name):
        if piece.model is None:
            yield ReadingProgress(piece.stage, piece.share)
    assert piece.model is not None
    yield ReadingProgress("reading", 0.0)
    if piece.model.kind == "vision":
        yield ReadingProgress("reading", 1.0, (see_picture(piece.model, picture),))
        return
    done: tuple[Reading, ...] = ()
    for text in texts:
        done = (*done, read_text(piece.model, text))
        yield ReadingProgress("reading", len(done) / len(texts), done)
