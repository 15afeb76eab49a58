"""Text that would be more than text, were it not shown as typed."""

from urllib.parse import quote, urlencode

import pytest

from pages.shared.shell import PAGES
from tests.browser.driving import settle

HOSTILE = {
    "html": "<img src=x onerror=alert(1)>",
    "script": "<script>alert(1)</script>",
    "formula": "$\\href{javascript:alert(1)}{x}$",
    "link": "[a](javascript:alert(1))",
    "picture": "![i](//example.org/i.png)",
    "styles": "**b** _i_ `c` ~~s~~ :red[x] \\ \\\\",
}
_INJECTED = """() => [...document.querySelectorAll('[data-testid=stMain] *')].filter(e =>
  /^javascript:/i.test(e.getAttribute('href') ?? e.getAttribute('xlink:href') ?? '') || e.hasAttribute('onerror')
  || (e.tagName === 'IMG' && e.getAttribute('src') === 'x') || e.src?.includes('example.org')).length"""


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_shown_as_typed(visit, text):
    """In the text itself, cut into characters so that each mark is a token, and in the warning about a parameter."""
    given = {"lang": "en", "text": text, "segmentation": "characters", "query": 0, "seed": text}
    query = urlencode(given, quote_via=quote)
    page = visit(f"/similarity?{query}", lang="en")
    assert page.locator(".st-key-text input").input_value() == text
    warning = page.locator("[data-testid=stAlert]").filter(has_text="is not possible").inner_text()
    assert f"“{text}” is not possible for seed" in warning
    question = page.get_by_text("How similar are the query of").inner_text()
    assert question == f"How similar are the query of {text[0]} and the key of {text[0]}?"
    assert page.evaluate(_INJECTED) == 0


@pytest.mark.parametrize("name", [entry.name for entry in PAGES])
def test_on_every_page(visit, name):
    """Typed in, one after the other; a dialog, another host or an exception fails the test at its end."""
    page = visit(f"/{'' if name == PAGES[0].name else name}?lang=en&query=0&key=0", lang="en")
    text = " ".join(HOSTILE.values())
    page.locator(".st-key-text input").fill(text)
    page.keyboard.press("Enter")
    page.wait_for_function("() => new URL(location).searchParams.get('text')?.includes('onerror')")
    settle(page)
    assert page.locator("h1").inner_text()
    assert page.evaluate(_INJECTED) == 0
    assert page.locator(".st-key-text input").input_value() == text
