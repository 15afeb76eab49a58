"""Small models of the transformers library, drawn at random from a seed: no network, no files.

Texts of 7 tokens, two a batch, the second with 2 tokens of padding; 4 heads of 6 columns each; 3 layers (BART: 2 on
each side).
"""

from typing import Any

import torch
import transformers
from torch import Tensor
from transformers import PreTrainedModel

N_LAYERS, N_HEADS, D_K = 3, 4, 6
PAD, WINDOW = 0, 3
IDS = torch.tensor([[1, 5, 6, 7, 8, 9, 3], [1, 7, 8, 5, 3, PAD, PAD]])
DECODER_IDS = torch.tensor([[3, 9, 5, 7, 4], [3, 6, 7, 3, PAD]])

# Large enough that no head gives nearly equal weights.
DEVIATION = 0.4

_SHARED: dict[str, Any] = {"vocab_size": 32, "initializer_range": DEVIATION, "bos_token_id": 1, "eos_token_id": 3}
_PLAIN = {
    **_SHARED,
    "hidden_size": N_HEADS * D_K,
    "intermediate_size": 16,
    "num_hidden_layers": N_LAYERS,
    "num_attention_heads": N_HEADS,
    "max_position_embeddings": 32,
    "pad_token_id": PAD,
}
_DISTILBERT = {**_SHARED, "dim": N_HEADS * D_K, "hidden_dim": 16, "n_layers": N_LAYERS, "n_heads": N_HEADS}
_GPT2 = {**_SHARED, "n_embd": N_HEADS * D_K, "n_layer": N_LAYERS, "n_head": N_HEADS, "n_positions": 32}
_GROUPED = {**_PLAIN, "num_key_value_heads": 2, "head_dim": D_K}
_T5 = {"vocab_size": 32, "d_model": N_HEADS * D_K, "d_kv": D_K, "d_ff": 16, "num_layers": 2, "num_heads": N_HEADS}
_SIDE = {"layers": 2, "attention_heads": N_HEADS, "ffn_dim": 16}
_BART = {
    "vocab_size": 32,
    "d_model": N_HEADS * D_K,
    "init_std": DEVIATION,
    "max_position_embeddings": 32,
    "pad_token_id": PAD,
    "eos_token_id": 3,
    "decoder_start_token_id": 3,
    **{f"{side}_{what}": size for side in ("encoder", "decoder") for what, size in _SIDE.items()},
}
_VIT = {name: _PLAIN[name] for name in ("hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads")}
_EXPERTS = {
    "num_local_experts": 2,
    "num_experts_per_tok": 1,
    "rope_parameters": {"rope_type": "default", "rope_theta": 1e4},
}

# Kind: its class without "Model" and "Config", and its settings.
_KINDS: dict[str, tuple[str, dict[str, Any]]] = {
    "bert": ("Bert", _PLAIN),
    "distilbert": ("DistilBert", _DISTILBERT),
    "roberta": ("Roberta", _PLAIN),
    "gpt2": ("GPT2", _GPT2),
    "llama": ("Llama", _GROUPED),
    "qwen3": ("Qwen3", _GROUPED),
    "mistral": ("Mistral", {**_GROUPED, "sliding_window": WINDOW}),
    "vit": ("ViT", {**_VIT, "image_size": 12, "patch_size": 4, "initializer_range": DEVIATION}),
    "bart": ("Bart", _BART),
    "t5": ("T5", _T5),
    "gemma2": ("Gemma2", _GROUPED),
    "gpt_oss": ("GptOss", {**_GROUPED, **_EXPERTS}),
    "bloom": ("Bloom", {**_SHARED, "hidden_size": N_HEADS * D_K, "n_layer": 2, "n_head": N_HEADS}),
    "mpnet": ("MPNet", _PLAIN),
}
REFUSED = ("t5", "gemma2", "gpt_oss", "bloom", "mpnet")
SUPPORTED = tuple(kind for kind in _KINDS if kind not in REFUSED)
TEXT_ONLY = tuple(kind for kind in SUPPORTED if kind not in ("vit", "bart"))


def small_model(kind: str, dtype: torch.dtype = torch.float32, **changes: Any) -> PreTrainedModel:
    """A model of a kind, the same at each call; `changes` are other settings of its config."""
    name, settings = _KINDS[kind]
    config = getattr(transformers, f"{name}Config")(**{**settings, **changes})
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model: PreTrainedModel = getattr(transformers, f"{name}Model")(config)
    return model.to(dtype).eval()


def small_inputs(kind: str, dtype: torch.dtype = torch.float32) -> dict[str, Tensor]:
    """What `small_model` of the same kind and dtype is called with."""
    if kind == "vit":
        pictures = torch.rand(2, 3, 12, 12, generator=torch.Generator().manual_seed(1))
        return {"pixel_values": pictures.to(dtype)}
    text = {"input_ids": IDS, "attention_mask": (IDS != PAD).long()}
    if kind not in ("bart", "t5"):
        return text
    return {**text, "decoder_input_ids": DECODER_IDS, "decoder_attention_mask": (DECODER_IDS != PAD).long()}
