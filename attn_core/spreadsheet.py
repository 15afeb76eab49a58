"""Tables as CSV that a spreadsheet opens without taking any text for a formula."""

import csv
import io
import unicodedata
from collections.abc import Iterable

_CONTROLS = tuple(map(chr, range(32)))


def table(rows: Iterable[tuple[str | float, ...]]) -> str:
    """Rows as CSV: text is quoted and made harmless, numbers keep all their digits."""
    file = io.StringIO(newline="")
    csv.writer(file, quoting=csv.QUOTE_NONNUMERIC).writerows([harmless(cell) for cell in row] for row in rows)
    return file.getvalue()


def harmless(cell: str | float) -> str | float:
    """A number as it is; text with an apostrophe in front where it could pass for a formula or begins with one.

    Spreadsheets read a formula in a cell that begins with =, +, - or @, some also in their full-width forms, after
    spaces or behind a control character.
    """
    if not isinstance(cell, str):
        return cell
    first = next((c for c in cell if unicodedata.category(c)[0] not in "CZ"), "")
    begins_a_formula = unicodedata.normalize("NFKC", first) in ("=", "+", "-", "@", "'")
    return f"'{cell}" if begins_a_formula or cell.startswith(_CONTROLS) else cell


def table_csv(header: tuple[str, ...], rows: Iterable[tuple[str | float, ...]]) -> bytes:
    """A table as a file: UTF-8 with a byte order mark, without which Excel misreads Japanese."""
    return table([header, *rows]).encode("utf-8-sig")
