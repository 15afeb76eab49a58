"""The heads of a pretrained model as ours, BertViz and inspectus show them: bytes, time to build, to the first picture.

The bundled model reads texts of 16, 64 and 128 tokens, once each; every tool is given the same weights of its 72 heads.
Ours are the figures of the page (all heads at a glance; one head as a matrix and as lines), in the JSON that Streamlit
sends. BertViz and inspectus make a document with the numbers of all heads.

Bytes leave out libraries that a browser keeps: Plotly for ours; d3, jQuery and RequireJS for BertViz. inspectus writes
its own script of 310 kB into every output. Time to build ends with the text to send. Times are medians of three, or of
fewer where they are long.

Time to the picture runs from opening a page with nothing else on it to the second frame after everything is in place,
in Chromium, the libraries served from this machine and kept by the browser. Ours is without the app around it; most of
it is spent on reading Plotly's 4.8 MB of script, so "after Plotly" is what is left once that is there, as in a session
that has shown a chart before; for the others it is the whole time. BertViz's model view draws all heads too, its head
view those of one layer over each other; inspectus draws one matrix.

BertViz's documents fetch their libraries from another host: they are pointed at npm's copies in `build/` instead. It
names jQuery 2.0.0, which was never packaged like this; 2.1.0 is the next. `make bench` installs all of it:

    pip install -r benchmarks/requirements.txt
    npm install --prefix build d3@5.7.0 jquery@2.1.0 requirejs@2.3.6
    python -m benchmarks.pretrained [--quick] [--json FILE]
"""

import contextlib
import functools
import http.server
import itertools
import re
import shutil
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import inspectus
import plotly.graph_objects as go
from bertviz import head_view, model_view
from playwright.sync_api import BrowserContext
from plotly.offline import get_plotlyjs

from attn_core.figures.glance import glance
from attn_core.figures.grid import grid
from attn_core.figures.lines import lines
from attn_core.models import load_bundled
from attn_core.reading import Reading, read_text
from attn_core.stages import Matrix
from benchmarks.chromium import chromium
from benchmarks.rows import Row, run_alone
from benchmarks.session import ROOT

OF_TABLE = 64  # tokens
LENGTHS, LENGTHS_IF_QUICK = (16, OF_TABLE, 128), (16,)
ROUNDS, LONG = 3, 2000  # milliseconds that all rounds may take before the last
WORDS = "the animal did not cross the street because it was too tired and the street was too wide".split()
LAYER, HEAD = 2, 5

NODE_MODULES = ROOT / "build" / "node_modules"
LIBRARIES = {  # as BertViz names them, and where npm puts them
    "d3": "d3/dist/d3.min.js",
    "jquery": "jquery/dist/jquery.min.js",
    "require": "requirejs/require.js",
}
LONGEST_WAIT = 300_000  # milliseconds

# Once the picture is in place, the time of the second frame after: the first has then been handed to the screen.
PAINTED = """(() => {
    const frame = then => requestAnimationFrame(then);
    const look = () => PLACED ? frame(() => frame(() => { window.painted = performance.now(); })) : frame(look);
    frame(look);
})()"""


@dataclass(frozen=True)
class Tool:
    """What a tool sends for a reading, the page around that, and how to see that all of it is in place."""

    build: Callable[[Reading], list[str]]
    page: Callable[[list[str]], str]
    placed: str


@dataclass(frozen=True)
class Found:
    """Of one tool and one text: bytes sent, milliseconds to build, to the picture, and to it once Plotly is there."""

    tool: str
    tokens: int
    n_bytes: int
    build: float
    picture: float
    after_plotly: float


# What each sends.


def our_figures(reading: Reading) -> Iterator[go.Figure]:
    """What the page shows: all heads, then one of them as a matrix and as lines."""
    n_layers, n_heads = reading.weights.shape[:2]
    layers, heads = ([f"{letter}{place}" for place in range(n)] for letter, n in (("L", n_layers), ("H", n_heads)))
    hover = [["attends to the previous token: 71%"] * n_heads] * n_layers
    yield glance(reading.weights, LAYER, HEAD, layers, heads, hover)
    names = reading.pieces.names
    matrix = Matrix("A", "a", "weights", reading.weights[LAYER, HEAD].double(), names, names)
    yield grid(matrix, 1, 2)
    yield lines(matrix, 1, 2)


def ours(reading: Reading) -> list[str]:
    return [figure.to_json() for figure in our_figures(reading)]


def our_glance(reading: Reading) -> list[str]:
    return [next(our_figures(reading)).to_json()]


def bertviz(view: Callable[..., Any], reading: Reading) -> list[str]:
    layers = [layer.unsqueeze(0) for layer in reading.weights]
    return [view(layers, list(reading.pieces.names), html_action="return").data]


def from_inspectus(reading: Reading) -> list[str]:
    """What it hands to a notebook."""
    parts: list[Any] = []
    with mock.patch("IPython.display.display", parts.append):
        inspectus.attention([layer.unsqueeze(0) for layer in reading.weights], list(reading.pieces.names))
    return ["".join(part.data for part in parts)]


# The page around it.


def plotly_page(figures: list[str]) -> str:
    """All figures below each other; in place once Plotly says so and their pictures have been decoded."""
    places = "".join(f'<div id="figure{place}"></div>' for place in range(len(figures)))
    plots = ", ".join(f'Plotly.newPlot("figure{place}", {figure})' for place, figure in enumerate(figures))
    return f"""<!DOCTYPE html><meta charset="utf-8">{places}<script src="/plotly.js"></script><script>
        window.plotlyRead = performance.now();
        Promise.all([{plots}])
            .then(() => Promise.all([...document.querySelectorAll("image")].map(image => image.decode())))
            .then(() => {{ window.placed = true; }});
    </script>"""


def document(parts: list[str]) -> str:
    """A document as it is, with libraries from another host looked for here."""
    nearer = re.sub(r"https://[\w./-]+/(\w+)\.min", r"/\1.min", parts[0])
    return f'<!DOCTYPE html><meta charset="utf-8"><body>{nearer}</body>'


LINES_DRAWN = "document.querySelector('svg line')"
OURS, GLANCE, HEAD_VIEW, MODEL_VIEW = "ours", "ours, all heads only", "BertViz, head view", "BertViz, model view"
TOOLS = {
    OURS: Tool(ours, plotly_page, "window.placed"),
    GLANCE: Tool(our_glance, plotly_page, "window.placed"),
    HEAD_VIEW: Tool(functools.partial(bertviz, head_view), document, LINES_DRAWN),
    MODEL_VIEW: Tool(functools.partial(bertviz, model_view), document, LINES_DRAWN),
    "inspectus": Tool(from_inspectus, document, "document.querySelector('svg rect')"),
}


# Measured.


def text_of(n_tokens: int) -> str:
    """A text that becomes so many tokens: words that are one piece each, and the model's two special tokens."""
    return " ".join(itertools.islice(itertools.cycle(WORDS), n_tokens - 2))


def medians(measured: Callable[[], tuple[float, ...]]) -> tuple[float, ...]:
    """Of three rounds, or of fewer where they take long."""
    found: list[tuple[float, ...]] = []
    while len(found) < ROUNDS and sum(each[0] for each in found) < LONG:
        found.append(measured())
    return tuple(statistics.median(column) for column in zip(*found, strict=True))


def milliseconds_to_build(tool: Tool, reading: Reading) -> tuple[float]:
    before = time.perf_counter()
    tool.build(reading)
    return (1000 * (time.perf_counter() - before),)


def milliseconds_to_picture(context: BrowserContext, address: str, placed: str) -> tuple[float, float]:
    """In a tab of its own: from opening it, and from when Plotly has been read (if it is there)."""
    with contextlib.closing(context.new_page()) as page:
        page.add_init_script(PAINTED.replace("PLACED", placed))
        page.goto(address, wait_until="commit")
        painted = page.wait_for_function("window.painted", timeout=LONGEST_WAIT).json_value()
        return painted, painted - page.evaluate("window.plotlyRead ?? 0")


@contextlib.contextmanager
def serving(folder: Path) -> Iterator[str]:
    """The folder's address on this machine for as long as the block lasts."""
    handler = functools.partial(QuietHandler, directory=folder)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


def measure_tool(name: str, tool: Tool, reading: Reading, context: BrowserContext, folder: Path, address: str) -> Found:
    sent = tool.build(reading)
    (folder / "page.html").write_text(tool.page(sent), encoding="utf-8")
    (build,) = medians(lambda: milliseconds_to_build(tool, reading))
    pictures = medians(lambda: milliseconds_to_picture(context, f"{address}/page.html", tool.placed))
    return Found(name, len(reading.pieces.names), sum(len(part.encode()) for part in sent), build, *pictures)


HEADING = (
    f"{'':22}{'':>6}{'':>12}{'':>8}{'to build':>10}{'':>8}{'to the picture':>18}{'after Plotly':>17}\n"
    f"{'':22}{'tokens':>6}{'bytes':>12}{'× ours':>8}"
    f"{'ms':>10}{'× ours':>8}{'ms':>10}{'× ours':>8}{'ms':>9}{'× ours':>8}"
)


def line(found: Found, our: Found) -> str:
    return (
        f"{found.tool:22}{found.tokens:>6}{found.n_bytes:>12,}{found.n_bytes / our.n_bytes:>8.2f}"
        f"{found.build:>10.1f}{found.build / our.build:>8.2f}"
        f"{found.picture:>10.0f}{found.picture / our.picture:>8.2f}"
        f"{found.after_plotly:>9.0f}{found.after_plotly / our.after_plotly:>8.2f}"
    )


def copy_libraries(target: Path) -> None:
    (target / "plotly.js").write_text(get_plotlyjs(), encoding="utf-8")
    for name, path in LIBRARIES.items():
        shutil.copy(NODE_MODULES / path, target / f"{name}.min.js")


def measure(lengths: tuple[int, ...]) -> Iterator[dict[str, Found]]:
    """Every tool on a text of each length."""
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        copy_libraries(folder)
        address, browser = stack.enter_context(serving(folder)), stack.enter_context(chromium())
        context = stack.enter_context(contextlib.closing(browser.new_context(viewport={"width": 1280, "height": 900})))
        print(f"Chromium {browser.version}", HEADING, sep="\n", flush=True)
        model = load_bundled()
        for n_tokens in lengths:
            reading = read_text(model, text_of(n_tokens))
            yield {name: measure_tool(name, tool, reading, context, folder, address) for name, tool in TOOLS.items()}


def rows(quick: bool) -> list[Row]:
    by_length: dict[int, dict[str, Found]] = {}
    for n_tokens, found in zip(lengths := LENGTHS_IF_QUICK if quick else LENGTHS, measure(lengths), strict=True):
        print(*(line(one, found[OURS]) for one in found.values()), sep="\n", flush=True)
        by_length[n_tokens] = found
    n_tokens = lengths[0] if quick else OF_TABLE
    found = by_length[n_tokens]
    our, views = found[OURS], (found[HEAD_VIEW], found[MODEL_VIEW])
    smallest, soonest = min(view.n_bytes for view in views), min(view.picture for view in views)
    heads = f"all 72 heads of all-MiniLM-L6-v2 over {n_tokens} tokens"
    return [
        Row(
            "real model: bytes / BertViz",
            our.n_bytes / smallest,
            "×",
            1 / 20,
            f"{heads}, as the page sends them and as the smaller of BertViz's two views; both without their libraries",
            f"{our.n_bytes / 1000:.0f} kB beside {smallest / 1000:.0f} kB",
        ),
        Row(
            "real model: first picture / BertViz",
            found[GLANCE].picture / soonest,
            "×",
            1,
            f"{heads}: from opening a page in Chromium to the painted picture of all heads, beside the faster of"
            " BertViz's two views; libraries kept by the browser, Plotly's script read anew",
            f"{found[GLANCE].picture:.0f} ms (the page's three {our.picture:.0f} ms) beside {soonest:.0f} ms"
            f" (model view {found[MODEL_VIEW].picture:.0f} ms)",
        ),
    ]


if __name__ == "__main__":
    run_alone(rows, __doc__)
