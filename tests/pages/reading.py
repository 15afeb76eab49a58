"""Reading a page back: its charts, its words, its address."""

import json
from typing import Any

from streamlit.testing.v1 import AppTest

from attn_core.links import AnyText, Linked
from pages.shared.shell import PAGES

PAGE_NAMES = tuple(entry.name for entry in PAGES)
LANGUAGES = ("ja", "en")


def charts(app: AppTest) -> dict[str, Any]:
    """Every Plotly chart of the page by its key, as the message to the browser."""
    return {chart.proto.id.rsplit("-", 1)[-1]: chart.proto for chart in app.get("plotly_chart")}


def figure(app: AppTest, key: str) -> dict[str, Any]:
    """One chart's data and layout."""
    return json.loads(charts(app)[key].spec)


def address(app: AppTest) -> dict[str, str]:
    """The URL's parameters after the run."""
    return {name: value[-1] if isinstance(value, list) else value for name, value in app.query_params.items()}


def warnings(app: AppTest) -> list[str]:
    return [warning.value for warning in app.warning]


def words(app: AppTest) -> list[str]:
    """Every piece of Markdown on the page, in order."""
    return [element.value for kind in (app.markdown, app.caption, app.subheader, app.title) for element in kind]


def readable_fields(record: type[Linked]) -> list[str]:
    """The fields for which a link can hold something that is not allowed."""
    return [name for name in record.names() if not isinstance(record.allowed(name), AnyText)]
