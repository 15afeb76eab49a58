"""Changing single numbers of a lesson: readable in a link, traceable on every page."""

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from jaxtyping import Float
from torch import Tensor

from attn_core.limits import LARGEST_EDIT, MAX_EDITS
from attn_core.links import PartlyReadError

EditedMatrix = Literal["W_E", "W_Q", "W_K", "W_V", "W_O", "x", "p"]
EDITED_MATRICES: tuple[EditedMatrix, ...] = ("W_E", "W_Q", "W_K", "W_V", "W_O", "x", "p")

_FORM = re.compile(
    rf"({'|'.join(EDITED_MATRICES)})\[([0-9]{{1,3}}),([0-9]{{1,3}})\]=([+-]?[0-9.]{{1,20}}(?:e[+-]?[0-9]{{1,3}})?)"
)


@dataclass(frozen=True)
class Edit:
    """One number put into a matrix by hand, written `W_Q[0,1]=0.5`."""

    matrix: EditedMatrix
    row: int
    column: int
    value: float

    def __post_init__(self) -> None:
        if self.matrix not in EDITED_MATRICES:
            raise ValueError(f"matrix must be one of {', '.join(EDITED_MATRICES)}, got {self.matrix!r}")
        if not (math.isfinite(self.value) and abs(self.value) <= LARGEST_EDIT):
            raise ValueError(f"value must be between -{LARGEST_EDIT:g} and {LARGEST_EDIT:g}, got {self.value}")
        if not (0 <= self.row <= 999 and 0 <= self.column <= 999):
            raise ValueError(f"row and column must be between 0 and 999, got {self.row} and {self.column}")

    @classmethod
    def parse(cls, text: str) -> "Edit":
        """Reads `W_Q[0,1]=0.5`.

        Raises:
            ValueError: the text has another form, or the number is not allowed.
        """
        match = _FORM.fullmatch(text)
        if match is None:
            raise ValueError(f"an edit is written like W_Q[0,1]=0.5, got {text!r}")
        matrix, row, column, value = match.groups()
        return cls(matrix, int(row), int(column), float(value))  # type: ignore[arg-type]  # the pattern names them

    def __str__(self) -> str:
        number = repr(self.value).removesuffix(".0")
        return f"{self.matrix}[{self.row},{self.column}]={number}"


@dataclass(frozen=True)
class EditList:
    """Up to MAX_EDITS edits, written one after the other with spaces between."""

    def __str__(self) -> str:
        return f"W_Q[0,1]=0.5, -{LARGEST_EDIT:g} … {LARGEST_EDIT:g}, ≤ {MAX_EDITS}"

    def read(self, text: str) -> tuple[Edit, ...]:
        parts = text.split()
        edits, unread = [], parts[MAX_EDITS:]
        for part in parts[:MAX_EDITS]:
            try:
                edits.append(Edit.parse(part))
            except ValueError:
                unread.append(part)
        if unread:
            raise PartlyReadError(tuple(edits), tuple(unread))
        return tuple(edits)

    def accepts(self, value: object) -> bool:
        return isinstance(value, tuple) and len(value) <= MAX_EDITS and all(isinstance(edit, Edit) for edit in value)


def edited(
    matrix: EditedMatrix, values: Float[Tensor, "row column"], edits: Iterable[Edit]
) -> Float[Tensor, "row column"]:
    """A copy of the matrix with its edits put in, in order; edits outside of it change nothing."""
    changed = values.clone()
    for edit in edits:
        if edit.matrix == matrix and is_inside(edit, values):
            changed[edit.row, edit.column] = edit.value
    return changed


def is_inside(edit: Edit, values: Float[Tensor, "row column"]) -> bool:
    """Whether the matrix has the edit's cell."""
    rows, columns = values.shape
    return edit.row < rows and edit.column < columns
