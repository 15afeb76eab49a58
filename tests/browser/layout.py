"""Finding what a reader could not read: text that is cut, or outside of the page or of its picture."""

from playwright.sync_api import Page

_CUT = """() => {
  const found = [], main = document.querySelector('[data-testid=stMain]')
  const scrolls = e => { for (; e && e !== main; e = e.parentElement)
    if (['auto', 'scroll'].includes(getComputedStyle(e).overflowX)) return true; return false }
  const hides = e => ['hidden', 'clip'].includes(getComputedStyle(e).overflowX)
  const around = e => { for (e = e.parentElement; e && e !== main; e = e.parentElement) if (hides(e)) return e }
  const letters = e => { const all = new Range(); all.selectNodeContents(e); return all.getBoundingClientRect() }
  for (const e of main.querySelectorAll('*')) {
    if (e.closest('svg, .katex, canvas, input') || !e.checkVisibility({visibilityProperty: true})) continue
    const text = [...e.childNodes].filter(n => n.nodeType === 3).map(n => n.textContent.trim()).join('')
    const box = e.getBoundingClientRect()
    if (!text || box.width < 2) continue
    if (e.scrollWidth > e.clientWidth + 1 && e.clientWidth && hides(e)) found.push('cut: ' + text)
    const frame = around(e)
    if (frame && letters(e).right > frame.getBoundingClientRect().right + 1) found.push('cut by its frame: ' + text)
    if ((box.right > innerWidth + 1 || box.left < -1) && !scrolls(e)) found.push('outside: ' + text)
  }
  for (const plot of main.querySelectorAll('.js-plotly-plot')) {
    const frame = plot.querySelector('.main-svg').getBoundingClientRect()
    for (const label of plot.querySelectorAll('text')) {
      const box = label.getBoundingClientRect()
      if (box.width && (box.left < frame.left - 2 || box.right > frame.right + 2
          || box.top < frame.top - 2 || box.bottom > frame.bottom + 2))
        found.push('outside its picture: ' + label.textContent)
    }
  }
  for (const line of main.querySelectorAll('.katex-html')) {
    const box = line.getBoundingClientRect()
    if (box.width && box.right > innerWidth + 1 && !scrolls(line)) found.push('formula outside: ' + line.textContent)
  }
  return found
}"""
_WIDER = """() => { const m = document.querySelector('[data-testid=stMain]'); return m.scrollWidth - m.clientWidth }"""


def cut_text(page: Page) -> list[str]:
    """Text that its own box cuts off, text outside the window, and labels outside their picture."""
    return page.evaluate(_CUT)


def excess_width(page: Page) -> int:
    """By how many pixels the content is wider than the page."""
    return page.evaluate(_WIDER)
