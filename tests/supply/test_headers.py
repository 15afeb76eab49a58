"""What the real server sends on each kind of path, whom it refuses and whom it asks: what SECURITY.md says of it."""

import re
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from streamlit.proto.BackMsg_pb2 import BackMsg
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from tests.browser.conftest import Server

FOREIGN = "https://elsewhere.example"
# Streamlit has no setting for them. None keeps the app out of a frame, so that a course page can hold it.
LEFT_TO_A_PROXY = (
    "content-security-policy",
    "referrer-policy",
    "strict-transport-security",
    "x-content-type-options",
    "x-frame-options",
)
LASTING = "public, immutable, max-age=31536000"
KINDS = {
    "the app": (r"/", "text/html; charset=utf-8", "no-cache"),
    "a page": (r"/softmax", "text/html; charset=utf-8", "no-cache"),
    "a script": (r"/static/js/index\.[\w-]+\.js", "application/javascript", LASTING),
    "a style": (r"/static/css/index\.[\w-]+\.css", "text/css; charset=utf-8", LASTING),
    "an icon": (r"/favicon.png", "image/png", LASTING),
    "health": (r"/_stcore/health", "text/plain; charset=utf-8", "no-cache"),
    "host": (r"/_stcore/host-config", "application/json", "no-cache"),
    "metrics": (r"/_stcore/metrics", "application/openmetrics-text", None),
    "a download": (r"/media/\w+\.py", "text/x-python; charset=utf-8", None),
}


class Outside(ThreadingHTTPServer):
    """Stands where a proxy to the internet would: notes what is asked for, and has nothing of it."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Refusal)
        self.address = f"http://127.0.0.1:{self.server_port}"
        self.asked: list[str] = []


class _Refusal(BaseHTTPRequestHandler):
    server: Outside

    def do_GET(self) -> None:
        self.server.asked.append(self.path)
        self.send_error(502)

    do_CONNECT = do_GET  # noqa: N815 - the name that http.server calls

    def log_message(self, *_: object) -> None: ...


@pytest.fixture(scope="module")
def outside() -> Iterator[Outside]:
    with Outside() as proxy:
        threading.Thread(target=proxy.serve_forever, daemon=True).start()
        yield proxy
        proxy.shutdown()


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("server") / "log"


@pytest.fixture(scope="module")
def address(outside: Outside, log: Path) -> Iterator[str]:
    """A server as one is deployed: on every address of the machine, and with the internet behind a proxy."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"):
            patch.setenv(name, outside.address)
        for name in ("no_proxy", "NO_PROXY"):
            patch.delenv(name, raising=False)
        server = Server(log, {"server.address": "0.0.0.0"})
    try:
        yield server.wait()
    finally:
        server.stop()


@pytest.fixture(scope="module")
def served(address: str) -> str:
    """All addresses that the app's own page and the code page's session name."""
    return _get(f"{address}/")[1] + _session(address, "self_attention_code")


def _get(address: str, method: str = "GET", data: bytes | None = None) -> tuple[int, str, Message]:
    request = urllib.request.Request(address, data, {"Origin": FOREIGN}, method=method)
    try:
        with urllib.request.urlopen(request) as answer:
            return answer.status, answer.read().decode(errors="replace"), answer.headers
    except urllib.error.HTTPError as answer:
        return answer.code, answer.read().decode(errors="replace"), answer.headers


def _stream(address: str) -> str:
    return f"{address.replace('http', 'ws')}/_stcore/stream"


def _session(address: str, page: str, query: str = "lang=en") -> str:
    """What a tab receives that opens the page, up to its download."""
    asked, received = BackMsg(), [""]
    asked.rerun_script.page_name = page
    asked.rerun_script.query_string = query
    asked.rerun_script.context_info.locale = "en"
    asked.rerun_script.context_info.url = f"{address}/{page}"
    with connect(_stream(address), origin=address, subprotocols=["streamlit"], max_size=None) as tab:
        tab.send(asked.SerializeToString())
        while not re.search(r"/media/\w+\.py", received[-1]):
            received.append(tab.recv(timeout=60).decode(errors="replace"))
    return "".join(received)


def test_the_server_asks_nobody(outside, address, served):
    """Not at its start, not for a session, not to refuse a page of another origin."""
    assert served
    with pytest.raises(InvalidStatus), connect(_stream(address), origin=FOREIGN):
        pass
    assert outside.asked == []


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_of_path(address, served, kind):
    """Content type and caching; nothing is offered to other origins; what a proxy has to add is not there."""
    pattern, content_type, caching = KINDS[kind]
    path = next(iter(re.findall(pattern.lstrip("/"), served)), pattern.lstrip("/"))
    status, _, headers = _get(f"{address}/{path}")
    assert (status, headers["content-type"], headers["cache-control"]) == (200, content_type, caching)
    assert headers["access-control-allow-origin"] is None
    assert [name for name in LEFT_TO_A_PROXY if name in headers] == []
    cookies = headers.get_all("set-cookie", [])
    assert [name for name in cookies if not name.startswith("_streamlit_xsrf=")] == []


def test_a_download_is_saved_not_opened(address, served):
    path = re.search(r"/media/\w+\.py", served)[0]
    assert _get(address + path)[2]["content-disposition"] == 'attachment; filename="self_attention.py"'


@pytest.mark.parametrize("origin", [FOREIGN, "null"])
def test_a_page_of_another_origin_gets_no_session(address, origin):
    with pytest.raises(InvalidStatus, match="403"), connect(_stream(address), origin=origin):
        pass


def test_an_upload_without_the_token_is_refused(address):
    status, text, _ = _get(f"{address}/_stcore/upload_file/session/file", "PUT", b"x")
    assert (status, text) == (403, "XSRF token missing or invalid")


def test_the_token_stays_with_the_site(address):
    cookie = _get(f"{address}/_stcore/health")[2]["set-cookie"]
    assert cookie.startswith("_streamlit_xsrf=")
    assert "; SameSite=Lax" in cookie


@pytest.mark.parametrize("path", ["app/static/app.py", "_stcore/script-health-check", "component/a/b.js"])
def test_what_is_switched_off(address, path):
    """No files of the project's folder, no runs on demand, no components: the app's own page, or nothing."""
    status, text, _ = _get(f"{address}/{path}")
    assert status == 404 or text == _get(f"{address}/")[1]


def test_no_session_without_a_browser(address):
    status, text, _ = _get(f"{address}/_stcore/agent/interact", "POST", b"{}")
    assert status == 403
    assert "does not serve the agent API" in text


@pytest.mark.parametrize(("size", "code"), [(900_000, 1002), (1_100_000, 1009)])
def test_a_message_over_1_mb_ends_the_session(address, size, code):
    """1009: too large. The smaller one is read, and is no message of Streamlit's: 1002."""
    with connect(_stream(address), origin=address, subprotocols=["streamlit"]) as tab:
        tab.send(b"\xff" * size)
        with pytest.raises(ConnectionClosed) as closed:
            tab.recv(timeout=300)
    assert closed.value.rcvd.code == code


def test_no_log_and_no_metric_tells_what_was_typed(address, log):
    query = "lang=en&text=unmistakable&edits=unmistakable&seed=unmistakable"
    assert "unmistakable" in _session(address, "self_attention_code", query)
    _get(f"{address}/similarity?{query}")
    assert "unmistakable" not in _get(f"{address}/_stcore/metrics")[1]
    assert "Uvicorn server started" in log.read_text()
    assert "unmistakable" not in log.read_text()
