"""Lecture mode: the same pages with the controls out of sight, and the presenter's notes."""

import pytest

from pages.shared.plan import lecture_plan
from pages.shared.shell import PAGES
from pages.shared.text import _sections

NAMES = [entry.name for entry in PAGES]


@pytest.mark.parametrize("lang", ["ja", "en"])
@pytest.mark.parametrize("name", NAMES)
def test_controls_are_out_of_sight_and_notes_shown(open_page, name, lang):
    page = open_page(name, lang=lang, lecture="true", notes="true")
    assert not page.exception
    assert "text" not in [field.key for field in page.text_input]
    assert _sections(lang, name)["notes"] in [note.value for note in page.info]


def test_without_lecture_mode_nothing_of_it_is_seen(open_page):
    page = open_page("softmax", lang="en")
    assert "text" in [field.key for field in page.text_input]
    assert not page.info


def test_the_keys_switch_it_on_and_off(open_page):
    page = open_page("softmax", lang="en")
    page.button(key="lecture_button").click().run()
    assert "text" not in [field.key for field in page.text_input]
    assert page.query_params["lecture"] == "true"
    page.button(key="notes_button").click().run()
    assert page.info
    page.button(key="lecture_button").click().run()
    assert "text" in [field.key for field in page.text_input]


def test_the_plan_takes_ninety_minutes_and_uses_prepared_lessons():
    parts = lecture_plan()
    assert sum(part.minutes for part in parts) == 90
    assert {part.page for part in parts} <= set(NAMES)
    assert sum(part.preset is not None for part in parts) >= 2


def test_every_widget_is_told_its_value_in_every_run(open_page):
    """A browser that missed the first run's messages would otherwise send back the widget's own default."""
    page = open_page("similarity", lang="en", text="a dog")
    page.run()
    assert page.text_input(key="text").proto.set_value
    assert page.selectbox(key="query").proto.set_value
