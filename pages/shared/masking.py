"""Masks: choosing and drawing one, what it does to the weights, and what replaces −∞ where there is none."""

from collections.abc import Sequence

import streamlit as st

from attn_core import Lesson, LessonTrace, attend
from attn_core.blind import TORCH_VERSION, BlindAnswer, blind_row
from attn_core.explain import explain_masked_weight
from attn_core.figures.bars import weight_bars
from attn_core.figures.grid import grid
from attn_core.fills import FILLS, NUMBER_TYPES, Outcome, fill_results, outcome
from attn_core.masking import hidden_in_row, mask_effect
from attn_core.masks import MASKS, make_mask, toggled
from attn_core.numbers import compact, texts, written
from attn_core.stages import Matrix, similarity_view
from pages.shared.controls import limits
from pages.shared.lecture import lines, text_table
from pages.shared.lesson import wanted_mask
from pages.shared.link import change, current, tied
from pages.shared.picker import cell_chart, cell_lists, chart, click_chart, row_in_words
from pages.shared.settings import MaskSettings
from pages.shared.text import _, plain, prose

SOURCES = (attend, make_mask, mask_effect, fill_results, blind_row)
_FIRST_PADDING = 2


def controls() -> None:
    """The mask and the padding."""
    mask_choice()
    st.slider(_("[PAD] tokens at the end"), width=200, **limits(Lesson, "padding"), **tied(Lesson, "padding"))


def mask_choice() -> None:
    """Which mask the lesson has."""
    names = {"none": _("None"), "causal": _("Causal"), "padding": _("Padding"), "drawn": _("Drawn")}
    st.segmented_control(
        _("Mask"),
        MASKS,
        format_func=names.get,
        required=True,
        **tied(Lesson, "mask") | {"on_change": _take_mask, "args": ()},
    )


def _take_mask() -> None:
    """A padding mask without padding would hide nothing: it brings some along."""
    lesson, mask = current(Lesson), st.session_state["mask"]
    needs_padding = mask == "padding" and not lesson.padding
    change(Lesson, mask=mask, padding=_FIRST_PADDING if needs_padding else lesson.padding)


def _turn_over(query: int, key: int) -> None:
    """Hides or shows one key from one query; whatever the mask was, it is drawn by hand from now on."""
    change(Lesson, mask="drawn", hidden=toggled(~wanted_mask().hidden, query, key), query=query, key=key)


def show_mask(trace: LessonTrace) -> None:
    """The mask to draw on, and the same by lists and a key."""
    mask, row, column = wanted_mask(), trace.lesson.query, trace.lesson.key
    hidden = mask.hidden.tolist()
    alt = _(
        "The mask M: {n} of {total} cells are hidden. {query} may not look at: {keys}.",
        n=sum(map(sum, hidden)),
        total=mask.values.numel(),
        query=trace.tokens[row],
        keys=", ".join(key for key, hides in zip(trace.key_tokens, hidden[row], strict=True) if hides) or "–",
    )
    click_chart(grid(mask, row, column), "mask_drawing", alt, _turn_over)
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        cell_lists(trace, mask)
        st.button(
            _("Show this key") if hidden[row][column] else _("Hide this key"),
            icon=":material/visibility:" if hidden[row][column] else ":material/visibility_off:",
            shortcut="H",
            key="turn_over",
            on_click=_turn_over,
            args=(row, column),
        )
    st.markdown(prose("masks_positions", f"mask_{current(Lesson).mask}"))


def show_effect(trace: LessonTrace) -> None:
    """The chosen query's weights, marked with what they would be without the mask."""
    effect, row, column = mask_effect(trace), trace.lesson.query, trace.lesson.key
    query = trace.tokens[row]
    st.markdown(_("What **{query}** looks at; grey marks: without the mask.", query=plain(query)))
    alt = _(
        "Weights of {query}: {numbers}. Without the mask: {without}.",
        query=query,
        numbers=row_in_words(effect.weights, row),
        without=row_in_words(effect.without, row),
    )
    bars = weight_bars(trace.key_tokens, effect.weights.values[row], column, effect.without.values[row])
    chart(bars, "mask_bars", alt)
    st.markdown(_effect_in_words(trace, float(effect.hidden[row, 0])))


def _effect_in_words(trace: LessonTrace, hidden: float) -> str:
    """What the mask takes from the chosen query."""
    if trace.lesson.mask != current(Lesson).mask:
        return _("This mask is left out: under it a query would see nothing.")
    if not hidden:
        return _("The mask hides no key from this query, so it changes none of its weights.")
    return _(
        "Without the mask the hidden keys would have **{percent:.1f} %** of this query's weight. "
        "The visible keys share it, each in proportion to its own weight.",
        percent=100 * hidden,
    )


def show_steps(trace: LessonTrace) -> None:
    """Scaled scores, masked ones and weights, side by side."""
    scaled, masked = (similarity_view(trace, view).result for view in ("scaled", "masked"))
    titles = {
        "mask_scaled": (_("**1.** Scaled scores"), scaled),
        "mask_masked": (_("**2.** M added: hidden is −∞"), masked),
        "mask_weights": (_("**3.** Softmax: hidden gets 0"), mask_effect(trace).weights),
    }
    for (key, (name, matrix)), place in zip(titles.items(), st.columns(3), strict=True):
        with place:
            st.markdown(name)
            _step(trace, key, name, matrix)


def show_without(trace: LessonTrace) -> None:
    """One weight from what it would be without the mask; beside it all of those, and each row's hidden share."""
    effect, row, column = mask_effect(trace), trace.lesson.query, trace.lesson.key
    account, picture = st.columns([2, 1])
    with account:
        st.markdown(prose("masks_positions", "without"))
        pair = {"query": plain(trace.tokens[row]), "key": plain(trace.key_tokens[column])}
        st.markdown(_("The weight of **{key}** for **{query}**:", **pair))
        lines(explain_masked_weight(effect, row, column))
        st.caption(_("Rounded to {n} decimals; computed with all digits.", n=4))
    with picture:
        st.markdown(_("**Without the mask**; Σ: what hidden keys would have"))
        shares = zip(trace.tokens, texts(effect.hidden, 4), strict=True)
        alt = _(
            "Weights without the mask, and how much of each row the hidden keys would have: {shares}.",
            shares=", ".join(f"{token} {share}" for token, (share,) in shares),
        )
        cell_chart(grid(effect.without, row, column, totals=effect.hidden), "mask_without", alt)


def _step(trace: LessonTrace, key: str, name: str, matrix: Matrix) -> None:
    """One matrix query × key."""
    alt = f"{name.replace('*', '')} ({trace.tokens[trace.lesson.query]}: {row_in_words(matrix, trace.lesson.query)})"
    cell_chart(grid(matrix, trace.lesson.query, trace.lesson.key), key, alt)


def show_fills(trace: LessonTrace) -> None:
    """Numbers added in place of −∞, in the chosen number type; what becomes of a blind row in each type."""
    row = trace.lesson.query
    scaled, hidden = trace.attention.scaled[row], hidden_in_row(trace, row, trace.lesson.key)
    results = {name: fill_results(scaled, hidden, name) for name in NUMBER_TYPES}
    one_type, all_types = st.columns([2, 3], gap="large")
    with one_type:
        st.segmented_control(_("Number type"), NUMBER_TYPES, required=True, **tied(MaskSettings, "number_type"))
        text_table(
            (_("added"), _("stored as"), _("gap to the next number"), _("weight of the hidden keys")),
            [
                (compact(r.fill), compact(r.stored), compact(r.gap) if r.gap else "–", compact(r.hidden_weight))
                for r in results[current(MaskSettings).number_type]
            ],
        )
        keys = ", ".join(key for key, hides in zip(trace.key_tokens, hidden.tolist(), strict=True) if hides)
        st.caption(_("The row of {query}; hidden: {keys}.", query=plain(trace.tokens[row]), keys=plain(keys)))
    with all_types:
        st.markdown(_("If **every** key of the row is hidden, its weights are …"))
        rows = zip(FILLS, *results.values(), strict=True)
        text_table(
            (_("added"), *NUMBER_TYPES),
            [(compact(fill), *(_in_words(outcome(r.blind), r.difference) for r in row)) for fill, *row in rows],
        )


def _in_words(found: Outcome, difference: float) -> str:
    """What has become of a row that may see nothing."""
    words = {"nan": "NaN", "zeros": _("all 0"), "equal": _("all equal")}
    return words.get(found) or _("as without a mask, ± {difference}", difference=compact(difference, 1))


def show_blind(trace: LessonTrace) -> None:
    """How attend refuses a row without any visible key, and what library functions return for it."""
    row = trace.lesson.query
    blind = blind_row(trace, row)
    st.markdown(_("With every key hidden from **{query}**, `attend` stops:", query=plain(trace.tokens[row])))
    st.code(f"BlindQueryError: {blind.refusal}", language=None, wrap_lines=True)
    st.markdown(_("What other functions return for the same row:"))
    names = (_("function"), _("weights"), _("output"), _("in short"))
    text_table(names, [_answer(answer) for answer in blind.answers])
    st.caption(
        _("Computed on this server with PyTorch {version}, for head {head}.", version=TORCH_VERSION, head=trace.head)
    )


def _answer(answer: BlindAnswer) -> tuple[str, str, str, str]:
    """One line of the table."""
    words = {"nan": "NaN", "zeros": _("zeros"), "equal": _("mean of all values"), "others": _("something else")}
    weights = _("not returned") if answer.weights is None else _listed(answer.weights.tolist())
    return f"`{answer.call}`", weights, _listed(answer.output.tolist()), words[answer.outcome]


def _listed(values: Sequence[float]) -> str:
    """The numbers, or how often the only one is there."""
    numbers = [written(value, 4) for value in values]
    return ", ".join(numbers) if len(set(numbers)) > 1 else f"{len(numbers)} × {numbers[0]}"
