"""The numbers of a lesson computed a second time, from its link alone, with NumPy and none of attn_core's code.

torch.randint(low, high) of a seeded generator draws the 32-bit outputs of MT19937 and takes each modulo
high − low; NumPy's RandomState is the same MT19937 (test_lesson.py compares the two).
"""

import re
from math import sqrt
from urllib.parse import parse_qs, urlsplit

import numpy as np

DEFAULT_TOKENS = {"ja": ("私", "は", "学生", "です"), "en": ("the", "cat", "sat", "down")}
DEFAULT_TEXT = {"ja": "私は学生です", "en": "the cat sat down"}
BUILT_IN = {
    "ja": [
        "私",
        "は",
        "学生",
        "です",
        "あなた",
        "の",
        "先生",
        "猫",
        "犬",
        "本",
        "が",
        "を",
        "に",
        "と",
        "読む",
        "好き",
    ],
    "en": "the cat sat down a dog I you am student teacher book is on to read".split(),
}
NOT_COVERED = {"segmentation", "n_heads", "mask", "positions", "edits", "temperature"}

Arrays = dict[str, np.ndarray]


def parameters(url: str) -> dict[str, str]:
    """The parameters of a link, the last of each name."""
    found = {name: values[-1] for name, values in parse_qs(urlsplit(url).query, keep_blank_values=True).items()}
    uncovered = NOT_COVERED & found.keys()
    if uncovered:
        raise ValueError(f"the independent computation does not cover {', '.join(sorted(uncovered))}")
    return found


def tokens_from_link(url: str) -> tuple[str, ...]:
    """The tokens of the default sentences, and of English whose words stand between spaces."""
    given = parameters(url)
    lang = given.get("lang", "ja")
    text = given.get("text", DEFAULT_TEXT[lang])
    return DEFAULT_TOKENS["ja"] if text == DEFAULT_TEXT["ja"] else tuple(text.split())


def tenths(rows: int, columns: int, bound: int, seed: int) -> np.ndarray:
    """Numbers with one decimal, uniform from -bound/10 to bound/10."""
    words = np.random.RandomState(seed).randint(0, 2**32, size=(rows, columns), dtype=np.uint32)
    return ((words % np.uint32(2 * bound + 1)).astype(np.int64) - bound) / 10


def lesson_from_link(url: str, tokens: tuple[str, ...] | None = None) -> Arrays:
    """Every array of the lesson behind the link; `tokens` where the text is not one of the easy ones."""
    given = parameters(url)
    tokens = tokens_from_link(url) if tokens is None else tokens
    seed, size = int(given.get("seed", 0)), int(given.get("d_model", 4))
    divisor = {"sqrt_d_k": sqrt(size), "none": 1.0, "d_k": size}[given.get("scale", "sqrt_d_k")]

    words = vocabulary(tokens, size)
    ids = np.array([words.index(token) for token in tokens])
    one_hot = np.eye(len(words))[ids]
    bound = max(1, round(10 * sqrt(3 / size)))
    w_e = tenths(len(words), size, 17, 4 * seed)
    w_q, w_k, w_v = (tenths(size, size, bound, 4 * seed + place) for place in (1, 2, 3))
    x = w_e[ids]
    q, k, v = x @ w_q, x @ w_k, x @ w_v
    scores = q @ k.T
    scaled = scores / divisor
    powers = np.exp(scaled - scaled.max(axis=1, keepdims=True))
    weights = powers / powers.sum(axis=1, keepdims=True)
    return {
        "ids": ids,
        "one_hot": one_hot,
        "w_e": w_e,
        "x": x,
        "w_q": w_q,
        "w_k": w_k,
        "w_v": w_v,
        "q": q,
        "k": k,
        "v": v,
        "scores": scores,
        "scaled": scaled,
        "weights": weights,
        "output": weights @ v,
    }


def vocabulary(tokens: tuple[str, ...], size: int) -> list[str]:
    """[UNK], the first words of the built-in list, then the text's own."""
    japanese = any(re.search(r"[぀-ヿ㐀-鿿々]", token) for token in tokens)
    built_in = BUILT_IN["ja" if japanese else "en"][: max(9, size)]
    return list(dict.fromkeys(["[UNK]", *built_in, *tokens]))
