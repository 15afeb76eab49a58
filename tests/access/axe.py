"""axe-core in the browser: what it finds wrong with a page."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from playwright.sync_api import Page

AXE = Path(__file__).parent / "node_modules/axe-core/axe.min.js"
_RUN = """async () => (await axe.run(document, {resultTypes: ['violations']})).violations.flatMap(rule =>
  rule.nodes.map(node => ({rule: rule.id, impact: node.impact, html: node.html, why: node.failureSummary,
                           place: node.target.flat().join(' ')})))"""
_GRAVE = ("serious", "critical")


@dataclass(frozen=True)
class Streamlits:
    """A violation that is Streamlit's own: which rule, of which elements, and where it is known upstream."""

    rule: str
    selector: str
    known: str


def violations(page: Page, known: tuple[Streamlits, ...] = ()) -> list[str]:
    """Serious and critical violations, but for Streamlit's own."""
    page.evaluate(AXE.read_text(encoding="utf-8"))
    grave = [found for found in page.evaluate(_RUN) if found["impact"] in _GRAVE]
    return [_told(found) for found in grave if not any(_is(page, found, one) for one in known)]


def _is(page: Page, found: dict[str, Any], known: Streamlits) -> bool:
    fits = "([place, selector]) => document.querySelector(place)?.matches(selector) ?? false"
    return found["rule"] == known.rule and page.evaluate(fits, [found["place"], known.selector])


def _told(found: dict[str, Any]) -> str:
    return f"{found['rule']} ({found['impact']}): {found['html'][:200]}\n{found['why']}"
