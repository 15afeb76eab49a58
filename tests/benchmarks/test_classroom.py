"""The class: what its members are going to do, and what they send."""

import itertools

import pytest
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.PageLink_pb2 import PageLink

from benchmarks.classroom import KINDS, PAUSE, Action, plan, request_of
from benchmarks.view import View

ARRIVING = 10.0


def planned(member: int, n: int = 2000) -> list[Action]:
    return list(itertools.islice(plan(member, ARRIVING), n))


def sent(view: View, action: Action, links: tuple[PageLink, ...] = ()):
    return BackMsg.FromString(request_of(view, action, links)).rerun_script


@pytest.fixture
def view() -> View:
    """A page with a step button, a slider that shows and one that sets a training up."""
    seen = View("http://127.0.0.1:1", "softmax", "lang=en")
    message = ForwardMsg()
    for place, (kind, key) in enumerate(
        (("button", "step_right"), ("slider", "temperature"), ("slider", "wanted_steps"), ("button_group", "lang"))
    ):
        message.metadata.delta_path[:] = [0, place]
        element = message.delta.new_element
        getattr(element, kind).id = f"$$ID-0-{key}"
        if kind == "slider":
            element.slider.min, element.slider.max, element.slider.step = 0.5, 2.5, 0.5
        seen.take(message.SerializeToString())
    return seen


def test_the_same_member_has_the_same_plan():
    assert planned(3) == planned(3)
    assert planned(3) != planned(4)


def test_members_arrive_in_time_then_pause_two_seconds_in_the_mean():
    first, *others = planned(0)
    assert first.kind == "arrive"
    assert 0 <= first.pause <= ARRIVING
    assert sum(action.pause for action in others) / len(others) == pytest.approx(PAUSE, rel=0.1)


def test_actions_come_as_often_as_their_weights_say():
    kinds = [action.kind for action in planned(0)[1:]]
    shares = {kind: kinds.count(kind) / len(kinds) for kind in KINDS}
    assert shares == pytest.approx({kind: weight / sum(KINDS.values()) for kind, weight in KINDS.items()}, abs=0.04)


def test_a_step_presses_the_button(view: View):
    (state,) = sent(view, Action(1, "step", 0.5)).widget_states.widgets
    assert (state.id, state.trigger_value) == ("$$ID-0-step_right", True)


@pytest.mark.parametrize("draw", [0.0, 0.3, 0.6, 0.9])
def test_a_slider_moves_to_one_of_its_places_and_sets_no_training_up(view: View, draw: float):
    (state,) = sent(view, Action(1, "slider", draw)).widget_states.widgets
    assert state.id == "$$ID-0-temperature"
    assert state.double_array_value.data[0] in (0.5, 1.0, 1.5, 2.0, 2.5)


def test_the_language_is_the_other_one(view: View):
    (state,) = sent(view, Action(1, "language", 0.5)).widget_states.widgets
    assert list(state.string_array_value.data) == ["日本語"]


def test_another_page_is_asked_for_by_name_and_a_prepared_one_with_its_link(view: View):
    message = ForwardMsg()
    for name in ("overview", "softmax", "multi_head"):
        message.navigation.app_pages.add(page_script_hash=f"hash of {name}", url_pathname=name)
    view.take(message.SerializeToString())
    request = sent(view, Action(1, "page", 0.99))
    assert (request.page_script_hash, request.query_string, view.page) == ("hash of multi_head", "", "multi_head")
    link = PageLink(page_script_hash="hash of overview", query_string="seed=3&open=true")
    request = sent(view, Action(1, "prepared link", 0.5), (link,))
    assert (request.page_script_hash, request.query_string) == ("hash of overview", "seed=3&open=true")


def test_where_a_page_does_not_offer_it_a_step_is_taken_and_where_there_is_none_the_page_runs_again(view: View):
    (state,) = sent(view, Action(1, "sentence", 0.5)).widget_states.widgets
    assert state.id == "$$ID-0-step_right"
    empty = View("http://127.0.0.1:1", "softmax")
    assert not sent(empty, Action(1, "slider", 0.5)).widget_states.widgets
