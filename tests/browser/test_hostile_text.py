"""Text that would be more than text, were it not shown as typed.

A dialog, an error in the console, a request to another host or an exception fails each test at its end (`visit`).
"""

import unicodedata
from urllib.parse import quote, urlencode

import pytest
from playwright.sync_api import Page, expect

from attn_core import Lesson, tokenize
from attn_core.limits import MAX_CHARACTERS, MAX_PASSAGE, MAX_REPORTED
from pages.shared.shell import PAGES
from tests.browser.driving import injected, settle
from tests.hostile.injections import INJECTIONS
from tests.pages.reading import readable_fields

NAMES = [entry.name for entry in PAGES]
TICKS = "name => [...document.querySelectorAll(`.st-key-${name} .yaxislayer-above text`)].map(e => e.textContent)"


def joined(first: int, limit: int) -> str:
    """As many of the strings as a field takes, from this one on."""
    text = INJECTIONS[first % len(INJECTIONS)]
    for place in range(first + 1, first + len(INJECTIONS)):
        longer = f"{text} {INJECTIONS[place % len(INJECTIONS)]}"
        if len(longer) > limit:
            break
        text = longer
    return text


def shown(text: str) -> bool:
    """Whether a browser shows every character of the text."""
    return not any(unicodedata.category(character) in ("Cc", "Cf", "Zl") for character in text)


def link(name: str, **query: str) -> str:
    return f"/{'' if name == NAMES[0] else name}?{urlencode(query, quote_via=quote)}"


def typed_in(page: Page, text: str) -> None:
    """The text of the lesson, typed; waits until the page shows it."""
    page.locator(".st-key-text input").fill(text)
    page.keyboard.press("Enter")
    page.wait_for_function("text => new URL(location).searchParams.get('text') === text", arg=text)
    settle(page)


def test_there_are_enough_of_them():
    assert len(set(INJECTIONS)) == len(INJECTIONS) >= 60


@pytest.mark.parametrize("name", NAMES)
def test_nothing_runs_on_any_page(visit, name):
    """Every string in every text that a link holds, and typed; others on each page and in each field."""
    first = NAMES.index(name) * len(INJECTIONS) // len(NAMES)
    texts = {
        "text": joined(first, MAX_CHARACTERS),
        "second_text": joined(first + 30, MAX_CHARACTERS),
        "passage": joined(first, MAX_PASSAGE),
        "second_passage": joined(first + 50, MAX_PASSAGE),
        "model": INJECTIONS[first],
        "corpus": joined(first + 20, 800),
    }
    page = visit(link(name, lang="en", query="0", key="0", segmentation="characters", **texts), lang="en")
    assert page.locator("h1").inner_text()
    assert injected(page) == 0
    typed_in(page, "".join(c for c in joined(first + 70, 60) if shown(c)))
    assert injected(page) == 0


READABLE = [name for name in readable_fields(Lesson) if name not in ("lang", "edits", "hidden")]
VALUES = [text for text in INJECTIONS if len(text) <= MAX_REPORTED and shown(text)]


@pytest.mark.parametrize("first", range(0, len(VALUES), len(READABLE)))
def test_what_cannot_be_read_is_repeated_as_typed(visit, first):
    """Every string as the value of a parameter, as many in a link as there are parameters."""
    query = dict(zip(READABLE, VALUES[first:], strict=False))
    page = visit(link("similarity", lang="en", **query), lang="en")
    warnings = page.locator("[data-testid=stAlert]").all_inner_texts()
    assert len(warnings) == len(query)
    for warning, (name, text) in zip(warnings, query.items(), strict=True):
        expected = f"“{text}” is not possible for {name} and was left out."
        assert " ".join(expected.split()) in " ".join(warning.split())
    assert injected(page) == 0


def test_every_mark_is_a_token_as_typed(visit):
    """In the labels of a picture and in the question under it."""
    page = visit(link("similarity", lang="en", segmentation="characters", query="0", key="0"), lang="en")
    marks = sorted({mark for text in INJECTIONS for mark in tokenize(text, "characters") if shown(mark)})
    for first in range(0, len(marks), 10):
        tokens = marks[first : first + 10]
        typed_in(page, " ".join(tokens))
        written = page.evaluate(TICKS, "similarity_product")
        assert [token for token in tokens if token not in written] == []
        question = page.get_by_text("How similar are the query of").inner_text()
        assert question == f"How similar are the query of {tokens[0]} and the key of {tokens[0]}?"
        assert injected(page) == 0


def test_a_word_looked_up_is_repeated_as_typed(visit):
    page = visit(link("one_hot", lang="en"), lang="en")
    answer, before = page.get_by_text("is not in the vocabulary: it gets"), ""
    for text in VALUES[::6]:
        page.locator(".st-key-lookup input").fill(text)
        page.keyboard.press("Enter")
        expect(answer).not_to_have_text(before, timeout=30_000)
        before = answer.inner_text()
        assert before == f"{text} is not in the vocabulary: it gets ID 0, the word for everything unknown."
        assert injected(page) == 0
