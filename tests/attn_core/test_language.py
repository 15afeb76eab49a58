"""The language as a table of sentences: its probabilities against plain loops, its entropies, its split."""

import math
from collections import defaultdict

import pytest
import torch

from attn_core.corpus import CORPUS_LANGUAGES, built_in_corpus, every_sentence
from attn_core.language import END, START, bigrams, bigrams_in_place, grammar, language

in_both = pytest.mark.parametrize("lang", CORPUS_LANGUAGES)


def everything(lang: str) -> torch.Tensor:
    return torch.arange(len(language(lang).sentences.inputs))


def losses_by_loops(lang: str, context) -> tuple[float, float]:
    """Conditional entropy and expected share of right guesses, from the sentences themselves."""
    counts = defaultdict(lambda: defaultdict(float))
    for sentence, probability in every_sentence(lang).items():
        words = (START, *sentence, END)
        for place in range(1, len(words)):
            counts[context(words[:place])][words[place]] += probability
    total = sum(sum(nexts.values()) for nexts in counts.values())
    entropy = -sum(p * math.log(p / sum(nexts.values())) for nexts in counts.values() for p in nexts.values()) / total
    return entropy, sum(max(nexts.values()) for nexts in counts.values()) / total


@in_both
def test_probabilities_of_sentences(lang):
    sentences = every_sentence(lang)
    assert sum(sentences.values()) == pytest.approx(1)
    assert set(built_in_corpus(lang).sentences) <= set(sentences)
    assert {word for sentence in sentences for word in sentence} == set(built_in_corpus(lang).words)


def test_probabilities_by_hand():
    # Two of 14 patterns are "animal が food を 食べる", with 8 animals and 7 foods.
    assert every_sentence("ja")[("猫", "が", "魚", "を", "食べる")] == pytest.approx(2 / 14 / 56)
    # "私 は person です" is a pattern of its own, with 8 persons.
    assert every_sentence("ja")[("私", "は", "学生", "です")] == pytest.approx(1 / 14 / 8)
    assert every_sentence("en")[("the", "cat", "sat", "down")] == pytest.approx(1 / 12 / 32)


@in_both
def test_the_table_spells_every_sentence(lang):
    known = language(lang)
    table, probabilities = known.sentences, every_sentence(lang)
    rows = zip(table.inputs.tolist(), table.answers.tolist(), table.shares.tolist(), strict=True)
    for (sentence, probability), (inputs, answers, share) in zip(probabilities.items(), rows, strict=True):
        n = len(sentence)
        assert [(*known.words, START)[i] for i in inputs] == [START, *sentence, *[START] * (len(inputs) - 1 - n)]
        assert [(*known.words, END)[i] for i in answers[: n + 1]] == [*sentence, END]
        assert set(answers[n + 1 :]) <= {-1}
        assert share == probability


@in_both
def test_the_split(lang):
    known = language(lang)
    rows = [*known.unseen.tolist(), *known.seen.tolist()]
    assert sorted(rows) == everything(lang).tolist()
    assert len(known.unseen) == round(len(rows) / 5)
    assert len({tuple(row) for row in known.sentences.inputs.tolist()}) == len(rows)
    assert 0.17 < known.sentences.shares[known.unseen].sum().item() < 0.2


@in_both
@pytest.mark.parametrize(
    ("predictor", "context"),
    [
        (grammar, tuple),
        (bigrams, lambda words: words[-1]),
        (bigrams_in_place, lambda words: (words[-1], len(words))),
    ],
)
def test_entropies_equal_plain_loops(lang, predictor, context):
    reached = predictor(lang).on(everything(lang))
    assert (reached.loss, reached.accuracy) == pytest.approx(losses_by_loops(lang, context))


@in_both
def test_the_grammars_loss_is_the_entropy_of_a_sentence_per_word(lang):
    """Chain rule: −ln P(sentence) is the sum of −ln P(next word), the end among them."""
    probabilities = every_sentence(lang)
    entropy = -sum(p * math.log(p) for p in probabilities.values())
    length = sum(p * (1 + len(sentence)) for sentence, p in probabilities.items())
    assert grammar(lang).on(everything(lang)).loss == pytest.approx(entropy / length)


@in_both
def test_each_sentences_words_multiply_to_its_probability(lang):
    known = language(lang)
    product = grammar(lang).of_next.prod(dim=-1)
    torch.testing.assert_close(product, known.sentences.shares)


@in_both
def test_knowing_more_is_better_and_guesses_are_likeliest(lang):
    known = language(lang)
    exact, placed, pairs = (of(lang).on(known.unseen) for of in (grammar, bigrams_in_place, bigrams))
    assert exact.loss < placed.loss < pairs.loss < math.log(len(known.words) + 1)
    assert exact.accuracy > placed.accuracy > pairs.accuracy


@in_both
def test_right_guesses_on_the_unseen_sentences_by_loops(lang):
    """What stands beside the model's own share: guesses that hit, not the chance that they do."""
    known, sentences = language(lang), list(every_sentence(lang).items())
    nexts = defaultdict(lambda: defaultdict(float))
    for sentence, probability in sentences:
        words = (*sentence, END)
        for place, word in enumerate(words):
            nexts[words[:place]][word] += probability
    hit = total = 0.0
    for sentence, probability in (sentences[row] for row in known.unseen.tolist()):
        words = (*sentence, END)
        for place, word in enumerate(words):
            likely = nexts[words[:place]]
            best = [guess for guess, chance in likely.items() if chance >= max(likely.values()) * (1 - 1e-9)]
            hit += probability * (word in best) / len(best)
            total += probability
    assert grammar(lang).on(known.unseen).accuracy == pytest.approx(hit / total)
    assert hit / total == pytest.approx({"ja": 0.533, "en": 0.536}[lang], abs=1e-3)


def test_unknown_language():
    with pytest.raises(ValueError, match=r"^language must be one of ja, en, got 'fr'$"):
        language("fr")
