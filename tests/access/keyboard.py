"""A reader with a keyboard and no pointer."""

from collections.abc import Callable

from playwright.sync_api import Page

_MOST_STOPS = 80
_NAME = """() => {
  const e = document.activeElement
  if (e.matches('body, main')) return ''  // they scroll
  return e.getAttribute('aria-label') || e.labels?.[0]?.innerText || e.innerText || ''
}"""
_SEEN = """async () => {
  const e = document.activeElement, chain = [e]
  while (chain.length < 4) chain.push(chain.at(-1).parentElement)
  const wait = () => new Promise(done => setTimeout(done, 60))
  const look = () => JSON.stringify(chain.map(one => {
    const s = getComputedStyle(one)
    return [s.outlineStyle === 'none' ? '' : s.outlineWidth + s.outlineColor, s.boxShadow, s.borderColor]
  }))
  await wait()
  const focused = look()
  e.blur()
  await wait()
  const left = look()
  e.focus({focusVisible: true})
  return focused !== left
}"""


def tab_to(page: Page, name: str) -> None:
    """Presses Tab until what has the focus has this name in its own."""
    _tab_until(page, lambda: name in name_of_focused(page), name)


def tab_to_table(page: Page) -> None:
    """Presses Tab until the cells of a table have the focus."""
    _tab_until(page, lambda: page.evaluate("document.activeElement.tagName === 'CANVAS'"), "a table")


def _tab_until(page: Page, there: Callable[[], bool], goal: str) -> None:
    for _ in range(_MOST_STOPS):
        page.keyboard.press("Tab")
        if there():
            return
    raise AssertionError(f"Tab does not reach {goal!r}")


def name_of_focused(page: Page) -> str:
    """What a screen reader would say of it."""
    return page.evaluate(_NAME)


def focus_is_seen(page: Page) -> bool:
    """Whether what has the focus, or a frame close around it, looks another way than without."""
    return page.evaluate(_SEEN)
