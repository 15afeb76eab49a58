"""Says at the end how many cases were tried; workers hand their counts to the process that started them."""

from typing import Any

import pytest

from tests.hostile.cases import TRIED
from tests.pages.conftest import _pages_by_navigation_only, open_page

__all__ = ["_pages_by_navigation_only", "open_page"]


def pytest_sessionfinish(session: pytest.Session) -> None:
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["tried"] = dict(TRIED)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    TRIED.update(getattr(node, "workeroutput", {}).get("tried", {}))


def pytest_terminal_summary(terminalreporter: Any) -> None:
    for name, count in sorted(TRIED.items()):
        terminalreporter.write_line(f"{count:7,} cases: {name}")
    terminalreporter.write_line(f"{sum(TRIED.values()):7,} hostile cases tried")
