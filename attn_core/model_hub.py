"""Models by name from the hub: what a name stands for, how large it is, and its download.

Only files that were counted before are downloaded, of the very revision that was asked about, and no account is used:
what a server's operator may read is not for every visitor.
"""

import contextlib
import functools
import importlib
import re
import threading
import time
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from attn_core.limits import MAX_NAME
from attn_core.model_folder import INDEX, WEIGHTS, LoadProgress, ModelError, Stage, check_size, is_part

Result = TypeVar("Result")

ANSWER_SECONDS = 5.0  # within which the hub must react when it is asked
QUESTION_SECONDS = 10.0  # for the whole question: looking up a host knows no limit of its own
SILENCE_SECONDS = 60.0  # after which a download is given up: the library tells of every 10 MB
_LOOK_SECONDS = 0.2


@dataclass(frozen=True)
class Listing:
    """What would be downloaded of a model: the revision, and the size of each file."""

    revision: str
    files: dict[str, int]

    @property
    def n_bytes(self) -> int:
        """All files together."""
        return sum(self.files.values())


def check_name(name: str) -> None:
    """Whether a name has the form owner/model; asks nobody.

    Raises:
        ModelError: it has not.
    """
    part = r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?"
    if len(name) > MAX_NAME or not re.fullmatch(f"{part}/{part}", name) or ".." in name or "--" in name:
        raise ModelError(
            "name", f"a model's name has the form owner/model, at most {MAX_NAME} characters; got {name!r}"
        )


def listing(name: str, endpoint: str | None) -> Generator[LoadProgress, None, Listing]:
    """Asks the hub for a model's files; returns what would be downloaded.

    Raises:
        ModelError: there is no such model (or only with an account), no network, no safetensors, or it is too large.
    """
    info = yield from _aside(name, "check", lambda _: _info(name, endpoint))
    if info.gated or info.private or info.disabled:
        raise ModelError("unknown", f"{name!r} is not open to everybody")
    if not re.fullmatch("[0-9a-f]{40}", info.sha or ""):
        raise ModelError("no_network", f"what answers for {name!r} tells no revision")
    files = _wanted({file.rfilename: file.size for file in info.siblings or ()}, name)
    if None in files.values():
        raise ModelError("no_network", f"what answers for {name!r} tells no sizes")
    check_size(name, sum(files.values()))
    return Listing(info.sha, files)


def download(name: str, wanted: Listing, endpoint: str | None) -> Generator[LoadProgress, None, Path]:
    """Downloads into the library's own cache; returns the folder.

    Closed before its end, it stops the download.

    Raises:
        ModelError: the network fails.
    """
    work = functools.partial(_snapshot, name, wanted, endpoint)
    folder = yield from _aside(name, "download", work, wanted.n_bytes)
    # By this the model is found again when there is no network.
    reference = folder.parents[1] / "refs" / "main"
    reference.parent.mkdir(exist_ok=True)
    reference.write_text(wanted.revision)
    return folder


def cached(name: str) -> Path | None:
    """The folder of a model downloaded before, if there is one; asks nobody."""
    from huggingface_hub import snapshot_download

    with contextlib.suppress(OSError, ValueError):
        return Path(snapshot_download(name, local_files_only=True, allow_patterns=["config.json"]))
    return None


# What is asked of the library.


def _info(name: str, endpoint: str | None) -> Any:
    from huggingface_hub import HfApi

    api = HfApi(endpoint=endpoint, token=False)
    return api.model_info(name, files_metadata=True, timeout=ANSWER_SECONDS)


def _wanted(sizes: dict[str, Any], name: str) -> dict[str, int]:
    """Settings, vocabularies and safetensors at the top of the repository, in one file or divided."""
    weights = {WEIGHTS} & sizes.keys() or {file for file in sizes if is_part(file) and INDEX in sizes}
    if not weights:
        raise ModelError("no_safetensors", f"{name!r} has no weights in the safetensors format; no other is read")
    texts = {file for file in sizes if re.fullmatch(r"[A-Za-z0-9._-]+\.(json|txt|model)", file)}
    return {file: sizes[file] for file in sorted(weights | texts)}


def _snapshot(name: str, wanted: Listing, endpoint: str | None, heard: Callable[[int], None]) -> Path:
    from huggingface_hub import snapshot_download

    folder = snapshot_download(
        name,
        revision=wanted.revision,
        allow_patterns=list(wanted.files),
        endpoint=endpoint,
        token=False,
        tqdm_class=_bar(heard),
    )
    return Path(folder)


def _bar(heard: Callable[[int], None]) -> Any:
    """A progress bar that shows nothing, and tells how many bytes have come."""
    tqdm: Any = importlib.import_module("huggingface_hub.utils").tqdm

    class Bar(tqdm):  # type: ignore[misc]
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            self.counts = kwargs.get("name") == "huggingface_hub.snapshot_download"
            super().__init__(*args, **kwargs | {"disable": True})

        def update(self, n: float | None = 1) -> None:
            heard(int(n or 0) if self.counts else 0)

    return Bar


# Waiting for the network without being held by it.


class _StoppedError(Exception):
    """Raised in a thread whose result nobody waits for any more."""


class _Aside(Generic[Result]):
    """A piece of work in a thread of its own: a server that keeps silent holds nobody but that thread."""

    def __init__(self, work: Callable[[Callable[[int], None]], Result]) -> None:
        self.received = 0
        self.heard_at = time.monotonic()
        self.stopped, self.ended = threading.Event(), threading.Event()
        self.result: Result | None = None
        self.error: Exception | None = None
        threading.Thread(target=self._run, args=(work,), name="model hub", daemon=True).start()

    def _run(self, work: Callable[[Callable[[int], None]], Result]) -> None:
        try:
            self.result = work(self._heard)
        except Exception as error:
            self.error = error
        finally:
            self.ended.set()

    def _heard(self, n_bytes: int) -> None:
        if self.stopped.is_set():
            raise _StoppedError
        self.received += n_bytes
        self.heard_at = time.monotonic()


def _aside(
    name: str, stage: Stage, work: Callable[[Callable[[int], None]], Result], n_bytes: int = 1
) -> Generator[LoadProgress, None, Result]:
    """Tells several times a second what share of so many bytes has come, and returns the work's result."""
    aside, patience = _Aside(work), SILENCE_SECONDS if stage == "download" else QUESTION_SECONDS
    try:
        while not aside.ended.wait(_LOOK_SECONDS):
            if time.monotonic() - aside.heard_at > patience:
                raise ModelError("no_network", f"nothing of {name!r} has come for {patience:.0f} seconds")
            yield LoadProgress(stage, min(1.0, aside.received / max(1, n_bytes)))
    finally:
        aside.stopped.set()
    with _understood(name):
        if aside.error is not None:
            raise aside.error
    return aside.result  # type: ignore[return-value]


@contextlib.contextmanager
def _understood(name: str) -> Iterator[None]:
    """What the library raises means that there is no such model for everybody, or else that the network fails."""
    from huggingface_hub.errors import HfHubHTTPError

    try:
        yield
    except Exception as error:
        if isinstance(error, HfHubHTTPError) and error.response.status_code in (401, 403, 404, 410, 451):
            raise ModelError("unknown", f"there is no model {name!r} that is open to everybody") from error
        message = f"{name!r} could not be had: no network, or no answer ({type(error).__name__})"
        raise ModelError("no_network", message) from error
