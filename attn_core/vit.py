"""A small Vision Transformer that reads handwritten digits, and its training.

A digit of 8 × 8 pixels becomes 16 patches of 2 × 2. A 17th token, the class token, goes before them:
what it has gathered after the last layer decides which digit it is.

`python -m attn_core.vit` (make vit) trains it and writes the weights that the pages show.

Source: Dosovitskiy et al. 2020 (arXiv 2010.11929), section 3.1 and equations 1 to 4. Smaller in every
size; no dropout, no pretraining.
"""

import functools
import hashlib
import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from attn_core.attention import AttentionTrace
from attn_core.images import Picture, digit_picture, digits, patch_names, to_patches
from attn_core.initial import InitialisedFrom
from attn_core.limits import MAX_EPOCHS, MAX_SEED
from attn_core.links import Linked, Whole, YesNo, linked
from attn_core.modules import MultiHeadSelfAttention
from attn_core.optimizer import Adam
from attn_core.stages import Matrix

PATCH_SIZE = 2
PATCHES_PER_EDGE = 4
N_LAYERS, N_HEADS = 2, 4
D_MODEL, HIDDEN = 32, 64
N_DIGITS = 10

HELD_OUT_SHARE = 0.2
SPLIT_SEED = 1998

# Chosen on parts of the training digits, four splits with four seeds, after the held-out accuracy had been seen once.
LEARNING_RATE, DECAY, BATCH = 0.006, 0.3, 64
TOKEN_DEVIATION = 0.2
WARM_UP = 50  # steps
_STEPS_PER_PIECE = 12

WEIGHTS = Path(__file__).parent / "weights" / "digits_vit.safetensors"


@dataclass(frozen=True)
class VitSettings(Linked):
    """What a trained model's numbers depend on: how often it sees each digit, and the seed of everything random."""

    vit_epochs: int = linked(25, Whole(1, MAX_EPOCHS))
    vit_seed: int = linked(0, Whole(0, MAX_SEED))


STORED = VitSettings()


@dataclass(frozen=True)
class VitView(Linked):
    """Which model is shown (trained now, or the stored one), and what of its attention.

    `vit_query` is the token that asks: 0 is the class token, 1 + n is patch n.
    """

    vit_live: bool = linked(False, YesNo())
    vit_layer: int = linked(N_LAYERS - 1, Whole(0, N_LAYERS - 1))
    vit_head: int = linked(0, Whole(0, N_HEADS - 1))
    vit_query: int = linked(0, Whole(0, PATCHES_PER_EDGE**2))

    @property
    def patch(self) -> int | None:
        """The patch that asks; None where it is the class token."""
        return self.vit_query - 1 if self.vit_query else None


# The model.


class Layer(nn.Module):
    """Attention, then two dense layers for each token by itself; each adds to what comes in (equations 2 and 3)."""

    def __init__(self) -> None:
        super().__init__()
        self.attention_norm = nn.LayerNorm(D_MODEL)
        self.attention = MultiHeadSelfAttention(D_MODEL, N_HEADS)
        self.dense_norm = nn.LayerNorm(D_MODEL)
        self.dense_in = nn.Linear(D_MODEL, HIDDEN)
        self.dense_out = nn.Linear(HIDDEN, D_MODEL)

    def forward(self, z: Float[Tensor, "*batch token d_model"]) -> Float[Tensor, "*batch token d_model"]:
        z = z + self.attention(self.attention_norm(z))
        hidden = nn.functional.gelu(self.dense_in(self.dense_norm(z)))
        mixed: Tensor = z + self.dense_out(hidden)
        return mixed

    def trace(self, z: Float[Tensor, "*batch token d_model"]) -> AttentionTrace:
        """What the attention of this layer does with z."""
        return self.attention.trace(self.attention_norm(z))


class DigitVit(nn.Module):
    """The Vision Transformer; made by `new_vit` (random) or `VitRun.model` (trained)."""

    def __init__(self) -> None:
        super().__init__()
        self.patch_dense = nn.Linear(PATCH_SIZE**2, D_MODEL)
        self.class_token = nn.Parameter(torch.zeros(D_MODEL))
        self.positions = nn.Parameter(torch.zeros(1 + PATCHES_PER_EDGE**2, D_MODEL))
        self.layers = nn.ModuleList(Layer() for _ in range(N_LAYERS))
        self.norm = nn.LayerNorm(D_MODEL)
        self.digit_dense = nn.Linear(D_MODEL, N_DIGITS)

    def embed(self, patches: Float[Tensor, "*batch patch number"]) -> Float[Tensor, "*batch token d_model"]:
        """The class token and the projected patches, each plus its position (equation 1)."""
        x = self.patch_dense(patches)
        class_token = self.class_token.expand(*x.shape[:-2], 1, D_MODEL)
        return torch.cat([class_token, x], dim=-2) + self.positions

    def forward(self, patches: Float[Tensor, "*batch patch number"]) -> Float[Tensor, "*batch digit"]:
        """A score for each digit; softmax makes them probabilities (equation 4 and a dense layer)."""
        z = self.embed(patches)
        for layer in self.layers:
            z = layer(z)
        scores: Tensor = self.digit_dense(self.norm(z[..., 0, :]))
        return scores

    def traces(self, patches: Float[Tensor, "*batch patch number"]) -> tuple[AttentionTrace, ...]:
        """The attention of every layer, with a leading axis of heads."""
        z, found = self.embed(patches), []
        for layer in self.layers:
            assert isinstance(layer, Layer)
            found.append(layer.trace(z))
            z = layer(z)
        return tuple(found)


def new_vit(seed: int) -> DigitVit:
    """A model before training, drawn from a generator of its own.

    Dense layers: Glorot and Bengio 2010, equation 16, and biases 0. Class token and positions: normal.
    """
    model, generator = _empty_vit(), torch.Generator().manual_seed(seed)
    for name, parameter in model.named_parameters():
        if name in ("class_token", "positions"):
            nn.init.normal_(parameter, std=TOKEN_DEVIATION, generator=generator)
        elif parameter.ndim == 2:
            nn.init.xavier_uniform_(parameter, generator=generator)
        else:
            nn.init.constant_(parameter, 1.0 if name.endswith("norm.weight") else 0.0)
    return model


def _empty_vit() -> DigitVit:
    """A model whose numbers are still to be set; those that the layers draw by themselves are drawn aside."""
    with InitialisedFrom(torch.Generator()):
        return DigitVit()


# The digits, in two parts.


@dataclass(frozen=True)
class LabelledPatches:
    """Digits cut into patches, the digit each shows, and whether each is held out from training."""

    patches: Float[Tensor, "digit patch number"]
    labels: Int[Tensor, " digit"]
    held_out: Bool[Tensor, " digit"]


@functools.cache
def labelled_patches() -> LabelledPatches:
    """All the digits; a fifth of each kind is held out, drawn from SPLIT_SEED whatever seed a model is trained from."""
    known = digits()
    patches = torch.stack([to_patches(pixels[:, :, None], PATCH_SIZE) for pixels in known.pixels])
    return LabelledPatches(patches, known.labels, stratified(known.labels, HELD_OUT_SHARE, SPLIT_SEED))


def stratified(labels: Int[Tensor, " item"], share: float, seed: int) -> Bool[Tensor, " item"]:
    """True for `share` of the items of every label, rounded, chosen at random."""
    generator = torch.Generator().manual_seed(seed)
    chosen = torch.zeros(len(labels), dtype=torch.bool)
    for label in sorted(set(labels.tolist())):
        places = torch.nonzero(labels == label)[:, 0]
        order = torch.randperm(len(places), generator=generator)
        chosen[places[order[: round(share * len(places))]]] = True
    return chosen


# Training.


@dataclass(frozen=True)
class CurvePoint:
    """Mean loss since the last point, and the share of held-out digits read correctly."""

    step: int
    loss: float
    accuracy: float


@dataclass(frozen=True)
class VitRun:
    """A training run up to a step: its curve so far and the weights at this step."""

    settings: VitSettings
    step: int
    steps: int
    curve: tuple[CurvePoint, ...]
    weights: Mapping[str, Tensor]

    @functools.cached_property
    def model(self) -> DigitVit:
        """The model with these weights, in float64, for reading only."""
        model = _empty_vit().double()
        model.load_state_dict(dict(self.weights))
        return model.requires_grad_(False).eval()

    @functools.cached_property
    def evaluation(self) -> "Evaluation":
        """How the model reads the held-out digits."""
        return evaluate(self.model)

    @property
    def share(self) -> float:
        """How much of the run is done, 0 … 1."""
        return self.step / self.steps

    @property
    def n_parameters(self) -> int:
        """All numbers that were learned."""
        return sum(value.numel() for value in self.weights.values())


def train_vit(settings: VitSettings) -> Iterator[VitRun]:
    """Trains a model on the digits that are not held out and yields it several times an epoch; the last is the result.

    Adam with decay, small batches in random order, a learning rate that rises, then falls to 0 like a cosine.
    The held-out digits are looked at to draw the curve; nothing is chosen by them. In float32.
    """
    data = labelled_patches()
    patches, labels = data.patches[~data.held_out].float(), data.labels[~data.held_out]
    model, generator = new_vit(2 * settings.vit_seed), torch.Generator().manual_seed(2 * settings.vit_seed + 1)
    parameters = list(model.parameters())
    layers = [Adam(p, LEARNING_RATE, decay=DECAY if p.ndim == 2 else 0.0) for p in parameters]
    steps = settings.vit_epochs * math.ceil(len(patches) / BATCH)
    losses: list[float] = []
    curve: list[CurvePoint] = []
    for step, batch in enumerate(_batches(len(patches), settings.vit_epochs, generator), 1):
        loss = nn.functional.cross_entropy(model(patches[batch]), labels[batch])
        for layer, gradient in zip(layers, torch.autograd.grad(loss, parameters), strict=True):
            layer.step(gradient, rate_share(step, steps))
        losses.append(loss.item())
        if step % _STEPS_PER_PIECE == 0 or step == steps:
            curve.append(CurvePoint(step, sum(losses) / len(losses), _held_out_accuracy(model, data)))
            losses.clear()
            yield VitRun(settings, step, steps, tuple(curve), _copied(model))


def rate_share(step: int, steps: int) -> float:
    """The share of the learning rate that a step (counted from 1) uses."""
    return min(1.0, step / WARM_UP) * (1 + math.cos(math.pi * (step - 1) / steps)) / 2


def _batches(n: int, epochs: int, generator: torch.Generator) -> Iterator[Int[Tensor, " batch"]]:
    """Every item once an epoch, in a new order each time."""
    for _ in range(epochs):
        order = torch.randperm(n, generator=generator)
        yield from (order[start : start + BATCH] for start in range(0, n, BATCH))


def _held_out_accuracy(model: DigitVit, data: LabelledPatches) -> float:
    with torch.no_grad():
        found = model(data.patches[data.held_out].float()).argmax(dim=-1)
    return float((found == data.labels[data.held_out]).double().mean())


def _copied(model: DigitVit) -> dict[str, Tensor]:
    return {name: value.clone() for name, value in model.state_dict().items()}


# What a trained model says.


@dataclass(frozen=True)
class Evaluation:
    """How a model reads the held-out digits: `confusion` counts them by the digit shown and the digit read.

    `misread` has the places, among all digits, of those read wrongly.
    """

    confusion: Int[Tensor, "shown read"]
    misread: tuple[int, ...]

    @property
    def n(self) -> int:
        """How many digits were held out."""
        return int(self.confusion.sum())

    @property
    def n_correct(self) -> int:
        return int(self.confusion.diagonal().sum())

    @property
    def accuracy(self) -> float:
        return self.n_correct / self.n

    def matrix(self) -> Matrix:
        """The counts as a matrix to draw."""
        names = tuple(map(str, range(N_DIGITS)))
        return Matrix("N", "n", "scores", self.confusion.double(), names, names)

    @property
    def accuracy_by_digit(self) -> Float[Tensor, " shown"]:
        """The share read correctly of each digit."""
        return self.confusion.diagonal().double() / self.confusion.sum(dim=-1)


def evaluate(model: DigitVit) -> Evaluation:
    """Reads all the held-out digits."""
    data = labelled_patches()
    shown, read = data.labels[data.held_out], model(data.patches[data.held_out]).argmax(dim=-1)
    confusion = torch.zeros(N_DIGITS, N_DIGITS, dtype=torch.int64)
    confusion.index_put_((shown, read), torch.ones_like(shown), accumulate=True)
    places = torch.nonzero(data.held_out)[:, 0]
    return Evaluation(confusion, tuple(places[shown != read].tolist()))


def probabilities(model: DigitVit, picture: Picture) -> Float[Tensor, " digit"]:
    """How likely the model holds each digit to be."""
    scores: Tensor = model(to_patches(picture.pixels, PATCH_SIZE))
    return scores.softmax(dim=-1)


def digit_attention(model: DigitVit, picture: Picture) -> tuple[AttentionTrace, ...]:
    """The attention of each layer over one digit: leading axis head, then tokens: the class token, the 16 patches."""
    return model.traces(to_patches(picture.pixels, PATCH_SIZE))


@dataclass(frozen=True)
class DigitReading:
    """One digit as a model reads it: what it shows, what is read, and the attention of every layer and head."""

    picture: Picture
    shown: int
    held_out: bool
    probabilities: Float[Tensor, " digit"]
    weights: Float[Tensor, "layer head token token"]

    @property
    def read(self) -> int:
        """The most likely digit."""
        return int(self.probabilities.argmax())

    @property
    def certainty(self) -> float:
        """How likely the model holds what it reads to be."""
        return float(self.probabilities.max())

    @property
    def right(self) -> Float[Tensor, " digit"]:
        """1 for the digit that is shown, 0 for the others: what the probabilities should be."""
        return nn.functional.one_hot(torch.tensor(self.shown), N_DIGITS).to(self.probabilities.dtype)

    def to_patches(self, query: int) -> tuple[Float[Tensor, "layer head patch"], Float[Tensor, "layer head"]]:
        """What a token (0: the class token) gives to each patch, and what it gives to the class token."""
        return self.weights[:, :, query, 1:], self.weights[:, :, query, 0]

    def peaks(self, query: int) -> tuple[tuple[tuple[int, int], str, float], ...]:
        """For each layer and head: where they are, the patch that a token gives most weight to, and that weight."""
        names, (weights, _) = patch_names(PATCHES_PER_EDGE, PATCHES_PER_EDGE), self.to_patches(query)
        places = [(layer, head) for layer in range(N_LAYERS) for head in range(N_HEADS)]
        return tuple((place, names[int(weights[place].argmax())], float(weights[place].max())) for place in places)


def query_at(row: int, column: int) -> int:
    """The token of the patch in a row and a column: the class token comes before all patches."""
    return 1 + row * PATCHES_PER_EDGE + column


def read_digit(model: DigitVit, index: int) -> DigitReading:
    """Reads one of the 1,797 digits.

    Raises:
        ValueError: there is no such digit.
    """
    picture, data = digit_picture(index), labelled_patches()
    weights = torch.stack([trace.weights for trace in digit_attention(model, picture)])
    return DigitReading(
        picture, int(data.labels[index]), bool(data.held_out[index]), probabilities(model, picture), weights
    )


def largest_difference(first: VitRun, second: VitRun) -> float:
    """The largest absolute difference between two runs' weights."""
    return max(float((value - second.weights[name]).abs().max()) for name, value in first.weights.items())


# The stored weights.


def stored_bytes(run: VitRun) -> bytes:
    """The run as a safetensors file; its metadata say how it was made, how well it reads, and what it must hold.

    Equal runs give equal bytes: the library would write the metadata in any order.
    """
    from safetensors.torch import save

    bare = save(dict(run.weights))
    metadata = {
        "command": "python -m attn_core.vit",
        "settings": json.dumps({name: str(getattr(run.settings, name)) for name in run.settings.names()}),
        "split": f"{HELD_OUT_SHARE:.0%} of each digit held out, seed {SPLIT_SEED}",
        "steps": str(run.steps),
        "curve": json.dumps([[point.step, point.loss, point.accuracy] for point in run.curve]),
        "held_out_accuracy": f"{run.curve[-1].accuracy:.4f}",
        "torch": torch.__version__,
        "sha256": _digest(bare),
    }
    header = json.dumps(_header(bare) | {"__metadata__": metadata}, sort_keys=True).encode()
    header += b" " * (-len(header) % 8)
    return len(header).to_bytes(8, "little") + header + _numbers(bare)


def load_vit(path: Path = WEIGHTS) -> VitRun:
    """The run whose weights are stored in a file.

    Raises:
        ValueError: the file is missing or damaged, or holds other weights than this model has.
    """
    from safetensors import SafetensorError
    from safetensors.torch import load

    try:
        data = path.read_bytes()
        metadata, weights = _header(data)["__metadata__"], load(data)
    except (OSError, ValueError, KeyError, TypeError, SafetensorError) as error:
        raise ValueError(f"{path.name} cannot be read ({error}); {_REMEDY}") from error
    if _digest(data) != metadata.get("sha256"):
        raise ValueError(f"{path.name} is damaged: its numbers are not those that were stored; {_REMEDY}")
    expected = {name: tuple(value.shape) for name, value in _empty_vit().state_dict().items()}
    if (found := {name: tuple(value.shape) for name, value in weights.items()}) != expected:
        odd = sorted(name for name in found.keys() | expected.keys() if found.get(name) != expected.get(name))
        raise ValueError(f"{path.name} holds other weights than the model has: {', '.join(odd)}; {_REMEDY}")
    curve = tuple(CurvePoint(*point) for point in json.loads(metadata["curve"]))
    steps = int(metadata["steps"])
    return VitRun(VitSettings.from_query(json.loads(metadata["settings"])), steps, steps, curve, weights)


_REMEDY = "`python -m attn_core.vit` makes it anew"


@functools.cache
def stored_vit() -> VitRun:
    """The run that comes with the project, read once."""
    return load_vit()


def _header(data: bytes) -> dict[str, Any]:
    """The JSON in front of the numbers (safetensors: eight bytes with its length, then it)."""
    header: dict[str, Any] = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
    return header


def _digest(data: bytes) -> str:
    """SHA-256 of the numbers, whatever stands in the header."""
    return hashlib.sha256(_numbers(data)).hexdigest()


def _numbers(data: bytes) -> bytes:
    """What follows the header."""
    return data[8 + int.from_bytes(data[:8], "little") :]


def main(settings: VitSettings = STORED) -> None:
    """Trains, prints the progress, and writes the file."""
    torch.set_num_threads(1)  # as on the server: the sums come out in the same order
    for run in train_vit(settings):
        point = run.curve[-1]
        print(f"step {run.step} of {run.steps}: loss {point.loss:.4f}, held-out accuracy {point.accuracy:.4f}")
    WEIGHTS.parent.mkdir(exist_ok=True)
    WEIGHTS.write_bytes(stored_bytes(run))
    found = evaluate(run.model)
    print(f"{found.n_correct} of {found.n} held-out digits read correctly; {WEIGHTS}")


if __name__ == "__main__":
    main()
