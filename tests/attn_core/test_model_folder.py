"""Models in folders: the numbers that were saved, nothing else read, and a reason for each folder that is no model."""

import json
import pickle
import shutil
import socket
from collections.abc import Callable
from logging import Handler, LogRecord
from pathlib import Path
from typing import Any, NoReturn

import pytest
import torch
import transformers
from PIL import Image
from safetensors.torch import load_file, save_file
from transformers.utils import logging

from attn_core import model_folder
from attn_core.model_folder import INDEX, WEIGHTS, ModelError, PretrainedModel, import_libraries, load_folder
from tests.attn_core.saved_models import KINDS, save

Saved = Callable[[str], Path]


@pytest.fixture(scope="module")
def originals(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folders = {kind: tmp_path_factory.mktemp(kind) for kind in KINDS}
    for kind, folder in folders.items():
        save(folder, kind)
    return folders


@pytest.fixture
def saved(originals: dict[str, Path], tmp_path: Path) -> Saved:
    """A copy of a saved model's folder."""
    return lambda kind: Path(shutil.copytree(originals[kind], tmp_path / kind))


@pytest.fixture(autouse=True)
def _no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: object, **_: object) -> NoReturn:
        raise AssertionError(f"a network was asked: {args}")

    for name in ("connect", "connect_ex", "sendto", "bind"):
        monkeypatch.setattr(socket.socket, name, refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


def change(path: Path, **values: Any) -> None:
    """Puts values into a file of settings."""
    path.write_text(json.dumps(json.loads(path.read_text()) | values))


def reason(folder: Path) -> str:
    """Why a folder is refused."""
    with pytest.raises(ModelError) as caught:
        load_folder(folder)
    assert str(folder.parent) not in str(caught.value)
    return caught.value.reason


# What is loaded is what was saved.


def numbers(model: Any, inputs: dict[str, torch.Tensor]) -> torch.Tensor:
    with torch.no_grad():
        found: torch.Tensor = model(**inputs).last_hidden_state
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_the_numbers_are_those_of_the_model_before_it_was_saved(kind, tmp_path):
    original = save(tmp_path, kind)
    loaded = load_folder(tmp_path, "a name")
    if kind == "vit":
        inputs = loaded.tokenizer(Image.new("RGB", (20, 10), "red"), return_tensors="pt")
    else:
        inputs = loaded.tokenizer("the animal: 私は学生です。", return_tensors="pt")
    assert torch.equal(numbers(loaded.model, inputs), numbers(original, inputs))
    assert not loaded.model.training
    assert {parameter.dtype for parameter in loaded.model.parameters()} == {torch.float32}
    assert not any(parameter.requires_grad for parameter in loaded.model.parameters())


def facts(loaded: PretrainedModel) -> tuple[object, ...]:
    return loaded.name, loaded.kind, loaded.n_parameters, loaded.n_layers, loaded.n_heads, loaded.d_model, loaded.d_k


def test_what_is_told_of_a_model(saved):
    embeddings = (12 + 512 + 2) * 16 + 2 * 16  # of words, places and segments; the norm
    layer = 4 * 17 * 16 + 17 * 24 + 25 * 16 + 2 * 2 * 16  # W_Q, W_K, W_V, W_O; feed forward; two norms
    of_bert = embeddings + 2 * layer
    assert facts(load_folder(saved("bert"), "a/b")) == ("a/b", "encoder", of_bert, 2, 4, 16, 4)
    assert facts(load_folder(saved("gpt2")))[:2] == ("gpt2", "decoder")
    assert facts(load_folder(saved("vit")))[:2] == ("vit", "vision")


def test_texts_are_cut_by_the_model_s_own_tokenizer(saved):
    bert, gpt2, japanese = (load_folder(saved(kind)).tokenizer for kind in ("bert", "gpt2", "japanese"))
    assert bert.tokenize("The animal crosses.") == ["the", "animal", "cross", "##es", "."]
    assert gpt2.tokenize("a é") == ["a", "Ġ", "Ã", "©"]
    assert japanese.tokenize("私は学生です。") == ["私", "は", "学生", "です", "。"]


def test_a_head_of_a_size_of_its_own(saved):
    folder = saved("gpt2")
    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 4, "head_dim": 6}
    with torch.random.fork_rng(devices=()):
        config = transformers.LlamaConfig(vocab_size=257, intermediate_size=8, **sizes)
        transformers.LlamaModel(config).save_pretrained(folder)
    assert facts(load_folder(folder)) == ("gpt2", "decoder", 257 * 16 + 4 * 24 * 16 + 3 * 8 * 16 + 3 * 16, 1, 4, 16, 6)


def test_divided_weights(saved):
    folder = saved("gpt2")
    whole = load_folder(folder)
    (folder / WEIGHTS).unlink()
    whole.model.save_pretrained(folder, max_shard_size="10KB")
    assert len(list(folder.glob("model-*.safetensors"))) > 2
    assert facts(load_folder(folder)) == facts(whole)
    inputs = {"input_ids": torch.tensor([[5, 6, 7]])}
    assert torch.equal(numbers(load_folder(folder).model, inputs), numbers(whole.model, inputs))


def test_half_precision_becomes_float32(saved):
    folder = saved("bert")
    half = {name: weight.half() for name, weight in load_file(folder / WEIGHTS).items()}
    save_file(half, folder / WEIGHTS)
    change(folder / "config.json", dtype="float16")
    model = load_folder(folder).model
    assert {parameter.dtype for parameter in model.parameters()} == {torch.float32}
    assert torch.equal(
        model.get_parameter("embeddings.word_embeddings.weight"), half["bert.embeddings.word_embeddings.weight"].float()
    )


def test_old_names_of_weights(saved):
    """Published files of BERT still call the norm's weights gamma and beta."""
    folder = saved("bert")
    inputs = {"input_ids": torch.tensor([[2, 5, 6, 3]])}
    expected = numbers(load_folder(folder).model, inputs)
    renamed = {
        name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta"): weight
        for name, weight in load_file(folder / WEIGHTS).items()
    }
    save_file(renamed, folder / WEIGHTS)
    assert torch.equal(numbers(load_folder(folder).model, inputs), expected)


@pytest.mark.parametrize("level", [logging.WARNING, logging.INFO])
def test_the_library_keeps_silent_and_is_left_as_it_was(saved, capfd, level):
    folder, usual, told = saved("bert"), logging.get_verbosity(), Records()
    logging.set_verbosity(level)
    logging.add_handler(told)
    try:
        assert logging.is_progress_bar_enabled()
        load_folder(folder)
        assert logging.get_verbosity() == level
        assert logging.is_progress_bar_enabled()
    finally:
        logging.remove_handler(told)
        logging.set_verbosity(usual)
    assert told.records == []
    assert capfd.readouterr() == ("", "")


class Records(Handler):
    """Keeps what is logged."""

    def __init__(self) -> None:
        super().__init__()
        self.records: list[LogRecord] = []

    def emit(self, record: LogRecord) -> None:
        self.records.append(record)


# What is refused.


class Trap:
    """Read as a pickle, it leaves a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, tuple[Path]]:
        return Path.touch, (self.path,)


def test_pickles_are_never_read(saved, tmp_path):
    folder, sprung = saved("bert"), tmp_path / "sprung"
    trap = pickle.dumps(Trap(sprung))
    pickle.loads(trap)
    assert sprung.exists()
    sprung.unlink()
    for name in ("pytorch_model.bin", "model.bin", "training_args.bin", "optimizer.pt", "vocab.pkl"):
        (folder / name).write_bytes(trap)
    load_folder(folder)
    (folder / WEIGHTS).unlink()
    assert reason(folder) == "no_safetensors"
    assert not sprung.exists()


@pytest.mark.parametrize("elsewhere", ["adapter_model.bin", "../outside.bin", "x.safetensors.index.json"])
def test_settings_that_send_for_weights_elsewhere(saved, elsewhere):
    folder = saved("bert")
    change(folder / "config.json", transformers_weights=elsewhere)
    assert reason(folder) == "unsupported"


@pytest.mark.parametrize("setting", ["mecab_option", "never_split", "another"])
def test_nothing_is_handed_to_mecab_but_its_dictionary(saved, setting):
    folder = saved("japanese")
    change(folder / "tokenizer_config.json", mecab_kwargs={"mecab_dic": "unidic_lite", setting: "-u /etc/passwd"})
    assert reason(folder) == "unsupported"


def test_more_heads_than_are_shown(saved):
    for values in (
        {"num_attention_heads": 64, "hidden_size": 64},
        {"num_hidden_layers": 26, "num_attention_heads": 24},
    ):
        folder = saved("bert")
        change(folder / "config.json", **values)
        assert reason(folder) == "unsupported"
        shutil.rmtree(folder)


def test_pictures_of_very_many_patches(saved):
    folder = saved("vit")
    change(folder / "config.json", image_size=1024, patch_size=16)
    assert reason(folder) == "unsupported"


@pytest.mark.parametrize("size", [20_000, {"height": 8, "width": 20_000}], ids=str)
def test_pictures_that_would_be_enlarged_without_bound(saved, size):
    folder = saved("vit")
    change(folder / "preprocessor_config.json", size=size)
    assert reason(folder) == "unsupported"


def test_no_code_is_run(saved, tmp_path):
    ran = tmp_path / "ran"
    for file in ("config.json", "tokenizer_config.json"):
        folder = saved("bert")
        (folder / "own.py").write_text(f"open({str(ran)!r}, 'w')")
        change(folder / file, auto_map={"AutoModel": "own.Model", "AutoTokenizer": ["own.Tokenizer", None]})
        assert reason(folder) == "remote_code"
        shutil.rmtree(folder)
    folder = saved("vit")
    change(folder / "preprocessor_config.json", auto_map={"AutoImageProcessor": "own.Processor"})
    assert reason(folder) == "remote_code"
    assert not ran.exists()


@pytest.mark.parametrize("text", ["", "{", "[1]", "null", '"text"', "[" * 100_000, "\xff\xfe", '{"model_type": NaN'])
@pytest.mark.parametrize("file", ["config.json", "tokenizer_config.json"])
def test_settings_that_are_no_settings(saved, file, text):
    folder = saved("bert")
    (folder / file).write_text(text, "latin-1")
    assert reason(folder) == "damaged"


def test_a_folder_that_is_none(tmp_path):
    assert reason(tmp_path) == "damaged"
    assert reason(tmp_path / "absent") == "damaged"


@pytest.mark.parametrize("kept", [0, 7, 100, -1])
def test_weights_that_are_cut_off(saved, kept):
    folder = saved("gpt2")
    (folder / WEIGHTS).write_bytes((folder / WEIGHTS).read_bytes()[:kept])
    assert reason(folder) == "damaged"


def test_weights_that_are_missing_are_not_drawn(saved):
    folder = saved("bert")
    weights = load_file(folder / WEIGHTS)
    del weights["bert.encoder.layer.1.attention.self.key.weight"]
    save_file(weights, folder / WEIGHTS)
    with pytest.raises(
        ModelError, match=r"lacks 1 of its weights, encoder\.layer\.1\.attention\.self\.key\.weight"
    ) as e:
        load_folder(folder)
    assert e.value.reason == "damaged"


def test_weights_of_another_model(saved):
    folder = saved("bert")
    shutil.copy(saved("vit") / WEIGHTS, folder)
    assert reason(folder) == "damaged"


@pytest.mark.parametrize("setting", [{"hidden_size": 32}, {"num_hidden_layers": 3}, {"vocab_size": 13}])
def test_weights_of_another_size(saved, setting):
    folder = saved("bert")
    change(folder / "config.json", **setting)
    assert reason(folder) == "damaged"


@pytest.mark.parametrize(
    "places",
    [
        None,
        {},
        [],
        {"a": 1},
        {"a": "model-00001-of-00002.safetensors", "b": "model-00002-of-00002.safetensors"},
    ],
)
def test_an_index_that_leads_nowhere(saved, places):
    folder = saved("bert")
    (folder / WEIGHTS).rename(folder / "model-00001-of-00002.safetensors")
    (folder / INDEX).write_text(json.dumps({"weight_map": places}))
    assert reason(folder) == "damaged"


@pytest.mark.parametrize("file", ["../outside.safetensors", "other.safetensors", "pytorch_model.bin"])
def test_an_index_that_leads_elsewhere(saved, file):
    """Even where there are all the weights."""
    folder = saved("bert")
    places = dict.fromkeys(load_file(folder / WEIGHTS), file)
    (folder / INDEX).write_text(json.dumps({"metadata": {"total_size": 1}, "weight_map": places}))
    (folder / WEIGHTS).rename(folder / file)
    assert reason(folder) == "damaged"


def test_too_large_as_a_file(saved, monkeypatch):
    folder = saved("bert")
    n_bytes = (folder / WEIGHTS).stat().st_size
    monkeypatch.setattr(model_folder, "MAX_MODEL_BYTES", n_bytes - 1)
    with pytest.raises(ModelError, match=rf"^'bert' has {n_bytes:,} bytes; at most {n_bytes - 1:,} are loaded$") as e:
        load_folder(folder)
    assert (e.value.reason, e.value.n_bytes) == ("too_large", n_bytes)
    monkeypatch.setattr(model_folder, "MAX_MODEL_BYTES", n_bytes)
    load_folder(folder)


@pytest.mark.parametrize("setting", [{"vocab_size": 10**9}, {"max_position_embeddings": 10**10}])
def test_too_large_as_its_settings_claim(saved, setting):
    """Nothing of that size is made, not even for a moment."""
    folder = saved("bert")
    change(folder / "config.json", **setting)
    assert reason(folder) == "too_large"


def test_too_many_layers(saved):
    folder = saved("bert")
    change(folder / "config.json", num_hidden_layers=10**7)
    assert reason(folder) == "unsupported"


@pytest.mark.parametrize(
    "setting",
    [
        {"model_type": "no such"},
        {"model_type": None},
        {"quantization_config": {"quant_method": "bitsandbytes", "load_in_4bit": True}},
        {"quantization_config": {"quant_method": "no such"}},
    ],
)
def test_what_the_library_does_not_know(saved, setting):
    folder = saved("bert")
    change(folder / "config.json", **setting)
    assert reason(folder) == "unsupported"


@pytest.mark.parametrize(
    "kind",
    ["bart", "t5", "marian", "clip", "git", "whisper", "wav2vec2", "mamba", "resnet", "swin", "imagegpt"],
)
def test_kinds_that_are_not_shown(saved, kind):
    folder = saved("bert")
    (folder / "config.json").write_text(json.dumps({"model_type": kind}))
    assert reason(folder) == "unsupported"


def test_a_package_that_is_not_here(saved):
    folder = saved("japanese")
    change(folder / "tokenizer_config.json", mecab_kwargs={"mecab_dic": "ipadic"})
    assert reason(folder) == "unsupported"


@pytest.mark.parametrize("kind", ["bert", "gpt2", "vit", "japanese"])
def test_nothing_that_reads_texts_or_pictures(saved, kind):
    folder = saved(kind)
    for file in folder.iterdir():
        if file.name not in ("config.json", WEIGHTS):
            file.unlink()
    assert reason(folder) == "damaged"


def test_a_piece_without_an_embedding(saved):
    folder = saved("bert")
    with (folder / "vocab.txt").open("a") as file:
        file.write("one\ntwo\n")
    with pytest.raises(ModelError, match=r"^'bert' has a piece 12, but embeddings for 12 only$") as e:
        load_folder(folder)
    assert e.value.reason == "damaged"


# Libraries.


def test_progress_of_the_imports():
    shares = [progress.share for progress in import_libraries()]
    assert {progress.stage for progress in import_libraries()} == {"libraries"}
    assert shares[0] == 0
    assert shares == sorted(shares)
    assert shares[-1] < 1
