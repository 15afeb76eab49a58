"""Every page, in both languages, as the very first request to a fresh server: on a dark phone, then on a desk."""

import pytest

from pages.shared.shell import PAGES
from tests.browser.driving import settle
from tests.browser.layout import cut_text, excess_width
from tests.independent import DEFAULT_TEXT

_BACKGROUND = "getComputedStyle(document.querySelector('[data-testid=stApp]')).backgroundColor === 'rgb({})'"
_DARK, _LIGHT = "20, 19, 26", "255, 255, 255"


@pytest.mark.parametrize("lang", ["ja", "en"])
@pytest.mark.parametrize("name", [entry.name for entry in PAGES])
def test_cold_deep_link(fresh_server, visit, name, lang):
    """The browser speaks the other language: the link decides. The page closes before its server stops."""
    path = f"/{'' if name == PAGES[0].name else name}?lang={lang}&seed=3"
    page = visit(path, at=fresh_server, lang="en" if lang == "ja" else "ja", width=390, theme="dark")
    assert page.url == fresh_server + path
    page.wait_for_function("lang => document.documentElement.lang === lang", arg=lang)
    assert page.locator(".st-key-text input").input_value() == DEFAULT_TEXT[lang]
    if name != "exercises":
        page.wait_for_selector(".js-plotly-plot")
        settle(page)
    pictures = page.locator(".js-plotly-plot").count()
    assert pictures or name == "exercises"  # where the question decides
    assert page.locator("[data-testid=stPlotlyChart][aria-label]").count() == pictures
    assert page.evaluate(_BACKGROUND.format(_DARK))
    assert excess_width(page) <= 1
    assert cut_text(page) == []

    page.emulate_media(color_scheme="light")
    page.set_viewport_size({"width": 1280, "height": 800})
    page.wait_for_function(_BACKGROUND.format(_LIGHT))
    settle(page)
    assert excess_width(page) <= 1
    assert cut_text(page) == []
