"""What concerns the server as a whole: how many it lets in, whom it asks, its threads and its garbage."""

import contextlib
import sys

import streamlit as st
from streamlit import net_util

from pages.shared.faults import keep_messages_out_of_the_log

try:
    import resource
except ImportError:  # Windows, which has no such limit
    resource = None

_ENOUGH_FILES = 16_384
_SWITCH = 0.001  # seconds: messages wait no longer for a run at work; Python's own is five times as long


@st.cache_resource(show_spinner=False)
def prepare_server() -> None:
    """Once for a server, in its first run."""
    keep_messages_out_of_the_log()
    sys.setswitchinterval(_SWITCH)
    _let_many_in()
    _ask_no_other_host()


def _let_many_in() -> None:
    """Opens as many files as the system lets this process have: a session needs four, and 1,024 is a usual limit."""
    if resource is not None:
        now, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        if now < (wanted := _ENOUGH_FILES if most == resource.RLIM_INFINITY else min(most, _ENOUGH_FILES)):
            with contextlib.suppress(OSError, ValueError):  # not every system keeps its word
                resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, most))


def _ask_no_other_host() -> None:
    """Before Streamlit refuses a foreign page's websocket, it asks a host for this machine's outer address: no more.

    Where that host did not answer, the whole server waited for two seconds each time. There is no setting against it.
    """
    net_util._external_ip = "0.0.0.0"  # as if it had answered: with an address that is accepted anyway
