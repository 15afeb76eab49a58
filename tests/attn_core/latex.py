"""Reads LaTeX back: is it well formed, what colours does it use, which numbers does it print?"""

import re
from decimal import Decimal

_COLORED = re.compile(r"\\textcolor\{(#[0-9A-F]{6})\}\{((?:[^{}]|\{[^{}]*\})*)\}")
_EQUALS = re.compile(r"(?:^| )(=|\\approx) ")


def assert_well_formed(latex: str) -> None:
    """Braces are balanced, each \\left has its \\right, and nothing but ASCII is in it."""
    depth = 0
    for character in re.sub(r"\\[{}]", "", latex):
        depth += {"{": 1, "}": -1}.get(character, 0)
        assert depth >= 0, latex
    assert depth == 0, latex
    assert len(re.findall(r"\\left\b", latex)) == len(re.findall(r"\\right\b", latex)), latex
    assert latex.isascii(), latex


def colored(latex: str) -> list[tuple[str, str]]:
    """Every coloured part with its colour, in order."""
    return _COLORED.findall(latex)


def uncolored(latex: str) -> str:
    """The same without its colours."""
    return _COLORED.sub(r"\2", latex)


def relation(line: str) -> str:
    """= or \\approx: the first of the line."""
    return _EQUALS.search(line)[1]


def summands(line: str) -> list[list[Decimal]]:
    """What the line prints after its = or ≈: for every summand its factors."""
    printed = uncolored(_EQUALS.split(line, maxsplit=1)[2])
    return [[number(factor) for factor in summand.split(r" \cdot ")] for summand in printed.split(" + ")]


def number(text: str) -> Decimal:
    """A printed number; a negative one stands in brackets, a total is bold."""
    bold = re.fullmatch(r"\\boldsymbol\{(.*)\}", text)
    if bold:
        return Decimal(bold[1])
    assert text.startswith("(") == text.lstrip("(").startswith("-"), text
    return Decimal(text.strip("()"))
