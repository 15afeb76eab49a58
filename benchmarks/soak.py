"""A long day on one server: sessions come and go on all pages, upload pictures and train; does anything grow?

One real server. Every place is taken by one session after another: each opens the app, does what a member of
benchmarks/classroom.py does, an action every two seconds in the mean, and leaves after a minute in the mean without a
word. Every eighth action is an upload of a picture of its own, as a browser makes it, every eighth a training with a
seed of its own. Whatever goes wrong is an error: an exception or the app's own apology shown, a connection lost, an
upload refused, no answer within ten minutes.

The server's resident memory, threads and open files are read all the time. The slope of memory is fitted by least
squares after the first third of the time, to the means of twelve stretches; its uncertainty is the standard error of
that fit. At the end everybody leaves: threads and open files must then be as few as before the first one came, but for
pools that stay and for what Streamlit keeps: up to 128 sessions for two minutes after they have left, each with three
open files (an event loop). A run of a minute says nothing of memory yet.

    python -m benchmarks.soak [--seconds 1800] [--sessions 50]

Linux only: it reads another process's figures.
"""

import argparse
import asyncio
import io
import itertools
import math
import os
import random
import sys
import time
import urllib.request
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from PIL import Image
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.Common_pb2 import FileURLs
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.PageLink_pb2 import PageLink
from streamlit.proto.WidgetStates_pb2 import WidgetState
from websockets.asyncio.client import ClientConnection, connect

from benchmarks.classroom import plan, prepared_links, request_of
from benchmarks.session import ROOT, Server, serving
from benchmarks.view import View, stream

LONGEST_WAIT = 600.0  # seconds: what hangs is found, and a busy machine is no error
STAY = 60.0  # seconds that a session stays, in the mean
EVERY = 8  # actions
WARM_UP = 1 / 3  # of the time
STRETCHES = 12
KEPT_SESSIONS, FILES_A_SESSION = 128, 3
STAYING_THREADS, STAYING_FILES = 48, 16  # what pools of threads and caches may keep once everybody has left
_FORM = b'--x\r\nContent-Disposition: form-data; name="file"; filename="own.png"\r\n\r\n%s\r\n--x--\r\n'


@dataclass(frozen=True)
class Reading:
    """The server at one moment."""

    seconds: float
    megabytes: float
    threads: int
    files: int


def read(server: Server, began: float) -> Reading:
    of = Path(f"/proc/{server.pid}")
    threads, files = len(os.listdir(of / "task")), len(os.listdir(of / "fd"))
    return Reading(time.monotonic() - began, server.megabytes(), threads, files)


@dataclass(frozen=True)
class Slope:
    """Megabytes an hour, and the standard error of that."""

    value: float
    error: float


def slope(readings: Sequence[Reading]) -> Slope:
    """By least squares through the means of stretches of time: neighbouring readings are too alike to count singly."""
    warm = readings[round(len(readings) * WARM_UP) :]
    stretches = np.array_split([(it.seconds / 3600, it.megabytes) for it in warm], STRETCHES)
    hours, megabytes = np.array([stretch.mean(axis=0) for stretch in stretches]).T
    from_mean = hours - hours.mean()
    rise = (from_mean @ megabytes) / (from_mean @ from_mean)
    left = megabytes - megabytes.mean() - rise * from_mean
    return Slope(rise, math.sqrt((left @ left) / (STRETCHES - 2) / (from_mean @ from_mean)))


@dataclass(eq=False)
class Guest(View):
    """A page that also knows its session, and where its next file may go."""

    session_id: str = ""
    file_urls: FileURLs | None = None

    def take(self, data: bytes) -> bool:
        message = ForwardMsg.FromString(data)
        if message.HasField("new_session"):
            self.session_id = message.new_session.initialize.session_id
        if message.HasField("file_urls_response"):
            (self.file_urls,) = message.file_urls_response.file_urls
            return True
        return super().take(data)

    def open(self, page: str, query: str) -> bytes:
        """Asks for a page by its name, in a prepared state."""
        found = next(it for it in self.navigation.app_pages if it.url_pathname == page)
        return self.request_page(found.page_script_hash, f"{query}&open=true")

    def request_place(self) -> bytes:
        """Asks where a file may be put."""
        request = BackMsg()
        request.file_urls_request.session_id = self.session_id
        request.file_urls_request.file_names.append("own.png")
        return request.SerializeToString()

    def uploaded(self, size: int) -> WidgetState:
        """The field with the file in it."""
        state = WidgetState(id=self.find("file_uploader", "upload").id)
        state.file_uploader_state_value.uploaded_file_info.add(
            file_id=self.file_urls.file_id, name="own.png", size=size, file_urls=self.file_urls
        )
        return state


@dataclass(frozen=True)
class Token:
    """Streamlit's against forged uploads: every browser gets one of its own; here all share one."""

    value: str

    @classmethod
    def of(cls, server: Server) -> "Token":
        with urllib.request.urlopen(f"{server.address}/_stcore/health") as answer:
            return cls(answer.headers["Set-Cookie"].partition("=")[2].partition(";")[0])

    def put(self, address: str, file: bytes) -> None:
        headers = {
            "Cookie": f"_streamlit_xsrf={self.value}",
            "X-Xsrftoken": self.value,
            "Content-Type": "multipart/form-data; boundary=x",
        }
        urllib.request.urlopen(urllib.request.Request(address, _FORM % file, headers, method="PUT")).close()


def picture(drawn: random.Random) -> bytes:
    """A PNG that nobody else has."""
    file = io.BytesIO()
    Image.frombytes("RGB", (96, 96), drawn.randbytes(96 * 96 * 3)).save(file, "PNG")
    return file.getvalue()


@dataclass
class Day:
    """All sessions on one server, and what went wrong."""

    server: Server
    token: Token
    links: list[PageLink]
    answered: Counter[str] = field(default_factory=Counter)
    errors: list[str] = field(default_factory=list)
    n_sessions: int = 0
    is_over: bool = False

    async def keep_a_place_taken(self, first: float) -> None:
        await asyncio.sleep(first)
        while not self.is_over:
            self.n_sessions += 1
            await self._session(self.n_sessions)

    async def _session(self, number: int) -> None:
        drawn = random.Random(number)
        leaves = time.monotonic() + drawn.expovariate(1 / STAY)
        view, kind = Guest(self.server.address, ""), "arrive"
        options = {"subprotocols": ["streamlit"], "max_size": None, "ping_interval": None}
        try:
            async with connect(stream(view.address), **options) as connection:
                await self._ask(connection, view, view.request(), kind)
                for place, action in enumerate(itertools.islice(plan(number, 0), 1, None), 1):
                    await asyncio.sleep(action.pause)
                    if self.is_over or time.monotonic() > leaves:
                        return
                    kind = {0: "upload", EVERY // 2: "training"}.get(place % EVERY, action.kind)
                    if kind == "upload":
                        await self._upload(connection, view, picture(drawn))
                    elif kind == "training":
                        query = f"learning_steps=40&learning_seed={number}&trained=true"
                        await self._ask(connection, view, view.open("training", query), kind)
                    else:
                        await self._ask(connection, view, request_of(view, action, self.links), kind)
        except Exception as error:  # whatever it is: it is counted and printed, and the others go on
            self.errors.append(f"{kind} of session {number} on {view.page!r}: {error!r}")
            await asyncio.sleep(1)

    async def _upload(self, connection: ClientConnection, view: Guest, file: bytes) -> None:
        await self._ask(connection, view, view.open("image_patches", "picture=own"), "page")
        await self._ask(connection, view, view.request_place(), "place")
        await asyncio.to_thread(self.token.put, self.server.address + view.file_urls.upload_url, file)
        await self._ask(connection, view, view.request(view.uploaded(len(file))), "upload")
        if view.find("button", "forget_picture") is None:
            raise RuntimeError("the picture has not arrived")

    async def _ask(self, connection: ClientConnection, view: View, request: bytes, kind: str) -> None:
        async with asyncio.timeout(LONGEST_WAIT):
            await connection.send(request)
            while not view.take(await connection.recv()):
                pass
        self.answered[kind] += 1


async def soak(day: Day, seconds: float, sessions: int) -> list[Reading]:
    """The day; its last reading is made when everybody has left."""
    began, pause = time.monotonic(), min(5.0, seconds / 60)
    readings = [read(day.server, began)]
    arriving = min(STAY, seconds / 4)
    places = [asyncio.create_task(day.keep_a_place_taken(arriving * n / sessions)) for n in range(sessions)]
    while time.monotonic() < began + seconds:
        await asyncio.sleep(pause)
        readings.append(read(day.server, began))
        if len(readings) % 60 == 0:
            print(_line(readings[-1]), flush=True)
    day.is_over = True
    await asyncio.gather(*places)
    await asyncio.sleep(1)  # until the server has closed its ends
    return [*readings, read(day.server, began)]


def _line(at: Reading) -> str:
    return f"{at.seconds:6.0f} s  {at.megabytes:6.0f} MB  {at.threads:4} threads  {at.files:4} files"


def faults(day: Day, readings: Sequence[Reading]) -> list[str]:
    """What must not be."""
    first, last = readings[0], readings[-1]
    found = list(day.errors)
    if last.threads > first.threads + STAYING_THREADS:
        found.append(f"{last.threads} threads are left of {first.threads}")
    kept = FILES_A_SESSION * min(KEPT_SESSIONS, day.n_sessions)
    if last.files > first.files + kept + STAYING_FILES:
        found.append(f"{last.files} open files are left of {first.files}")
    return found


def report(day: Day, readings: Sequence[Reading]) -> None:
    *during, _last = readings
    found, warm = slope(during), during[round(len(during) * WARM_UP) :]
    kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(day.answered.items()))
    print(f"{day.n_sessions} sessions, {day.answered.total()} answers: {kinds}")
    print("before:         ", _line(readings[0]))
    print("at the end:     ", _line(during[-1]))
    print("everybody left: ", _line(readings[-1]))
    print(f"memory's slope after warm-up: {found.value:+.0f} ± {found.error:.0f} MB an hour")
    for name in ("threads", "files"):
        halves = np.array_split([getattr(it, name) for it in warm], 2)
        print(f"{name}, most in the first and the second half after warm-up:", *(max(half) for half in halves))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=1800)
    parser.add_argument("--sessions", type=int, default=50)
    options = parser.parse_args()
    with serving(ROOT / "app.py") as server:
        day = Day(server, Token.of(server), prepared_links(server))
        readings = asyncio.run(soak(day, options.seconds, options.sessions))
    report(day, readings)
    found = faults(day, readings)
    sys.exit("\n".join(found[:20]) if found else None)


if __name__ == "__main__":
    main()
