"""The √d_k experiment's rows: the yardsticks of the table, and the peaks of memory."""

import torch

from benchmarks import scaling, scaling_memory


def test_every_yardstick_has_a_row_and_its_goal() -> None:
    threads = torch.get_num_threads()
    found = {row.what: row for row in scaling.rows(quick=True)}
    assert torch.get_num_threads() == threads
    size = "d_k 1 … 64, 1,000 samples"
    assert found[f"√d_k experiment / drawing alone: {size}"].goal == 1.3
    assert found[f"√d_k experiment / NumPy: {size}"].goal == 1 / 3  # at least three times as fast
    assert found[f"√d_k experiment on two threads / drawing alone: {size}"].goal is None
    assert found[f"√d_k experiment on two threads / NumPy: {size}"].goal is None
    assert sum("longest wait" in what for what in found) == 2
    assert all(row.value > 0 for row in found.values())


def test_only_drawing_draws_as_many_numbers(monkeypatch) -> None:
    drawn = []
    monkeypatch.setattr(torch.Tensor, "normal_", lambda buffer, generator: drawn.append(len(buffer)))  # noqa: ARG005
    scaling.only_draw(10 * scaling.CACHE_SIZED)
    assert sum(drawn) == 10 * scaling.CACHE_SIZED


def test_peaks_of_memory_are_a_ratio() -> None:
    (row,) = scaling_memory.rows(quick=True)
    assert row.what == "√d_k experiment, peak memory, 10,000 / 1,000 samples: d_k 1 … 4"
    assert row.goal == scaling_memory.SLACK
    assert 0.5 < row.value < 2
    assert row.beside.count(" MB (") == 2
