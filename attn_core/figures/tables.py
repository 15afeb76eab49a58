"""What a figure shows as tables of text, for readers who do not see it: every number that is drawn, with its names."""

import base64
import html
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from attn_core.figures.plain import Figure, Piece

_NOT_LETTERS = re.compile("<[^>]*>")
_DIGITS = 4


@dataclass(frozen=True)
class Table:
    """Names over the columns, and the rows; each row begins with its own name."""

    title: str
    names: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def tables(figure: Figure) -> tuple[Table, ...]:
    """One for each block of cells, then one for each curve, set of points or set of bars that has numbers to tell.

    Pictures of pixels, and marks that only lead the eye, have none.
    """
    pieces = figure.to_dict()
    layout = pieces["layout"]
    blocks = [trace for trace in pieces["data"] if trace["type"] == "heatmap"]
    titles = [_plain(note["text"]) for note in layout.get("annotations", ()) if note["text"].startswith("<b>")]
    named = titles if len(titles) == len(blocks) else [""] * len(blocks)
    curves = [trace for trace in pieces["data"] if trace["type"] in ("scatter", "bar") and _tells(trace)]
    return (
        *(_of_cells(trace, layout, title) for trace, title in zip(blocks, named, strict=True)),
        *(_of_points(trace, layout) for trace in curves),
    )


def _of_cells(trace: Piece, layout: Piece, title: str) -> Table:
    columns, rows = (_places(layout, trace, axis) for axis in "xy")
    texts = trace.get("text") or [[_written(number) for number in row] for row in _numbers(trace["z"])]
    return Table(title, ("", *columns), tuple((name, *row) for name, row in zip(rows, texts, strict=True)))


def _of_points(trace: Piece, layout: Piece) -> Table:
    """Its x and its y; where points carry a text, that comes first."""
    names = [_plain(layout[f"{axis}axis"].get("title", {}).get("text", axis)) for axis in "xy"]
    columns = [[_tick(layout, axis, value) for value in _numbers(trace[axis])] for axis in "xy"]
    texts = trace.get("text")
    if texts and len(texts) == len(columns[0]):
        names, columns = ["", *names], [[_plain(text) for text in texts], *columns]
    return Table(_plain(trace.get("name", "")), tuple(names), tuple(zip(*columns, strict=True)))


def _tells(trace: Piece) -> bool:
    """Whether it is more than invisible targets, a stroke or a frame."""
    invisible = trace.get("marker", {}).get("opacity") == 0
    stroke = trace.get("mode") == "lines" and not trace.get("name")
    return not invisible and not stroke and trace.get("y") is not None and len(_numbers(trace["y"])) > 0


def _numbers(data: Any) -> list[Any]:
    """A list of numbers, or of rows of them, also where it is packed."""
    if isinstance(data, dict):
        shape = [int(size) for size in data["shape"].split(",")]
        return [*np.frombuffer(base64.b64decode(data["bdata"]), data["dtype"]).reshape(shape).tolist()]
    return [*data]


def _places(layout: Piece, trace: Piece, axis: str) -> Iterator[str]:
    """The name beside each row or over each column of cells: a tick's, an annotation's, or its number."""
    edges: Sequence[float] = trace[axis]
    ticks = layout[f"{axis}axis"]
    names = [*zip(ticks.get("tickvals", ()), ticks.get("ticktext", ()), strict=True)]
    names += [
        (note[axis], note["text"]) for note in layout.get("annotations", ()) if not note["text"].startswith("<b>")
    ]
    for index, (start, end) in enumerate(pairwise(edges)):
        middle, near = (start + end) / 2, abs(end - start) / 4
        yield next((_plain(name) for place, name in names if abs(place - middle) < near), str(index))


def _tick(layout: Piece, axis: str, value: float | str | None) -> str:
    """A number of an axis whose places have names, by that name."""
    ticks = layout[f"{axis}axis"]
    places = dict(zip(ticks.get("tickvals", ()), ticks.get("ticktext", ()), strict=False))
    return _plain(places[value]) if value in places else _written(value)


def _written(value: float | str | None) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    return f"{value:.{_DIGITS}g}".replace("-", "−")


def _plain(text: str) -> str:
    """A text without Plotly's HTML."""
    return html.unescape(_NOT_LETTERS.sub("", text))
