"""What the browser's benchmark notes: a click, a turned page, a cold start, and what came over the network."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from benchmarks.browser import FORWARD, MINIMAL_APP, TURN, Reader, Seen, in_rows, in_turn
from benchmarks.session import serving


@pytest.fixture(scope="module")
def minimal(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    script = tmp_path_factory.mktemp("minimal") / "app.py"
    script.write_text(MINIMAL_APP, encoding="utf-8")
    with serving(script) as server:
        yield server.address


def test_a_reader_waits_for_the_charts_and_counts_what_arrives(minimal: str, browser: Browser) -> None:
    context = browser.new_context()
    reader = Reader.arriving(context, minimal)
    arrived = reader.arrived()
    assert arrived.milliseconds > 0
    assert arrived.n_bytes > 1_000_000  # Plotly's and Streamlit's own scripts among them
    corner = "document.querySelector('.js-plotly-plot').data[0].z[0][0]"
    assert reader.page.evaluate(corner) == 0
    clicked = reader.click(FORWARD)
    assert reader.page.evaluate(corner) == 1
    assert clicked.milliseconds > 0
    assert 100 < clicked.n_bytes < 100_000
    turned = reader.click(TURN, leaves=True)
    assert reader.page.locator("h1").inner_text() == "second"
    assert turned.milliseconds > 0
    context.close()


def test_time_and_bytes_are_ratios_within_a_pair() -> None:
    pairs = [(Seen(20.0, 3000), Seen(10.0, 1000)), (Seen(30.0, 4000), Seen(30.0, 1000)), (Seen(9.0, 500), Seen(3.0, 0))]
    times, sizes = in_rows("click", pairs, "Chromium")
    assert (times.what, times.value, times.beside) == ("click / minimal page", 2.0, "20 ms beside 10 ms")
    assert (sizes.what, sizes.value, sizes.beside) == ("bytes, click / minimal page", 4.0, "3 kB beside 1 kB")
    assert times.method == "Chromium, median of 3"


def test_the_first_of_several_rounds_is_left_out() -> None:
    asked = []

    def seen(address: str) -> list[Seen]:
        asked.append(address)
        return [Seen(float(len(asked)), 0)]

    found = in_turn(seen, "ours", "minimal", 2)
    assert asked == ["ours", "minimal", "ours", "minimal"]
    assert found == [(Seen(3.0, 0), Seen(4.0, 0))]
    assert len(in_turn(seen, "ours", "minimal", 1)) == 1
