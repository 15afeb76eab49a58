"""The √d_k experiment: every measured figure against plain loops over the same numbers."""

import dataclasses
import itertools
import math
import statistics
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.testing import assert_close

from attn_core import scaling
from attn_core.draws import block_size, draw_blocks, numbers_per_block
from attn_core.laws import ENTRIES, exact_density, normal_density, theory
from attn_core.lesson import Lesson
from attn_core.measurement import Running, SoftmaxFigures, histogram_edges, softmax_jacobian
from attn_core.scaling import (
    DIVISORS,
    MAX_ROWS,
    Measurement,
    PowerOfTwo,
    ScalingSettings,
    density_curves,
    divisor_value,
    numbers_needed,
    progress,
    sample_dot_products,
    variance_experiment,
    variance_theory,
)

SMALL = ScalingSettings(n_samples=100, largest_d_k=4, n_keys=3)


@pytest.fixture(autouse=True, scope="module")
def _one_thread_per_operation() -> Iterator[None]:
    """Threads inside an operation and those of the draws would wait for each other on a busy machine."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def last(experiment: ScalingSettings) -> dict[int, Measurement]:
    """The finished measurement of each d_k."""
    return {found.d_k: found for found in variance_experiment(experiment) if found.finished}


@pytest.fixture
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pieces of one block each."""
    monkeypatch.setattr(scaling, "_NUMBERS_PER_YIELD", 1)


# --- divisors and experiment ---------------------------------------------------------------------------------------


def test_divisors_in_closed_form() -> None:
    found = {divisor: divisor_value(divisor, 16, n_heads=4, exponent=0.75) for divisor in DIVISORS}
    assert found == {"none": 1.0, "sqrt_d_k": 4.0, "d_k": 16.0, "sqrt_d_model": 8.0, "power": 8.0}


@given(st.integers(1, 4096), st.integers(1, 16))
def test_the_mistaken_divisor_is_too_large_by_the_root_of_the_heads(d_k: int, n_heads: int) -> None:
    right, mistaken = divisor_value("sqrt_d_k", d_k), divisor_value("sqrt_d_model", d_k, n_heads=n_heads)
    assert mistaken / right == pytest.approx(math.sqrt(n_heads))
    assert mistaken == pytest.approx(math.sqrt(n_heads * d_k))


def test_bad_divisors_are_named() -> None:
    with pytest.raises(
        ValueError, match=r"^divisor must be one of none, sqrt_d_k, d_k, sqrt_d_model, power, got 'two'$"
    ):
        divisor_value("two", 4)
    with pytest.raises(ValueError, match=r"^d_k and n_heads must be at least 1, got 4 and 0$"):
        divisor_value("sqrt_d_model", 4, n_heads=0)


def test_settings_go_through_the_sizes() -> None:
    assert ScalingSettings().d_ks == (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
    assert ScalingSettings(largest_d_k=4096).d_ks[-1] == 4096
    assert ScalingSettings(largest_d_k=1).d_ks == (1,)
    assert ScalingSettings(largest_d_k=16, shown_d_k=64).histogram_d_k == 16
    assert ScalingSettings(divisor="power", exponent=1.5).divisor_at(4) == 8.0
    assert ScalingSettings(divisor="sqrt_d_model", divisor_heads=4).divisor_at(9) == 6.0
    assert ScalingSettings(entries="shifted", mean=2.0).theory_at(3).mean == 12.0


def test_no_parameter_means_two_things_in_one_link() -> None:
    assert not set(ScalingSettings.names()) & {*Lesson.names(), "n_heads", "mask", "positions", "edits"}


fields = st.fixed_dictionaries(
    {
        "entries": st.sampled_from(ENTRIES),
        "mean": st.floats(0, 3),
        "n_samples": st.integers(100, 10**6),
        "largest_d_k": st.sampled_from([1, 2, 64, 4096]),
        "shown_d_k": st.sampled_from([1, 2, 64, 4096]),
        "divisor": st.sampled_from(DIVISORS),
        "divisor_heads": st.integers(1, 16),
        "exponent": st.sampled_from([0.0, 0.25, 0.5, 2.0]),
        "n_keys": st.integers(2, 32),
        "sample_seed": st.integers(0, 999_999),
    }
)


@settings(max_examples=30)
@given(fields)
def test_a_link_is_the_experiment(values: dict[str, Any]) -> None:
    experiment = ScalingSettings(**values)
    assert ScalingSettings.from_query(experiment.to_query()) == experiment


@pytest.mark.parametrize("text", ["3", "0", "8192", "-4", "4.0", "", "four"])
def test_a_link_with_a_size_that_is_no_power_of_two(text: str) -> None:
    found = ScalingSettings.from_query({"largest_d_k": text})
    assert found.largest_d_k == 1024
    assert [(ignored.name, ignored.value, ignored.allowed) for ignored in found.ignored] == [
        ("largest_d_k", text, "1, 2, 4, …, 4096")
    ]


def test_sizes_are_whole_powers_of_two() -> None:
    allowed = PowerOfTwo(1, 4096)
    assert [n for n in range(70) if allowed.accepts(n)] == [1, 2, 4, 8, 16, 32, 64]
    assert not any(allowed.accepts(value) for value in (True, 4.0, "4", None, 8192))
    with pytest.raises(ValueError, match=r"^shown_d_k must be 1, 2, 4, …, 4096, got 3$"):
        ScalingSettings(shown_d_k=3)


# --- the softmax Jacobian ----------------------------------------------------------------------------------------

logits = st.lists(st.floats(-60, 60), min_size=2, max_size=8).map(lambda row: torch.tensor(row, dtype=torch.float64))


def test_jacobian_of_two_equal_weights() -> None:
    found = softmax_jacobian(torch.tensor([0.5, 0.5], dtype=torch.float64))
    assert found.tolist() == [[0.25, -0.25], [-0.25, 0.25]]
    assert torch.linalg.matrix_norm(found).item() == 0.5


@given(logits)
def test_jacobian_is_the_derivative_of_softmax(row: torch.Tensor) -> None:
    derivative = torch.autograd.functional.jacobian(lambda z: torch.softmax(z, dim=-1), row)
    assert_close(softmax_jacobian(torch.softmax(row, dim=-1)), derivative, rtol=1e-9, atol=1e-15)


@given(logits)
def test_jacobian_is_bounded(row: torch.Tensor) -> None:
    p = torch.softmax(row, dim=-1)
    found = softmax_jacobian(p)
    norm = torch.linalg.matrix_norm(found).item()
    closed = (p**2).sum() - 2 * (p**3).sum() + (p**2).sum() ** 2
    assert found.abs().max().item() <= 0.25 + 1e-15
    assert norm <= 0.5 + 1e-15
    assert norm**2 == pytest.approx(closed.item(), abs=1e-14)
    assert_close(found.sum(dim=-1), torch.zeros(len(row), dtype=torch.float64), rtol=0.0, atol=1e-15)


def test_jacobian_vanishes_in_saturation_and_keeps_its_digits() -> None:
    row = torch.tensor([0.0, -50.0, -51.0], dtype=torch.float64)
    p = torch.softmax(row, dim=-1)
    assert p[0].item() == 1.0  # 1 − p rounds to 0
    found = softmax_jacobian(p)
    assert found[0, 0].item() == pytest.approx(math.exp(-50) + math.exp(-51), rel=1e-12)
    norms = [torch.linalg.matrix_norm(softmax_jacobian(torch.softmax(row * t, dim=-1))).item() for t in (0.1, 1, 5)]
    assert norms[0] > norms[1] > norms[2] > 0


# --- histograms --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("entries", ENTRIES)
@pytest.mark.parametrize("d_k", [1, 2, 3, 64, 1024, 4096])
def test_edges_reach_five_sigma_in_equal_steps(entries: str, d_k: int) -> None:
    edges, expected = torch.tensor(histogram_edges(d_k, entries, 1.0), dtype=torch.float64), theory(d_k, entries, 1.0)
    reach = 5 * math.sqrt(expected.variance)
    assert edges[0] <= expected.mean - reach + 1e-9
    assert edges[-1] >= expected.mean + reach - 1e-9
    assert_close(edges.diff(), torch.full((len(edges) - 1,), (edges[1] - edges[0]).item(), dtype=torch.float64))
    assert_close(edges + edges.flip(0), torch.full_like(edges, 2 * expected.mean), rtol=1e-9, atol=1e-9)
    assert len(edges) <= 102


@pytest.mark.parametrize("d_k", [1, 2, 3, 64, 100, 1024, 4096])
def test_every_bin_of_signs_holds_as_many_possible_values(d_k: int) -> None:
    edges = histogram_edges(d_k, "signs", 0.0)
    possible = range(-d_k - 2000 * 2, d_k + 2000 * 2 + 1, 2)  # the lattice, also where |q·k| would exceed d_k
    in_bins = {sum(low < value < high for value in possible) for low, high in itertools.pairwise(edges)}
    assert len(in_bins) == 1
    assert not set(edges) & {float(value) for value in possible}


# --- the experiment, step by step --------------------------------------------------------------------------------


def by_hand_softmax(rows: list[list[float]], divisor: float) -> SoftmaxFigures:
    largest, entropies, norms = [], [], []
    for row in rows:
        exponentials = [math.exp((score - max(row)) / divisor) for score in row]
        p = [e / math.fsum(exponentials) for e in exponentials]
        largest.append(max(p))
        entropies.append(-math.fsum(w * math.log(w) for w in p if w > 0))
        norms.append(
            math.sqrt(math.fsum(((i == j) * p[i] - p[i] * p[j]) ** 2 for i in range(len(p)) for j in range(len(p))))
        )
    return SoftmaxFigures(*(math.fsum(values) / len(rows) for values in (largest, entropies, norms)))


@pytest.mark.parametrize("entries", ENTRIES)
@pytest.mark.parametrize("d_k", [1, 4])
def test_every_figure_against_plain_loops(entries: str, d_k: int) -> None:
    experiment = dataclasses.replace(SMALL, entries=entries, mean=1.5, divisor="d_k", sample_seed=7)
    found = last(experiment)[d_k]
    samples = sample_dot_products(d_k, 100, seed=7, entries=entries, mean=1.5).tolist()
    assert found.mean == pytest.approx(statistics.fmean(samples))
    assert found.variance == pytest.approx(statistics.variance(samples))
    assert found.scaled_variance == pytest.approx(statistics.variance([sample / d_k for sample in samples]))
    assert found.band == theory(d_k, entries, 1.5).band(100)

    inside = [sum(low <= s < high for s in samples) for low, high in itertools.pairwise(found.edges)]
    assert list(found.counts) == inside
    assert found.below == sum(s < found.edges[0] for s in samples)
    assert found.above == sum(s >= found.edges[-1] for s in samples)

    q, k = (part.T.tolist() for part in next(draw_blocks(d_k, range(1), seed=7, entries=entries, mean=1.5)))
    rows = [[sum(a * b for a, b in zip(q[3 * r], k[3 * r + key], strict=True)) for key in range(3)] for r in range(33)]
    assert found.n_rows == 33
    for figures, divisor in ((found.unscaled, 1.0), (found.scaled, float(d_k))):
        assert dataclasses.astuple(figures) == pytest.approx(
            dataclasses.astuple(by_hand_softmax(rows, divisor)), rel=1e-5
        )


def test_heights_are_a_density() -> None:
    found = last(dataclasses.replace(SMALL, n_samples=1000))[4]
    width = found.edges[1] - found.edges[0]
    inside = 1000 - found.below - found.above
    assert math.fsum(found.heights) * width == pytest.approx(inside / 1000)
    assert found.heights[50] == pytest.approx(found.counts[50] / 1000 / width)


@pytest.mark.parametrize("entries", ENTRIES)
@pytest.mark.usefixtures("small_pieces")
def test_a_part_equals_a_run_of_that_length(entries: str) -> None:
    experiment = ScalingSettings(entries=entries, n_samples=700, largest_d_k=256, n_keys=5)
    parts = [found for found in variance_experiment(experiment) if found.d_k == 256]
    assert len(parts) == math.ceil(700 / block_size(256, entries)) > 6
    assert [part.finished for part in parts] == [False] * (len(parts) - 1) + [True]
    for part in parts[1::5]:
        alone = last(dataclasses.replace(experiment, n_samples=part.n_done))[256]
        assert dataclasses.replace(part, n_samples=part.n_done) == alone


@pytest.mark.usefixtures("small_pieces")
def test_merged_moments_equal_those_of_all_samples() -> None:
    experiment = ScalingSettings(entries="shifted", mean=3.0, n_samples=3100, largest_d_k=512)
    found = last(experiment)[512]
    samples = sample_dot_products(512, 3100, seed=0, entries="shifted", mean=3.0).tolist()
    assert found.mean == pytest.approx(statistics.fmean(samples), rel=1e-12)
    assert found.variance == pytest.approx(statistics.variance(samples), rel=1e-10)
    assert found.n_rows == MAX_ROWS


def test_the_same_seed_gives_the_same_measurements() -> None:
    assert list(variance_experiment(SMALL)) == list(variance_experiment(SMALL))
    assert last(SMALL)[4] != last(dataclasses.replace(SMALL, sample_seed=1))[4]


def test_the_divisor_changes_nothing_but_what_is_divided() -> None:
    for divisor in DIVISORS:
        experiment = dataclasses.replace(SMALL, divisor=divisor)
        found, plain = last(experiment)[4], last(dataclasses.replace(SMALL, divisor="none"))[4]
        assert (found.unscaled, found.variance, found.counts) == (plain.unscaled, plain.variance, plain.counts)
        assert found.scaled_variance == pytest.approx(plain.variance / experiment.divisor_at(4) ** 2)
    assert plain.scaled == plain.unscaled


def test_the_number_of_keys_leaves_the_samples_alone() -> None:
    few, many = (last(dataclasses.replace(SMALL, n_keys=n_keys))[4] for n_keys in (2, 32))
    assert (few.mean, few.variance, few.counts) == (many.mean, many.variance, many.counts)
    assert (few.n_rows, many.n_rows) == (50, 3)


@pytest.mark.parametrize("entries", ENTRIES)
def test_measured_variances_lie_where_theory_says(entries: str) -> None:
    for d_k, found in last(ScalingSettings(entries=entries, n_samples=20_000, largest_d_k=32)).items():
        expected = theory(d_k, entries)
        assert found.variance == pytest.approx(expected.variance, rel=4 * expected.relative_error(20_000))
        assert found.theory == expected


def test_division_keeps_softmax_from_saturating() -> None:
    found = last(ScalingSettings(n_samples=3000, largest_d_k=256))
    narrow, wide = found[1], found[256]
    assert narrow.scaled == narrow.unscaled
    assert wide.unscaled.largest_weight > 0.85
    assert wide.unscaled.jacobian_norm < 0.5 * wide.scaled.jacobian_norm
    assert wide.unscaled.entropy < 0.3 < 1.7 < wide.scaled.entropy <= math.log(10)
    assert abs(wide.scaled.largest_weight - narrow.scaled.largest_weight) < 0.1


def test_over_division_flattens() -> None:
    wide = last(ScalingSettings(n_samples=3000, largest_d_k=256, divisor="d_k"))[256].scaled
    assert wide.largest_weight == pytest.approx(0.1, abs=0.02)
    assert wide.entropy == pytest.approx(math.log(10), abs=0.01)
    assert wide.jacobian_norm == pytest.approx(math.sqrt(9) / 10, abs=0.01)  # that of ten equal weights


# --- progress, stopping, bounds ----------------------------------------------------------------------------------


@pytest.mark.parametrize("entries", ENTRIES)
def test_pieces_are_bounded(entries: str, monkeypatch: pytest.MonkeyPatch) -> None:
    experiment = ScalingSettings(entries=entries, n_samples=1_000_000, largest_d_k=4096)
    seen: dict[int, range] = {}

    def note(_n_threads: int, _work: object, indices: range) -> Iterator[object]:
        seen[d_k] = indices
        raise GeneratorExit

    monkeypatch.setattr(scaling, "on_threads", note)
    for d_k in experiment.d_ks:
        with pytest.raises(GeneratorExit):
            next(scaling._pieces(experiment, d_k, 2))
        numbers, samples = (len(seen[d_k]) * of(d_k, entries) for of in (numbers_per_block, block_size))
        assert samples <= 2**16
        assert numbers <= 2**24 or (entries == "linear" and len(seen[d_k]) == 1)


@pytest.mark.parametrize("n_threads", [1, 3])
def test_the_numbers_do_not_depend_on_the_threads(n_threads: int) -> None:
    several_blocks = ScalingSettings(n_samples=30_000, largest_d_k=8)
    assert list(variance_experiment(several_blocks, n_threads=n_threads)) == list(variance_experiment(several_blocks))


def test_it_can_be_stopped_at_any_piece() -> None:
    running = variance_experiment(ScalingSettings(n_samples=1_000_000, largest_d_k=4096))
    first = next(running)
    assert (first.d_k, first.n_done, first.finished) == (1, 49152, False)
    running.close()
    assert list(running) == []


@pytest.mark.parametrize("entries", ["normal", "linear"])
@pytest.mark.usefixtures("small_pieces")
def test_progress_rises_to_one(entries: str) -> None:
    experiment = ScalingSettings(entries=entries, n_samples=300, largest_d_k=256)
    shares = [progress(experiment, found) for found in variance_experiment(experiment)]
    assert shares == sorted(set(shares))
    assert 0 < shares[0] < 0.1
    assert shares[-1] == 1.0


def test_the_amount_of_work_is_known_beforehand() -> None:
    assert numbers_needed(ScalingSettings(n_samples=100, largest_d_k=4)) == 2 * (1 + 2 + 4) * 100
    # A pair of linear layers takes 2 (d² + d) weights for 64 pairs of tokens.
    assert numbers_needed(ScalingSettings(entries="linear", n_samples=640, largest_d_k=1)) == 2 * 640 + 10 * 4


def test_running_sums_start_empty() -> None:
    start = Running.start(d_k=4, n_samples=9, divisor=2.0, theory=theory(4), edges=(0.0, 1.0, 2.0))
    found = start.with_samples(torch.tensor([-1.0, 0.0, 0.5, 1.0, 2.0, 7.0], dtype=torch.float64))
    assert (found.counts.tolist(), found.n_done, found.mean) == ([1, 2, 1, 2], 6, pytest.approx(9.5 / 6))
    assert start.counts.tolist() == [0, 0, 0, 0]


# --- what theory draws -------------------------------------------------------------------------------------------


def test_curves_beside_the_histogram() -> None:
    curves, edges = density_curves(ScalingSettings(), 4), histogram_edges(4, "normal", 0.5)
    x = torch.tensor(curves.x, dtype=torch.float64)
    assert (curves.x[0], curves.x[-1], len(curves.x)) == (edges[0], edges[-1], 400)
    assert curves.exact == tuple(exact_density(x, 4).tolist())
    assert curves.normal == tuple(normal_density(x, 0.0, 4.0).tolist())
    assert all(map(math.isfinite, density_curves(ScalingSettings(), 1).exact or ()))


@pytest.mark.parametrize("entries", ["uniform", "signs", "shifted", "linear"])
def test_no_exact_curve_where_the_law_is_another(entries: str) -> None:
    assert density_curves(ScalingSettings(entries=entries), 4).exact is None


def test_theory_of_all_sizes() -> None:
    experiment = ScalingSettings(largest_d_k=4, divisor="d_k", n_samples=100)
    found = variance_theory(experiment)
    assert (found.d_ks, found.variance, found.scaled) == ((1, 2, 4), (1.0, 2.0, 4.0), (1.0, 0.5, 0.25))
    assert list(zip(found.low, found.high, strict=True)) == [theory(d_k).band(100) for d_k in (1, 2, 4)]
