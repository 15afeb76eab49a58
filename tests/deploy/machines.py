"""What deploy/ describes, on one machine: replicas on loopback addresses, a name server that lists them, nginx.

Replicas run the container's own command on the container's own files; nginx reads deploy/nginx.conf.template, and its
placeholders are all that is filled in. Linux only: there all of 127.0.0.0/8 is this machine.
"""

import contextlib
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from pathlib import Path
from string import Template

ROOT = Path(__file__).parents[2]
CONTAINERFILE = (ROOT / "deploy/Containerfile").read_text(encoding="utf-8")
LONGEST_WAIT = 120.0

# nginx's own parts: where the image has them in /etc and /var, one folder; no process of another user.
NGINX = """
daemon off;
master_process off;
pid nginx.pid;
error_log stderr;
events {}
http {
    access_log off;
    client_body_temp_path body;
    proxy_temp_path proxy;
    fastcgi_temp_path fastcgi;
    uwsgi_temp_path uwsgi;
    scgi_temp_path scgi;
    include site.conf;
}
"""


def free_port(address: str) -> int:
    with socket.socket() as probe:
        probe.bind((address, 0))
        return probe.getsockname()[1]


def container_command() -> list[str]:
    """What the container runs, by this Python."""
    return [sys.executable, "-m", *json.loads(re.findall(r"^CMD (.*)$", CONTAINERFILE, re.MULTILINE)[-1])]


def container_environment() -> dict[str, str]:
    found = re.findall(r"^ENV (.*)$", CONTAINERFILE, re.MULTILINE)
    return dict(setting.split("=", 1) for line in found for setting in line.split())


def container_files(folder: Path) -> Path:
    """The files that the container has, and no other of this repository."""
    for line in re.findall(r"^COPY (.*)$", CONTAINERFILE, re.MULTILINE):
        *sources, target = line.split()
        for source in map(Path, sources):
            place = folder / target / source.name if target.endswith("/") else folder / target
            if (ROOT / source).is_dir():
                shutil.copytree(ROOT / source, place, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(ROOT / source, place)
    return folder


class Replica:
    """One container's process; it can be killed and started again at the same address."""

    def __init__(self, files: Path, address: str, port: int) -> None:
        self.name, self._files, self._log = f"{address}:{port}", files, files.with_name(f"{address}.log")
        self._environment = os.environ | container_environment()
        self._environment |= {"STREAMLIT_SERVER_ADDRESS": address, "STREAMLIT_SERVER_PORT": str(port)}
        self._environment |= {"STREAMLIT_SERVER_COOKIE_SECRET": "shared by the replicas of this test"}
        self.start()

    def start(self) -> None:
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                container_command(), cwd=self._files, env=self._environment, stdout=log, stderr=subprocess.STDOUT
            )

    def wait(self) -> None:
        """Returns once the replica is healthy."""
        wait_for_health(self.name, self._process)

    def kill(self) -> None:
        """As a machine dies: without a word to anybody."""
        self._process.kill()
        self._process.wait()

    def terminate(self) -> int:
        """As an orchestrator stops a container; the exit status."""
        self._process.terminate()
        return self._process.wait(LONGEST_WAIT)


class NameServer:
    """Answers every question for an IPv4 address with all replicas, dead or alive."""

    def __init__(self, addresses: list[str]) -> None:
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind(("127.0.0.1", 0))
        self.name = f"127.0.0.1:{self._socket.getsockname()[1]}"
        self._addresses = [socket.inet_aton(address) for address in addresses]
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        with contextlib.suppress(OSError):  # closed
            while True:
                question, sender = self._socket.recvfrom(512)
                self._socket.sendto(self._answer(question), sender)

    def _answer(self, question: bytes) -> bytes:
        """RFC 1035, section 4.1: the question again, and a record for each address (its name is the question's)."""
        header = question[:2] + b"\x81\x80" + bytes([0, 1, 0, len(self._addresses), 0, 0, 0, 0])
        records = (b"\xc0\x0c\x00\x01\x00\x01\x00\x00\x00\x01\x00\x04" + address for address in self._addresses)
        return header + question[12:] + b"".join(records)

    def close(self) -> None:
        self._socket.close()


def site(**filled: str) -> str:
    """deploy/nginx.conf.template as the official image fills it: only what is given, nginx's own $names stay."""
    defaults = {"FRAME_ANCESTORS": "'self'", "COOKIE_SAME_SITE": "SameSite=Lax", "CACHE": "cache"}
    text = (ROOT / "deploy/nginx.conf.template").read_text(encoding="utf-8")
    return Template(text).safe_substitute(defaults | filled)


def nginx_command(folder: Path, conf: str) -> list[str]:
    """nginx with everything it writes in this folder."""
    (folder / "nginx.conf").write_text(NGINX)
    (folder / "site.conf").write_text(conf)
    binary = shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin")
    if binary is None:
        raise RuntimeError("nginx is not installed; `make test` installs it")
    return [binary, "-p", str(folder), "-c", "nginx.conf", "-e", "stderr"]


class Deployment:
    """Two replicas behind nginx, which has a client's address like 127.0.0.1:8080."""

    def __init__(self, folder: Path) -> None:
        files = container_files(folder / "app")
        addresses = ["127.0.0.2", "127.0.0.3"]
        port = free_port(addresses[0])
        self.replicas = {it.name: it for it in (Replica(files, address, port) for address in addresses)}
        self._names = NameServer(addresses)
        self.address = f"127.0.0.1:{free_port('127.0.0.1')}"
        conf = site(
            LISTEN=self.address,
            RESOLVER=self._names.name,
            REPLICAS=f"app:{port}",
            REPLICA_ADDRESSES=rf"127\.0\.0\.[0-9]+:{port}",
        )
        (folder / "nginx").mkdir()
        self._nginx = subprocess.Popen(nginx_command(folder / "nginx", conf), stderr=subprocess.DEVNULL)

    def wait(self) -> None:
        for replica in self.replicas.values():
            replica.wait()
        wait_for_health(self.address, self._nginx)

    def close(self) -> None:
        self._nginx.terminate()
        self._nginx.wait()
        for replica in self.replicas.values():
            replica.kill()
        self._names.close()


def wait_for_health(name: str, process: subprocess.Popen[bytes]) -> None:
    give_up = time.monotonic() + LONGEST_WAIT
    while time.monotonic() < give_up and process.poll() is None:
        with contextlib.suppress(OSError), urllib.request.urlopen(f"http://{name}/_stcore/health", timeout=5) as answer:
            if answer.read() == b"ok":
                return
        time.sleep(0.1)
    raise RuntimeError(f"{name} did not become healthy")
