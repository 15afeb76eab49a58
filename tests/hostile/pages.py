"""What is asked of every page after something hostile, and how its fields are filled in."""

import math
from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st
from streamlit.testing.v1 import AppTest

from attn_core import Lesson
from pages.shared.settings import LectureSettings
from pages.shared.shell import PageEntry
from pages.shared.text import _catalogue, plain
from tests.hostile.cases import cases
from tests.hostile.inputs import Texts, junk, links
from tests.pages.reading import LANGUAGES, charts, figure, warnings

# Of the work that a link may ask for, as much as takes moments; the fields' other values are tried without the work.
LIGHT: dict[str, Texts] = {
    "n_samples": st.integers(100, 300).map(str),
    "largest_d_k": st.sampled_from(("1", "2", "16")),
    "training_steps": st.sampled_from(("0", "0", "3")),
    "learning_steps": st.sampled_from(("1", "2")),
    "vit_live": st.just("false"),
    "size": st.integers(1, 24).map(str),
}
_TRACES = ("Traceback (most recent call last)", 'File "/', "site-packages", "streamlit.errors")
# A browser's field for numbers holds no others; what is not finite Streamlit refuses before a page sees it.
_NUMBERS = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False),
    st.integers(-(10**6), 10**6).map(float),
    st.sampled_from((1e308, -1e308, -1.0, 0.5, -0.0, 2.0**53)),
)
_FAULTS = [
    _catalogue(lang).gettext(message)
    for lang in LANGUAGES
    for message in (
        "Something went wrong on this page. The other pages work.",
        "The computation failed. Try again, or ask for less.",
    )
]

OpenPage = Callable[..., AppTest]


def assert_stands(page: AppTest, entry: PageEntry) -> None:
    """No exception, no trace of one on the screen; every number of every chart is one, or its cell is left empty."""
    assert not page.exception, [shown.message for shown in page.exception]
    assert not [error.value for error in page.error if error.value in _FAULTS]
    assert page.title[0].value, entry.name
    shown = "\n".join(str(it.value) for kind in (page.markdown, page.caption, page.warning, page.error) for it in kind)
    assert not [trace for trace in _TRACES if trace in shown]
    for key in charts(page):
        _assert_finite(figure(page, key))


def _assert_finite(part: Any) -> None:
    if isinstance(part, float):
        assert math.isfinite(part)
    for inside in part.values() if isinstance(part, dict) else part if isinstance(part, list) else ():
        _assert_finite(inside)


def assert_told(page: AppTest, entry: PageEntry) -> None:
    """What of the page's part of the link could not be read is named on the screen."""
    for record in (Lesson, *entry.settings):
        for ignored in page.session_state["_records"][record].ignored:
            assert any(f"`{ignored.name}`" in text and plain(ignored.value) in text for text in warnings(page)), ignored


def try_links(open_page: OpenPage, entry: PageEntry, percent: float) -> None:
    """Opens the page with any number of hostile parameters at once."""

    @cases(percent, query=links(Lesson, LectureSettings, *entry.settings, light=LIGHT))
    def pages_by_link(query: dict[str, str]) -> None:
        page = open_page(entry.name, **query)
        assert_stands(page, entry)
        assert_told(page, entry)

    pages_by_link()


def try_fields(open_page: OpenPage, entry: PageEntry, percent: float) -> None:
    """Fills any field of the page that takes text or a number, whichever there are, with what nobody should."""
    light = links(*entry.settings, light=LIGHT).map(lambda query: {k: v for k, v in query.items() if k in LIGHT})

    @cases(percent, query=light, place=st.integers(0, 999), text=junk, number=_NUMBERS)
    def fields_of_pages(query: dict[str, str], place: int, text: str, number: float) -> None:
        page = open_page(entry.name, lang="en", **query)
        fields = [*page.text_input, *page.text_area, *page.number_input]
        field = fields[place % len(fields)]
        page = field.set_value(number if field.type == "number_input" else text).run()
        assert_stands(page, entry)

    fields_of_pages()
