"""What a model does with a text or a picture: its numbers against plain loops, and what is shown of them."""

import dataclasses
import math
from pathlib import Path

import pytest
import torch
from torch.testing import assert_close

from attn_core import attend
from attn_core.explain import explain_division, explain_product, explain_weight
from attn_core.head_measures import measure_heads
from attn_core.images import Picture
from attn_core.limits import MAX_PIECES
from attn_core.model_folder import PretrainedModel, load_folder
from attn_core.models import load_bundled
from attn_core.pretrained import UnsupportedAttentionError, attention_calls
from attn_core.pretrained_settings import DEFAULT_PASSAGE, REPEATING, WIDE, HeadPlace
from attn_core.reading import EmptyTextError, Reading, read_text, reading, see_picture
from tests.attn_core.latex import assert_well_formed
from tests.attn_core.saved_models import save
from tests.attn_core.small_models import N_HEADS, N_LAYERS, small_model

TEXT = "the animal crosses the street."


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, PretrainedModel]:
    """Small models from a folder of their own each."""
    found = {}
    for kind in ("bert", "gpt2", "vit"):
        folder: Path = tmp_path_factory.mktemp(kind)
        save(folder, kind)
        found[kind] = load_folder(folder, kind)
    return found


@pytest.fixture(scope="module")
def bert(models) -> Reading:
    return read_text(models["bert"], TEXT)


@pytest.fixture(scope="module")
def gpt2(models) -> Reading:
    return read_text(models["gpt2"], "hold on")


def picture(edge: int = 8, channels: int = 3) -> Picture:
    generator = torch.Generator().manual_seed(1)
    return Picture(torch.rand(edge, edge, channels, generator=generator, dtype=torch.float64).round(decimals=2), 8, 8)


def test_a_reading_holds_what_the_model_does(models, bert):
    ids = torch.tensor([bert.pieces.ids])
    calls = attention_calls(models["bert"].model, {"input_ids": ids, "attention_mask": torch.ones_like(ids)})
    assert bert.pieces.names == ("[CLS]", "the", "animal", "cross", "##es", "the", "street", ".", "[SEP]")
    assert (bert.n_layers, bert.n_heads, bert.divisors) == (2, 4, (2.0, 2.0))
    for layer, call in enumerate(calls):
        assert_close(bert.weights[layer], call.trace.weights[0], rtol=0, atol=0)
        assert_close(bert.query[layer], call.query[0], rtol=0, atol=0)
        assert_close(bert.key[layer], call.key[0], rtol=0, atol=0)
        assert_close(bert.value[layer], call.value[0], rtol=0, atol=0)
    assert bert.visible.all()
    assert [(measure.layer, measure.head) for measure in bert.measures] == [(i, j) for i in range(2) for j in range(4)]


@pytest.mark.parametrize("kind", ["bert", "gpt2"])
def test_a_head_step_by_step_in_plain_python(kind, bert, gpt2):
    reading = {"bert": bert, "gpt2": gpt2}[kind]
    place = HeadPlace(1, 2)
    head = reading.head(place)
    q, k = reading.query[1, 2].tolist(), reading.key[1, 2].tolist()
    for row in range(len(q)):
        visible = [column for column in range(len(k)) if kind == "bert" or column <= row]
        scores = [sum(a * b for a, b in zip(q[row], k[column], strict=True)) for column in range(len(k))]
        powers = [math.exp(scores[column] / 2) if column in visible else 0.0 for column in range(len(k))]
        assert head.attention.scores[row].tolist() == pytest.approx(scores)
        assert head.attention.weights[row].tolist() == pytest.approx([power / sum(powers) for power in powers])
    assert head.attention.scores.dtype == torch.float64
    assert head.divides_by_root
    assert head.d_k == 4


def test_the_difference_is_the_largest_of_all_weights(bert):
    exact = attend(bert.query.double(), bert.key.double(), bert.value.double()).weights
    assert bert.difference == float((exact - bert.weights.double()).abs().max())
    assert 0 < bert.difference < 1e-6


def test_a_decoder_sees_no_later_token(gpt2):
    assert torch.equal(gpt2.visible, torch.ones(2, 7, 7).tril().bool())
    hidden = gpt2.head(HeadPlace(0, 0)).product().result.hidden
    assert torch.equal(hidden, torch.ones(7, 7).triu(1).bool())


def test_an_encoder_hides_nothing(bert):
    assert bert.head(HeadPlace(0, 0)).product().result.hidden is None


def test_one_weight_worked_out(bert):
    head = bert.head(HeadPlace(1, 3))
    explanation = explain_product(head.product(), 2, 5)
    q, k = bert.query[1, 3, 2].double(), bert.key[1, 3, 5].double()
    assert [term.product for term in explanation.terms] == pytest.approx((q * k).tolist())
    assert [term.label for term in explanation.terms] == ["q0", "q1", "q2", "q3"]
    assert explanation.total == pytest.approx(float(q @ k))
    division = explain_division(head.attention, 2, 5, head.divisor, r"\sqrt{4}")
    weight = explain_weight(head.softmax, 2, 5)
    for line in (*explanation.latex, *division, *weight):
        assert_well_formed(line)
    assert division[0].endswith(rf"\boldsymbol{{{float(q @ k) / 2:.4f}}}")
    assert weight[-1].endswith(rf"\boldsymbol{{{float(bert.weights[1, 3, 2, 5]):.4f}}}")


# What is shown.


def test_special_tokens_out_and_rows_summing_to_1_again(bert):
    everything = bert.shown(special=True, renormalised=True)
    assert everything.weights is bert.weights
    without = bert.shown(special=False, renormalised=False)
    assert without.places == tuple(range(1, 8))
    assert without.tokens == bert.pieces.names[1:8]
    assert torch.equal(without.weights, bert.weights[:, :, 1:8, 1:8])
    again = bert.shown(special=False, renormalised=True).weights
    assert_close(again, without.weights / without.weights.sum(dim=-1, keepdim=True))


def test_a_text_of_special_tokens_alone_keeps_them(models):
    nothing = read_text(models["bert"], "")
    assert nothing.pieces.names == ("[CLS]", "[SEP]")
    assert nothing.shown(special=False, renormalised=False).tokens == ("[CLS]", "[SEP]")


@pytest.mark.parametrize(("place", "index"), [(0, 0), (1, 0), (4, 3), (7, 6), (8, 6), (999, 6)])
def test_the_nearest_token_that_is_shown(bert, place, index):
    assert bert.shown(special=False, renormalised=False).nearest(place) == index


def test_the_matrix_of_one_head(bert):
    matrix = bert.shown(special=True, renormalised=False).matrix(HeadPlace(1, 2))
    assert (matrix.symbol, matrix.role, matrix.rows) == ("1.2", "weights", bert.pieces.names)
    assert_close(matrix.values, bert.weights[1, 2].double(), rtol=0, atol=0)


def test_what_a_decoder_hides_is_hidden_in_the_matrix_too(bert, gpt2):
    hidden = gpt2.shown(special=True, renormalised=False).matrix(HeadPlace(1, 2)).hidden
    assert torch.equal(hidden, torch.ones(7, 7).triu(1).bool())
    flags = (True, *(False,) * 5, True)
    marked = dataclasses.replace(gpt2, pieces=dataclasses.replace(gpt2.pieces, special=flags))
    fewer = marked.shown(special=False, renormalised=False).matrix(HeadPlace(1, 2))
    assert torch.equal(fewer.hidden, torch.ones(5, 5).triu(1).bool())
    assert bert.shown(special=False, renormalised=False).matrix(HeadPlace(0, 0)).hidden is None


def test_what_a_query_gives_to_all_that_is_shown(bert):
    place, row = HeadPlace(1, 2), 3
    kept = bert.weights[1, 2, row + 1, 1:8].tolist()
    without = bert.shown(special=False, renormalised=False)
    assert without.row_sum(place, row) == pytest.approx(sum(kept))
    assert bert.shown(special=True, renormalised=False).row_sum(place, row) == pytest.approx(1)
    assert bert.shown(special=False, renormalised=True).row_sum(place, row) == pytest.approx(1)


def test_a_head_that_the_model_does_not_have(bert):
    assert bert.nearest_place(HeadPlace(5, 11)) == HeadPlace(1, 3)
    assert bert.nearest_place(HeadPlace(1, 0)) == HeadPlace(1, 0)
    assert bert.measure(HeadPlace(1, 3)) is bert.measures[7]


def test_the_memory_that_a_reading_takes(bert):
    n, size = 9, 4
    assert bert.n_bytes == 2 * (4 * (3 * n * 4 + n * n) * size + n * n)


# Texts that cannot be read, and long ones.


def test_a_text_without_tokens(models):
    with pytest.raises(EmptyTextError, match=r"^the text has no token that this model reads$"):
        read_text(models["gpt2"], "")


def test_a_long_text_is_cut(models):
    long = read_text(models["bert"], "street " * 10_000)
    assert len(long.pieces.names) <= MAX_PIECES
    assert long.pieces.left_out == 10_000 + 2 - len(long.pieces.names)


# Pictures.


def test_a_picture_in_plain_numbers(models):
    seen = see_picture(models["vit"], picture())
    assert seen.pieces.names == ("[CLS]", "(0,0)", "(0,1)", "(1,0)", "(1,1)")
    assert seen.pieces.special == (True, False, False, False, False)
    patches = seen.patch_weights(3)
    assert (patches.per_edge, patches.patch, patches.name, patches.token_at(1, 0)) == (2, 2, "(1,0)", 3)
    assert [patches.patch_of(token) for token in range(6)] == [None, 0, 1, 2, 3, 3]
    assert torch.equal(patches.weights, seen.weights[:, :, 3, 1:])
    row = seen.weights[1, 2, 3].tolist()
    assert patches.elsewhere(HeadPlace(1, 2)) == pytest.approx(row[0], abs=1e-6)
    [(name, weight)] = patches.most(HeadPlace(1, 2), 1)
    assert weight == max(row[1:])
    assert seen.pieces.names[row.index(weight)] == name


def test_the_class_token_is_no_patch(models):
    patches = see_picture(models["vit"], picture()).patch_weights(0)
    assert (patches.patch, patches.name) == (None, "[CLS]")


def test_a_grey_picture_is_seen_as_one_of_three_equal_channels(models):
    grey = picture(channels=1)
    coloured = Picture(grey.pixels.expand(-1, -1, 3), 8, 8)
    assert torch.equal(see_picture(models["vit"], grey).weights, see_picture(models["vit"], coloured).weights)


def test_rollout_over_a_picture(models):
    seen = see_picture(models["vit"], picture())
    rolled = seen.rollout_weights(2)
    assert rolled.weights.shape == (2, 1, 4)
    assert_close(rolled.weights[1, 0], seen.rollout()[1, 2, 1:])


def test_a_text_has_no_patches(bert):
    with pytest.raises(ValueError, match=r"^bert has read a text, no picture$"):
        bert.patch_weights(0)


# The run.


def test_the_bundled_model_reads_two_texts():
    pieces = list(reading("all-MiniLM-L6-v2", (DEFAULT_PASSAGE, WIDE), picture(), any_name=False))
    assert [len(piece.readings) for piece in pieces[-3:]] == [0, 1, 2]
    assert all(0 <= piece.share <= 1 for piece in pieces)
    first, second = pieces[-1].readings
    assert pieces[-1].n_bytes == first.n_bytes + second.n_bytes
    assert (first.pieces.names[13], second.pieces.names[13]) == ("tired", "wide")
    assert (first.n_layers, first.n_heads, first.query.shape[-1]) == (6, 12, 32)
    assert first.difference < 2e-6
    # What the page's text says of the example.
    it, animal, street = 10, 2, 8
    shares = [
        [round(100 * float(weights.weights[head][it, key])) for key in (animal, street)]
        for head in ((3, 1), (5, 11), (4, 0))
        for weights in (first, second)
    ]
    assert shares == [[68, 5], [28, 12], [67, 2], [56, 4], [10, 8], [5, 19]]


@pytest.fixture(scope="module")
def bundled() -> PretrainedModel:
    return load_bundled()


def test_what_the_page_says_of_the_other_examples(bundled):
    found = read_text(bundled, DEFAULT_PASSAGE)
    of = {
        pattern: sorted((m.shares[pattern] for m in found.measures), reverse=True) for pattern in ("next", "separator")
    }
    assert round(found.measure(HeadPlace(0, 2)).shares["previous"], 2) == 1.0
    assert round(found.measure(HeadPlace(1, 8)).shares["next"], 2) == 0.61
    assert round(of["next"][1], 2) == 0.30
    assert round(of["separator"][0], 3) == 0.124
    assert round(found.measure(HeadPlace(4, 5)).shares["first"], 2) == 0.90
    assert max(m.shares["first"] for m in found.measures) == found.measure(HeadPlace(4, 5)).shares["first"]
    repeated = read_text(bundled, REPEATING)
    assert round(repeated.measure(HeadPlace(2, 9)).shares["same_word"], 2) == 0.48
    assert (
        max(m.shares["same_word"] for m in repeated.measures) == repeated.measure(HeadPlace(2, 9)).shares["same_word"]
    )


def test_layers_that_are_not_of_one_kind(models):
    model = dataclasses.replace(models["bert"], model=small_model("bart", vocab_size=64))
    with pytest.raises(UnsupportedAttentionError, match=r"^the layers of bert are not all of one kind$"):
        read_text(model, TEXT)


def test_calls_that_are_not_the_layers(models):
    model = dataclasses.replace(models["bert"], n_layers=3)
    with pytest.raises(UnsupportedAttentionError, match=r"^the layers of bert are not all of one kind$"):
        read_text(model, TEXT)


@pytest.mark.parametrize(
    ("kind", "changes"),
    [
        ("gpt2", {"scale_attn_by_inverse_layer_idx": True}),
        ("mistral", {"layer_types": ["full_attention", "sliding_attention", "full_attention"]}),
    ],
    ids=["divisors", "windows"],
)
def test_layers_that_differ(models, kind, changes):
    """Each layer has its own divisor and its own mask, in the steps, in the measures and in the difference."""
    model = small_model(kind, vocab_size=64, **changes)
    sizes = {"n_layers": N_LAYERS, "n_heads": N_HEADS}
    found = read_text(dataclasses.replace(models["bert"], model=model, kind="decoder", **sizes), TEXT)
    ids = torch.tensor([found.pieces.ids])
    calls = attention_calls(model, {"input_ids": ids, "attention_mask": torch.ones_like(ids)})
    for layer, call in enumerate(calls):
        head = found.head(HeadPlace(layer, 1))
        assert_close(head.attention.weights, call.trace.weights[0, 1].double(), rtol=0, atol=1e-5)
        mask = torch.ones_like(head.mask) if call.mask is None else call.mask[0, 0]
        assert torch.equal(head.mask, mask)
        assert head.divisor == call.divisor
    assert found.difference < 1e-5
    assert len({head.divisor for head in (found.head(HeadPlace(layer, 0)) for layer in range(3))}) > 1 or kind != "gpt2"
    [again] = [
        measure
        for measure in measure_heads(found.weights[1, None], found.pieces, found.visible[1])
        if measure.head == 2
    ]
    assert found.measure(HeadPlace(1, 2)).breadth == again.breadth
