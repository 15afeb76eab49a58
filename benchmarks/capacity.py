"""How many replicas a number of students needs, from what a class was measured to cost; and whether that comes true.

A replica is one process, which computes on one core. With actions of `processor` seconds, one each `pause` seconds from
every student, a core that may be busy for a share of the time carries

    students a replica = busy × pause / processor

and the 95th percentile of the wait is processor × ln 20 / (1 − busy): an M/M/1 queue, whose waits are exponentially
distributed with the mean processor / (1 − busy). Memory and network grow with students; a replica has its base.

    python -m benchmarks.capacity [build/bench.json]   the plan, from the last `make bench`
    python -m benchmarks.capacity --check              the same model beside one and two replicas on this machine
"""

import argparse
import asyncio
import contextlib
import math
from dataclasses import dataclass
from pathlib import Path

from benchmarks.classroom import PAUSE, Class, Phase, phase, prepared_links
from benchmarks.rows import Row, in_a_line, read_rows
from benchmarks.session import ROOT, machine, serving

BUSY = 0.6  # the rest is for those who arrive together, and for trainings and experiments
PAUSES = (PAUSE, 10.0)  # a class that never rests; one that also listens
STUDENTS = (100, 1000, 10_000)
ARRIVING, SECONDS = 10, 30
CHECKED = ((1, 20), (1, 40), (2, 40), (2, 80))  # replicas, students


@dataclass(frozen=True)
class Cost:
    """What one action and one session cost: seconds of a core, kB sent, MB; and MB of a replica without any."""

    processor: float
    sent: float
    session: float
    base: float

    def students(self, pause: float) -> int:
        """As many as one replica carries."""
        return math.floor(BUSY * pause / self.processor)

    def wait(self, busy: float) -> float:
        """The 95th percentile, in seconds."""
        return math.log(20) * self.processor / (1 - busy) if busy < 1 else math.inf


def cost(rows: list[Row]) -> Cost:
    """From the rows of a class of 100."""
    value = {row.what: row.value for row in rows}
    session = value["memory of one more session"]
    base = value["class of 100: server's memory"] - 100 * session
    processor = value["class of 100: processor per action"] / 1000
    return Cost(processor, value["class of 100: sent per action"], session, base)


def plan(found: Cost, students: int, pause: float) -> str:
    """A line of the table."""
    per_replica = found.students(pause)
    replicas = math.ceil(students / per_replica)
    gigabytes = (replicas * found.base + students * found.session) / 1000
    megabits = students / pause * found.sent * 8 / 1000
    return f"| {students:,} | {pause:g} s | {per_replica} | {replicas} | {gigabytes:.1f} GB | {megabits:.0f} Mbit/s |"


def print_plan(found: Cost) -> None:
    print(f"An action costs {1000 * found.processor:.1f} ms of a core and sends {found.sent:.1f} kB.")
    print(f"A replica holds {found.base:.0f} MB, and {found.session:.2f} MB for each session.")
    print(f"With a core {BUSY:.0%} busy, 95 % of waits end within {found.wait(BUSY):.2f} s.\n")
    print("| students | an action each | students a replica | replicas = cores | memory | network |")
    print("|---|---|---|---|---|---|")
    for pause in PAUSES:
        for students in STUDENTS:
            print(plan(found, students, pause))


def measured(replicas: int, students: int) -> Phase:
    """A class on as many servers, in turn."""
    with contextlib.ExitStack() as stack:
        servers = tuple(stack.enter_context(serving(ROOT / "app.py")) for _ in range(replicas))
        links = [prepared_links(server) for server in servers]  # opens every page once, on each
        return asyncio.run(_acting(Class(servers, links[0], ARRIVING), students))


async def _acting(group: Class, students: int) -> Phase:
    await phase(group, students, 0)  # arriving is over
    found = await phase(group, students, SECONDS)
    await group.leave()
    return found


def check(replicas: int, students: int) -> str:
    """A line of the table: what the model says for the cost found, beside what was found."""
    found = measured(replicas, students)
    answers = found.answers()
    each = Cost(found.server / len(answers), 0, 0, 0)
    rate, busy = students / PAUSE, students / PAUSE * each.processor / replicas
    cells = (
        f"{replicas}",
        f"{students}",
        f"{1000 * each.processor:.1f} ms",
        f"{rate:.0f}",
        f"{len(answers) / found.seconds:.1f}",
        f"{busy:.0%}",
        f"{found.server / found.seconds / replicas:.0%}",
        f"{each.wait(busy):.2f} s",
        f"{found.wait(0.95):.2f} s",
        f"{found.client / found.seconds:.0%}",
        f"{sum(bool(one.error) for one in answers)}",
    )
    return f"| {' | '.join(cells)} |"


CHECK_HEADING = """
| replicas | students | an action costs | actions a second: model | found | core busy: model | found \
| 95 % of waits within: model | found | the class itself busy | errors |
|---|---|---|---|---|---|---|---|---|---|---|"""


def print_check() -> None:
    print(in_a_line(machine()), CHECK_HEADING, sep="\n", flush=True)
    for replicas, students in CHECKED:
        print(check(replicas, students), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", type=Path, nargs="?", default=ROOT / "build/bench.json")
    parser.add_argument("--check", action="store_true", help="measure one and two replicas on this machine (5 minutes)")
    options = parser.parse_args()
    print_check() if options.check else print_plan(cost(read_rows(options.file)))


if __name__ == "__main__":
    main()
