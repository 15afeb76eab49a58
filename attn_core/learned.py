"""A lesson's embedding layer before and after training: maps, neighbours, how well kinds separate."""

from dataclasses import dataclass

from jaxtyping import Float
from torch import Tensor

from attn_core.corpus import KINDS
from attn_core.embeddings import nearest_neighbours, neighbour_purity, start_rows
from attn_core.geometry import principal_plane
from attn_core.lesson import LessonTrace

_N_NEIGHBOURS = 5


@dataclass(frozen=True)
class LayerReport:
    """One state of the embedding layer.

    `plane` has the words along their two principal axes, `shares` each axis's share of the
    variance, `neighbours` the words nearest to the chosen token by cosine, `purity` the share of
    words whose nearest neighbour is of their kind, where enough words have one.
    """

    words: tuple[str, ...]
    plane: Float[Tensor, "word 2"]
    shares: Float[Tensor, "2"]
    neighbours: tuple[tuple[str, float], ...]
    purity: float | None


def layer_reports(trace: LessonTrace) -> tuple[LayerReport, LayerReport]:
    """The layer as the seed made it, and as the lesson uses it; equal where nothing was trained or edited."""
    start = start_rows(len(trace.vocabulary), trace.lesson.d_model, trace.lesson.seed)
    return _report(trace, start), _report(trace, trace.w_e)


def _report(trace: LessonTrace, w: Float[Tensor, "word d_model"]) -> LayerReport:
    words = trace.vocabulary.words
    plane, shares = principal_plane(w)
    kinds = [word for word in words if word in KINDS]
    return LayerReport(
        words=words,
        plane=plane,
        shares=shares,
        neighbours=nearest_neighbours(w, words, trace.tokens[trace.lesson.query], _N_NEIGHBOURS),
        purity=neighbour_purity(w, words, KINDS) if len(kinds) > len(words) // 2 else None,
    )
