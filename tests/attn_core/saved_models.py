"""Small models as the library saves them: with the head of a task, and with what reads their texts or pictures."""

import json
from pathlib import Path
from typing import Any

import torch
import transformers
from tokenizers.pre_tokenizers import ByteLevel
from transformers import PreTrainedModel

_SIZES: dict[str, Any] = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 24}
_GPT2_SIZES: dict[str, Any] = {"n_embd": 16, "n_layer": 2, "n_head": 4, "n_positions": 40}

WORDS = ("the", "animal", "cross", "##es", "street", ".")
JAPANESE = ("私", "は", "学生", "です", "。")
_SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
_MECAB = {
    "tokenizer_class": "BertJapaneseTokenizer",
    "word_tokenizer_type": "mecab",
    "subword_tokenizer_type": "wordpiece",
    "mecab_kwargs": {"mecab_dic": "unidic_lite"},
}
_SQUARE = {"do_normalize": True, "do_resize": True, "image_mean": [0.5] * 3, "image_std": [0.5] * 3, "size": 8}

KINDS = ("bert", "japanese", "gpt2", "vit")


def save(folder: Path, kind: str) -> PreTrainedModel:
    """Saves a model of a kind, the same at each call; returns it without its head, with eager attention."""
    model = _drawn(kind)
    model.save_pretrained(folder)
    if kind == "gpt2":
        pieces = [*sorted(ByteLevel.alphabet()), "<|endoftext|>"]
        vocabulary = {piece: number for number, piece in enumerate(pieces)}
        transformers.GPT2Tokenizer(vocab=vocabulary, merges=[]).save_pretrained(folder)
    elif kind == "vit":
        (folder / "preprocessor_config.json").write_text(json.dumps(_SQUARE))
    else:
        words = WORDS if kind == "bert" else JAPANESE
        (folder / "vocab.txt").write_text("\n".join([*_SPECIAL, *words]) + "\n", "utf-8")
        settings = {"do_lower_case": True} if kind == "bert" else _MECAB
        (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    model.set_attn_implementation("eager")
    body: PreTrainedModel = model.base_model
    return body


def _drawn(kind: str) -> PreTrainedModel:
    with torch.random.fork_rng(devices=()):
        torch.manual_seed(0)
        if kind == "gpt2":
            config = transformers.GPT2Config(vocab_size=257, bos_token_id=256, eos_token_id=256, **_GPT2_SIZES)
            model: PreTrainedModel = transformers.GPT2LMHeadModel(config)
        elif kind == "vit":
            model = transformers.ViTForImageClassification(transformers.ViTConfig(image_size=8, patch_size=4, **_SIZES))
        else:
            model = transformers.BertForMaskedLM(transformers.BertConfig(vocab_size=12, **_SIZES))
    return model.eval()
