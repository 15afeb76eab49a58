"""Every task's right answers, found again by plain Python from the tokens' names."""

from collections import Counter
from fractions import Fraction
from itertools import product

import pytest
import torch

from attn_core.problems import NOTHING, Problems
from attn_core.tasks import LENGTH, N_PAIRS, N_UNSEEN, TASKS, Task, best_without_matching, n_layers_needed, task

SYMBOLIC = ("copy", "reverse", "recall", "induction")
by_name = pytest.mark.parametrize("name", SYMBOLIC)


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def read(of: Task, problems: Problems) -> list[tuple[list[str], list[str | None], list[list[int | None]]]]:
    """Each sequence by names: its tokens, its answers, and each layer's sources."""
    return [
        (
            [of.tokens[i] for i in problems.inputs[row].tolist()],
            [None if i == NOTHING else of.answers[i] for i in problems.answers[row].tolist()],
            [[None if i == NOTHING else i for i in layer] for layer in problems.sources[:, row].tolist()],
        )
        for row in range(len(problems.inputs))
    ]


def solve_copy(tokens):
    (mark,) = [place for place, token in enumerate(tokens) if token.startswith("[")]
    return [tokens[mark][1:-1]] * len(tokens), [[mark] * len(tokens)]


def solve_reverse(tokens):
    return tokens[::-1], [list(range(len(tokens)))[::-1]]


def solve_recall(tokens):
    places = [tokens.index(next(p for p in tokens if p[0] == t[0] and p[1] != "?")) for t in tokens]
    asked = [place if token[1] == "?" else None for token, place in zip(tokens, places, strict=True)]
    return [None if place is None else tokens[place][1] for place in asked], [asked]


def solve_induction(tokens):
    answers, first, second = [], [], []
    for place, token in enumerate(tokens):
        earlier = tokens.index(token) if token.isalpha() else place
        asked = earlier < place
        answers.append(tokens[earlier + 1] if asked else None)
        first.append(place - 1 if token.isdigit() else None)
        second.append(earlier + 1 if asked else None)
    return answers, [first, second]


SOLVE = {"copy": solve_copy, "reverse": solve_reverse, "recall": solve_recall, "induction": solve_induction}


@by_name
def test_every_answer_and_every_source_is_the_right_one(name):
    of = task(name)
    for problems in (of.unseen, of.draw(300, generator())):
        for tokens, answers, sources in read(of, problems):
            assert (answers, sources) == SOLVE[name](tokens), tokens


@by_name
def test_the_source_holds_what_is_asked_for(name):
    of = task(name)
    for tokens, answers, sources in read(of, of.unseen):
        for answer, source in zip(answers, sources[-1], strict=True):
            assert (answer is None) == (source is None)
            assert answer is None or answer in tokens[source]


@pytest.mark.parametrize("name", TASKS)
def test_no_unseen_sequence_is_ever_drawn(name):
    of = task(name)
    unseen = {tuple(row) for row in of.unseen.inputs.tolist()}
    drawn = of.draw(20_000, generator(1)).inputs.tolist()
    assert len(drawn) > 19_000
    assert not unseen & {tuple(row) for row in drawn}


def test_without_the_exception_some_would_be_drawn():
    # Of 6·5·4 · 6³ · 6 = 155,520 sequences of induction about 1,000 are unseen ones: 129 of 20,000 are left out.
    assert 80 < 20_000 - len(task("induction").draw(20_000, generator(1)).inputs) < 180


@by_name
def test_what_is_drawn_depends_on_the_generator_alone(name):
    of, state = task(name), torch.get_rng_state()
    first, again, other = (of.draw(50, generator(seed)).inputs for seed in (3, 3, 4))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
    assert torch.equal(torch.get_rng_state(), state)


@by_name
def test_every_token_and_every_answer_occurs(name):
    of = task(name)
    drawn = of.draw(3000, generator(2))
    assert set(drawn.inputs.flatten().tolist()) == set(range(len(of.tokens)))
    assert set(drawn.answers.flatten().tolist()) - {NOTHING} == set(range(len(of.answers)))
    assert len(of.unseen.inputs) == N_UNSEEN
    assert drawn.shares.sum().item() == pytest.approx(1)


def test_marks_lie_anywhere():
    places = Counter(task("copy").draw(8000, generator()).sources[0, :, 0].tolist())
    assert set(places) == set(range(LENGTH))
    assert min(places.values()) > 800


def test_keys_differ_and_are_all_asked_for():
    of = task("recall")
    for tokens, *_ in read(of, of.unseen):
        keys = [token[0] for token in tokens]
        assert len(set(keys[: N_PAIRS["recall"]])) == N_PAIRS["recall"]
        assert sorted(keys[: N_PAIRS["recall"]]) == sorted(keys[N_PAIRS["recall"] :])


def test_masks():
    assert task("copy").mask is None
    mask = task("induction").mask
    assert [[bool(seen) for seen in row] for row in mask.tolist()] == [[j <= i for j in range(9)] for i in range(9)]


@pytest.mark.parametrize(("name", "expected"), [("induction", Fraction(106, 216)), ("recall", Fraction(2364, 5184))])
def test_who_knows_only_which_values_occur(name, expected):
    """Three values: 120 of 216 triples all differ, 90 hold a pair, 6 are equal: (120·1 + 90·2 + 6·3) / (3·216).

    Four: 360 of 1296 all differ, 720 hold a pair and 90 two, 120 three of a kind, 6 are equal.
    """
    n = N_PAIRS[name]
    best = sum(Fraction(max(Counter(values).values()), n) for values in product(range(6), repeat=n)) / 6**n
    assert best == expected
    assert best_without_matching(name) == pytest.approx(float(best))
    assert best_without_matching("copy") is None


@pytest.mark.parametrize("lang", ["ja", "en"])
def test_next_words(lang):
    of = task(f"next_word_{lang}")
    assert of.causal
    for tokens, answers, sources in read(of, of.draw(300, generator())):
        length = answers.index("[EOS]") + 1
        assert tokens[0] == "[BOS]"
        assert answers[: length - 1] == tokens[1:length]
        assert answers[length:] == [None] * (of.length - length)
        assert sources == []


def test_layers_of_the_known_solutions():
    assert {name: n_layers_needed(name) for name in TASKS} == {
        "copy": 1,
        "reverse": 1,
        "recall": 1,
        "induction": 2,
        "next_word_ja": 0,
        "next_word_en": 0,
    }


def test_unknown_task():
    with pytest.raises(ValueError, match=r"^task must be one of copy, reverse, .*, next_word_en, got 'sort'$"):
        task("sort")
