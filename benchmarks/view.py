"""What a browser knows of a page, and what it sends: Streamlit's own messages, without the connection they go over."""

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.Delta_pb2 import Delta
from streamlit.proto.Element_pb2 import Element
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.Navigation_pb2 import Navigation
from streamlit.proto.PageLink_pb2 import PageLink
from streamlit.proto.WidgetStates_pb2 import WidgetState

CACHED_FOR_RUNS = 2  # as a browser does: global.maxCachedMessageAge
FORWARD, SEQUENCE = ("step_right", "step_left"), "shown_example"


def stream(address: str) -> str:
    """The websocket of the app at an address."""
    return f"ws{address.removeprefix('http')}/_stcore/stream"


@dataclass(eq=False)
class View:
    """A page as one reader sees it: what it has been sent, and the requests that its widgets make."""

    address: str
    page: str
    query: str = ""
    navigation: Navigation = field(default_factory=Navigation)
    elements: dict[tuple[int, ...], Element] = field(default_factory=dict)
    fragments: dict[tuple[int, ...], str] = field(default_factory=dict)
    cached: dict[str, tuple[int, Delta]] = field(default_factory=dict)
    n_runs: int = 0

    def request(self, *used: WidgetState) -> bytes:
        """Asks for the page's script, or for the fragment that holds what was used."""
        request = self._rerun(self.navigation.page_script_hash)
        request.rerun_script.fragment_id = self._fragment_of({state.id for state in used})
        request.rerun_script.widget_states.widgets.extend(used)
        return request.SerializeToString()

    def request_page(self, script_hash: str, query: str = "") -> bytes:
        """Asks for another page, as the navigation and links to pages do."""
        self.page = next(it.url_pathname for it in self.navigation.app_pages if it.page_script_hash == script_hash)
        self.query = query
        return self._rerun(script_hash).SerializeToString()

    def _rerun(self, script_hash: str) -> BackMsg:
        """What a browser sends; without the state of widgets that the server knows already."""
        request = BackMsg()
        state = request.rerun_script
        state.query_string = self.query
        state.page_script_hash = script_hash
        state.page_name = "" if script_hash else self.page
        state.cached_message_hashes.extend(self.cached)
        state.context_info.locale = "en"
        state.context_info.url = f"{self.address}/{self.page}"
        return request

    def _fragment_of(self, widgets: Collection[str]) -> str:
        """The fragment that holds one of the widgets; none where they are outside."""
        holding = (path for path, it in self.elements.items() if _identity(it) in widgets)
        return next((self.fragments[path] for path in holding), "")

    def take(self, data: bytes) -> bool:
        """Takes a message; whether the script has finished with it (a script that runs again has not)."""
        message = ForwardMsg.FromString(data)
        kind = message.WhichOneof("type")
        if kind == "script_finished":
            return self._finish(message)
        if kind == "new_session":
            self._forget(message.metadata.run.fragment_ids)
        elif kind == "navigation":
            self.navigation = message.navigation
        elif kind == "page_info_changed":
            self.query = message.page_info_changed.query_string
        elif kind == "ref_hash":
            self._place(message, message.ref_hash, self.cached[message.ref_hash][1])
        elif kind == "delta" and message.delta.add_block.id.endswith("-fault"):
            raise RuntimeError(f"the page {self.page!r} says that something went wrong")
        elif kind == "delta" and message.delta.HasField("new_element"):
            self._place(message, message.hash if message.metadata.cacheable else "", message.delta)
        elif kind == "page_not_found":
            raise RuntimeError(f"there is no page {self.page!r}")
        return False

    def _finish(self, message: ForwardMsg) -> bool:
        if message.script_finished == message.FINISHED_EARLY_FOR_RERUN:
            return False
        if message.script_finished == message.FINISHED_WITH_COMPILE_ERROR:
            raise RuntimeError(f"the script of {self.page!r} cannot be compiled")
        self.n_runs += 1
        self.cached = {name: it for name, it in self.cached.items() if self.n_runs - it[0] < CACHED_FOR_RUNS}
        return True

    def _forget(self, fragments: Collection[str]) -> None:
        """What is to be shown anew: the page, or what these fragments hold."""
        gone = [path for path, fragment in self.fragments.items() if not fragments or fragment in fragments]
        for path in gone:
            del self.elements[path], self.fragments[path]

    def _place(self, message: ForwardMsg, name: str, delta: Delta) -> None:
        path, element = tuple(message.metadata.delta_path), delta.new_element
        if element.HasField("exception"):
            raise RuntimeError(f"the page {self.page!r} shows an exception: {element.exception.message}")
        self.elements[path], self.fragments[path] = element, delta.fragment_id
        if name:
            self.cached[name] = (self.n_runs, delta)

    def all(self, kind: str) -> list[Any]:
        """Every element of a kind that can be used."""
        shown = [getattr(element, kind) for element in self.elements.values() if element.HasField(kind)]
        return [it for it in shown if not it.disabled]

    def find(self, kind: str, *keys: str) -> Any:
        """The first of the keys whose widget can be used; None where there is none."""
        usable = self.all(kind)
        return next((it for key in keys for it in usable if it.id.endswith(f"-{key}")), None)

    def _only(self, kind: str, *keys: str) -> Any:
        found = self.find(kind, *keys)
        if found is None:
            raise LookupError(f"the page {self.page!r} has no {kind} {' or '.join(keys)} that can be used")
        return found

    def button(self, *keys: str) -> WidgetState:
        """The first of the keys whose button can be pressed, pressed."""
        return WidgetState(id=self._only("button", *keys).id, trigger_value=True)

    def slider(self, key: str, value: float) -> WidgetState:
        """The slider, moved."""
        state = WidgetState(id=self._only("slider", key).id)
        state.double_array_value.data.append(value)
        return state

    def selectbox(self, key: str, place: int) -> WidgetState:
        """The list, with another entry chosen; counted on from the first where there are fewer."""
        found = self._only("selectbox", key)
        return WidgetState(id=found.id, string_value=found.options[place % len(found.options)])

    def group(self, key: str, option: str) -> WidgetState:
        """The segmented control, with one option chosen."""
        state = WidgetState(id=self._only("button_group", key).id)
        state.string_array_value.data.append(option)
        return state

    def text(self, key: str, words: str) -> WidgetState:
        """The text field, with other words in it."""
        return WidgetState(id=self._only("text_input", key).id, string_value=words)

    def has_step(self) -> bool:
        return self.find("button", *FORWARD) is not None or self.find("selectbox", SEQUENCE) is not None

    def step(self) -> WidgetState:
        """What a reader does most: forward to the next cell or step (back at the end).

        Only the page that trains has no step to take before it has trained: there it is the next unseen sequence.
        """
        if self.find("button", *FORWARD):
            return self.button(*FORWARD)
        return self.selectbox(SEQUENCE, self.n_runs)

    def prepared_links(self) -> list[PageLink]:
        """Links to pages in a prepared state."""
        return [link for link in self.all("page_link") if "open=true" in link.query_string]

    def counts(self) -> Counter[str]:
        """How many charts, buttons, sliders (every other widget) and other elements are on the page."""
        return Counter(_sort_of(element) for element in self.elements.values())


def _identity(element: Element) -> str:
    """A widget's name; nothing for what is no widget."""
    return getattr(getattr(element, element.WhichOneof("type")), "id", "")


def _sort_of(element: Element) -> str:
    kind = element.WhichOneof("type")
    if kind == "plotly_chart":
        return "charts"
    if kind in ("button", "download_button"):
        return "buttons"
    content = getattr(element, kind)
    is_widget = hasattr(content, "form_id") and content.id and kind != "bidi_component"
    return "sliders" if is_widget else "others"
