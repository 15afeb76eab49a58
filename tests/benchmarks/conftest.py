"""The browser that the whole run shares: a process has room for one Playwright."""

from tests.browser.conftest import browser

__all__ = ["browser"]
