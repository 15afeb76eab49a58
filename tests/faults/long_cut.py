"""The connection cut for as long as it takes: longer than Streamlit keeps a session by default (120 s).

Not collected by itself: `make faults-long`.
"""

from tests.faults.test_connection import assert_link_remains


def test_a_connection_cut_for_130_seconds(wire, open_at):
    assert_link_remains(wire, open_at, 130)
