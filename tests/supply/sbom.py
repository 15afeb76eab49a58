"""`make sbom` writes build/sbom.json: what the app runs on, in CycloneDX, without the tools that stand beside it.

CycloneDX's own tool describes the whole environment; here the packages are kept that requirements.txt asks for,
directly or not, and the root is joined to them.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from packaging.utils import canonicalize_name

from tests.supply.installed import ROOT, licences, needed, pinned

TOOLS = Path(sys.prefix) / "supply" / "bin"
TARGET = ROOT / "build" / "sbom.json"
VALIDATE = """
import sys
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
sys.exit(JsonStrictValidator(SchemaVersion.V1_6).validate_str(sys.stdin.read()) and "not valid CycloneDX 1.6")
"""

Bill = dict[str, Any]  # a CycloneDX document, as JSON has it


def bill_of_materials() -> Bill:
    """The CycloneDX document of the packages in `needed`."""
    bill, packages = _environment(), needed()
    bill["components"] = [it for it in bill["components"] if canonicalize_name(it["name"]) in packages]
    for component in bill["components"]:
        if "licenses" not in component:  # the tool leaves out what is not said in SPDX's words
            stated = licences(packages[canonicalize_name(component["name"])])
            component["licenses"] = [{"expression": " AND ".join(sorted(stated)), "acknowledgement": "declared"}]
    _join(bill)
    return bill


def _environment() -> Bill:
    command = [TOOLS / "cyclonedx-py", "environment", "--no-validate", "--output-reproducible"]
    done = subprocess.run(
        [*command, "--pyproject", "pyproject.toml", sys.executable],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    return json.loads(done.stdout)


def _join(bill: Bill) -> None:
    """Dependencies between what was kept; those of the root are the lines of requirements.txt."""
    references = {canonicalize_name(it["name"]): it["bom-ref"] for it in bill["components"]}
    kept = set(references.values())
    edges = {it["ref"]: sorted(kept.intersection(it.get("dependsOn", []))) for it in bill["dependencies"]}
    root = bill["metadata"]["component"]["bom-ref"]
    edges = {root: sorted(references[canonicalize_name(it.name)] for it in pinned())} | {
        ref: edges[ref] for ref in kept
    }
    bill["dependencies"] = [{"ref": ref, "dependsOn": edges[ref]} for ref in sorted(edges)]


def validate(bill: Bill) -> None:
    """Raises: subprocess.CalledProcessError if the document breaks CycloneDX's own schema."""
    command = [TOOLS / "python", "-c", VALIDATE]
    subprocess.run(command, input=json.dumps(bill), check=True, text=True, capture_output=True)


if __name__ == "__main__":
    made = bill_of_materials()
    validate(made)
    TARGET.parent.mkdir(exist_ok=True)
    TARGET.write_text(json.dumps(made, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(f"{TARGET.relative_to(ROOT)}: {len(made['components'])} packages")
