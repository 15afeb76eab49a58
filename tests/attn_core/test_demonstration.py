"""The demonstration of the module: its numbers, what is measured on it, its source and its script."""

import ast
import inspect
import math
import re
import subprocess
import sys
from dataclasses import replace

import pytest
import torch
from torch.nn import functional
from torch.testing import assert_close

from attn_core import SimpleSelfAttention
from attn_core.demonstration import (
    INPUT_SCALES,
    LINES,
    DemonstrationSettings,
    expected_spread,
    fresh_module,
    measured_spread,
    parameter_count,
    run_demonstration,
    scale_sweep,
    shown_matrix,
    uniform_input,
    weight_deviations,
)
from attn_core.laws import linear_theory
from attn_core.listing import code_line, forward_lines, init_source, module_source, script, stepped_source

SMALL = DemonstrationSettings(batch=2, seq_len=5, size=3, module_seed=7)


def seeded_globally(size: int, seed: int) -> SimpleSelfAttention:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return SimpleSelfAttention(size)


@pytest.mark.parametrize(("size", "seed"), [(1, 0), (3, 7), (64, 0)])
def test_the_module_is_the_one_that_manual_seed_gives(size, seed):
    ours, theirs = fresh_module(size, seed), seeded_globally(size, seed)
    for name, parameter in theirs.named_parameters():
        assert torch.equal(ours.get_parameter(name), parameter), name


def test_the_global_generator_is_not_even_touched_in_between(monkeypatch):
    def refuse(*_args, **_kwargs):
        raise AssertionError("the global generator was seeded")

    monkeypatch.setattr(torch, "manual_seed", refuse)
    before = torch.get_rng_state()
    run_demonstration(SMALL)
    assert torch.equal(torch.get_rng_state(), before)


def test_the_input_is_uniform_and_scaled():
    x = uniform_input(replace(SMALL, seq_len=64, size=256))
    assert x.shape == (2, 64, 256)
    assert 0 <= float(x.min()) < 0.001
    assert 0.999 < float(x.max()) <= 1
    assert_close(uniform_input(replace(SMALL, input_scale=2.5)), 2.5 * uniform_input(SMALL))


def test_same_settings_same_numbers_other_seed_other_numbers():
    assert torch.equal(run_demonstration(SMALL).output, run_demonstration(SMALL).output)
    other = run_demonstration(replace(SMALL, module_seed=8))
    assert not torch.equal(run_demonstration(SMALL).x, other.x)
    assert not torch.equal(run_demonstration(SMALL).output, other.output)


def test_every_step_against_loops():
    run = run_demonstration(SMALL)
    layers = {"query": run.module.query_dense, "key": run.module.key_dense, "value": run.module.value_dense}
    for b in range(SMALL.batch):
        x, projected = run.x[b].tolist(), {}
        for name, layer in layers.items():
            weight, bias = layer.weight.tolist(), layer.bias.tolist()
            projected[name] = [
                [sum(w * v for w, v in zip(weight[m], token, strict=True)) + bias[m] for m in range(SMALL.size)]
                for token in x
            ]
            assert_close(run.at(name)[b], torch.tensor(projected[name]))
        for i, query in enumerate(projected["query"]):
            dots = [sum(a * c for a, c in zip(query, key, strict=True)) for key in projected["key"]]
            scores = [dot / math.sqrt(SMALL.size) for dot in dots]
            total = sum(math.exp(s) for s in scores)
            weights = [math.exp(s) / total for s in scores]
            output = [
                sum(w * v[m] for w, v in zip(weights, projected["value"], strict=True)) for m in range(SMALL.size)
            ]
            assert_close(run.at("scores")[b, i], torch.tensor(scores))
            assert_close(run.at("weights")[b, i], torch.tensor(weights))
            assert_close(run.at("output")[b, i], torch.tensor(output))


def test_what_is_shown_at_each_line_is_what_forward_has_there():
    run, seen = run_demonstration(SMALL), {}

    def watch(frame, event, arg):
        if frame.f_code.co_name == "forward" and frame.f_code.co_filename.endswith("modules.py"):
            if event == "return":
                seen.update(frame.f_locals, **{"return": arg})
            return watch
        return None

    before = sys.gettrace()
    sys.settrace(watch)
    try:
        with torch.no_grad():
            run.module(run.x)
    finally:
        sys.settrace(before)
    for name in LINES:
        assert torch.equal(run.at(name), seen[name]), name


def test_largest_difference_from_torchs_own():
    run = run_demonstration(SMALL)
    theirs = functional.scaled_dot_product_attention(run.query, run.key, run.value)
    assert run.largest_difference == float((run.output - theirs).abs().max())
    assert run.largest_difference < 1e-6
    assert_close(run.output, theirs)


def test_zero_input_gives_exactly_equal_weights_and_the_value_s_bias():
    run = run_demonstration(replace(SMALL, input_scale=0.0))
    assert_close(run.trace.weights, torch.full((2, 5, 5), 0.2))
    assert_close(run.output, run.module.value_dense.bias.detach().expand(2, 5, 3))


def test_one_token_has_all_the_weight():
    run = run_demonstration(replace(SMALL, seq_len=1))
    assert run.weight_range == (1.0, 1.0)
    assert run.spread.within_rows == 0
    assert run.equal_weight == 1
    assert expected_spread(run.settings).within_rows == 0


def test_spread_of_known_scores():
    spread = measured_spread(torch.tensor([[[1.0, 3.0], [5.0, 7.0]]]))
    assert (spread.mean_square, spread.over_all, spread.within_rows) == (21.0, 5.0, 1.0)


def test_what_a_row_shares_cancels_in_softmax_and_in_the_spread_within_rows():
    scores = run_demonstration(SMALL).trace.scaled
    shared = scores + torch.tensor([1.0, -2.0, 0.5, 3.0, -4.0])[:, None]
    assert_close(torch.softmax(shared, -1), torch.softmax(scores, -1))
    assert measured_spread(shared).within_rows == pytest.approx(measured_spread(scores).within_rows, rel=1e-4)
    assert measured_spread(shared).over_all > 2 * measured_spread(scores).over_all


@pytest.mark.parametrize("size", [1, 8, 64, 256])
def test_the_expected_mean_square_is_the_linear_law_after_the_divisor(size):
    expected = expected_spread(DemonstrationSettings(size=size)).mean_square
    assert expected == pytest.approx(linear_theory(size).variance / size)


def test_the_limits_for_large_sizes():
    expected = expected_spread(DemonstrationSettings(size=256, seq_len=64))
    assert expected.mean_square == pytest.approx(1 / 81, rel=0.03)
    assert expected.over_all == pytest.approx(1 / 185, rel=0.03)
    assert expected.within_rows == pytest.approx(1 / 324, rel=0.03)


@pytest.mark.parametrize("input_scale", [1.0, 3.0])
def test_the_expected_spread_is_the_mean_over_seeds(input_scale):
    settings = DemonstrationSettings(input_scale=input_scale)
    spreads = [run_demonstration(replace(settings, module_seed=seed)).spread for seed in range(0, 600, 2)]
    for name in ("mean_square", "over_all", "within_rows"):
        values = torch.tensor([getattr(spread, name) for spread in spreads], dtype=torch.float64)
        error = float(values.std()) / math.sqrt(len(values))
        assert abs(float(values.mean()) - getattr(expected_spread(settings), name)) < 3.5 * error, name


def test_the_reference_run_has_nearly_equal_weights():
    run = run_demonstration(DemonstrationSettings())
    assert run.x.shape == run.output.shape == (1, 10, 64)
    low, high = run.weight_range
    assert 0.08 < low < 0.1 < high < 0.12
    assert run.spread.within_rows < run.spread.over_all < run.spread.mean_square < 1 / 81


def test_larger_input_and_larger_layers_do_the_same_to_the_weights():
    run, larger = run_demonstration(SMALL), run_demonstration(replace(SMALL, input_scale=4.0))
    with torch.no_grad():
        run.module.query_dense.weight *= 4
        run.module.key_dense.weight *= 4
        assert_close(run.module.trace(run.x).weights, larger.trace.weights)


def test_the_sweep_runs_every_scale():
    runs = scale_sweep(SMALL)
    assert tuple(run.settings.input_scale for run in runs) == INPUT_SCALES
    largest = [run.weight_range[1] for run in scale_sweep(DemonstrationSettings())]
    assert largest == sorted(largest)
    assert largest[-1] > 0.9


@pytest.mark.parametrize("size", [1, 3, 64])
def test_parameters_are_counted(size):
    run, latex = run_demonstration(replace(SMALL, size=size)), parameter_count(size)
    assert run.n_parameters == 3 * (size**2 + size)
    assert latex[-1].endswith(rf"\boldsymbol{{{run.n_parameters}}}")


def test_the_parameter_count_is_spelled_out():
    assert parameter_count(64) == (
        r"3\,(d^2 + d) = 3\,(64^2 + 64)",
        r"= 3\,(4096 + 64) = 3 \cdot 4160 = \boldsymbol{12480}",
    )


def test_shown_matrices():
    run = run_demonstration(DemonstrationSettings(seq_len=20))
    shapes = {name: tuple(shown_matrix(run, name).values.shape) for name in LINES}
    assert shapes == dict.fromkeys(LINES, (10, 6)) | {"scores": (20, 20), "weights": (20, 20)}
    assert torch.equal(shown_matrix(run, "return").values, run.output[0, :10, :6])
    assert shown_matrix(run, "weights").unit_range
    assert not shown_matrix(run, "scores").unit_range
    deviations = weight_deviations(run).values
    assert_close(deviations, 100 * (20 * run.trace.weights[0] - 1), atol=0.051, rtol=0)


@pytest.mark.parametrize(
    "values",
    [{"batch": 5}, {"batch": 0}, {"seq_len": 65}, {"size": 257}, {"size": 0}, {"input_scale": 10.5}, {"shown_line": 8}],
    ids=str,
)
def test_limits(values):
    (name,) = values
    with pytest.raises(ValueError, match=f"^{name} must be "):
        DemonstrationSettings(**values)
    assert DemonstrationSettings.from_query({name: str(values[name])}) == DemonstrationSettings()


def test_settings_survive_a_link():
    settings = DemonstrationSettings(4, 64, 256, 999_999, 0.5, 7)
    assert DemonstrationSettings.from_query(settings.to_query()) == settings
    assert run_demonstration(settings).output.shape == (4, 64, 256)


# The source.


def test_the_source_is_the_very_class():
    assert module_source() in inspect.getsource(SimpleSelfAttention)
    assert "def forward" in module_source()
    assert "def trace" not in module_source()
    assert init_source().startswith("def __init__(self, d_model")


def test_lines_of_forward_are_named_as_their_variables():
    assert len(forward_lines()) == len(LINES)
    for index, name in enumerate(LINES[1:-1], 1):
        assert re.match(rf"{name}(: Tensor)? = ", code_line(index)), code_line(index)
    assert code_line(0).startswith("def forward(self, x")
    assert code_line(len(LINES) - 1) == "return output"


@pytest.mark.parametrize("shown_line", range(len(LINES)))
def test_the_current_line_is_marked_and_shapes_stand_up_to_it(shown_line):
    text = stepped_source(run_demonstration(replace(SMALL, shown_line=shown_line)))
    (marked,) = [line for line in text.splitlines() if line.startswith("▶")]
    assert code_line(shown_line) in marked
    assert re.findall(r"# (\(.+\))$", text, re.MULTILINE) == [
        "(2, 5, 5)" if name in ("scores", "weights") else "(2, 5, 3)" for name in LINES[: shown_line + 1]
    ]
    bare = [re.sub(r"  # \(.+\)$", "", "  " + line.removeprefix("▶ ").removeprefix("  ")) for line in text.splitlines()]
    assert [line.strip() for line in bare] == [
        line.strip() for line in inspect.getsource(SimpleSelfAttention.forward).splitlines()
    ]


@pytest.mark.parametrize(
    ("lang", "labels"), [("ja", ("入力の形状", "出力の形状")), ("en", ("Input shape", "Output shape"))]
)
def test_the_script_runs_with_torch_alone_and_prints_the_same(tmp_path, lang, labels):
    settings = replace(SMALL, input_scale=2.0)
    run, path = run_demonstration(settings), tmp_path / "self_attention.py"
    path.write_text(script(settings, lang), "utf-8")
    imported = {
        name.split(".")[0]
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in ([node.module] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names])
    }
    assert imported == {"__future__", "math", "torch"}
    done = subprocess.run(
        [sys.executable, "-X", "utf8", str(path)], cwd=tmp_path, capture_output=True, encoding="utf-8", check=True
    )
    printed = dict(line.split(":", 1) for line in done.stdout.splitlines())
    assert done.stderr == ""
    assert [printed[label].strip() for label in labels] == ["(2, 5, 3)"] * 2
    assert printed["parameters"].strip() == str(run.n_parameters)
    assert_close(torch.tensor(ast.literal_eval(printed["weights of the first query"].strip())), run.trace.weights[0, 0])
    within = float(printed["variance of the scores within rows"])
    assert within == pytest.approx(run.spread.within_rows)
