"""Numbers that readers know from published texts, to half a unit in the last printed place."""

import json
import math
from decimal import Decimal
from pathlib import Path

import pytest
import torch
from torch import Tensor

from attn_core import attend

_FILE = Path(__file__).parents[1] / "data" / "published.json"
CASES = {case["name"]: case for case in json.loads(_FILE.read_text("utf-8"), parse_float=Decimal)["cases"]}


def numbers(printed: list) -> Tensor:
    """Printed numbers as float64."""
    return torch.tensor([[float(x) for x in row] for row in printed], dtype=torch.float64)


def assert_as_printed(actual: Tensor, printed: list) -> None:
    """Each number within half a unit of its last printed place, and of what a float64 can tell apart."""
    actual_numbers = actual.flatten().tolist()
    assert len(actual_numbers) == len(printed)
    for number, text in zip(actual_numbers, map(Decimal, printed), strict=True):
        half_unit = 0.5 * 10.0 ** text.as_tuple().exponent
        assert abs(number - float(text)) <= half_unit + math.ulp(float(text)), f"{number} is not printed as {text}"


def test_every_case_is_checked_here():
    assert set(CASES) == {"journey", "thinking machines", "one over one plus e", "footnote 4"}


def test_journey():
    case = CASES["journey"]
    x = numbers(case["inputs"])
    assert (case["query_key_value_weights"], case["scale"]) == ("identity", "none")
    trace = attend(x, x, x, scale=1.0)
    for step in ("scores", "weights", "output"):
        assert_as_printed(getattr(trace, step)[case["query"]], case[step])


def test_thinking_machines():
    case = CASES["thinking machines"]
    query = torch.ones(1, case["d_k"], dtype=torch.float64)
    key = torch.stack([query[0] * score / case["d_k"] for score in case["scores"]])  # q·k = the printed scores
    trace = attend(query, key, key)
    for step in ("scores", "scaled", "weights"):
        assert_as_printed(getattr(trace, step), case[step])


def test_one_over_one_plus_e():
    case = CASES["one over one plus e"]
    key = numbers(case["key"])
    assert_as_printed(attend(numbers(case["query"]), key, key).weights, case["weights"][0])


@pytest.mark.parametrize("d_k", [1, 4, 64, 512])
def test_footnote_4(d_k):
    n, generator = 40_000, torch.Generator().manual_seed(d_k)
    query, key = (torch.randn(n, 1, d_k, generator=generator, dtype=torch.float64) for _ in range(2))
    trace = attend(query, key, key)
    scores, scaled = trace.scores.flatten(), trace.scaled.flatten()
    # Within 4 standard errors: √(d_k/n) for the mean, √((2 + 6/d_k)/n) relative for the variance.
    relative = 4 * math.sqrt((2 + 6 / d_k) / n)
    assert abs(scores.mean()) < 4 * math.sqrt(d_k / n)
    assert scores.var().item() == pytest.approx(d_k, rel=relative)
    assert scaled.var().item() == pytest.approx(1, rel=relative)


def test_half_a_unit_is_enforced():
    with pytest.raises(AssertionError, match=r"is not printed as 0\.88"):
        assert_as_printed(torch.tensor([0.8851]), [Decimal("0.88")])
