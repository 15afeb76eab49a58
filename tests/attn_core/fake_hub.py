"""A model hub on this machine: what the library asks a real one for, and what can go wrong there."""

import contextlib
import hashlib
import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote, urlsplit

REVISION = "0123456789abcdef0123456789abcdef01234567"


@dataclass
class FakeHub:
    """Repositories by name, each with its files, and how the hub behaves.

    Attributes:
        repositories: what is there.
        sizes: what the hub says a file's size is, where this is not true.
        facts: what the hub says of each repository besides its files.
        status: with which every question is answered, where it is not 200.
        page: what every question is answered with instead, as where a network asks for a password first.
        closed: files that are handed out to nobody without an account.
        silent_about: paths with one of these words in them are answered when the hub closes.
        asked: the methods, paths and headers of all questions.
        endpoint: where the hub is.
    """

    repositories: dict[str, dict[str, bytes]]
    sizes: dict[str, int | None] = field(default_factory=dict)
    facts: dict[str, Any] = field(default_factory=dict)
    status: int = 200
    page: bytes | None = None
    closed: tuple[str, ...] = ()
    silent_about: tuple[str, ...] = ()
    asked: list[tuple[str, str, dict[str, str]]] = field(default_factory=list)
    endpoint: str = ""
    closing: threading.Event = field(default_factory=threading.Event)

    def paths(self, method: str | None = None) -> list[str]:
        """What was asked for, in order."""
        return [path for asked, path, _ in self.asked if method in (None, asked)]

    def info(self, name: str) -> dict[str, Any]:
        """What is told of a model."""
        files = self.repositories[name]
        siblings = [
            {"rfilename": file, "blobId": "b" * 40, "size": self.sizes.get(file, len(data))}
            for file, data in files.items()
        ]
        return {"id": name, "modelId": name, "sha": REVISION, "siblings": siblings, **self.facts}

    def tree(self, name: str) -> list[dict[str, Any]]:
        """The same files as the library asks for them when it downloads."""
        files = self.repositories[name]
        return [{"type": "file", "path": file, "size": len(data), "oid": "b" * 40} for file, data in files.items()]


@contextlib.contextmanager
def fake_hub(repositories: dict[str, dict[str, bytes]], **behaviour: Any) -> Iterator[FakeHub]:
    """A hub that answers as long as the block lasts."""
    hub = FakeHub(repositories, **behaviour)
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(hub))
    server.daemon_threads = True
    hub.endpoint = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield hub
    finally:
        hub.closing.set()
        server.shutdown()
        server.server_close()
        thread.join()


def _handler(hub: FakeHub) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_HEAD(self) -> None:
            self.answer()

        def do_GET(self) -> None:
            self.answer()

        def answer(self) -> None:
            hub.asked.append((self.command, self.path, dict(self.headers)))
            path = unquote(urlsplit(self.path).path).strip("/")
            if any(word in path for word in hub.silent_about):
                hub.closing.wait()
            if hub.status != 200:
                self.send(hub.status, b"")
            elif hub.page is not None:
                self.send(200, hub.page)
            elif path.startswith("api/models/"):
                owner, model, *rest = path.removeprefix("api/models/").split("/")
                self.tell(f"{owner}/{model}", "tree" in rest[:1])
            else:
                owner, model, _, revision, *rest = path.split("/")
                self.hand_out(f"{owner}/{model}", revision, "/".join(rest))

        def tell(self, name: str, as_tree: bool) -> None:
            if name not in hub.repositories:
                self.send(401, b"", {"X-Error-Code": "RepoNotFound"})
            else:
                self.send(200, json.dumps(hub.tree(name) if as_tree else hub.info(name)).encode())

        def hand_out(self, name: str, revision: str, file: str) -> None:
            data = hub.repositories[name].get(file)
            if data is None or revision != REVISION:
                self.send(404, b"", {"X-Error-Code": "EntryNotFound"})
            elif file in hub.closed:
                self.send(401, b"", {"X-Error-Code": "GatedRepo"})
            else:
                etag = hashlib.sha256(data).hexdigest()
                self.send(200, data, {"X-Repo-Commit": REVISION, "ETag": f'"{etag}"'})

        def send(self, status: int, data: bytes, headers: dict[str, str] | None = None) -> None:
            with contextlib.suppress(ConnectionError):
                self.send_response(status)
                for header, value in (headers or {}).items():
                    self.send_header(header, value)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(data)

        def log_message(self, format: str, *args: Any) -> None:
            """Says nothing."""

    return Handler
