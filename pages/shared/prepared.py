"""The prepared lessons as links, each with the one thing it shows."""

from attn_core.presets import PRESETS
from pages.shared.shell import page_link
from pages.shared.text import _


def show_presets() -> None:
    """One link a lesson; it opens on the page where its point is seen."""
    for name, page, sentence in _presets():
        page_link(page, label=sentence, lesson=PRESETS[name])


def _presets() -> tuple[tuple[str, str, str], ...]:
    return (
        ("journey", "softmax", _("“Your journey starts with one step”: the numbers of S. Raschka's book, chapter 3")),
        ("one_over_one_plus_e", "softmax", _("Two keys, closed form: the weights are 1/(1+e) and e/(1+e)")),
        ("identical_words", "weighted_sum", _("Identical words: both “the” get the very same output")),
        (
            "reversed_order",
            "weighted_sum",
            _("Order does not matter: the reversed sentence has the same outputs, reversed"),
        ),
        ("to_itself", "softmax", _("Each word attends to itself: queries that point along their own keys")),
        ("saturation", "softmax", _("Saturation: d_model 16 without √dₖ, and one word takes all the weight")),
        ("hidden_key", "softmax", _("Like a mask: a score far below all others hides a word")),
        (
            "no_preference",
            "weighted_sum",
            _("No preference: queries of zero make every weight 1/n, the output is the mean"),
        ),
        ("one_word", "softmax", _("One word: its only weight is 1")),
    )
