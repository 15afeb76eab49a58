"""What the page of pretrained models lets a reader choose; loads no model library."""

import re
from dataclasses import dataclass

from attn_core.limits import MAX_HEADS, MAX_LAYERS, MAX_NAME, MAX_PASSAGE, MAX_PINS, MAX_PLACES
from attn_core.links import Linked, PartlyReadError, Whole, YesNo, linked
from attn_core.models import BUNDLED

DEFAULT_PASSAGE = "The animal didn't cross the street because it was too tired."
WIDE = "The animal didn't cross the street because it was too wide."
REPEATING = "The dog chased the cat and the cat chased the mouse."


@dataclass(frozen=True, order=True)
class HeadPlace:
    """A head by its layer and its number in it, both counted from 0; written 4.5."""

    layer: int
    head: int

    def __str__(self) -> str:
        return f"{self.layer}.{self.head}"


@dataclass(frozen=True)
class HeadPlaces:
    """A few heads, each once."""

    def __str__(self) -> str:
        return f"≤ {MAX_PINS} × layer.head"

    def read(self, text: str) -> tuple[HeadPlace, ...]:
        found: list[HeadPlace] = []
        unread: list[str] = []
        for part in text.split():
            match = re.fullmatch(r"([0-9]{1,2})\.([0-9]{1,2})", part)
            place = HeadPlace(*map(int, match.groups())) if match else None
            if place is None or not self.accepts((*found, place)):
                unread.append(part)
            else:
                found.append(place)
        if unread:
            raise PartlyReadError(tuple(found), tuple(unread))
        return tuple(found)

    def accepts(self, value: object) -> bool:
        if not isinstance(value, tuple) or len(value) > MAX_PINS or len(set(value)) < len(value):
            return False
        return all(isinstance(p, HeadPlace) and p.layer < MAX_LAYERS and p.head < MAX_HEADS for p in value)


@dataclass(frozen=True)
class ShortText:
    """A text of at most so many characters."""

    limit: int

    def __str__(self) -> str:
        return f"≤ {self.limit}"

    def read(self, text: str) -> str:
        return text

    def accepts(self, value: object) -> bool:
        return isinstance(value, str) and len(value) <= self.limit


@dataclass(frozen=True)
class PretrainedSettings(Linked):
    """Which model reads which text, and what is looked at in it.

    `pretrained_query` asks and `pretrained_key` answers; `pins` are heads to be seen side by side. Without
    `special_tokens` their rows and columns are out of the pictures; `renormalised` then divides each row by its sum.
    """

    model: str = linked(BUNDLED, ShortText(MAX_NAME))
    passage: str = linked(DEFAULT_PASSAGE, ShortText(MAX_PASSAGE))
    second_passage: str = linked("", ShortText(MAX_PASSAGE))
    pretrained_layer: int = linked(5, Whole(0, MAX_LAYERS - 1))
    pretrained_head: int = linked(11, Whole(0, MAX_HEADS - 1))
    pretrained_query: int = linked(10, Whole(0, MAX_PLACES - 1))
    pretrained_key: int = linked(2, Whole(0, MAX_PLACES - 1))
    pins: tuple[HeadPlace, ...] = linked((), HeadPlaces())
    special_tokens: bool = linked(True, YesNo())
    renormalised: bool = linked(False, YesNo())
    rollout_layers: int = linked(MAX_LAYERS, Whole(1, MAX_LAYERS))

    @property
    def place(self) -> HeadPlace:
        """The chosen head."""
        return HeadPlace(self.pretrained_layer, self.pretrained_head)

    def with_pin(self, place: HeadPlace) -> tuple[HeadPlace, ...]:
        """The pins with this head put in or, if it was in, taken out."""
        others = tuple(pin for pin in self.pins if pin != place)
        return others if place in self.pins else (*others, place)


def preset(
    place: HeadPlace, query: int, key: int, *, passage: str = DEFAULT_PASSAGE, second_passage: str = ""
) -> dict[str, str]:
    """A prepared state, as URL parameters: one cell of one head of the bundled model."""
    return PretrainedSettings(
        passage=passage,
        second_passage=second_passage,
        pretrained_layer=place.layer,
        pretrained_head=place.head,
        pretrained_query=query,
        pretrained_key=key,
    ).to_query()
