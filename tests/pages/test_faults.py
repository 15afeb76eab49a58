"""What the log tells of a fault: its kind and the way to it, never its message."""

import logging
from collections.abc import Iterator

import pytest
from streamlit import error_util

from pages.shared import faults

TYPED = "what a reader has typed"


@pytest.fixture
def _filtered() -> Iterator[None]:
    faults.keep_messages_out_of_the_log()
    yield
    logging.getLogger("streamlit.error_util").removeFilter(faults._hide_message)


def failing_callback() -> None:
    raise KeyError(TYPED)


def error() -> BaseException:
    with pytest.raises(KeyError) as found:
        failing_callback()
    return found.value


@pytest.mark.usefixtures("_filtered")
def test_what_streamlit_logs_of_a_callback_that_fails(caplog: pytest.LogCaptureFixture, capfd) -> None:
    logger = logging.getLogger("streamlit.error_util")
    logger.addHandler(caplog.handler)
    try:
        error_util._log_uncaught_app_exception(error())
    finally:
        logger.removeHandler(caplog.handler)
    printed = caplog.text + "".join(capfd.readouterr())
    assert "KeyError" in printed
    assert "failing_callback" in printed
    assert TYPED not in printed


def test_what_the_app_logs_of_a_fault(caplog: pytest.LogCaptureFixture) -> None:
    faults.log_fault("the page failed", error())
    assert "the page failed: KeyError" in caplog.text
    assert TYPED not in caplog.text
