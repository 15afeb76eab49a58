"""The Vision Transformer: its steps against torch's own layers and NumPy, its training, its stored weights."""

import dataclasses
import inspect
import math
import pickle

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

from attn_core import vit
from attn_core.images import digit_picture, digits, to_patches
from attn_core.vit import (
    D_MODEL,
    HELD_OUT_SHARE,
    HIDDEN,
    N_HEADS,
    N_LAYERS,
    WEIGHTS,
    Layer,
    VitRun,
    VitSettings,
    VitView,
    digit_attention,
    evaluate,
    labelled_patches,
    largest_difference,
    load_vit,
    new_vit,
    probabilities,
    query_at,
    rate_share,
    read_digit,
    stored_bytes,
    stored_vit,
    stratified,
    train_vit,
)

SHORT = VitSettings(vit_epochs=1, vit_seed=3)


def last(settings: VitSettings) -> VitRun:
    *_, run = train_vit(settings)
    return run


@pytest.fixture(scope="module")
def short() -> VitRun:
    return last(SHORT)


def noise(*shape: int) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(1), dtype=torch.float64)


# The model.


def torch_s_own(layer: Layer) -> nn.TransformerEncoderLayer:
    """The same layer as torch builds it, with the same weights."""
    with torch.random.fork_rng(devices=[]):
        theirs = nn.TransformerEncoderLayer(
            D_MODEL, N_HEADS, HIDDEN, dropout=0.0, activation="gelu", batch_first=True, norm_first=True
        ).double()
    projections = [layer.attention.query_dense, layer.attention.key_dense, layer.attention.value_dense]
    parts = {
        "self_attn.out_proj": layer.attention.output_dense,
        "linear1": layer.dense_in,
        "linear2": layer.dense_out,
        "norm1": layer.attention_norm,
        "norm2": layer.dense_norm,
    }
    state = {f"{name}.{kind}": getattr(part, kind) for name, part in parts.items() for kind in ("weight", "bias")}
    state["self_attn.in_proj_weight"] = torch.cat([part.weight for part in projections])
    state["self_attn.in_proj_bias"] = torch.cat([part.bias for part in projections])
    theirs.load_state_dict(state)
    return theirs


@pytest.mark.parametrize("place", range(N_LAYERS))
def test_a_layer_is_torch_s_own(place):
    layer, z = stored_vit().model.layers[place], noise(3, 5, D_MODEL)
    assert_close(layer(z), torch_s_own(layer)(z))


def numpy_digit(weights: dict[str, np.ndarray], pixels: np.ndarray) -> tuple[np.ndarray, list[np.ndarray]]:
    """The scores of one digit and every layer's attention weights, with NumPy and loops over patches and heads."""

    def dense(name: str, x: np.ndarray) -> np.ndarray:
        return x @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]

    def norm(name: str, x: np.ndarray) -> np.ndarray:
        centred = x - x.mean(-1, keepdims=True)
        return (
            centred / np.sqrt(centred.var(-1, keepdims=True) + 1e-5) * weights[f"{name}.weight"]
            + weights[f"{name}.bias"]
        )

    patches = [pixels[2 * r : 2 * r + 2, 2 * c : 2 * c + 2].ravel() for r in range(4) for c in range(4)]
    z = np.vstack([weights["class_token"], dense("patch_dense", np.array(patches))]) + weights["positions"]
    found = []
    for n in range(N_LAYERS):
        name = f"layers.{n}."
        x, d_k, outputs, attention = norm(name + "attention_norm", z), D_MODEL // N_HEADS, [], []
        q, k, v = (dense(f"{name}attention.{part}_dense", x) for part in ("query", "key", "value"))
        for h in range(N_HEADS):
            part = slice(h * d_k, (h + 1) * d_k)
            powers = np.exp(q[:, part] @ k[:, part].T / math.sqrt(d_k))
            attention.append(powers / powers.sum(1, keepdims=True))
            outputs.append(attention[-1] @ v[:, part])
        z = z + dense(name + "attention.output_dense", np.hstack(outputs))
        hidden = dense(name + "dense_in", norm(name + "dense_norm", z))
        normal = np.array([[0.5 * (1 + math.erf(value / math.sqrt(2))) for value in row] for row in hidden])
        z = z + dense(name + "dense_out", hidden * normal)
        found.append(np.array(attention))
    return dense("digit_dense", norm("norm", z)[0]), found


@pytest.mark.parametrize("index", [0, 5, 1796])
def test_a_digit_against_numpy(index):
    model, picture = stored_vit().model, digit_picture(index)
    weights = {name: value.numpy() for name, value in model.state_dict().items()}
    scores, attention = numpy_digit(weights, picture.pixels[:, :, 0].numpy())
    assert_close(model(to_patches(picture.pixels, 2)), torch.from_numpy(scores))
    powers = np.exp(scores - scores.max())
    assert_close(probabilities(model, picture), torch.from_numpy(powers / powers.sum()))
    traces = digit_attention(model, picture)
    assert len(traces) == N_LAYERS
    for trace, expected in zip(traces, attention, strict=True):
        assert trace.weights.shape == (N_HEADS, 17, 17)
        assert_close(trace.weights, torch.from_numpy(expected))


def test_a_reading():
    model = stored_vit().model
    found = read_digit(model, 64)
    assert (found.shown, found.read, found.held_out) == (4, 4, True)
    assert found.certainty == pytest.approx(float(probabilities(model, digit_picture(64))[4]))
    assert found.right.tolist() == [0, 0, 0, 0, 1, 0, 0, 0, 0, 0]
    assert torch.equal(found.picture.pixels[:, :, 0], digits().pixels[64])
    traces = digit_attention(model, digit_picture(64))
    patches, own = found.to_patches(query_at(1, 2))
    for layer, trace in enumerate(traces):
        assert torch.equal(patches[layer], trace.weights[:, 7, 1:])
        assert torch.equal(own[layer], trace.weights[:, 7, 0])
    assert_close(patches.sum(dim=-1) + own, torch.ones(N_LAYERS, N_HEADS, dtype=torch.float64))
    place, name, weight = found.peaks(7)[5]
    assert place == (1, 1)
    assert weight == float(traces[1].weights[1, 7, 1:].max())
    row, column = divmod(int(traces[1].weights[1, 7, 1:].argmax()), 4)
    assert name == f"({row},{column})"
    with pytest.raises(ValueError, match=r"^index must be 0 … 1796, got 1797$"):
        read_digit(model, 1797)


def test_the_token_that_asks():
    assert VitView().patch is None
    assert VitView(vit_query=1).patch == 0
    assert VitView(vit_query=query_at(3, 3)).patch == 15


def test_a_batch_is_its_digits_one_by_one():
    model, patches = stored_vit().model, labelled_patches().patches[:4]
    one_by_one = torch.stack([model(digit) for digit in patches])
    assert_close(model(patches), one_by_one)
    assert_close(model(patches.reshape(2, 2, 16, 4)), one_by_one.reshape(2, 2, 10))


def test_a_fresh_model():
    model = new_vit(5)
    for name, parameter in model.named_parameters():
        if name.endswith("norm.weight"):
            assert (parameter == 1).all(), name
        elif name.endswith("bias"):
            assert (parameter == 0).all(), name
        else:
            assert parameter.std() > 0.05, name
    bound = math.sqrt(6 / (D_MODEL + HIDDEN))
    assert 0.97 * bound < model.layers[0].dense_in.weight.abs().max() <= bound
    assert all(torch.equal(a, b) for a, b in zip(model.parameters(), new_vit(5).parameters(), strict=True))
    assert not torch.equal(model.positions, new_vit(6).positions)


def test_gradients_reach_every_parameter():
    model = new_vit(0)
    model(labelled_patches().patches[:8].float()).square().sum().backward()
    for name, parameter in model.named_parameters():
        if not name.endswith("key_dense.bias"):  # it adds the same to a whole row of scores
            assert parameter.grad.abs().max() > 1e-6, name


# The split.


def test_a_stratified_split_by_hand():
    labels = torch.tensor([0] * 10 + [1] * 4 + [2] * 3 + [0] * 10)
    chosen = stratified(labels, 0.2, seed=0)
    assert [int(chosen[labels == label].sum()) for label in range(3)] == [4, 1, 1]
    assert torch.equal(chosen, stratified(labels, 0.2, seed=0))
    assert not torch.equal(chosen, stratified(labels, 0.2, seed=1))


def test_a_fifth_of_each_digit_is_held_out():
    data = labelled_patches()
    for digit in range(10):
        shown = data.labels == digit
        assert int(data.held_out[shown].sum()) == round(HELD_OUT_SHARE * int(shown.sum()))
    assert int(data.held_out.sum()) == 359
    assert torch.equal(data.patches[7], to_patches(digits().pixels[7][:, :, None], 2))


def test_no_digit_is_in_both_parts():
    """Not even as a copy: every picture of the 1,797 differs from every other."""
    data = labelled_patches()
    assert len(data.patches.flatten(1).unique(dim=0)) == len(data.patches)


# Training.


def test_the_rate_rises_and_falls():
    assert rate_share(1, 1000) == pytest.approx(1 / 50)
    assert rate_share(25, 1_000_000) == pytest.approx(0.5)
    assert rate_share(501, 1000) == pytest.approx(0.5)
    assert rate_share(1000, 1000) == pytest.approx((1 + math.cos(0.999 * math.pi)) / 2)
    assert max(rate_share(step, 575) for step in range(1, 576)) < 1


def test_the_pieces_of_a_run():
    runs = list(train_vit(SHORT))
    assert [(run.step, run.steps) for run in runs] == [(12, 23), (23, 23)]
    assert [run.share for run in runs] == [12 / 23, 1]
    assert [point.step for point in runs[-1].curve] == [12, 23]
    assert runs[-1].curve[:1] == runs[0].curve
    assert not torch.equal(runs[0].weights["positions"], runs[1].weights["positions"])
    assert runs[-1].curve[-1].accuracy == pytest.approx(evaluate(runs[-1].model).accuracy)


def test_the_first_loss_is_that_of_a_guess():
    first = next(train_vit(VitSettings(vit_epochs=1)))
    assert abs(first.curve[0].loss - math.log(10)) < 0.7


def test_the_same_seed_gives_the_same_weights(short):
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(99)
        again = last(SHORT)
    assert largest_difference(short, again) == 0
    assert short.curve == again.curve


def test_another_seed_gives_other_weights(short):
    other = last(dataclasses.replace(SHORT, vit_seed=4))
    assert largest_difference(short, other) > 0.1


def test_held_out_digits_teach_nothing(short, monkeypatch):
    data = labelled_patches()
    blank = data.patches.where(~data.held_out[:, None, None], 0.0)
    labels = data.labels.where(~data.held_out, 0)
    monkeypatch.setattr(vit, "labelled_patches", lambda: dataclasses.replace(data, patches=blank, labels=labels))
    assert largest_difference(short, last(SHORT)) == 0


def test_the_other_digits_do_teach(short, monkeypatch):
    """The check above can fail."""
    data = labelled_patches()
    blank = data.patches.where(data.held_out[:, None, None], 0.0)
    monkeypatch.setattr(vit, "labelled_patches", lambda: dataclasses.replace(data, patches=blank))
    assert largest_difference(short, last(SHORT)) > 0.01


def test_the_difference_by_hand(short):
    changed = {name: value.clone() for name, value in short.weights.items()}
    changed["positions"][3, 4] += 0.5
    assert largest_difference(short, dataclasses.replace(short, weights=changed)) == pytest.approx(0.5)


# What is stored.


def test_the_stored_weights_read_held_out_digits():
    run = stored_vit()
    found = evaluate(run.model)
    assert (run.settings, run.step) == (VitSettings(), run.steps)
    assert found.accuracy >= 0.95
    assert found.accuracy == pytest.approx(run.curve[-1].accuracy)
    assert found.n == 359
    assert float(found.accuracy_by_digit.min()) >= 0.85
    assert len(found.misread) == found.n - found.n_correct
    data = labelled_patches()
    for place in found.misread:
        assert data.held_out[place]
        assert int(probabilities(run.model, digit_picture(place)).argmax()) != int(data.labels[place])
    assert torch.equal(found.confusion.sum(dim=1), data.labels[data.held_out].bincount())
    assert torch.equal(found.matrix().values, found.confusion.double())
    assert run.evaluation.n_correct == found.n_correct
    assert run.n_parameters == sum(parameter.numel() for parameter in run.model.parameters()) == 18_218


def test_the_stored_weights_read_digits_they_have_learned_from_better():
    data, model = labelled_patches(), stored_vit().model
    known = ~data.held_out
    assert float((model(data.patches[known]).argmax(dim=-1) == data.labels[known]).double().mean()) > 0.99


def test_storing_and_loading(tmp_path, short):
    path = tmp_path / "digits.safetensors"
    path.write_bytes(stored_bytes(short))
    found = load_vit(path)
    assert (found.settings, found.step, found.steps, found.curve) == (SHORT, short.step, short.steps, short.curve)
    assert largest_difference(found, short) == 0
    assert stored_bytes(found) == path.read_bytes()


def test_the_stored_file():
    from safetensors import safe_open

    assert WEIGHTS.stat().st_size <= 300_000
    with safe_open(WEIGHTS, "pt") as file:
        metadata = file.metadata()
    assert metadata["command"] == "python -m attn_core.vit"
    assert metadata["settings"] == '{"vit_epochs": "25", "vit_seed": "0"}'
    assert metadata["split"] == "20% of each digit held out, seed 1998"
    assert float(metadata["held_out_accuracy"]) >= 0.95


REMEDY = r"; `python -m attn_core.vit` makes it anew$"


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: data[:-1],
        lambda data: data[:5000],
        lambda data: data[:4],
        lambda _data: b"",
        lambda data: b"\xff" * 8 + data[8:],
        lambda data: data[:8] + b"[" + data[9:],
        lambda _data: b"\x02" + bytes(7) + b"[]",
        lambda _data: b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n",
        lambda _data: pickle.dumps({"positions": 1}),
    ],
    ids=["short", "cut", "very short", "empty", "length", "header", "list", "pointer", "pickle"],
)
def test_a_file_that_is_damaged(tmp_path, damage):
    path = tmp_path / "digits.safetensors"
    path.write_bytes(damage(WEIGHTS.read_bytes()))
    with pytest.raises(ValueError, match=r"(?s)^digits\.safetensors cannot be read \(.+\)" + REMEDY):
        load_vit(path)


def test_a_file_that_is_missing(tmp_path):
    with pytest.raises(ValueError, match=r"^none cannot be read \(.+\)" + REMEDY):
        load_vit(tmp_path / "none")


def test_a_single_bit(tmp_path):
    data = bytearray(WEIGHTS.read_bytes())
    data[-100] ^= 1
    path = tmp_path / "digits.safetensors"
    path.write_bytes(data)
    with pytest.raises(ValueError, match=r"^digits\.safetensors is damaged: its numbers are not those that were s"):
        load_vit(path)


def test_weights_of_another_model(tmp_path, short):
    weights = dict(short.weights) | {"positions": torch.zeros(5, D_MODEL)}
    del weights["class_token"]
    path = tmp_path / "other.safetensors"
    path.write_bytes(stored_bytes(dataclasses.replace(short, weights=weights)))
    message = r"^other\.safetensors holds other weights than the model has: class_token, positions" + REMEDY
    with pytest.raises(ValueError, match=message):
        load_vit(path)


def test_no_pickle_is_read():
    assert "pickle" not in inspect.getsource(vit)
    assert "torch.load(" not in inspect.getsource(vit)


def test_the_command(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(vit, "WEIGHTS", tmp_path / "weights" / "digits.safetensors")
    monkeypatch.setattr(torch, "set_num_threads", lambda _n: None)
    vit.main(SHORT)
    first, second, end = capsys.readouterr().out.splitlines()
    assert first.startswith("step 12 of 23: loss ")
    assert second.startswith("step 23 of 23: loss ")
    assert end.endswith("digits.safetensors")
    assert " of 359 held-out digits read correctly" in end
    assert load_vit(tmp_path / "weights" / "digits.safetensors").step == 23
