"""Skip-gram training: by hand, against plain loops, against torch's own, and what it achieves."""

import dataclasses
import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.testing import assert_close

from attn_core import embeddings
from attn_core.corpus import CORPUS_LANGUAGES, KINDS, built_in_corpus, own_corpus
from attn_core.embeddings import (
    DECAY,
    DEFAULT_STEPS,
    LEARNING_RATE,
    EmbeddingProgress,
    LayerTraining,
    is_kept,
    keep_layer,
    nearest_neighbours,
    neighbour_purity,
    skip_gram,
    start_rows,
    train_embeddings,
    train_layer,
    trained_layer,
)
from attn_core.lesson import Lesson, run_lesson
from attn_core.limits import MAX_EMBEDDING_STEPS
from attn_core.tokens import UNKNOWN, tokenize

TEXT = "the cat saw a dog. a dog saw the bird. the bird ate."
COUNTS = own_corpus(TEXT).counts()


def number(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def last_of(counts: torch.Tensor, **settings: int) -> EmbeddingProgress:
    *_, last = train_embeddings(counts, **settings)
    return last


# Loss and gradients.


def test_two_words_by_hand():
    # Scores of row 0 are ln 3 and 0, so softmax gives 3/4 and 1/4; those of row 1 are 0 and 0: 1/2 and 1/2.
    counts = torch.tensor([[0.0, 2.0], [2.0, 0.0]], dtype=torch.float64)
    w = torch.tensor([[math.log(3)], [0.0]], dtype=torch.float64)
    w_out = torch.tensor([[1.0, 0.0]], dtype=torch.float64)
    loss, gradients = skip_gram(counts, w, w_out, torch.zeros(2, dtype=torch.float64))
    assert loss.item() == pytest.approx((math.log(4) + math.log(2)) / 2)
    # (softmax − what occurred) / 2: rows [3/8, −3/8] and [−1/4, 1/4].
    assert_close(gradients.w, torch.tensor([[3 / 8], [-1 / 4]], dtype=torch.float64))
    assert_close(gradients.w_out, torch.tensor([[3 / 8, -3 / 8]], dtype=torch.float64) * math.log(3))
    assert_close(gradients.b_out, torch.tensor([1 / 8, -1 / 8], dtype=torch.float64))


def test_loss_equals_plain_loops_over_one_hot_vectors():
    n, size = len(COUNTS), 3
    w, w_out, b_out = number(n, size), number(size, n, seed=1), number(n, seed=2)
    total, n_pairs = 0.0, 0.0
    for word in range(n):
        one_hot = [float(i == word) for i in range(n)]
        row = [sum(one_hot[i] * w[i, j].item() for i in range(n)) for j in range(size)]
        scores = [sum(row[j] * w_out[j, c].item() for j in range(size)) + b_out[c].item() for c in range(n)]
        normaliser = sum(math.exp(score) for score in scores)
        for context in range(n):
            total -= COUNTS[word, context].item() * math.log(math.exp(scores[context]) / normaliser)
            n_pairs += COUNTS[word, context].item()
    assert skip_gram(COUNTS, w, w_out, b_out)[0].item() == pytest.approx(total / n_pairs, rel=1e-12)


def test_loss_equals_torch_s_cross_entropy():
    n = len(COUNTS)
    layers = number(n, 3), number(3, n, seed=1), number(n, seed=2)
    words, contexts = COUNTS.nonzero(as_tuple=True)
    repeats = COUNTS[words, contexts].to(torch.int64)
    words, contexts = words.repeat_interleave(repeats), contexts.repeat_interleave(repeats)
    theirs = torch.nn.functional.cross_entropy((layers[0] @ layers[1] + layers[2])[words], contexts)
    assert_close(skip_gram(COUNTS, *layers)[0], theirs)


@given(st.integers(0, 99), st.integers(2, 6), st.integers(1, 4))
def test_gradients_equal_autograd_s(seed, n, size):
    counts = number(n, n, seed=seed).abs()
    layers = [part.requires_grad_() for part in (number(n, size, seed=1), number(size, n, seed=2), number(n, seed=3))]
    loss, gradients = skip_gram(counts, *layers)
    theirs = torch.autograd.grad(loss, layers)
    for name, expected in zip(("w", "w_out", "b_out"), theirs, strict=True):
        assert_close(getattr(gradients, name).detach(), expected, msg=name)


def test_gradcheck():
    layers = [part.requires_grad_() for part in (number(5, 3), number(3, 5, seed=1), number(5, seed=2))]
    counts = number(5, 5, seed=3).abs()
    assert torch.autograd.gradcheck(lambda *parts: skip_gram(counts, *parts)[0], layers)


def test_neither_counts_nor_layers_are_changed():
    before = COUNTS.clone()
    layers = number(len(COUNTS), 3), number(3, len(COUNTS), seed=1), number(len(COUNTS), seed=2)
    copies = [layer.clone() for layer in layers]
    skip_gram(COUNTS, *layers)
    list(train_embeddings(COUNTS, d_model=3, seed=0, steps=3))
    assert torch.equal(COUNTS, before)
    assert all(torch.equal(a, b) for a, b in zip(layers, copies, strict=True))


# Training.


def test_the_first_loss_is_ln_k():
    first = next(train_embeddings(COUNTS, d_model=4, seed=5, steps=10))
    assert (first.step, first.steps) == (0, 10)
    assert first.loss == pytest.approx(math.log(len(COUNTS)), rel=1e-14)
    assert torch.equal(first.w, start_rows(1 + len(COUNTS), 4, 5)[1:])


def test_training_equals_autograd_with_adam_written_in_plain_loops():
    n, size, steps = len(COUNTS), 2, 4
    layers = [start_rows(1 + n, size, 3)[1:], torch.zeros(size, n).double(), torch.zeros(n).double()]
    mean, square = [[torch.zeros_like(layer) for layer in layers] for _ in range(2)]
    for step in range(1, steps + 1):
        layers = [layer.detach().requires_grad_() for layer in layers]
        loss = skip_gram(COUNTS, *layers)[0]
        for i, gradient in enumerate(torch.autograd.grad(loss, layers)):
            mean[i] = 0.9 * mean[i] + 0.1 * gradient
            square[i] = 0.999 * square[i] + 0.001 * gradient**2
            update = mean[i] / (1 - 0.9**step) / ((square[i] / (1 - 0.999**step)).sqrt() + 1e-8)
            kept = layers[i].detach() * (1 - LEARNING_RATE * (DECAY if i < 2 else 0))
            layers[i] = kept - LEARNING_RATE * update
    assert_close(last_of(COUNTS, d_model=size, seed=3, steps=steps).w, layers[0])


def test_a_record_for_each_step():
    records = list(train_embeddings(COUNTS, d_model=3, seed=0, steps=25))
    assert [record.step for record in records] == list(range(26))
    assert {record.steps for record in records} == {25}
    assert records[-1].loss < records[10].loss < records[0].loss
    assert len({record.w.data_ptr() for record in records}) == 26  # no record is written over later
    with pytest.raises(dataclasses.FrozenInstanceError):
        records[0].step = 1


@pytest.mark.parametrize("stop", [0, 1, 7, 30])
def test_stopping_equals_a_run_of_that_many_steps(stop):
    longer = {record.step: record for record in train_embeddings(COUNTS, d_model=3, seed=1, steps=30)}
    shorter = last_of(COUNTS, d_model=3, seed=1, steps=stop)
    assert torch.equal(longer[stop].w, shorter.w)
    assert longer[stop].loss == shorter.loss


def test_the_loss_is_that_of_the_record_s_own_embeddings():
    # The output layer's first step is known: from 0 by the rate against the gradient's sign, in every entry.
    first, second = train_embeddings(COUNTS, d_model=3, seed=0, steps=1)
    zeros = torch.zeros(3, len(COUNTS), dtype=torch.float64), torch.zeros(len(COUNTS), dtype=torch.float64)
    gradients = skip_gram(COUNTS, first.w, *zeros)[1]
    layers = (-LEARNING_RATE * g / (g.abs() + 1e-8) for g in (gradients.w_out, gradients.b_out))
    assert second.loss == pytest.approx(skip_gram(COUNTS, second.w, *layers)[0].item(), rel=1e-12)


def test_training_leaves_the_number_of_threads_alone():
    before = torch.get_num_threads()
    for _ in train_embeddings(COUNTS, d_model=3, seed=0, steps=2):
        assert torch.get_num_threads() == before
    assert torch.get_num_threads() == before


def test_a_word_without_pairs_keeps_its_row():
    counts = torch.zeros(4, 4, dtype=torch.float64)
    counts[:3, :3] = 1 - torch.eye(3)
    first, *_, last = train_embeddings(counts, d_model=3, seed=0, steps=20)
    assert torch.equal(first.w[3], last.w[3])
    assert not torch.isclose(first.w[:3], last.w[:3]).any()


def test_the_loss_never_falls_below_the_entropy_of_the_pairs():
    counts = built_in_corpus("ja").counts()
    shares = counts / counts.sum(dim=-1, keepdim=True)
    floor = -(counts * shares.clamp(min=1e-300).log()).sum().item() / counts.sum().item()
    assert floor < last_of(counts, d_model=16, seed=0, steps=100).loss < floor + 0.1


@pytest.mark.parametrize("steps", [-1, MAX_EMBEDDING_STEPS + 1])
def test_steps_out_of_range(steps):
    with pytest.raises(ValueError, match=rf"^steps must be 0 … {MAX_EMBEDDING_STEPS}, got {steps}$"):
        next(train_embeddings(COUNTS, d_model=2, seed=0, steps=steps))


def test_d_model_out_of_range():
    with pytest.raises(ValueError, match=r"^d_model must be at least 1, got 0$"):
        next(train_embeddings(COUNTS, d_model=0, seed=0, steps=1))


def test_no_pair():
    with pytest.raises(ValueError, match=r"^counts must hold at least one pair, got 3 words without any$"):
        next(train_embeddings(torch.zeros(3, 3, dtype=torch.float64), d_model=2, seed=0, steps=1))


# A lesson's layer.


def layer_of(text: str = "猫が魚を食べる", **changes: str | int):
    return trained_layer(tokenize(text), training_of(**changes))


def training_of(**changes: str | int) -> LayerTraining:
    return LayerTraining(**({"corpus": "", "language": "ja", "d_model": 4, "seed": 0, "steps": 20} | changes))


def test_the_vocabulary_is_unknown_then_the_corpus_then_the_text():
    vocabulary, w_e = layer_of("猫がcatを見る猫")
    corpus = built_in_corpus("ja").words
    assert vocabulary.words == (UNKNOWN, *corpus, "cat", "見る")
    assert w_e.shape == (len(corpus) + 3, 4)
    assert w_e.dtype == torch.float64


def test_rows_are_the_trained_ones_rounded_and_the_random_start_elsewhere():
    vocabulary, w_e = layer_of("猫がcatを見る", seed=7)
    trained = last_of(built_in_corpus("ja").counts(), d_model=4, seed=7, steps=20).w
    start = start_rows(len(vocabulary), 4, 7)
    assert torch.equal(w_e[1:-2], trained.round(decimals=2))
    assert torch.equal(w_e[0], start[0])
    assert torch.equal(w_e[-2:], start[-2:])
    assert not torch.signbit(w_e[w_e == 0]).any()


def test_no_step_leaves_the_start_of_an_untrained_lesson():
    trace = run_lesson(Lesson(seed=5))
    _, w_e = layer_of(seed=5, steps=0)
    assert torch.equal(w_e[: len(trace.w_e)], trace.w_e)


def test_a_text_without_new_words():
    vocabulary, _ = layer_of("猫")
    assert vocabulary.words == (UNKNOWN, *built_in_corpus("ja").words)


def test_an_own_corpus():
    vocabulary, w_e = layer_of("the cat barked", corpus=TEXT, d_model=3)
    words = own_corpus(TEXT).words
    assert vocabulary.words == (UNKNOWN, *words, "barked")
    assert torch.equal(w_e[1:-1], last_of(COUNTS, d_model=3, seed=0, steps=20).w.round(decimals=2) + 0.0)


def test_the_text_changes_no_trained_row():
    _, first = layer_of("猫")
    _, second = layer_of("新しい文")
    assert torch.equal(second[: len(first)], first)


def test_the_same_arguments_give_the_same_numbers():
    _, first = layer_of(seed=3)
    embeddings._kept.clear()
    threads = torch.get_num_threads()
    try:
        torch.set_num_threads(1 if threads > 1 else 2)
        with torch.inference_mode():
            _, second = layer_of(seed=3)
    finally:
        torch.set_num_threads(threads)
    assert torch.equal(first, second)


def test_who_changes_a_layer_changes_only_a_copy():
    _, first = layer_of()
    first.zero_()
    assert layer_of()[1].count_nonzero() > 0


def test_other_arguments_give_other_numbers():
    layers = [layer_of(**changes)[1][:45] for changes in ({}, {"seed": 1}, {"steps": 21}, {"language": "en"})]
    assert not any(torch.equal(a, b) for i, a in enumerate(layers) for b in layers[:i])


def test_a_kept_layer_is_not_trained_again(monkeypatch):
    embeddings._kept.clear()
    assert not is_kept(training_of())
    _, first = layer_of()
    assert is_kept(training_of())
    monkeypatch.setattr(embeddings, "train_embeddings", None)
    assert torch.equal(layer_of()[1], first)


@pytest.mark.parametrize("stop", [0, 1, 7])
def test_where_a_training_is_stopped_is_the_layer_of_that_many_steps(stop):
    embeddings._kept.clear()
    _, expected = layer_of(steps=stop)
    embeddings._kept.clear()
    reached = next(found for found in train_layer(training_of(steps=30)) if found.step == stop)
    keep_layer(training_of(steps=30), reached)
    assert is_kept(training_of(steps=stop))
    assert not is_kept(training_of(steps=30))
    assert torch.equal(layer_of(steps=stop)[1], expected)


def test_training_a_layer_is_training_on_its_corpus():
    *_, last = train_layer(training_of(corpus=TEXT, d_model=3, seed=1))
    assert torch.equal(last.w, last_of(COUNTS, d_model=3, seed=1, steps=20).w)


def test_the_layers_asked_for_last_are_kept(monkeypatch):
    monkeypatch.setattr(embeddings, "_MOST_KEPT", 2)
    embeddings._kept.clear()
    for seed in (1, 2, 1, 3):
        layer_of(steps=0, seed=seed)
    assert [seed for seed in (1, 2, 3) if is_kept(training_of(steps=0, seed=seed))] == [1, 3]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"language": "fr"}, r"^language must be one of ja, en, got 'fr'$"),
        ({"corpus": "cat. dog."}, r"^a sentence of the corpus must hold at least 2 different words, got at most 1$"),
        ({"corpus": "a b", "d_model": 8}, r"^corpus and text together must hold at least 8 different words, got 7$"),
        ({"steps": -1}, rf"^steps must be 0 … {MAX_EMBEDDING_STEPS}, got -1$"),
        ({"d_model": 0}, r"^d_model must be at least 1, got 0$"),
    ],
    ids=str,
)
def test_what_a_layer_refuses(changes, message):
    with pytest.raises(ValueError, match=message):
        layer_of(**changes)


def test_the_smallest_vocabulary_that_is_larger_than_d_model():
    vocabulary, w_e = layer_of("猫が魚を食べる", corpus="a b", d_model=7)
    assert w_e.shape == (len(vocabulary), 7) == (8, 7)


# What training achieves.

LOWEST_PURITY = {2: 0.6, 4: 0.9, 8: 0.9}


@pytest.mark.parametrize("language", CORPUS_LANGUAGES)
@pytest.mark.parametrize("d_model", LOWEST_PURITY)
@pytest.mark.parametrize("seed", range(5))
def test_words_of_a_kind_move_together(language, d_model, seed):
    words = built_in_corpus(language).words
    purities = [
        neighbour_purity(w_e[1:], words, KINDS)
        for steps in (0, DEFAULT_STEPS)
        for _, w_e in [layer_of("", language=language, d_model=d_model, seed=seed, steps=steps)]
    ]
    assert purities[0] < 0.4
    assert purities[1] > LOWEST_PURITY[d_model]


@pytest.mark.parametrize("steps", [DEFAULT_STEPS, 2 * DEFAULT_STEPS])
@pytest.mark.parametrize("language", CORPUS_LANGUAGES)
def test_trained_entries_have_roughly_unit_size(language, steps):
    _, w_e = layer_of("", language=language, steps=steps)
    assert 0.7 < w_e.square().mean().sqrt() < 2


def test_entries_stay_readable_on_a_tiny_corpus():
    _, w_e = layer_of("", corpus="a b. c d. e f", language="en", steps=500)
    assert w_e.abs().max() < 6


# Neighbours.

SQUARE = torch.tensor([[1.0, 0.0], [0.0, 2.0], [3.0, 1.0], [-1.0, 5.0], [2.9, 1.0]], dtype=torch.float64)
NAMES = ("a", "b", "c", "d", "the")


def test_purity_by_hand():
    # By angle a and c are nearest, and b and d; "the" lies beside c but has no kind.
    assert neighbour_purity(SQUARE, NAMES, {"a": "x", "c": "x", "b": "y", "d": "y"}) == 1
    assert neighbour_purity(SQUARE, NAMES, {"a": "x", "c": "y", "b": "y", "d": "y"}) == 0.5
    assert neighbour_purity(SQUARE, NAMES, {"a": "x", "c": "y", "b": "x", "d": "y"}) == 0


def test_neighbours_by_hand():
    (first, first_cosine), (second, second_cosine) = nearest_neighbours(SQUARE, NAMES, "a", 2)
    assert (first, second) == ("c", "the")
    assert first_cosine == pytest.approx(3 / math.sqrt(10))
    assert second_cosine == pytest.approx(2.9 / math.sqrt(2.9**2 + 1))
    assert [name for name, _ in nearest_neighbours(SQUARE, NAMES, "b", 99)] == ["d", "the", "c", "a"]


@given(st.integers(0, 999), st.floats(0.01, 100))
def test_neighbours_do_not_depend_on_lengths(seed, factor):
    w = number(6, 3, seed=seed)
    stretched = w * torch.linspace(1, factor, 6, dtype=torch.float64)[:, None]
    names = tuple("abcdef")
    expected, found = (nearest_neighbours(rows, names, "c", 5) for rows in (w, stretched))
    assert [name for name, _ in found] == [name for name, _ in expected]
    assert [cosine for _, cosine in found] == pytest.approx([cosine for _, cosine in expected])


def test_bad_input_to_the_neighbours():
    with pytest.raises(ValueError, match=r"^w must have one row per word, got 5 rows and 2 words$"):
        neighbour_purity(SQUARE, ("a", "b"), {"a": "x", "b": "x"})
    with pytest.raises(ValueError, match=r"^w must have one row per word, got 5 rows and 1 words$"):
        nearest_neighbours(SQUARE, ("a",), "a", 1)
    with pytest.raises(ValueError, match=r"^at least 2 of the words must have a kind, got 1$"):
        neighbour_purity(SQUARE, NAMES, {"a": "x", "zebra": "x"})
    with pytest.raises(ValueError, match=r"^word must be one of the 5 words, got 'zebra'$"):
        nearest_neighbours(SQUARE, NAMES, "zebra", 1)
    with pytest.raises(ValueError, match=r"^n must be at least 1, got 0$"):
        nearest_neighbours(SQUARE, NAMES, "a", 0)
