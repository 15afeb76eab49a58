"""The √d_k experiment in the browser: it comes to an end, agrees with theory, and can be stopped."""

import re

from playwright.sync_api import Page, expect

from tests.browser.driving import settle, traces, wait_for_title

_ROWS = """() => [...document.querySelectorAll('[data-testid=stDataFrame] canvas tbody tr')]
  .map(row => [...row.querySelectorAll('td')].map(cell => Number(cell.textContent)))"""

# The page keeps earlier pictures, out of sight, until its script has finished.
_MEASURED = """[...document.querySelectorAll('.st-key-scaling_variance .js-plotly-plot')]
  .find(plot => plot.checkVisibility())?.data?.find(trace => trace.name === 'measured').x ?? []"""


def test_the_default_run_ends_and_agrees_with_theory(visit):
    page = visit("/scaling?lang=en")
    page.wait_for_function(f"({_MEASURED}).length === 11")  # a page not yet measuring has no progress bar either
    expect(page.locator("[data-testid=stProgress]")).to_have_count(0)
    settle(page)
    assert page.locator(".st-key-start, .st-key-stop").count() == 0
    measured = next(trace for trace in traces(page, "scaling_variance") if trace["name"] == "measured")
    assert measured["x"] == [2**power for power in range(11)]

    page.get_by_text("All measured numbers").click()
    page.wait_for_function(f"({_ROWS})().length >= 8")
    rows = page.evaluate(_ROWS)
    inside = 0
    for (d_k, samples, _, variance, theory, low, high, *_), exact in zip(rows, measured["y"], strict=False):
        assert samples == 10_000
        assert theory == d_k
        assert abs(variance - exact) <= 1e-3 * exact, "the table and the picture differ"
        inside += low <= variance <= high
    assert inside >= len(rows) - 2


def test_a_large_run_starts_when_asked_stops_and_leaves_a_usable_page(visit):
    page = visit("/scaling?lang=en&n_samples=1000000&largest_d_k=4096")
    expect(page.locator("[data-testid=stProgress]")).to_have_count(0)
    page.locator(".st-key-start button").click()
    expect(page.locator("[data-testid=stProgress]")).to_contain_text("samples, variance")
    page.locator(".st-key-stop button").click()
    expect(page.locator(".st-key-start button")).to_have_text(re.compile("Go on"))
    settle(page)
    assert page.locator("[data-testid=stException]").count() == 0
    assert traces(page, "scaling_variance")

    page.locator(".st-key-lang").get_by_text("日本語", exact=True).click()
    wait_for_title(page, "なぜ √dₖ で割るのか")
    expect(page).to_have_url(re.compile("lang=ja&n_samples=1000000&largest_d_k=4096$"))
    expect(page.locator(".st-key-start button")).to_have_text(re.compile("続ける"))


def test_a_run_goes_on_and_its_charts_grow_while_the_page_is_used(visit):
    page = visit("/scaling?lang=en&n_samples=1000000&largest_d_k=4096&sample_seed=1")
    page.locator(".st-key-start button").click()
    page.wait_for_function(f"({_MEASURED}).length > 0")
    first = len(measured(page))
    page.wait_for_function(f"({_MEASURED}).length > {first}")
    expect(page.get_by_role("heading", name="The distribution at dₖ = 64")).to_be_visible()  # until then: the last
    page.locator(".st-key-step_left button").click()
    expect(page.get_by_role("heading", name="The distribution at dₖ = 32")).to_be_visible()
    expect(page.locator("[data-testid=stProgress]")).to_contain_text("samples, variance")
    reached = len(measured(page))
    assert reached > first
    page.wait_for_function(f"({_MEASURED}).length > {reached}")
    page.locator(".st-key-stop button").click()
    expect(page.locator(".st-key-start button")).to_have_text(re.compile("Go on"))
    settle(page)
    assert len(measured(page)) > reached


def measured(page: Page) -> list[int]:
    return page.evaluate(_MEASURED)
