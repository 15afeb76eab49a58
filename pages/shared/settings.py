"""What a single page lets a reader change, beyond the lesson itself; part of the page's link."""

from dataclasses import dataclass

from attn_core.links import Linked, OneOf, Whole, YesNo, linked

VIEWS = ("scores", "scaled", "cosine")

LAYERS = ("q", "k", "v")


@dataclass(frozen=True)
class OverviewSettings(Linked):
    """How far the overview's strip is lit."""

    stage: int = linked(8, Whole(0, 8))


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
