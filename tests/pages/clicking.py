"""Clicks in charts and tables, as a browser reports them."""

import json
from typing import Any

from streamlit.testing.v1 import AppTest

from tests.pages.reading import charts, figure


def click(app: AppTest, key: str, *place: int) -> AppTest:
    """The page after a click on the point of a chart whose customdata is `place`."""
    points = [point for trace in figure(app, key)["data"] for point in trace.get("customdata") or ()]
    assert list(place) in points, f"{key} has no point {place}"
    selection = {"points": [{"customdata": list(place)}], "point_indices": [], "box": [], "lasso": []}
    return _report(app, charts(app)[key].id, selection)


def choose_row(app: AppTest, key: str, row: int) -> AppTest:
    """The page after a row of a table was chosen, counted as the page made it."""
    [table] = [table.proto for table in app.dataframe if table.key == key]
    return _report(app, table.id, {"rows": [row], "columns": [], "cells": []})


def _report(app: AppTest, identity: str, selection: dict[str, Any]) -> AppTest:
    return send(app, identity, json.dumps({"selection": selection}))


def send(app: AppTest, identity: str, text: str) -> AppTest:
    """The page after one of its elements has sent a text."""
    states = app._tree.get_widget_states()
    others = [state for state in states.widgets if state.id != identity]
    del states.widgets[:]
    states.widgets.extend(others)
    state = states.widgets.add()
    state.id, state.string_value = identity, text
    return app._run(states)
