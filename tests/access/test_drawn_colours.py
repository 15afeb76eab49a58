"""What the browser really draws: letters of pictures and formulas have contrast, and nothing moves for who asks so."""

import re

import numpy as np
import pytest
from playwright.sync_api import Page

from tests.access.conftest import address
from tests.access.eyes import Color, contrast
from tests.access.test_colours import READABLE
from tests.browser.conftest import Visit
from tests.browser.driving import settle

# Letters of pictures that stand on the page itself, and all letters of formulas; with the page's colour.
_LETTERS = """() => {
  const drawn = e => e.checkVisibility({visibilityProperty: true}) && e.getBoundingClientRect().width
  const page = getComputedStyle(document.querySelector('[data-testid=stApp]')).backgroundColor
  const on_page = e => !e.closest('.heatmaplayer, .barlayer, .trace, .hoverlayer, .updatemenu-button')
  const svg = [...document.querySelectorAll('.js-plotly-plot text')].filter(e => drawn(e) && on_page(e))
  const spans = svg.flatMap(e => [e, ...e.querySelectorAll('tspan')])
  const leaf = e => drawn(e) && !e.children.length && e.textContent
  const math = [...document.querySelectorAll('.katex-html *')].filter(leaf)
  return [page, [...spans.map(e => [e.textContent, getComputedStyle(e).fill]),
                 ...math.map(e => [e.textContent, getComputedStyle(e).color])]]
}"""
_IN_CELLS = (
    "() => [...document.querySelectorAll('.heatmap-label text')].map(e => [e.textContent, getComputedStyle(e).fill])"
)
PAGES = ("similarity", "one_hot", "image_patches", "scaling", "weighted_sum", "overview")


def rgb_of(written: str) -> Color:
    return np.array([float(number) for number in re.findall(r"[\d.]+", written)[:3]]) / 255


def faint(page: Page) -> list[tuple[str, str]]:
    """Letters without enough contrast to the page."""
    background, letters = page.evaluate(_LETTERS)
    assert letters
    return [(text, ink) for text, ink in letters if contrast(rgb_of(ink), rgb_of(background)) < READABLE]


@pytest.mark.parametrize("name", PAGES)
def test_letters_in_both_themes(visit: Visit, name: str) -> None:
    page = visit(address(name), lang="en")
    for theme in ("light", "dark"):
        page.emulate_media(color_scheme=theme)
        page.wait_for_function(
            "theme => getComputedStyle(document.querySelector('[data-testid=stApp]')).colorScheme === theme", arg=theme
        )
        settle(page)
        assert faint(page) == [], theme
        assert {ink for _text, ink in page.evaluate(_IN_CELLS)} <= {"rgb(0, 0, 0)"}


def test_the_check_can_fail(visit: Visit) -> None:
    page = visit("/similarity?lang=en", lang="en")
    page.evaluate(
        "document.querySelectorAll('style').forEach(e => e.textContent.includes('light-dark(#B55000') && e.remove())"
    )
    assert {ink for _text, ink in faint(page)} >= {"rgb(213, 94, 0)"}


def test_nothing_moves_for_who_asks_so(visit: Visit) -> None:
    page = visit("/similarity?lang=en", lang="en")
    assert moving(page), "without the wish Streamlit's own transitions are there"
    page.emulate_media(reduced_motion="reduce")
    assert moving(page) == []


def moving(page: Page) -> list[str]:
    """What has a transition or an animation that takes longer than an eye sees."""
    return page.evaluate(
        """() => [...document.querySelectorAll('*')].filter(e => { const s = getComputedStyle(e)
          return [s.transitionDuration, s.animationName === 'none' ? '0s' : s.animationDuration]
            .some(times => times.split(', ').some(time => parseFloat(time) > 0.02)) }).map(e => e.tagName)"""
    )
