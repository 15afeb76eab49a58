"""Running the √d_k experiment: its controls, its progress, and stopping it."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import streamlit as st

from attn_core.scaling import (
    DIVISORS,
    ENTRIES,
    Measurement,
    ScalingSettings,
    numbers_needed,
    progress,
    variance_experiment,
)
from pages.shared.controls import limits
from pages.shared.link import current, tied
from pages.shared.text import _

_STARTS_BY_ITSELF_UP_TO = 100_000_000
_SAMPLE_COUNTS = (100, 1_000, 10_000, 100_000, 1_000_000)
_POWERS = tuple(2**power for power in range(13))


@dataclass
class Experiment:
    """A run in this session: it keeps its place when the page runs again."""

    settings: ScalingSettings
    pieces: Iterator[Measurement]
    measurements: dict[int, Measurement] = field(default_factory=dict)
    wanted: bool = False
    finished: bool = False


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
        _list(_("Samples per dₖ"), "n_samples", _SAMPLE_COUNTS)
    with second:
        st.selectbox(_("Divide by"), DIVISORS, format_func=divisors.get, **tied(ScalingSettings, "divisor"))
        if settings.divisor == "sqrt_d_model":
            _slider(_("Heads: d_model = heads · dₖ"), "divisor_heads")
        if settings.divisor == "power":
            _slider(_("Exponent"), "exponent", step=0.05)
        _list(_("Largest dₖ"), "largest_d_k", _POWERS)
    with third:
        _slider(_("Keys in a softmax row"), "n_keys")
        st.number_input(
            _("Seed of the samples"), **limits(ScalingSettings, "sample_seed"), **tied(ScalingSettings, "sample_seed")
        )


def _slider(name: str, field_name: str, step: float | None = None) -> None:
    st.slider(name, step=step, **limits(ScalingSettings, field_name), **tied(ScalingSettings, field_name))


def _list(name: str, field_name: str, options: tuple[int, ...]) -> None:
    """A scale of round numbers; a link may hold one between them."""
    value = getattr(current(ScalingSettings), field_name)
    st.select_slider(
        name,
        sorted({*options, value}),
        format_func=lambda number: f"{number:,}",
        **tied(ScalingSettings, field_name),
    )


def run_experiment() -> dict[int, Measurement]:
    """The measurements so far, by d_k; goes on measuring until done or stopped.

    A small experiment starts by itself, a large one when asked to.
    """
    experiment = _current_experiment()
    needed = numbers_needed(experiment.settings)
    if not experiment.finished:
        if experiment.wanted or needed <= _STARTS_BY_ITSELF_UP_TO:
            _measure(experiment)
        else:
            st.info(_("This experiment draws {n:,} random numbers; that takes a while.", n=needed))
            label = _("Go on") if experiment.measurements else _("Start")
            st.button(label, icon=":material/play_arrow:", key="start", on_click=_set_wanted, args=(experiment, True))
    return experiment.measurements


def _measure(experiment: Experiment) -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        bar = st.progress(0.0)
        if numbers_needed(experiment.settings) > _STARTS_BY_ITSELF_UP_TO:
            st.button(_("Stop"), icon=":material/stop:", key="stop", on_click=_set_wanted, args=(experiment, False))
    for measurement in experiment.pieces:
        experiment.measurements[measurement.d_k] = measurement
        text = _(
            "dₖ = {d_k}: {done:,} of {total:,} samples, variance {variance:.4g}",
            d_k=measurement.d_k,
            done=measurement.n_done,
            total=measurement.n_samples,
            variance=measurement.variance,
        )
        bar.progress(progress(experiment.settings, measurement), text)
    experiment.finished = True
    _results(experiment.settings).update(experiment.measurements)
    st.rerun()  # without the bar and the stop button


def _set_wanted(experiment: Experiment, wanted: bool) -> None:
    experiment.wanted = wanted


@st.cache_resource(max_entries=32, show_spinner=False)
def _results(settings: ScalingSettings) -> dict[int, Measurement]:
    """What a finished run has measured, shared by all sessions: a class that opens one link computes it once."""
    del settings  # the key of the cache
    return {}


def _current_experiment() -> Experiment:
    """The session's run of the current settings; which histogram is shown changes no number."""
    settings = replace(current(ScalingSettings), shown_d_k=1, ignored=())
    experiment = st.session_state.get("_experiment")
    if experiment is None or experiment.settings != settings:
        known = _results(settings)
        experiment = Experiment(settings, variance_experiment(settings), dict(known), finished=bool(known))
        st.session_state["_experiment"] = experiment
    return experiment
