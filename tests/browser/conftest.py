"""A real browser on the real server: one browser and one warm server for all, a fresh server where it matters."""

import contextlib
import functools
import shutil
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from tests.browser.driving import settle

ROOT = Path(__file__).parents[2]
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",  # no test reaches another host, even by mistake
]
PROBES = ("_stcore/health", "_stcore/host-config")  # Streamlit asks for them under the page's path and gets a 404
LOCALES = {"ja": "ja-JP", "en": "en-US"}
TIMEOUT = 120_000  # ms; a limit for machines under load, never waited for
expect.set_options(timeout=TIMEOUT)

Visit = Callable[..., Page]


class Server:
    """The app on a free port of this machine; started at once, ready after `wait`."""

    def __init__(
        self,
        log: Path,
        others: Mapping[str, str] = MappingProxyType({}),
        *,
        port: int | None = None,
        program: str = "streamlit",
    ) -> None:
        self.port = port or _free_port()
        self.address, self._log = f"http://127.0.0.1:{self.port}", log
        options = {
            "server.headless": "true",
            "server.address": "127.0.0.1",
            "server.port": self.port,
            "server.fileWatcherType": "none",
            **others,
        }
        command = [sys.executable, "-m", program, "run", "app.py", *(f"--{k}={v}" for k, v in options.items())]
        with log.open("wb") as output:
            self._process = subprocess.Popen(command, cwd=ROOT, stdout=output, stderr=subprocess.STDOUT)

    def wait(self) -> str:
        """The address, once the server answers."""
        while self._process.poll() is None:
            with (
                contextlib.suppress(OSError),
                urllib.request.urlopen(f"{self.address}/_stcore/health", timeout=5) as answer,
            ):
                if answer.read() == b"ok":
                    return self.address
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(0.1)
        raise RuntimeError(f"the app did not start:\n{self._log.read_text()}")

    def stop(self) -> None:
        self._process.terminate()
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:  # a run in full work
            self.kill()

    def kill(self) -> None:
        """As a machine dies: without a word to anybody."""
        self._process.kill()
        self._process.wait()

    def signal(self, number: int) -> None:
        self._process.send_signal(number)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server that all tests share."""
    warm = Server(tmp_path_factory.mktemp("server") / "warm.log")
    try:
        yield warm.wait()
    finally:
        warm.stop()


@pytest.fixture(scope="module")
def _fresh_servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[], Server]]:
    """The next server starts while the one before is in use."""
    folder, started = tmp_path_factory.mktemp("fresh"), []

    def start() -> None:
        started.append(Server(folder / f"{len(started)}.log"))

    def take() -> Server:
        start()
        return started[-2]

    start()
    yield take
    for left in started:
        left.stop()


@pytest.fixture
def fresh_server(_fresh_servers: Callable[[], Server]) -> Iterator[str]:
    """The address of a server that has not yet answered for any page."""
    fresh = _fresh_servers()
    yield fresh.wait()
    fresh.stop()


@pytest.fixture(scope="session")
def browser(request: pytest.FixtureRequest) -> Browser:
    return _chromium(request.config)


@functools.cache
def _chromium(config: pytest.Config) -> Browser:
    """One for a whole process: folders that take this fixture over have one of their own, and Playwright runs once."""
    path = next(filter(None, map(shutil.which, BROWSERS)), None)  # else the one that playwright has installed
    driver = sync_playwright().start()
    chromium = driver.chromium.launch(executable_path=path, args=FLAGS)
    config.add_cleanup(driver.stop)
    config.add_cleanup(chromium.close)
    return chromium


@pytest.fixture(scope="session")
def context(browser: Browser) -> Callable[[str, int, str], BrowserContext]:
    """Contexts by language, width and theme; each keeps its cache."""
    made: dict[tuple[str, int, str], BrowserContext] = {}

    def context(lang: str, width: int, theme: str) -> BrowserContext:
        key = (lang, width, theme)
        if key not in made:
            size = {"width": width, "height": 844 if width < 600 else 800}
            made[key] = browser.new_context(viewport=size, locale=LOCALES[lang], color_scheme=theme)
            made[key].set_default_timeout(TIMEOUT)
        return made[key]

    return context


@pytest.fixture
def visit(server: str, context: Callable[[str, int, str], BrowserContext]) -> Iterator[Visit]:
    """`visit("/softmax?seed=3")`: the page, drawn. What nobody should see fails the test at its end."""
    faults: list[str] = []
    pages: list[Page] = []

    def visit(path: str, *, lang: str = "ja", width: int = 1280, theme: str = "light", at: str = server) -> Page:
        page = context(lang, width, theme).new_page()
        pages.append(page)
        _watch(page, at, faults)
        page.goto(at + path)
        settle(page)
        return page

    yield visit
    for page in pages:
        faults += [f"exception: {text}" for text in page.locator("[data-testid=stException]").all_inner_texts()]
        faults += [f"fault: {text}" for text in page.locator(".st-key-fault").all_inner_texts()]
        faults += [f"dialog: {text}" for text in page.locator("[role=dialog]").all_inner_texts()]
        faults += ["page not found"] * page.get_by_text("Page not found").count()
        page.close()
    assert not faults, "\n".join(faults)


def _watch(page: Page, address: str, faults: list[str]) -> None:
    def console(message: Any) -> None:
        if message.type == "error" and not message.location["url"].endswith(PROBES):
            faults.append(f"console: {message.text}")

    def request(asked: Any) -> None:
        if asked.url.startswith(("http", "ws")) and asked.url.split("/")[2] != address.split("/")[2]:
            faults.append(f"other host: {asked.url}")

    def dialog(opened: Any) -> None:
        faults.append(f"dialog: {opened.message}")
        opened.dismiss()

    page.on("console", console)
    page.on("pageerror", lambda error: faults.append(f"page error: {error}"))
    page.on("request", request)
    page.on("websocket", request)
    page.on("dialog", dialog)
