"""The LaTeX symbols of the stages as Plotly's HTML."""

_HTML = {
    r"\text{one-hot}": "one-hot",
    r"^{\top}": "<sup>T</sup>",
    r"\sqrt{d_k}": "√d<sub>k</sub>",
    "/ d_k": "/ d<sub>k</sub>",
    r"\cos": "cos",
    "e^z": "e<sup>z</sup>",
    "W_E": "W<sub>E</sub>",
    "W_Q": "W<sub>Q</sub>",
    "W_K": "W<sub>K</sub>",
    "W_V": "W<sub>V</sub>",
}


def html_symbol(latex: str) -> str:
    """The symbol as Plotly's text writes it."""
    for source, target in _HTML.items():
        latex = latex.replace(source, target)
    return latex
