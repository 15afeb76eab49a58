"""attend beside PyTorch's own: the works are what they are called, and every comparison has its row."""

import torch
from torch.testing import assert_close

from benchmarks.core import BARE_GOAL, TORCH_GOAL, rows, works


def test_all_works_do_the_same_attention() -> None:
    done = works(8, 2, 5)
    with torch.no_grad():
        assert_close(done["attend"]().output, done["bare"]())
        (mixed, trace), (torchs, weights) = done["layer"](), done["torch"]()
    assert mixed.shape == torchs.shape == (1, 5, 8)
    assert trace.weights.shape == weights.shape == (1, 2, 5, 5)


def test_every_comparison_has_a_row_and_its_goal() -> None:
    threads = torch.get_num_threads()
    found = {row.what: row for row in rows(quick=True)}
    assert torch.get_num_threads() == threads
    for model in ("64 columns, one head", "512 columns, 8 heads"):
        assert found[f"attend / nn.MultiheadAttention: {model}, 16 tokens"].goal == TORCH_GOAL
        assert found[f"whole layer / nn.MultiheadAttention: {model}, 16 tokens"].goal == TORCH_GOAL
        assert found[f"whole layer / nn.MultiheadAttention: {model}, 16 tokens, with gradients"].goal == TORCH_GOAL
        assert found[f"attend / matmul, softmax, matmul: {model}, 16 tokens"].goal == BARE_GOAL
    assert all(row.value > 0 and " beside " in row.beside for row in found.values())
