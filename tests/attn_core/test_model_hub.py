"""The hub: names of every kind, what is counted and downloaded, and every way a hub or a network can fail."""

import socket
import threading
import time
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any

import pytest

from attn_core import model_folder, model_hub
from attn_core.model_folder import INDEX, WEIGHTS, LoadProgress, ModelError
from attn_core.model_hub import Listing, cached, check_name, download, listing
from tests.attn_core.fake_hub import REVISION, FakeHub, fake_hub

NAME = "owner/model"
FILES = {
    "config.json": b"{}",
    "tokenizer.json": b"[]",
    "vocab.txt": b"a\nb\n",
    "spiece.model": b"piece",
    WEIGHTS: b"w" * 1000,
}
OTHERS = {
    "README.md": b"read me",
    "pytorch_model.bin": b"a pickle",
    "own.py": b"print()",
    "onnx/model.onnx": b"o",
    "onnx/config.json": b"{}",
    "other.safetensors": b"s",
    "model-00001-of-00002.safetensors": b"a part without an index",
}


@pytest.fixture(autouse=True)
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The library's cache for this test."""
    import huggingface_hub.constants

    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def patience(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """Shortens one of the times after which the network is given up; the test must not take as long as the others."""

    def shorten(name: str) -> None:
        monkeypatch.setattr(model_hub, name, 0.2)

    for name in ("ANSWER_SECONDS", "QUESTION_SECONDS", "SILENCE_SECONDS"):
        monkeypatch.setattr(model_hub, name, 1000.0)
    started = time.monotonic()
    yield shorten
    assert time.monotonic() - started < 20


def result(work: Generator[LoadProgress, None, Any]) -> tuple[list[LoadProgress], Any]:
    """What a generator yields, and what it returns."""
    told = []
    while True:
        try:
            told.append(next(work))
        except StopIteration as end:
            return told, end.value


def listed(hub: FakeHub, name: str = NAME) -> Any:
    return result(listing(name, hub.endpoint))[1]


def fetched(hub: FakeHub, wanted: Listing | None = None) -> Any:
    return result(download(NAME, wanted or listed(hub), hub.endpoint))[1]


def reason(hub: FakeHub, name: str = NAME) -> str:
    with pytest.raises(ModelError) as caught:
        listed(hub, name)
    return caught.value.reason


# Names.


@pytest.mark.parametrize("name", ["a/b", "google-bert/bert-base-uncased", "O_1/m.2-x", "a" * 47 + "/" + "b" * 48])
def test_names_that_can_be(name):
    check_name(name)


@pytest.mark.parametrize(
    "name",
    [
        "",
        "/",
        "bert",
        "a/",
        "/b",
        "a/b/c",
        "../..",
        "a/..",
        "../b",
        "a/b..c",
        ".a/b",
        "a/.b",
        "a/b.",
        "-a/b",
        "a/b-",
        "a--b/c",
        "a/b\n",
        " a/b",
        "a/b c",
        "a\\b",
        "a/b?x=1",
        "a/b#c",
        "a/b%2e",
        "a/b@main",
        "http://host/a",
        "a:b/c",
        "ä/b",
        "日本/語",
        "a/b\x00",
        "<script>/x",
        "$a$/b",
        "a" * 48 + "/" + "b" * 48,
        "a/" + "b" * 10_000,
    ],
)
def test_names_that_cannot_be(name):
    with pytest.raises(ModelError) as caught:
        check_name(name)
    assert caught.value.reason == "name"
    assert str(caught.value) == f"a model's name has the form owner/model, at most 96 characters; got {name!r}"


# What would be downloaded.


def test_only_settings_vocabularies_and_safetensors_are_counted():
    with fake_hub({NAME: FILES | OTHERS}) as hub:
        wanted = listed(hub)
    assert wanted == Listing(REVISION, {file: len(data) for file, data in FILES.items()})
    assert wanted.n_bytes == 2 + 2 + 4 + 5 + 1000
    assert hub.paths() == [f"/api/models/{NAME}?blobs=true"]


def test_divided_weights_are_counted_with_their_index():
    parts = {f"model-0000{part}-of-00002.safetensors": b"12345" for part in (1, 2)}
    with fake_hub({NAME: {"config.json": b"{}", INDEX: b"{}"} | parts}) as hub:
        assert listed(hub).files == {"config.json": 2, INDEX: 2} | dict.fromkeys(parts, 5)


def test_parts_of_weights_without_their_index():
    with fake_hub({NAME: {"config.json": b"{}", "model-00001-of-00001.safetensors": b"12345"}}) as hub:
        assert reason(hub) == "no_safetensors"


def test_names_of_files_that_mean_others():
    hostile = [
        "*.json",
        "../config.json",
        "a/../b.json",
        "/etc/x.json",
        "[a-z].txt",
        "?.model",
        "ä.json",
        "x.json\n",
        ".json/x",
    ]
    with fake_hub({NAME: FILES | dict.fromkeys(hostile, b"x")}) as hub:
        assert listed(hub).files.keys() == FILES.keys()


def test_too_large(monkeypatch):
    n_bytes = sum(map(len, FILES.values()))
    with fake_hub({NAME: FILES | OTHERS}) as hub:
        monkeypatch.setattr(model_folder, "MAX_MODEL_BYTES", n_bytes)
        listed(hub)
        monkeypatch.setattr(model_folder, "MAX_MODEL_BYTES", n_bytes - 1)
        with pytest.raises(ModelError, match=r"^'owner/model' has 1,013 bytes; at most 1,012 are loaded$") as caught:
            listed(hub)
    assert (caught.value.reason, caught.value.n_bytes) == ("too_large", n_bytes)


def test_too_large_by_what_the_hub_says():
    with fake_hub({NAME: FILES}, sizes={WEIGHTS: 70_000_000_000}) as hub:
        assert reason(hub) == "too_large"
        assert hub.paths() == [f"/api/models/{NAME}?blobs=true"]


def test_pickles_only():
    with fake_hub(
        {NAME: {"config.json": b"{}", "pytorch_model.bin": b"p", "model.bin": b"p", "tf_model.h5": b"h"}}
    ) as hub:
        assert reason(hub) == "no_safetensors"


# What the hub may answer.


def test_no_such_model():
    with fake_hub({NAME: FILES}) as hub:
        assert reason(hub, "owner/another") == "unknown"


@pytest.mark.parametrize("facts", [{"gated": "auto"}, {"gated": "manual"}, {"private": True}, {"disabled": True}])
def test_models_that_need_an_account(facts):
    with fake_hub({NAME: FILES}, facts=facts) as hub:
        assert reason(hub) == "unknown"


@pytest.mark.parametrize("status", [401, 403, 404])
def test_a_hub_that_refuses(status):
    with fake_hub({NAME: FILES}, status=status) as hub:
        assert reason(hub) == "unknown"


@pytest.mark.parametrize("status", [429, 500, 502, 503, 504])
def test_a_hub_that_fails(status):
    with fake_hub({NAME: FILES}, status=status) as hub:
        assert reason(hub) == "no_network"


@pytest.mark.parametrize("page", [b"", b"<html>password?</html>", b"[]", b"{}", b"null", b'{"id": "owner/model"}'])
def test_something_that_is_no_hub(page):
    with fake_hub({NAME: FILES}, page=page) as hub:
        assert reason(hub) == "no_network"


@pytest.mark.parametrize("sha", [None, "main", "../../etc", REVISION + "0"])
def test_a_revision_that_is_none(sha):
    with fake_hub({NAME: FILES}, facts={"sha": sha}) as hub:
        assert reason(hub) == "no_network"


def test_a_size_that_is_not_told():
    with fake_hub({NAME: FILES}, sizes={WEIGHTS: None}) as hub:
        assert reason(hub) == "no_network"


def test_no_hub():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        started = time.monotonic()
        with pytest.raises(ModelError) as caught:
            result(listing(NAME, f"http://127.0.0.1:{taken.getsockname()[1]}"))
    assert caught.value.reason == "no_network"
    assert time.monotonic() - started < model_hub.ANSWER_SECONDS + 5


def test_no_network_by_the_operator_s_wish(monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with fake_hub({NAME: FILES}) as hub:
        assert reason(hub) == "no_network"
        assert hub.paths() == []


def test_a_hub_that_keeps_silent_when_asked(patience):
    patience("ANSWER_SECONDS")
    with fake_hub({NAME: FILES}, silent_about=("api",)) as hub:
        assert reason(hub) == "no_network"


def test_a_network_that_does_not_even_say_that_it_fails(patience, monkeypatch):
    """Looking up a host may take as long as it likes."""
    patience("QUESTION_SECONDS")
    ended = threading.Event()
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: ended.wait())
    with pytest.raises(ModelError) as caught:
        result(listing(NAME, "http://host.invalid"))
    ended.set()
    assert caught.value.reason == "no_network"


# The download.


def test_what_was_counted_is_downloaded_once_and_without_an_account(monkeypatch, cache):
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    with fake_hub({NAME: FILES | OTHERS}) as hub:
        folder = fetched(hub)
        assert {path.name: path.read_bytes() for path in folder.iterdir()} == FILES
        assert folder.is_relative_to(cache)
        got = {path for path in hub.paths("GET") if "/resolve/" in path}
        assert got == {f"/{NAME}/resolve/{REVISION}/{file}" for file in FILES}
        assert not any("secret" in str(headers) for _, _, headers in hub.asked)
        n_asked = len(hub.asked)
        again = fetched(hub)
        assert again == folder
        assert hub.paths()[n_asked:] == [f"/api/models/{NAME}?blobs=true"]


def test_nothing_is_shown(capfd):
    with fake_hub({NAME: FILES}) as hub:
        fetched(hub)
    assert capfd.readouterr() == ("", "")


def test_progress(monkeypatch):
    monkeypatch.setattr(model_hub, "_LOOK_SECONDS", 0.001)
    with fake_hub({NAME: FILES}, silent_about=(WEIGHTS,)) as hub:
        told = []
        for progress in download(NAME, listed(hub), hub.endpoint):
            told.append(progress)
            if progress.share == 13 / 1013:  # all but the weights
                hub.closing.set()
    assert {progress.stage for progress in told} == {"download"}
    shares = [progress.share for progress in told]
    assert shares == sorted(shares)
    assert shares[0] < 13 / 1013 in shares


def test_files_that_need_an_account():
    with fake_hub({NAME: FILES}, closed=(WEIGHTS,)) as hub, pytest.raises(ModelError) as caught:
        fetched(hub)
    assert caught.value.reason == "unknown"


def test_a_revision_that_has_gone():
    with fake_hub({NAME: FILES}) as hub, pytest.raises(ModelError) as caught:
        fetched(hub, Listing("f" * 40, {WEIGHTS: 1000}))
    assert caught.value.reason == "unknown"


def test_a_hub_that_falls_silent(patience):
    with fake_hub({NAME: FILES}, silent_about=(WEIGHTS,)) as hub:
        wanted = listed(hub)
        patience("SILENCE_SECONDS")
        with pytest.raises(ModelError, match=r"^nothing of 'owner/model' has come for 0 seconds$") as caught:
            fetched(hub, wanted)
    assert caught.value.reason == "no_network"


def test_a_slow_hub_is_waited_for(monkeypatch):
    """Five times 50 seconds are more than 60, but something comes each time."""
    clock = [0.0]

    def work(heard: Callable[[int], None]) -> str:
        for _ in range(5):
            clock[0] += 50
            time.sleep(0.02)
            heard(1)
        return "all"

    monkeypatch.setattr(model_hub, "_LOOK_SECONDS", 0.001)
    monkeypatch.setattr(model_hub.time, "monotonic", lambda: clock[0])
    told, found = result(model_hub._aside(NAME, "download", work, 5))
    assert found == "all"
    assert told[0].share == 0
    assert told[-1].share >= 0.8


def test_a_download_that_is_stopped(cache):
    others = set(threading.enumerate())
    with fake_hub({NAME: FILES}, silent_about=(WEIGHTS,)) as hub:
        work = download(NAME, listed(hub), hub.endpoint)
        next(work)
        work.close()
        hub.closing.set()
        for thread in set(threading.enumerate()) - others:
            if thread.name == "model hub":
                thread.join(10)
                assert not thread.is_alive()
    assert not list(cache.rglob(WEIGHTS))
    assert not list(cache.rglob("*.incomplete"))


def test_found_again_without_a_network():
    assert cached(NAME) is None
    with fake_hub({NAME: FILES}) as hub:
        folder = fetched(hub)
    assert cached(NAME) == folder
    assert cached("owner/another") is None
