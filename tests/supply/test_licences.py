"""Every package has a licence that the project may be used with, and the READMEs name the right ones."""

import re

import pytest

from tests.supply.installed import ROOT, licences, needed, pinned

# All may be used, changed and passed on beside a work under the MIT licence; MPL-2.0 asks for changes to its own files.
ALLOWED = {
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "CNRI-Python",
    "ISC",
    "MIT",
    "MIT-CMU",
    "MPL-2.0",
    "PSF-2.0",
    "Zlib",
}
NVIDIA = (
    "cuda-",
    "nvidia-",
)  # come with the larger build of torch: not free, not used, and the README says how to do without


def test_every_package_may_be_used():
    stated = {name: licences(package) for name, package in needed().items() if not name.startswith(NVIDIA)}
    assert {name: found - ALLOWED for name, found in stated.items() if found - ALLOWED} == {}


def test_a_licence_not_allowed_is_found():
    """The gate is not open: a strange name, or none, passes through `licences` as it is."""
    assert licences(_Package({"License": "GPLv3"})) - ALLOWED == {"GPLv3"}
    assert licences(_Package({})) - ALLOWED == {"none stated"}
    assert licences(_Package({"License-Expression": "MIT AND SSPL-1.0"})) - ALLOWED == {"SSPL-1.0"}


def test_all_that_is_needed_is_looked_at():
    """Not only what requirements.txt names: what that needs in turn, and in turn again."""
    assert {"streamlit", "starlette", "anyio", "idna"} <= set(needed())


@pytest.mark.parametrize("readme", ["README.md", "README.ja.md"])
def test_the_table_names_each_package_once_with_its_licences(readme):
    rows = re.findall(r"^\| `([\w-]+)` \| [^|]+ \| ([^|]+) \|$", (ROOT / readme).read_text(encoding="utf-8"), re.M)
    assert [name for name, _ in rows] == [line.name for line in pinned()]
    packages = needed()
    assert {name: set(cell.split(" AND ")) for name, cell in rows} == {
        name: licences(packages[name]) for name, _ in rows
    }


def test_every_requirement_is_pinned_to_one_version():
    for requirement in pinned():
        assert re.fullmatch(r"==[\w.]+", str(requirement.specifier)), requirement


class _Package:
    """As much of a distribution as `licences` reads."""

    def __init__(self, metadata: dict[str, str]) -> None:
        self.metadata = _Metadata(metadata)


class _Metadata(dict[str, str]):
    def __missing__(self, name: str) -> None:
        return None

    def get_all(self, name: str, otherwise: list[str]) -> list[str]:
        return [self[name]] if name in self else otherwise
