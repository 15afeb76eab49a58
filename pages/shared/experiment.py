"""Running the √d_k experiment: its controls, its progress, and stopping it."""

import time
from collections.abc import Iterator
from dataclasses import replace

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from attn_core.scaling import (
    DIVISORS,
    ENTRIES,
    Measurement,
    ScalingSettings,
    numbers_needed,
    progress,
    variance_experiment,
)
from pages.shared import gate
from pages.shared.controls import limits, scale
from pages.shared.link import current, tied
from pages.shared.text import _

Measurements = dict[int, Measurement]

_REDRAW_AFTER = 2.0  # seconds
_STARTS_BY_ITSELF_UP_TO = 100_000_000
_SAMPLE_COUNTS = (100, 1_000, 10_000, 100_000, 1_000_000)
_POWERS = tuple(2**power for power in range(13))


def experiment_controls() -> None:
    """What the experiment draws and how it divides."""
    settings = current(ScalingSettings)
    entries = {
        "normal": _("normal N(0, 1)"),
        "uniform": _("uniform, variance 1"),
        "signs": _("+1 or −1"),
        "shifted": _("normal with mean μ"),
        "linear": _("fresh linear layer"),
    }
    divisors = {
        "none": _("1 (none)"),
        "sqrt_d_k": "√dₖ",
        "d_k": "dₖ",
        "sqrt_d_model": _("√d_model (a bug)"),
        "power": _("a power of dₖ"),
    }
    first, second, third = st.columns(3, gap="large")
    with first:
        st.selectbox(_("Entries of q and k"), ENTRIES, format_func=entries.get, **tied(ScalingSettings, "entries"))
        if settings.entries == "shifted":
            _slider(_("Mean μ"), "mean", step=0.1)
        scale(_("Samples per dₖ"), ScalingSettings, "n_samples", _SAMPLE_COUNTS)
    with second:
        st.selectbox(_("Divide by"), DIVISORS, format_func=divisors.get, **tied(ScalingSettings, "divisor"))
        if settings.divisor == "sqrt_d_model":
            _slider(_("Heads: d_model = heads · dₖ"), "divisor_heads")
        if settings.divisor == "power":
            _slider(_("Exponent"), "exponent", step=0.05)
        scale(_("Largest dₖ"), ScalingSettings, "largest_d_k", _POWERS)
    with third:
        _slider(_("Keys in a softmax row"), "n_keys")
        st.number_input(
            _("Seed of the samples"), **limits(ScalingSettings, "sample_seed"), **tied(ScalingSettings, "sample_seed")
        )


def _slider(name: str, field_name: str, step: float | None = None) -> None:
    st.slider(name, step=step, **limits(ScalingSettings, field_name), **tied(ScalingSettings, field_name))


def measured_so_far() -> Measurements:
    """What the experiment with the current settings has measured, by d_k."""
    return gate.latest(_key()) or {}


def go_on_measuring(place: DeltaGenerator, shown: Measurements) -> None:
    """Measures until done or stopped, with a bar in this place; the page runs again when there is more to show.

    A small experiment starts by itself, a large one when asked to.
    """
    key, settings, started = _key(), current(ScalingSettings), time.monotonic()
    needed = numbers_needed(settings)

    def tell(measurements: Measurements) -> tuple[float, str]:
        if len(measurements) > len(shown) and time.monotonic() > started + _REDRAW_AFTER:
            st.rerun()
        return _in_words(settings, measurements)

    with place:
        offer = st.empty()
        found = gate.run(key, lambda: _measure(settings), tell, by_itself=needed <= _STARTS_BY_ITSELF_UP_TO)
    if found is None:
        with offer.container(horizontal=True, vertical_alignment="center"):
            st.info(_("This experiment draws {n:,} random numbers; that takes a while.", n=needed))
            label = _("Go on") if shown else _("Start")
            st.button(label, icon=":material/play_arrow:", key="start", on_click=gate.want, args=(key,))
    elif found is not shown:
        st.rerun()


def _key() -> tuple[str, ScalingSettings]:
    """Which histogram is shown changes no number."""
    return "scaling", replace(current(ScalingSettings), shown_d_k=1, ignored=())


def _measure(settings: ScalingSettings) -> Iterator[Measurements]:
    """All measurements so far, after each piece of work; drawn by one thread, as a job counts."""
    found: Measurements = {}
    for measurement in variance_experiment(settings, n_threads=1):
        found = {**found, measurement.d_k: measurement}
        yield found


def _in_words(settings: ScalingSettings, measurements: Measurements) -> tuple[float, str]:
    *_before, last = measurements.values()
    text = _(
        "dₖ = {d_k}: {done:,} of {total:,} samples, variance {variance:.4g}",
        d_k=last.d_k,
        done=last.n_done,
        total=last.n_samples,
        variance=last.variance,
    )
    return progress(settings, last), text
