"""The bill of materials and the audit, as `make sbom` and `make audit` make them."""

import copy
import json
import subprocess
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from packaging.utils import canonicalize_name

from tests.supply.audit import audit
from tests.supply.installed import needed, pinned, public_version
from tests.supply.sbom import Bill, bill_of_materials, validate

ADVISORY = {"id": "OSV-0-0", "summary": "a fault made up for the test", "affected": []}


@pytest.fixture(scope="module")
def bill() -> Bill:
    return bill_of_materials()


def test_the_bill_lists_what_the_app_runs_on_and_nothing_else(bill):
    listed = {canonicalize_name(it["name"]): it for it in bill["components"]}
    assert set(listed) == set(needed())
    for requirement in pinned():
        component = listed[requirement.name]
        assert requirement.specifier.contains(component["version"])
        assert component["licenses"]
    assert all(it["licenses"] for it in bill["components"])


def test_the_bill_joins_the_app_to_its_requirements(bill):
    edges = {it["ref"]: it["dependsOn"] for it in bill["dependencies"]}
    root = edges[bill["metadata"]["component"]["bom-ref"]]
    assert {ref.partition("==")[0].lower() for ref in root} == {it.name for it in pinned()}
    assert any(ref.startswith("starlette==") for ref in edges[next(ref for ref in root if ref.startswith("streamlit"))])


def test_the_bill_is_valid_and_a_spoilt_one_is_not(bill):
    validate(bill)
    spoilt = copy.deepcopy(bill)
    del spoilt["components"][0]["name"]
    with pytest.raises(subprocess.CalledProcessError):
        validate(spoilt)


Osv = Callable[[str], str]


@pytest.fixture
def osv() -> Iterator[Osv]:
    """`osv(name)`: the address of advisories that know one fault of that package and of no other."""
    servers: list[ThreadingHTTPServer] = []

    def start(faulty: str) -> str:
        server = ThreadingHTTPServer(("127.0.0.1", 0), _advisories(faulty))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        servers.append(server)
        return f"http://127.0.0.1:{server.server_port}/v1/query"

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


def _advisories(faulty: str) -> type[BaseHTTPRequestHandler]:
    versions = {name: public_version(package) for name, package in needed().items()}

    class Advisories(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            name = asked["package"]["name"]
            known = asked["version"] == versions[name]
            answer = json.dumps({"vulns": [ADVISORY]} if name == faulty else {}).encode()
            self.send_response(200 if known else 500)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_: object) -> None: ...

    return Advisories


def test_no_advisory(osv):
    assert audit(osv("none of ours")) == f"{len(needed())} packages: no known vulnerability"


def test_an_advisory_of_a_package_behind_a_package_fails_the_audit(osv):
    with pytest.raises(SystemExit, match=r"starlette\s.*OSV-0-0"):
        audit(osv("starlette"))


def test_advisories_out_of_reach_fail_the_audit():
    closed = "http://127.0.0.1:9/v1/query"
    with pytest.raises(SystemExit, match=f"Nothing was audited: no answer from {closed}"):
        audit(closed)
