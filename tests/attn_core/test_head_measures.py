"""What heads attend to: measures in closed form, against plain loops, and for every kind of text and mask."""

import dataclasses
import inspect
import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.testing import assert_close

from attn_core.head_measures import (
    PATTERNS,
    HeadMeasure,
    HeadReading,
    measure_heads,
    pattern_keys,
    read_measure,
    renormalised,
    rollout,
    strongest,
    without_special,
)
from attn_core.pieces import Pieces

# As they are at run time: the suite's type checker would refuse wrong shapes before the functions see them.
bare_measure_heads, bare_rollout = inspect.unwrap(measure_heads), inspect.unwrap(rollout)


def pieces_of(text: str) -> Pieces:
    """Pieces named by the words of a text; those in square brackets are special tokens."""
    names = tuple(text.split())
    special = tuple(name.startswith("[") for name in names)
    return Pieces(
        ids=tuple(range(len(names))),
        names=names,
        special=special,
        words=tuple(None if flag else place for place, flag in enumerate(special)),
        left_out=0,
    )


def patches(n: int) -> Pieces:
    """A class token and n patches of a picture."""
    names = ("[CLS]", *(f"r0c{place}" for place in range(n)))
    return Pieces(tuple(range(1 + n)), names, (True, *(False,) * n), (None,) * (1 + n), 0)


BERT = pieces_of("[CLS] the cat saw the dog [SEP]")
GPT = pieces_of("The ·cat ·saw ·the ·dog ·.")


def causal(n: int) -> Tensor:
    return torch.ones(n, n, dtype=torch.bool).tril()


def uniform(seen: Tensor) -> Tensor:
    return seen.double() / seen.sum(dim=-1, keepdim=True)


def head(*rows: list[float]) -> Tensor:
    """The weights of a model with one head."""
    return torch.tensor([[rows]], dtype=torch.float64)


def drawn(n_layers: int, n_heads: int, seen: Tensor, seed: int, spread: float = 2.0) -> Tensor:
    """Random weights of a model, none on hidden keys; rows that see nothing are zeros."""
    shape = (n_layers, n_heads, *seen.shape)
    scores = spread * torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return torch.softmax(scores.masked_fill(~seen, -math.inf), dim=-1).nan_to_num()


def only(weights: Tensor, pieces: Pieces, visible: Tensor | None = None) -> HeadMeasure:
    (measure,) = measure_heads(weights, pieces, visible)
    return measure


# Closed forms.


def test_a_pure_previous_token_head():
    weights = torch.eye(7, dtype=torch.float64).roll(-1, dims=1)  # the first piece looks at the last
    measure = only(weights[None, None], BERT)
    assert (measure.layer, measure.head) == (0, 0)
    assert (measure.entropy, measure.breadth, measure.distance) == (0, 0, 1)
    assert measure.shares == {
        "first": 1 / 5,  # the piece after it
        "previous": 1,
        "next": 0,
        "itself": 0,
        "same_word": 0,
        "separator": 0,
    }
    assert read_measure(measure) == HeadReading("previous", "previous", 1.0)
    assert (measure.label, measure.share) == ("previous", 1.0)


def test_a_pure_next_token_head():
    measure = only(torch.eye(7, dtype=torch.float64).roll(1, dims=1)[None, None], BERT)
    assert measure.shares["next"] == 1
    assert measure.shares["separator"] == 1 / 5
    assert measure.label == "next"


@pytest.mark.parametrize(("key", "pattern", "distance"), [(0, "first", 3), (6, "separator", 3)])
def test_a_sink(key: int, pattern: str, distance: float):
    weights = torch.zeros(7, 7, dtype=torch.float64)
    weights[:, key] = 1
    measure = only(weights[None, None], BERT)
    assert measure.shares[pattern] == 1
    assert (measure.distance, measure.label, measure.entropy) == (distance, pattern, 0)


def test_a_head_that_looks_at_itself():
    measure = only(torch.eye(7, dtype=torch.float64)[None, None], BERT)
    assert (measure.shares["itself"], measure.distance, measure.label) == (1, 0, "itself")


def test_a_same_word_head():
    """Both "the" look at each other; no other piece has such a key, and none counts."""
    weights = uniform(torch.ones(7, 7, dtype=torch.bool))
    weights[1], weights[4] = torch.eye(7, dtype=torch.float64)[[4, 1]]
    measure = only(weights[None, None], BERT)
    assert measure.shares["same_word"] == 1
    assert measure.label == "same_word"


def test_equal_weights():
    measure = only(uniform(torch.ones(7, 7, dtype=torch.bool))[None, None], BERT)
    assert measure.entropy == pytest.approx(math.log(7))
    assert measure.breadth == pytest.approx(1)
    assert measure.shares == pytest.approx(dict.fromkeys(PATTERNS, 1 / 7))
    assert measure.shares == pytest.approx(measure.chance)
    assert measure.distance == pytest.approx(sum(abs(q - k) for q in range(1, 6) for k in range(7)) / 35)
    assert read_measure(measure) == HeadReading("broad", read_measure(measure).pattern, measure.breadth)


def test_equal_weights_under_a_causal_mask():
    """Query i shares its weight among i + 1 keys; query 0 has no choice and is left out."""
    seen = causal(6)
    measure = only(uniform(seen)[None, None], GPT, seen)
    assert measure.entropy == pytest.approx(sum(math.log(n) for n in range(2, 7)) / 5)
    assert measure.breadth == pytest.approx(1)
    share = sum(1 / n for n in range(2, 7)) / 5
    assert measure.shares["first"] == measure.shares["previous"] == measure.shares["itself"] == pytest.approx(share)
    assert measure.shares["next"] is None
    assert measure.shares["separator"] is None
    assert measure.shares["same_word"] == pytest.approx(1 / 4)  # "·the" sees "The"
    assert measure.distance == pytest.approx(sum(i / 2 for i in range(1, 6)) / 5)
    assert measure.label == "broad"


def test_half_and_half():
    measure = only(
        head([1, 0, 0, 0], [0.5, 0, 0.5, 0], [0.25, 0.75, 0, 0], [0, 0, 0, 1.0]), pieces_of("[CLS] a b [SEP]")
    )
    assert measure.entropy == pytest.approx((math.log(2) + math.log(4) / 4 - 0.75 * math.log(0.75)) / 2)
    assert measure.breadth == pytest.approx(measure.entropy / math.log(4))
    assert measure.distance == pytest.approx((0.5 + 0.5 + 0.25 * 2 + 0.75) / 2)
    assert measure.shares == {
        "first": 0.375,
        "previous": 0.625,
        "next": 0.25,
        "itself": 0,
        "same_word": None,
        "separator": 0,
    }
    assert measure.chance == dict.fromkeys(PATTERNS, 0.25) | {"same_word": None}
    assert read_measure(measure) == HeadReading("previous", "previous", 0.625)


# Which queries and keys count.


def test_special_tokens_do_not_count_as_queries():
    weights = drawn(2, 3, torch.ones(7, 7, dtype=torch.bool), seed=0)
    changed = weights.clone()
    changed[..., [0, 6], :] = torch.eye(7, dtype=torch.float64)[[6, 0]]
    assert measure_heads(weights, BERT) == measure_heads(changed, BERT)


def test_a_query_without_a_choice_does_not_count():
    seen = causal(6)
    seen[3] = False
    seen[3, 2] = True
    weights = drawn(1, 1, seen, seed=1)
    measure = only(weights, GPT, seen)
    rows = [1, 2, 4, 5]
    entropies = [-sum(w * math.log(w) for w in weights[0, 0, q].tolist() if w) for q in rows]
    assert measure.entropy == pytest.approx(sum(entropies) / 4)
    assert measure.shares["itself"] == pytest.approx(sum(float(weights[0, 0, q, q]) for q in rows) / 4)


def test_each_pattern_s_keys_by_hand():
    found = pattern_keys(torch.ones(7, 7, dtype=torch.bool), BERT)
    keys = {pattern: torch.nonzero(table).tolist() for pattern, table in zip(PATTERNS, found, strict=True)}
    assert keys["first"] == [[q, 0] for q in range(1, 7)]
    assert keys["previous"] == [[q, q - 1] for q in range(1, 7)]
    assert keys["next"] == [[q, q + 1] for q in range(6)]
    assert keys["itself"] == [[q, q] for q in range(7)]
    assert keys["same_word"] == [[1, 4], [4, 1]]
    assert keys["separator"] == [[q, 6] for q in range(7)]


def test_keys_that_are_hidden_belong_to_no_pattern():
    found = pattern_keys(causal(7), BERT)
    keys = {pattern: torch.nonzero(table).tolist() for pattern, table in zip(PATTERNS, found, strict=True)}
    assert keys["next"] == []
    assert keys["same_word"] == [[4, 1]]
    assert keys["separator"] == [[6, 6]]


@pytest.mark.parametrize(
    ("text", "pairs"),
    [
        ("The ·the the THE", [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]),
        ("Straße STRASSE", [(0, 1)]),
        ("ing ##ing", []),  # the end of a word is not a word
        ("##s ##S", [(0, 1)]),
        ("[SEP] a [SEP]", []),  # special tokens are no words
        ("“[SEP]” “[SEP]”", [(0, 1)]),  # typed in the text they are
        ("the a", []),
    ],
)
def test_which_pieces_are_the_same_word(text: str, pairs: list[tuple[int, int]]):
    pieces = pieces_of(text)
    same = pattern_keys(torch.ones(len(pieces.names), len(pieces.names), dtype=torch.bool), pieces)[4]
    assert torch.nonzero(same).tolist() == sorted([[*pair] for pair in pairs] + [[*pair[::-1]] for pair in pairs])


def test_a_special_token_at_the_front_is_no_separator():
    measure = only(uniform(causal(4))[None, None], pieces_of("[BOS] a b c"), causal(4))
    assert measure.shares["separator"] is None
    assert measure.shares["first"] == pytest.approx((1 / 2 + 1 / 3 + 1 / 4) / 3)


def test_every_separator_counts():
    pieces = pieces_of("[CLS] a [SEP] b [SEP]")
    measure = only(uniform(torch.ones(5, 5, dtype=torch.bool))[None, None], pieces)
    assert measure.shares["separator"] == pytest.approx(2 / 5)


def test_a_picture_has_no_words_and_its_patches_no_order():
    weights = drawn(1, 1, torch.ones(5, 5, dtype=torch.bool), seed=2)
    measure = only(weights, patches(4))
    absent = {pattern for pattern, share in measure.shares.items() if share is None}
    assert absent == {"previous", "next", "same_word", "separator"}
    assert measure.distance is None
    assert measure.shares["first"] == pytest.approx(float(weights[0, 0, 1:, 0].mean()))
    assert measure.shares["itself"] == pytest.approx(float(weights[0, 0].diagonal()[1:].mean()))
    assert measure.entropy is not None


@pytest.mark.parametrize(
    ("pieces", "visible"),
    [
        (pieces_of("[CLS] [SEP]"), None),
        (pieces_of("[CLS]"), None),
        (pieces_of("a"), None),
        (pieces_of("[BOS] a"), torch.eye(2, dtype=torch.bool)),
        (pieces_of(""), None),
    ],
    ids=["special tokens only", "one special token", "one piece", "each sees itself", "nothing"],
)
def test_where_no_query_counts_there_is_no_number(pieces: Pieces, visible: Tensor | None):
    n = len(pieces.names)
    measure = only(torch.eye(n, dtype=torch.float64)[None, None], pieces, visible)
    assert measure == HeadMeasure(0, 0, None, None, None, dict.fromkeys(PATTERNS), dict.fromkeys(PATTERNS))
    assert read_measure(measure) == HeadReading("mixed", None, None)
    assert strongest((measure,), "first") is None


# Against plain loops.


def by_loops(weights: list[list[float]], pieces: Pieces, seen: list[list[bool]]) -> dict:
    """The definitions as they stand, query by query."""
    n = len(weights)
    keys = [[key for key in range(n) if seen[query][key]] for query in range(n)]
    queries = [query for query in range(n) if len(keys[query]) > 1 and not pieces.special[query]]

    def word(place: int) -> str:
        return pieces.names[place].removeprefix("·").casefold()

    def is_same_word(query: int, key: int) -> bool:
        return not pieces.special[key] and key != query and word(key) == word(query)

    belongs = {
        "first": lambda query, key: key == 0 and query != 0,
        "previous": lambda query, key: key == query - 1,
        "next": lambda query, key: key == query + 1,
        "itself": lambda query, key: key == query,
        "same_word": is_same_word,
        "separator": lambda _, key: pieces.special[key] and key > 0,
    }

    def share(pattern: str, rows: list[list[float]]) -> float | None:
        found = {query: [key for key in keys[query] if belongs[pattern](query, key)] for query in queries}
        return mean([sum(rows[query][key] for key in chosen) for query, chosen in found.items() if chosen])

    entropies = [-sum(weights[q][k] * math.log(weights[q][k]) for k in keys[q] if weights[q][k] > 0) for q in queries]
    equal = [[1 / len(keys[query]) if keys[query] else 0.0] * n for query in range(n)]
    return {
        "entropy": mean(entropies),
        "breadth": mean([h / math.log(len(keys[q])) for h, q in zip(entropies, queries, strict=True)]),
        "distance": mean([sum(weights[q][k] * abs(q - k) for k in keys[q]) for q in queries]),
        "shares": {pattern: share(pattern, weights) for pattern in PATTERNS},
        "chance": {pattern: share(pattern, equal) for pattern in PATTERNS},
    }


def mean(numbers: list[float]) -> float | None:
    return sum(numbers) / len(numbers) if numbers else None


@st.composite
def texts(draw) -> tuple[str, Tensor]:
    """Texts with repeated words and special tokens anywhere, and a mask: none, causal, a window, or any at all."""
    words = draw(st.lists(st.sampled_from(["a", "·a", "A", "b", "##b", "c", "[S]"]), min_size=1, max_size=9))
    n = len(words)
    kind = draw(st.sampled_from(["none", "causal", "window", "any"]))
    full = torch.ones(n, n, dtype=torch.bool)
    masks = {"none": full, "causal": causal(n), "window": causal(n).triu(-2)}
    if kind == "any":
        masks["any"] = torch.tensor(draw(st.lists(st.booleans(), min_size=n * n, max_size=n * n))).reshape(n, n)
    return " ".join(words), masks[kind]


@settings(max_examples=80)
@given(texts(), st.integers(0, 99))
def test_every_measure_against_loops(text: tuple[str, Tensor], seed: int):
    pieces, seen = pieces_of(text[0]), text[1]
    weights = drawn(2, 3, seen, seed)
    measures = measure_heads(weights, pieces, seen)
    assert [(measure.layer, measure.head) for measure in measures] == [(i, j) for i in range(2) for j in range(3)]
    for measure in measures:
        expected = by_loops(weights[measure.layer, measure.head].tolist(), pieces, seen.tolist())
        found = dataclasses.asdict(measure)
        for name, value in expected.items():
            assert found[name] == (value if value is None else pytest.approx(value, abs=1e-12))


@given(texts(), st.integers(0, 99), st.floats(0.0, 9.0))
def test_ranges(text: tuple[str, Tensor], seed: int, spread: float):
    pieces, seen = pieces_of(text[0]), text[1]
    for measure in measure_heads(drawn(1, 2, seen, seed, spread), pieces, seen):
        numbers = [measure.breadth, *measure.shares.values(), *measure.chance.values()]
        assert all(-1e-12 <= number <= 1 + 1e-12 for number in numbers if number is not None)
        assert (measure.entropy is None) == (measure.breadth is None)
        assert measure.distance is None or 0 <= measure.distance <= len(pieces.names) - 1
        found = read_measure(measure)
        assert (measure.label, measure.share) == (found.label, found.share)
        assert (
            found.pattern is None
            or measure.shares[found.pattern] == max(share for share in measure.shares.values() if share is not None)
            or found.label in PATTERNS
        )


@given(texts())
def test_equal_weights_are_never_called_by_a_pattern(text: tuple[str, Tensor]):
    """Also where half of all keys belong to one, as in a text of two pieces or of one word again and again."""
    pieces, seen = pieces_of(text[0]), text[1]
    measure = only(uniform(seen).nan_to_num()[None, None], pieces, seen)
    assert measure.label == ("mixed" if measure.entropy is None else "broad")


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_measured_in_double_precision(dtype: torch.dtype):
    weights = drawn(2, 2, torch.ones(7, 7, dtype=torch.bool), seed=5).to(dtype)
    assert measure_heads(weights, BERT) == measure_heads(weights.double(), BERT)


def test_the_weights_are_left_alone():
    weights = drawn(1, 2, causal(7), seed=6)
    before = weights.clone()
    measure_heads(weights, BERT, causal(7))
    rollout(weights)
    renormalised(without_special(weights, BERT.special))
    assert torch.equal(weights, before)


# What a head is called.


def measured(breadth: float | None = 0.1, chance: float = 0.1, **shares: float | None) -> HeadMeasure:
    known = dict.fromkeys(PATTERNS) | shares
    return HeadMeasure(0, 0, 1.0, breadth, 1.0, known, {name: share and chance for name, share in known.items()})


@pytest.mark.parametrize(
    ("measure", "reading"),
    [
        (measured(previous=0.5), ("previous", "previous", 0.5)),
        (measured(previous=0.4999), ("mixed", "previous", 0.4999)),
        (measured(previous=0.6, itself=0.7), ("itself", "itself", 0.7)),
        (measured(first=0.6, previous=0.6), ("first", "first", 0.6)),
        (measured(breadth=0.9, previous=0.6), ("previous", "previous", 0.6)),
        (measured(breadth=0.8, previous=0.3, next=0.4), ("broad", "next", 0.8)),
        (measured(breadth=0.7999, previous=0.3, next=0.4), ("mixed", "next", 0.4)),
        (measured(chance=0.25, previous=0.5), ("previous", "previous", 0.5)),
        (measured(chance=0.3, previous=0.59), ("mixed", "previous", 0.59)),
        (measured(chance=0.3, previous=0.6), ("previous", "previous", 0.6)),
        (measured(chance=0.5, previous=1.0), ("previous", "previous", 1.0)),
        (measured(breadth=None), ("mixed", None, None)),
        (measured(breadth=0.85), ("broad", None, 0.85)),
        (measured(first=0.0), ("mixed", "first", 0.0)),
    ],
)
def test_thresholds(measure: HeadMeasure, reading: tuple):
    assert read_measure(measure) == HeadReading(*reading)


def test_a_pattern_that_is_far_above_chance_goes_before_a_larger_one_that_is_not():
    measure = HeadMeasure(
        0, 0, 1.0, 0.1, 1.0, dict.fromkeys(PATTERNS) | {"previous": 0.6, "same_word": 0.7},
        dict.fromkeys(PATTERNS) | {"previous": 0.1, "same_word": 0.6},
    )  # fmt: skip
    assert read_measure(measure) == HeadReading("previous", "previous", 0.6)


def test_the_strongest_head_of_a_pattern():
    heads = tuple(
        dataclasses.replace(measured(previous=share), head=place) for place, share in enumerate([0.2, None, 0.7, 0.7])
    )
    assert strongest(heads, "previous") is heads[2]
    assert strongest(heads, "next") is None
    assert strongest((), "next") is None


# Rollout.


def test_rollout_of_heads_that_change_nothing():
    identity = torch.eye(4, dtype=torch.float64).expand(3, 2, 4, 4)
    assert torch.equal(rollout(identity), identity[:, 0])


def test_rollout_of_equal_weights():
    """With U² = U: after l layers ½^l of a place is its own, the rest shared by all."""
    shared, own = torch.full((5, 5), 1 / 5, dtype=torch.float64), torch.eye(5, dtype=torch.float64)
    for layer, found in enumerate(rollout(shared.expand(3, 2, 5, 5)), 1):
        assert_close(found, own / 2**layer + shared * (1 - 1 / 2**layer))


def test_rollout_multiplies_the_later_layer_from_the_left():
    """Place 1 reads place 0, then place 2 reads place 1: only then does 2 have something of 0."""
    one, two = torch.eye(3, dtype=torch.float64), torch.eye(3, dtype=torch.float64)
    one[1], two[2] = torch.eye(3, dtype=torch.float64)[[0, 1]]
    assert rollout(torch.stack([one, two])[:, None])[1].tolist() == [[1, 0, 0], [0.5, 0.5, 0], [0.25, 0.25, 0.5]]
    assert rollout(torch.stack([two, one])[:, None])[1].tolist() == [[1, 0, 0], [0.5, 0.5, 0], [0, 0.5, 0.5]]


def test_rollout_takes_the_mean_of_the_heads():
    first, second = torch.eye(2, dtype=torch.float64), torch.tensor([[0.0, 1], [1, 0]], dtype=torch.float64)
    assert rollout(torch.stack([first, second])[None])[0].tolist() == [[0.75, 0.25], [0.25, 0.75]]


def test_rollout_divides_each_row_by_its_sum():
    """As where weights were left out: a row of zeros stays what it is."""
    weights = head([0.0, 0.0], [0.0, 0.5])
    assert rollout(weights)[0].tolist() == [[1, 0], [0, 1]]
    assert_close(rollout(head([0.0, 0.5], [0.0, 0.0]))[0], head([2 / 3, 1 / 3], [0.0, 1.0])[0, 0])


@settings(max_examples=20)
@given(st.integers(1, 4), st.integers(1, 3), st.integers(1, 5), st.booleans(), st.integers(0, 99))
def test_rollout_against_loops(n_layers: int, n_heads: int, n: int, is_causal: bool, seed: int):
    seen = causal(n) if is_causal else torch.ones(n, n, dtype=torch.bool)
    weights = drawn(n_layers, n_heads, seen, seed)
    found, product = rollout(weights), [[float(q == k) for k in range(n)] for q in range(n)]
    for layer in range(n_layers):
        heads = weights[layer].tolist()
        mixed = [[sum(h[q][k] for h in heads) / n_heads + float(q == k) for k in range(n)] for q in range(n)]
        mixed = [[weight / sum(row) for weight in row] for row in mixed]
        product = [[sum(mixed[q][m] * product[m][k] for m in range(n)) for k in range(n)] for q in range(n)]
        assert_close(found[layer], torch.tensor(product, dtype=torch.float64))
    assert_close(found.sum(dim=-1), torch.ones(n_layers, n, dtype=torch.float64))
    if is_causal:
        assert not found.triu(1).any()


# Without special tokens.


def test_without_special_tokens_by_hand():
    weights = head([0.1, 0.2, 0.7], [0.5, 0.3, 0.2], [0.0, 0.9, 0.1])
    assert without_special(weights, (True, False, False)).tolist() == [[[[0.3, 0.2], [0.9, 0.1]]]]
    assert without_special(weights, (False, True, False)).tolist() == [[[[0.1, 0.7], [0.0, 0.1]]]]
    assert torch.equal(without_special(weights, (False,) * 3), weights)
    assert without_special(weights, (True,) * 3).shape == (1, 1, 0, 0)
    assert without_special(weights[0, 0], (True, False, True)).tolist() == [[0.3]]


def test_renormalised_rows():
    weights = head([0.3, 0.2], [0.0, 0.0])
    assert_close(renormalised(weights), head([0.6, 0.4], [0.0, 0.0]))
    tiny = torch.tensor([[1e-300, 3e-300]], dtype=torch.float64)
    assert_close(renormalised(tiny), torch.tensor([[0.25, 0.75]], dtype=torch.float64))


@given(texts(), st.integers(0, 99))
def test_without_special_tokens_against_loops(text: tuple[str, Tensor], seed: int):
    pieces, seen = pieces_of(text[0]), text[1]
    weights = drawn(2, 2, seen, seed)
    kept = [place for place, flag in enumerate(pieces.special) if not flag]
    found = without_special(weights, pieces.special)
    for layer, one in [(0, 1), (1, 0)]:
        rows = [[float(weights[layer, one, q, k]) for k in kept] for q in kept]
        assert found[layer, one].tolist() == rows
        whole = [[weight / sum(row) if sum(row) else 0.0 for weight in row] for row in rows]
        assert_close(renormalised(found)[layer, one].tolist(), whole)


# Bad input.


def test_more_keys_than_queries():
    weights = torch.full((1, 1, 2, 3), 1 / 3)
    message = r"^there must be as many keys as queries, got 3 and 2$"
    with pytest.raises(ValueError, match=message):
        measure_heads(weights, pieces_of("a b"))
    with pytest.raises(ValueError, match=message):
        rollout(weights)


def test_pieces_of_another_text():
    with pytest.raises(ValueError, match=r"^there must be as many pieces as keys, got 7 and 3$"):
        measure_heads(torch.eye(3)[None, None], BERT)


def test_a_mask_of_another_size():
    with pytest.raises(ValueError, match=r"^visible must be of shape \(7, 7\), got \(6, 6\)$"):
        bare_measure_heads(torch.eye(7)[None, None], BERT, causal(6))


def test_flags_of_another_text():
    with pytest.raises(ValueError, match=r"^weights must be of shape \(7, 7\), got \(3, 3\)$"):
        without_special(torch.eye(3), BERT.special)
