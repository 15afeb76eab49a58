"""The browser's fixtures; and whether every page is looked at in every state, or in half of them."""

import pytest

from tests.browser.conftest import browser, context, server, visit

__all__ = ["browser", "context", "server", "visit"]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--every-state", action="store_true", help="axe-core: each page in both languages and both themes")


def address(name: str, lang: str = "en") -> str:
    """Where a page answers; the home page does at the root."""
    return f"/{'' if name == 'overview' else name}?lang={lang}"
