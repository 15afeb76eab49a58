"""One deployment for all tests of the folder, and the browser of the browser tests."""

from collections.abc import Iterator

import pytest

from tests.browser.conftest import browser  # noqa: F401 (a fixture)
from tests.deploy.machines import Deployment


@pytest.fixture(scope="module")
def deployment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    folder = tmp_path_factory.mktemp("deployment")
    (folder / "app").mkdir()
    started = Deployment(folder)
    try:
        started.wait()
        yield started
    finally:
        started.close()
