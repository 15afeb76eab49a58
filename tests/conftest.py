"""What the whole suite shares."""

import torch
from hypothesis import settings

# No deadline: nothing here asserts on seconds. Derandomized: the same examples on every machine.
settings.register_profile("suite", deadline=None, derandomize=True, max_examples=60)
settings.load_profile("suite")

# As on the server: the matrices are small, and threads that wait for each other cost more than they give.
torch.set_num_threads(1)
