"""Random inner products q·k, drawn in blocks that fit into the cache."""

import hashlib
import math
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import torch
from jaxtyping import Float
from torch import Tensor

from attn_core.laws import PAIRS_PER_LAYER, check_law

# Numbers in one block of q, and of k: together they stay in the cache of one core. Below 32768
# torch does not split an operation over threads, so that the threads here do not compete with its own.
_BLOCK = 3 * 2**13
_LAYER_BLOCK = 2**17
_FEWEST_PAIRS = 32
THREADS = 2


def block_size(d_k: int, entries: str) -> int:
    """How many pairs of q and k one block holds; at least 32, and independent of the sample count."""
    if entries == "linear":
        return PAIRS_PER_LAYER * _layers_per_block(d_k)
    return max(_FEWEST_PAIRS, _BLOCK // d_k)


def numbers_per_block(d_k: int, entries: str) -> int:
    """How many random numbers a block takes."""
    pairs = 2 * d_k * block_size(d_k, entries)
    return pairs + 2 * d_k * (d_k + 1) * _layers_per_block(d_k) if entries == "linear" else pairs


def draw_blocks(
    d_k: int, indices: range, *, seed: int, entries: str, mean: float
) -> Iterator[tuple[Float[Tensor, "d_k sample"], Float[Tensor, "d_k sample"]]]:
    """The pairs q and k of some blocks, in float32; each block is written over the one before.

    Each block has a random stream of its own, made from the seed, d_k and its index, so blocks
    may be drawn in any order, and a longer run begins with the numbers of a shorter one.
    """
    stream = int.from_bytes(hashlib.blake2b(f"{seed}/{d_k}".encode(), digest_size=4).digest())
    generator = torch.Generator()
    q, k = torch.empty(2, d_k, block_size(d_k, entries)).unbind()
    for index in indices:
        generator.manual_seed((stream + index) % 2**32)
        for part in (q, k):
            if entries == "linear":
                _fill_by_fresh_layers(part, generator)
            else:
                _fill(part, entries, mean, generator)
        yield q, k


def _fill(part: Tensor, entries: str, mean: float, generator: torch.Generator) -> None:
    """Independent entries of one law; all but the shifted one have mean 0 and variance 1."""
    if entries == "uniform":
        part.uniform_(-math.sqrt(3), math.sqrt(3), generator=generator)
    elif entries == "signs":
        part.random_(0, 2, generator=generator).mul_(2).sub_(1)
    else:
        part.normal_(mean if entries == "shifted" else 0.0, 1.0, generator=generator)


def _layers_per_block(d: int) -> int:
    return min(256, max(1, _BLOCK // d**2))


def _fill_by_fresh_layers(part: Float[Tensor, "d sample"], generator: torch.Generator) -> None:
    """What freshly initialised layers d → d make of uniform tokens, PAIRS_PER_LAYER tokens per layer.

    Weights and biases are uniform in ±1/√d, as in torch.nn.Linear. A layer is drawn some rows at a
    time, so that even 4096 × 4096 weights stay in the cache.
    """
    d = len(part)
    layers, bound, rows = _layers_per_block(d), 1 / math.sqrt(d), max(1, _LAYER_BLOCK // d)
    tokens = torch.empty(layers, d, PAIRS_PER_LAYER).uniform_(generator=generator)
    outputs = part.view(d, layers, PAIRS_PER_LAYER).transpose(0, 1)
    for start in range(0, d, rows):
        size = min(rows, d - start)
        weight = torch.empty(layers, size, d).uniform_(-bound, bound, generator=generator)
        bias = torch.empty(layers, size, 1).uniform_(-bound, bound, generator=generator)
        outputs[:, start : start + size] = torch.baddbmm(bias, weight, tokens)


def dot_products_(q: Float[Tensor, "d_k sample"], k: Float[Tensor, "d_k sample"]) -> Float[Tensor, " sample"]:
    """The inner product of each pair, written over q on the way.

    torch adds float32 numbers pairwise, so errors stay near one last bit.
    """
    return q.mul_(k).sum(dim=0)


def row_products(
    q: Float[Tensor, "d_k sample"], k: Float[Tensor, "d_k sample"], n_rows: int, n_keys: int
) -> Float[Tensor, "row key"]:
    """Rows of scores as attention has them: one query with n_keys keys.

    The pairs are taken n_keys at a time: the first one's q with the k of all of them, so no number is
    in two rows.
    """
    used = n_rows * n_keys
    queries, keys = q[:, :used:n_keys], k[:, :used].reshape(len(k), n_rows, n_keys)
    return torch.bmm(queries.T.unsqueeze(1), keys.transpose(0, 1)).squeeze(1)


def on_threads(n_threads: int, work: Callable[[range], None], indices: range) -> None:
    """Has the indices worked through in parts, one per thread; torch lets go of Python's lock while it draws.

    A new thread takes over torch's number of threads only when it asks for it; until then MKL has one per core.
    """
    size = math.ceil(len(indices) / n_threads)
    parts = [indices[start : start + size] for start in range(0, len(indices), max(1, size))]
    if len(parts) == 1:
        work(parts[0])
        return
    with ThreadPoolExecutor(n_threads, initializer=torch.get_num_threads) as pool:
        list(pool.map(work, parts))


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

    def fill(indices: range) -> None:
        blocks = draw_blocks(d_k, indices, seed=seed, entries=entries, mean=mean)
        for index, (q, k) in zip(indices, blocks, strict=True):
            target = samples[index * size : (index + 1) * size]
            target.copy_(dot_products_(q, k)[: len(target)])

    on_threads(THREADS, fill, range(math.ceil(n_samples / size)))
    return samples


def use_one_thread_per_operation() -> None:
    """Keeps torch from splitting a single operation of the calling thread over the cores of a server.

    A lesson's matrices are small and many readers share the cores: threads that wait for each other cost more
    than they give. The experiment spreads whole blocks over threads instead.
    """
    torch.set_num_threads(1)
