"""After a click inside a page the page runs alone; what stands around it follows where it must. On a real server."""

import ast
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.WidgetStates_pb2 import WidgetState

from benchmarks.session import ROOT, SERVE, Server, Tab, opened, serving
from pages.shared.shell import PAGES
from tests.pages.clicking import point_chosen

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


def point(tab: Tab, key: str, *place: int) -> WidgetState:
    """A click on the point of a picture whose customdata is this."""
    chart = next(chart for chart in shown(tab, "plotly_chart") if chart.id.endswith(f"-{key}"))
    return WidgetState(id=chart.id, string_value=point_chosen(*place))


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


def test_a_field_of_the_lesson_that_a_click_inside_a_page_changes_runs_the_app(server: Server) -> None:
    with opened(server, "masks_positions", "lang=en") as tab:
        with heard(tab) as messages:
            tab.answer(point(tab, "mask_drawing", 0, 1))
        assert is_whole(messages)
        assert "hidden=0%3A1" in tab.query
        assert "mask: drawn by hand" in around(tab)


def test_a_slider_that_runs_the_app_is_not_sent_back_its_own_value(server: Server) -> None:
    with opened(server, "masks_positions", "lang=en") as tab:
        with heard(tab) as messages:
            tab.answer(tab.slider("padding", 2))
        assert is_whole(messages)
        assert "padding=2" in tab.query
        assert not tab.find("slider", "padding").set_value


@pytest.mark.parametrize("name", [entry.name for entry in PAGES])
def test_a_part_looks_up_by_itself_what_it_shows(name: str) -> None:
    """What the script has found before it draws a part is what was there when the whole app ran last."""
    script = ast.parse((ROOT / "pages" / f"{name}.py").read_text(encoding="utf-8"))
    parts = [statement for statement in script.body if isinstance(statement, ast.FunctionDef)]
    assert parts
    outside = [statement for statement in script.body if statement not in parts]
    found = {node.id for it in outside for node in ast.walk(it) if isinstance(node, ast.Name) and is_set(node)}
    for part in parts:
        names = [node for node in ast.walk(part) if isinstance(node, ast.Name)]
        own = {node.id for node in names if is_set(node)}
        assert not {node.id for node in names} & found - own, part.name


def is_set(node: ast.Name) -> bool:
    return isinstance(node.ctx, ast.Store)


@pytest.mark.parametrize("name", [entry.name for entry in PAGES])
def test_a_click_leaves_the_title_and_the_end_of_the_page_as_they_are(server: Server, name: str) -> None:
    with opened(server, "" if name == "overview" else name, "lang=en") as tab:
        if name == "training":
            tab.answer(tab.button("train"))
        tab.answer()  # whoever has waited for a job had no part that could have run alone
        title = next(place for place, element in tab.elements.items() if element.HasField("heading"))
        with heard(tab) as messages:
            tab.answer(tab.step())
        assert not is_whole(messages)
        drawn = {tuple(message.metadata.delta_path) for message in messages if message.WhichOneof("type") == "delta"}
        assert drawn
        assert title not in drawn


@pytest.mark.parametrize("name", [entry.name for entry in PAGES if entry.name != "training"])
def test_after_clicks_a_page_shows_what_its_link_shows(server: Server, name: str) -> None:
    """So that nothing that a click changes stands outside of the part that it runs. (A training is in no link.)"""
    page = "" if name == "overview" else name
    with opened(server, page, "lang=en") as tab:
        tab.answer()
        for _ in range(5):
            tab.answer(tab.step())
        clicked, link = [chart.alt for chart in shown(tab, "plotly_chart")], tab.query
    with opened(server, page, link) as tab:
        assert sorted(clicked) == sorted(chart.alt for chart in shown(tab, "plotly_chart"))


def test_open_tables_follow_what_a_click_shows(server: Server) -> None:
    with opened(server, "similarity", "lang=en&query=1&key=0") as tab:
        with heard(tab) as messages:
            tab.answer()
        blocks = [it.delta.add_block.expandable.id for it in messages if it.delta.HasField("add_block")]
        tables = next(identity for identity in blocks if identity.endswith("-pictures_as_tables"))
        tab.answer(WidgetState(id=tables, bool_value=True))
        before = [it.body for it in shown(tab, "markdown") if "Matrix product Q Kᵀ" in it.body]
        tab.answer(tab.button("step_right"))
        after = [it.body for it in shown(tab, "markdown") if "Matrix product Q Kᵀ" in it.body]
        assert len(before) == len(after) == 1
        assert "key cat" in after[0]
        assert before != after


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


@pytest.fixture
def announcing() -> Iterator[Server]:
    """A server that tells of every job at once: on a fast machine a training is over before it is worth a bar."""
    with serving(ROOT / "app.py", f"from pages.shared import gate; gate._UNANNOUNCED = 0; {SERVE}") as found:
        yield found


def test_while_a_training_is_waited_for_no_page_stands_that_could_not_be_run(announcing: Server) -> None:
    with opened(announcing, "similarity", "lang=en&d_model=16") as tab:
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
