"""The public names are a decision, and what `import attn_core` loads is another."""

import ast
import inspect
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import attn_core

PUBLIC = {
    "AttentionTrace",
    "BlindQueryError",
    "Edit",
    "HiddenKeys",
    "Lesson",
    "LessonTrace",
    "MultiHeadSelfAttention",
    "SimpleSelfAttention",
    "Vocabulary",
    "attend",
    "make_mask",
    "one_hot",
    "run_lesson",
    "sinusoidal",
    "tokenize",
}
HEAVY = ("streamlit", "plotly", "transformers", "fugashi")
ROOT = Path(__file__).parents[2]


def test_the_public_names():
    assert set(attn_core.__all__) == PUBLIC
    assert attn_core.__all__ == sorted(attn_core.__all__)
    visible = {
        name for name, value in vars(attn_core).items() if not name.startswith("_") and not inspect.ismodule(value)
    }
    assert visible == PUBLIC


def test_every_public_name_is_documented():
    assert attn_core.__doc__
    assert [name for name in PUBLIC if not getattr(attn_core, name).__doc__] == []


def loaded_by_import(folder: Path) -> set[str]:
    """Which of the heavy packages `import attn_core` loads, in a fresh interpreter started in the folder."""
    program = f"import sys, attn_core; print(attn_core.__file__, *(n for n in {HEAVY} if n in sys.modules), sep='\\n')"
    done = subprocess.run([sys.executable, "-c", program], cwd=folder, capture_output=True, text=True, check=True)
    file, *loaded = done.stdout.splitlines()
    assert Path(file).is_relative_to(folder)
    return set(loaded)


def test_import_loads_nothing_heavy():
    assert loaded_by_import(ROOT) == set()


def test_the_check_above_can_fail(tmp_path):
    shutil.copytree(ROOT / "attn_core", tmp_path / "attn_core")
    for name in HEAVY:  # stand-ins, so that the test needs none of them
        (tmp_path / f"{name}.py").touch()
        with (tmp_path / "attn_core" / "attention.py").open("a") as source:
            source.write(f"\nimport {name}\n")
    assert loaded_by_import(tmp_path) == set(HEAVY)


@pytest.mark.parametrize("path", sorted((ROOT / "attn_core").rglob("*.py")), ids=lambda path: path.name)
def test_annotations_stay_readable_for_the_shape_checker(path):
    imports = [node for node in ast.parse(path.read_text("utf-8")).body if isinstance(node, ast.ImportFrom)]
    assert "__future__" not in [node.module for node in imports]
