"""Generated values for every parameter of a link, made from the records: a new field is tried without a line here."""

import string
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from hypothesis import strategies as st

from attn_core.edits import EDITED_MATRICES, EditList
from attn_core.limits import MAX_HEADS, MAX_LAYERS, MAX_TOKENS
from attn_core.links import CutText, Linked, OneOf, Real, Whole, YesNo
from attn_core.masks import HiddenList
from attn_core.pretrained_settings import HeadPlaces, ShortText
from tests.hostile.injections import INJECTIONS

Texts = st.SearchStrategy[str]

# What numbers, words and lists are never written like, or past what any field allows.
_ODD = (
    *("", " ", "nan", "NaN", "inf", "-inf", "Infinity", "1e309", "-1e309", "1e-400", "-0", "+1", "00", "1_000"),
    *("0x10", "١", "３", "1.0", "1,5", "1e3", "9" * 400, "-" + "9" * 30, "true\n", "TRUE", "None", "null", "[]", "()"),
    *("W_Q[0,0]=nan", "W_Q[0,0]=1e9", "W_Q[-1,0]=1", "W_Z[0,0]=1", "W_Q[0,0]", "x[999,999]=1000", "0:0-99", "5:9-1"),
    *("0.0 0.0", "99.99", "a" * 10_000, "0:0 " * 3_000, "x[0,0]=1 " * 3_000, "\x00"),
)

texts: Texts = st.one_of(
    st.sampled_from(INJECTIONS),
    st.lists(st.sampled_from(INJECTIONS), min_size=2, max_size=12).map(" ".join),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=60),  # no address and no message holds half a pair
    st.text(st.sampled_from(string.punctuation + " aあ字\n"), max_size=60),
    st.sampled_from(("a " * 400, "あ" * 900, "e" + "\u0301" * 700, "👩‍👩‍👧‍👦" * 90, "x" * 20_500)),
)
junk: Texts = st.one_of(st.sampled_from(_ODD), texts)

_digits = st.integers(0, 40).map(str)
_numbers = st.one_of(
    st.floats(-1000, 1000).map(repr),
    st.sampled_from(("1000", "-1000", "0", "-0.0", "1e-300", "1001", "1e999", ".", "1.2.3")),
)
edits: Texts = st.lists(
    st.builds("{}[{},{}]={}".format, st.sampled_from((*EDITED_MATRICES, "W")), _digits, _digits, _numbers), max_size=30
).map(" ".join)
_runs = st.one_of(_digits, st.builds("{}-{}".format, _digits, _digits))
hidden: Texts = st.lists(
    st.builds("{}:{}".format, _digits, st.lists(_runs, min_size=1, max_size=4).map(",".join)), max_size=MAX_TOKENS
).map(" ".join)
pins: Texts = st.lists(
    st.builds("{}.{}".format, st.integers(0, MAX_LAYERS), st.integers(0, MAX_HEADS)), max_size=8
).map(" ".join)
_WRITTEN = {CutText: texts, ShortText: texts, EditList: edits, HiddenList: hidden, HeadPlaces: pins}


def allowed_values(allowed: Any) -> Texts:
    """Texts that the field can mostly read, its limits among them."""
    match allowed:
        case Whole(low, high):
            return st.one_of(st.integers(low, high), st.sampled_from((low, high))).map(str)
        case Real(low, high):
            return st.one_of(st.floats(low, high), st.sampled_from((low, high))).map(repr)
        case OneOf(options):
            return st.sampled_from(options)
        case YesNo():
            return st.sampled_from(("true", "false"))
    if type(allowed) in _WRITTEN:
        return _WRITTEN[type(allowed)]
    bounds = (getattr(allowed, "low", 0), getattr(allowed, "high", 9))
    return st.one_of(st.integers(*bounds).map(str), st.sampled_from([str(2**power) for power in range(14)]))


def links(
    *records: type[Linked], light: Mapping[str, Texts] = MappingProxyType({})
) -> st.SearchStrategy[dict[str, str]]:
    """Links with any of the parameters of these records, readable and not, and with one that nobody knows.

    Those of `light` are always there: what they ask for takes no long work.
    """
    names = {name: record.allowed(name) for record in records for name in record.names()}
    always = {name: light[name] for name in names if name in light}
    sometimes = {name: _mostly(allowed_values(allowed)) for name, allowed in names.items() if name not in light}
    return st.fixed_dictionaries(always, optional=sometimes | {"unknown": junk})


def _mostly(readable: Texts) -> Texts:
    return st.one_of(readable, readable, junk)
