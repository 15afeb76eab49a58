"""Where something fails that should not: what the server's log tells of it, and how the message is marked."""

import logging
import traceback

FAULT = "fault"  # the key of the container that holds the message to the reader

_LOG = logging.getLogger(__name__)


def log_fault(what: str, error: BaseException) -> None:
    """The kind of error and the way to it; not its message, in which there may be what a reader has typed."""
    _LOG.error("%s: %s", what, _without_message(error))


def keep_messages_out_of_the_log() -> None:
    """Streamlit logs what fails outside of a page (in a callback, say): the same of that."""
    logging.getLogger("streamlit.error_util").addFilter(_hide_message)


def _hide_message(record: logging.LogRecord) -> bool:
    if record.exc_info and (error := record.exc_info[1]):
        record.msg, record.args, record.exc_info = f"{record.msg}: {_without_message(error)}", (), None
    return True


def _without_message(error: BaseException) -> str:
    way = "".join(traceback.format_tb(error.__traceback__))
    return f"{type(error).__name__}\n{way}"
