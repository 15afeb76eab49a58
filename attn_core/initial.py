"""Parameters drawn from a generator of one's own."""

from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.overrides import TorchFunctionMode

# nn.Linear draws by the first two, nn.MultiheadAttention by the third, too.
_DRAWS = (nn.init.kaiming_uniform_, nn.init.uniform_, torch.Tensor.uniform_)


class InitialisedFrom(TorchFunctionMode):
    """Inside of it (and in this thread only) torch's layers draw their parameters from the given generator.

    The layers offer no argument for it, and seeding a copy of the global generator would still disturb
    whoever draws at the same time: all sessions of a server share that one.
    """

    def __init__(self, generator: torch.Generator) -> None:
        super().__init__()
        self.generator = generator

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        own = {"generator": self.generator} if func in _DRAWS else {}
        return func(*args, **(kwargs or {}) | own)
