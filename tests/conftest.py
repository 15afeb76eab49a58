"""What the whole suite shares."""

from hypothesis import settings

# No deadline: nothing here asserts on seconds. Derandomized: the same examples on every machine.
settings.register_profile("suite", deadline=None, derandomize=True, max_examples=60)
settings.load_profile("suite")
