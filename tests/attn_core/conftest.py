"""What the core's tests share."""

from collections.abc import Iterator

import pytest
import torch


@pytest.fixture(autouse=True)
def _global_generator_untouched() -> Iterator[None]:
    """Every session of a server shares torch's global generator: nothing may draw from it or seed it."""
    before = torch.get_rng_state()
    yield
    after = torch.get_rng_state()
    torch.set_rng_state(before)
    assert torch.equal(before, after), "torch's global random generator was touched: use a generator of your own"
