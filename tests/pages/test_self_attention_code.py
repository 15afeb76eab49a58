"""The page of the module's code, run without a browser."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from streamlit.runtime.pages_manager import PagesManager
from streamlit.testing.v1 import AppTest

from attn_core.demonstration import LINES, DemonstrationSettings, run_demonstration
from attn_core.listing import code_line
from tests.pages.reading import tables

ROOT = Path(__file__).parents[2]
PAGE = "self_attention_code"


@pytest.fixture(autouse=True)
def _navigation_is_the_router(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """AppTest starts each run with the router that reads pages/ by itself; the app turned that one off."""
    start = PagesManager.__init__

    def start_without_folder(self, *args, **kwargs):
        start(self, *args, **kwargs)
        PagesManager.uses_pages_directory = False

    monkeypatch.setattr(PagesManager, "__init__", start_without_folder)
    before = PagesManager.uses_pages_directory
    yield
    PagesManager.uses_pages_directory = before


def opened(**query: str) -> AppTest:
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=120)
    for name, value in ({"lang": "en"} | query).items():
        app.query_params[name] = value
    app.switch_page(f"pages/{PAGE}.py")
    return checked(app.run())


def checked(app: AppTest) -> AppTest:
    assert [error.value for error in app.exception] == []
    return app


def marked(app: AppTest) -> str:
    (line,) = [line for line in app.code[0].value.splitlines() if line.startswith("▶")]
    return line


def texts(app: AppTest) -> str:
    return "\n".join(part.value for part in (*app.markdown, *app.caption))


def test_the_reference_run():
    app, run = opened(), run_demonstration(DemonstrationSettings())
    assert app.title[0].value == "Self-attention in code"
    assert marked(app).endswith("# (1, 10, 64)")
    assert "(1, 10, 64)" in texts(app)
    assert r"3 \cdot 4160 = \boldsymbol{12480}" in texts(app)
    assert f"**{run.largest_difference:.2g}**" in texts(app)
    assert [metric.value for metric in app.metric] == ["0.08704", "0.1", "0.1109"]
    measured = tables(app)[0]
    assert measured["this run"].tolist()[2] == f"{run.spread.within_rows:.4g}"
    assert tables(app)[1]["largest weight"].tolist()[-1] == "0.959"


@pytest.mark.parametrize("lang", ["ja", "en"])
def test_stepping_through_forward(lang):
    app = opened(lang=lang)
    for index, name in enumerate(LINES):
        assert code_line(index) in marked(app), name
        assert f"`{code_line(index)}`" in texts(app)
        forward = app.button(key="step_right")
        assert forward.disabled == (name == "return")
        if not forward.disabled:
            checked(forward.click().run())
    checked(app.button(key="step_left").click().run())
    assert "output: Tensor" in marked(app)


def test_sizes_from_a_link():
    app = opened(batch="2", seq_len="3", size="5", shown_line="4")
    assert marked(app).endswith("# (2, 3, 3)")
    assert r"\boldsymbol{90}" in texts(app)
    assert app.metric[1].value == f"{1 / 3:.4g}"


def test_a_number_changed_on_the_page():
    app = opened()
    checked(app.number_input(key="seq_len").set_value(20).run())
    assert app.metric[1].value == "0.05"
    checked(app.slider(key="input_scale").set_value(0.0).run())
    assert [metric.value for metric in app.metric] == ["0.05"] * 3


def test_a_size_past_its_limit_is_refused_in_words():
    app = opened(size="100000", batch="x")
    warnings = "\n".join(warning.value for warning in app.warning)
    assert re.search(r"100000.*1 … 256", warnings)
    assert re.search(r"“x”.*1 … 4", warnings)
    assert marked(app).endswith("# (1, 10, 64)")


def test_japanese():
    app = opened(lang="ja")
    assert app.title[0].value == "自己注意のコード"
    assert "重みがほぼ均等なのはなぜか" in [part.value for part in app.subheader]
    assert app.number_input(key="size").label == "モジュールの d_model"


def test_every_picture_says_what_it_shows():
    charts = opened().get("plotly_chart")
    assert len(charts) == 3
    assert all(chart.proto.alt for chart in charts)
