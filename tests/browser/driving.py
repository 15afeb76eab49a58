"""Driving a page and reading back what it shows; every wait is for a state."""

import re
from typing import Any

import numpy as np
from playwright.sync_api import Page, expect

_SETTLED = """() => {
  const app = document.querySelector('[data-testid=stApp]')
  if (app?.dataset.testConnectionState !== 'CONNECTED' || app.dataset.testScriptState !== 'notRunning') return false
  const main = document.querySelector('[data-testid=stMain]')
  if (!main?.querySelector('h1') || document.querySelector('[data-stale=true]')) return false
  if ([...main.querySelectorAll('[data-testid=stSkeleton]')].some(e => e.checkVisibility())) return false
  return [...main.querySelectorAll('.js-plotly-plot')].every(chart => chart.querySelector('.main-svg'))
}"""
_PLOT = "document.querySelector(`.st-key-${key} .js-plotly-plot`)"
_PRINTED = r"""() => [...document.querySelectorAll('[data-testid=stMain] .katex')]
  .filter(k => k.querySelector('annotation').textContent.includes('\\boldsymbol'))
  .map(k => k.querySelector('.katex-html').textContent)"""
_CELL = f"""([key, place]) => {{
  const plot = {_PLOT}
  const targets = plot.data.find(trace => trace.customdata?.[0]?.length === place.length)
  const i = targets.customdata.findIndex(one => one.every((n, j) => n === place[j]))
  plot.scrollIntoView({{block: 'center'}})
  const {{xaxis, yaxis}} = plot._fullLayout, box = plot.getBoundingClientRect()
  return [box.left + xaxis._offset + xaxis.l2p(targets.x[i]), box.top + yaxis._offset + yaxis.l2p(targets.y[i])]
}}"""

_INJECTED = r"""() => {
  const leads = ['href', 'xlink:href', 'src', 'srcset', 'srcdoc', 'data', 'action', 'formaction', 'poster']
  const elsewhere = value => {
    try {
      const url = new URL(value, location)
      return /example(.org)?$/.test(url.hostname) || /^(javascript|vbscript|mailto|file):|^data:text/.test(url)
    } catch { return false }
  }
  const hostile = ({name, value}) => (name.startsWith('on') && value.includes('alert'))
    || (leads.includes(name) && (value === 'x' || elsewhere(value))) || (name === 'style' && /example/.test(value))
  const main = document.querySelector('[data-testid=stMain]')
  return [...main.querySelectorAll('*')].filter(e => [...e.attributes].some(hostile)
    || ['SCRIPT', 'IFRAME', 'BASE', 'META'].includes(e.tagName) && /alert|example/.test(e.outerHTML)).length
}"""


def settle(page: Page) -> None:
    """Waits until the script has finished and every chart is drawn."""
    page.wait_for_function(_SETTLED)


def wait_for_title(page: Page, title: str) -> None:
    """Waits until the page of this title is there, and no other: while a page changes, both may stand in it."""
    expect(page.locator("h1")).to_have_text([title])
    settle(page)


def wait_for_picture(page: Page, key: str) -> None:
    """Waits until a picture is there: a page may show it only in a later run of its script."""
    page.wait_for_function(f"key => {_PLOT}?.data", arg=key)
    settle(page)


def numbers(page: Page, key: str, trace: int) -> np.ndarray:
    """The cells of a picture as the browser holds them."""
    wait_for_picture(page, key)
    return np.array(page.evaluate(f"([key, trace]) => {_PLOT}.data[trace].z.map(row => [...row])", [key, trace]))


def traces(page: Page, key: str) -> list[dict[str, Any]]:
    """Every trace of a picture: its name and its points."""
    wait_for_picture(page, key)
    return page.evaluate(f"key => {_PLOT}.data.map(t => ({{name: t.name, x: t.x, y: t.y}}))", key)


def wait_for_numbers(page: Page, key: str, trace: int, expected: np.ndarray, within: float = 1e-9) -> None:
    """Waits until a picture holds these cells."""
    page.wait_for_function(
        f"""([key, trace, expected, within]) => {{
          const shown = {_PLOT}?.data?.[trace]?.z
          return shown?.length === expected.length && shown.every((row, i) =>
            row.length === expected[i].length && row.every((n, j) => Math.abs(n - expected[i][j]) < within))
        }}""",
        arg=[key, trace, expected.tolist(), within],
    )
    settle(page)


def printed_totals(page: Page) -> list[float]:
    """The bold number at the end of every worked example, as printed."""
    texts = page.evaluate(_PRINTED)
    return [float(re.split("[=≈]", text)[-1].replace("−", "-").replace("\u200b", "")) for text in texts]


def wait_for_total(page: Page, total: float) -> None:
    """Waits until the first worked example ends in this number, printed to four decimals."""
    written = f"{total:.4f}".replace("-", "−")
    page.wait_for_function(f"written => ({_PRINTED})()[0]?.replace('\\u200b', '').endsWith(written)", arg=written)
    settle(page)


def click_cell(page: Page, key: str, *place: int) -> None:
    """A click on the point whose customdata is `place`: row and column, or what else the picture chooses."""
    page.mouse.click(*page.evaluate(_CELL, [key, place]))


def press(page: Page, key: str) -> None:
    """A key for the page itself, not for a field that has the focus."""
    page.evaluate("document.activeElement?.blur()")
    page.keyboard.press(key)


def injected(page: Page) -> int:
    """How many elements there are that a text has put into the page, were it more than text."""
    return page.evaluate(_INJECTED)
