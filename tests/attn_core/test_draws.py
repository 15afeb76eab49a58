"""Random inner products: step by step against plain loops, and against theory."""

import math
from collections.abc import Iterator

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from threadpoolctl import threadpool_info
from torch.testing import assert_close

from attn_core.draws import (
    block_size,
    dot_products_,
    draw_blocks,
    numbers_per_block,
    on_threads,
    row_products,
    sample_dot_products,
)
from attn_core.laws import ENTRIES, PAIRS_PER_LAYER, theory


@pytest.fixture(autouse=True, scope="module")
def _one_thread_per_operation() -> Iterator[None]:
    """Threads inside an operation and those of the draws would wait for each other on a busy machine."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def block(
    d_k: int, entries: str, *, index: int = 0, seed: int = 5, mean: float = 1.5
) -> tuple[torch.Tensor, torch.Tensor]:
    return next(draw_blocks(d_k, range(index, index + 1), seed=seed, entries=entries, mean=mean))


@pytest.mark.parametrize("entries", ENTRIES)
def test_samples_are_the_inner_products_of_the_blocks(entries: str) -> None:
    d_k, size = 7, block_size(7, entries)
    samples = sample_dot_products(d_k, size + 3, seed=5, entries=entries, mean=1.5)
    for index, places in ((0, (0, 1, size - 1)), (1, (0, 2))):
        q, k = block(d_k, entries, index=index)
        for place in places:
            by_hand = math.fsum(a * b for a, b in zip(q[:, place].tolist(), k[:, place].tolist(), strict=True))
            assert samples[index * size + place].item() == pytest.approx(by_hand, rel=1e-5, abs=1e-5)


@pytest.mark.parametrize("entries", ["normal", "uniform", "shifted"])
def test_entries_follow_their_law(entries: str) -> None:
    q, k = block(64, entries)
    for entry in (q.double().flatten(), k.double().flatten()):
        mean = 1.5 if entries == "shifted" else 0.0
        assert entry.mean().item() == pytest.approx(mean, abs=4 / math.sqrt(len(entry)))
        assert entry.var().item() == pytest.approx(1, abs=0.05)
    assert not torch.equal(q, k)


def test_uniform_entries_stay_within_the_root_of_three() -> None:
    q, _ = block(64, "uniform")
    assert 1.7 < q.abs().max().item() <= math.sqrt(3) + 1e-6
    assert (q.double() ** 4).mean().item() == pytest.approx(9 / 5, abs=0.08)


def test_signs_are_signs() -> None:
    q, _ = block(64, "signs")
    assert set(q.flatten().tolist()) == {-1.0, 1.0}
    assert abs(q.mean().item()) < 0.05


def test_a_fresh_layer_is_linear_in_its_tokens() -> None:
    # 64 tokens of size 5 through one layer: their outputs span at most 5 + 1 directions, bias included.
    q, k = block(5, "linear")
    for outputs in (q, k):
        per_layer = outputs.double().unflatten(1, (-1, PAIRS_PER_LAYER)).transpose(0, 1)
        assert len(per_layer) == block_size(5, "linear") // PAIRS_PER_LAYER
        with_constant = torch.cat([per_layer[0], torch.ones(1, PAIRS_PER_LAYER)])
        assert torch.linalg.matrix_rank(with_constant, rtol=1e-5).item() == 6
        assert per_layer.var(dim=2).min().item() > 0
        assert outputs.abs().max().item() <= (5 + 1) / math.sqrt(5)


def test_a_wide_layer_drawn_in_parts_has_the_variance_of_a_whole() -> None:
    q, _ = block(600, "linear")
    assert q.shape == (600, PAIRS_PER_LAYER)
    assert q.double().pow(2).mean().item() == pytest.approx(603 / (9 * 600), rel=0.15)
    assert not torch.equal(q[:218], q[218:436])


@pytest.mark.parametrize("entries", ENTRIES)
@pytest.mark.parametrize("d_k", [1, 3, 64])
def test_mean_and_variance_follow_theory(entries: str, d_k: int) -> None:
    n_samples = 64_000
    samples = sample_dot_products(d_k, n_samples, seed=11, entries=entries, mean=1.5).double()
    expected = theory(d_k, entries, 1.5)
    mean_error = math.sqrt(expected.variance / (n_samples / expected.cluster_size))
    assert samples.mean().item() == pytest.approx(expected.mean, abs=4 * mean_error)
    assert samples.var().item() == pytest.approx(expected.variance, rel=4 * expected.relative_error(n_samples) + 1e-12)


@pytest.mark.parametrize(("entries", "d_k", "n_samples"), [("normal", 4, 500), ("signs", 4, 500), ("linear", 16, 1280)])
def test_nineteen_of_twenty_variances_lie_in_the_band(entries: str, d_k: int, n_samples: int) -> None:
    expected, n_runs = theory(d_k, entries), 200
    variances = [
        sample_dot_products(d_k, n_samples, seed=seed, entries=entries).double().var().item() for seed in range(n_runs)
    ]

    def share_inside(reach: float) -> float:
        return sum(abs(variance / expected.variance - 1) <= reach for variance in variances) / n_runs

    assert 0.9 <= share_inside(1.96 * expected.relative_error(n_samples)) <= 0.99
    if entries == "linear":  # as if the samples were independent: far too narrow
        assert share_inside(1.96 * math.sqrt((2 + expected.excess_kurtosis) / n_samples)) < 0.6


@settings(max_examples=25)
@given(st.integers(1, 300), st.integers(1, 3000), st.integers(0, 10**6), st.sampled_from(ENTRIES))
def test_a_longer_run_begins_with_the_shorter_one(d_k: int, n_samples: int, seed: int, entries: str) -> None:
    short = sample_dot_products(d_k, n_samples, seed=seed, entries=entries)
    longer = sample_dot_products(d_k, n_samples + 700, seed=seed, entries=entries)
    assert len(short) == n_samples
    assert_close(short, longer[:n_samples], rtol=0.0, atol=0.0)


def test_seed_size_and_block_each_change_the_numbers() -> None:
    first = block(8, "normal")[0]
    assert torch.equal(first, block(8, "normal")[0])
    assert not torch.equal(first, block(8, "normal", seed=6)[0])
    assert not torch.equal(first, block(8, "normal", index=1)[0])
    one, two = (sample_dot_products(d_k, 2000, seed=0).double() for d_k in (8, 16))
    assert abs(torch.corrcoef(torch.stack([one, two]))[0, 1].item()) < 0.1


@pytest.mark.parametrize("entries", ENTRIES)
@pytest.mark.parametrize("d_k", [1, 2, 100, 1024, 4096])
def test_blocks_are_bounded(entries: str, d_k: int) -> None:
    size = block_size(d_k, entries)
    assert size >= 32
    assert d_k * size <= 2**20
    weights = 2 * (d_k + 1) * d_k * size // PAIRS_PER_LAYER if entries == "linear" else 0
    assert numbers_per_block(d_k, entries) == 2 * d_k * size + weights


def test_rows_share_one_query_and_no_number() -> None:
    q, k = (torch.arange(float(start), start + 22).reshape(2, 11) for start in (0, 40))
    rows = row_products(q, k, 2, 4)
    by_hand = [[sum(q[i, 4 * row] * k[i, 4 * row + key] for i in range(2)) for key in range(4)] for row in range(2)]
    assert rows.tolist() == by_hand
    assert row_products(q, k, 0, 4).shape == (0, 4)
    assert_close(rows[:, 0], dot_products_(q, k)[[0, 4]])


@pytest.mark.parametrize("n", [0, 1, 2, 7])
@pytest.mark.parametrize("n_threads", [1, 2, 3])
def test_every_index_is_worked_on_once(n: int, n_threads: int) -> None:
    parts: list[range] = []
    on_threads(n_threads, parts.append, range(3, 3 + n))
    assert sorted(index for part in parts for index in part) == list(range(3, 3 + n))
    assert len(parts) <= n_threads


def test_no_thread_starts_threads_of_its_own() -> None:
    # MKL asks OpenMP, whose number belongs to a thread: a new one would have as many as there are cores.
    found: list[int] = []
    on_threads(
        2,
        lambda _: found.extend(pool["num_threads"] for pool in threadpool_info() if "torch" in pool["filepath"]),
        range(2),
    )
    assert found
    assert all(n == 1 for n in found)


def test_an_error_in_a_thread_is_not_lost() -> None:
    def fail(part: range) -> None:
        if 5 in part:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        on_threads(2, fail, range(6))


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"d_k": 5000}, r"^d_k must be 1 … 4096, got 5000$"),
        ({"n_samples": 0}, r"^n_samples must be at least 1, got 0$"),
        ({"seed": -1}, r"^seed must be 0 or more, got -1$"),
        ({"entries": "cauchy"}, r"^entries must be one of normal, uniform, signs, shifted, linear, got 'cauchy'$"),
        ({"mean": math.inf}, r"^mean must be a finite number, got inf$"),
    ],
)
def test_bad_arguments_are_named(changed: dict[str, object], message: str) -> None:
    arguments = {"d_k": 4, "n_samples": 10, "seed": 0} | changed
    with pytest.raises(ValueError, match=message):
        sample_dot_products(**arguments)
