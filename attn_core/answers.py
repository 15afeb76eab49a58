"""What a student answers: read from text, checked, counted, and written into a table."""

import math
import re
import unicodedata
from dataclasses import dataclass, replace

from attn_core.exercises import Exercise, is_right

# Besides the hyphen: the minus sign, dashes, and the long-vowel mark that a Japanese keyboard gives.
_MINUSES = str.maketrans(dict.fromkeys("−‐‑‒–—ー", "-"))
_NUMBER = re.compile(r"[+-]?([0-9]{1,15}([.,][0-9]{0,20})?|[.,][0-9]{1,20})")
_THOUSANDS = re.compile(r"[+-]?[1-9][0-9]{0,2},[0-9]{3}")


def parse_number(text: str) -> float:
    """The number someone typed: any minus, full-width digits, a point or a comma before the decimals.

    Raises:
        ValueError: it is no number, or its comma might separate thousands.
    """
    typed = unicodedata.normalize("NFKC", text[:100]).translate(_MINUSES).strip()
    if _THOUSANDS.fullmatch(typed):
        raise ValueError(f"the comma in {text!r} may mean decimals or thousands: write a point, or no comma")
    if not _NUMBER.fullmatch(typed):
        raise ValueError(f"a number is written like -0.5 or 12, got {text[:100]!r}")
    return float(typed.replace(",", "."))


@dataclass(frozen=True)
class Progress:
    """What has happened to one question.

    Attributes:
        text: the last answer as typed.
        given: the last answer; NaN before the first.
        right: whether it was right.
        attempts: answers that were numbers.
        revealed: whether the solution was shown before a right answer.
    """

    text: str = ""
    given: float = math.nan
    right: bool = False
    attempts: int = 0
    revealed: bool = False

    @property
    def tried(self) -> bool:
        """Whether there was an answer."""
        return self.attempts > 0

    @property
    def finished(self) -> bool:
        """Whether the solution may be seen; no answer counts afterwards."""
        return self.right or self.revealed


def answer(progress: Progress, exercise: Exercise, text: str) -> Progress:
    """The progress after one more answer.

    Raises:
        ValueError: the text is no number; the attempt does not count.
    """
    value = parse_number(text)
    if progress.finished:
        return progress
    return replace(progress, text=text, given=value, right=is_right(exercise, value), attempts=progress.attempts + 1)


def reveal(progress: Progress) -> Progress:
    """The progress after looking at the solution."""
    return progress if progress.right else replace(progress, revealed=True)
