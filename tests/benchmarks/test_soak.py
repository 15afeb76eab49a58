"""The soak: the slope it fits, what it calls a fault, and what a session sends to upload a picture."""

import math
import random

import numpy as np
import pytest
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from attn_core.images import read_picture
from benchmarks.session import Server
from benchmarks.soak import KEPT_SESSIONS, Day, Guest, Reading, Token, faults, picture, slope


def readings(megabytes: np.ndarray) -> list[Reading]:
    """One every ten seconds, of an hour."""
    return [Reading(10.0 * n, value, 20, 100) for n, value in enumerate(megabytes)]


def test_the_slope_is_that_of_the_time_after_warm_up():
    hours = np.arange(360) / 360
    rising = np.where(hours < 1 / 3, 500 * hours, 400 + 12 * hours)
    found = slope(readings(rising))
    assert math.isclose(found.value, 12, rel_tol=1e-9)
    assert found.error < 1e-9


def test_its_uncertainty_covers_noise():
    noise = np.random.default_rng(1)
    found = [slope(readings(400 + 5 * noise.standard_normal(360))) for _ in range(200)]
    assert np.mean([abs(it.value) < 2 * it.error for it in found]) == pytest.approx(0.93, abs=0.05)  # t with 10 degrees


@pytest.fixture
def day() -> Day:
    return Day(Server("http://127.0.0.1:1"), Token(""), [], n_sessions=1000)


def test_a_quiet_day_has_no_fault(day):
    assert faults(day, [Reading(0, 1, 8, 60), Reading(9, 1, 48, 60 + 3 * KEPT_SESSIONS)]) == []


@pytest.mark.parametrize("last", [Reading(9, 1, 57, 60), Reading(9, 1, 8, 60 + 3 * KEPT_SESSIONS + 17)], ids=repr)
def test_what_is_left_open_is_a_fault(day, last):
    assert len(faults(day, [Reading(0, 1, 8, 60), last])) == 1


def test_an_error_is_a_fault(day):
    day.errors.append("no answer")
    assert faults(day, [Reading(0, 1, 8, 60)] * 2) == ["no answer"]


def test_an_upload_asks_for_a_place_and_names_the_file_in_its_field():
    guest, message = Guest("http://127.0.0.1:1", "image_patches"), ForwardMsg()
    message.new_session.initialize.session_id = "this session"
    guest.take(message.SerializeToString())
    asked = BackMsg.FromString(guest.request_place()).file_urls_request
    assert (asked.session_id, list(asked.file_names)) == ("this session", ["own.png"])
    answer = ForwardMsg()
    answer.file_urls_response.file_urls.add(file_id="7", upload_url="/_stcore/upload_file/this session/7")
    assert guest.take(answer.SerializeToString())
    shown = ForwardMsg()
    shown.metadata.delta_path[:] = [0, 0]
    shown.delta.new_element.file_uploader.id = "$$ID-0-upload"
    guest.take(shown.SerializeToString())
    state = guest.uploaded(300)
    (info,) = state.file_uploader_state_value.uploaded_file_info
    assert (state.id, info.file_id, info.size) == ("$$ID-0-upload", "7", 300)


def test_every_picture_is_another_one():
    one, two = (read_picture(picture(random.Random(seed))) for seed in (1, 2))
    assert (one.pixels != two.pixels).any()


def test_a_page_that_apologizes_is_an_error():
    message = ForwardMsg()
    message.metadata.delta_path[:] = [0, 0]
    message.delta.add_block.id = "$$ID-0-fault"
    with pytest.raises(RuntimeError, match="says that something went wrong"):
        Guest("http://127.0.0.1:1", "softmax").take(message.SerializeToString())
