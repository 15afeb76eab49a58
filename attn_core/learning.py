"""W_Q, W_K and W_V learn a task that needs attention; the run yields what it has reached."""

import functools
from collections.abc import Iterator
from dataclasses import dataclass, replace

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from attn_core.initial import InitialisedFrom
from attn_core.limits import MAX_LEARNING_STEPS, MAX_SEED
from attn_core.links import Linked, OneOf, Real, Whole, YesNo, linked
from attn_core.modules import MultiHeadSelfAttention
from attn_core.optimizer import Adam
from attn_core.problems import Problems, average, closeness, ideal_weights, is_right, log_loss
from attn_core.tasks import TASKS, Task, task

D_MODEL = 8
BATCH = 64
N_EXAMPLES = 12

# Embeddings as large as the usual N(0, 1) drown what attention adds to them: recall then often stays below 99 %.
_EMBEDDING_DEVIATION = 0.5


@dataclass(frozen=True)
class LearningSettings(Linked):
    """Everything that a run's numbers depend on, and which example and layer are shown.

    Attributes:
        task: what is learned, one of TASKS.
        model_layers: layers of attention, one on the other.
        learning_steps: how often the parameters change.
        learning_rate: of Adam.
        learning_seed: where the parameters and the training problems start.
        shown_example: which unseen problem is shown.
        shown_layer: whose attention is shown, counted from 0.
        shown_step: after how many steps.
        trained: whether the run is made, or the model shown as it starts.
    """

    task: str = linked("reverse", OneOf(TASKS))
    model_layers: int = linked(1, Whole(1, 2))
    learning_steps: int = linked(400, Whole(1, MAX_LEARNING_STEPS))
    learning_rate: float = linked(0.01, Real(0.0001, 0.3))
    learning_seed: int = linked(0, Whole(0, MAX_SEED))
    shown_example: int = linked(0, Whole(0, N_EXAMPLES - 1))
    shown_layer: int = linked(0, Whole(0, 1))
    shown_step: int = linked(MAX_LEARNING_STEPS, Whole(0, MAX_LEARNING_STEPS))
    trained: bool = linked(False, YesNo())

    @property
    def of_run(self) -> "LearningSettings":
        """The same without what is only shown: equal where the numbers are."""
        run = {name: getattr(self, name) for name in self.names() if not name.startswith(("shown_", "trained"))}
        return LearningSettings(**run)


class AttentionOnlyModel(nn.Module):
    """Embeddings and learned positions, layers of attention with one head, an output layer; nothing else.

    Every layer's output is added to its input. What a token's place has to answer and the token itself does not
    tell, attention must bring.
    """

    def __init__(self, sizes: tuple[int, int, int], n_layers: int, generator: torch.Generator) -> None:
        """`sizes` are the numbers of tokens, of places, and of answers; all parameters come from the generator."""
        super().__init__()
        n_tokens, length, n_answers = sizes
        self.embedding = nn.Parameter(_EMBEDDING_DEVIATION * torch.randn(n_tokens, D_MODEL, generator=generator))
        self.position = nn.Parameter(_EMBEDDING_DEVIATION * torch.randn(length, D_MODEL, generator=generator))
        with InitialisedFrom(generator):
            self.layers = nn.ModuleList(MultiHeadSelfAttention(D_MODEL, n_heads=1) for _ in range(n_layers))
            self.output_dense = nn.Linear(D_MODEL, n_answers)

    def forward(
        self, ids: Int[Tensor, "sequence token"], mask: Bool[Tensor, "token token"] | None = None
    ) -> Float[Tensor, "sequence token answer"]:
        """ln of the probability of each answer at each place."""
        x = self.embedding[ids] + self.position
        for layer in self.layers:
            x = x + layer(x, mask)
        scores: Tensor = self.output_dense(x)
        return scores.log_softmax(dim=-1)

    def weights(
        self, ids: Int[Tensor, "sequence token"], mask: Bool[Tensor, "token token"] | None = None
    ) -> Float[Tensor, "layer sequence token token"]:
        """The attention weights of every layer."""
        x, found = self.embedding[ids] + self.position, []
        for layer in self.layers:
            assert isinstance(layer, MultiHeadSelfAttention)
            trace = layer.trace(x, mask)
            found.append(trace.weights[:, 0])
            x = x + layer.mix(trace)
        return torch.stack(found)


@dataclass(frozen=True)
class LayerWeights:
    """W_Q, W_K and W_V of one layer, as in q = x W_Q (nn.Linear stores the transpose)."""

    w_q: Float[Tensor, "d_model d_k"]
    w_k: Float[Tensor, "d_model d_k"]
    w_v: Float[Tensor, "d_model d_k"]


@dataclass(frozen=True)
class Snapshot:
    """What the model does after some steps, on problems that training never meets.

    Attributes:
        step: how many steps.
        loss: mean of −ln of the probability of the right answer, over all unseen problems.
        accuracy: share of right answers among them.
        closeness: for each layer, how close its weights are to the known solution's; empty where none is known.
        weights: of the first N_EXAMPLES problems.
        given: the ID of the likeliest answer to them at each place.
        of_given: its probability.
        of_right: the probability of the right answer; of answer 0 where nothing is asked.
    """

    step: int
    loss: float
    accuracy: float
    closeness: tuple[float, ...]
    weights: Float[Tensor, "layer example token token"]
    given: Int[Tensor, "example token"]
    of_given: Float[Tensor, "example token"]
    of_right: Float[Tensor, "example token"]


@dataclass(frozen=True)
class LearningProgress:
    """A run up to one of its steps: as long as there are more to come, progress; at the end, the result.

    Attributes:
        settings: of the whole run.
        losses: of the training batch at each step so far.
        snapshots: at step 0, then at some steps, and now.
        before: every layer's matrices at the start.
        after: the same now.
    """

    settings: LearningSettings
    losses: tuple[float, ...]
    snapshots: tuple[Snapshot, ...]
    before: tuple[LayerWeights, ...]
    after: tuple[LayerWeights, ...]

    @property
    def step(self) -> int:
        """Steps so far."""
        return len(self.losses)

    @property
    def finished(self) -> bool:
        """Whether this is the result."""
        return self.step == self.settings.learning_steps

    @property
    def latest(self) -> Snapshot:
        """What the model does now."""
        return self.snapshots[-1]

    def as_asked(self) -> "LearningProgress":
        """The same as the result of a run that was to end here: both have the same numbers."""
        return replace(self, settings=replace(self.settings, learning_steps=max(1, self.step)))


def train(settings: LearningSettings) -> Iterator[LearningProgress]:
    """Trains and yields what is reached at step 0, at every 10th step up to 200, at every 50th, and at the last.

    Adam with batches of BATCH new problems, in float64 (on matrices this small no slower than float32), and on one
    thread the same to the last bit for the same settings. What is yielded at a step does not depend on how many are
    to follow.
    """
    learned, generator = task(settings.task), torch.Generator().manual_seed(2 * settings.learning_seed + 1)
    model = new_model(settings)
    parameters = list(model.parameters())
    optimizers = [Adam(parameter, settings.learning_rate) for parameter in parameters]
    reached = LearningProgress(settings, (), (_snapshot(model, learned, 0),), _matrices(model), _matrices(model))
    yield reached
    losses: list[float] = []
    for step in range(1, settings.learning_steps + 1):
        loss, gradients = loss_and_gradients(model, learned.draw(BATCH, generator), learned.mask)
        for optimizer, gradient in zip(optimizers, gradients, strict=True):
            optimizer.step(gradient)
        losses.append(float(loss.detach()))
        if step == settings.learning_steps or step % (10 if step <= 200 else 50) == 0:
            snapshots = (*reached.snapshots, _snapshot(model, learned, step))
            reached = replace(reached, losses=tuple(losses), snapshots=snapshots, after=_matrices(model))
            yield reached


def new_model(settings: LearningSettings) -> AttentionOnlyModel:
    """The model before training."""
    learned, generator = task(settings.task), torch.Generator().manual_seed(2 * settings.learning_seed)
    sizes = len(learned.tokens), learned.length, len(learned.answers)
    return AttentionOnlyModel(sizes, settings.model_layers, generator).double()


@functools.lru_cache(maxsize=64)
def untrained(settings: LearningSettings) -> LearningProgress:
    """What `train` yields first."""
    return next(train(settings))


def loss_and_gradients(
    model: AttentionOnlyModel, problems: Problems, mask: Bool[Tensor, "token token"] | None
) -> tuple[Float[Tensor, ""], tuple[Tensor, ...]]:
    """The mean of −ln of the probability of the right answer, and its derivative by each parameter."""
    loss = average(log_loss(model(problems.inputs, mask), problems), problems)
    return loss, torch.autograd.grad(loss, list(model.parameters()))


@torch.no_grad()
def _snapshot(model: AttentionOnlyModel, learned: Task, step: int) -> Snapshot:
    unseen = learned.unseen
    log_probabilities, weights = model(unseen.inputs, learned.mask), model.weights(unseen.inputs, learned.mask)
    losses = log_loss(log_probabilities, unseen)
    of_given, given = log_probabilities[:N_EXAMPLES].max(dim=-1)
    return Snapshot(
        step,
        loss=float(average(losses, unseen)),
        accuracy=float(average(is_right(log_probabilities, unseen), unseen)),
        closeness=tuple(
            float(closeness(of_layer, ideal_weights(sources)))
            for of_layer, sources in zip(weights, layer_sources(unseen, len(weights)), strict=False)
        ),
        weights=weights[:, :N_EXAMPLES].clone(),
        given=given,
        of_given=of_given.exp(),
        of_right=(-losses[:N_EXAMPLES]).exp(),
    )


def layer_sources(problems: Problems, n_layers: int) -> tuple[Int[Tensor, "sequence token"], ...]:
    """For each layer of a model, where the known solution attends; empty where none is known.

    A solution of two layers shows in a model with one its last layer; a solution of one layer may lie in either of
    two, or in both.
    """
    known = problems.sources
    if not len(known):
        return ()
    return tuple(known[max(0, layer - n_layers + len(known))] for layer in range(n_layers))


def _matrices(model: AttentionOnlyModel) -> tuple[LayerWeights, ...]:
    found = []
    for layer in model.layers:
        assert isinstance(layer, MultiHeadSelfAttention)
        dense = layer.query_dense, layer.key_dense, layer.value_dense
        found.append(LayerWeights(*(one.weight.detach().T.clone() for one in dense)))
    return tuple(found)
