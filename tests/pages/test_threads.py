"""No thread of the server lets an operation start threads of its own: a class shares the cores."""

from collections.abc import Iterator

import pytest
from threadpoolctl import threadpool_info

from pages.shared import gate, shell
from pages.shared.jobs import Gate
from tests.pages.conftest import OpenPage
from tests.pages.waiting import until


def threads_of_an_operation() -> list[int]:
    """How many threads OpenMP would use for an operation of the calling thread; the number belongs to a thread."""
    return [pool["num_threads"] for pool in threadpool_info() if "torch" in pool["filepath"]]


def test_a_page_s_operations_take_one_thread(open_page: OpenPage, monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[int] = []
    monkeypatch.setattr(shell, "run_page", lambda _opened: found.extend(threads_of_an_operation()))
    open_page("similarity")
    assert found
    assert all(n == 1 for n in found)


def test_a_job_s_operations_take_one_thread() -> None:
    def job() -> Iterator[list[int]]:
        yield threads_of_an_operation()

    places = Gate(1)
    try:
        places.watch(gate, "key", job)
        until(lambda: places.glance("key").state == "finished")
        found = places.glance("key").latest
        assert found
        assert all(n == 1 for n in found)
    finally:
        places.close()
