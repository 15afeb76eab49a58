"""Navigation, and the hand-over that lets every page open as a server's first request."""

import contextlib
import gc
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import streamlit as st

from attn_core import Lesson, run_lesson
from attn_core.demonstration import DemonstrationSettings
from attn_core.draws import use_one_thread_per_operation
from attn_core.exercises import ExerciseSettings
from attn_core.figures.falk import falk
from attn_core.links import Linked
from attn_core.mixing import MixingSettings
from attn_core.scaling import ScalingSettings
from attn_core.softmax import SoftmaxSettings
from attn_core.stages import stage
from pages.shared.link import current, follow_link, link_query, prepared_query
from pages.shared.settings import LayerSettings, LectureSettings, OverviewSettings, SimilaritySettings
from pages.shared.text import _


@dataclass(frozen=True)
class PageEntry:
    """One page: its script's name (also its URL), its section, its icon, and its own part of the link."""

    name: str
    section: str
    icon: str
    settings: tuple[type[Linked], ...] = ()

    @property
    def script(self) -> str:
        return f"pages/{self.name}.py"


# A new page is one line here and one title below, one script, two text files.
PAGES = (
    PageEntry("overview", "", "home", (OverviewSettings,)),
    PageEntry("one_hot", "steps", "scatter_plot"),
    PageEntry("query_key_value", "steps", "call_split", (LayerSettings,)),
    PageEntry("similarity", "steps", "grid_on", (SimilaritySettings,)),
    PageEntry("softmax", "steps", "equalizer", (SoftmaxSettings,)),
    PageEntry("weighted_sum", "steps", "join", (MixingSettings,)),
    PageEntry("self_attention_code", "steps", "code", (DemonstrationSettings,)),
    PageEntry("scaling", "experiments", "science", (ScalingSettings,)),
    PageEntry("exercises", "experiments", "quiz", (ExerciseSettings,)),
)

# What a link holds: the lesson, and what every page lets a reader change. It stays the same from page to page,
# so that Back finds each page as it was left.
RECORDS: tuple[type[Linked], ...] = (Lesson, LectureSettings, *(record for entry in PAGES for record in entry.settings))


def title(name: str) -> str:
    """A page's title in the session's language."""
    return {
        "overview": _("Overview"),
        "one_hot": _("One-hot and embedding"),
        "query_key_value": _("Query, key, value"),
        "similarity": _("Similarity matrix"),
        "softmax": _("Softmax weights"),
        "weighted_sum": _("Weighted sum"),
        "self_attention_code": _("Self-attention in code"),
        "scaling": _("Why divide by √dₖ"),
        "exercises": _("Exercises"),
    }[name]


def navigation() -> PageEntry:
    """Builds the navigation in the session's language and follows the link; says which page is open."""
    follow_link(*RECORDS)
    st.set_page_config(page_title="Attention Explorer", page_icon="pages/icon.png", layout="wide")
    sections = {"": "", "steps": _("Step by step"), "experiments": _("Experiments")}
    pages: dict[str, list[st.Page]] = {}
    for entry in PAGES:
        page = st.Page(
            entry.script, title=title(entry.name), icon=f":material/{entry.icon}:", default=entry is PAGES[0]
        )
        pages.setdefault(sections[entry.section], []).append(page)
    st.session_state["_page"] = st.navigation(pages, position="hidden" if current(LectureSettings).lecture else "top")
    return _entry(st.session_state["_page"].url_path or PAGES[0].name)


def run_page() -> None:
    """Runs the open page inside the shell."""
    with _inside_shell():
        st.session_state["_page"].run()


def require_shell() -> None:
    """The first statement of every page script.

    As the first request to a fresh server, a page's address runs its script bare. Building the
    navigation and running again puts the page into the app.
    """
    if not st.session_state.get("_inside_shell"):
        navigation()
        st.rerun()


def go_to(name: str) -> None:
    """Opens another page with the same link."""
    st.switch_page(_entry(name).script, query_params=link_query(*RECORDS))


def page_link(
    name: str, *, label: str | None = None, query: Mapping[str, str] | None = None, lesson: Lesson | None = None
) -> None:
    """A link to a page as it is, in the prepared state of `query`, or with a prepared lesson."""
    entry = _entry(name)
    as_it_is = query is None and lesson is None
    target = link_query(*RECORDS) if as_it_is else prepared_query(query or {}, lesson)
    st.page_link(entry.script, label=label or title(name), icon=f":material/{entry.icon}:", query_params=target)


def _entry(name: str) -> PageEntry:
    return next(entry for entry in PAGES if entry.name == name)


def page_turner(opened: PageEntry) -> None:
    """Previous and next page, as buttons and as the keys that presenter remotes send."""
    size = _LECTURE_SIZE if current(LectureSettings).lecture else ""
    _document(data={"lang": current(Lesson).lang, "size": size}, key="document")
    place = PAGES.index(opened)
    with st.container(horizontal=True, horizontal_alignment="distribute"):
        if place > 0:
            before = PAGES[place - 1]
            if st.button(title(before.name), icon=":material/arrow_back:", shortcut="PageUp", key="previous_page"):
                go_to(before.name)
        if place < len(PAGES) - 1:
            after = PAGES[place + 1]
            if st.button(
                title(after.name),
                icon=":material/arrow_forward:",
                icon_position="right",
                shortcut="PageDown",
                key="next_page",
            ):
                go_to(after.name)


@contextlib.contextmanager
def _inside_shell() -> Iterator[None]:
    st.session_state["_inside_shell"] = True
    try:
        yield
    finally:
        st.session_state["_inside_shell"] = False


@st.cache_resource(show_spinner=False)
def freeze_heavy_imports() -> None:
    """Takes torch and Plotly out of the collector's sight: Streamlit collects garbage after every run."""
    use_one_thread_per_operation()
    falk(stage(run_lesson(Lesson()), "scores"), 0, 0)  # loads what Plotly loads late
    gc.collect()
    gc.freeze()


# Streamlit sets neither the document's language nor its type size from a script.
_LECTURE_SIZE = "130%"
_document = st.components.v2.component(
    "document",
    js="""
    export default function ({ data }) {
      document.documentElement.lang = data.lang
      document.documentElement.style.fontSize = data.size
    }
    """,
)
