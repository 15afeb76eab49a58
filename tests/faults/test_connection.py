"""What becomes of a page whose server dies, or whose connection is cut, and of two tabs of one person."""

import re
import time
from pathlib import Path

import pytest
from numpy.testing import assert_allclose
from playwright.sync_api import Page, WebSocket, expect
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from attn_core.images import read_picture
from tests import independent
from tests.attn_core.pictures import encoded, gradient
from tests.browser.conftest import Server
from tests.browser.driving import click_cell, numbers, press, settle, wait_for_numbers, wait_for_title
from tests.browser.test_pictures import wait_for_picture
from tests.faults.wire import Wire

PICTURE = "similarity_product"
OWN = encoded(gradient(80, 60), "PNG")  # it is in no link: who still has it has the session
MAIN = "[data-testid=stMain]"
_LOST = "document.querySelector('[data-testid=stApp]').dataset.testConnectionState !== 'CONNECTED'"


def lose(page: Page) -> list[ForwardMsg]:
    """Waits until the page knows that its connection is lost; every run that a new one brings is listed at its end."""
    page.wait_for_function(_LOST)
    finished: list[ForwardMsg] = []

    def listen(connection: WebSocket) -> None:
        connection.on("framereceived", lambda data: finished.extend(_ends(data)))

    page.on("websocket", listen)
    return finished


def _ends(data: str | bytes) -> list[ForwardMsg]:
    message = ForwardMsg.FromString(data) if isinstance(data, bytes) else ForwardMsg()
    return [message] if message.WhichOneof("type") == "script_finished" else []


def come_back(page: Page, finished: list[ForwardMsg]) -> None:
    """Waits until the page has run again by itself."""
    give_up = time.monotonic() + 120
    while not finished:
        assert time.monotonic() < give_up, "the page has not run again"
        page.wait_for_timeout(50)  # lets the listener hear
    settle(page)


def shown(page: Page) -> tuple[str, str]:
    settle(page)
    return page.url, page.inner_text(MAIN)


def put_own_picture(page: Page) -> None:
    file = {"name": "p.png", "mimeType": "image/png", "buffer": OWN}
    page.locator(".st-key-upload input[type=file]").set_input_files(file)
    wait_for_picture(page, read_picture(OWN))


def assert_in_order(page: Page) -> None:
    settle(page)
    for wrong in ("[role=dialog]", "[data-testid=stException]", ".st-key-fault"):
        expect(page.locator(wrong)).to_have_count(0)


def cut_for(seconds: float, wire: Wire, page: Page) -> None:
    """Cuts the connection and mends it; until then everything can be read on."""
    text = page.inner_text(MAIN)
    wire.cut()
    finished = lose(page)
    time.sleep(seconds)
    assert page.inner_text(MAIN) == text
    wire.mend()
    come_back(page, finished)


def test_a_killed_server_comes_back_with_the_same_numbers(tmp_path: Path, open_at):
    victim = Server(tmp_path / "first.log")
    lesson = "lang=en&seed=7&text=a+dog+sat+down"
    page = open_at(f"{victim.wait()}/similarity?{lesson}&view=cosine&edits=W_Q[0,0]%3D1.5")
    click_cell(page, PICTURE, 0, 2)  # the link opened another cell: now only the page's address knows
    page.wait_for_url("**query=0**")
    trained = open_at(f"{victim.address}/training?lang=en&learning_steps=30&trained=true")
    expect(trained.get_by_text("After 30 of 30 steps")).to_have_count(1)
    before, matrices = [shown(page), shown(trained)], [numbers(page, PICTURE, trace) for trace in range(3)]

    victim.kill()
    both = lose(page), lose(trained)
    again = Server(tmp_path / "second.log", port=victim.port)
    try:
        again.wait()
        come_back(page, both[0])
        come_back(trained, both[1])
        expect(trained.locator(".st-key-stop")).to_have_count(0)
        expect(trained.get_by_text("After 30 of 30 steps")).to_have_count(1)
        assert [shown(page), shown(trained)] == before
        for trace, matrix in enumerate(matrices):
            assert_allclose(numbers(page, PICTURE, trace), matrix)
        press(page, "ArrowRight")
        page.wait_for_url("**query=0&key=3**")
        assert_in_order(page)
        assert_in_order(trained)
    finally:
        again.stop()


@pytest.mark.parametrize("seconds", [1, 10])
def test_a_cut_connection_keeps_the_session(wire, open_at, seconds):
    page = open_at(f"{wire.address}/image_patches?lang=en&picture=own")
    put_own_picture(page)
    before = shown(page)
    cut_for(seconds, wire, page)
    assert shown(page) == before
    wait_for_picture(page, read_picture(OWN))
    press(page, "PageDown")
    wait_for_title(page, "Why divide by √dₖ")
    assert_in_order(page)


def test_after_the_session_the_link_remains(faulty, open_at):
    """The same once the server has forgotten the session: here after a second, by its own setting."""
    assert_link_remains(Wire(faulty.port), open_at, 3)


def assert_link_remains(wire: Wire, open_at, seconds: float) -> None:
    page = open_at(f"{wire.address}/image_patches?lang=en&picture=own&seed=5&patch_step=scores")
    put_own_picture(page)
    address = page.url
    cut_for(seconds, wire, page)
    expect(page.get_by_text("This session has no picture of yours yet")).to_be_visible()
    assert_in_order(page)
    assert page.url == address
    wire.cut()


def test_what_is_typed_while_cut(wire, open_at):
    """Fields wait for the connection; what was half typed stays, and is taken when its reader goes on."""
    page = open_at(f"{wire.address}/similarity?lang=en")
    field = page.locator(".st-key-text input")
    field.fill("I am a dog")
    wire.cut()
    finished = lose(page)
    expect(field).to_be_disabled()
    expect(field).to_have_value("I am a dog")
    wire.mend()
    come_back(page, finished)
    expect(field).to_be_enabled()
    expect(field).to_have_value("I am a dog")
    field.press("Enter")
    wait_for_numbers(page, PICTURE, 2, independent.lesson_from_link("/?lang=en&text=I+am+a+dog")["scores"])
    assert_in_order(page)


def test_two_tabs_of_one_person(visit):
    one, two = visit("/similarity?lang=en&seed=1"), visit("/similarity?lang=en&seed=2")
    for page, text in ((one, "I am a dog"), (two, "the cat")):
        page.locator(".st-key-text input").fill(text)
        page.keyboard.press("Enter")
    for page, link in ((one, "lang=en&text=I+am+a+dog&seed=1"), (two, "lang=en&text=the+cat&seed=2")):
        wait_for_numbers(page, PICTURE, 2, independent.lesson_from_link(f"/?{link}")["scores"])
        expect(page).to_have_url(re.compile(re.escape(link) + "$"))
    press(one, "PageDown")
    wait_for_title(one, "Softmax weights")
    wait_for_title(two, "Similarity matrix")
    expect(two.locator(".st-key-text input")).to_have_value("the cat")
