"""Words on the screen: labels by gettext (English is the key), lecture prose from Markdown files."""

import functools
import gettext
import io
import pathlib
import re
from collections.abc import Sequence

from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po

from attn_core.lesson import Lesson
from pages.shared.link import current

_PAGES = pathlib.Path(__file__).parents[1]
_SHOWN_TOKENS = 8
_NOTHING = ":small[]"  # a piece of Markdown that shows nothing


def _(message: str, **values: object) -> str:
    """The label in the session's language, with its {placeholders} filled in."""
    text = _catalogue(current(Lesson).lang).gettext(message)
    return text.format(**values) if values else text


@functools.cache
def _catalogue(lang: str) -> gettext.NullTranslations:
    path = _PAGES / "locales" / lang / "LC_MESSAGES" / "messages.po"
    if not path.exists():  # English is the key itself
        return gettext.NullTranslations()
    compiled = io.BytesIO()
    with path.open("rb") as source:
        write_mo(compiled, read_po(source))
    compiled.seek(0)
    return gettext.GNUTranslations(compiled)


def prose(page: str, section: str) -> str:
    """One named section of a page's lecture text in the session's language."""
    return _sections(current(Lesson).lang, page)[section]


@functools.cache
def _sections(lang: str, page: str) -> dict[str, str]:
    text = (_PAGES / "text" / lang / f"{page}.md").read_text(encoding="utf-8")
    parts = re.split(r"^## (\w+)$", text, flags=re.MULTILINE)[1:]
    return {name: body.strip() for name, body in zip(parts[::2], parts[1::2], strict=True)}


def sentence(tokens: Sequence[str]) -> str:
    """The tokens in a row, of many the first ones."""
    return " ".join(tokens[:_SHOWN_TOKENS]) + (" …" if len(tokens) > _SHOWN_TOKENS else "")


def plain(text: str) -> str:
    """A user's text inside Markdown, shown as typed.

    An address becomes a link, and “:streamlit:” a picture, after the marks are escaped: nothing, put in, keeps it text.
    """
    pieces = re.split(r"(?i)(?<=www)(?=\.)|(?<=[:@])(?=\S)", text)
    return _NOTHING.join(re.sub(r"([\\`*_{}\[\]()<>#+\-.!|~$:&^=@/])", r"\\\1", piece) for piece in pieces)
