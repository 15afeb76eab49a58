"""The lecture plan: prepared states of the pages, in teaching order."""

from dataclasses import dataclass, field

from attn_core.presets import PRESETS
from pages.shared.shell import page_link
from pages.shared.text import _

# The page that works out each step of the overview's strip.
STEP_PAGES = {
    "one_hot": "one_hot",
    "x": "one_hot",
    "inputs": "masks_positions",
    "second": "multi_head",
    "q": "query_key_value",
    "k": "query_key_value",
    "v": "query_key_value",
    "scores": "similarity",
    "scaled": "similarity",
    "masked": "masks_positions",
    "weights": "softmax",
    "output": "weighted_sum",
    "joined": "multi_head",
    "y": "multi_head",
}


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
        PlanPart(
            5, "overview", _("The question: how does a word take its neighbours into account?"), {"stage": "one_hot"}
        ),
        PlanPart(10, "one_hot", _("From word to number: ID, one-hot, and the row that W_E gives")),
        PlanPart(5, "query_key_value", _("One vector, three layers: query, key, value")),
        PlanPart(10, "similarity", _("One score, term by term; then all of them in one product")),
        PlanPart(10, "softmax", _("From scores to weights: exponential, sum, division")),
        PlanPart(5, "weighted_sum", _("Weights times values: every output sees the whole sentence")),
        PlanPart(5, "softmax", _("Without √dₖ: one word takes all the weight"), preset="saturation"),
        PlanPart(10, "scaling", _("Why √dₖ: measure the variance yourself")),
        PlanPart(5, "masks_positions", _("Words that are not yet written: the causal mask"), preset="causal"),
        PlanPart(5, "masks_positions", _("Order does not matter, until positions are added"), {"part": "order"}),
        PlanPart(5, "multi_head", _("Two heads: two ways to look at one sentence"), preset="two_heads"),
        PlanPart(5, "image_patches", _("A picture is a sentence of patches")),
        PlanPart(5, "training", _("Where the weights come from: a task is learned before your eyes")),
        PlanPart(5, "pretrained", _("The same computation inside a real model")),
    )


def show_plan() -> None:
    """The plan as links with their minutes."""
    for part in lecture_plan():
        minutes = _("{n} min", n=part.minutes)
        label = f":gray-badge[{minutes}] {part.label}"
        page_link(part.page, label=label, query=part.query, lesson=PRESETS[part.preset] if part.preset else None)
