"""What one interaction costs the server, page by page, beside a bare page and beside the app without its freeze.

Three real servers run side by side; a websocket session each speaks Streamlit's own messages, clicks, and waits
for the script to finish and the server to become idle. Every click on a page of the app (forward to the next cell
or step, or back where forward is disabled) is followed by one on a bare page with as many Plotly charts of one
trace, sliders and buttons, counted from what the click on the app has just sent, and by one on the same app
without gc.freeze. The bare page imports and freezes what the app does.

Printed are medians over the clicks: processor time of the server's process, the ratio within a click, bytes sent.
Widgets are what a reader operates; other elements (text, tables, links) have no counterpart on the bare page.
Linux only: it reads other processes' processor clocks. Leave the sources alone while it runs: pages are read anew.

    python -m benchmarks.interaction [--quick] [--json FILE]
"""

import argparse
import contextlib
import json
import os
import platform
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from pathlib import Path

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.Element_pb2 import Element
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.Navigation_pb2 import Navigation
from websockets.sync.client import ClientConnection, connect

ROOT = Path(__file__).parents[1]
LONGEST_WAIT = 120.0
CACHED_FOR_RUNS = 2  # as a browser does: global.maxCachedMessageAge

BARE_APP = """
import gc

import pandas
import plotly.graph_objects as go
import streamlit as st
import torch


@st.cache_resource(show_spinner=False)
def freeze():
    torch.set_num_threads(1)
    go.Figure(go.Scatter(y=[1, 2, 3])).to_json()
    gc.collect()
    gc.freeze()


freeze()
for place in range(int(st.query_params.get("charts", 0))):
    st.plotly_chart(go.Figure(go.Scatter(y=[1, 2, 3])), key=f"chart_{place}")
for place in range(int(st.query_params.get("sliders", 0))):
    st.slider(f"Slider {place}", 0, 10, key=f"slider_{place}")
for place in range(int(st.query_params.get("buttons", 0))):
    st.button(f"Button {place}", key=f"button_{place}")
"""

SERVE = "from streamlit.web.cli import main; main()"
SERVE_UNFROZEN = f"import gc; gc.freeze = lambda: None; {SERVE}"


@dataclass(frozen=True)
class Server:
    """A running server: its port and its process."""

    port: int
    pid: int

    def processor_time(self) -> float:
        """Seconds of processor time of all threads so far: Linux makes the clock's number from the process's."""
        return time.clock_gettime((~self.pid << 3) | 2)

    def settled_processor_time(self) -> float:
        """The same once nothing runs any more: garbage is collected after the script has finished."""
        before, now = -1.0, self.processor_time()
        while now - before > 0.002:
            time.sleep(0.1)
            before, now = now, self.processor_time()
        return now


@contextlib.contextmanager
def serving(script: Path, code: str = SERVE) -> Iterator[Server]:
    """A server of its own process for as long as the block lasts."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    options = {"headless": "true", "address": "127.0.0.1", "port": str(port), "fileWatcherType": "none"}
    arguments = [part for name, value in options.items() for part in (f"--server.{name}", value)]
    command = [sys.executable, "-c", code, "run", str(script), "--logger.level", "error", *arguments]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL)
    try:
        _wait_until_healthy(process, port)
        yield Server(port, process.pid)
    finally:
        process.terminate()
        process.wait()


def _wait_until_healthy(process: subprocess.Popen, port: int) -> None:
    give_up = time.monotonic() + LONGEST_WAIT
    while time.monotonic() < give_up and process.poll() is None:
        with contextlib.suppress(OSError):
            urllib.request.urlopen(f"http://127.0.0.1:{port}/_stcore/health", timeout=5).close()
            return
        time.sleep(0.1)
    raise RuntimeError(f"the server on port {port} did not start")


@dataclass
class Tab:
    """One browser tab on a page: what it has been sent, and what it sends back with a click."""

    server: Server
    connection: ClientConnection
    page: str
    query: str = ""
    navigation: Navigation = field(default_factory=Navigation)
    elements: dict[tuple[int, ...], Element] = field(default_factory=dict)
    cached: dict[str, tuple[int, Element]] = field(default_factory=dict)
    n_runs: int = 0

    def run(self, clicked: str = "") -> tuple[float, int]:
        """Runs the page's script; seconds of processor time and bytes received."""
        before = self.server.processor_time()
        self.connection.send(self._request(clicked).SerializeToString())
        n_bytes = self._receive_run()
        return self.server.settled_processor_time() - before, n_bytes

    def _request(self, clicked: str) -> BackMsg:
        """What a browser sends; without the state of widgets that the server knows already."""
        request = BackMsg()
        state = request.rerun_script
        state.query_string = self.query
        state.page_script_hash = self.navigation.page_script_hash
        state.page_name = "" if state.page_script_hash else self.page
        state.cached_message_hashes.extend(self.cached)
        state.context_info.locale = "en"
        state.context_info.url = f"http://127.0.0.1:{self.server.port}/{self.page}"
        if clicked:
            state.widget_states.widgets.add(id=clicked, trigger_value=True)
        return request

    def _receive_run(self) -> int:
        """Takes messages until the script has finished (a script that runs again has not); how many bytes."""
        self.n_runs += 1
        n_bytes, finished = 0, False
        while not finished:
            data = self.connection.recv(timeout=LONGEST_WAIT)
            message = ForwardMsg.FromString(data)
            self._take(message)
            n_bytes += len(data)
            finished = (
                message.HasField("script_finished") and message.script_finished != message.FINISHED_EARLY_FOR_RERUN
            )
        self.cached = {name: it for name, it in self.cached.items() if self.n_runs - it[0] < CACHED_FOR_RUNS}
        return n_bytes

    def _take(self, message: ForwardMsg) -> None:
        kind = message.WhichOneof("type")
        if kind == "new_session":
            self.elements.clear()
        elif kind == "navigation":
            self.navigation = message.navigation
        elif kind == "page_info_changed":
            self.query = message.page_info_changed.query_string
        elif kind == "ref_hash":
            self._place(message, message.ref_hash, self.cached[message.ref_hash][1])
        elif kind == "delta" and message.delta.HasField("new_element"):
            self._place(message, message.hash if message.metadata.cacheable else "", message.delta.new_element)
        elif kind == "page_not_found":
            raise RuntimeError(f"there is no page {self.page!r}")

    def _place(self, message: ForwardMsg, name: str, element: Element) -> None:
        if element.HasField("exception"):
            raise RuntimeError(f"the page {self.page!r} shows an exception: {element.exception.message}")
        self.elements[tuple(message.metadata.delta_path)] = element
        if name:
            self.cached[name] = (self.n_runs, element)

    def counts(self) -> Counter[str]:
        """How many charts, buttons, sliders (every other widget) and other elements are on the page."""
        return Counter(_sort_of(element) for element in self.elements.values())

    def button(self, *keys: str) -> str:
        """The widget of the first of the keys whose button can be pressed."""
        buttons = [element.button for element in self.elements.values() if element.HasField("button")]
        enabled = [button.id for button in buttons if not button.disabled]
        return next(name for key in keys for name in enabled if name.endswith(f"-{key}"))


def _sort_of(element: Element) -> str:
    kind = element.WhichOneof("type")
    if kind == "plotly_chart":
        return "charts"
    if kind in ("button", "download_button"):
        return "buttons"
    content = getattr(element, kind)
    is_widget = hasattr(content, "form_id") and content.id and kind != "bidi_component"
    return "sliders" if is_widget else "others"


@contextlib.contextmanager
def opened(server: Server, page: str, query: str = "") -> Iterator[Tab]:
    """A tab of its own session, with the page run once."""
    address = f"ws://127.0.0.1:{server.port}/_stcore/stream"
    with connect(address, subprotocols=["streamlit"], max_size=None) as connection:
        tab = Tab(server, connection, page, query)
        tab.run()
        yield tab


@dataclass(frozen=True)
class Click:
    """One click on each of the three: what was on the page, milliseconds, bytes from the app."""

    charts: int
    widgets: int
    others: int
    app: float
    bare: float
    unfrozen: float
    n_bytes: int
    bare_bytes: int


def click(app: Tab, bare: Tab, unfrozen: Tab) -> Click:
    """Clicks on the app, on a bare page of the same counts, and on the app without the freeze."""
    took, n_bytes = app.run(app.button("step_right", "step_left"))
    counts = app.counts()
    bare.query = _bare_query(counts)
    bare_took, bare_bytes = bare.run(bare.button("button_0"))
    if any(bare.counts()[sort] != counts[sort] for sort in ("charts", "buttons", "sliders")):
        raise RuntimeError(f"the bare page has {bare.counts()}, not {counts}")
    unfrozen_took, _ = unfrozen.run(unfrozen.button("step_right", "step_left"))
    widgets = counts["buttons"] + counts["sliders"]
    times = (1000 * seconds for seconds in (took, bare_took, unfrozen_took))
    return Click(counts["charts"], widgets, counts["others"], *times, n_bytes, bare_bytes)


def _bare_query(counts: Counter[str]) -> str:
    return "&".join(f"{sort}={counts[sort]}" for sort in ("charts", "buttons", "sliders"))


def measure_page(servers: tuple[Server, Server, Server], page: str, n_clicks: int) -> list[Click]:
    """Clicks through one page; the first two warm up and are left out."""
    app_server, bare_server, unfrozen_server = servers
    with contextlib.ExitStack() as stack:
        app, unfrozen = (stack.enter_context(opened(server, page)) for server in (app_server, unfrozen_server))
        bare = stack.enter_context(opened(bare_server, "", _bare_query(app.counts())))
        return [click(app, bare, unfrozen) for _ in range(2 + n_clicks)][2:]


def pages(server: Server) -> dict[str, str]:
    """Every page's name and its address, as the app's own navigation lists them; the default page is at the root."""
    with opened(server, "") as tab:
        listed = tab.navigation.app_pages
        return {page.url_pathname or page.page_name: "" if page.is_default else page.url_pathname for page in listed}


def summary(name: str, clicks: list[Click]) -> dict[str, float | str]:
    """A row of the table: medians, and medians of the ratios within a click."""
    row: dict[str, float | str] = {"page": name}
    for column in Click.__dataclass_fields__:
        row[column] = round(statistics.median(getattr(each, column) for each in clicks), 2)
    row["app_over_bare"] = round(statistics.median(each.app / each.bare for each in clicks), 3)
    row["app_over_unfrozen"] = round(statistics.median(each.app / each.unfrozen for each in clicks), 3)
    return row


HEADING = (
    f"{'':22}{'':>8}{'':>8}{'other':>8}  processor ms per click     app over         bytes per click\n"
    f"{'page':22}{'charts':>8}{'widgets':>8}{'elements':>9}{'app':>8}{'bare':>8}{'unfrozen':>9}"
    f"{'bare':>7}{'unfrozen':>9}{'app':>9}{'bare':>8}"
)


def line(row: dict[str, float | str]) -> str:
    return (
        f"{row['page']:22}{row['charts']:>8.0f}{row['widgets']:>8.0f}{row['others']:>9.0f}"
        f"{row['app']:>8.1f}{row['bare']:>8.1f}{row['unfrozen']:>9.1f}"
        f"{row['app_over_bare']:>7.2f}{row['app_over_unfrozen']:>9.2f}{row['n_bytes']:>9.0f}{row['bare_bytes']:>8.0f}"
    )


def machine() -> dict[str, str]:
    """What the run was made on."""
    models = [text for text in Path("/proc/cpuinfo").read_text().splitlines() if text.startswith("model name")]
    return {
        "processor": models[0].partition(":")[2].strip() if models else platform.machine(),
        "cores": str(os.cpu_count()),
        "load before": f"{os.getloadavg()[0]:.1f}",
        "python": platform.python_version(),
        **{name: version(name) for name in ("streamlit", "plotly", "torch", "pandas")},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="five clicks a page instead of 15")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the rows and every click to a file")
    options = parser.parse_args()
    about, rows = machine(), []
    print(", ".join(f"{name} {value}" for name, value in about.items()), HEADING, sep="\n", flush=True)
    with contextlib.ExitStack() as stack:
        bare_script = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "bare.py"
        bare_script.write_text(BARE_APP, encoding="utf-8")
        scripts = ((ROOT / "app.py", SERVE), (bare_script, SERVE), (ROOT / "app.py", SERVE_UNFROZEN))
        servers = tuple(stack.enter_context(serving(*script)) for script in scripts)
        for name, address in pages(servers[0]).items():
            clicks = measure_page(servers, address, 5 if options.quick else 15)
            rows.append(summary(name, clicks) | {"clicks": [asdict(each) for each in clicks]})
            print(line(rows[-1]), flush=True)
    if options.json:
        options.json.write_text(json.dumps({"machine": about, "pages": rows}, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
