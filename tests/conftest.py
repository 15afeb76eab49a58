"""What the whole suite shares."""

import pytest
import torch
from hypothesis import settings

# No deadline: nothing here asserts on seconds. Derandomized: the same examples on every machine.
settings.register_profile("suite", deadline=None, derandomize=True, max_examples=60)
settings.load_profile("suite")

# As on the server: the matrices are small, and threads that wait for each other cost more than they give.
torch.set_num_threads(1)


def pytest_collection_modifyitems(items):
    """A set is written in another order in each process: workers would collect tests of different names."""
    for item in items:
        if call := getattr(item, "callspec", None):
            for name, value in call.params.items():
                if isinstance(value, set | frozenset):
                    raise pytest.UsageError(f"{item.nodeid}: {name} is a set; give a tuple")
