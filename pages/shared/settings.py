"""What a single page lets a reader change, beyond the lesson itself; part of the page's link."""

from dataclasses import dataclass

from attn_core.fills import NUMBER_TYPES
from attn_core.links import Linked, OneOf, YesNo, linked
from attn_core.stages import THREAD_STEPS, VIEWS

LAYERS = ("q", "k", "v")
PARTS = ("masks", "positions", "order")


@dataclass(frozen=True)
class OverviewSettings(Linked):
    """Up to which step the overview's strip is lit; a lesson without the step shows the one before."""

    stage: str = linked(THREAD_STEPS[-1], OneOf(THREAD_STEPS))


@dataclass(frozen=True)
class SimilaritySettings(Linked):
    """Which figure of a pair the similarity page shows."""

    view: str = linked("scores", OneOf(VIEWS))


@dataclass(frozen=True)
class LayerSettings(Linked):
    """Which of the three layers the query, key and value page works out."""

    layer: str = linked("q", OneOf(LAYERS))


@dataclass(frozen=True)
class LectureSettings(Linked):
    """How the pages are shown in a lecture: controls out of sight, large type; presenter notes or none."""

    lecture: bool = linked(False, YesNo())
    notes: bool = linked(False, YesNo())


@dataclass(frozen=True)
class MaskSettings(Linked):
    """What the page on masks and positions shows, and the number type in which it hides keys."""

    part: str = linked("masks", OneOf(PARTS))
    number_type: str = linked("float32", OneOf(NUMBER_TYPES))
