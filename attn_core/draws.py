"""Random inner products q·k, drawn in blocks that fit into the cache."""

import hashlib
import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import torch
from jaxtyping import Float
from torch import Tensor

from attn_core.laws import PAIRS_PER_LAYER, check_law

# Numbers in one block of q, and of k: two such blocks stay in the cache of one core. Below 32768
# torch does not split an operation over threads, so that the threads here do not compete.
_BLOCK = 2**14
_LAYER_BLOCK = 2**17
_FEWEST_PAIRS = 32
_WORKERS = 2

Result = TypeVar("Result")


def block_size(d_k: int, entries: str) -> int:
    """How many pairs of q and k one block holds; at least 32, and independent of the sample count."""
    if entries == "linear":
        return PAIRS_PER_LAYER * _layers_per_block(d_k)
    return max(_FEWEST_PAIRS, _BLOCK // d_k)


def numbers_per_block(d_k: int, entries: str) -> int:
    """How many random numbers a block takes."""
    pairs = 2 * d_k * block_size(d_k, entries)
    return pairs + 2 * d_k * (d_k + 1) * _layers_per_block(d_k) if entries == "linear" else pairs


def draw_block(
    d_k: int, index: int, *, seed: int, entries: str, mean: float
) -> tuple[Float[Tensor, "d_k sample"], Float[Tensor, "d_k sample"]]:
    """The pairs q and k of one block, in float32.

    Each block has a random stream of its own, made from the seed, d_k and its index, so blocks
    may be drawn in any order, and a longer run begins with the numbers of a shorter one.
    """
    digest = hashlib.blake2b(f"{seed}/{d_k}".encode(), digest_size=4).digest()
    generator = torch.Generator().manual_seed((int.from_bytes(digest) + index) % 2**32)
    if entries == "linear":
        return _fresh_outputs(d_k, generator), _fresh_outputs(d_k, generator)
    shape = (d_k, block_size(d_k, entries))
    return _entries(shape, entries, mean, generator), _entries(shape, entries, mean, generator)


def _entries(shape: tuple[int, int], entries: str, mean: float, generator: torch.Generator) -> Tensor:
    """Independent entries of one law; all but the shifted one have mean 0 and variance 1."""
    drawn = torch.empty(shape)
    if entries == "uniform":
        return drawn.uniform_(-math.sqrt(3), math.sqrt(3), generator=generator)
    if entries == "signs":
        return drawn.random_(0, 2, generator=generator).mul_(2).sub_(1)
    return drawn.normal_(mean if entries == "shifted" else 0.0, 1.0, generator=generator)


def _layers_per_block(d: int) -> int:
    return min(256, max(1, _BLOCK // d**2))


def _fresh_outputs(d: int, generator: torch.Generator) -> Float[Tensor, "d sample"]:
    """What freshly initialised layers d → d make of uniform tokens, PAIRS_PER_LAYER tokens per layer.

    Weights and biases are uniform in ±1/√d, as in torch.nn.Linear. A layer is drawn some rows at a
    time, so that even 4096 × 4096 weights stay in the cache.
    """
    layers, bound = _layers_per_block(d), 1 / math.sqrt(d)
    tokens = torch.empty(layers, d, PAIRS_PER_LAYER).uniform_(generator=generator)
    outputs = torch.empty(layers, d, PAIRS_PER_LAYER)
    rows = max(1, _LAYER_BLOCK // d)
    for start in range(0, d, rows):
        size = min(rows, d - start)
        weight = torch.empty(layers, size, d).uniform_(-bound, bound, generator=generator)
        bias = torch.empty(layers, size, 1).uniform_(-bound, bound, generator=generator)
        outputs[:, start : start + size] = torch.baddbmm(bias, weight, tokens)
    return outputs.transpose(0, 1).reshape(d, -1)


def dot_products(q: Float[Tensor, "d_k sample"], k: Float[Tensor, "d_k sample"]) -> Float[Tensor, " sample"]:
    """The inner product of each pair; torch adds float32 numbers pairwise, so errors stay near one last bit."""
    return (q * k).sum(dim=0)


def row_products(
    q: Float[Tensor, "d_k sample"], k: Float[Tensor, "d_k sample"], n_rows: int, n_keys: int
) -> Float[Tensor, "row key"]:
    """Rows of scores as attention has them: one query with n_keys keys.

    The pairs are taken n_keys at a time: the first one's q with the k of all of them, so no number is
    in two rows.
    """
    used = n_rows * n_keys
    queries, keys = q[:, :used:n_keys], k[:, :used].reshape(len(k), n_rows, n_keys)
    return (queries.unsqueeze(-1) * keys).sum(dim=0)


def on_all_cores(work: Callable[[int], Result], indices: range) -> list[Result]:
    """The results of work for every index, in order; torch lets go of Python's lock while it draws."""
    if len(indices) < 2:
        return [work(index) for index in indices]
    size = math.ceil(len(indices) / _WORKERS)
    parts = [indices[start : start + size] for start in range(0, len(indices), size)]
    with ThreadPoolExecutor(_WORKERS) as pool:
        return [result for part in pool.map(lambda part: [work(index) for index in part], parts) for result in part]


def sample_dot_products(
    d_k: int, n_samples: int, *, seed: int, entries: str = "normal", mean: float = 0.5
) -> Float[Tensor, " sample"]:
    """Draws n_samples pairs q and k of size d_k and returns their inner products, in float32.

    The first numbers do not depend on how many are asked for. Beyond the result itself, memory does
    not grow with n_samples.

    Args:
        d_k: size of q and k, 1 … 4096.
        n_samples: how many inner products.
        seed: same seed, same numbers; different d_k have independent numbers.
        entries: law of the entries of q and k: "normal"; "uniform" on ±√3; "signs", ±1; "shifted", normal
            with mean `mean`; "linear", freshly initialised layers d_k → d_k fed with tokens uniform on
            0 … 1: PAIRS_PER_LAYER pairs share the two layers and are therefore correlated.
        mean: μ of the law "shifted".

    Raises:
        ValueError: there is no such law, n_samples is below 1 or seed below 0.
    """
    check_law(d_k, entries, mean)
    if n_samples < 1:
        raise ValueError(f"n_samples must be at least 1, got {n_samples}")
    if seed < 0:
        raise ValueError(f"seed must be 0 or more, got {seed}")
    samples, size = torch.empty(n_samples), block_size(d_k, entries)

    def fill(index: int) -> None:
        target = samples[index * size : (index + 1) * size]
        target.copy_(dot_products(*draw_block(d_k, index, seed=seed, entries=entries, mean=mean))[: len(target)])

    on_all_cores(fill, range(math.ceil(n_samples / size)))
    return samples
