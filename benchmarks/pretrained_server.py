"""What the page of real models costs the server: opening it cold and warm, its memory, and the other pages' clicks.

Two servers run side by side, and every other page is opened on both. In one the bundled model is then loaded, by
opening its page (cold: libraries, check, weights, reading, all of the page's script; warm: the same page opened again);
in the other nobody opens that page. Then the same clicks go to both, in turn, on other pages: the ratio within a pair
should be 1. Linux only: it reads other processes' figures.

    python -m benchmarks.pretrained_server [--quick] [--json FILE]
"""

import statistics
import time

from benchmarks.rows import Row, run_alone
from benchmarks.session import ROOT, Server, opened, pages, serving

OF_MODELS = "pretrained"
CLICKED = ("similarity", "softmax", "multi_head")
CLICKS, OPENED_WARM, WARM_UP = 24, 5, 2


def seconds_to_open(server: Server, page: str) -> float:
    """From the request to the end of the page's script."""
    began = time.perf_counter()
    with opened(server, page, "lang=en"):
        return time.perf_counter() - began


def clicks_over(without: Server, loaded: Server, page: str, n_clicks: int) -> float:
    """Processor time of a click with the model loaded, over one without: the median ratio of pairs."""
    ratios = []
    with opened(without, page) as one, opened(loaded, page) as other:
        for place in range(WARM_UP + n_clicks):
            took = {tab: tab.run(tab.step()).processor for tab in ((one, other) if place % 2 else (other, one))}
            ratios.append(took[other] / took[one])
    return statistics.median(ratios[WARM_UP:])


def rows(quick: bool) -> list[Row]:
    n_clicks, n_warm = (1, 1) if quick else (CLICKS, OPENED_WARM)
    with serving(ROOT / "app.py") as without, serving(ROOT / "app.py") as loaded:
        others = CLICKED if quick else [page for page in pages(without).values() if page != OF_MODELS]
        for server in (without, loaded):
            for page in others:
                seconds_to_open(server, page)
        cold = seconds_to_open(loaded, OF_MODELS)
        warm = statistics.median(seconds_to_open(loaded, OF_MODELS) for _ in range(n_warm))
        over = {page: clicks_over(without, loaded, page, n_clicks) for page in CLICKED}
        memory, memory_with = without.megabytes(), loaded.megabytes()
    each = ", ".join(f"{page} {ratio:.2f}" for page, ratio in over.items())
    clicks = (
        "processor time of a click on a server that has loaded the model over one that has not; three pages' largest"
    )
    opening = "from the request to the end of the page's script; cold: the first on its server"
    resident = "resident memory of the server's process, after every page"
    return [
        Row("memory without a pretrained model", memory, "MB", 450, f"{resident} but that of real models was opened"),
        Row("memory with the bundled model", memory_with, "MB", 690, f"{resident} was opened"),
        Row("a click with the model / without", max(over.values()), "×", None, clicks, each),
        Row("page of real models: cold", cold, "s", None, opening, f"warm {warm:.2f} s"),
    ]


if __name__ == "__main__":
    run_alone(rows, __doc__)
