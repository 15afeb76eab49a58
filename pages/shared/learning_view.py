"""What a training has reached, in the session's language: its figures, its attention, its answers, its matrices."""

from collections.abc import Sequence

import streamlit as st

from attn_core.figures.animation import AnimationLabels, animation, weights_picture
from attn_core.figures.curves import Curve, curves
from attn_core.figures.grid import on_one_scale
from attn_core.language import Yardstick, bigrams, bigrams_in_place, grammar, language
from attn_core.learning import N_EXAMPLES, LearningProgress, LearningSettings, Snapshot
from attn_core.learning_examples import (
    answers,
    example_shown,
    example_texts,
    ideal_matrix,
    layer_matrices,
    layer_shown,
    learned_weights,
    snapshot_shown,
)
from attn_core.palette import KEY, NEUTRAL, SCORES, VALUE
from attn_core.tasks import best_without_matching, n_layers_needed
from pages.shared.lecture import text_table
from pages.shared.link import current, tied
from pages.shared.picker import chart, step_buttons
from pages.shared.text import _, prose

_LAYER_COLORS = (KEY, VALUE)


def show_task() -> None:
    """What is asked, and which sequences are unseen."""
    name = current(LearningSettings).task
    st.markdown(prose("training", "task_next_word" if _is_language(name) else f"task_{name}"))


def show_figures(progress: LearningProgress) -> None:
    """The numbers of the model at the step that is shown, over all unseen problems."""
    settings = current(LearningSettings)
    snapshot = snapshot_shown(settings, progress)
    st.markdown(_("**After {step} of {steps} steps**", step=snapshot.step, steps=settings.learning_steps))
    with st.container(horizontal=True, gap="medium"):
        st.metric(_("unseen answers right"), f"{snapshot.accuracy:.1%}", width="content")
        for name, closeness in zip(_closeness_names(snapshot), snapshot.closeness, strict=True):
            st.metric(name, f"{closeness:.3f}", width="content")
        st.metric(_("loss on unseen"), f"{snapshot.loss:.4f}", width="content")


def _is_language(task: str) -> bool:
    return task.startswith("next_word")


def _known(task: str) -> tuple[tuple[str, Yardstick], ...]:
    """What is known about the next word, on the same unseen sentences; the best comes last."""
    if not _is_language(task):
        return ()
    lang = task.removeprefix("next_word_")
    names = (_("the word before"), _("the word before and its place"), _("all words before (the grammar itself)"))
    known = (bigrams(lang), bigrams_in_place(lang), grammar(lang))
    return tuple((name, one.on(language(lang).unseen)) for name, one in zip(names, known, strict=True))


def example_controls(progress: LearningProgress) -> None:
    """Which unseen problem is shown, which layer, and after how many steps."""
    settings = current(LearningSettings)
    texts = example_texts(settings.of_run, N_EXAMPLES)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.selectbox(
            _("An unseen sequence"),
            range(N_EXAMPLES),
            format_func=lambda place: f"{place}: {texts[place]}",
            **tied(LearningSettings, "shown_example"),
        )
        if settings.model_layers > 1:
            st.segmented_control(
                _("Layer shown"),
                range(settings.model_layers),
                required=True,
                **tied(LearningSettings, "shown_layer"),
            )
    steps = [one.step for one in progress.snapshots]
    step_buttons(LearningSettings, "shown_step", steps, snapshot_shown(settings, progress).step)


def show_attention(progress: LearningProgress) -> None:
    """The chosen problem's weights over the steps beside those of the known solution."""
    settings = current(LearningSettings)
    learned, ideal = st.columns(2, gap="large")
    with learned:
        st.markdown(_("**Learned**"))
        _animation(settings, progress)
    with ideal:
        matrix = ideal_matrix(settings)
        if matrix is None:
            _known_table(settings, progress)
        else:
            st.markdown(_("**Ideal**"))
            places = ", ".join(f"{row} → {matrix.columns[at]}" for row, at in _sources(settings))
            alt = _("The ideal weights: all of each row, 1.00, at one place ({places}).", places=places)
            chart(weights_picture(matrix, example_shown(settings).marked), "learning_ideal", alt)
            st.markdown(prose("training", "closeness"))
            if settings.model_layers != n_layers_needed(settings.task):
                st.markdown(prose("training", "other_layers"))


def _known_table(settings: LearningSettings, progress: LearningProgress) -> None:
    """The model beside what can be known about the next word."""
    st.markdown(_("**Beside what can be known**"))
    snapshot = snapshot_shown(settings, progress)
    model = (_("this model"), Yardstick(snapshot.loss, snapshot.accuracy))
    text_table(
        (_("predicts from"), _("loss on unseen"), _("right")),
        [(name, f"{one.loss:.4f}", f"{one.accuracy:.1%}") for name, one in (*_known(settings.task), model)],
    )
    st.markdown(prose("training", "next_word"))


def _sources(settings: LearningSettings) -> list[tuple[str, int]]:
    example = example_shown(settings)
    return [(example.tokens[row], at) for row, at in zip(example.rows, example.sources, strict=True)]


def _animation(settings: LearningSettings, progress: LearningProgress) -> None:
    """The weights at every snapshot; before training, as the seed made them."""
    matrices, marked = learned_weights(settings, progress), example_shown(settings).marked
    captions = [_caption(settings, one) for one in progress.snapshots]
    shown = [one.step for one in progress.snapshots].index(snapshot_shown(settings, progress).step)
    alt = _("Attention weights of {tokens}. {caption}", tokens=" ".join(matrices[0].columns), caption=captions[shown])
    figure = weights_picture(matrices[shown], marked)
    if progress.step:
        labels = AnimationLabels(_("▶ Play"), _("■ Pause"))
        figure = animation(matrices, captions, shown, marked=marked, labels=labels)
        alt += " " + _("An animation over {n} steps of the training.", n=len(captions))
    chart(figure, "learning_weights", alt)
    frames = _("Weights to 2 decimals. Frames mark the targets.")
    st.caption(frames if marked else _("Weights to 2 decimals."))


def _caption(settings: LearningSettings, snapshot: Snapshot) -> str:
    text = _("step {step}: {accuracy:.1%} right", step=snapshot.step, accuracy=snapshot.accuracy)
    if not snapshot.closeness:
        return text
    return text + _(", weight {closeness:.2f}", closeness=snapshot.closeness[layer_shown(settings)])


def show_answers(progress: LearningProgress) -> None:
    """The model's answers to the chosen problem beside the right ones."""
    settings = current(LearningSettings)
    found = answers(settings, snapshot_shown(settings, progress))
    names = [_("place"), _("token"), _("right answer"), _("model's answer"), _("its probability"), ""]
    rows = [
        [str(a.place), a.token, a.right, a.given, f"{a.probability:.3f}", "✓" if a.given == a.right else "✗"]
        for a in found
    ]
    if found[0].known is not None:
        names += [_("model gives the right one"), _("the grammar gives it")]
        rows = [[*row, f"{a.of_right:.3f}", f"{a.known:.3f}"] for row, a in zip(rows, found, strict=True)]
    text_table(names, rows)
    st.caption(prose("training", "unseen_words" if _is_language(settings.task) else "unseen"))
    st.caption(prose("training", "model"))


def show_curves(progress: LearningProgress) -> None:
    """Loss and accuracy over the steps."""
    loss, accuracy = st.columns(2, gap="large")
    with loss:
        _loss(progress)
    with accuracy:
        _accuracy(progress)


def _loss(progress: LearningProgress) -> None:
    steps, unseen = [one.step for one in progress.snapshots], [one.loss for one in progress.snapshots]
    of_training = Curve(_("training"), range(1, progress.step + 1), progress.losses, NEUTRAL)
    levels = [(name, known.loss) for name, known in _known(progress.settings.task)]
    figure = curves(
        [of_training, Curve(_("unseen"), steps, unseen, SCORES, marks=True)],
        x=_("step"),
        y=_("loss"),
        x_end=1.02 * progress.settings.learning_steps,
        y_range=_loss_range([*unseen, *progress.losses], [level for _name, level in levels]),
        levels=levels,
    )
    alt = _(
        "The loss on unseen sequences goes from {first:.3f} to {last:.3f} in {n} steps.",
        first=unseen[0],
        last=unseen[-1],
        n=progress.step,
    )
    chart(figure, "learning_loss", alt)


def _loss_range(losses: list[float], known: list[float]) -> tuple[float, float]:
    """From 0 to the highest; beside what is known, only where that can be told apart: the start lies above."""
    return (0.9 * min(known), 1.4 * max(known)) if known else (0.0, 1.05 * max(losses))


def _accuracy(progress: LearningProgress) -> None:
    name, steps = progress.settings.task, [one.step for one in progress.snapshots]
    right = [one.accuracy for one in progress.snapshots]
    lines = [Curve(_("unseen answers right"), steps, right, SCORES, marks=True), *_closeness(progress.snapshots)]
    levels = [(known_from, known.accuracy) for known_from, known in _known(name)]
    guess = best_without_matching(name)
    if guess is not None:
        levels.append((_("guess without matching"), guess))
    x_end = 1.02 * progress.settings.learning_steps
    figure = curves(lines, x=_("step"), y=_("share"), x_end=x_end, y_range=(0, 1.05), levels=levels)
    alt = _(
        "The share of right answers to unseen sequences goes from {first:.1%} to {last:.1%} in {n} steps.",
        first=right[0],
        last=right[-1],
        n=progress.step,
    )
    chart(figure, "learning_accuracy", alt)


def _closeness(snapshots: Sequence[Snapshot]) -> list[Curve]:
    """One line a layer."""
    steps = [one.step for one in snapshots]
    return [
        Curve(name, steps, [one.closeness[layer] for one in snapshots], _LAYER_COLORS[layer], dash="dash")
        for layer, name in enumerate(_closeness_names(snapshots[0]))
    ]


def _closeness_names(snapshot: Snapshot) -> list[str]:
    if len(snapshot.closeness) > 1:
        return [_("on target, layer {layer}", layer=layer) for layer in (0, 1)]
    return [_("weight on target")] * len(snapshot.closeness)


def show_matrices(progress: LearningProgress) -> None:
    """W_Q, W_K and W_V of the chosen layer, before and after."""
    layer = layer_shown(current(LearningSettings))
    both = zip(layer_matrices(progress.before[layer]), layer_matrices(progress.after[layer]), strict=True)
    titles = (_("before"), _("after {n} steps", n=progress.step))
    for pair, place in zip(both, st.columns(3, gap="medium"), strict=True):
        with place:
            for matrix, figure, title in zip(pair, on_one_scale(pair), titles, strict=True):
                st.markdown(f"**{title}**")
                alt = _(
                    "{name} {title}: the largest entry has size {largest:.2f}.",
                    name=matrix.symbol,
                    title=title,
                    largest=float(matrix.values.abs().max()),
                )
                chart(figure, f"learning_{matrix.symbol}_{titles.index(title)}", alt)
