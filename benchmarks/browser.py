"""What a reader waits for in the browser, and what is sent to it, beside a minimal page of Streamlit and Plotly.

Two real servers, one Chromium. The minimal app has two pages, each with a title, two buttons and one heat map. Ours are
the front door, and the similarity matrix and the pages after it. All times are the browser's own, up to
the end of the frame in which the last chart that Plotly redraws for it is painted:

- click: from the click on "next cell" (minimal: "next") to the charts that it changes;
- page to page: from the click on the button that turns the page to the charts of the next page;
- cold start: from asking for the front door, with nothing in the browser's cache and a warm server, to the first chart.

Bytes are what the network brought for it: files as they were sent, websocket messages before their compression.
Both apps are visited in turn; ratios are medians over the pairs.

    python -m benchmarks.browser [--quick] [--json FILE]
"""

import contextlib
import functools
import statistics
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from playwright.sync_api import Browser, BrowserContext, CDPSession, Page

from benchmarks.chromium import chromium
from benchmarks.rows import Row, number, run_alone
from benchmarks.session import ROOT, opened, serving

PATIENCE = 300_000  # ms; a limit for machines under load, never waited for
MINIMAL_APP = """
import plotly.graph_objects as go
import streamlit as st


def page(name, other):
    st.title(name)
    step = st.session_state.setdefault("step", 0)
    if st.button("Next", key="step_right"):
        st.session_state["step"] = step = step + 1
    if st.button("Turn the page", key="next_page"):
        st.switch_page(pages[other])
    rows = [[row * column + step for column in range(10)] for row in range(10)]
    st.plotly_chart(go.Figure(go.Heatmap(z=rows)), key=f"chart_{name}")


def first():
    page("first", 1)


def second():
    page("second", 0)


pages = [st.Page(first, default=True), st.Page(second)]
st.navigation(pages, position="top").run()
"""

# Notes the moment of the last click, of the first chart and of the last one: the end of the frame that paints it.
WATCH = """
window.noted = {clicked: 0, first: 0, painted: 0}
addEventListener('click', event => { noted.clicked = event.timeStamp }, {capture: true})
const paint = () => requestAnimationFrame(() => setTimeout(() => {
  noted.painted = performance.now()
  noted.first ||= noted.painted
}))
const known = new WeakSet()
const look = () => {
  for (const plot of document.querySelectorAll('.js-plotly-plot')) {
    if (known.has(plot) || !plot.on || !plot.querySelector('.main-svg')) continue
    known.add(plot)
    plot.on('plotly_afterplot', paint)
    paint()
  }
  requestAnimationFrame(look)
}
look()
"""
# The script has finished, a chart has been painted since the click, on a page that had another title before the click
# if it is to be turned, and none for a while.
QUIET = """title => {
  const app = document.querySelector('[data-testid=stApp]'), found = document.querySelector('h1')?.textContent
  return app?.dataset.testConnectionState === 'CONNECTED' && app.dataset.testScriptState === 'notRunning'
    && !document.querySelector('[data-stale=true]') && found && found !== title
    && noted.painted > noted.clicked && performance.now() - noted.painted > 300
}"""
FORWARD = ".st-key-step_right button:enabled, .st-key-step_left button:enabled"
TURN = ".st-key-next_page button:enabled"


@dataclass(frozen=True)
class Seen:
    """Milliseconds until it was painted, and bytes that came for it."""

    milliseconds: float
    n_bytes: int


@dataclass(eq=False)
class Reader:
    """A browser's page on an app; counts the bytes that arrive."""

    page: Page
    network: CDPSession
    n_bytes: int = field(default=0)

    @classmethod
    def arriving(cls, context: BrowserContext, address: str) -> Self:
        """Asks for the address and waits for nothing yet."""
        page = context.new_page()
        page.set_default_timeout(PATIENCE)
        page.add_init_script(WATCH)
        reader = cls(page, context.new_cdp_session(page))
        reader.network.on("Network.loadingFinished", reader._take_file)
        reader.network.on("Network.webSocketFrameReceived", reader._take_message)
        reader.network.send("Network.enable")
        page.goto(address, wait_until="commit")
        return reader

    def _take_file(self, event: dict[str, Any]) -> None:
        self.n_bytes += int(event["encodedDataLength"])

    def _take_message(self, event: dict[str, Any]) -> None:
        """A binary message is told in base64."""
        self.n_bytes += len(event["response"]["payloadData"]) * 3 // 4

    def wait_for_numbers(self) -> float:
        """Milliseconds from asking for the page to its first chart."""
        return float(self.page.wait_for_function("noted.first").json_value())

    def arrived(self) -> Seen:
        """The whole page, after it was asked for."""
        milliseconds = self.wait_for_numbers()
        self._wait_until_quiet()
        return Seen(milliseconds, self.n_bytes)

    def click(self, selector: str, *, leaves: bool = False) -> Seen:
        """A click on the first such button, and all that it changes; `leaves` says that it opens another page."""
        title, before = self.page.locator("h1").first.inner_text() if leaves else "", self.n_bytes
        self.page.locator(selector).first.click()
        self._wait_until_quiet(title)
        milliseconds = self.page.evaluate("noted.painted - noted.clicked")
        return Seen(milliseconds, self.n_bytes - before)

    def _wait_until_quiet(self, title: str = "") -> None:
        self.page.wait_for_function(QUIET, arg=title)


def cold_start(browser: Browser, address: str) -> list[Seen]:
    with contextlib.closing(browser.new_context(locale="en-US")) as context:
        return [Reader.arriving(context, address).arrived()]


def clicks(browser: Browser, address: str, *, selector: str, n_clicks: int, leaves: bool = False) -> list[Seen]:
    """Clicks one after the other; the first warms the page up and is left out."""
    with contextlib.closing(browser.new_context(locale="en-US")) as context:
        reader = Reader.arriving(context, address)
        reader.arrived()
        return [reader.click(selector, leaves=leaves) for _ in range(1 + n_clicks)][1:]


def in_turn(measure: Callable[[str], list[Seen]], ours: str, minimal: str, n_rounds: int) -> list[tuple[Seen, Seen]]:
    """Both apps by turns; the first of several rounds warms the servers up and is left out."""
    rounds = [zip(measure(ours), measure(minimal), strict=True) for _ in range(n_rounds)]
    return [pair for pairs in rounds[n_rounds > 1 :] for pair in pairs]


def in_rows(what: str, pairs: list[tuple[Seen, Seen]], method: str) -> list[Row]:
    """One row for the time and one for the bytes."""
    times = statistics.median(our.milliseconds / their.milliseconds for our, their in pairs)
    sizes = statistics.median(our.n_bytes / max(1, their.n_bytes) for our, their in pairs)
    both = list(zip(*pairs, strict=True))
    milliseconds = [f"{number(statistics.median(each.milliseconds for each in them))} ms" for them in both]
    kilobytes = [f"{number(statistics.median(each.n_bytes for each in them) / 1000)} kB" for them in both]
    method = f"{method}, median of {len(pairs)}"
    return [
        Row(f"{what} / minimal page", times, "×", None, method, " beside ".join(milliseconds)),
        Row(f"bytes, {what} / minimal page", sizes, "×", None, method, " beside ".join(kilobytes)),
    ]


def measure(browser: Browser, ours: str, minimal: str, quick: bool) -> list[Row]:
    """All three, at the addresses of the two apps."""
    n_starts, n_rounds, n_clicks, n_turns = (1, 1, 2, 2) if quick else (8, 4, 6, 6)
    start = functools.partial(cold_start, browser)
    step = functools.partial(clicks, browser, selector=FORWARD, n_clicks=n_clicks)
    turn = functools.partial(clicks, browser, selector=TURN, n_clicks=n_turns, leaves=True)
    starts = in_turn(start, ours, minimal, n_starts)
    steps = in_turn(step, f"{ours}/similarity", minimal, n_rounds)
    turns = in_turn(turn, f"{ours}/one_hot", minimal, n_rounds)
    return [
        *in_rows("cold start to first numbers", starts, "Chromium, front door, empty cache"),
        *in_rows("click to repainted chart", steps, "Chromium, similarity page"),
        *in_rows("page to page", turns, f"Chromium, {n_turns} pages from the similarity page on"),
    ]


def rows(quick: bool) -> list[Row]:
    """Both apps, each warmed up by one session."""
    with contextlib.ExitStack() as stack:
        script = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "minimal.py"
        script.write_text(MINIMAL_APP, encoding="utf-8")
        ours, minimal = (stack.enter_context(serving(it)) for it in (ROOT / "app.py", script))
        for server in (ours, minimal):
            stack.enter_context(opened(server, ""))
        browser = stack.enter_context(chromium())
        return measure(browser, ours.address, minimal.address, quick)


if __name__ == "__main__":
    run_alone(rows, __doc__)
