"""Every picture says its message in words, with its numbers, in the page's language."""

import base64
import json
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from pages.shared.shell import PAGES
from pages.shared.text import plain
from tests.pages.conftest import OpenPage

_NUMBER = re.compile(r"[-−]?\d[\d,]*(?:\.\d+)?%?")
_JAPANESE = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff]")


def said(alt: str) -> list[tuple[float, int]]:
    """Every number of a text, with its decimals."""
    found = []
    for text in _NUMBER.findall(alt):
        digits = text.replace("−", "-").replace(",", "").removesuffix("%")
        decimals = len(digits.partition(".")[2])
        found.append((float(digits) / 100, decimals + 2) if text.endswith("%") else (float(digits), decimals))
    return found


def drawn(piece: object) -> Iterator[float]:
    """Every number of a figure: in its data, and in what it prints."""
    if isinstance(piece, dict) and "bdata" in piece:
        yield from np.frombuffer(base64.b64decode(piece["bdata"]), piece["dtype"]).astype(float).tolist()
    elif isinstance(piece, dict | list):
        for part in piece.values() if isinstance(piece, dict) else piece:
            yield from drawn(part)
    elif isinstance(piece, str):
        yield from (number for number, _decimals in said(re.sub("<[^>]*>", "", piece)))
    elif isinstance(piece, int | float):
        yield float(piece)


def tells_its_numbers(alt: str, figures: list[dict[str, Any]]) -> bool:
    """Whether a number of the text is one that the pictures show, rounded as the text rounds it."""
    shown = np.array([*drawn([[figure["data"], figure["layout"].get("annotations", [])] for figure in figures])])
    return any(np.any(np.abs(shown - number) <= 0.5 * 10.0**-decimals + 1e-12) for number, decimals in said(alt))


@pytest.mark.parametrize("lang", ["ja", "en"])
@pytest.mark.parametrize("name", [entry.name for entry in PAGES])
def test_every_picture_tells_its_numbers(open_page: OpenPage, name: str, lang: str) -> None:
    """In words of the page's language, and all of them as tables."""
    app = open_page(name, lang=lang)
    assert not app.exception
    charts = app.get("plotly_chart")
    figures = [json.loads(chart.proto.spec) for chart in charts]
    for chart in charts:
        assert bool(_JAPANESE.search(chart.proto.alt)) is (lang == "ja"), chart.proto.alt
        assert tells_its_numbers(chart.proto.alt, figures), chart.proto.alt
    assert bool(charts) is any(fold.label in ("The pictures as tables", "図の数値を表で見る") for fold in app.expander)


@pytest.mark.parametrize("name", [entry.name for entry in PAGES if entry.name != "exercises"])
def test_every_number_in_a_cell_stands_in_a_table(open_page: OpenPage, name: str) -> None:
    app = open_page(name, lang="en")
    app.session_state["pictures_as_tables"] = True
    app.run()
    assert not app.exception
    fold = next(fold for fold in app.expander if fold.label == "The pictures as tables")
    frames = (cell for table in fold.dataframe for row in table.value.to_numpy() for cell in row)
    written = " ".join([*(text.value for text in fold.markdown), *map(plain, frames)])
    for chart in app.get("plotly_chart"):
        assert plain(chart.proto.alt) in written
        for trace in json.loads(chart.proto.spec)["data"]:
            missing = [text for text in in_cells(trace) if plain(text) not in written]
            assert not missing, (chart.proto.alt, missing)


def in_cells(trace: dict[str, Any]) -> list[str]:
    """The numbers that are printed in cells."""
    return [text for row in trace.get("text", []) for text in row] if trace["type"] == "heatmap" else []


def test_the_check_can_fail() -> None:
    figures = [{"data": [{"z": [[0.25]], "text": [["−1.50"]]}], "layout": {}}]
    assert all(tells_its_numbers(alt, figures) for alt in ("The largest is 0.25", "It is 25%", "the is −1.5"))
    assert not any(tells_its_numbers(alt, figures) for alt in ("Weights", "The largest is 0.24", "It is 1.5"))
