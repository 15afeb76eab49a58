"""The helpers of the pages: words, escapes, prepared links, the lecture plan."""

import dataclasses
import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from attn_core import Lesson
from pages.shared import link, plan, shell, text
from pages.shared.shell import PAGES
from tests.pages.reading import LANGUAGES

ESCAPED = r"\`*_{}[]()<>#+-.!|~$:&^=@/"


@pytest.fixture
def speak(monkeypatch):
    """`speak("ja")`: the session's language, without a session."""

    def speak(lang):
        for module in (text, link):
            monkeypatch.setattr(module, "current", lambda record: Lesson(lang=lang) if record is Lesson else record())

    return speak


@pytest.mark.parametrize(
    ("typed", "escaped"),
    [
        ("cat", "cat"),
        ("私は", "私は"),
        ("*", r"\*"),
        ("\\", "\\\\"),
        ("$x$", r"\$x\$"),
        ("<script>", r"\<script\>"),
        ("[a](b)", r"\[a\]\(b\)"),
        (":red[x]", r"\::small[]red\[x\]"),
        (r"\$", r"\\\$"),
        ("www.a.b", r"www:small[]\.a\.b"),
    ],
)
def test_plain(typed, escaped):
    assert text.plain(typed) == escaped


@given(st.text(alphabet=st.sampled_from(ESCAPED + "aé私 1")) | st.text())
@example(ESCAPED)
def test_plain_loses_nothing_and_leaves_no_mark_bare(typed):
    escaped = text.plain(typed).replace(text._NOTHING, "")  # a bare mark of its own, which shows nothing
    assert re.sub(r"\\(.)", r"\1", escaped, flags=re.DOTALL) == typed
    assert not set(re.sub(r"\\.", "", escaped, flags=re.DOTALL)) & set(ESCAPED)


def test_a_long_sentence_is_named_by_its_beginning():
    assert text.sentence(("the", "cat")) == "the cat"
    assert text.sentence(tuple("abcdefgh")) == "a b c d e f g h"
    assert text.sentence(tuple("abcdefghi")) == "a b c d e f g h …"


def test_labels_in_both_languages(speak):
    speak("en")
    assert text._("Overview") == "Overview"
    assert text._("{n} min", n=5) == "5 min"
    speak("ja")
    assert text._("Overview") == "全体像"
    assert text._("{n} min", n=5) == "5 分"


@pytest.mark.parametrize("lang", [*LANGUAGES, "fr"])
def test_a_label_without_a_translation_stays_english(lang):
    assert text._catalogue(lang).gettext("No such label {x}") == "No such label {x}"


def test_without_values_braces_stay(speak):
    speak("en")
    assert text._("a {b} c") == "a {b} c"


@pytest.mark.parametrize("lang", LANGUAGES)
def test_prose(speak, lang):
    speak(lang)
    for entry in PAGES:
        for section in ("idea", "try", "sources"):
            body = text.prose(entry.name, section)
            assert body == body.strip() != ""
            assert not re.search(r"^## ", body, re.MULTILINE)
    with pytest.raises(KeyError, match="nowhere"):
        text.prose("overview", "nowhere")


def test_prose_follows_the_language(speak):
    speak("ja")
    japanese = text.prose("similarity", "idea")
    speak("en")
    assert text.prose("similarity", "idea").startswith("The larger the inner product")
    assert re.search("[ぁ-ん]", japanese)


def test_titles_differ_and_are_translated(speak):
    titles = {}
    for lang in LANGUAGES:
        speak(lang)
        titles[lang] = [shell.title(entry.name) for entry in PAGES]
        assert len(set(titles[lang])) == len(PAGES)
    assert not set(titles["ja"]) & set(titles["en"])


@pytest.mark.parametrize("lang", LANGUAGES)
def test_a_prepared_link_says_that_it_opens_a_state(speak, lang):
    speak(lang)
    assert link.prepared_query({"seed": "3"}) == {"open": "true", "lang": lang, "seed": "3"}
    other = Lesson(lang="ja", seed=4)
    assert link.prepared_query({"view": "cosine"}, other) == {
        "open": "true",
        "lang": lang,
        "seed": "4",
        "view": "cosine",
    }


@pytest.mark.parametrize("lang", LANGUAGES)
def test_the_lecture_plan(speak, lang):
    """90 minutes; every part is a page that exists, in a state that its records can read and that differs."""
    speak(lang)
    parts = plan.lecture_plan()
    assert sum(part.minutes for part in parts) == 90
    records = {entry.name: (Lesson, *entry.settings) for entry in PAGES}
    for part in parts:
        read = [record.from_query(part.query) for record in records[part.page]]
        assert not any(record.ignored for record in read), part
        assert part.query.keys() <= {name for record in records[part.page] for name in record.names()}, part
    assert len({part.label for part in parts}) == len(parts)


@pytest.mark.parametrize(
    ("before", "lang", "after"),
    [
        (Lesson(lang="ja"), "en", Lesson(lang="en")),
        (Lesson(lang="ja", text="犬"), "en", Lesson(lang="en", text="犬")),
        (Lesson(lang="en", seed=4), "ja", Lesson(lang="ja", seed=4)),
    ],
    ids=["default text", "own text", "seed"],
)
def test_change_language(monkeypatch, before, lang, after):
    changes = []
    monkeypatch.setattr(link, "current", lambda _: before)
    monkeypatch.setattr(link.st, "session_state", {"lang": lang})
    monkeypatch.setattr(link, "change", lambda _, **values: changes.append(dataclasses.replace(before, **values)))
    link.change_language()
    assert changes == [after]
