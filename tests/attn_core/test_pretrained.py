"""Every call of attention inside small models: against loops, against the models' own, and how they are left."""

import dataclasses
import math
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import torch
import transformers
from torch import Tensor, nn
from torch.testing import assert_close
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

from attn_core import pretrained
from attn_core.attention import AttentionTrace
from attn_core.heads import join_heads, split_heads
from attn_core.pretrained import AttentionCall, UnsupportedAttentionError, attention_calls, attention_traces
from tests.attn_core.small_models import (
    D_K,
    IDS,
    N_HEADS,
    N_LAYERS,
    PAD,
    SUPPORTED,
    WINDOW,
    small_inputs,
    small_model,
)

STEPS = tuple(field.name for field in dataclasses.fields(AttentionTrace))
ROOT = Path(__file__).parents[2]

every_kind = pytest.mark.parametrize("kind", SUPPORTED)
LEFT = torch.tensor([[PAD, PAD, 1, 7, 8, 5, 3], [1, 5, 6, 7, 8, 9, 3]])
LEFT_PADDED = {"input_ids": LEFT, "attention_mask": (LEFT != PAD).long()}


def eager_weights(model, inputs):
    """The weights as the model itself gives them out, in the order of its calls."""
    model.set_attn_implementation("eager")
    with torch.no_grad():
        results = model(**inputs, output_attentions=True)
    if "encoder_attentions" not in results:
        return list(results.attentions)
    decoder = zip(results.decoder_attentions, results.cross_attentions, strict=True)
    return [*results.encoder_attentions, *(weights for layer in decoder for weights in layer)]


# Step by step against plain Python.


def dense(layer: nn.Linear, rows: list[list[float]]) -> list[list[float]]:
    weight, bias = layer.weight.tolist(), layer.bias.tolist()
    return [[sum(map(float.__mul__, row, w)) + b for w, b in zip(weight, bias, strict=True)] for row in rows]


def steps_by_loops(query, key, value, mask, divisor) -> dict[str, list[list[float]]]:
    """One head's steps, number by number."""
    scores = [[sum(map(float.__mul__, q, k)) for k in key] for q in query]
    scaled = [[score / divisor for score in row] for row in scores]
    masked = [
        [s if see else -math.inf for s, see in zip(*rows, strict=True)] for rows in zip(scaled, mask, strict=True)
    ]
    powers = [[math.exp(score) for score in row] for row in masked]
    weights = [[power / sum(row) for power in row] for row in powers]
    output = [[sum(map(float.__mul__, row, column)) for column in zip(*value, strict=True)] for row in weights]
    return dict(zip(STEPS, (scores, scaled, masked, weights, output), strict=True))


@pytest.mark.parametrize("layer", range(N_LAYERS))
def test_every_step_of_bert_against_loops(layer):
    model, inputs = small_model("bert", torch.float64), small_inputs("bert")
    call = attention_calls(model, inputs)[layer]
    attention = model.encoder.layer[layer].attention.self
    hidden = model(**inputs, output_hidden_states=True).hidden_states[layer]
    for text in range(len(IDS)):
        mask = [[bool(seen) for seen in inputs["attention_mask"][text]]] * IDS.shape[1]
        q, k, v = (dense(part, hidden[text].tolist()) for part in (attention.query, attention.key, attention.value))
        for head in range(N_HEADS):
            columns = slice(head * D_K, (head + 1) * D_K)
            own = [[row[columns] for row in rows] for rows in (q, k, v)]
            for name, rows in zip(("query", "key", "value"), own, strict=True):
                assert_close(getattr(call, name)[text, head], torch.tensor(rows, dtype=torch.float64))
            for step, rows in steps_by_loops(*own, mask, math.sqrt(D_K)).items():
                expected = torch.tensor(rows, dtype=torch.float64)
                assert_close(getattr(call.trace, step)[text, head], expected, rtol=1e-9, atol=1e-12)


@every_kind
def test_every_step_follows_from_the_one_before(kind):
    for call in attention_calls(small_model(kind), small_inputs(kind)):
        trace, seen = call.trace, torch.ones_like(call.trace.scores, dtype=torch.bool)
        mask = seen if call.mask is None else call.mask.expand_as(seen)
        rows = mask.any(dim=-1)
        assert_close(trace.scores, call.query @ call.key.mT)
        assert_close(trace.scaled, trace.scores / call.divisor)
        assert torch.equal(trace.masked[rows], trace.scaled.masked_fill(~mask, -math.inf)[rows])
        assert_close(trace.weights, trace.masked.softmax(dim=-1))
        assert_close(trace.output, trace.weights @ call.value)


# Against the models' own.


@every_kind
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.float16], ids=str)
def test_weights_equal_the_model_s_own_in_every_layer(kind, dtype):
    model, inputs = small_model(kind, dtype), small_inputs(kind, dtype)
    calls = attention_calls(model, inputs)
    expected = eager_weights(model, inputs)
    assert len(calls) == len(expected)
    # Llama's kind computes softmax in float32 whatever the model's dtype.
    exact = {"rtol": 1e-6, "atol": 1e-7} if dtype == torch.float64 else {}
    for call, weights in zip(calls, expected, strict=True):
        assert_close(call.trace.weights, weights, **exact)
        assert {getattr(call.trace, step).dtype for step in STEPS} == {dtype}


@every_kind
def test_the_traces_alone(kind):
    model, inputs = small_model(kind), small_inputs(kind)
    traces, calls = attention_traces(model, inputs), attention_calls(model, inputs)
    assert isinstance(traces, list)
    for trace, call in zip(traces, calls, strict=True):
        assert all(torch.equal(getattr(trace, step), getattr(call.trace, step)) for step in STEPS)


def test_outputs_are_what_the_next_layer_of_bert_gets():
    model, joined = small_model("bert"), []
    for layer in model.encoder.layer:
        layer.attention.output.dense.register_forward_pre_hook(lambda _, arguments: joined.append(arguments[0]))
    for call, expected in zip(attention_calls(model, small_inputs("bert")), joined, strict=True):
        assert_close(join_heads(call.trace.output), expected)


def test_queries_of_gpt2_are_those_of_its_layers():
    model, made = small_model("gpt2"), []
    for block in model.h:
        block.attn.c_attn.register_forward_hook(lambda *arguments: made.append(arguments[2]))
    for call, columns in zip(attention_calls(model, small_inputs("gpt2")), made, strict=True):
        query, key, value = (split_heads(part, N_HEADS) for part in columns.chunk(3, dim=-1))
        assert_close((call.query, call.key, call.value), (query, key, value))


def test_a_scale_of_each_layer_s_own():
    model, inputs = small_model("gpt2", scale_attn_by_inverse_layer_idx=True), small_inputs("gpt2")
    calls = attention_calls(model, inputs)
    assert [call.divisor for call in calls] == pytest.approx([math.sqrt(D_K) * (1 + n) for n in range(N_LAYERS)])
    for call, weights in zip(calls, eager_weights(model, inputs), strict=True):
        assert_close(call.trace.weights, weights)
        assert_close(call.trace.scores, call.query @ call.key.mT)


def test_no_scale():
    calls = attention_calls(small_model("gpt2", scale_attn_weights=False), small_inputs("gpt2"))
    for call in calls:
        assert call.divisor == 1
        assert torch.equal(call.trace.scaled, call.trace.scores)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_scores_in_the_thousands(dtype):
    """One rounding of such a score changes a weight by more than 1e-4 of it: no reason to refuse the model."""
    calls = attention_calls(small_model("bert", dtype, initializer_range=20.0), small_inputs("bert"))
    assert max(call.trace.scaled.abs().max() for call in calls) > 10_000


def test_a_part_made_from_one_of_the_library_in_another_file():
    model, inputs = small_model("bert"), small_inputs("bert")
    expected = attention_traces(model, inputs)
    for layer in model.encoder.layer:
        layer.attention.self.__class__ = type("Changed", (type(layer.attention.self),), {"__module__": __name__})
    for trace, other in zip(attention_traces(model, inputs), expected, strict=True):
        assert torch.equal(trace.weights, other.weights)


# Which keys are seen.


@pytest.mark.parametrize("kind", ["bert", "distilbert", "roberta"])
def test_an_encoder_hides_the_padding(kind):
    for call in attention_calls(small_model(kind), small_inputs(kind)):
        assert torch.equal(call.mask.expand(-1, -1, 7, 7), (IDS != PAD)[:, None, None].expand(-1, 1, 7, 7))
        assert (call.trace.weights[1, :, :, -2:] == 0).all()
        assert (call.trace.weights[0] > 0).all()


@pytest.mark.parametrize("kind", ["bert", "vit"])
def test_no_mask_where_nothing_is_hidden(kind):
    inputs = small_inputs(kind) | ({"attention_mask": torch.ones_like(IDS)} if kind == "bert" else {})
    for call in attention_calls(small_model(kind), inputs):
        assert call.mask is None
        assert torch.equal(call.trace.masked, call.trace.scaled)


@pytest.mark.parametrize("kind", ["gpt2", "llama", "qwen3"])
def test_a_decoder_hides_what_follows(kind):
    for call in attention_calls(small_model(kind), {"input_ids": IDS}):
        assert torch.equal(call.mask.expand(2, -1, -1, -1), torch.ones(2, 1, 7, 7, dtype=torch.bool).tril())


def test_a_window_hides_what_is_far_behind():
    (*calls,) = attention_calls(small_model("mistral"), {"input_ids": IDS[:1]})
    seen = [[key <= query < key + WINDOW for key in range(7)] for query in range(7)]
    for call in calls:
        assert call.mask[0, 0].tolist() == seen
        assert ((call.trace.weights > 0) == torch.tensor(seen)).all()
        assert torch.isneginf(call.trace.masked[0, :, 6, :4]).all()


def test_heads_share_keys_in_groups():
    model, made = small_model("llama"), []
    for layer in model.layers:
        layer.self_attn.v_proj.register_forward_hook(lambda *arguments: made.append(arguments[2]))
    for call, values in zip(attention_calls(model, small_inputs("llama")), made, strict=True):
        assert call.key.shape == call.value.shape == (2, N_HEADS, 7, D_K)
        for one, other in ((0, 1), (2, 3)):
            assert torch.equal(call.key[:, one], call.key[:, other])
        assert not torch.equal(call.key[:, 1], call.key[:, 2])
        assert torch.equal(call.value[:, [0, 2]], split_heads(values, 2))


def test_an_encoder_and_a_decoder_in_the_order_of_their_calls():
    calls = attention_calls(small_model("bart"), small_inputs("bart"))
    assert [(call.is_cross, *call.trace.weights.shape[-2:]) for call in calls] == [
        (False, 7, 7),
        (False, 7, 7),
        (False, 5, 5),
        (True, 5, 7),
        (False, 5, 5),
        (True, 5, 7),
    ]
    assert (calls[3].trace.weights[1, :, :, -2:] == 0).all()
    assert calls[3].trace.output.shape == (2, N_HEADS, 5, D_K)


@pytest.mark.parametrize("kind", ["bert", "gpt2"])
def test_a_decoder_that_reads_an_encoder_s_states_of_the_same_length(kind):
    changes = {"bert": {"is_decoder": True}, "gpt2": {}}[kind]
    model = small_model(kind, add_cross_attention=True, **changes)
    states = torch.rand(2, 7, N_HEADS * D_K, generator=torch.Generator().manual_seed(2))
    calls = attention_calls(model, {"input_ids": IDS, "encoder_hidden_states": states})
    assert [call.is_cross for call in calls] == [False, True] * N_LAYERS


def test_a_name_of_the_model_around_does_not_make_attention_cross():
    class CrossEncoder(nn.Module):
        def __init__(self):
            super().__init__()
            self.cross_encoder = small_model("bert")

        def forward(self, **inputs):
            return self.cross_encoder(**inputs)

    assert not any(call.is_cross for call in attention_calls(CrossEncoder(), small_inputs("bert")))


# Queries that may see no key.


FAR_PADDED = {"input_ids": IDS[1:], "attention_mask": torch.tensor([[1, 1, 1, 0, 0, 0, 0]])}


@pytest.mark.parametrize(
    ("kind", "dtype", "inputs", "blind"),
    [
        ("gpt2", torch.float32, LEFT_PADDED, [[0, 0], [0, 1]]),
        ("gpt2", torch.float64, LEFT_PADDED, [[0, 0], [0, 1]]),
        ("gpt2", torch.bfloat16, LEFT_PADDED, [[0, 0], [0, 1]]),
        ("llama", torch.float32, LEFT_PADDED, [[0, 0], [0, 1]]),
        ("llama", torch.bfloat16, LEFT_PADDED, [[0, 0], [0, 1]]),
        ("mistral", torch.float32, FAR_PADDED, [[0, 5], [0, 6]]),  # padding that reaches beyond the window
    ],
)
def test_a_blind_query_gives_equal_weights_to_all_keys_as_in_the_model(kind, dtype, inputs, blind):
    model = small_model(kind, dtype)
    calls = attention_calls(model, inputs)
    for call, weights in zip(calls, eager_weights(model, inputs), strict=True):
        trace, rows = call.trace, ~call.mask[:, 0].any(dim=-1)
        assert torch.nonzero(rows).tolist() == blind
        for text, row in blind:
            assert (trace.masked[text, :, row] == torch.finfo(dtype).min).all()
            assert_close(trace.weights[text, :, row], torch.full((N_HEADS, 7), 1 / 7, dtype=dtype))
            assert_close(trace.output[text, :, row], call.value[text].mean(dim=-2))
        hidden = ~call.mask & ~rows[:, None, :, None]
        assert torch.equal(torch.isneginf(trace.masked), hidden.expand_as(trace.masked))
        assert_close(trace.weights, weights)


def test_a_blind_query_without_an_answer_in_the_model_itself():
    """Llama computes softmax in float32, where float64's most negative number is −∞: its own weights are NaN."""
    model = small_model("llama", torch.float64)
    assert eager_weights(model, LEFT_PADDED)[0][0, :, :2].isnan().all()
    message = rf"^{N_HEADS * 2 * 7} of the {2 * N_HEADS * 7 * 7} weights of LlamaAttention are not finite numbers$"
    with pytest.raises(UnsupportedAttentionError, match=message):
        attention_calls(model, LEFT_PADDED)


@pytest.mark.parametrize("kind", ["gpt2", "llama"])
def test_what_stands_in_the_padding_changes_no_number_of_the_text(kind):
    model, other = small_model(kind), LEFT.masked_fill(LEFT == PAD, 9)
    calls, changed = (
        attention_calls(model, {**LEFT_PADDED, "input_ids": ids, "position_ids": torch.arange(7)[None]})
        for ids in (LEFT, other)
    )
    for call, with_other in zip(calls, changed, strict=True):
        assert torch.equal(call.trace.weights[0, :, 2:], with_other.trace.weights[0, :, 2:])
        assert torch.equal(call.trace.output[0, :, 2:], with_other.trace.output[0, :, 2:])
        assert not torch.equal(call.trace.output[0, :, :2], with_other.trace.output[0, :, :2])


# The model is left as it was.


def outputs(model, inputs):
    with torch.no_grad():
        return model(**inputs).last_hidden_state


@every_kind
def test_outputs_are_eager_s_own_during_the_run_and_unchanged_after_it(kind):
    model, inputs, during = small_model(kind), small_inputs(kind), []
    before = outputs(model, inputs)
    with model.register_forward_hook(lambda *arguments: during.append(arguments[2].last_hidden_state)):
        attention_calls(model, inputs)
    assert torch.equal(outputs(model, inputs), before)
    assert model.config._attn_implementation == "sdpa"
    model.set_attn_implementation("eager")
    assert torch.equal(during[0], outputs(model, inputs))


def two_towers():
    sides = {"hidden_size": 24, "intermediate_size": 16, "num_hidden_layers": 2, "num_attention_heads": 4}
    text = {**sides, "vocab_size": 32, "bos_token_id": 1, "eos_token_id": 3, "pad_token_id": PAD}
    vision = {**sides, "image_size": 12, "patch_size": 4}
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = transformers.CLIPModel(transformers.CLIPConfig(text_config=text, vision_config=vision))
    model.set_attn_implementation({"": "sdpa", "text_config": "eager", "vision_config": "sdpa"})
    return model, {**small_inputs("bert"), **small_inputs("vit")}


def state(model):
    implementations = [part.config._attn_implementation for part in model.modules() if hasattr(part, "config")]
    assert "eager" not in ALL_ATTENTION_FUNCTIONS
    assert pretrained._RECORDER.get() is None
    return implementations, [part.training for part in model.modules()]


def test_each_part_of_a_model_is_left_as_it_was():
    model, inputs = two_towers()
    model.train()
    model.vision_model.eval()
    before = state(model)
    assert {"eager", "sdpa"} == set(before[0])
    calls = attention_calls(model, inputs)
    assert sorted(call.trace.weights.shape[-1] for call in calls) == [7, 7, 10, 10]
    assert state(model) == before


def test_a_model_whose_run_fails_is_left_as_it_was():
    model, inputs = two_towers()
    model.train()
    before = state(model)
    with pytest.raises(IndexError):
        attention_calls(model, {**inputs, "input_ids": torch.full_like(IDS, 32)})
    assert state(model) == before
    assert len(attention_calls(model, inputs)) == 4


def test_nothing_is_dropped_out():
    model, inputs = small_model("bert"), small_inputs("bert")
    expected = attention_calls(model, inputs)
    model.train()
    for call, other in zip(attention_calls(model, inputs), expected, strict=True):
        assert torch.equal(call.trace.output, other.trace.output)


def test_no_gradients_and_no_changes_of_inputs_and_parameters():
    model, inputs = small_model("llama"), small_inputs("llama")
    numbers = {name: value.clone() for name, value in {**inputs, **model.state_dict()}.items()}
    call = attention_calls(model, inputs)[0]
    assert not any(value.requires_grad for value in (call.query, call.trace.weights))
    assert all(torch.equal(value, numbers[name]) for name, value in {**inputs, **model.state_dict()}.items())
    assert all(parameter.requires_grad and parameter.grad is None for parameter in model.parameters())


def test_no_cache_is_made_unless_asked_for():
    model, made = small_model("gpt2"), []
    model.register_forward_hook(lambda *arguments: made.append("cache" in arguments[2]))
    attention_calls(model, small_inputs("gpt2"))
    attention_calls(model, {**small_inputs("gpt2"), "use_cache": True})
    assert made == [False, True]


# Threads.


def test_other_models_may_run_meanwhile():
    listened, other = small_model("bert"), small_model("llama")
    other.set_attn_implementation("eager")
    expected, found = outputs(other, small_inputs("llama")), []

    def run_the_other(*_):
        thread = threading.Thread(target=lambda: found.append(outputs(other, small_inputs("llama"))))
        thread.start()
        thread.join()

    listened.encoder.layer[1].register_forward_pre_hook(run_the_other)
    assert len(attention_calls(listened, small_inputs("bert"))) == N_LAYERS
    assert torch.equal(found[0], expected)


def test_several_threads_may_record_one_model():
    model, inputs = small_model("bert"), small_inputs("bert")
    expected = attention_traces(model, inputs)
    with ThreadPoolExecutor(4) as threads:
        for traces in threads.map(lambda _: attention_traces(model, inputs), range(12)):
            assert all(torch.equal(a.weights, b.weights) for a, b in zip(traces, expected, strict=True))
    assert model.config._attn_implementation == "sdpa"


# Attention that the record cannot hold.


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("t5", "T5Attention computes attention with position_bias, which no step here holds"),
        ("gemma2", "Gemma2Attention computes attention with softcap, which no step here holds"),
        ("gpt_oss", "GptOssAttention computes attention with s_aux, which no step here holds"),
        ("bloom", "BloomModel computes attention by itself, not through the library's attention interface"),
        ("mpnet", "MPNetModel computes attention by itself, not through the library's attention interface"),
    ],
)
def test_architectures_that_are_refused(kind, message):
    model = small_model(kind)
    before = state(model)
    with pytest.raises(UnsupportedAttentionError, match=f"^{message}$"):
        attention_calls(model, small_inputs(kind))
    assert state(model) == before


def test_a_part_that_goes_another_way_is_named():
    both = nn.ModuleList([small_model("bert"), small_model("bloom")])
    with pytest.raises(UnsupportedAttentionError, match=r"^BloomModel computes attention by itself"):
        attention_calls(both, {})


def test_a_model_without_attention():
    with pytest.raises(UnsupportedAttentionError, match=r"^Identity never called the library's attention interface$"):
        attention_calls(nn.Identity(), {"input": torch.ones(2)})


@pytest.mark.parametrize(
    ("added", "numbers"),
    [
        (torch.tensor([0.0, 0.5, -2.0, 0, 0, 0, 0]), "-2 to 0.5"),
        (torch.tensor([0.0, 0, 0, 0, 0, 0, -10_000]), r"-1e\+04 to -1e\+04"),
        (torch.tensor([0.0, torch.finfo(torch.float32).min, 0, 1e-3, 0, 0, 0]), "0.001 to 0.001"),
    ],
)
def test_a_bias_in_place_of_a_mask(added, numbers):
    message = f"^BertSelfAttention adds numbers from {numbers} to its scores: a bias, not a mask$"
    with pytest.raises(UnsupportedAttentionError, match=message):
        attention_calls(small_model("bert"), {"input_ids": IDS, "attention_mask": added.expand(2, 1, 7, 7)})


@pytest.mark.parametrize("hidden", [-math.inf, torch.finfo(torch.float32).min])
@pytest.mark.parametrize("shape", [(2, 1, 7, 7), (2, 4, 1, 7), (1, 1, 7, 7)], ids=str)
def test_a_mask_of_the_caller_s_own(shape, hidden):
    added = torch.zeros(shape)
    added[0, 0, 0, 4] = added[-1, -1, -1, 0] = hidden
    for call in attention_calls(small_model("bert"), {"input_ids": IDS, "attention_mask": added}):
        assert torch.equal(call.mask, (added == 0).expand(-1, -1, 7, 7))
        assert torch.equal(call.trace.weights > 0, call.mask.expand(2, N_HEADS, 7, 7))


# An architecture of our own, which can do what it should not.


def eager_attention_forward(module, query, key, value, attention_mask, scaling=None, beside=None, **_):  # noqa: ARG001
    weights = (query @ key.mT * (scaling or D_K**-0.5)).softmax(dim=-1)
    weights, values = module.on_weights(weights), module.on_values(value)
    return module.on_outputs((weights @ values).transpose(1, 2)), weights


class OwnAttention(nn.Module):
    """Asks the library for eager attention, as its own models do, and does more than that where told to."""

    def __init__(self, *, weights=lambda x: x, values=lambda x: x, outputs=lambda x: x, **arguments):
        super().__init__()
        self.on_weights, self.on_values, self.on_outputs, self.arguments = weights, values, outputs, arguments

    def forward(self, x):
        attention = ALL_ATTENTION_FUNCTIONS.get_interface("eager", eager_attention_forward)
        x = split_heads(x, N_HEADS)
        return attention(self, query=x, key=x / 2, value=x + 1, attention_mask=None, **self.arguments)


def vectors(dtype: torch.dtype = torch.float32) -> dict[str, Tensor]:
    return {"x": torch.randn(2, 5, N_HEADS * D_K, generator=torch.Generator().manual_seed(3)).to(dtype)}


def test_without_a_scale_the_scores_are_divided_by_the_root_of_d_k():
    (call,) = attention_calls(OwnAttention(), vectors())
    assert isinstance(call, AttentionCall)
    assert call.divisor == math.sqrt(D_K)
    (call,) = attention_calls(OwnAttention(scaling=0.25), vectors())
    assert call.divisor == 4


def test_an_argument_of_one_architecture_alone():
    message = "^OwnAttention computes attention with beside, which no step here holds$"
    with pytest.raises(UnsupportedAttentionError, match=message):
        attention_calls(OwnAttention(beside=0.0), vectors())
    for harmless in ({"beside": None}, {"unknown_to_it": 1}):
        assert len(attention_calls(OwnAttention(**harmless), vectors())) == 1


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64], ids=str)
@pytest.mark.parametrize(
    ("change", "differ"),
    [
        ({"weights": lambda x: x * 1.001}, "weights differ by up to 0.0"),
        ({"weights": lambda x: x.flip(-1)}, "weights differ by up to 0."),
        ({"weights": lambda x: x[..., :-1], "values": lambda x: x[..., :-1, :]}, "weights differ by up to inf"),
        ({"values": lambda x: x * 1.001}, "outputs differ by up to 0.00"),
        ({"outputs": lambda x: x.flip(1)}, "outputs differ by up to "),
        ({"outputs": lambda x: x.transpose(1, 2)}, "outputs differ by up to inf"),
    ],
)
def test_attention_that_does_more_is_found_out_by_its_results(change, differ, dtype):
    message = rf"^OwnAttention does more than softmax\(Q Kᵀ / divisor\) V: its {differ}"
    with pytest.raises(UnsupportedAttentionError, match=message):
        attention_calls(OwnAttention(**change), vectors(dtype))


def test_results_that_are_no_numbers():
    message = (
        rf"^{2 * 5 * N_HEADS * D_K} of the {2 * 5 * N_HEADS * D_K} outputs of OwnAttention are not finite numbers$"
    )
    with pytest.raises(UnsupportedAttentionError, match=message):
        attention_calls(OwnAttention(outputs=lambda x: x / 0), vectors())


def test_the_error_is_a_value_error():
    assert issubclass(UnsupportedAttentionError, ValueError)


# What is loaded.


def test_the_library_is_loaded_only_when_a_model_is_recorded(tmp_path):
    (tmp_path / "transformers.py").touch()  # a stand-in, so that the second answer comes soon
    asked = "import sys; print('transformers' in sys.modules)"
    program = f"import attn_core, attn_core.pretrained; {asked}; import transformers; {asked}"
    environment = {**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}"}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True"]
