"""The lecture plan: prepared states of the pages, in teaching order."""

from dataclasses import dataclass, field

import streamlit as st

from attn_core.presets import PRESETS
from pages.shared.shell import page_link
from pages.shared.text import _

# The page that works out each stage of the overview's strip.
STAGE_PAGES = (
    "one_hot",
    "one_hot",
    "query_key_value",
    "query_key_value",
    "query_key_value",
    "similarity",
    "similarity",
    "softmax",
    "weighted_sum",
)


@dataclass(frozen=True)
class PlanPart:
    """One part of the lecture: how many minutes, on which page, in which state."""

    minutes: int
    page: str
    label: str
    query: dict[str, str] = field(default_factory=dict)
    preset: str | None = None


def lecture_plan() -> tuple[PlanPart, ...]:
    """90 minutes, each part a link to a prepared state."""
    return (
        PlanPart(5, "overview", _("The question: how does a word take its neighbours into account?"), {"stage": "0"}),
        PlanPart(10, "one_hot", _("From word to number: ID, one-hot, and the row that W_E gives")),
        PlanPart(10, "query_key_value", _("One vector, three layers: query, key, value")),
        PlanPart(10, "similarity", _("One score, term by term; then all of them in one product")),
        PlanPart(5, "similarity", _("Inner product against cosine"), {"view": "cosine"}),
        PlanPart(10, "softmax", _("From scores to weights: exponential, sum, division")),
        PlanPart(5, "softmax", _("A sharper softmax: temperature 0.2"), {"temperature": "0.2"}),
        PlanPart(10, "weighted_sum", _("Weights times values: every output sees the whole sentence")),
        PlanPart(5, "weighted_sum", _("Order does not matter: the same sentence, reversed"), preset="reversed_order"),
        PlanPart(5, "softmax", _("Without √dₖ: one word takes all the weight"), preset="saturation"),
        PlanPart(10, "scaling", _("Why √dₖ: measure the variance yourself")),
        PlanPart(5, "overview", _("All of it once more, in one strip")),
    )


def show_plan() -> None:
    """The plan as links with their minutes."""
    for part in lecture_plan():
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            st.badge(_("{n} min", n=part.minutes), color="gray")
            page_link(
                part.page, label=part.label, query=part.query, lesson=PRESETS[part.preset] if part.preset else None
            )
