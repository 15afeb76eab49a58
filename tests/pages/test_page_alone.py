"""After a click inside a page the page runs alone; what stands around it follows where it must. On a real server."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from benchmarks.session import ROOT, Server, Tab, opened, serving

BAR, BODY = (0, 1), (0, 2)


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serving(ROOT / "app.py") as found:
        yield found


@contextmanager
def heard(tab: Tab) -> Iterator[list[ForwardMsg]]:
    """What the server sends meanwhile."""
    messages: list[ForwardMsg] = []
    take = tab.take

    def noted(data: bytes) -> bool:
        messages.append(ForwardMsg.FromString(data))
        return take(data)

    tab.take = noted  # type: ignore[method-assign]
    yield messages
    tab.take = take  # type: ignore[method-assign]


def is_whole(messages: list[ForwardMsg]) -> bool:
    """Whether the whole app has run in the end."""
    return not messages[-1].metadata.run.fragment_ids


def shown(tab: Tab, kind: str) -> list[Any]:
    """Every element of a kind."""
    return [getattr(element, kind) for element in tab.elements.values() if element.HasField(kind)]


def around(tab: Tab) -> str:
    """What is said above the page."""
    above = [element for path, element in tab.elements.items() if path[:2] == BAR]
    return " ".join(element.markdown.body for element in above if element.HasField("markdown"))


def test_a_click_on_a_cell_runs_the_page_alone_and_goes_into_the_address(server: Server) -> None:
    with opened(server, "similarity", "lang=en&query=1&key=0") as tab:
        bar = tab.find("text_input", "text")
        with heard(tab) as messages:
            tab.answer(tab.button("step_right"))
        assert not is_whole(messages)
        assert "key=1" in tab.query
        assert tab.find("text_input", "text") is bar, "what stands around the page stays"
        (chart,) = shown(tab, "plotly_chart")
        assert "key cat" in chart.alt


def test_a_field_of_the_lesson_that_is_moved_inside_a_page_runs_the_app(server: Server) -> None:
    with opened(server, "masks_positions", "lang=en") as tab:
        with heard(tab) as messages:
            tab.answer(tab.slider("padding", 2))
        assert is_whole(messages)
        assert "padding=2" in tab.query
        assert not tab.find("slider", "padding").set_value, "nothing is sent back to the slider that was moved"


def test_what_is_said_around_the_page_follows_too(server: Server) -> None:
    with opened(server, "masks_positions", "lang=en") as tab:
        assert "mask: causal" not in around(tab)
        tab.answer(tab.group("mask", "Causal"))
        assert "mask: causal" in around(tab)


def test_two_clicks_in_a_row_are_two_steps(server: Server) -> None:
    with opened(server, "similarity", "lang=en&query=1&key=0") as tab:
        for _ in range(2):
            tab.answer(tab.button("step_right"))
        assert "key=2" in tab.query


def test_a_prepared_link_and_another_page_run_the_whole_app(server: Server) -> None:
    with opened(server, "similarity", "lang=en") as tab:
        tab.answer(tab.button("step_right"))
        softmax = next(page for page in tab.navigation.app_pages if page.url_pathname == "softmax")
        with heard(tab) as messages:
            tab.connection.send(tab.request_page(softmax.page_script_hash, "lang=en&seed=3&open=true"))
            while not tab.take(tab.connection.recv(timeout=60)):
                pass
        assert is_whole(messages)
        assert "seed=3" in tab.query
        assert "open" not in tab.query


def test_while_a_training_is_waited_for_no_page_stands_that_could_not_be_run(server: Server) -> None:
    with opened(server, "similarity", "lang=en&d_model=16") as tab:
        with heard(tab) as messages:
            page = next(it for it in tab.navigation.app_pages if it.url_pathname == "similarity")
            query = "lang=en&d_model=16&training_steps=1000&seed=77&open=true"
            tab.connection.send(tab.request_page(page.page_script_hash, query))
            while not tab.take(tab.connection.recv(timeout=60)):
                pass
        drawn = [m for m in messages if m.WhichOneof("type") == "delta" and m.delta.HasField("new_element")]
        order = [(tuple(m.metadata.delta_path), m.delta.new_element.WhichOneof("type")) for m in drawn]
        bar = next(place for place, (_path, kind) in enumerate(order) if kind == "progress")
        assert (BODY, "empty") in order[:bar]
        assert len(shown(tab, "plotly_chart")) == 1
        tab.answer(tab.button("step_right"))
        assert "key=1" in tab.query
