"""What a link says of the page of pretrained models."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attn_core.limits import MAX_HEADS, MAX_LAYERS, MAX_NAME, MAX_PASSAGE, MAX_PINS
from attn_core.pretrained_settings import (
    WIDE,
    HeadPlace,
    HeadPlaces,
    PretrainedSettings,
    preset,
)

places = st.tuples(st.integers(0, MAX_LAYERS - 1), st.integers(0, MAX_HEADS - 1)).map(lambda pair: HeadPlace(*pair))
fields = st.fixed_dictionaries(
    {
        "model": st.text(max_size=MAX_NAME),
        "passage": st.text(max_size=40),
        "second_passage": st.text(max_size=40),
        "pretrained_layer": st.integers(0, MAX_LAYERS - 1),
        "pins": st.lists(places, max_size=MAX_PINS, unique=True).map(tuple),
        "special_tokens": st.booleans(),
        "renormalised": st.booleans(),
    }
)


@given(fields)
def test_there_and_back(values):
    found = PretrainedSettings(**values)
    again = PretrainedSettings.from_query(found.to_query())
    assert again == found
    assert not again.ignored


@given(st.dictionaries(st.sampled_from(PretrainedSettings.names()), st.text(max_size=50)))
def test_any_link_gives_settings(query):
    PretrainedSettings.from_query(query)


@pytest.mark.parametrize(
    ("text", "pins", "unread"),
    [
        ("0.2 4.5", (HeadPlace(0, 2), HeadPlace(4, 5)), ()),
        ("", (), ()),
        ("4.5 4.5 1.1", (HeadPlace(4, 5), HeadPlace(1, 1)), ("4.5",)),
        ("0.2 x 99.1 1.-2 3 1.2.3", (HeadPlace(0, 2),), ("x", "99.1", "… (3)")),
        ("0.0 0.1 0.2 0.3 0.4 0.5 0.6", tuple(HeadPlace(0, head) for head in range(6)), ("0.6",)),
        ("٣.٤", (), ("٣.٤",)),
    ],
    ids=str,
)
def test_pins_in_a_link(text, pins, unread):
    found = PretrainedSettings.from_query({"pins": text})
    assert found.pins == pins
    assert tuple(entry.value for entry in found.ignored) == unread


@pytest.mark.parametrize("value", [[], (1,), (HeadPlace(MAX_LAYERS, 0),), (HeadPlace(0, 1), HeadPlace(0, 1))], ids=str)
def test_no_pins(value):
    assert not HeadPlaces().accepts(value)


@pytest.mark.parametrize(
    ("name", "limit"), [("passage", MAX_PASSAGE), ("second_passage", MAX_PASSAGE), ("model", MAX_NAME)]
)
def test_texts_that_are_too_long_are_reported(name, limit):
    found = PretrainedSettings.from_query({name: "x" * (limit + 1)})
    assert [(entry.name, entry.allowed) for entry in found.ignored] == [(name, f"≤ {limit}")]
    assert not PretrainedSettings.from_query({name: "x" * limit}).ignored


def test_a_pin_is_put_in_and_taken_out():
    pinned = PretrainedSettings(pins=(HeadPlace(0, 2),))
    assert pinned.with_pin(HeadPlace(4, 5)) == (HeadPlace(0, 2), HeadPlace(4, 5))
    assert pinned.with_pin(HeadPlace(0, 2)) == ()


def test_the_chosen_head():
    assert PretrainedSettings(pretrained_layer=3, pretrained_head=1).place == HeadPlace(3, 1)
    assert str(HeadPlace(3, 1)) == "3.1"


def test_a_prepared_state():
    assert preset(HeadPlace(3, 1), 10, 2, second_passage=WIDE) == {
        "second_passage": WIDE,
        "pretrained_layer": "3",
        "pretrained_head": "1",
    }
