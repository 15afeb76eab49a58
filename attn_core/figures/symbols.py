"""The LaTeX symbols of the stages as Plotly's HTML."""

import re

_HTML = {
    r"\text{one-hot}": "one-hot",
    r"\text{patches}": "patches",
    r"^{\top}": "<sup>T</sup>",
    r"^{\ast}": "*",
    r"\sqrt{d_k}": "√d<sub>k</sub>",
    "/ d_k": "/ d<sub>k</sub>",
    r"\cos": "cos",
    r",\ \text{masked}": ", masked",
    "e^z": "e<sup>z</sup>",
}


def html_symbol(latex: str) -> str:
    """The symbol as Plotly's text writes it."""
    for source, target in _HTML.items():
        latex = latex.replace(source, target)
    latex = re.sub(r"\^\{(\(\w+\))\}", r"<sup>\1</sup>", latex)
    return re.sub(r"_\{?(\w+)\}?", r"<sub>\1</sub>", latex)
