"""What a head does, in the session's language."""

from collections.abc import Mapping, Sequence

from attn_core.head_measures import HeadMeasure, Pattern, read_measure
from attn_core.pretrained_settings import HeadPlace
from attn_core.reading import Reading
from pages.shared.text import _


def head_name(place: HeadPlace) -> str:
    """A head by its layer and its number."""
    return _("layer {layer}, head {head}", layer=place.layer, head=place.head)


def layer_and_head_names(reading: Reading) -> tuple[list[str], list[str]]:
    """Short names for the picture of all heads."""
    layers = [_("L{layer}", layer=layer) for layer in range(reading.n_layers)]
    return layers, [_("H{head}", head=head) for head in range(reading.n_heads)]


def pattern_names() -> dict[Pattern, str]:
    """The kinds of keys whose share of the weight is measured."""
    return {
        "first": _("first token"),
        "previous": _("previous token"),
        "next": _("next token"),
        "itself": _("token itself"),
        "same_word": _("same word elsewhere"),
        "separator": _("separator"),
    }


def head_in_words(measure: HeadMeasure) -> str:
    """What a head does most, with the number that says so."""
    return heads_in_words([measure])[0]


def heads_in_words(measures: Sequence[HeadMeasure]) -> list[str]:
    """The same of many heads."""
    names = pattern_names()
    return [_in_words(measure, names) for measure in measures]


def _in_words(measure: HeadMeasure, names: Mapping[Pattern, str]) -> str:
    found = read_measure(measure)
    if found.share is None:
        return _("not measured: too few tokens")
    if found.label == "broad":
        return _("attends broadly: {share} of the largest entropy", share=share(found.share))
    if found.pattern is None:
        return _("no one pattern")
    told = {"pattern": names[found.pattern], "share": share(found.share)}
    if found.label == "mixed":
        return _("no one pattern; most to the {pattern}: {share}", **told)
    return _("attends to the {pattern}: {share}", **told)


def share(value: float | None) -> str:
    """A share of the weight as a percentage."""
    return "–" if value is None else f"{value:.0%}"
