"""The trained Vision Transformer in the session's language: a digit as it reads it, its attention, its training."""

import streamlit as st

from attn_core.figures.bars import weight_bars
from attn_core.figures.curves import Curve, curves
from attn_core.figures.grid import grid
from attn_core.figures.picture import heads_over_picture, patch_picture
from attn_core.images import patch_names
from attn_core.numbers import written
from attn_core.palette import SCORES
from attn_core.picture_thread import PictureSettings
from attn_core.vit import (
    PATCHES_PER_EDGE,
    STORED,
    DigitReading,
    VitRun,
    VitSettings,
    VitView,
    largest_difference,
    query_at,
    read_digit,
    stored_vit,
    train_vit,
)
from pages.shared import gate
from pages.shared.controls import limits
from pages.shared.link import change, current, tied
from pages.shared.picker import chart, click_chart
from pages.shared.picture_choice import digit_choice
from pages.shared.text import _, prose

_DIGITS = tuple(map(str, range(10)))


# Which model.


def training_controls() -> None:
    """Epochs and seed; train now, or go back to the stored weights."""
    view, settings = current(VitView), current(VitSettings)
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        st.slider(_("Epochs"), width=220, **limits(VitSettings, "vit_epochs"), **tied(VitSettings, "vit_epochs"))
        st.number_input(
            _("Seed of the model"), width=150, **limits(VitSettings, "vit_seed"), **tied(VitSettings, "vit_seed")
        )
        for label, icon, live in (
            (_("Train now"), "model_training", True),
            (_("Stored weights"), "inventory_2", False),
        ):
            st.button(
                label,
                icon=f":material/{icon}:",
                key="train_digits" if live else "stored_digits",
                type="primary" if live else "secondary",
                disabled=not live and not view.vit_live,
                on_click=_show_model,
                args=(settings, live),
            )
    st.caption(prose("image_patches", "training"))


def _show_model(settings: VitSettings, live: bool) -> None:
    if live:
        gate.want(("digits", settings))
    change(VitView, vit_live=live)


def current_run() -> VitRun:
    """The model of the link: the stored one, or one trained now, with its progress and what it came to."""
    if not current(VitView).vit_live:
        return stored_vit()
    settings = current(VitSettings)
    run = gate.run(
        ("digits", settings),
        lambda: train_vit(settings),
        _progress,
        by_itself=True,
        on_stop=lambda _piece: change(VitView, vit_live=False),
    )
    if run is None:
        return stored_vit()
    _compare(run)
    return run


def _progress(run: VitRun) -> tuple[float, str]:
    text = _(
        "step {step} of {steps}: loss {loss:.3f}, {accuracy:.1%} of the held-out digits right",
        step=run.step,
        steps=run.steps,
        loss=run.curve[-1].loss,
        accuracy=run.curve[-1].accuracy,
    )
    return run.share, text


def _compare(run: VitRun) -> None:
    """Trained here and now against what is stored."""
    difference = largest_difference(run, stored_vit())
    numbers = {"n": run.n_parameters, "difference": difference}
    if run.settings != STORED:
        st.info(
            _("Other settings than the stored model's: of {n:,} numbers, some differ by {difference:.3g}.", **numbers)
        )
    elif difference == 0:
        st.success(
            _("Trained anew, all {n:,} numbers are the stored ones, bit by bit: same seed, same model.", **numbers)
        )
    else:
        st.success(
            _(
                "Trained anew with the same seed: of {n:,} numbers, none differs from the stored one by more than "
                "{difference:.3g}. Another processor may add in another order.",
                **numbers,
            )
        )


# One digit.


def show_digit(run: VitRun) -> DigitReading:
    """The digit and how likely the model holds each of the ten to be."""
    settings = current(PictureSettings)
    found = read_digit(run.model, settings.digit)
    picture, bars = st.columns([2, 3], gap="large")
    with picture:
        if settings.picture != "digit":
            digit_choice()
        part = _("held out: the model has never learned from it") if found.held_out else _("one it has learned from")
        st.markdown(
            _("Digit {index} shows a **{shown}** ({part}).", index=settings.digit, shown=found.shown, part=part)
        )
        verdict = _(
            "The model reads **{read}**, with probability {probability}.",
            read=found.read,
            probability=written(found.certainty, 4),
        )
        (st.success if found.read == found.shown else st.error)(verdict)
        _misread(run)
    with bars:
        alt = _(
            "Probabilities of the ten digits: {numbers}. The marks show what is right: {shown}.",
            numbers=", ".join(f"{digit} {written(p, 4)}" for digit, p in enumerate(found.probabilities.tolist())),
            shown=found.shown,
        )
        chart(weight_bars(_DIGITS, found.probabilities, found.read, found.right), "digit_probabilities", alt)
    return found


def _misread(run: VitRun) -> None:
    """Held-out digits that the model reads wrongly, to be looked at."""
    places = run.evaluation.misread
    if places:
        st.selectbox(
            _("Look at one that is read wrongly"),
            places,
            index=None,
            placeholder=_("choose one"),
            format_func=lambda place: _("digit {place}", place=place),
            key="misread",
            width=240,
            on_change=_look_at,
        )


def _look_at() -> None:
    if (place := st.session_state["misread"]) is not None:
        change(PictureSettings, digit=place)


# Its attention.


def show_heads(found: DigitReading) -> None:
    """Layers × heads over the digit, and the chosen one large; the token that asks."""
    view, tokens = current(VitView), _tokens()
    weights, own = found.to_patches(view.vit_query)
    chosen = weights[view.vit_layer, view.vit_head]
    name = _head_name(view.vit_layer, view.vit_head)
    all_heads, one = st.columns([3, 2], gap="large")
    with all_heads:
        st.selectbox(
            _("Which token asks?"), range(len(tokens)), format_func=lambda n: tokens[n], **tied(VitView, "vit_query")
        )
        alt = _(
            "What {token} attends to in every layer and head, laid over the digit: {peaks}.",
            token=tokens[view.vit_query],
            peaks="; ".join(
                f"{_head_name(*place)}: {patch} {written(w, 4)}" for place, patch, w in found.peaks(view.vit_query)
            ),
        )
        figure = heads_over_picture(
            found.picture.pixels,
            weights,
            PATCHES_PER_EDGE,
            [_("layer {layer}", layer=layer) for layer in range(len(weights))],
            [_("head {head}", head=head) for head in range(len(weights[0]))],
            layer=view.vit_layer,
            head=view.vit_head,
            query=view.patch,
        )
        click_chart(figure, "digit_heads", alt, _take_head)
    with one:
        layers, heads = weights.shape[:2]
        with st.container(horizontal=True, gap="small"):
            for label, field, count in ((_("layer"), "vit_layer", layers), (_("head"), "vit_head", heads)):
                st.selectbox(label, range(count), width=112, **tied(VitView, field))
        alt = _(
            "{head}: what {token} attends to, patch by patch: {numbers}.",
            head=name,
            token=tokens[view.vit_query],
            numbers=", ".join(f"{patch} {written(w, 4)}" for patch, w in zip(tokens[1:], chosen.tolist(), strict=True)),
        )
        figure = patch_picture(found.picture.pixels, PATCHES_PER_EDGE, view.patch, tokens[1:], weights=chosen)
        click_chart(figure, "digit_attention", alt, _take_query)
        st.caption(
            _(
                "{head}. To the class token itself: {own}; all 17 weights sum to 1.",
                head=name,
                own=written(float(own[view.vit_layer, view.vit_head]), 4),
            )
        )


def _tokens() -> tuple[str, ...]:
    return (_("class token"), *patch_names(PATCHES_PER_EDGE, PATCHES_PER_EDGE))


def _head_name(layer: int, head: int) -> str:
    return _("layer {layer}, head {head}", layer=layer, head=head)


def _take_head(layer: int, head: int) -> None:
    change(VitView, vit_layer=layer, vit_head=head)


def _take_query(row: int, column: int) -> None:
    change(VitView, vit_query=query_at(row, column))


# All held-out digits.


def show_accuracy(run: VitRun) -> None:
    """How many held-out digits are read correctly, which are taken for which, and how that came about."""
    found = run.evaluation
    st.markdown(
        _(
            "**{right} of {n}** held-out digits are read correctly: **{accuracy:.1%}**. "
            "The model has {parameters:,} learned numbers.",
            right=found.n_correct,
            n=found.n,
            accuracy=found.accuracy,
            parameters=run.n_parameters,
        )
    )
    confusion, progress = st.columns([3, 2], gap="large")
    with confusion:
        st.markdown(_("Shown (row) and read (column):"))
        by_digit = [f"{digit}: {share:.0%}" for digit, share in enumerate(found.accuracy_by_digit.tolist())]
        alt = _(
            "Held-out digits by what is shown and what is read. Right, by digit: {shares}", shares=", ".join(by_digit)
        )
        chart(grid(found.matrix()), "digit_confusion", alt)
    with progress:
        st.markdown(_("Held-out digits read correctly, while the model learned:"))
        point = run.curve[-1]
        alt = _(
            "Share of held-out digits read correctly: {first:.0%} after {step} steps, {last:.1%} after {steps}.",
            first=run.curve[0].accuracy,
            step=run.curve[0].step,
            last=point.accuracy,
            steps=point.step,
        )
        steps, shares = [p.step for p in run.curve], [p.accuracy for p in run.curve]
        figure = curves(
            [Curve(_("held-out digits"), steps, shares, SCORES)],
            x=_("step"),
            y=_("share"),
            x_end=run.steps,
            y_range=(0.0, 1.0),
            levels=((_("guessing"), 0.1),),
        )
        chart(figure, "digit_curve", alt)
        st.caption(prose("image_patches", "accuracy"))
