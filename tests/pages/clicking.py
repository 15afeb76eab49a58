"""Clicks in charts and tables, as a browser reports them."""

import json
from typing import Any

from streamlit.testing.v1 import AppTest

from tests.pages.reading import charts, figure


def click(app: AppTest, key: str, *place: int) -> AppTest:
    """The page after a click on the point of a chart whose customdata is `place`."""
    points = [point for trace in figure(app, key)["data"] for point in trace.get("customdata") or ()]
    assert list(place) in points, f"{key} has no point {place}"
    return send(app, charts(app)[key].id, point_chosen(*place))


def point_chosen(*place: int) -> str:
    """What a browser sends of a click on a point."""
    points = [{"customdata": list(place)}]
    return _selection({"points": points, "point_indices": [], "box": [], "lasso": []})


def choose_row(app: AppTest, key: str, row: int) -> AppTest:
    """The page after a row of a table was chosen, counted as the page made it."""
    [table] = [table.proto for table in app.dataframe if table.key == key]
    return send(app, table.id, _selection({"rows": [row], "columns": [], "cells": []}))


def _selection(chosen: dict[str, Any]) -> str:
    return json.dumps({"selection": chosen})


def send(app: AppTest, identity: str, text: str) -> AppTest:
    """The page after one of its elements has sent a text."""
    states = app._tree.get_widget_states()
    others = [state for state in states.widgets if state.id != identity]
    del states.widgets[:]
    states.widgets.extend(others)
    state = states.widgets.add()
    state.id, state.string_value = identity, text
    return app._run(states)
