"""What a reader types and uploads is in the memory of a session and nowhere else: no file, no log."""

import io
import socket
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from PIL import Image
from starlette.formparsers import MultiPartParser

from attn_core.limits import MAX_PICTURE_BYTES
from benchmarks.fullest import upload
from benchmarks.session import ROOT, Server, opened
from pages.shared import picture_choice
from tests.pages.waiting import until

MARK = "qzxjvwkp"
EDIT = "123.4321"

# A server that cannot write a byte into any file: what would have to be written fails.
UNABLE = """
import resource, signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
from streamlit.web.cli import main
main()
"""


@pytest.fixture
def unable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Server, list[bytes]]]:
    """The server, with folders of its own, and what it has said so far."""
    for folder in ("HOME", "TMPDIR"):
        monkeypatch.setenv(folder, str(tmp_path))
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    options = {"server.headless": "true", "server.address": "127.0.0.1", "server.port": port, "logger.level": "debug"}
    options |= {"server.fileWatcherType": "none"}
    command = [sys.executable, "-c", UNABLE, "run", "app.py", *(f"--{name}={value}" for name, value in options.items())]
    said: list[bytes] = []
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        listener = threading.Thread(target=lambda: said.extend(process.stdout or ()))
        listener.start()
        server = Server(f"http://127.0.0.1:{port}", process.pid)
        try:
            until(lambda: is_healthy(server))
            yield server, said
        finally:
            process.terminate()
            listener.join()


def is_healthy(server: Server) -> bool:
    try:
        with urllib.request.urlopen(f"{server.address}/_stcore/health", timeout=5) as answer:
            return answer.read() == b"ok"
    except OSError:
        return False


def picture() -> bytes:
    """As large as an upload may be, all but its frame, with the mark behind the picture."""
    target = io.BytesIO()
    Image.new("RGB", (40, 24), (200, 10, 10)).save(target, "PNG")
    return (target.getvalue() + MARK.encode() * MAX_PICTURE_BYTES)[: MAX_PICTURE_BYTES - 1000]


def test_text_edits_and_uploads_are_neither_written_nor_logged(unable, tmp_path):
    """Nor is any file open that holds them; the picture arrives although nothing can be written."""
    server, said = unable
    link = f"lang=en&picture=own&text={MARK}&seed={MARK}&edits={quote(f'W_Q[0,0]={EDIT} {MARK}')}"
    with opened(server, "image_patches", link) as tab:
        upload(tab, picture(), f"{MARK}.png")
        shown = "\n".join(element.markdown.body for element in tab.elements.values() if element.HasField("markdown"))
        assert "40 × 24 pixels" in shown
        names = [str(path.readlink()) for path in Path(f"/proc/{server.pid}/fd").iterdir()]
        assert [name for name in names if MARK in name or str(tmp_path) in name] == []
    written = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert [path for path in written if path.stat().st_size] == []
    log = b"".join(said)
    assert b"GET" in log or b"session" in log.lower(), "it has been told to say much"
    assert MARK.encode() not in log
    assert EDIT.encode() not in log


def test_of_a_file_that_was_read_the_server_keeps_nothing(open_page):
    page = open_page("image_patches", lang="en", picture="own")
    page = page.file_uploader(key="upload").set_value(("a.png", picture(), "image/png")).run()
    assert not page.exception
    assert page.session_state["_own_picture"].width == 40
    field = page.session_state["upload"]
    assert field is None or field.getvalue() == b""


def test_no_upload_is_large_enough_for_a_file_on_disk():
    assert MultiPartParser.spool_max_size > MAX_PICTURE_BYTES
    assert picture_choice.MAX_PICTURE_BYTES == MAX_PICTURE_BYTES
