"""Colours: numbers in cells and coloured letters can be read; colour-blind eyes tell apart what colours tell apart."""

import itertools
import tomllib
from pathlib import Path

import numpy as np
import pytest

from attn_core.figures.cells import BLACK, diverging, sequential
from attn_core.palette import CELL_COLORS, EMBEDDING, KEY, NEUTRAL, QUERY, ROLE_COLORS, SCORES, TEXT_COLORS, VALUE
from tests.access.eyes import BLINDNESS, ciede2000, contrast, mixed, rgb, seen_apart

READABLE = 4.5  # WCAG 2.2, success criterion 1.4.3
THEME = tomllib.loads((Path(__file__).parents[2] / ".streamlit/config.toml").read_text())["theme"]
PLACES = ("backgroundColor", "secondaryBackgroundColor")

# Four times what is just noticed between fields side by side: 2.3 (Mahy, Van Eycken and Oosterlinck 1994, for CIELAB).
APART = 4 * 2.3
MEANINGS = {"query": QUERY, "key": KEY, "value": VALUE, "embedding": EMBEDDING, "weights": SCORES}
SETS = {
    "lines": MEANINGS,
    "cells": {name: CELL_COLORS.get(name, color) for name, color in MEANINGS.items()},
    "letters on light": {name: TEXT_COLORS[color][0] for name, color in MEANINGS.items()},
    "letters on dark": {name: TEXT_COLORS[color][1] for name, color in MEANINGS.items()},
}


@pytest.mark.parametrize("role", ROLE_COLORS)
def test_numbers_in_cells_can_be_read_on_every_colour_of_the_scale(role: str) -> None:
    for scale in (diverging(role), sequential(role, numbers=True)):
        for (low, low_color), (high, high_color) in itertools.pairwise(scale):
            for place in np.linspace(low, high, 101):
                color = mixed(rgb(low_color), rgb(high_color), (place - low) / (high - low))
                assert contrast(rgb(BLACK), color) >= READABLE, (role, place)


@pytest.mark.parametrize("color", [*ROLE_COLORS.values(), NEUTRAL])
def test_coloured_letters_can_be_read_in_both_themes(color: str) -> None:
    for shade, theme in zip(TEXT_COLORS[color], ("light", "dark"), strict=True):
        for place in PLACES:
            assert contrast(rgb(shade), rgb(THEME[theme][place])) >= READABLE, (theme, place)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_letters_and_links_can_be_read(theme: str) -> None:
    for color, place in itertools.product(("textColor", "primaryColor"), PLACES):
        assert contrast(rgb(THEME[theme][color]), rgb(THEME[theme][place])) >= READABLE, (color, place)


@pytest.mark.parametrize("blindness", BLINDNESS)
@pytest.mark.parametrize("colors", SETS)
def test_colours_with_a_meaning_are_told_apart(colors: str, blindness: str) -> None:
    for (one, first), (other, second) in itertools.combinations(SETS[colors].items(), 2):
        assert seen_apart(rgb(first), rgb(second), blindness) >= APART, (one, other)


def test_two_colours_that_are_the_same_for_eyes_without_green() -> None:
    """The check can fail: the blue of keys beside a violet of the same lightness."""
    assert seen_apart(rgb(KEY), rgb("#7A5BC7"), "none") > 20
    assert seen_apart(rgb(KEY), rgb("#7A5BC7"), "deuteranopia") < 4


@pytest.mark.parametrize(
    ("one", "other", "difference"),
    [
        ((50, 2.6772, -79.7751), (50, 0, -82.7485), 2.0425),
        ((50, 2.5, 0), (73, 25, -18), 27.1492),
        ((50, 2.49, -0.001), (50, -2.49, 0.0009), 7.1792),
        ((2.0776, 0.0795, -1.1350), (0.9033, -0.0636, -0.5514), 0.9082),
    ],
)
def test_differences_as_published(one: tuple[float, ...], other: tuple[float, ...], difference: float) -> None:
    """Sharma, Wu and Dalal 2005, table 1."""
    assert ciede2000(np.array(one), np.array(other)) == pytest.approx(difference, abs=1e-4)


def test_contrast_as_published() -> None:
    """WCAG 2.2: black on white has 21, and #767676 is the lightest grey with 4.5 on white."""
    assert contrast(rgb("#000000"), rgb("#FFFFFF")) == pytest.approx(21)
    assert contrast(rgb("#767676"), rgb("#FFFFFF")) >= READABLE > contrast(rgb("#777777"), rgb("#FFFFFF"))
