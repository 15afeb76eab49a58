"""How a page is built: short, its parts and then its outline, first of all inside the shell, and without tensors."""

import ast
from pathlib import Path

import pytest

from attn_core.stages import THREAD_STEPS
from pages.shared.plan import STEP_PAGES
from pages.shared.shell import PAGES

ROOT = Path(__file__).parents[2]
SCRIPTS = sorted((ROOT / "pages").glob("*.py"))
ASKED = {"part"}  # by which a page chooses among its parts
MODULES = sorted((ROOT / "pages").rglob("*.py"))


def imported(source: str) -> set[str]:
    """The top-level packages a source imports, wherever in it."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {name.name.split(".")[0] for name in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add((node.module or "").split(".")[0])
    return found


def is_alone(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "alone"


def faults(source: str) -> list[str]:
    """What a page script must not be, one line each."""
    tree, found = ast.parse(source), []
    if not 30 <= len(source.splitlines()) <= 80:
        found.append(f"{len(source.splitlines())} lines, not 30 to 80")
    if not ast.get_docstring(tree):
        found.append("no docstring")
    parts = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    if sum(isinstance(node, ast.FunctionDef | ast.ClassDef) for node in ast.walk(tree)) > len(parts):
        found.append("defines more than its parts")
    drawn = [node for call in ast.walk(tree) if is_alone(call) for node in ast.walk(call.args[0])]
    if {part.name for part in parts} != {node.id for node in drawn if isinstance(node, ast.Name)} - ASKED:
        found.append("a part does not run alone")
    statements = [node for node in tree.body[1:] if not isinstance(node, ast.Import | ast.ImportFrom | ast.FunctionDef)]
    if not statements or ast.unparse(statements[0]) != "require_shell()":
        found.append("does not call require_shell() first")
    return found


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_page_scripts(script):
    assert faults(script.read_text("utf-8")) == []


@pytest.mark.parametrize("module", MODULES, ids=lambda path: path.stem)
def test_pages_know_no_tensors(module):
    assert "torch" not in imported(module.read_text("utf-8"))


@pytest.mark.parametrize(
    ("source", "fault"),
    [
        ('"""A page."""\nrequire_shell()\n' + "x = 1\n" * 79, "81 lines, not 30 to 80"),
        ("require_shell()\n" * 30, "no docstring"),
        ('"""A page."""\ndef f(): ...\nrequire_shell()\n' + "x = 1\n" * 27, "a part does not run alone"),
        ('"""A page."""\nrequire_shell()\nclass A: ...\n' + "x = 1\n" * 27, "defines more than its parts"),
        ('"""A page."""\nx = 1\nrequire_shell()\n' + "x = 1\n" * 27, "does not call require_shell() first"),
    ],
    ids=["long", "undocumented", "part", "class", "shell late"],
)
def test_the_check_can_fail(source, fault):
    assert faults(source) == [fault]


def test_the_check_for_tensors_can_fail():
    assert "torch" in imported("def f():\n    from torch.nn import Linear\n")


def test_the_front_door_is_small():
    source = (ROOT / "app.py").read_text("utf-8")
    assert len(source.splitlines()) <= 60
    assert not [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FunctionDef | ast.ClassDef)]


def test_each_script_is_one_page_with_two_texts():
    names = sorted(entry.name for entry in PAGES)
    assert [script.stem for script in SCRIPTS] == names
    for lang in ("ja", "en"):
        assert sorted(path.stem for path in (ROOT / "pages" / "text" / lang).glob("*.md")) == names


def test_the_strip_leads_to_pages_that_exist():
    assert set(STEP_PAGES.values()) <= {entry.name for entry in PAGES}
    assert set(STEP_PAGES) == set(THREAD_STEPS)
