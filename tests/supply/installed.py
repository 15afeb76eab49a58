"""What the app runs on: the packages of requirements.txt as installed, and all that they need in turn.

`python -m tests.supply.installed` lists them with their licences.
"""

from collections.abc import Iterator
from importlib.metadata import Distribution, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).parents[2]


def pinned() -> list[Requirement]:
    """The lines of requirements.txt, without their comments and the options of pip."""
    lines = [line.partition("#")[0].strip() for line in (ROOT / "requirements.txt").read_text().splitlines()]
    return [Requirement(line) for line in lines if line and not line.startswith("-")]


def needed() -> dict[str, Distribution]:
    """Every package the app needs on this machine, by its normal name: requirements.txt, and what each asks for."""
    found: dict[str, Distribution] = {}
    wanted = pinned()
    extras_seen: set[tuple[str, str]] = set()
    while wanted:
        requirement = wanted.pop()
        name = canonicalize_name(requirement.name)
        new = {(name, extra) for extra in ("", *requirement.extras)} - extras_seen
        extras_seen |= new
        if new:
            found[name] = distribution(name)
            wanted += [asked for _, extra in new for asked in _asked_for(found[name], extra)]
    return dict(sorted(found.items()))


def _asked_for(package: Distribution, extra: str) -> Iterator[Requirement]:
    for line in package.requires or []:
        asked = Requirement(line)
        if not asked.marker or asked.marker.evaluate({"extra": extra}):
            yield asked


def public_version(package: Distribution) -> str:
    """Without the build's own name: 2.13.0+cpu has the faults of 2.13.0."""
    return Version(package.version).public


def licences(package: Distribution) -> set[str]:
    """The licences that a package's metadata names: its SPDX expression, else its classifiers, else its own words."""
    stated = package.metadata
    if expression := stated["License-Expression"]:
        return set(expression.replace(" OR ", " AND ").split(" AND "))
    classifiers = [line for line in stated.get_all("Classifier", []) if line.startswith("License ::")]
    names = [line.rpartition(" :: ")[2] for line in classifiers] or (stated["License"] or "none stated").split(" AND ")
    return {SPDX.get(name, name) for name in names}


# What packages without an SPDX expression write. "BSD" names no version: the classifier does not.
SPDX = {
    "3-Clause BSD License": "BSD-3-Clause",
    "Apache 2.0 License": "Apache-2.0",
    "Apache License 2.0": "Apache-2.0",
    "Apache Software License": "Apache-2.0",
    "BSD License": "BSD",
    "ISC License (ISCL)": "ISC",
    "MIT License": "MIT",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
}


if __name__ == "__main__":
    for package in needed().values():
        print(package.name, package.version, " AND ".join(sorted(licences(package))), sep="\t")
