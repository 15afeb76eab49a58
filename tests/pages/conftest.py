"""What the page tests share: opening a page of the app without a browser."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from streamlit.runtime.pages_manager import PagesManager
from streamlit.testing.v1 import AppTest

from pages.shared import shell

APP = Path(__file__).parents[2] / "app.py"

# Parameters that make a page's own work small where its defaults take long.
SMALL = {"scaling": {"n_samples": "100", "largest_d_k": "8"}}

OpenPage = Callable[..., AppTest]


@pytest.fixture(autouse=True)
def _pages_by_navigation_only(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """AppTest forgets before each run that the app has called st.navigation: as in a server, it stays known."""
    original = PagesManager.__init__

    def remembering(self: PagesManager, *args: Any, **options: Any) -> None:
        PagesManager.uses_pages_directory = False
        original(self, *args, **options)

    monkeypatch.setattr(PagesManager, "__init__", remembering)
    yield
    PagesManager.uses_pages_directory = None


def _let_it_through(_what: str, error: BaseException) -> None:
    raise error


@pytest.fixture
def open_page(monkeypatch: pytest.MonkeyPatch) -> OpenPage:
    """`open_page("softmax", lang="en", seed="3")`: the page after its first run with these URL parameters.

    What fails in it is an exception on the page, as Streamlit shows one: tests look for that.
    """
    monkeypatch.setattr(shell, "log_fault", _let_it_through)

    def open_page(name: str, **query: str) -> AppTest:
        app = AppTest.from_file(str(APP), default_timeout=60)
        app.session_state["settings_popover"] = True
        for parameter, value in (SMALL.get(name, {}) | query).items():
            app.query_params[parameter] = value
        if name != "overview":  # the home page answers at "/"
            app.switch_page(f"pages/{name}.py")
        app.run()
        app._page_hash = ""  # from here on the app's own page changes count
        return app

    return open_page
