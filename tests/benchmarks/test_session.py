"""A server and a tab on it, as the benchmarks use them."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

import pytest

from benchmarks.classroom import QUICK, Class, phase, prepared_links
from benchmarks.session import ROOT, Server, opened, pages, serving
from benchmarks.view import View


@pytest.fixture(scope="module")
def server():
    with serving(ROOT / "app.py") as it:
        yield it


def test_every_page_has_a_step_that_changes_its_link(server: Server):
    for page in pages(server).values():
        with opened(server, page, "lang=en") as tab:
            before = tab.query
            cost = tab.run(tab.step())
            assert tab.query != before, page
            assert cost.processor > 0, page
            assert cost.n_bytes > 1000, page


def test_an_exception_on_the_page_is_an_error_of_the_run(tmp_path):
    (tmp_path / "broken.py").write_text("1 / 0")
    with (
        serving(tmp_path / "broken.py") as broken,
        pytest.raises(RuntimeError, match="shows an exception"),
        opened(broken, ""),
    ):
        pass


async def _class_of_three(server: Server) -> Class:
    group = Class((server,), prepared_links(server), arriving=0.5)
    await phase(group, 3, QUICK.seconds)
    await group.leave()
    return group


def test_a_class_arrives_and_acts_without_an_error(server: Server):
    with ThreadPoolExecutor(1) as thread:  # a browser may hold the loop of this one
        group = thread.submit(asyncio.run, _class_of_three(server)).result()
    kinds = [answer.kind for answer in group.answers]
    assert kinds.count("arrive") == 3
    assert len(kinds) > 3
    assert [answer.error for answer in group.answers if answer.error] == []


def test_a_widget_that_is_not_there_is_named():
    with pytest.raises(LookupError, match="the page 'softmax' has no slider moved that can be used"):
        View("http://127.0.0.1:1", "softmax").slider("moved", 1)
