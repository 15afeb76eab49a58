"""Invisible points that tell what was clicked: Plotly reports no click on a picture, a heatmap's cell or a text."""

from collections.abc import Sequence

from attn_core.figures.plain import Piece, scatter

_SIZE = 6  # pixels; of larger points that overlap, Plotly takes the last that holds the pointer, not the nearest


def nearest_targets(
    xs: Sequence[float], ys: Sequence[float], customdata: Sequence[Sequence[int]], hover: Sequence[str] | None = None
) -> Piece:
    """A click or a pointer anywhere in the figure finds the nearest point, however many there are.

    That takes a layout with `hoverdistance=-1`, as `still_layout` has. `hover` is HTML as Plotly reads it; without
    it the pointer says nothing.
    """
    return scatter(
        x=list(xs),
        y=list(ys),
        customdata=[list(place) for place in customdata],
        mode="markers",
        marker={"symbol": "square", "size": _SIZE, "opacity": 0},
        hovertext=None if hover is None else list(hover),
        hoverinfo="none" if hover is None else "text",
        showlegend=False,
        selected={"marker": {"opacity": 0}},
        unselected={"marker": {"opacity": 0}},
    )
