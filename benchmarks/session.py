"""Real servers and real sessions: a server process, and tabs that speak Streamlit's own messages over a websocket.

Linux only: it reads other processes' processor clocks.
"""

import contextlib
import os
import platform
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path

from streamlit.proto.WidgetStates_pb2 import WidgetState
from websockets.sync.client import ClientConnection, connect

from benchmarks.view import View, stream

ROOT = Path(__file__).parents[1]
LONGEST_WAIT = 120.0
SERVE = "from streamlit.web.cli import main; main()"


@dataclass(frozen=True)
class Server:
    """Where the app answers: its address, a path included, and its process where that is one of this machine."""

    address: str
    pid: int = 0

    @property
    def stream(self) -> str:
        """The address of the websocket."""
        return stream(self.address)

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

    def megabytes(self) -> float:
        """Resident memory of the process."""
        lines = Path(f"/proc/{self.pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 1024


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
    server = Server(f"http://127.0.0.1:{port}", process.pid)
    try:
        _wait_until_healthy(process, server)
        yield server
    finally:
        process.terminate()
        process.wait()


def _wait_until_healthy(process: subprocess.Popen, server: Server) -> None:
    give_up = time.monotonic() + LONGEST_WAIT
    while time.monotonic() < give_up and process.poll() is None:
        with contextlib.suppress(OSError):
            urllib.request.urlopen(f"{server.address}/_stcore/health", timeout=5).close()
            return
        time.sleep(0.1)
    raise RuntimeError(f"the server at {server.address} did not start")


@dataclass(frozen=True)
class Cost:
    """What one run took: seconds of the server's processor, seconds until it had finished, bytes received."""

    processor: float
    waited: float
    n_bytes: int


@dataclass(eq=False)
class Tab(View):
    """One browser tab on a page."""

    server: Server = field(kw_only=True)
    connection: ClientConnection = field(kw_only=True)

    def run(self, *used: WidgetState) -> Cost:
        """Runs what a widget's use runs, and waits until the server is idle again."""
        processor, began = self.server.processor_time(), time.perf_counter()
        n_bytes = self.answer(*used)
        waited = time.perf_counter() - began
        return Cost(self.server.settled_processor_time() - processor, waited, n_bytes)

    def answer(self, *used: WidgetState) -> int:
        """Runs what a widget's use runs; bytes received once that has finished."""
        self.connection.send(self.request(*used))
        n_bytes, finished = 0, False
        while not finished:
            data = self.connection.recv(timeout=LONGEST_WAIT)
            n_bytes += len(data)
            finished = self.take(data)
        return n_bytes


@contextlib.contextmanager
def opened(server: Server, page: str, query: str = "", headers: Mapping[str, str] | None = None) -> Iterator[Tab]:
    """A tab of its own session, with the page run once; `headers` (a proxy's cookie, say) go with its connection."""
    options = {"subprotocols": ["streamlit"], "max_size": None, "ping_interval": None, "additional_headers": headers}
    with connect(server.stream, **options) as connection:
        tab = Tab(server.address, page, query, server=server, connection=connection)
        tab.answer()
        yield tab


def pages(server: Server) -> dict[str, str]:
    """Every page's name and its address, as the app's own navigation lists them; the default page is at the root."""
    with opened(server, "") as tab:
        listed = tab.navigation.app_pages
        return {page.url_pathname or page.page_name: "" if page.is_default else page.url_pathname for page in listed}


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
