"""Training: gradients against finite differences, steps against plain loops, reproducibility, what is learned."""

import dataclasses
import functools
import math
from itertools import pairwise

import jaxtyping
import pytest
import torch
from torch.testing import assert_close

from attn_core.language import bigrams_in_place, grammar, language
from attn_core.learning import (
    BATCH,
    D_MODEL,
    N_EXAMPLES,
    LearningProgress,
    LearningSettings,
    layer_sources,
    loss_and_gradients,
    new_model,
    train,
    untrained,
)
from attn_core.limits import MAX_LEARNING_STEPS
from attn_core.tasks import N_UNSEEN, TASKS, task
from tests.attn_core.test_tasks import generator


@functools.cache
def run(**fields) -> tuple[LearningProgress, ...]:
    """Every piece of a run; kept, because several tests look at one.

    Shapes are checked for a few steps only: checking takes several times as long as computing.
    """
    settings = LearningSettings(**fields)
    jaxtyping.config.update("jaxtyping_disable", settings.learning_steps > 50)
    try:
        return tuple(train(settings))
    finally:
        jaxtyping.config.update("jaxtyping_disable", False)


# The model.


def weighted_sum(row: list[float], vectors: list[list[float]]) -> list[float]:
    return [sum(w * v[m] for w, v in zip(row, vectors, strict=True)) for m in range(len(vectors[0]))]


def dense(x: list[float], layer: torch.nn.Linear) -> list[float]:
    weight, bias = layer.weight.tolist(), layer.bias.tolist()
    return [sum(a * b for a, b in zip(x, row, strict=True)) + b for row, b in zip(weight, bias, strict=True)]


@pytest.mark.parametrize("name", ["reverse", "induction"])
def test_the_model_equals_plain_loops(name):
    """Embedding + position, each layer's output added to its input, output layer, softmax."""
    of, model = task(name), new_model(LearningSettings(task=name, model_layers=2, learning_seed=5))
    ids = of.unseen.inputs[:1]
    rows = zip(model.embedding[ids[0]].tolist(), model.position.tolist(), strict=True)
    x = [[a + b for a, b in zip(token, place, strict=True)] for token, place in rows]
    for layer in model.layers:
        q, k, v = ([dense(row, one) for row in x] for one in (layer.query_dense, layer.key_dense, layer.value_dense))
        added = []
        for i in range(len(x)):
            seen = i + 1 if of.causal else len(x)
            powers = [math.exp(sum(a * b for a, b in zip(q[i], key, strict=True)) / math.sqrt(D_MODEL)) for key in k]
            weights = [power / sum(powers[:seen]) for power in powers[:seen]]
            added.append(dense(weighted_sum(weights, v[:seen]), layer.output_dense))
        x = [[a + b for a, b in zip(row, more, strict=True)] for row, more in zip(x, added, strict=True)]
    scores = [dense(row, model.output_dense) for row in x]
    expected = [[s - math.log(sum(math.exp(t) for t in row)) for s in row] for row in scores]
    assert_close(model(ids, of.mask)[0], torch.tensor(expected, dtype=torch.float64))


def test_the_weights_of_the_model_are_those_of_its_layers():
    of, model = task("induction"), new_model(LearningSettings(task="induction", model_layers=2))
    ids = of.unseen.inputs[:3]
    found = model.weights(ids, of.mask)
    x = model.embedding[ids] + model.position
    first, second = model.layers
    assert_close(found[0], first.trace(x, of.mask).weights[:, 0])
    assert_close(found[1], second.trace(x + first(x, of.mask), of.mask).weights[:, 0])
    assert (found.triu(1) == 0).all()


def test_gradients_equal_finite_differences():
    of, model = task("recall"), new_model(LearningSettings(task="recall", model_layers=2))
    problems, step = of.unseen.take(torch.arange(2)), 1e-6
    _, gradients = loss_and_gradients(model, problems, of.mask)
    for parameter, gradient in zip(model.parameters(), gradients, strict=True):
        entries, flat = gradient.flatten(), parameter.data.view(-1)
        place = int(entries.abs().argmax())
        here = flat[place].item()
        losses = []
        for moved in (here + step, here - step):
            flat[place] = moved
            losses.append(float(loss_and_gradients(model, problems, of.mask)[0].detach()))
        flat[place] = here
        assert (losses[0] - losses[1]) / (2 * step) == pytest.approx(entries[place].item(), rel=1e-6, abs=1e-9)


def test_only_what_is_asked_for_has_a_gradient():
    """The pairs of recall answer nothing: their places' probabilities do not count."""
    of, model = task("recall"), new_model(LearningSettings(task="recall"))
    loss, _ = loss_and_gradients(model, of.unseen, of.mask)
    log_probabilities = model(of.unseen.inputs)[:, 4:]
    right = log_probabilities.gather(-1, of.unseen.answers[:, 4:, None])
    assert_close(loss, -right.mean())


def test_one_step_is_adams_first():
    """From rest Adam moves every entry by the learning rate against the sign of its gradient."""
    settings = LearningSettings(task="copy", learning_steps=1, learning_rate=0.03)
    model = new_model(settings)
    batch = task("copy").draw(BATCH, generator(1))
    loss, gradients = loss_and_gradients(model, batch, None)
    *_, last = train(settings)
    assert last.losses == (float(loss.detach()),)
    w_q, gradient = model.layers[0].query_dense.weight.detach().T, gradients[2].T
    assert_close(last.before[0].w_q, w_q)
    assert_close(last.after[0].w_q, w_q - 0.03 * gradient.sign(), atol=1e-4, rtol=0)


def test_parameters_start_small_and_from_their_own_generator():
    state = torch.get_rng_state()
    first, again, other = (new_model(LearningSettings(learning_seed=seed)) for seed in (0, 0, 1))
    assert torch.equal(torch.get_rng_state(), state)
    for name, parameter in first.named_parameters():
        assert torch.equal(parameter, again.get_parameter(name)), name
        assert not torch.equal(parameter, other.get_parameter(name)), name
        assert parameter.dtype == torch.float64
    assert 0.4 < first.embedding.std() < 0.6
    assert first.layers[0].query_dense.weight.abs().max() <= 1 / math.sqrt(D_MODEL)


# The run.


def same(one: object, other: object) -> bool:
    """Equal to the last bit, tensors within records too."""
    if isinstance(one, torch.Tensor):
        return torch.equal(one, other)
    if dataclasses.is_dataclass(one):
        return all(same(getattr(one, f.name), getattr(other, f.name)) for f in dataclasses.fields(one))
    if isinstance(one, tuple):
        return len(one) == len(other) and all(map(same, one, other))
    return one == other


def test_the_same_settings_give_the_same_run_to_the_last_bit():
    settings = LearningSettings(task="recall", learning_steps=15, learning_seed=3)
    first, again = tuple(train(settings)), tuple(train(settings))
    assert same(first, again)
    assert not same(first[-1].latest, tuple(train(dataclasses.replace(settings, learning_seed=4)))[-1].latest)


def test_a_stopped_run_is_the_shorter_run():
    long, short = run(task="reverse", learning_steps=30), run(task="reverse", learning_steps=20)
    assert long[2].step == 20
    assert same(long[2].as_asked(), short[-1])


def test_when_it_yields():
    pieces = run(task="reverse", learning_steps=23)
    assert [piece.step for piece in pieces] == [0, 10, 20, 23]
    assert [snapshot.step for snapshot in pieces[-1].snapshots] == [0, 10, 20, 23]
    assert [len(piece.losses) for piece in pieces] == [0, 10, 20, 23]
    assert all(later.losses[: earlier.step] == earlier.losses for earlier, later in pairwise(pieces))
    assert same(pieces[0], untrained(LearningSettings(task="reverse", learning_steps=23)))


def test_at_most_60_snapshots_and_50_steps_between_two():
    steps = [step for step in range(1, MAX_LEARNING_STEPS + 1) if step % (10 if step <= 200 else 50) == 0]
    default = [snapshot.step for snapshot in run(task="reverse", learning_seed=0)[-1].snapshots]
    assert default == [0, *[step for step in steps if step <= 400]]
    assert len([0, *steps]) <= 60


def test_the_sizes_of_a_result():
    last = run(task="induction", model_layers=2, learning_steps=1)[-1]
    assert last.latest.weights.shape == (2, N_EXAMPLES, 9, 9)
    assert last.latest.given.shape == last.latest.of_given.shape == last.latest.of_right.shape == (N_EXAMPLES, 9)
    assert len(last.before) == len(last.after) == len(last.latest.closeness) == 2
    assert last.before[0].w_v.shape == (D_MODEL, D_MODEL)


def test_what_is_shown_does_not_change_the_run():
    shown = LearningSettings(task="copy", shown_example=3, shown_layer=1)
    assert shown.of_run == LearningSettings(task="copy")
    assert LearningSettings.from_query({"task": "copy", "learning_rate": "9"}).of_run.ignored == ()


@pytest.mark.parametrize("rate", [0.0001, 0.3])
def test_no_rate_leaves_the_numbers(rate):
    last = run(task="recall", learning_steps=40, learning_rate=rate, model_layers=2)[-1]
    assert all(math.isfinite(loss) for loss in last.losses)
    assert torch.isfinite(last.latest.weights).all()


# Which layer is compared with what.


def test_layers_of_the_known_solution():
    one, two = task("copy").unseen, task("induction").unseen
    assert [len(layer_sources(one, n)) for n in (1, 2)] == [1, 2]
    assert torch.equal(layer_sources(one, 2)[0], layer_sources(one, 2)[1])
    assert torch.equal(layer_sources(two, 1)[0], two.sources[1])
    assert all(torch.equal(layer_sources(two, 2)[layer], two.sources[layer]) for layer in (0, 1))
    assert layer_sources(task("next_word_en").unseen, 2) == ()


@pytest.mark.parametrize("name", TASKS[:3])
def test_closeness_is_the_mean_weight_where_it_should_lie(name):
    last = run(task=name, learning_steps=10)[-1].latest
    sources = task(name).unseen.sources[0, :N_EXAMPLES].tolist()
    there = [
        last.weights[0, example, row, place].item()
        for example, places in enumerate(sources)
        for row, place in enumerate(places)
        if place >= 0
    ]
    model_free = sum(there) / len(there)  # of 12 examples: near the value over all 1000
    assert last.closeness[0] == pytest.approx(model_free, abs=0.05)


# What training achieves.


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", TASKS[:3])
def test_the_default_run_is_right_on_99_of_100_unseen_answers(name, seed):
    pieces = run(task=name, learning_seed=seed)
    before, after = pieces[0].latest, pieces[-1].latest
    assert before.accuracy < 0.3
    assert after.accuracy >= 0.99
    assert after.loss < 0.05
    assert before.closeness[0] < 0.3
    assert after.closeness[0] > 0.75


def test_induction_takes_two_layers():
    one, two = (run(task="induction", model_layers=n, learning_steps=250)[-1].latest for n in (1, 2))
    assert one.accuracy < 106 / 216 + 2 * math.sqrt(0.25 / (3 * N_UNSEEN))
    assert two.accuracy >= 0.99
    assert min(two.closeness) > 0.8


@pytest.mark.parametrize("lang", ["ja", "en"])
def test_next_words_lie_between_what_needs_no_attention_and_the_grammar(lang):
    """Below what a word and its place tell: attention has brought the rest."""
    last, known = run(task=f"next_word_{lang}", learning_steps=400, learning_seed=2)[-1].latest, language(lang)
    best, without_attention = (predictor(lang).on(known.unseen) for predictor in (grammar, bigrams_in_place))
    assert best.loss < last.loss < without_attention.loss - 0.05


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"task": "sort"}, r"^task must be copy, .*, got 'sort'$"),
        ({"learning_steps": 0}, r"^learning_steps must be 1 … 2000, got 0$"),
        ({"learning_steps": 2001}, r"^learning_steps must be 1 … 2000, got 2001$"),
        ({"learning_rate": 1.0}, r"^learning_rate must be 0\.0001 … 0\.3, got 1\.0$"),
        ({"model_layers": 3}, r"^model_layers must be 1 … 2, got 3$"),
        ({"learning_seed": -1}, r"^learning_seed must be 0 … 999999, got -1$"),
        ({"shown_example": 12}, r"^shown_example must be 0 … 11, got 12$"),
    ],
    ids=str,
)
def test_limits(fields, message):
    with pytest.raises(ValueError, match=message):
        LearningSettings(**fields)
