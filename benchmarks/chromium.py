"""The browser of the benchmarks: the machine's Chromium, else the one that playwright has installed."""

import contextlib
import shutil
from collections.abc import Iterator

from playwright.sync_api import Browser, sync_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome")
FLAGS = ["--no-sandbox", "--disable-background-networking", "--disable-component-update"]


@contextlib.contextmanager
def chromium() -> Iterator[Browser]:
    """A browser for as long as the block lasts."""
    path = next(filter(None, map(shutil.which, NAMES)), None)
    with (
        sync_playwright() as driver,
        contextlib.closing(driver.chromium.launch(executable_path=path, args=FLAGS)) as it,
    ):
        yield it
