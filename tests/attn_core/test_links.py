"""Records ↔ links: what is written is read back, and what cannot be read is reported."""

from dataclasses import FrozenInstanceError, dataclass

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from attn_core.links import CutText, Ignored, Linked, OneOf, Real, Whole, YesNo, linked


@dataclass(frozen=True)
class Sample(Linked):
    """One field of every kind."""

    count: int = linked(3, Whole(-5, 20))
    rate: float = linked(0.5, Real(-1e300, 1e300))
    kind: str = linked("plain", OneOf(("plain", "fancy")))
    shown: bool = linked(True, YesNo())
    note: str = linked("", CutText(50))


fields = st.fixed_dictionaries(
    {
        "count": st.integers(-5, 20),
        "rate": st.floats(-1e300, 1e300),
        "kind": st.sampled_from(["plain", "fancy"]),
        "shown": st.booleans(),
        "note": st.text(max_size=50),
    }
)


@given(fields)
@example({"rate": 0.00012345678901234567})  # the longest that Python writes without an exponent
@example({"note": "\ud800\x00"})
def test_what_is_written_is_read_back(values):
    sample = Sample(**values)
    again = Sample.from_query(sample.to_query())
    assert again == sample
    assert hash(again) == hash(sample)
    assert again.ignored == ()


def test_only_what_differs_is_written():
    assert Sample().to_query() == {}
    assert Sample(count=4, shown=False, note="a b").to_query() == {"count": "4", "shown": "false", "note": "a b"}


@pytest.mark.parametrize(
    ("name", "text", "allowed"),
    [
        ("count", "21", "-5 … 20"),
        ("count", "-6", "-5 … 20"),
        ("count", "3.0", "-5 … 20"),
        ("count", "", "-5 … 20"),
        ("count", "٣", "-5 … 20"),  # a digit, but not one that a link is written with
        ("count", "9" * 5000, "-5 … 20"),
        ("count", "3\n", "-5 … 20"),
        ("rate", "nan", "-1e+300 … 1e+300"),
        ("rate", "inf", "-1e+300 … 1e+300"),
        ("rate", "1e301", "-1e+300 … 1e+300"),
        ("rate", "1.2.3", "-1e+300 … 1e+300"),
        ("kind", "Plain", "plain, fancy"),
        ("kind", "", "plain, fancy"),
        ("shown", "yes", "true, false"),
        ("shown", "1", "true, false"),
    ],
    ids=ascii,
)
def test_what_cannot_be_read_keeps_its_default_and_is_reported(name, text, allowed):
    sample = Sample.from_query({name: text, "note": "kept"})
    assert sample == Sample(note="kept")
    assert sample.ignored == (Ignored(name, text, allowed),)


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [("count", "+7", 7), ("count", "-5", -5), ("count", "007", 7), ("rate", "1e-3", 0.001), ("shown", "TRUE", True)],
)
def test_spellings_that_are_read(name, text, value):
    sample = Sample.from_query({name: text})
    assert getattr(sample, name) == value
    assert sample.ignored == ()


def test_every_ignored_parameter_is_reported_in_the_order_of_the_fields():
    sample = Sample.from_query({"shown": "x", "count": "y", "kind": "z"})
    assert [ignored.name for ignored in sample.ignored] == ["count", "kind", "shown"]


def test_parameters_of_others_are_left_alone():
    sample = Sample.from_query({"utm_source": "x", "ignored": "y", "names": "z"})
    assert sample == Sample()
    assert sample.ignored == ()


def test_the_report_takes_no_part_in_equality():
    read = Sample.from_query({"count": "x"})
    assert read.ignored
    assert read == Sample()
    assert hash(read) == hash(Sample())


@given(st.dictionaries(st.sampled_from(Sample.names()) | st.text(max_size=5), st.text(max_size=30)))
def test_no_link_raises(query):
    sample = Sample.from_query(query)
    assert {ignored.name for ignored in sample.ignored} <= query.keys() & set(Sample.names())


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"count": 21}, r"^count must be -5 … 20, got 21$"),
        ({"rate": float("nan")}, r"^rate must be -1e\+300 … 1e\+300, got nan$"),
        ({"kind": "x"}, r"^kind must be plain, fancy, got 'x'$"),
    ],
    ids=str,
)
def test_a_record_refuses_what_a_link_could_not_hold(fields, message):
    with pytest.raises(ValueError, match=message):
        Sample(**fields)


@pytest.mark.parametrize(
    ("allowed", "value"),
    [
        (Whole(0, 9), True),
        (Whole(0, 9), 3.0),
        (Whole(0, 9), "3"),
        (Real(0.0, 1.0), 1),
        (Real(0.0, 1.0), float("inf")),
        (OneOf(("a",)), None),
        (YesNo(), 1),
        (CutText(50), None),
    ],
    ids=str,
)
def test_values_of_another_type_are_refused(allowed, value):
    assert not allowed.accepts(value)


def test_a_record_is_frozen():
    with pytest.raises(FrozenInstanceError):
        Sample().count = 4


def test_names_and_what_they_allow():
    assert Sample.names() == ("count", "rate", "kind", "shown", "note")
    assert Sample.allowed("count") == Whole(-5, 20)
    with pytest.raises(KeyError, match="nothing"):
        Sample.allowed("nothing")
