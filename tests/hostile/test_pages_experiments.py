"""Hostile links and fields on the other pages: a file of their own, for another worker."""

import pytest

from pages.shared.shell import PAGES
from tests.hostile.pages import try_fields, try_links

HERE = [entry for entry in PAGES if entry.section != "steps"]


@pytest.mark.parametrize("entry", HERE, ids=lambda entry: entry.name)
def test_hostile_links(open_page, entry):
    try_links(open_page, entry, 0.8)


@pytest.mark.parametrize("entry", HERE, ids=lambda entry: entry.name)
def test_hostile_fields(open_page, entry):
    try_fields(open_page, entry, 0.45)
