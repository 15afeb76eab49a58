"""Everything by keyboard alone, and the focus can be seen."""

import re
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Page

from tests.access.keyboard import focus_is_seen, name_of_focused, tab_to, tab_to_table
from tests.browser.conftest import Visit
from tests.browser.driving import settle

# What Tab comes to, from the top: names or parts of them.
BAR = (
    "Skip to main content",
    "Overview",
    "Step by step",
    "Text of the lesson",
    "Lesson settings",
    "Edit numbers",
    "Share",
)
FOOT = ("pictures as tables", "code that computed this", "Lecture mode", "Presenter notes")
STOPS = {
    "similarity": ("query", "key", "chevron_left", "chevron_right", "Every term"),
    "softmax": ("query", "key", "chevron_left", "Temperature", "Added to every score", "Subtract each row's maximum"),
    "training": (
        "Task",
        "Training steps",
        "Learning rate",
        "Seed of the training",
        "model_training",
        "An unseen sequence",
    ),
}


def parameter(page: Page, name: str) -> str | None:
    return parse_qs(urlsplit(page.url).query).get(name, [None])[0]


def wait_for_parameter(page: Page, name: str, value: str) -> None:
    page.wait_for_url(re.compile(rf"[?&]{name}={re.escape(value)}(&|$)"))
    settle(page)


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("name", STOPS)
def test_tab_comes_to_everything_in_order_and_is_seen(visit: Visit, name: str, theme: str) -> None:
    page = visit(f"/{name}?lang=en", lang="en", theme=theme)
    for stop in (*BAR, *STOPS[name], *FOOT):
        tab_to(page, stop)
        assert focus_is_seen(page), stop


def test_a_cell_is_chosen_and_its_neighbour(visit: Visit) -> None:
    page = visit("/similarity?lang=en", lang="en")
    tab_to(page, "key")
    for key in ("ArrowDown", "ArrowDown", "Enter"):
        page.keyboard.press(key)
    page.wait_for_url(re.compile(r"[?&]key=[1-9]"))
    settle(page)
    chosen = int(parameter(page, "key") or 0)
    tab_to(page, "chevron_right")
    page.keyboard.press("Enter")
    wait_for_parameter(page, "key", str(chosen + 1))


def test_a_page_is_turned(visit: Visit) -> None:
    page = visit("/similarity?lang=en", lang="en")
    tab_to(page, "Softmax weights")
    page.keyboard.press("Enter")
    page.wait_for_url("**/softmax?*")
    settle(page)


def test_share_opens_and_closes(visit: Visit) -> None:
    page = visit("/similarity?lang=en", lang="en")
    tab_to(page, "Share")
    page.keyboard.press("Enter")
    link = page.get_by_text("This link opens exactly what you see")
    link.wait_for()
    page.locator("[data-testid=stPopoverBody] [data-testid=stCode] code").first.wait_for()  # it comes a moment later
    settle(page)
    page.keyboard.press("Tab")
    assert "/similarity?" in name_of_focused(page), "Tab goes on inside"
    tab_to(page, "All matrices")
    page.keyboard.press("Escape")
    link.wait_for(state="hidden")
    assert "Share" in name_of_focused(page)


def test_a_number_is_edited(visit: Visit) -> None:
    page = visit("/query_key_value?lang=en", lang="en")
    tab_to(page, "Edit numbers")
    page.keyboard.press("Enter")
    page.locator("[data-testid=stDataFrame]").wait_for()
    settle(page)
    tab_to(page, "W_E")
    tab_to_table(page)
    page.keyboard.press("ArrowRight")
    page.keyboard.press("2")
    page.wait_for_function("document.activeElement.tagName !== 'CANVAS'")  # a field has opened in the cell
    page.keyboard.press("Enter")
    page.wait_for_function("() => location.search.includes('edits=')")
    settle(page)
    assert parameter(page, "edits") == "W_Q[0,0]=2"
    page.keyboard.press("Escape")
    page.locator("[role=dialog]").wait_for(state="detached")


def test_the_steps_of_a_training(visit: Visit) -> None:
    """Plotly's own buttons take no key; Back and Forward lead through the same pictures."""
    page = visit("/training?lang=en&learning_steps=100", lang="en")
    tab_to(page, "model_training")
    page.keyboard.press("Enter")
    page.get_by_text("Loss and accuracy over the steps").wait_for()
    settle(page)
    tab_to(page, "Back")
    assert focus_is_seen(page)
    page.keyboard.press("Enter")
    page.wait_for_function("() => location.search.includes('shown_step=')")
    settle(page)


def test_the_check_can_fail(visit: Visit) -> None:
    page = visit("/exercises?lang=en", lang="en")
    tab_to(page, "Lecture mode")
    assert focus_is_seen(page)
    page.add_style_tag(
        content="* { outline: none !important; box-shadow: none !important; border-color: red !important }"
    )
    assert not focus_is_seen(page)
    with pytest.raises(AssertionError, match="does not reach"):
        tab_to(page, "no such thing")
