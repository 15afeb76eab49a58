"""Two replicas behind the nginx of deploy/: a class is spread over them, and outlives one of them."""

import json
import socket
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest
import streamlit
from numpy.testing import assert_allclose
from playwright.sync_api import Page

from tests import independent
from tests.browser.conftest import TIMEOUT
from tests.browser.driving import click_cell, numbers, settle
from tests.deploy.machines import Deployment
from tests.deploy.student import Student

STATIC = Path(streamlit.__file__).parent / "static/static"
CLASS = 40
FAIR = 8  # of 40 thrown at random fewer than 8 land on one side once in 25,000 times
PICTURE = "similarity_product"
APP, MAIN = "[data-testid=stApp]", "[data-testid=stMain]"

_RECORD_WHAT_IS_SHOWN = """
window.shown = []
const wanted = '[role=dialog], [data-testid=stException], [data-testid=stAlert], [data-testid=stToast]'
new MutationObserver(() => document.querySelectorAll(wanted).forEach(
  it => window.shown.includes(it.innerText) || window.shown.push(it.innerText)
)).observe(document, {childList: true, subtree: true, characterData: true})
"""


def lesson(number: int) -> str:
    return f"lang=en&seed={number}&d_model={4 + number % 3}&text=student+{number}+sat+down&query=1&key=3"


def scores(student: Student) -> np.ndarray:
    """The matrix of scores as the student's tab has received it."""
    (spec,) = student.charts().values()
    return np.array(json.loads(spec)["data"][2]["z"])


def expected_scores(link: str) -> np.ndarray:
    return independent.lesson_from_link(f"http://any/similarity?{link}")["scores"]


def shares(deployment: Deployment, students: list[Student]) -> list[int]:
    """How many students each replica has."""
    counted = Counter(each.replica for each in students)
    return [counted[name] for name in deployment.replicas]


@pytest.fixture
def student(deployment: Deployment) -> Iterator[Callable[[int], Student]]:
    """`student(3)` opens a link of her own."""
    with ExitStack() as opened:
        yield lambda number: Student(opened, deployment.address, "similarity", lesson(number))


@pytest.fixture
def gone(deployment: Deployment) -> Iterator[Callable[[str], None]]:
    """`gone(name)` says that a replica was ended: it is started again for the next test."""
    ended: list[str] = []
    yield ended.append
    for name in ended:
        deployment.replicas[name].start()
    for name in ended:
        deployment.replicas[name].wait()


def test_a_class_outlives_a_replica(deployment, student, gone):
    students = [student(number) for number in range(CLASS)]
    for number, each in enumerate(students):
        assert_allclose(scores(each), expected_scores(lesson(number)), atol=1e-9)
    assert min(shares(deployment, students)) >= FAIR
    for each in students:  # the session lives where the cookie says, and nowhere else
        home = each.replica
        assert [name for name in deployment.replicas if each.upload(name) == 204] == [home]
        assert [each.upload() for _ in range(3)] == [204] * 3
        assert each.replica == home

    victim, other = deployment.replicas
    charts = {each: each.charts() for each in students}
    lost = [each for each in students if each.replica == victim]
    gone(victim)
    deployment.replicas[victim].kill()
    for each in lost:
        each.wait_until_lost()
        each.connect()
    for each in students:
        each.tab.answer()
        assert each.charts() == charts[each]
        assert each.replica == other
        assert each.upload() == 204


def test_a_replica_that_comes_back_takes_part_again(deployment, student):
    victim, other = deployment.replicas
    moved = next(each for each in map(student, range(CLASS)) if each.replica == victim)
    deployment.replicas[victim].kill()
    moved.wait_until_lost()
    moved.connect()
    deployment.replicas[victim].start()
    deployment.replicas[victim].wait()
    assert min(shares(deployment, [student(number) for number in range(CLASS)])) >= FAIR
    assert moved.upload() == 204
    assert moved.replica == other  # where the session lives now


def test_a_replica_that_is_told_to_stop_ends_in_order(deployment, student, gone):
    each = student(1)
    charts, home = each.charts(), each.replica
    gone(home)
    assert deployment.replicas[home].terminate() == 0
    each.wait_until_lost()
    each.connect()
    assert each.replica != home
    assert each.charts() == charts


def test_an_invented_address_is_not_asked(deployment, student):
    each = student(1)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(0.5)
        each.cookies["replica"] = "{}:{}".format(*listening.getsockname())
        assert each.request("GET", "/_stcore/health").status == 200
        assert each.replica in deployment.replicas
        with pytest.raises(TimeoutError):
            listening.accept()


def test_what_nginx_adds(student):
    each = student(1)
    packed = {"Accept-Encoding": "gzip"}
    page = each.request("GET", "/similarity", headers=packed).headers
    script = next(STATIC.glob("js/index.*.js")).name
    asset = each.request("GET", f"/static/js/{script}", headers=packed).headers
    cookie = f"replica={each.replica}; Path=/; Max-Age=43200; HttpOnly; SameSite=Lax"
    assert cookie in page.get_all("Set-Cookie")
    assert asset["Set-Cookie"] is None
    assert asset["Content-Encoding"] == "gzip"
    assert asset["Cache-Control"].startswith("public, immutable")
    for headers in (page, asset):
        assert headers["Content-Security-Policy"] == "frame-ancestors 'self'"
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Referrer-Policy"] == "same-origin"
    assert each.request("GET", "/_stcore/metrics").status == 404


def test_nginx_lets_through_what_the_app_takes(student):
    each = student(1)
    almost_the_limit = 5 * 1024**2 - 1000  # the app counts what stands around the file, too
    assert each.upload(content=bytes(almost_the_limit)) == 204


def replica_of(page: Page) -> str:
    return next(cookie["value"] for cookie in page.context.cookies() if cookie["name"] == "replica")


def test_a_real_page_comes_back_by_itself(deployment, gone, browser):
    page = browser.new_page(locale="en-US")
    page.set_default_timeout(TIMEOUT)
    page.add_init_script(_RECORD_WHAT_IS_SHOWN)
    page.goto(f"http://{deployment.address}/similarity?{lesson(7)}")
    settle(page)
    click_cell(page, PICTURE, 0, 2)  # the link opened another cell: now only the page's address knows
    page.wait_for_url("**query=0**")
    settle(page)
    address, text, home = page.url, page.inner_text(MAIN), replica_of(page)
    matrices = [numbers(page, PICTURE, place) for place in range(3)]
    assert_allclose(matrices[2], expected_scores(lesson(7)), atol=1e-9)

    gone(home)
    deployment.replicas[home].kill()
    page.wait_for_function(f"document.querySelector('{APP}').dataset.testConnectionState !== 'CONNECTED'")
    settle(page)
    assert page.url == address
    assert page.inner_text(MAIN) == text
    for place, matrix in enumerate(matrices):
        assert_allclose(numbers(page, PICTURE, place), matrix)
    assert replica_of(page) != home
    assert page.evaluate("window.shown") == []
    page.close()
