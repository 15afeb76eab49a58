"""The files of deploy/: what their schemas say, and that the names and numbers in them are the same ones."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import kubernetes_validate
import pytest
import yaml

from tests.deploy.machines import CONTAINERFILE, ROOT, container_environment, nginx_command, site

DEPLOY = ROOT / "deploy"
TEMPLATE = (DEPLOY / "nginx.conf.template").read_text(encoding="utf-8")
COMPOSE = yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))
MANIFESTS = [
    manifest
    for file in sorted((DEPLOY / "kubernetes").glob("*.yaml"))
    for manifest in yaml.safe_load_all(file.read_text(encoding="utf-8"))
]
BY_KIND = {manifest["kind"]: manifest for manifest in MANIFESTS}
POD = BY_KIND["Deployment"]["spec"]["template"]
CONTAINER = POD["spec"]["containers"][0]
NGINX = COMPOSE["services"]["nginx"]["environment"]
PORT = "8501"  # Streamlit's own


def test_compose_follows_its_schema():
    check = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.compose-spec"]
    found = subprocess.run([*check, str(DEPLOY / "compose.yaml")], capture_output=True, text=True)
    assert found.returncode == 0, found.stdout


@pytest.mark.parametrize("manifest", MANIFESTS, ids=[manifest["kind"] for manifest in MANIFESTS])
def test_manifests_follow_their_schemas(manifest):
    kubernetes_validate.validate(manifest, "1.34", strict=True)


def test_nginx_accepts_what_compose_fills_in(tmp_path):
    local = {"CACHE": "cache"}  # the image's own folder is not on this machine
    conf = site(**{name: str(_default(value)) for name, value in NGINX.items()} | local)
    assert "${" not in conf
    found = subprocess.run([*nginx_command(tmp_path, conf), "-t"], capture_output=True, text=True)
    assert found.returncode == 0, found.stderr
    assert "[warn]" not in found.stderr


def _default(value: str) -> str:
    """What Compose puts for ${NAME:-value} where nothing is set."""
    return re.sub(r"\$\{\w+:-(.*?)\}", r"\1", value)


def test_compose_fills_in_every_placeholder():
    assert set(re.findall(r"\$\{(\w+)\}", TEMPLATE)) == set(NGINX)


def test_only_replicas_can_be_named_by_a_cookie():
    allowed = NGINX["REPLICA_ADDRESSES"]
    network = COMPOSE["networks"]["default"]["ipam"]["config"][0]["subnet"]
    assert network == "172.30.85.0/24"
    assert re.fullmatch(allowed, "172.30.85.2:8501")
    for other in ("172.30.85.1:8501", "172.30.85.2:80", "172.30.8.2:8501", "127.0.0.1:8501", "app:8501", ""):
        assert not re.fullmatch(allowed, other)


def test_one_port():
    assert f"EXPOSE {PORT}" in CONTAINERFILE
    assert f"localhost:{PORT}/_stcore/health" in CONTAINERFILE
    assert NGINX["REPLICAS"] == f"app:{PORT}"
    assert COMPOSE["services"]["nginx"]["ports"] == [f"8080:{NGINX['LISTEN']}"]
    assert [port["containerPort"] for port in CONTAINER["ports"]] == [int(PORT)]
    for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
        assert CONTAINER[probe]["httpGet"] == {"path": "/_stcore/health", "port": "http"}


def test_the_manifests_find_each_other():
    name = BY_KIND["Service"]["metadata"]["name"]
    labels = POD["metadata"]["labels"].items()
    spec = {kind: manifest["spec"] for kind, manifest in BY_KIND.items()}
    assert spec["Service"]["selector"].items() <= labels
    for kind in ("Deployment", "PodDisruptionBudget"):
        assert spec[kind]["selector"]["matchLabels"].items() <= labels
    (service_port,) = spec["Service"]["ports"]
    assert service_port["targetPort"] in [port["name"] for port in CONTAINER["ports"]]
    (path,) = spec["Ingress"]["rules"][0]["http"]["paths"]
    assert path["backend"]["service"] == {"name": name, "port": {"name": service_port["name"]}}


def test_there_is_time_to_stop():
    before = CONTAINER["lifecycle"]["preStop"]["sleep"]["seconds"]
    assert POD["spec"]["terminationGracePeriodSeconds"] >= before + 30
    assert COMPOSE["services"]["app"]["stop_grace_period"] == "30s"


def test_replicas_share_a_secret_that_no_file_tells():
    assert COMPOSE["services"]["app"]["environment"]["STREAMLIT_SERVER_COOKIE_SECRET"].startswith("${COOKIE_SECRET:?")
    (setting,) = CONTAINER["env"]
    assert setting["name"] == "STREAMLIT_SERVER_COOKIE_SECRET"
    assert set(setting["valueFrom"]) == {"secretKeyRef"}
    assert "Secret" not in BY_KIND


def test_nginx_lets_through_what_the_app_takes():
    with (ROOT / ".streamlit/config.toml").open("rb") as file:
        megabytes = tomllib.load(file)["server"]["maxUploadSize"]
    (limit,) = re.findall(r"client_max_body_size (\d+)m;", TEMPLATE)
    assert int(limit) > megabytes
    assert BY_KIND["Ingress"]["metadata"]["annotations"]["nginx.ingress.kubernetes.io/proxy-body-size"] == f"{limit}m"


def test_the_container_has_a_user_of_its_own():
    (user,) = re.findall(r"^USER (\d+)$", CONTAINERFILE, re.MULTILINE)
    assert f"useradd --uid {user} " in CONTAINERFILE
    assert POD["spec"]["securityContext"]["runAsUser"] == int(user) != 0
    assert container_environment()["STREAMLIT_SERVER_ADDRESS"] == "0.0.0.0"


def test_the_context_has_what_the_container_copies_and_no_more():
    copied = [word for line in re.findall(r"^COPY (.*) \S+$", CONTAINERFILE, re.MULTILINE) for word in line.split()]
    lines = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    assert "*" in lines
    assert sorted(line[1:] for line in lines if line.startswith("!")) == sorted(copied)
    assert all((ROOT / Path(name)).exists() for name in copied)
