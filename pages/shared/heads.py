"""Several heads in the session's language: their number, their weights, their shares of the output."""

from collections.abc import Sequence

import streamlit as st

from attn_core import Lesson, LessonTrace
from attn_core.comparison import HeadComparison, query_weights
from attn_core.explain import explain_head_size, explain_product, explain_shares
from attn_core.figures.contributions import head_contributions
from attn_core.figures.grid import grid
from attn_core.figures.heads import heads_grid
from attn_core.lesson import head_counts
from attn_core.numbers import compact, written
from attn_core.presets import PRESETS
from attn_core.reference import torch_difference
from attn_core.shares import HeadShares
from attn_core.stages import heads_weights, share_stage
from pages.shared.controls import head_list
from pages.shared.lecture import lines, text_table
from pages.shared.link import current, tied
from pages.shared.picker import cell_chart, chart
from pages.shared.settings import LectureSettings
from pages.shared.shell import page_link
from pages.shared.text import _, plain, prose, sentence


def controls(trace: LessonTrace) -> None:
    """The number of heads with what follows from it, and the second sentence."""
    size, sentence = st.columns(2, gap="large")
    with size:
        st.segmented_control(
            _("Number of heads H (divides d_model = {size})", size=trace.lesson.d_model),
            head_counts(current(Lesson).d_model),
            required=True,
            **tied(Lesson, "n_heads"),
        )
        with st.container(horizontal=True, gap="medium"):
            lines(explain_head_size(trace))
        if current(LectureSettings).lecture and trace.n_heads > 1:  # where the bar with this list is out of sight
            head_list(trace.n_heads)
    with sentence:
        st.text_input(
            _("Second sentence, for keys and values"),
            placeholder=_("empty: keys and values come from the same sentence"),
            **tied(Lesson, "second_text"),
        )
        if current(Lesson).second_text and not trace.is_cross:
            st.warning(_("The second sentence holds no word: keys and values come from the first."))
        n_parameters = trace.layers.n_parameters
        st.caption(_("$W_Q$, $W_K$, $W_V$ and $W_O$ hold {n} numbers, whatever the number of heads.", n=n_parameters))
    if trace.n_heads == 1:
        st.info(prose("multi_head", "one_head"), icon=":material/touch_app:")


def head_names(trace: LessonTrace) -> tuple[str, ...]:
    """What the heads are called."""
    return tuple(_("head {head}", head=head) for head in range(trace.n_heads))


def show_weights(trace: LessonTrace) -> None:
    """The weights of every head; a click chooses head, query and key."""
    row, matrices = trace.lesson.query, heads_weights(trace)
    top = [int(matrix.values[row].argmax()) for matrix in matrices]
    peaks = [
        f"{name}: {trace.key_tokens[key]} {written(float(matrix.values[row, key]), 4)}"
        for name, matrix, key in zip(head_names(trace), matrices, top, strict=True)
    ]
    alt = _(
        "Attention weights of {n} heads side by side. What {query} looks at most: {peaks}.",
        n=trace.n_heads,
        query=trace.tokens[row],
        peaks=", ".join(peaks),
    )
    figure = heads_grid(matrices, trace.head, row, trace.lesson.key)
    cell_chart(figure, "heads_weights", alt, fields=("head", "query", "key"))


def show_comparison(trace: LessonTrace, compared: HeadComparison) -> None:
    """One query in every head."""
    row, names = trace.lesson.query, head_names(trace)
    st.markdown(_("What **{query}** looks at in each head:", query=plain(trace.tokens[row])))
    matrix = query_weights(trace, row, names)
    entropies = [written(value, 4) for value in compared.entropy.tolist()]
    distances = [written(value, 4) for value in compared.distance.tolist()]
    alt = _(
        "Weights of {query} in {n} heads; entropies {entropies}; distances from {chosen}: {distances}.",
        query=trace.tokens[row],
        n=trace.n_heads,
        entropies=", ".join(entropies),
        chosen=names[trace.head],
        distances=", ".join(distances),
    )
    cell_chart(grid(matrix, trace.head, trace.lesson.key), "heads_query", alt, fields=("head", "key"))


def show_distances(trace: LessonTrace, compared: HeadComparison) -> None:
    """How spread out each head's weights are, and how far from the chosen head's."""
    names = head_names(trace)
    columns = {
        _("entropy (at most {most:.4f})", most=compared.largest_entropy): compared.entropy,
        _("distance from {head}", head=names[trace.head]): compared.distance,
        _("mean over all queries"): compared.mean_distance,
    }
    numbers = ([written(value, 4) for value in values.tolist()] for values in columns.values())
    text_table((_("head"), *columns), list(zip(range(trace.n_heads), *numbers, strict=True)))
    st.caption(prose("multi_head", "distance"))


def show_shares(trace: LessonTrace, shared: HeadShares) -> None:
    """The shares stacked, column by column, and one number as their sum."""
    query, names = trace.tokens[trace.lesson.query], head_names(trace)
    alt = _(
        "What each head adds to y of {query}. Lengths: {lengths}; y itself: {length}.",
        query=query,
        lengths=_listed(names, [written(value, 4) for value in shared.norms.tolist()]),
        length=written(shared.length, 4),
    )
    chart(head_contributions(shared, names, trace.head), "heads_shares", alt)
    lines(explain_shares(trace, trace.lesson.query, trace.lesson.column))


def show_share_numbers(trace: LessonTrace, shared: HeadShares) -> None:
    """Every head's share as a row of numbers, its length, and how far it reaches along the output."""
    row, names = trace.lesson.query, head_names(trace)
    along = [written(value, 4) for value in shared.along.tolist()]
    alt = _(
        "The heads' shares of y of {query}; along y they reach {along}, together {length}.",
        query=trace.tokens[row],
        along=_listed(names, along),
        length=written(shared.length, 4),
    )
    matrix = shared.matrix(row, names)
    cell_chart(grid(matrix, trace.head, trace.lesson.column), "heads_share_rows", alt, fields=("head", "column"))
    columns = {
        _("head"): [*range(trace.n_heads), "Σ"],
        _("length"): [*(written(value, 4) for value in shared.norms.tolist()), ""],
        _("along y"): [*along, written(shared.length, 4)],
        _("of y's length"): [_percent(part) for part in (*shared.fractions.tolist(), shared.fractions.sum())],
    }
    text_table(list(columns), list(zip(*columns.values(), strict=True)))
    st.markdown(_("The share of {head}, column {column}:", head=names[trace.head], column=trace.lesson.column))
    lines(explain_product(share_stage(trace), row, trace.lesson.column).latex)


def show_check(trace: LessonTrace) -> None:
    """The largest difference from torch's own module."""
    found = torch_difference(trace)
    st.markdown(
        _(
            "Largest difference from `torch.nn.MultiheadAttention` with the lesson's weights: **{output}** in Y, "
            "**{weights}** in the attention weights of all heads. Both compute in float64 (about 16 digits) and may "
            "add in another order.",
            output=compact(found.output, 2),
            weights=compact(found.weights, 2),
        )
    )


def show_cross(trace: LessonTrace) -> None:
    """What comes from which sentence, with the shapes."""
    st.markdown(prose("multi_head", "cross"))
    if trace.is_cross:
        st.markdown(
            _(
                "Queries from **{first}** ({n} × {size}); keys and values from **{second}** ({m} × {size}); "
                "the weights of each head: **{n} × {m}**.",
                first=plain(sentence(trace.tokens)),
                second=plain(sentence(trace.key_tokens)),
                n=len(trace.tokens),
                m=len(trace.key_tokens),
                size=trace.lesson.d_model,
            )
        )
    page_link("multi_head", label=_("Open a translation pair"), lesson=PRESETS["translation_pair"])


def _percent(part: float) -> str:
    return f"{part:.1%}".replace("-", "−")


def _listed(names: Sequence[str], numbers: Sequence[str]) -> str:
    return ", ".join(f"{name} {number}" for name, number in zip(names, numbers, strict=True))
