"""The start's rows: each end of a start over the bare imports."""

import contextlib
import time

import pytest

from benchmarks import start


def test_a_start_is_put_beside_the_imports(monkeypatch: pytest.MonkeyPatch) -> None:
    imported = []

    def imports(names: str) -> None:
        imported.append(names)
        time.sleep(0.01)

    monkeypatch.setattr(start, "imports", imports)
    monkeypatch.setattr(start, "chromium", contextlib.nullcontext)
    monkeypatch.setattr(start, "script_finished", lambda: time.sleep(0.02))
    monkeypatch.setattr(start, "first_painted", lambda _: time.sleep(0.03))
    found = {row.what: row for row in start.rows(quick=True)}
    assert set(imported) == {"streamlit, torch", "streamlit, torch, plotly.graph_objects"}
    painted = found.pop("start to first painted numbers / importing streamlit and torch")
    assert painted.goal == 1.5
    assert set(found) == {
        "start to the first page's script finished / importing streamlit and torch",
        "importing streamlit, torch and plotly / importing streamlit and torch",
    }
    assert all(row.goal is None for row in found.values())
