"""Driving a page and reading back what it shows; every wait is for a state."""

import re
from typing import Any

import numpy as np
from playwright.sync_api import Page

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
_CELL = f"""([key, row, column]) => {{
  const plot = {_PLOT}
  const targets = plot.data.find(trace => trace.customdata?.[0]?.length === 2)
  const i = targets.customdata.findIndex(([r, c]) => r === row && c === column)
  plot.scrollIntoView({{block: 'center'}})
  const {{xaxis, yaxis}} = plot._fullLayout, box = plot.getBoundingClientRect()
  return [box.left + xaxis._offset + xaxis.l2p(targets.x[i]), box.top + yaxis._offset + yaxis.l2p(targets.y[i])]
}}"""


def settle(page: Page) -> None:
    """Waits until the script has finished and every chart is drawn."""
    page.wait_for_function(_SETTLED)


def numbers(page: Page, key: str, trace: int) -> np.ndarray:
    """The cells of a picture as the browser holds them."""
    return np.array(page.evaluate(f"([key, trace]) => {_PLOT}.data[trace].z", [key, trace]))


def traces(page: Page, key: str) -> list[dict[str, Any]]:
    """Every trace of a picture: its name and its points."""
    return page.evaluate(f"key => {_PLOT}.data.map(t => ({{name: t.name, x: t.x, y: t.y}}))", key)


def wait_for_numbers(page: Page, key: str, trace: int, expected: np.ndarray) -> None:
    """Waits until a picture holds these cells."""
    page.wait_for_function(
        f"""([key, trace, expected]) => {{
          const shown = {_PLOT}?.data?.[trace]?.z
          return shown?.length === expected.length && shown.every((row, i) =>
            row.length === expected[i].length && row.every((n, j) => Math.abs(n - expected[i][j]) < 1e-9))
        }}""",
        arg=[key, trace, expected.tolist()],
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


def click_cell(page: Page, key: str, row: int, column: int) -> None:
    page.mouse.click(*page.evaluate(_CELL, [key, row, column]))


def press(page: Page, key: str) -> None:
    """A key for the page itself, not for a field that has the focus."""
    page.evaluate("document.activeElement?.blur()")
    page.keyboard.press(key)
