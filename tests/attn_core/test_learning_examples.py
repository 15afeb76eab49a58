"""One unseen problem as it is shown, against the task's own tables."""

import dataclasses

import pytest
import torch
from torch.testing import assert_close

from attn_core.language import grammar, language
from attn_core.learning import (
    D_MODEL,
    N_EXAMPLES,
    LayerWeights,
    LearningProgress,
    LearningSettings,
    new_model,
    train,
    untrained,
)
from attn_core.learning_examples import (
    answers,
    example_shown,
    example_texts,
    ideal_matrix,
    layer_matrices,
    layer_shown,
    learned_weights,
    snapshot_shown,
)
from attn_core.tasks import TASKS, task


def settings(**fields) -> LearningSettings:
    return LearningSettings(**({"learning_steps": 20} | fields))


def test_all_rows_where_every_place_asks():
    example = example_shown(settings(task="reverse", shown_example=2))
    ids = task("reverse").unseen.inputs[2].tolist()
    assert example.tokens == tuple("abcdef"[index] for index in ids)
    assert example.rows == tuple(range(8))
    assert example.sources == (7, 6, 5, 4, 3, 2, 1, 0)
    assert example.marked == tuple((row, 7 - row) for row in range(8))


def test_only_the_rows_that_matter_in_the_layer():
    recall = example_shown(settings(task="recall"))
    assert recall.rows == (4, 5, 6, 7)
    assert sorted(recall.sources) == [0, 1, 2, 3]
    first, second = (example_shown(settings(task="induction", model_layers=2, shown_layer=n)) for n in (0, 1))
    assert (first.rows, first.sources) == ((1, 3, 5), (0, 2, 4))
    assert second.rows == (6, 7, 8)
    assert sorted(second.sources) == [1, 3, 5]


@pytest.mark.parametrize("lang", ["ja", "en"])
def test_sentences_end_at_their_last_word(lang):
    known = language(lang)
    for place in range(N_EXAMPLES):
        example = example_shown(settings(task=f"next_word_{lang}", shown_example=place))
        wanted = known.sentences.answers[known.unseen[place]].tolist()
        words = [known.words[index] for index in wanted if 0 <= index < len(known.words)]
        assert example.tokens == ("[BOS]", *words)
        assert example.rows == tuple(range(len(words) + 1))
        assert example.sources == example.marked == ()


def test_texts_of_the_examples():
    texts = example_texts(settings(task="copy"), N_EXAMPLES)
    assert len(texts) == N_EXAMPLES
    assert texts[3].split() == list(example_shown(settings(task="copy", shown_example=3)).tokens)


@pytest.mark.parametrize("name", TASKS)
def test_weights_of_the_rows_at_every_snapshot(name):
    chosen = settings(task=name, model_layers=2, shown_layer=1, shown_example=1)
    *_, progress = train(dataclasses.replace(chosen, learning_steps=10))
    example, found = example_shown(chosen), learned_weights(chosen, progress)
    assert len(found) == len(progress.snapshots) == 2
    for matrix, snapshot in zip(found, progress.snapshots, strict=True):
        rows, n = list(example.rows), len(example.tokens)
        assert torch.equal(matrix.values, snapshot.weights[1, 1][rows, :n])
        assert_close(matrix.values.sum(-1), torch.ones(len(rows), dtype=torch.float64))
        assert matrix.columns == example.tokens
        assert matrix.rows == tuple(example.tokens[row] for row in rows)
        if task(name).causal:
            assert torch.equal(matrix.hidden, torch.tensor([[j > i for j in range(n)] for i in rows]))
        else:
            assert matrix.hidden is None


def test_ideal_weights():
    assert ideal_matrix(settings(task="reverse")).values.tolist() == torch.eye(8).flip(-1).tolist()
    example, ideal = example_shown(settings(task="recall")), ideal_matrix(settings(task="recall"))
    assert ideal.values.tolist() == [[float(j == source) for j in range(8)] for source in example.sources]
    assert ideal_matrix(settings(task="next_word_en")) is None


def test_answers_are_those_of_the_snapshot():
    chosen = settings(task="recall", shown_example=4)
    snapshot, of = untrained(chosen.of_run).latest, task("recall")
    probabilities = new_model(chosen)(of.unseen.inputs[4:5])[0].exp()
    found = answers(chosen, snapshot)
    assert [answer.place for answer in found] == [4, 5, 6, 7]
    for answer in found:
        row = probabilities[answer.place].tolist()
        assert answer.given == "123456"[row.index(max(row))]
        assert answer.probability == pytest.approx(max(row))
        assert answer.of_right == pytest.approx(row["123456".index(answer.right)])
        assert answer.known is None
        pair = next(t for t in example_shown(chosen).tokens if t[0] == answer.token[0] and t[1] != "?")
        assert answer.right == pair[1]


def test_next_words_stand_beside_the_grammar():
    chosen = settings(task="next_word_en", shown_example=2)
    found = answers(chosen, untrained(chosen.of_run).latest)
    exact = grammar("en").of_next[language("en").unseen[2]]
    assert [answer.known for answer in found] == exact[: len(found)].tolist()
    assert [answer.right for answer in found] == [*example_shown(chosen).tokens[1:], "[EOS]"]


def test_a_layer_that_is_not_there_gives_way_to_the_last():
    assert layer_shown(settings(model_layers=1, shown_layer=1)) == 0
    assert layer_shown(settings(model_layers=2, shown_layer=1)) == 1


@pytest.mark.parametrize(("shown", "step"), [(0, 0), (9, 0), (10, 10), (14, 10), (20, 20), (2000, 20)])
def test_the_last_snapshot_up_to_the_step_that_is_shown(shown, step):
    *_, progress = train(settings(task="copy"))
    assert isinstance(progress, LearningProgress)
    assert snapshot_shown(settings(task="copy", shown_step=shown), progress).step == step


def test_matrices_by_their_names():
    entries = [torch.full((D_MODEL, D_MODEL), n / 3, dtype=torch.float64) for n in (1, 2, 4)]
    found = layer_matrices(LayerWeights(*entries))
    assert [(m.symbol, m.role, float(m.values[0, 0])) for m in found] == [
        ("W_Q", "query", 0.33),
        ("W_K", "key", 0.67),
        ("W_V", "value", 1.33),
    ]
    assert found[0].rows == found[0].columns == tuple("01234567")
