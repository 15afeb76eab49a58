"""A folder with a pretrained model, read into memory: safetensors and JSON only, and never a line of its code."""

import contextlib
import importlib
import inspect
import itertools
import json
import re
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import torch
from torch import nn

from attn_core.limits import MAX_ALL_HEADS, MAX_HEADS, MAX_LAYERS, MAX_MODEL_BYTES, MAX_MODEL_EDGE, MAX_PLACES

Kind = Literal["encoder", "decoder", "vision"]
Stage = Literal["check", "download", "libraries", "weights"]
Reason = Literal[
    "unknown",
    "no_network",
    "too_large",
    "no_safetensors",
    "damaged",
    "remote_code",
    "unsupported",
    "not_allowed",
    "name",
]

WEIGHTS, INDEX = "model.safetensors", "model.safetensors.index.json"
_MECAB_SETTINGS = {"mecab_dic"}  # others would open files by their path
_SETTINGS = ("config.json", "tokenizer_config.json", "preprocessor_config.json", "processor_config.json")

# One after the other, so that progress can be told. The second and third are what the fourth needs and take longest.
_LIBRARIES = (
    "transformers",
    "torch.distributed.tensor",
    "torch._dynamo",
    "transformers.modeling_utils",
    "transformers.models.auto.modeling_auto",
    "transformers.models.auto.tokenization_auto",
)

_importing = threading.Lock()


class ModelError(ValueError):
    """A model that cannot be had or used; `reason` says why in one word, `n_bytes` the size of one too large."""

    def __init__(self, reason: Reason, message: str, n_bytes: int | None = None) -> None:
        super().__init__(message)
        self.reason = reason
        self.n_bytes = n_bytes


@dataclass(frozen=True)
class PretrainedModel:
    """A model in memory: float32, in use (no dropout), without gradients.

    Attributes:
        name: under which it was asked for.
        kind: encoder (every token sees all), decoder (none sees what follows) or vision.
        model: of the transformers library, without the head of any task.
        tokenizer: cuts its texts; of a vision model, its image processor.
        n_parameters: how many numbers were learned.
        n_layers: layers of attention.
        n_heads: heads in each.
        d_model: size of an embedding.
        d_k: size of a query.
    """

    name: str
    kind: Kind
    model: nn.Module
    tokenizer: Any
    n_parameters: int
    n_layers: int
    n_heads: int
    d_model: int
    d_k: int


@dataclass(frozen=True)
class LoadProgress:
    """How far a model has come: what is done now, and which share of it; the last piece holds the model."""

    stage: Stage
    share: float
    model: PretrainedModel | None = None


def import_libraries() -> Iterator[LoadProgress]:
    """Imports what `load_folder` needs, and tells before each part what share is done.

    Two seconds or more, at the first time only. scipy stays out (35 MB): the library wants it for the training of
    object detectors alone, and takes itself to be without where it is told so.
    """
    for done, library in enumerate(_LIBRARIES):
        yield LoadProgress("libraries", done / len(_LIBRARIES))
        with _without_scipy() if library == "transformers.modeling_utils" else contextlib.nullcontext():
            importlib.import_module(library)


@contextlib.contextmanager
def _without_scipy() -> Iterator[None]:
    names = vars(importlib.import_module("transformers.utils"))
    with _importing:
        original = names["is_scipy_available"]
        names["is_scipy_available"] = lambda: False
        try:
            yield
        finally:
            names["is_scipy_available"] = original


def load_folder(folder: Path, name: str | None = None) -> PretrainedModel:
    """Reads a model from its folder. Nothing is asked of any network, and no file is run.

    It changes settings of the library for as long as it takes: one call at a time.

    Args:
        folder: with config.json, model.safetensors (or its parts and their index), and the files of the tokenizer or
            the image processor.
        name: what the model is to be called; by default as the folder.

    Raises:
        ModelError: there are no safetensors; the model needs code of its own, is of a kind that is not shown here, or
            too large; a file is damaged or missing; weights are missing or of another shape.
    """
    name = name or folder.name
    settings = _settings(folder, name)
    _check_weights(folder, name)
    with _quietly(), torch.random.fork_rng(devices=()), _understood(name):
        config = _config(folder, settings, name)
        kind = _kind(config, name)
        n_layers, n_heads, d_model = _sizes(config, name)
        model = _model(folder, config, name)
        tokenizer = _image_processor(folder, name) if kind == "vision" else _tokenizer(folder, model, name)
    return PretrainedModel(
        name,
        kind,
        model,
        tokenizer,
        n_parameters=sum(parameter.numel() for parameter in model.parameters()),
        n_layers=n_layers,
        n_heads=n_heads,
        d_model=d_model,
        d_k=getattr(config, "head_dim", None) or d_model // n_heads,
    )


# What can be told before the library is called.


def _settings(folder: Path, name: str) -> dict[str, Any]:
    """The content of config.json, once none of the folder's settings asks for code of its own."""
    found = {file: _read_json(folder / file) for file in _SETTINGS if (folder / file).exists()}
    if "config.json" not in found:
        raise ModelError("damaged", f"{name!r} has no config.json")
    for file, settings in found.items():
        if "auto_map" in settings:
            raise ModelError("remote_code", f"{name!r} needs code of its own ({file}), which is never run here")
    if any("transformers_weights" in settings for settings in found.values()):
        raise ModelError("unsupported", f"{name!r} asks for weights in other files than those that are read here")
    if odd := sorted(set(found.get("tokenizer_config.json", {}).get("mecab_kwargs") or {}) - _MECAB_SETTINGS):
        raise ModelError("unsupported", f"{name!r} hands {', '.join(odd)} to the program that cuts Japanese")
    if "quantization_config" in found["config.json"]:
        raise ModelError("unsupported", f"{name!r} has quantized weights")
    return found["config.json"]


def _read_json(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise ModelError("damaged", f"{path.name} cannot be read ({type(error).__name__})") from error
    if not isinstance(found, dict):
        raise ModelError("damaged", f"{path.name} must hold an object, got a {type(found).__name__}")
    return found


def _check_weights(folder: Path, name: str) -> None:
    """There are safetensors, all of them, and not too large. What other files hold weights is never looked at."""
    files = [WEIGHTS] if (folder / WEIGHTS).exists() else _parts(folder, name)
    if missing := [file for file in files if not (folder / file).exists()]:
        raise ModelError("damaged", f"{name!r} lacks {', '.join(missing)}")
    n_bytes = sum((folder / file).stat().st_size for file in files)
    check_size(name, n_bytes)


def _parts(folder: Path, name: str) -> list[str]:
    """The files that the index of divided weights names."""
    if not (folder / INDEX).exists():
        raise ModelError("no_safetensors", f"{name!r} has no weights in the safetensors format; no other is read")
    places = _read_json(folder / INDEX).get("weight_map")
    files = sorted({*places.values()}, key=str) if isinstance(places, dict) else []
    if not files or not all(isinstance(file, str) and is_part(file) for file in files):
        raise ModelError("damaged", f"{INDEX} does not say which files the weights of {name!r} are in")
    return files


def is_part(file: str) -> bool:
    """Whether a file is named as one of several with a model's weights."""
    return bool(re.fullmatch(r"model-[0-9]{5}-of-[0-9]{5}\.safetensors", file))


def check_size(name: str, n_bytes: int) -> None:
    """Refuses what is larger than MAX_MODEL_BYTES.

    Raises:
        ModelError: it is.
    """
    if n_bytes > MAX_MODEL_BYTES:
        message = f"{name!r} has {n_bytes:,} bytes; at most {MAX_MODEL_BYTES:,} are loaded"
        raise ModelError("too_large", message, n_bytes)


# The library.


@contextlib.contextmanager
def _quietly() -> Iterator[None]:
    """Without the library's progress bars and warnings; afterwards they are as they were."""
    logging = importlib.import_module("transformers.utils.logging")
    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()


@contextlib.contextmanager
def _understood(name: str) -> Iterator[None]:
    """Whatever the library raises about a stranger's files means: damaged, unless it lacks a package.

    Its own texts name folders of the server; they stay in the cause.
    """
    try:
        yield
    except ModelError:
        raise
    except ImportError as error:
        raise ModelError("unsupported", f"{name!r} needs a package that is not installed") from error
    except Exception as error:
        message = f"the files of {name!r} are damaged, missing, or do not fit ({type(error).__name__})"
        raise ModelError("damaged", message) from error


def _config(folder: Path, settings: Mapping[str, Any], name: str) -> Any:
    auto = importlib.import_module("transformers.models.auto.configuration_auto")
    if settings.get("model_type") not in auto.CONFIG_MAPPING_NAMES:
        raise ModelError("unsupported", f"{name!r} is of no known architecture: {settings.get('model_type')!r}")
    return auto.AutoConfig.from_pretrained(folder, local_files_only=True, trust_remote_code=False)


def _kind(config: Any, name: str) -> Kind:
    """Told by the tasks that the library has this architecture for."""
    tasks = importlib.import_module("transformers.models.auto.modeling_auto")
    architecture = config.model_type
    if config.is_encoder_decoder or architecture in tasks.MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES:
        raise ModelError("unsupported", f"{name!r} ({architecture}) is an encoder with a decoder; one of them is shown")
    if config.sub_configs:
        raise ModelError("unsupported", f"{name!r} ({architecture}) consists of several models")
    if architecture in tasks.MODEL_FOR_IMAGE_CLASSIFICATION_MAPPING_NAMES and hasattr(config, "patch_size"):
        _check_patches(config, name)
        return "vision"
    if architecture in tasks.MODEL_FOR_MASKED_LM_MAPPING_NAMES and not getattr(config, "is_decoder", False):
        return "encoder"
    if architecture in tasks.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES:
        return "decoder"
    raise ModelError("unsupported", f"{name!r} ({architecture}) reads neither texts nor pictures in patches")


def _check_patches(config: Any, name: str) -> None:
    """Attention takes the square of the number of patches: a small file can ask for any number."""
    edge, patch = getattr(config, "image_size", None), config.patch_size
    if not (isinstance(edge, int) and isinstance(patch, int) and patch > 0):
        raise ModelError("unsupported", f"{name!r} does not cut square pictures into square patches")
    if (edge // patch) ** 2 >= MAX_PLACES:
        raise ModelError(
            "unsupported", f"{name!r} sees {(edge // patch) ** 2:,} patches; fewer than {MAX_PLACES} are shown"
        )


def _sizes(config: Any, name: str) -> tuple[int, int, int]:
    """The numbers of layers and heads and the size of an embedding, where all layers have the same."""
    sizes = [getattr(config, size, None) for size in ("num_hidden_layers", "num_attention_heads", "hidden_size")]
    n_layers, n_heads, d_model = (size if isinstance(size, int) and size > 0 else 0 for size in sizes)
    if not (n_layers and n_heads and d_model):
        raise ModelError("unsupported", f"{name!r} ({config.model_type}) does not have layers with one number of heads")
    if n_layers > MAX_LAYERS:
        raise ModelError("unsupported", f"{name!r} has {n_layers:,} layers; at most {MAX_LAYERS} are shown")
    if n_heads > MAX_HEADS or n_layers * n_heads > MAX_ALL_HEADS:
        raise ModelError("unsupported", f"{name!r} has {n_layers} × {n_heads} heads; at most {MAX_ALL_HEADS} are shown")
    return n_layers, n_heads, d_model


def _model(folder: Path, config: Any, name: str) -> nn.Module:
    """Every weight from the files: one that they lack would be drawn at random, and the picture would be made up."""
    architecture: Any = importlib.import_module("transformers.models.auto.modeling_auto").MODEL_MAPPING[type(config)]
    if isinstance(architecture, tuple):
        raise ModelError("unsupported", f"{name!r} ({config.model_type}) has several variants")
    # The pooler sees what attention has made, and many files lack it.
    pooler = {"add_pooling_layer": False} if "add_pooling_layer" in inspect.signature(architecture).parameters else {}
    _check_room(architecture, config, pooler, name)
    model, report = architecture.from_pretrained(
        folder,
        config=config,
        dtype=torch.float32,
        attn_implementation="eager",
        local_files_only=True,
        use_safetensors=True,
        output_loading_info=True,
        **pooler,
    )
    if missing := sorted(report["missing_keys"]):
        raise ModelError("damaged", f"{name!r} lacks {len(missing)} of its weights, {missing[0]} among them")
    found: nn.Module = model.eval().requires_grad_(False)
    return found


def _check_room(architecture: Any, config: Any, arguments: Mapping[str, bool], name: str) -> None:
    """A config can claim any size: what the model would take is counted on one that has shapes, but no numbers."""
    with torch.device("meta"):
        model = architecture(config, **arguments)
    numbers = sum(tensor.numel() for tensor in itertools.chain(model.parameters(), model.buffers()))
    check_size(name, numbers * torch.float32.itemsize)


def _tokenizer(folder: Path, model: Any, name: str) -> Any:
    """A tokenizer whose every piece has an embedding."""
    auto = importlib.import_module("transformers.models.auto.tokenization_auto").AutoTokenizer
    tokenizer = auto.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
    n_embeddings = model.get_input_embeddings().num_embeddings
    if not set(tokenizer.get_vocab()) - set(tokenizer.all_special_tokens):
        raise ModelError("damaged", f"{name!r} has no vocabulary")
    if (largest := max(tokenizer.get_vocab().values())) >= n_embeddings:
        raise ModelError("damaged", f"{name!r} has a piece {largest:,}, but embeddings for {n_embeddings:,} only")
    return tokenizer


def _image_processor(folder: Path, name: str) -> Any:
    auto = importlib.import_module("transformers.models.auto.image_processing_auto").AutoImageProcessor
    processor = auto.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
    sizes = [size for found in (processor.size, processor.crop_size) if found for size in dict(found).values()]
    if any(size and size > MAX_MODEL_EDGE for size in sizes):
        raise ModelError("unsupported", f"{name!r} enlarges pictures to {max(filter(None, sizes)):,} pixels")
    return processor
