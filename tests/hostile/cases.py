"""How many cases are tried: a number for all tests of this folder, which share it (their percentages come to 100).

`ATTENTION_EXPLORER_CASES` sets it; `make hostile` asks for ten times more. A test that runs fewer than its share fails.
"""

import functools
import math
import os
from collections import Counter
from collections.abc import Callable
from typing import Any

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.strategies import SearchStrategy

CASES = int(os.environ.get("ATTENTION_EXPLORER_CASES", "2400"))
TRIED: Counter[str] = Counter()


def cases(percent: float, **values: SearchStrategy[Any]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Runs the test with so many percent of all cases, and counts those that it has come through.

    The first case that fails is shown as it is: to look for a smaller one would open pages for minutes.
    """

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        planned = math.ceil(CASES * percent / 100)

        @functools.wraps(test)
        def counting(*arguments: Any, **options: Any) -> None:
            test(*arguments, **options)
            TRIED[test.__name__] += 1

        generated = given(**values)(counting)
        checks = (HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large)

        @functools.wraps(generated)
        def whole(*arguments: Any, **options: Any) -> None:
            before = TRIED[test.__name__]
            plan = settings(max_examples=planned, suppress_health_check=checks, phases=[Phase.generate])
            plan(generated)(*arguments, **options)
            assert TRIED[test.__name__] - before >= planned, "there are not so many different cases"

        return whole

    return decorate
