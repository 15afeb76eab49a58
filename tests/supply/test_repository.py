"""Nothing secret is in the repository, and what SECURITY.md names is there."""

import re
import subprocess

import pytest

from tests.supply.installed import ROOT

# Private keys, and the tokens of GitHub, Hugging Face, Amazon and Slack, by the form their makers give them.
SECRET = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----|\b(gh[pousr]_|hf_)[A-Za-z0-9]{30,}|\bAKIA[0-9A-Z]{16}\b|\bxox[abp]-[0-9]{10}"
)


def _git(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True)


def test_no_secret_in_any_file():
    files = [ROOT / name for name in _git("ls-files", "-z").stdout.split("\0")[:-1]]
    assert ROOT / "app.py" in files
    assert [it for it in files if it.is_file() and SECRET.search(it.read_text(errors="ignore"))] == []


@pytest.mark.parametrize("secret", ["-----BEGIN RSA PRIVATE " + "KEY-----", "hf_" + "a1" * 17, "AKIA" + "Z9" * 8])
def test_a_secret_would_be_found(secret):
    assert SECRET.search(f"token = {secret}")


@pytest.mark.parametrize("path", [".streamlit/secrets.toml", ".env", "build/sbom.json", ".venv/bin/python"])
def test_what_stays_on_a_machine_is_ignored(path):
    assert _git("check-ignore", path).returncode == 0


def test_security_names_tests_and_files_that_exist():
    named = re.findall(r"`((?:tests|attn_core|deploy|\.streamlit)/[\w./]*)`", (ROOT / "SECURITY.md").read_text())
    assert "tests/supply/test_headers.py" in named
    assert [path for path in named if not (ROOT / path).exists() and path != ".streamlit/secrets.toml"] == []
