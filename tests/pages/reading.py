"""Reading a page back: its charts, its words, its address."""

import base64
import json
from typing import Any

import numpy as np
import pandas as pd
from streamlit.testing.v1 import AppTest

from attn_core.links import CutText, Linked
from attn_core.pretrained_settings import ShortText
from pages.shared.shell import PAGES

PAGE_NAMES = tuple(entry.name for entry in PAGES)
LANGUAGES = ("ja", "en")


def charts(app: AppTest) -> dict[str, Any]:
    """Every Plotly chart of the page by its key, as the message to the browser."""
    return {chart.proto.id.rsplit("-", 1)[-1]: chart.proto for chart in app.get("plotly_chart")}


def figure(app: AppTest, key: str) -> dict[str, Any]:
    """One chart's data and layout; arrays that travel as bytes are lists again."""
    return json.loads(charts(app)[key].spec, object_hook=_unpacked)


def _unpacked(part: dict[str, Any]) -> Any:
    if set(part) != {"dtype", "bdata", "shape"}:
        return part
    numbers = np.frombuffer(base64.b64decode(part["bdata"]), dtype=part["dtype"])
    return numbers.reshape([int(size) for size in part["shape"].split(",")]).tolist()


def address(app: AppTest) -> dict[str, str]:
    """The URL's parameters after the run."""
    return {name: value[-1] if isinstance(value, list) else value for name, value in app.query_params.items()}


def warnings(app: AppTest) -> list[str]:
    return [warning.value for warning in app.warning]


def words(app: AppTest) -> list[str]:
    """Every piece of Markdown on the page, in order; the lines of a worked example one by one."""
    pieces = [element.value for kind in (app.markdown, app.caption, app.subheader, app.title) for element in kind]
    return [line for piece in pieces for line in (piece.split("\n\n") if piece.startswith("$") else (piece,))]


def tables(app: AppTest) -> list[pd.DataFrame]:
    """Every table written as Markdown, in order, under the names of its first column."""
    written = [element.value for element in app.markdown if element.value.startswith("| ")]
    return [_table(text) for text in written]


def _table(text: str) -> pd.DataFrame:
    names, _line, *rows = ([cell.strip() for cell in row[1:-1].split(" | ")] for row in text.splitlines())
    return pd.DataFrame(rows, columns=names).set_index(names[0])


def readable_fields(record: type[Linked]) -> list[str]:
    """The fields for which a link can hold something that is not allowed."""
    return [name for name in record.names() if not isinstance(record.allowed(name), CutText | ShortText)]
