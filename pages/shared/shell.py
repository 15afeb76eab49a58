"""Navigation, and the hand-over that lets every page open as a server's first request."""

import contextlib
import functools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import CodeType

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from attn_core import Lesson
from attn_core.demonstration import DemonstrationSettings
from attn_core.draws import use_one_thread_per_operation
from attn_core.exercises import ExerciseSettings
from attn_core.learning import LearningSettings
from attn_core.lesson import CELL
from attn_core.links import Linked
from attn_core.mixing import MixingSettings
from attn_core.permutation import OrderSettings
from attn_core.picture_thread import PictureSettings
from attn_core.pretrained_settings import PretrainedSettings
from attn_core.scaling import ScalingSettings
from attn_core.softmax import SoftmaxSettings
from attn_core.vit import VitSettings, VitView
from pages.shared import gate
from pages.shared.faults import FAULT, log_fault
from pages.shared.garbage import FREEZER
from pages.shared.link import (
    SHARE_POPOVER,
    current,
    follow_link,
    is_fragment_run,
    link_query,
    notices,
    prepared_query,
    use_again,
)
from pages.shared.picker import TABLES, drawn_pictures
from pages.shared.settings import LayerSettings, LectureSettings, MaskSettings, OverviewSettings, SimilaritySettings
from pages.shared.text import _
from pages.shared.turns import TURNS

_ROOT = Path(__file__).parents[2]
_WHOLE = "_whole_run"  # the page that the last run of the whole app has opened, and what it showed around it


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
    PageEntry("masks_positions", "steps", "visibility_off", (MaskSettings, OrderSettings)),
    PageEntry("multi_head", "steps", "account_tree"),
    PageEntry("self_attention_code", "steps", "code", (DemonstrationSettings,)),
    PageEntry("image_patches", "steps", "image", (PictureSettings, VitSettings, VitView)),
    PageEntry("scaling", "experiments", "science", (ScalingSettings,)),
    PageEntry("training", "experiments", "model_training", (LearningSettings,)),
    PageEntry("pretrained", "experiments", "hub", (PretrainedSettings,)),
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
        "masks_positions": _("Masks and positions"),
        "multi_head": _("Several heads"),
        "self_attention_code": _("Self-attention in code"),
        "image_patches": _("Pictures as patches"),
        "scaling": _("Why divide by √dₖ"),
        "training": _("Training"),
        "pretrained": _("A real model"),
        "exercises": _("Exercises"),
    }[name]


def navigation() -> PageEntry:
    """Builds the navigation in the session's language and follows the link; says which page is open."""
    gate.begin_run()
    _begin_run()
    st.set_page_config(page_title="Attention Explorer", page_icon="pages/icon.png", layout="wide")
    sections = {"": "", "steps": _("Step by step"), "experiments": _("Experiments")}
    pages: dict[str, list[st.Page]] = {}
    for entry in PAGES:
        page = st.Page(
            entry.script, title=title(entry.name), icon=f":material/{entry.icon}:", default=entry is PAGES[0]
        )
        pages.setdefault(sections[entry.section], []).append(page)
    opened = st.navigation(pages, position="hidden" if current(LectureSettings).lecture else "top")
    return _entry(opened.url_path or PAGES[0].name)


def _begin_run() -> None:
    """What comes first, whether the whole app runs or a page alone: a run may have a thread that is new."""
    use_one_thread_per_operation()
    FREEZER.keep_collections_short()
    follow_link(*RECORDS)


def page_body() -> DeltaGenerator:
    """Where the page is drawn. While a job is waited for, what stood there goes: its fragment could not be run."""
    return st.empty() if gate.waits() else st.container()


def run_page(opened: PageEntry) -> None:
    """Runs the open page inside the shell."""
    st.session_state[_WHOLE] = opened, _around()
    path = _ROOT / opened.script
    with _inside_shell(), standing(opened):
        exec(_code(path, path.stat().st_mtime), {"__name__": "__main__", "__file__": str(path)})


def alone(draw: Callable[[], None]) -> None:
    """Draws a part of the page that runs alone after a click inside it: the rest of the app stays as it is.

    What stands around such a part depends on nothing that a click inside can change, but for the lesson and the link:
    where they are shown and are others now, the whole app runs. So `draw` looks up by itself what it shows.
    """
    (_stand if gate.waits() else _fragment)(draw)


@st.fragment
def _fragment(draw: Callable[[], None]) -> None:
    if not is_fragment_run():
        _stand(draw)
        return
    with TURNS.turn():
        _begin_run()
        if _around() != st.session_state[_WHOLE][1] or st.session_state.get(TABLES):
            use_again()
            st.rerun()
        _stand(draw)
        drawn_pictures()  # nobody asks for them


def _stand(draw: Callable[[], None]) -> None:
    with standing(st.session_state[_WHOLE][0]):
        draw()


@st.fragment(run_every=86_400)
def come_back() -> None:
    """Lets a browser that has lost its connection run the app again once it has one: another server may answer then.

    Streamlit's browser does so only where something on the screen runs by itself. Without it, the first click would
    ask the new server for a fragment that it has never run, and nothing would happen.
    """


@functools.lru_cache(maxsize=len(PAGES))
def _code(path: Path, _changed_at: float) -> CodeType:
    """A page's script, compiled; anew where the file has changed."""
    return compile(path.read_text(encoding="utf-8"), path, "exec")


@contextlib.contextmanager
def standing(opened: PageEntry) -> Iterator[None]:
    """Lets the app stand where a part of it fails: says so above what that part has drawn, and offers a way on."""
    place = st.empty()
    try:
        yield
    except Exception as error:  # whatever it is: the reader gets to the other pages
        log_fault(f"the page {opened.name} failed", error)
        with place.container(key=FAULT):
            st.error(_("Something went wrong on this page. The other pages work."))
            page_link(opened.name, label=_("This page with the default lesson"), lesson=Lesson())


def _around() -> object:
    """All that is shown around a page: the lesson but for the chosen cell, what is to be said of the link, the link."""
    lesson = {name: text for name, text in current(Lesson).to_query().items() if name not in CELL}
    shared = link_query(*RECORDS) if st.session_state.get(SHARE_POPOVER) else None
    return lesson, current(LectureSettings), notices(*RECORDS), shared


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


# Streamlit sets neither the document's language nor its type size from a script, and Tab leads from the button of an
# open popover past it: what has opened stands at the end of the document.
_LECTURE_SIZE = "130%"
_document = st.components.v2.component(
    "document",
    js="""
    export default function ({ data }) {
      document.documentElement.lang = data.lang
      document.documentElement.style.fontSize = data.size
      document.documentElement.onkeydown = event => {
        const opened = document.querySelector('[data-testid=stPopoverBody]')
        if (!opened || event.key !== 'Tab' || event.shiftKey || !event.target.closest('[data-testid=stPopover]')) return
        opened.tabIndex = -1
        opened.focus()
      }
    }
    """,
)
