"""What one interaction costs the server, page by page, beside a bare page and beside the app without its freeze.

Three real servers run side by side; a websocket session each speaks Streamlit's own messages, clicks, and waits
for the script to finish and the server to become idle. The click is forward to the next cell or step (back where
forward is disabled); on the page that trains, before it has trained, the next unseen sequence. Each click goes to the
app, to a bare page with as many Plotly charts of one trace, sliders and buttons, counted from what the app has sent,
and to the same app with garbage collected as Streamlit does it: after every run, nothing frozen. They take turns in
every order of the three: whoever follows a larger process finds colder caches. The bare page imports and freezes what
the app does, and collects nothing after a run.

Printed are medians over the clicks: processor time of the server's process, the ratio within a click, bytes sent; and
the seconds from sending a click to the end of the script, with nobody else on the server.
Widgets are what a reader operates; other elements (text, tables, links) have no counterpart on the bare page.
Linux only: it reads other processes' processor clocks. Leave the sources alone while it runs: pages are read anew.

    python -m benchmarks.interaction [--quick] [--json FILE]
"""

import contextlib
import itertools
import statistics
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.rows import Row, percentile, run_alone
from benchmarks.session import ROOT, SERVE, Cost, Server, Tab, opened, pages, serving

WARM_UP = 2
CLICKS = 6  # each order once
IF_QUICK = ("similarity", "training")

BARE_APP = """
import gc

import pandas
import plotly.graph_objects as go
import streamlit as st
import torch


@st.cache_resource(show_spinner=False)
def freeze():
    torch.set_num_threads(1)
    go.Figure(go.Scatter(y=[1, 2, 3])).to_json()
    gc.collect()
    gc.freeze()


freeze()
for place in range(int(st.query_params.get("charts", 0))):
    st.plotly_chart(go.Figure(go.Scatter(y=[1, 2, 3])), key=f"chart_{place}")
for place in range(int(st.query_params.get("sliders", 0))):
    st.slider(f"Slider {place}", 0, 10, key=f"slider_{place}")
for place in range(int(st.query_params.get("buttons", 0))):
    st.button(f"Button {place}", key=f"button_{place}")
"""

SERVE_UNFROZEN = f"import gc, sys; gc.freeze = lambda: None; sys.argv += ['--runner.postScriptGC', 'true']; {SERVE}"


# Beyond the pages as they open: what the page that trains is for.
PREPARED = {"training, trained": ("training", "trained=true")}


@dataclass(frozen=True)
class Click:
    """One click on each of the three: what was on the page, and what it took."""

    counts: Counter[str]
    app: Cost
    bare: Cost
    unfrozen: Cost


@dataclass(frozen=True)
class Triple:
    """A tab on each of the three servers."""

    app: Tab
    bare: Tab
    unfrozen: Tab

    def click(self, order: tuple[str, ...]) -> Click:
        """Clicks in this order; on the bare page again where the app's click has changed the counts."""
        took = {name: self._click_on(name) for name in order}
        counts = self.app.counts()
        if not _alike(self.bare.counts(), counts):
            took["bare"] = self._click_on("bare")
        if not _alike(self.bare.counts(), counts):
            raise RuntimeError(f"the bare page has {self.bare.counts()}, not {counts}")
        return Click(counts, **took)

    def _click_on(self, name: str) -> Cost:
        if name == "bare":
            self.bare.query = _bare_query(self.app.counts())
            return self.bare.run(self.bare.button("button_0"))
        tab: Tab = getattr(self, name)
        return tab.run(tab.step())


def _alike(one: Counter[str], other: Counter[str]) -> bool:
    return all(one[sort] == other[sort] for sort in ("charts", "buttons", "sliders"))


def _bare_query(counts: Counter[str]) -> str:
    return "&".join(f"{sort}={counts[sort]}" for sort in ("charts", "buttons", "sliders"))


def measure_page(servers: tuple[Server, Server, Server], page: str, query: str, n_clicks: int) -> list[Click]:
    """Clicks through one page, after a few that warm up."""
    app_server, bare_server, unfrozen_server = servers
    orders = itertools.cycle(itertools.permutations(("app", "bare", "unfrozen")))
    with contextlib.ExitStack() as stack:
        app, unfrozen = (stack.enter_context(opened(server, page, query)) for server in (app_server, unfrozen_server))
        bare = stack.enter_context(opened(bare_server, "", _bare_query(app.counts())))
        tabs = Triple(app, bare, unfrozen)
        for order in itertools.islice(orders, WARM_UP):
            tabs.click(order)
        return [tabs.click(order) for order in itertools.islice(orders, n_clicks)]


@dataclass(frozen=True)
class Page:
    """All clicks on one page."""

    name: str
    clicks: list[Click]

    def milliseconds(self, of: str) -> float:
        """Median processor time of a click on one of the three."""
        return 1000 * statistics.median(getattr(click, of).processor for click in self.clicks)

    def over(self, other: str) -> float:
        """Processor time of the app over another's: the median of the ratios within a click."""
        return statistics.median(click.app.processor / getattr(click, other).processor for click in self.clicks)

    def n_bytes(self, of: str) -> float:
        return statistics.median(getattr(click, of).n_bytes for click in self.clicks)

    def waits(self) -> list[float]:
        return [click.app.waited for click in self.clicks]

    def beside(self, other: str) -> str:
        return f"{self.name}: {self.milliseconds('app'):.1f} ms beside {self.milliseconds(other):.1f} ms"


HEADING = (
    f"{'':22}{'':>8}{'':>8}{'other':>8}  processor ms per click     app over        wait in ms      bytes per click\n"
    f"{'page':22}{'charts':>8}{'widgets':>8}{'elements':>9}{'app':>8}{'bare':>8}{'unfrozen':>9}"
    f"{'bare':>7}{'unfrozen':>9}{'p50':>7}{'p95':>7}{'app':>10}{'bare':>8}"
)


def line(page: Page) -> str:
    counts, waits = page.clicks[-1].counts, page.waits()
    return (
        f"{page.name:22}{counts['charts']:>8}{counts['buttons'] + counts['sliders']:>8}{counts['others']:>9}"
        f"{page.milliseconds('app'):>8.1f}{page.milliseconds('bare'):>8.1f}{page.milliseconds('unfrozen'):>9.1f}"
        f"{page.over('bare'):>7.2f}{page.over('unfrozen'):>9.2f}"
        f"{1000 * percentile(waits, 0.5):>7.0f}{1000 * percentile(waits, 0.95):>7.0f}"
        f"{page.n_bytes('app'):>10.0f}{page.n_bytes('bare'):>8.0f}"
    )


def measure(quick: bool) -> Iterator[Page]:
    """Every page of the app, one after the other; in the short form only a few."""
    with contextlib.ExitStack() as stack:
        bare_script = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "bare.py"
        bare_script.write_text(BARE_APP, encoding="utf-8")
        scripts = ((ROOT / "app.py", SERVE), (bare_script, SERVE), (ROOT / "app.py", SERVE_UNFROZEN))
        servers = tuple(stack.enter_context(serving(*script)) for script in scripts)
        as_they_open = {name: (address, "") for name, address in pages(servers[0]).items()}
        for name, (address, query) in (as_they_open | PREPARED).items():
            if not quick or name in IF_QUICK:
                clicks = measure_page(servers, address, query, 1 if quick else CLICKS)
                yield Page(name, clicks)


def rows(quick: bool) -> list[Row]:
    print(HEADING, flush=True)
    found: list[Page] = []
    for page in measure(quick):
        print(line(page), flush=True)
        found.append(page)
    dearest, thawed = (max(found, key=lambda page: page.over(other)) for other in ("bare", "unfrozen"))
    waits = [wait for page in found for wait in page.waits()]
    over_bare = "server's processor time of a click over that on a page with as many charts, sliders and buttons"
    return [
        Row(
            "a click, dearest page / bare page",
            dearest.over("bare"),
            "×",
            1.5,
            f"{over_bare}; median of the ratios of {len(dearest.clicks)} clicks, the page where it is largest",
            dearest.beside("bare"),
        ),
        Row(
            "a click, median page / bare page",
            statistics.median(page.over("bare") for page in found),
            "×",
            1.5,
            f"{over_bare}; the median of the {len(found)} pages",
        ),
        Row(
            "a click, dearest page / without freeze",
            thawed.over("unfrozen"),
            "×",
            0.2,
            "server's processor time of a click over that of the same app with garbage collected as Streamlit does it:"
            " after every run, nothing frozen; largest of all pages",
            thawed.beside("unfrozen"),
        ),
        Row(
            "a click alone: wait p95",
            percentile(waits, 0.95),
            "s",
            None,
            "from sending a click to the end of its script, clicks on all pages together, nobody else on the server",
            f"p50 {percentile(waits, 0.5):.3f} s",
        ),
    ]


if __name__ == "__main__":
    run_alone(rows, __doc__)
