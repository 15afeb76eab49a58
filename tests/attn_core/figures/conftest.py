"""Every figure that a test here draws is checked by Plotly, name by name and value by value."""

import plotly.graph_objects as go
import pytest

from attn_core.figures import plain


@pytest.fixture(autouse=True)
def _checked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Figures are made unchecked; under test they are made once more as Plotly makes them by default."""
    made = plain.Figure

    def checked(pieces: plain.Piece) -> plain.Figure:
        go.Figure(pieces)
        return made(pieces)

    monkeypatch.setattr(plain, "Figure", checked)
