"""The steps of attention inside a pretrained Transformer, as the model itself computes them.

Models of the transformers library hand query, key and value to an attention function that can be exchanged.
Ours lets the model's own function compute, and beside it records the steps of `attend`.
"""

import contextlib
import dataclasses
import inspect
import math
import re
import sys
import threading
from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from attn_core.attention import AttentionTrace, attend

Attention = partial[tuple[Tensor, Tensor]]

# How far the model's results may be from the record's: e to the power of a score multiplies the score's rounding.
_TOLERANCE, _ROUNDING = 1e-4, 4 * torch.finfo(torch.float32).eps

# Arguments that do nothing the record does not show; the window of a sliding window is in the mask already.
_HARMLESS = {"scaling", "dropout", "sliding_window"}

# What architectures call the part in which one sequence looks at another.
_CROSS = re.compile("cross|encoder_attn|encdec", re.IGNORECASE)

# One model at a time: while it runs, its settings and the library's table of attention functions are changed.
_LOCK = threading.Lock()


class UnsupportedAttentionError(ValueError):
    """The model's attention is more than softmax(Q Kᵀ / divisor) V with hidden keys, or cannot be recorded."""


@dataclass(frozen=True)
class AttentionCall:
    """One call of attention inside a model, as it happened, in the model's own dtype.

    A query that may see no key (its row of `mask` is False throughout) occurs where a padded text is read by a
    model whose tokens see only what stands before them. `attend` refuses such a query; the library does not. It
    hides keys by adding the most negative number there is. In such a row all keys then have this number for their
    score, and softmax gives equal weights to all of them. The trace says what the model does: in this row
    `masked` holds that number, not −∞, and hidden keys have weight. Nothing comes of it, since such a query is
    padding, which no token of the text may see.

    Attributes:
        query: as handed to attention: after the model has rotated it by its position, say, or scaled it.
        key: the same; keys that several heads share are repeated for each of them.
        value: repeated as the keys are.
        mask: True where the query may attend to the key; None where the model hides nothing.
        divisor: what the model divides its scores by; the library calls 1 / divisor the scaling.
        trace: every step; leading axes batch and head.
        is_cross: the keys come from another sequence than the queries, as in a decoder that reads an encoder.
    """

    query: Float[Tensor, "batch head query d_k"]
    key: Float[Tensor, "batch head key d_k"]
    value: Float[Tensor, "batch head key d_v"]
    mask: Bool[Tensor, "#batch #head query key"] | None
    divisor: float
    trace: AttentionTrace
    is_cross: bool


def attention_traces(model: nn.Module, inputs: Mapping[str, Tensor]) -> list[AttentionTrace]:
    """The trace of every call of attention in a model: see `attention_calls`."""
    return [call.trace for call in attention_calls(model, inputs)]


def attention_calls(model: nn.Module, inputs: Mapping[str, Tensor]) -> tuple[AttentionCall, ...]:
    """Runs a model of the transformers library and records each call of attention, in their order.

    Where a decoder reads an encoder, the encoder's layers come first, then for each layer of the decoder its own
    attention and that to the encoder. The model runs as in use, without dropout and gradients, and is left as it was.

    Args:
        model: any model whose attention goes through the library's attention interface.
        inputs: what the model is called with, by name: `input_ids`, `attention_mask`, `pixel_values` …

    Raises:
        UnsupportedAttentionError: the model's attention does what these steps cannot hold (a bias by position, capped
            scores, sinks), does not go through the interface, or gives numbers that are not finite.
    """
    _refuse_other_ways(model)
    recorder = _Recorder({part: name for name, part in model.named_modules()}, [])
    with _LOCK, _in_eager_use(model), _recording(recorder), torch.no_grad():
        model(**{**_without_cache(model), **inputs})
    if not recorder.calls:
        raise UnsupportedAttentionError(f"{_name(model)} never called the library's attention interface")
    return tuple(recorder.calls)


# The model while it runs.


def _refuse_other_ways(model: nn.Module) -> None:
    """A part that computes its attention elsewhere would be missing from the record."""
    from transformers import PreTrainedModel

    for part in model.modules():
        if isinstance(part, PreTrainedModel) and not part._can_set_attn_implementation():
            raise UnsupportedAttentionError(
                f"{_name(part)} computes attention by itself, not through the library's attention interface"
            )


@contextlib.contextmanager
def _in_eager_use(model: nn.Module) -> Iterator[None]:
    """Eager attention, the one that makes weights, and no dropout; afterwards every part is as it was."""
    from transformers import PreTrainedConfig

    parts = list(model.modules())
    training = [part.training for part in parts]
    configs = [found for part in parts if isinstance(found := getattr(part, "config", None), PreTrainedConfig)]
    implementations = [config._attn_implementation_internal for config in configs]
    try:
        for config in configs:  # without _internal, parts of the config that belong to no part here would change too
            config._attn_implementation_internal = "eager"
        model.eval()
        yield
    finally:
        for config, implementation in zip(configs, implementations, strict=True):
            config._attn_implementation_internal = implementation
        for part, was_training in zip(parts, training, strict=True):
            part.training = was_training


def _without_cache(model: nn.Module) -> dict[str, bool]:
    """No keys and values are kept for a next word: there will be none."""
    return {"use_cache": False} if "use_cache" in inspect.signature(model.forward).parameters else {}


@dataclass(frozen=True)
class _Recorder:
    """What is recorded of a run, and the names of the model's parts."""

    names: Mapping[nn.Module, str]
    calls: list[AttentionCall]

    def is_cross(self, module: nn.Module) -> bool:
        """Told by the part's name, or that of the part around it: both sequences may be of the same length."""
        return bool(_CROSS.search(".".join(self.names[module].split(".")[-2:])))


# Each thread has its own: other models may run meanwhile.
_RECORDER: ContextVar[_Recorder | None] = ContextVar("recorder", default=None)


@contextlib.contextmanager
def _recording(recorder: _Recorder) -> Iterator[None]:
    """Puts our function in the place of eager attention.

    A name of its own would not do: some architectures ask whether they are eager, and compute another way if not.
    Eager models in other threads come through our function too, and get what they would get without it.
    """
    from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

    token = _RECORDER.set(recorder)
    ALL_ATTENTION_FUNCTIONS["eager"] = _attention
    try:
        yield
    finally:
        ALL_ATTENTION_FUNCTIONS.pop("eager")
        _RECORDER.reset(token)


# One call.


def _attention(
    module: nn.Module, query: Tensor, key: Tensor, value: Tensor, attention_mask: Tensor | None = None, **arguments: Any
) -> tuple[Tensor, Tensor]:
    """The module's own eager attention, which stands in the file of its `forward`; recorded where asked for."""
    own = partial(sys.modules[type(module).forward.__module__].eager_attention_forward, module, **arguments)
    results: tuple[Tensor, Tensor] = own(query, key, value, attention_mask)
    if (recorder := _RECORDER.get()) is not None:
        recorder.calls.append(_recorded(own, query, key, value, attention_mask, recorder.is_cross(module)))
    return results


def _recorded(
    own: Attention,
    query: Float[Tensor, "batch head query d_k"],
    key: Float[Tensor, "batch group key d_k"],
    value: Float[Tensor, "batch group key d_v"],
    added: Tensor | None,
    is_cross: bool,
) -> AttentionCall:
    """The call with every step; `added` is what the model adds to its scores in order to hide keys."""
    _refuse_other_arguments(own)
    scaling = own.keywords.get("scaling")
    divisor = math.sqrt(query.shape[-1]) if scaling is None else 1 / scaling
    mask = None if added is None else _mask(own, added, query.shape[-2], key.shape[-2])
    keys, values = (x.repeat_interleave(query.shape[1] // x.shape[1], dim=1) for x in (key, value))
    trace = _trace(query, keys, values, mask, added, divisor)
    call = AttentionCall(query, keys, values, mask, divisor, trace, is_cross)
    _confirm(call, own, query, key, value, added)
    return call


def _refuse_other_arguments(own: Attention) -> None:
    """An argument that only some architectures know makes their attention another one."""
    known = {*inspect.signature(own.func).parameters, "s_aux"} - _HARMLESS
    for name, given in own.keywords.items():
        if name in known and given is not None:
            raise UnsupportedAttentionError(f"{_part(own)} computes attention with {name}, which no step here holds")


def _mask(
    own: Attention, added: Float[Tensor, "#batch #head #query #key"], n_queries: int, n_keys: int
) -> Bool[Tensor, "#batch #head query key"]:
    """False where the most negative number or −∞ is added, True where 0 is."""
    hidden = added <= torch.finfo(added.dtype).min / 2
    rest = added[~hidden & (added != 0)]
    if len(rest):
        raise UnsupportedAttentionError(
            f"{_part(own)} adds numbers from {rest.min():.3g} to {rest.max():.3g} to its scores: a bias, not a mask"
        )
    return ~hidden.expand(-1, -1, n_queries, n_keys)


def _trace(
    query: Float[Tensor, "batch head query d_k"],
    key: Float[Tensor, "batch head key d_k"],
    value: Float[Tensor, "batch head key d_v"],
    mask: Bool[Tensor, "#batch #head query key"] | None,
    added: Tensor | None,
    divisor: float,
) -> AttentionTrace:
    """What `attend` records, and what the model makes of queries that may see no key (see AttentionCall)."""
    if mask is None or added is None or mask.any(dim=-1).all():
        return attend(query, key, value, mask=mask, scale=divisor)
    blind = ~mask.any(dim=-1, keepdim=True)
    trace = attend(query, key, value, mask=mask | blind, scale=divisor)
    masked = torch.where(blind, trace.scaled + added, trace.masked)
    weights = masked.softmax(dim=-1)
    return dataclasses.replace(trace, masked=masked, weights=weights, output=weights @ value)


def _confirm(
    call: AttentionCall, own: Attention, query: Tensor, key: Tensor, value: Tensor, added: Tensor | None
) -> None:
    """Makes sure that there is no more to the model's attention than these steps: its results are theirs.

    Compared in float32 or better: rounding to half precision could hide a difference, or look like one.
    """
    dtype = torch.promote_types(query.dtype, torch.float32)
    added = None if added is None else added.to(dtype)
    output, weights = own(query.to(dtype), key.to(dtype), value.to(dtype), added)
    trace = _trace(call.query.to(dtype), call.key.to(dtype), call.value.to(dtype), call.mask, added, call.divisor)
    tolerance = _TOLERANCE + _ROUNDING * float(trace.scaled.abs().max())
    _compare(own, "weights", trace.weights, weights, tolerance, 0.01)
    _compare(own, "outputs", trace.output.transpose(1, 2), output, tolerance, float(call.value.abs().max()))


def _compare(own: Attention, name: str, ours: Tensor, theirs: Tensor, tolerance: float, size: float) -> None:
    """Numbers far below the size of what they are made of are as exact as that, not as their own size."""
    if n_lost := int((~theirs.isfinite()).sum()):
        raise UnsupportedAttentionError(
            f"{n_lost} of the {theirs.numel()} {name} of {_part(own)} are not finite numbers"
        )
    apart = (ours - theirs).abs() if ours.shape == theirs.shape else torch.tensor(math.inf)
    if not (apart <= tolerance * (ours.abs() + size)).all():
        raise UnsupportedAttentionError(
            f"{_part(own)} does more than softmax(Q Kᵀ / divisor) V: its {name} differ by up to {apart.max():.2g}"
        )


def _part(own: Attention) -> str:
    """Which part of the model it is whose attention this is."""
    return _name(own.args[0])


def _name(module: nn.Module) -> str:
    return type(module).__name__
