"""axe-core finds nothing serious or critical of ours, on any page, in either language and either theme."""

from itertools import product

import pytest
from playwright.sync_api import Page

from pages.shared.shell import PAGES
from tests.access.axe import Streamlits, violations
from tests.access.conftest import address
from tests.browser.conftest import Visit
from tests.browser.driving import settle

LANGUAGES, THEMES = ("ja", "en"), ("light", "dark")
GENERAL = "github.com/streamlit/streamlit/issues/8399"  # of accessibility in general; none of these lists was found
KNOWN = (
    Streamlits("list", "[data-testid=stSidebarNavItems]", GENERAL),
    Streamlits("listitem", "[data-testid=stSidebarNavItems] li", GENERAL),
)


def states(every: bool) -> list[tuple[str, str, str]]:
    """Page, language, theme: all 56, or so many that each page is seen in each language and in each theme."""
    found = product(enumerate(entry.name for entry in PAGES), enumerate(LANGUAGES), enumerate(THEMES))
    return [(page, lang, theme) for (i, page), (j, lang), (k, theme) in found if every or (i + j + k) % 2 == 0]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "theme" in metafunc.fixturenames:
        metafunc.parametrize(("name", "lang", "theme"), states(metafunc.config.getoption("--every-state", False)))


def test_every_page(visit: Visit, name: str, lang: str, theme: str) -> None:
    page = visit(address(name, lang), lang=lang, theme=theme)
    assert violations(page, KNOWN) == []


def test_on_a_phone(visit: Visit) -> None:
    page = visit("/similarity?lang=ja", width=390, theme="dark")
    page.locator(".st-key-pictures_as_tables summary").click()
    page.locator(".st-key-pictures_as_tables table").first.wait_for()
    settle(page)
    assert violations(page, KNOWN) == []
    assert any(found.startswith("list ") for found in violations(page)), "Streamlit's own are still there"


def test_half_of_the_states_has_every_page_in_every_language_and_theme() -> None:
    half = states(every=False)
    assert len(half) == len(states(every=True)) / 2 == 28
    assert {(page, lang) for page, lang, _theme in half} == set(product((e.name for e in PAGES), LANGUAGES))
    assert {(page, theme) for page, _lang, theme in half} == set(product((e.name for e in PAGES), THEMES))


@pytest.mark.parametrize(
    "opened", ["share_popover", "edit_popover", "settings", "every_term", "pictures_as_tables", "code"]
)
def test_what_opens(visit: Visit, opened: str) -> None:
    page = visit("/similarity?lang=en", lang="en", theme="dark")
    opener(page, opened).click()
    settle(page)
    found = violations(page, KNOWN)
    page.keyboard.press("Escape")
    page.locator("[role=dialog]").wait_for(state="detached")
    assert found == []


def opener(page: Page, opened: str):
    if opened == "settings":
        return page.get_by_role("button", name="Lesson settings")
    return page.locator(f".st-key-{opened} :is(button, summary)").first


def test_the_check_can_fail(visit: Visit) -> None:
    page = visit("/exercises?lang=en", lang="en")
    page.evaluate(
        """document.querySelector("h1").insertAdjacentHTML(
             "afterend", "<button></button><p style='color: #999'>grey</p>")"""
    )
    assert [found.split()[0] for found in violations(page)] == ["button-name", "color-contrast"]
    assert violations(page, (Streamlits("button-name", "button", ""), Streamlits("color-contrast", "p", ""))) == []
