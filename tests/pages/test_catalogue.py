"""Every label has its Japanese, and both languages have the same lecture text."""

import re
import string
from pathlib import Path

import pytest
from babel.messages.catalog import Catalog
from babel.messages.extract import extract_from_file
from babel.messages.pofile import read_po

ROOT = Path(__file__).parents[2]
PAGES = ROOT / "pages"
LANGUAGES = ("ja", "en")


def labels(*sources: Path) -> dict[str, str]:
    """The English text of every `_("…")` call, and where it was first found."""
    found: dict[str, str] = {}
    for source in sources:
        for line, message, _, _ in extract_from_file("python", source, keywords={"_": None}):
            found.setdefault(message, f"{source.name}:{line}")
    return found


def japanese(folder: Path = PAGES) -> Catalog:
    path = folder / "locales" / "ja" / "LC_MESSAGES" / "messages.po"
    if not path.exists():
        return Catalog(locale="ja")
    with path.open("rb") as source:
        return read_po(source, locale="ja", abort_invalid=True)


def placeholders(text: str) -> list[str]:
    """The {names} in a label, in any order: languages differ in it."""
    return sorted(name for _, name, _, _ in string.Formatter().parse(text) if name is not None)


def faults(messages: dict[str, str], catalogue: Catalog) -> list[str]:
    """What is wrong with the catalogue, one line each."""
    entries = {entry.id: entry for entry in catalogue if entry.id}
    found = [f"{where}: no Japanese for {text!r}" for text, where in messages.items() if text not in entries]
    found += [f"stale: {text!r} is nowhere in the pages" for text in entries if text not in messages]
    found += [f"stale: {text!r} is marked obsolete" for text in catalogue.obsolete]
    for text, entry in entries.items():
        if not entry.string or not entry.string.strip():
            found.append(f"empty: {text!r}")
        elif entry.fuzzy:
            found.append(f"fuzzy: {text!r}")
        elif placeholders(text) != placeholders(entry.string):
            found.append(f"other placeholders: {text!r} → {entry.string!r}")
    return found


def sections(lang: str, folder: Path = PAGES) -> dict[str, list[str]]:
    """The headings of each lecture text of a language, in order."""
    return {
        path.name: re.findall(r"^## (.+?)\s*$", path.read_text("utf-8"), re.MULTILINE)
        for path in sorted((folder / "text" / lang).glob("*.md"))
    }


def test_every_label_has_its_japanese():
    found = faults(labels(ROOT / "app.py", *sorted(PAGES.rglob("*.py"))), japanese())
    assert not found, "\n".join(found)


def test_both_languages_have_the_same_lecture_text():
    ja, en = (sections(lang) for lang in LANGUAGES)
    assert ja.keys() == en.keys()
    assert ja == en


def test_no_section_is_written_twice_or_left_empty():
    for lang in LANGUAGES:
        for path in sorted((PAGES / "text" / lang).glob("*.md")):
            parts = re.split(r"^## (.+)$", path.read_text("utf-8"), flags=re.MULTILINE)[1:]
            names, bodies = parts[::2], parts[1::2]
            assert len(set(names)) == len(names), path
            assert all(body.strip() for body in bodies), path


@pytest.mark.parametrize(
    ("entry", "fault"),
    [
        ('msgid "Row {n}"\nmsgstr "{n} 行"', ""),
        ('msgid "Column"\nmsgstr "列"', "x.py:1: no Japanese for 'Row {n}'\nstale: 'Column' is nowhere in the pages"),
        ('msgid "Row {n}"\nmsgstr ""', "empty: 'Row {n}'"),
        ('#, fuzzy\nmsgid "Row {n}"\nmsgstr "{n} 行"', "fuzzy: 'Row {n}'"),
        ('msgid "Row {n}"\nmsgstr "{m} 行"', "other placeholders: 'Row {n}' → '{m} 行'"),
        ('msgid "Row {n}"\nmsgstr "{n} 行"\n\n#~ msgid "Old"\n#~ msgstr "古い"', "stale: 'Old' is marked obsolete"),
    ],
    ids=["complete", "missing", "empty", "fuzzy", "placeholder", "obsolete"],
)
def test_the_check_can_fail(tmp_path, entry, fault):
    folder = tmp_path / "locales" / "ja" / "LC_MESSAGES"
    folder.mkdir(parents=True)
    header = 'msgid ""\nmsgstr "Content-Type: text/plain; charset=UTF-8\\n"\n\n'
    (folder / "messages.po").write_text(header + entry + "\n", "utf-8")
    source = tmp_path / "x.py"
    source.write_text('_("Row {n}", n=1)\nother("no label")\n', "utf-8")
    assert "\n".join(faults(labels(source), japanese(tmp_path))) == fault
