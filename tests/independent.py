"""The numbers of a lesson computed a second time, from its link alone, with NumPy and none of attn_core's code.

torch.randint(low, high) of a seeded generator draws the 32-bit outputs of MT19937 and takes each modulo
high − low; NumPy's RandomState is the same MT19937 (test_lesson.py compares the two).
"""

import re
from math import cos, sin, sqrt
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
NOT_COVERED = {"segmentation", "edits", "training_steps", "corpus", "temperature"}

Arrays = dict[str, np.ndarray]


def parameters(url: str) -> dict[str, str]:
    """The parameters of a link, the last of each name."""
    found = {name: values[-1] for name, values in parse_qs(urlsplit(url).query, keep_blank_values=True).items()}
    uncovered = NOT_COVERED & found.keys()
    if uncovered:
        raise ValueError(f"the independent computation does not cover {', '.join(sorted(uncovered))}")
    return found


def sentences_from_link(url: str) -> list[tuple[str, ...]]:
    """The tokens of the default sentences, and of English whose words stand between spaces.

    A second sentence follows where the link has one; padding stands behind the last.
    """
    given = parameters(url)
    lang = given.get("lang", "ja")
    text = given.get("text", DEFAULT_TEXT[lang])
    tokens = DEFAULT_TOKENS["ja"] if text == DEFAULT_TEXT["ja"] else tuple(text.split())
    sentences = [tokens, tuple(given["second_text"].split())] if given.get("second_text") else [tokens]
    return [*sentences[:-1], sentences[-1] + ("[PAD]",) * int(given.get("padding", 0))]


def tokens_from_link(url: str) -> tuple[str, ...]:
    """What the queries are called."""
    return sentences_from_link(url)[0]


def tenths(rows: int, columns: int, bound: int, seed: int) -> np.ndarray:
    """Numbers with one decimal, uniform from -bound/10 to bound/10."""
    words = np.random.RandomState(seed).randint(0, 2**32, size=(rows, columns), dtype=np.uint32)
    return ((words % np.uint32(2 * bound + 1)).astype(np.int64) - bound) / 10


def positions(kind: str, length: int, size: int, seed: int) -> np.ndarray:
    """What is added to the embeddings: nothing, sines and cosines, or drawn numbers."""
    if kind == "learned":
        return tenths(length, size, 10, 4_000_000 + 2 * seed)
    p = np.zeros((length, size))
    if kind == "sinusoidal":
        for place in range(length):
            for column in range(size):
                angle = place / 10_000 ** (2 * (column // 2) / size)
                p[place, column] = sin(angle) if column % 2 == 0 else cos(angle)
    return p


def mask(given: dict[str, str], n_queries: int, n_keys: int) -> np.ndarray:
    """True where the query may attend to the key."""
    kind, seen = given.get("mask", "none"), np.ones((n_queries, n_keys), dtype=bool)
    for query in range(n_queries):
        for key in range(n_keys):
            after = kind == "causal" and key > query
            padded = kind == "padding" and key >= n_keys - int(given.get("padding", 0))
            drawn = kind == "drawn" and (query, key) in hidden(given.get("hidden", ""))
            seen[query, key] = not (after or padded or drawn)
    return seen


def hidden(text: str) -> set[tuple[int, int]]:
    """The pairs of query and key in a link's `0:1-3,5 2:0`."""
    pairs = set()
    for part in text.split():
        query, runs = part.split(":")
        for run in runs.split(","):
            first, _, last = run.partition("-")
            pairs |= {(int(query), key) for key in range(int(first), int(last or first) + 1)}
    return pairs


def lesson_from_link(url: str, tokens: tuple[str, ...] | None = None) -> Arrays:
    """Every array of the lesson behind the link; `tokens` where the text is not one of the easy ones.

    scores … output are the chosen head's; keys and values come from the last sentence.
    """
    given = parameters(url)
    sentences = sentences_from_link(url) if tokens is None else [tokens]
    seed, size, n_heads = (int(given.get(name, start)) for name, start in (("seed", 0), ("d_model", 4), ("n_heads", 1)))

    words = vocabulary([token for sentence in sentences for token in sentence], size)
    bound = max(1, round(10 * sqrt(3 / size)))
    w_e = tenths(len(words), size, 17, 4 * seed)
    w_q, w_k, w_v = (tenths(size, size, bound, 4 * seed + place) for place in (1, 2, 3))
    w_o = tenths(size, size, bound, 4_000_000 + 2 * seed + 1)

    ids = [np.array([words.index(token) for token in sentence]) for sentence in sentences]
    x = [w_e[places] for places in ids]
    p = [positions(given.get("positions", "none"), len(places), size, seed) for places in ids]
    inputs = [embedded + place for embedded, place in zip(x, p, strict=True)]
    q, k, v = inputs[0] @ w_q, inputs[-1] @ w_k, inputs[-1] @ w_v

    seen = mask(given, len(q), len(k))
    heads = [attention(*columns, seen, given.get("scale", "sqrt_d_k")) for columns in split(n_heads, q, k, v)]
    joined = np.hstack([head["output"] for head in heads])
    found = {
        "ids": ids[0],
        "one_hot": np.eye(len(words))[ids[0]],
        "w_e": w_e,
        "x": x[0],
        "p": p[0],
        "inputs": inputs[0],
        "w_q": w_q,
        "w_k": w_k,
        "w_v": w_v,
        "q": q,
        "k": k,
        "v": v,
        "mask": seen,
        **heads[min(int(given.get("head", 0)), n_heads - 1)],
        "joined": joined,
        "w_o": w_o,
        "y": joined @ w_o,
    }
    second = {"ids": ids[-1], "one_hot": np.eye(len(words))[ids[-1]], "x": x[-1], "p": p[-1], "inputs": inputs[-1]}
    return found | {f"second_{name}": values for name, values in second.items() if len(sentences) == 2}


def split(n_heads: int, *matrices: np.ndarray) -> list[tuple[np.ndarray, ...]]:
    """Each head's columns of the matrices."""
    return list(zip(*(np.split(matrix, n_heads, axis=1) for matrix in matrices), strict=True))


def attention(q: np.ndarray, k: np.ndarray, v: np.ndarray, seen: np.ndarray, scale: str) -> Arrays:
    """The steps of one head."""
    d_k = q.shape[1]
    scores = q @ k.T
    scaled = scores / {"sqrt_d_k": sqrt(d_k), "none": 1.0, "d_k": d_k}[scale]
    masked = np.where(seen, scaled, -np.inf)
    powers = np.exp(masked - masked.max(axis=1, keepdims=True))
    weights = powers / powers.sum(axis=1, keepdims=True)
    return {"scores": scores, "scaled": scaled, "masked": masked, "weights": weights, "output": weights @ v}


def vocabulary(tokens: list[str], size: int) -> list[str]:
    """[UNK], the first words of the built-in list, then the text's own."""
    japanese = any(re.search(r"[぀-ヿ㐀-鿿々]", token) for token in tokens)
    built_in = BUILT_IN["ja" if japanese else "en"][: max(9, size)]
    return list(dict.fromkeys(["[UNK]", *built_in, *tokens]))
