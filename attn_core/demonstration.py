"""The demonstration of SimpleSelfAttention: one run on uniform random numbers, with everything measured on it."""

import functools
from dataclasses import dataclass, replace

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional

from attn_core.attention import AttentionTrace
from attn_core.initial import InitialisedFrom
from attn_core.limits import MAX_BATCH, MAX_MODULE_SIZE, MAX_SEED, MAX_SEQUENCE
from attn_core.links import Linked, Real, Whole, linked
from attn_core.modules import SimpleSelfAttention
from attn_core.stages import Matrix, Role

# The names that `forward` gives its tensors, in order; then its return.
LINES = ("x", "query", "key", "value", "scores", "weights", "output", "return")
INPUT_SCALES = (0.0, 0.5, 1.0, 2.0, 4.0, 8.0)
SHOWN_ROWS, SHOWN_COLUMNS = 10, 6

_ROLES: dict[str, tuple[str, str, Role]] = {
    "x": ("X", "x", "embedding"),
    "query": ("Q", "q", "query"),
    "key": ("K", "k", "key"),
    "value": ("V", "v", "value"),
    "scores": (r"S / \sqrt{d_k}", "s", "scores"),
    "weights": ("A", "a", "weights"),
    "output": ("O", "o", "value"),
}


@dataclass(frozen=True)
class DemonstrationSettings(Linked):
    """Everything the demonstration's numbers depend on, and which line of `forward` is shown.

    Attributes:
        batch: sequences in the input.
        seq_len: tokens in a sequence.
        size: d_model of the module.
        module_seed: where the module's random parameters start; the input starts one further on.
        input_scale: what the uniform input is multiplied by.
        shown_line: index into LINES.
    """

    batch: int = linked(1, Whole(1, MAX_BATCH))
    seq_len: int = linked(10, Whole(1, MAX_SEQUENCE))
    size: int = linked(64, Whole(1, MAX_MODULE_SIZE))
    module_seed: int = linked(0, Whole(0, MAX_SEED))
    input_scale: float = linked(1.0, Real(0.0, 10.0))
    shown_line: int = linked(0, Whole(0, len(LINES) - 1))


@dataclass(frozen=True)
class Spread:
    """How far the scores (after √d) lie apart, averaged over the batch.

    Attributes:
        mean_square: of all scores of a sequence; over many modules it is their variance, as their mean is 0.
        over_all: variance about the sequence's own mean.
        within_rows: variance about each row's own mean: all that softmax sees.
    """

    mean_square: float
    over_all: float
    within_rows: float


@dataclass(frozen=True)
class Demonstration:
    """One run, in float32 as torch computes by default.

    Attributes:
        output: what `forward` returned.
        trace: the same computation with every step; its `scaled` is what `forward` calls scores.
        largest_difference: between output and torch's own scaled_dot_product_attention.
    """

    settings: DemonstrationSettings
    module: SimpleSelfAttention
    x: Float[Tensor, "batch seq size"]
    query: Float[Tensor, "batch seq size"]
    key: Float[Tensor, "batch seq size"]
    value: Float[Tensor, "batch seq size"]
    trace: AttentionTrace
    output: Float[Tensor, "batch seq size"]
    largest_difference: float

    @property
    def n_parameters(self) -> int:
        """All numbers that training would change."""
        return sum(parameter.numel() for parameter in self.module.parameters())

    @property
    def weight_range(self) -> tuple[float, float]:
        """The smallest and the largest attention weight."""
        return float(self.trace.weights.min()), float(self.trace.weights.max())

    @property
    def equal_weight(self) -> float:
        """1 / seq_len: every weight, if all were the same."""
        return 1 / self.settings.seq_len

    @property
    def spread(self) -> Spread:
        """Measured on this run."""
        return measured_spread(self.trace.scaled)

    def at(self, line: str) -> Float[Tensor, "batch seq column"]:
        """The tensor that a line of `forward` makes."""
        of_trace = {"scores": self.trace.scaled, "weights": self.trace.weights, "return": self.output}
        return of_trace[line] if line in of_trace else getattr(self, line)


def run_demonstration(settings: DemonstrationSettings) -> Demonstration:
    """Feeds uniform random numbers to a fresh module and measures what comes out.

    Kept for a while: stepping through the lines computes nothing anew.
    """
    return replace(
        _run(replace(settings, shown_line=DemonstrationSettings().shown_line, ignored=())), settings=settings
    )


@functools.lru_cache(maxsize=32)
def _run(settings: DemonstrationSettings) -> Demonstration:
    module, x = fresh_module(settings.size, settings.module_seed), uniform_input(settings)
    with torch.no_grad():
        query, key, value = module.query_dense(x), module.key_dense(x), module.value_dense(x)
        trace, output = module.trace(x), module(x)
        reference = functional.scaled_dot_product_attention(query, key, value)
    difference = float((output - reference).abs().max())
    return Demonstration(settings, module, x, query, key, value, trace, output, difference)


def uniform_input(settings: DemonstrationSettings) -> Float[Tensor, "batch seq size"]:
    """Numbers uniform on 0 … 1, times input_scale."""
    generator = torch.Generator().manual_seed(settings.module_seed + 1)
    return settings.input_scale * torch.rand(settings.batch, settings.seq_len, settings.size, generator=generator)


def fresh_module(size: int, seed: int) -> SimpleSelfAttention:
    """The module that `torch.manual_seed(seed)` would give, without touching torch's global generator."""
    with InitialisedFrom(torch.Generator().manual_seed(seed)):
        return SimpleSelfAttention(size)


def measured_spread(scores: Float[Tensor, "batch query key"]) -> Spread:
    """The three spreads of scores, in float64; variances are mean squares of distances from the mean.

    over_all = within_rows + the variance of the rows' means, and mean_square = over_all + mean², so
    what is lost from one line to the next is what all scores, or all scores of a row, share. Variances are
    taken of distances from a first score: they are the same, and exactly 0 where all scores are equal.
    """
    exact = scores.double()
    from_first, from_rows_first = exact - exact[..., :1, :1], exact - exact[..., :1]
    return Spread(
        float(exact.square().mean()),
        float(from_first.var(dim=(-2, -1), correction=0).mean()),
        float(from_rows_first.var(dim=-1, correction=0).mean()),
    )


def expected_spread(settings: DemonstrationSettings) -> Spread:
    """What fresh layers give on average over all seeds.

    Given the tokens, an entry of q times an entry of q of another token has mean (x·x′ + 1)/(3d), see
    `attn_core.laws.linear_theory`; the scores' second moments are products of two of these, times d. With L
    the mean of |x|² and C the square length of the mean token, both c² d times a number, this gives (L + 1)²,
    (L + 1)² − (C + 1)² and (L + 1)(L − C), each over 9d, and over d once more after √d. L and C are put in by
    their means, which leaves out terms of order 1/d. Large d and n, c = 1: 1/81, 7/1296 and 1/324.
    """
    size, n = settings.size, settings.seq_len
    length = settings.input_scale**2 * size / 3
    common = settings.input_scale**2 * size * (1 / 4 + 1 / (12 * n))
    unit = 9 * size**2
    return Spread(
        (length + 1) ** 2 / unit,
        ((length + 1) ** 2 - (common + 1) ** 2) / unit,
        (length + 1) * (length - common) / unit,
    )


def scale_sweep(settings: DemonstrationSettings) -> tuple[Demonstration, ...]:
    """The same module and the same random numbers, multiplied by each of INPUT_SCALES."""
    return tuple(run_demonstration(replace(settings, input_scale=scale)) for scale in INPUT_SCALES)


def parameter_count(size: int) -> tuple[str, ...]:
    """The number of parameters, derived in LaTeX lines: three layers with d² weights and d biases each."""
    layer = size**2 + size
    return (
        rf"3\,(d^2 + d) = 3\,({size}^2 + {size})",
        rf"= 3\,({size**2} + {size}) = 3 \cdot {layer} = \boldsymbol{{{3 * layer}}}",
    )


def shown_matrix(run: Demonstration, line: str) -> Matrix:
    """What a line made, for the first sequence of the batch: its first rows and columns, or all scores or weights."""
    name = "output" if line == "return" else line
    symbol, entry, role = _ROLES[name]
    values = run.at(line)[0]
    if name not in ("scores", "weights"):
        values = values[:SHOWN_ROWS, :SHOWN_COLUMNS]
    return Matrix(symbol, entry, role, values, *_positions(values))


def weight_deviations(run: Demonstration) -> Matrix:
    """How far the weights of the first sequence are from 1 / seq_len, in percent of it."""
    values = 100 * (run.trace.weights[0] / run.equal_weight - 1)
    return Matrix("n A − 1 [%]", "a", "scores", values.round(decimals=1), *_positions(values))


def _positions(values: Float[Tensor, "row column"]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    rows, columns = ([str(index) for index in range(n)] for n in values.shape)
    return tuple(rows), tuple(columns)
