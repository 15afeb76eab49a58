"""What cannot be used is said in the reader's language, and the page stays."""

import re

import pytest

from attn_core import Lesson
from attn_core.limits import MAX_TOKENS
from pages.shared.shell import PAGES
from pages.shared.text import _NOTHING, plain
from tests.pages.reading import LANGUAGES, PAGE_NAMES, address, charts, figure, readable_fields, warnings, words

NO_TOKEN = {"empty": "", "spaces": " \t\u3000\n ", "invisible": "\u200b\u200d\ufeff\x00\x07"}
ODD = {
    "one character": "x",
    "joined emoji": "👩‍👩‍👧‍👦 and 🏳️‍🌈 are 👍🏽",
    "right to left": "שלום عالم",
    "reordering": "a\u202ebc\u202c d",
    "control characters": "a\x00b\x1b[31m c\x7f",
    "script": "<script>alert(1)</script>",
    "image": "<img src=x onerror=alert(1)>",
    "dollars": "$5 or $10 or $$x$$",
    "backslashes": "\\ \\\\ a\\b \\n",
    "markdown": "**bold** _it_ `code` # head [a](javascript:alert(1)) ![i](x) > q ~~s~~ | a | b |",
    "katex": r"\href{javascript:alert(1)}{x} \frac{1}{0} $\color{red}{\htmlId{a}{b}}$",
    "streamlit": ":red[x] :material/home: :smile: -- -> <-",
    "repeated": "the the the the",
    "one hundred the same": "a " * 30 + "b",
    "braces": "{lang} {0} %s %(x)s",
    "combining": "e\u0301" + "\u0301" * 40 + " x",
}
MARKS = "\\ ` * _ [ < # ~ $ :".split()


def says(warning: str, lang: str, *parts: str) -> bool:
    """Whether a warning is in the language and names all of this."""
    return bool(re.search("[ぁ-ん]", warning)) == (lang == "ja") and all(part in warning for part in parts)


@pytest.mark.parametrize("lang", LANGUAGES)
@pytest.mark.parametrize("entry", PAGES, ids=lambda entry: entry.name)
def test_every_parameter_that_cannot_be_read_is_named(open_page, entry, lang):
    fields = [(r, name) for r in (Lesson, *entry.settings) for name in readable_fields(r) if name != "lang"]
    page = open_page(entry.name, lang=lang, **{name: f"<b>*{name}*</b>" for _, name in fields})
    assert not page.exception
    found = warnings(page)
    assert len(found) == len(fields)
    for warning, (record, name) in zip(found, fields, strict=True):
        assert says(warning, lang, f"`{name}`", plain(f"<b>*{name}*</b>"), plain(str(record.allowed(name)))), warning
    assert page.title[0].value
    assert address(page) == {"lang": lang}


@pytest.mark.parametrize("locale", ["ja-JP", "en-US"])
def test_an_unknown_language_is_reported_in_the_browsers(open_page, monkeypatch, locale):
    monkeypatch.setattr("streamlit.runtime.context.ContextProxy.locale", locale)
    page, lang = open_page("similarity", lang="de", seed="4"), locale[:2]
    (warning,) = warnings(page)
    assert says(warning, lang, "`lang`", "de", "ja, en")
    assert page.session_state["_records"][Lesson] == Lesson(lang=lang, seed=4)


def test_a_long_value_is_cut_in_the_warning(open_page):
    (warning,) = warnings(open_page("similarity", lang="en", seed="9" * 5000))
    assert says(warning, "en", "“" + "9" * 80 + "”", "`seed`", "0 … 999999")


def test_the_warning_goes_with_the_next_change(open_page):
    page = open_page("similarity", lang="en", seed="x")
    assert len(warnings(page)) == 1
    page = page.slider(key="d_model").set_value(5).run()
    assert warnings(page) == []


@pytest.mark.parametrize("value", ["2", "16"])
@pytest.mark.parametrize("name", PAGE_NAMES)
def test_sizes_at_their_limits(open_page, name, value):
    page = open_page(name, lang="en", d_model=value, seed="999999", text="word " * MAX_TOKENS, query="31", key="31")
    assert not page.exception
    assert warnings(page) == []


@pytest.mark.parametrize("name", PAGE_NAMES)
def test_texts_that_cannot_be_used_as_they_are(open_page, name):
    """Typed one after the other; each is told, and the page goes on."""
    page = open_page(name, lang="en")
    for text, part in (
        *((text, "The text holds no word") for text in NO_TOKEN.values()),
        ("x" * 10_000, "500 characters"),
        (" ".join(["ab"] * 100), "The last 68 tokens are left out: a sentence may have 32."),
    ):
        page = page.text_input(key="text").set_value(text).run()
        assert not page.exception
        (warning,) = warnings(page)
        assert says(warning, "en", part)
        assert page.title[0].value


@pytest.mark.parametrize(
    ("text", "part"),
    [*((text, "語がありません") for text in NO_TOKEN.values()), ("x" * 10_000, "500"), ("ab " * 100, "68")],
    ids=[*NO_TOKEN, "long", "many"],
)
def test_they_are_told_in_japanese(open_page, text, part):
    page = open_page("similarity", lang="ja", text=text)
    (warning,) = warnings(page)
    assert says(warning, "ja", part)
    assert charts(page)


@pytest.mark.parametrize("lang", LANGUAGES)
def test_heads_that_do_not_divide_the_columns(open_page, lang):
    page = open_page("similarity", lang=lang, d_model="6", n_heads="4")
    (warning,) = warnings(page)
    assert says(warning, lang, "`n_heads`", "4", plain("1, 2, 3, 6 (d_model = 6)"))
    assert page.session_state["_records"][Lesson] == Lesson(lang=lang, d_model=6)


@pytest.mark.parametrize("name", PAGE_NAMES)
def test_a_query_that_sees_nothing(open_page, name):
    """The mask is left out, and the page goes on."""
    page = open_page(name, lang="en", text="a b", mask="drawn", hidden="1:0-1 x")
    assert not page.exception
    unread, blind = sorted(warnings(page), key=lambda warning: "softmax" in warning)
    assert says(unread, "en", "`hidden`", "“x”")
    assert says(blind, "en", plain("1: b"))
    assert page.session_state["_records"][Lesson].mask == "drawn"


@pytest.mark.parametrize("name", PAGE_NAMES)
def test_odd_second_texts(open_page, name):
    page = open_page(name, lang="en", second_text="x" * 10_000)
    (warning,) = warnings(page)
    assert says(warning, "en", "500 characters")
    for what in ("streamlit", "script", "combining"):
        page = open_page(name, lang="en", second_text=ODD[what], query="0", key="0")
        assert not page.exception, what
        assert warnings(page) == [], what


@pytest.mark.parametrize("name", PAGE_NAMES)
def test_odd_texts(open_page, name):
    """Typed one after the other into the same session."""
    page = open_page(name, lang="en", query="0", key="0")
    for what, text in ODD.items():
        page = page.text_input(key="text").set_value(text).run()
        assert not page.exception, what
        assert not [w for w in warnings(page) if "tokens are left out" not in w], what
        assert page.session_state["_records"][Lesson].text == text, what
        assert address(page)["text"] == text, what


@pytest.mark.parametrize("text", ODD.values(), ids=ODD)
def test_odd_texts_cut_into_characters(open_page, text):
    page = open_page("similarity", lang="en", text=text, segmentation="characters")
    assert not page.exception
    assert figure(page, "similarity_product")["layout"]["yaxis"]["ticktext"]


@pytest.mark.parametrize("name", PAGE_NAMES)
def test_a_token_is_shown_as_typed(open_page, name):
    """A mark that Markdown would read changes nothing on the page but the token itself, escaped."""
    page = open_page(name, lang="en", text="Zq is", query="0", key="0")
    neutral = words(page)
    for mark in MARKS:
        page = page.text_input(key="text").set_value(f"{mark} is").run()
        shown = [text.replace(_NOTHING, "") for text in words(page)]
        assert shown == [text.replace("Zq", plain(mark)) for text in neutral], mark


@pytest.mark.parametrize("name", ["one_hot", "query_key_value", "similarity", "softmax", "weighted_sum"])
def test_these_pages_do_show_the_token(open_page, name):
    assert any("**Zq**" in text for text in words(open_page(name, lang="en", text="Zq is", query="0", key="0")))


def test_labels_in_pictures_are_safe_from_html(open_page):
    page = open_page("similarity", lang="en", text="<b>x</b>", segmentation="characters")
    spec = charts(page)["similarity_product"].spec
    assert "&lt;" in spec
    assert '"<"' not in spec
