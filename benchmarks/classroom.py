"""A class on one server: everybody opens the app and then does something every two seconds, on all pages.

One real server; every member is a websocket session that speaks Streamlit's own messages. The class grows (1, 20, 100,
200): new members arrive within ten seconds, a third of them with a prepared link, the others at the front door. Then
each does what the plan says: mostly a step button, also a slider, another page, a prepared link, a sentence of their
own, the other language. Between two actions are exponentially distributed pauses of two seconds in the mean, counted
from one sending to the next; nobody acts before the last answer is complete. The plan is drawn from a seed. Every page
has been opened once before, as a lecturer does.

The wait runs from sending an action to the end of the page's script; arriving counts as an action. Whatever goes wrong
is an error: an exception shown, a connection lost, no answer within two minutes; the member then comes back by its
link. Actions a second say whether the class was held up: planned is half the number of members. Memory is the server's
resident memory at the end of each size. At last everybody leaves, and three rounds of a new class come and go: memory
after each says whether something stays. (Streamlit keeps up to 128 sessions of those who left for two minutes.)

The class is one process on the same machine; its own share of one processor is printed beside.
Linux only: it reads another process's figures. Servers elsewhere, or a proxy in front of several, are given by address;
members are spread over the addresses in turn, and nothing is said about memory or processors:

    python -m benchmarks.classroom [--quick] [--json FILE]
    python -m benchmarks.classroom --address http://127.0.0.1:8080 [ADDRESS ...] --members 40 --seconds 30
"""

import argparse
import asyncio
import random
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from streamlit.proto.PageLink_pb2 import PageLink
from websockets.asyncio.client import ClientConnection, connect

from benchmarks.rows import Row, percentile, run_alone
from benchmarks.session import LONGEST_WAIT, ROOT, Server, opened, pages, serving
from benchmarks.view import View, stream

SEED = 0
PAUSE = 2.0  # seconds between two actions of a member, in the mean
WITH_LINK = 1 / 3

# What a member does next, with its weight.
KINDS = {"step": 52, "slider": 15, "page": 18, "prepared link": 5, "sentence": 5, "language": 5}
# Sliders that only show something else; others set up a training or an experiment.
SLIDERS = ("temperature", "offset", "moved", "padding", "input_scale", "rollout_layers", "d_model")
WORDS = "the cat sat on a mat because it was tired and dogs chase birds near old river".split()
N_WORDS = 6

T = TypeVar("T")


@dataclass(frozen=True)
class Pace:
    """How the class grows, how long it takes to arrive and then acts, and how often a new one comes and goes."""

    sizes: tuple[int, ...]
    arriving: float
    seconds: float
    rounds: int
    seconds_a_round: float


FULL = Pace((1, 20, 100, 200), arriving=10, seconds=20, rounds=3, seconds_a_round=10)
QUICK = Pace((1, 2, 4), arriving=1, seconds=3, rounds=1, seconds_a_round=1)


@dataclass(frozen=True)
class Action:
    """What a member does next: seconds after the last action was sent; `draw` (0 … 1) chooses among what is there."""

    pause: float
    kind: str
    draw: float


def plan(member: int, arriving: float) -> Iterator[Action]:
    """All that a member is going to do, without end; first arriving."""
    drawn = random.Random(f"{SEED}, {member}")
    yield Action(drawn.uniform(0, arriving), "arrive", drawn.random())
    while True:
        (kind,) = drawn.choices(tuple(KINDS), tuple(KINDS.values()))
        yield Action(drawn.expovariate(1 / PAUSE), kind, drawn.random())


def chosen(draw: float, among: Sequence[T]) -> T:
    return among[int(draw * len(among))]


def request_of(view: View, action: Action, links: Sequence[PageLink]) -> bytes:
    """The message that the action sends from where the member is; a step where the page does not offer it."""
    if action.kind == "page":
        return view.request_page(chosen(action.draw, view.navigation.app_pages).page_script_hash)
    if action.kind == "prepared link":
        link = chosen(action.draw, links)
        return view.request_page(link.page_script_hash, link.query_string)
    if action.kind == "slider" and (sliders := [key for key in SLIDERS if view.find("slider", key)]):
        return _slide(view, chosen(action.draw, sliders), random.Random(action.draw))
    if action.kind == "sentence" and view.find("text_input", "text"):
        return view.request(view.text("text", " ".join(random.Random(action.draw).sample(WORDS, N_WORDS))))
    if action.kind == "language" and view.find("button_group", "lang"):
        return view.request(view.group("lang", "English" if "lang=ja" in view.query else "日本語"))
    return view.request(view.step()) if view.has_step() else view.request()


def _slide(view: View, key: str, drawn: random.Random) -> bytes:
    slider = view.find("slider", key)
    n_steps = round((slider.max - slider.min) / slider.step)
    return view.request(view.slider(key, slider.min + slider.step * drawn.randint(0, n_steps)))


@dataclass(frozen=True)
class Answer:
    """One action: when it was sent, and how it was answered."""

    kind: str
    sent: float
    waited: float
    n_bytes: int = 0
    error: str = ""


@dataclass
class Class:
    """All members, and what they have been answered."""

    servers: tuple[Server, ...]
    links: list[PageLink]
    arriving: float
    answers: list[Answer] = field(default_factory=list)
    members: list[asyncio.Task] = field(default_factory=list)
    n_gone: int = 0
    is_over: bool = False

    def grow(self, size: int) -> None:
        """New members, up to this size."""
        for place in range(len(self.members), size):
            self.members.append(asyncio.create_task(self._take_part(self.n_gone + place)))

    async def leave(self) -> None:
        """Everybody goes once answered."""
        self.is_over = True
        await asyncio.gather(*self.members)
        self.n_gone += len(self.members)
        self.members, self.is_over = [], False

    async def _take_part(self, member: int) -> None:
        actions = plan(member, self.arriving)
        first = next(actions)
        view = self._at_the_door(self.servers[member % len(self.servers)], first.draw)
        await asyncio.sleep(first.pause)
        while not self.is_over:
            await self._act(view, actions)
            view = View(view.address, view.page, view.query)

    def _at_the_door(self, server: Server, draw: float) -> View:
        if draw >= WITH_LINK:
            return View(server.address, "")
        link = chosen(draw / WITH_LINK, self.links)
        return View(server.address, link.page, link.query_string)

    async def _act(self, view: View, actions: Iterator[Action]) -> None:
        """Arrives and acts until the class is over or something goes wrong."""
        kind, sent = "arrive", time.perf_counter()
        options = {"subprotocols": ["streamlit"], "max_size": None, "ping_interval": None}
        try:
            async with connect(stream(view.address), **options) as connection:
                await self._ask(connection, view, view.request(), kind, sent)
                for action in actions:
                    await asyncio.sleep(sent + action.pause - time.perf_counter())
                    if self.is_over:
                        return
                    kind, sent = action.kind, time.perf_counter()
                    await self._ask(connection, view, request_of(view, action, self.links), kind, sent)
        except Exception as error:  # whatever it is: it is counted and printed, and the others go on
            self.answers.append(Answer(kind, sent, time.perf_counter() - sent, error=repr(error)))
            await asyncio.sleep(1)

    async def _ask(self, connection: ClientConnection, view: View, request: bytes, kind: str, sent: float) -> None:
        n_bytes, finished = 0, False
        async with asyncio.timeout(LONGEST_WAIT):
            await connection.send(request)
            while not finished:
                data = await connection.recv()
                n_bytes += len(data)
                finished = view.take(data)
        self.answers.append(Answer(kind, sent, time.perf_counter() - sent, n_bytes))


@dataclass(frozen=True)
class Phase:
    """The time in which the class had one size: processor seconds of both sides, memory at its end."""

    group: Class
    size: int
    began: float
    seconds: float
    client: float
    server: float
    megabytes: float

    def answers(self) -> list[Answer]:
        """What was asked in this time, once everybody has been answered."""
        return [one for one in self.group.answers if self.began <= one.sent < self.began + self.seconds]

    def wait(self, share: float, kind: str = "") -> float:
        return percentile((one.waited for one in self.answers() if kind in ("", one.kind)), share)


async def phase(group: Class, size: int, seconds: float) -> Phase:
    """The class grows to a size, and acts."""
    here = [server for server in group.servers if server.pid]
    began, client, server = time.perf_counter(), time.process_time(), sum(it.processor_time() for it in here)
    group.grow(size)
    await asyncio.sleep(group.arriving + seconds)
    took = time.perf_counter() - began, time.process_time() - client, sum(it.processor_time() for it in here) - server
    return Phase(group, size, began, *took, sum(it.megabytes() for it in here))


HEADING = (
    f"{'':7}{'':>9}{'actions':>9}  wait in s             arriving   processor ms an action  class  kB per  server's\n"
    f"{'members':7}{'actions':>9}{'a second':>9}{'p50':>7}{'p95':>7}{'longest':>9}{'p95':>9}{'server':>12}{'class':>9}"
    f"{'busy':>9}{'action':>8}{'MB':>8}{'errors':>8}"
)


def line(found: Phase) -> str:
    answers = found.answers()
    n = len(answers)
    return (
        f"{found.size:<7}{n:>9}{n / found.seconds:>9.1f}{found.wait(0.5):>7.2f}{found.wait(0.95):>7.2f}"
        f"{found.wait(1):>9.2f}{found.wait(0.95, 'arrive'):>9.2f}"
        f"{1000 * found.server / n:>12.1f}{1000 * found.client / n:>9.1f}{found.client / found.seconds:>9.0%}"
        f"{sum(one.n_bytes for one in answers) / n / 1000:>8.1f}{found.megabytes:>8.0f}"
        f"{sum(bool(one.error) for one in answers):>8}"
    )


async def sizes_of(group: Class, pace: Pace) -> list[Phase]:
    """The class at each of its sizes."""
    found = [await phase(group, size, pace.seconds) for size in pace.sizes]
    await group.leave()
    return found


async def rounds_of(group: Class, server: Server, pace: Pace) -> list[float]:
    """The server's memory each time a new class has come, acted and gone."""
    after = []
    for _ in range(pace.rounds):
        await phase(group, pace.sizes[2], pace.seconds_a_round)
        await group.leave()
        after.append(server.megabytes())
    return after


async def lesson(server: Server, pace: Pace) -> tuple[list[Phase], list[float]]:
    group = Class((server,), prepared_links(server), pace.arriving)
    return await sizes_of(group, pace), await rounds_of(group, server, pace)


def prepared_links(server: Server) -> list[PageLink]:
    """What the overview offers; every page is opened once on the way."""
    for page in pages(server).values():
        with opened(server, page):
            pass
    with opened(server, "") as tab:
        return tab.prepared_links()


def errors_of(group: Class) -> list[str]:
    return [one.error for one in group.answers if one.error]


def rows(quick: bool) -> list[Row]:
    pace = QUICK if quick else FULL
    with serving(ROOT / "app.py") as server:
        phases, after = asyncio.run(lesson(server, pace))
    errors = errors_of(phases[0].group)
    print(HEADING, *map(line, phases), *errors[:5], sep="\n")
    print("MB after everybody has left:", ", ".join(f"{megabytes:.0f}" for megabytes in after), flush=True)
    alone, few, many = phases[:3]
    acting = (
        f"{many.size} sessions on all pages, an action each {PAUSE:g} s in the mean (arriving, steps, sliders, pages)"
    )
    waits = ", ".join(f"{it.wait(0.95):.2f} s with {it.size}" for it in phases if it is not many)
    return [
        Row(
            "class of 100: wait p95",
            many.wait(0.95),
            "s",
            0.5,
            f"{acting}; from sending to the end of the script; the class itself kept a processor"
            f" {many.client / many.seconds:.0%} busy",
            f"p50 {many.wait(0.5):.2f} s; p95 {waits}",
        ),
        Row(
            "class of 100: errors", len(errors), "", 0, f"exceptions, lost connections, no answer; {acting}, and others"
        ),
        Row(
            "class of 100: actions a second / planned",
            len(many.answers()) / many.seconds / (many.size / PAUSE),
            "×",
            None,
            "actions sent in the time over those planned, the seconds of arriving included: less is a class held up",
        ),
        Row(
            "class of 100: processor per action",
            1000 * many.server / len(many.answers()),
            "ms",
            None,
            f"of the server's process; {acting}",
            f"{1000 * alone.server / len(alone.answers()):.1f} ms with one",
        ),
        Row(
            "class of 100: sent per action",
            sum(one.n_bytes for one in many.answers()) / len(many.answers()) / 1000,
            "kB",
            None,
            f"Streamlit's messages to the browser, as they are; {acting}",
        ),
        Row(
            "class of 100: server's memory",
            many.megabytes,
            "MB",
            None,
            f"resident, at the end of the time with {many.size} sessions; every page opened before",
        ),
        Row(
            "memory of one more session",
            (many.megabytes - few.megabytes) / (many.size - few.size),
            "MB",
            1,
            f"the server's resident memory with {many.size} sessions less that with {few.size}, a session",
            f"{few.megabytes:.0f} MB, {many.megabytes:.0f} MB",
        ),
        Row(
            "growth while classes come and go",
            after[-1] - after[0],
            "MB",
            None,
            f"the server's resident memory after {len(after)} rounds of {many.size} sessions that came, acted and left,"
            " less that after the first",
            ", ".join(f"{megabytes:.0f} MB" for megabytes in after),
        ),
    ]


def elsewhere() -> None:
    """A class on servers that run already, for as long as is asked."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--address", nargs="+", required=True, help="http://…, a path included")
    parser.add_argument("--members", type=int, default=40)
    parser.add_argument("--seconds", type=float, default=30)
    options = parser.parse_args()
    servers = tuple(Server(address.rstrip("/")) for address in options.address)
    pace = Pace((options.members,), FULL.arriving, options.seconds, 0, 0)
    phases = asyncio.run(sizes_of(Class(servers, prepared_links(servers[0]), pace.arriving), pace))
    print(HEADING, *map(line, phases), *errors_of(phases[0].group)[:5], sep="\n")


if __name__ == "__main__":
    elsewhere() if "--address" in sys.argv else run_alone(rows, __doc__)
