"""How eyes see colours: contrast (WCAG 2.2), difference (CIEDE2000), and colour blindness (Machado et al. 2009)."""

import math

import numpy as np
from numpy.typing import NDArray

# Machado, Oliveira and Fernandes 2009, “A Physiologically-based Model for Simulation of Color Vision Deficiency”,
# severity 1.0, for linear RGB.
BLINDNESS = {
    "none": np.eye(3),
    "protanopia": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "deuteranopia": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
    "tritanopia": np.array(
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]
    ),
}
_TO_XYZ = np.array(
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
)
_WHITE = np.array([0.95047, 1.0, 1.08883])  # D65

Color = NDArray[np.float64]


def rgb(code: str) -> Color:
    """`#RRGGBB` as three numbers from 0 to 1."""
    return np.array([int(code[i : i + 2], 16) for i in (1, 3, 5)]) / 255


def linear(color: Color) -> Color:
    """Light, not code values: sRGB's curve taken away."""
    return np.where(color <= 0.04045, color / 12.92, ((color + 0.055) / 1.055) ** 2.4)


def contrast(one: Color, other: Color) -> float:
    """WCAG's contrast ratio, from 1 to 21."""
    dark, light = sorted(float(linear(color) @ [0.2126, 0.7152, 0.0722]) for color in (one, other))
    return (light + 0.05) / (dark + 0.05)


def mixed(low: Color, high: Color, part: float) -> Color:
    """A colour between two as screens mix them: `part` of the way from the first."""
    return low + part * (high - low)


def seen_apart(one: Color, other: Color, blindness: str) -> float:
    """The difference of two colours for an eye of this kind, as CIEDE2000."""
    matrix = BLINDNESS[blindness]
    return ciede2000(*(_lab(np.clip(matrix @ linear(color), 0, 1)) for color in (one, other)))


def _lab(light: Color) -> Color:
    """CIELAB of linear RGB."""
    t = _TO_XYZ @ light / _WHITE
    x, y, z = np.where(t > (6 / 29) ** 3, np.cbrt(t), t / (3 * (6 / 29) ** 2) + 4 / 29)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def ciede2000(one: Color, other: Color) -> float:
    """Sharma, Wu and Dalal 2005, “The CIEDE2000 Color-Difference Formula”, equations 2 to 22."""
    mean_c7 = ((math.hypot(*one[1:]) + math.hypot(*other[1:])) / 2) ** 7
    g = 0.5 * (1 - math.sqrt(mean_c7 / (mean_c7 + 25**7)))
    (c1, h1), (c2, h2) = (_chroma_and_hue((1 + g) * a, b) for _, a, b in (one, other))
    chromatic = c1 * c2 > 0
    turn = (h2 - h1 + 180) % 360 - 180 if chromatic else 0.0
    d_light, d_chroma = other[0] - one[0], c2 - c1
    d_hue = 2 * math.sqrt(c1 * c2) * math.sin(math.radians(turn / 2))
    light, chroma = (one[0] + other[0]) / 2, (c1 + c2) / 2
    hue = (h1 + turn / 2) % 360 if chromatic else h1 + h2
    weight = 1 - 0.17 * _cos(hue - 30) + 0.24 * _cos(2 * hue) + 0.32 * _cos(3 * hue + 6) - 0.20 * _cos(4 * hue - 63)
    s_light = 1 + 0.015 * (light - 50) ** 2 / math.sqrt(20 + (light - 50) ** 2)
    s_chroma, s_hue = 1 + 0.045 * chroma, 1 + 0.015 * chroma * weight
    rotation = (
        -2
        * math.sqrt(chroma**7 / (chroma**7 + 25**7))
        * math.sin(math.radians(60 * math.exp(-(((hue - 275) / 25) ** 2))))
    )
    lightness, chroma, hue = d_light / s_light, d_chroma / s_chroma, d_hue / s_hue
    return math.sqrt(lightness**2 + chroma**2 + hue**2 + rotation * chroma * hue)


def _chroma_and_hue(a: float, b: float) -> tuple[float, float]:
    return math.hypot(a, b), math.degrees(math.atan2(b, a)) % 360


def _cos(degrees: float) -> float:
    return math.cos(math.radians(degrees))
