"""`make audit` asks OSV for known vulnerabilities of every package the app runs on. It needs the internet.

What could not be asked counts as a failure: a package that was not looked up is not a package without faults.
"""

import subprocess
import tempfile
from pathlib import Path

from tests.supply.installed import needed, public_version
from tests.supply.sbom import TOOLS

OSV = "https://api.osv.dev/v1/query"


def audit(osv: str = OSV) -> str:
    """What the advisories say of the packages in `needed`.

    Raises:
        SystemExit: if they name one, or could not be read.
    """
    packages = needed().values()
    with tempfile.TemporaryDirectory() as folder:
        asked, report = Path(folder, "packages.txt"), Path(folder, "report.txt")
        asked.write_text("".join(f"{it.name}=={public_version(it)}\n" for it in packages))
        command = [TOOLS / "pip-audit", "--strict", "--no-deps", "--disable-pip", "--progress-spinner", "off"]
        command += ["--requirement", asked, "--vulnerability-service", "osv", "--osv-url", osv]
        done = subprocess.run([*command, "--output", report], capture_output=True, text=True)
        if done.returncode == 0:
            return f"{len(packages)} packages: no known vulnerability"
        if report.exists() and report.read_text():
            raise SystemExit(report.read_text())
    last = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
    raise SystemExit(
        f"Nothing was audited: no answer from {osv}\n{last}\nRun `make audit` where that address can be reached."
    )


if __name__ == "__main__":
    print(audit())
