"""Adam, by hand: torch.optim loads a compiler with its first step."""

import torch
from torch import Tensor

# The usual constants (Kingma and Ba 2014, arXiv 1412.6980, algorithm 1).
_FIRST, _SECOND, _EPSILON = 0.9, 0.999, 1e-8


class Adam:
    """Adam with decoupled decay (Loshchilov and Hutter 2017, algorithm 2) for one tensor, changed in place."""

    def __init__(self, parameter: Tensor, learning_rate: float, *, decay: float | Tensor = 0.0) -> None:
        self._parameter, self._rate, self._decay, self._steps = parameter, learning_rate, decay, 0
        self._mean, self._square = torch.zeros_like(parameter), torch.zeros_like(parameter)

    @torch.no_grad()
    def step(self, gradient: Tensor, share: float = 1.0) -> None:
        """Moves the parameter one step against the gradient, at this share of the learning rate."""
        rate = share * self._rate
        self._steps += 1
        self._mean.lerp_(gradient, 1 - _FIRST)
        self._square.lerp_(gradient.square(), 1 - _SECOND)
        mean = self._mean / (1 - _FIRST**self._steps)
        size = (self._square / (1 - _SECOND**self._steps)).sqrt() + _EPSILON
        self._parameter.mul_(1 - rate * self._decay).sub_(rate * mean / size)
