"""Adam, step by step."""

import pytest
import torch
from torch.testing import assert_close

from attn_core.optimizer import Adam


def vector(*values: float) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float64)


def test_the_first_step_by_hand():
    """Mean and square are corrected to g and g²: the step is the rate times g's sign, after the decay."""
    parameter = vector(1.0, -2.0, 0.5)
    Adam(parameter, 0.1, decay=0.2).step(vector(3.0, -0.001, 0.0))
    assert_close(parameter, vector(0.98 - 0.1, -1.96 + 0.1, 0.49), atol=2e-6, rtol=0)


def test_against_loops():
    parameter, gradients = vector(0.3, -0.7), [vector(1.0, 2.0), vector(-0.5, 2.5), vector(0.1, -3.0)]
    expected = parameter.tolist()
    adam = Adam(parameter, 0.05, decay=0.3)
    mean, square = [0.0, 0.0], [0.0, 0.0]
    for t, (gradient, share) in enumerate(zip(gradients, (1.0, 0.5, 0.25), strict=True), 1):
        adam.step(gradient, share)
        rate = 0.05 * share
        for i, g in enumerate(gradient.tolist()):
            mean[i] = 0.9 * mean[i] + 0.1 * g
            square[i] = 0.999 * square[i] + 0.001 * g * g
            size = (square[i] / (1 - 0.999**t)) ** 0.5 + 1e-8
            expected[i] = expected[i] * (1 - rate * 0.3) - rate * (mean[i] / (1 - 0.9**t)) / size
    assert_close(parameter, vector(*expected))


def test_no_share_of_the_rate_moves_nothing():
    parameter = vector(1.0)
    Adam(parameter, 0.1, decay=0.5).step(vector(1.0), 0.0)
    assert parameter.tolist() == [1.0]


@pytest.mark.parametrize("share", [0.1, 1.0])
def test_a_parameter_that_needs_gradients(share):
    parameter = torch.nn.Parameter(vector(1.0))
    Adam(parameter, 0.1).step(vector(1.0), share)
    assert parameter.item() == pytest.approx(1 - 0.1 * share)
    assert parameter.requires_grad
