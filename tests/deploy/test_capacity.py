"""The capacity model: worked by hand for one cost."""

import math

import pytest

from benchmarks.capacity import BUSY, Cost, cost, plan
from benchmarks.rows import Row

COST = Cost(processor=0.02, sent=25.0, session=0.5, base=400.0)


def test_students_of_one_replica():
    assert COST.students(pause=2) == math.floor(BUSY * 2 / 0.02) == 60
    assert COST.students(pause=10) == 300


def test_waits():
    """An exponential distribution exceeds ln 20 of its means once in twenty times; full, the queue only grows."""
    assert COST.wait(busy=0.6) == pytest.approx(math.log(20) * 0.05)
    assert COST.wait(busy=1) == math.inf


def test_a_plan():
    """10,000 students: 167 replicas of 60; 66.8 GB of bases and 5 GB of sessions; 5,000 actions a second of 25 kB."""
    assert plan(COST, 10_000, 2) == "| 10,000 | 2 s | 60 | 167 | 71.8 GB | 1000 Mbit/s |"


def test_the_cost_is_read_from_the_rows_of_the_class():
    values = {
        "class of 100: processor per action": 20.0,
        "class of 100: sent per action": 25.0,
        "class of 100: server's memory": 450.0,
        "memory of one more session": 0.5,
    }
    assert cost([Row(what, value, "", None, "") for what, value in values.items()]) == COST
