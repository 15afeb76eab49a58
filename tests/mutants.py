"""Does the suite notice faults put in on purpose? `python -m tests.mutants` (make mutants).

Each mutant is one replacement in one file of a temporary copy; its tests must fail there. A mutant whose text
is no longer found exactly once is an error, and so are tests that fail without any mutant. To add one, add a
line to MUTANTS.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]


@dataclass(frozen=True)
class Mutant:
    """One fault: in `file` (of attn_core), `old` becomes `new`; `tests` (of tests/attn_core) must notice."""

    name: str
    file: str
    old: str
    new: str
    tests: str


MUTANTS = (
    # attend()
    Mutant("mask applied in place", "attention.py", "scaled.masked_fill(", "scaled.masked_fill_(", "attention"),
    Mutant("mask inverted", "attention.py", "masked_fill(~_checked", "masked_fill(_checked", "attention"),
    Mutant("mask ignored", "attention.py", "scaled if mask is None else", "scaled if True else", "attention"),
    Mutant("0 for -inf", "attention.py", "mask, scores), -math.inf)", "mask, scores), 0.0)", "attention"),
    Mutant(
        "scaled and masked swapped",
        "attention.py",
        "scaled=scaled, masked=masked",
        "scaled=masked, masked=scaled",
        "attention",
    ),
    Mutant("scores recorded scaled", "attention.py", "scores=scores,", "scores=scaled,", "attention"),
    Mutant("scaled recorded unscaled", "attention.py", "scaled=scaled,", "scaled=scores,", "attention"),
    Mutant("softmax over queries", "attention.py", "softmax(masked, dim=-1)", "softmax(masked, dim=-2)", "attention"),
    Mutant("softmax before the mask", "attention.py", "softmax(masked,", "softmax(scaled,", "attention"),
    Mutant("softmax of raw scores", "attention.py", "softmax(masked,", "softmax(scores,", "attention"),
    Mutant("no scaling", "attention.py", "scores / divisor", "scores / 1.0", "attention"),
    Mutant("multiplied by the divisor", "attention.py", "scores / divisor", "scores * divisor", "attention"),
    Mutant("d_k for √d_k", "attention.py", "math.sqrt(query.shape[-1])", "float(query.shape[-1])", "attention"),
    Mutant("d_v for d_k", "attention.py", "math.sqrt(query.shape[-1])", "math.sqrt(value.shape[-1])", "attention"),
    Mutant("length for d_k", "attention.py", "math.sqrt(query.shape[-1])", "math.sqrt(key.shape[-2])", "attention"),
    Mutant("scale ignored", "attention.py", "if scale is None else scale", "if True else scale", "attention"),
    Mutant("zero divisor let through", "attention.py", "and divisor > 0)", "and divisor >= 0)", "attention"),
    Mutant(
        "keys and queries swapped",
        "attention.py",
        "scores = query @ key.transpose(-2, -1)",
        "scores = (key @ query.transpose(-2, -1)).reshape(*query.shape[:-1], -1)",
        "attention",
    ),
    Mutant(
        "weights transposed",
        "attention.py",
        "weights=weights, output",
        "weights=weights.transpose(-2, -1), output",
        "attention",
    ),
    Mutant("output from scores", "attention.py", "output=weights @ value", "output=scores @ value", "attention"),
    Mutant("keys for values", "attention.py", "output=weights @ value", "output=weights @ key", "attention"),
    Mutant(
        "inputs changed", "attention.py", "scores = query @", "query *= 1.5\n    scores = query / 1.5 @", "attention"
    ),
    Mutant("blind queries let through", "attention.py", "    if blind:", "    if False:", "attention"),
    Mutant("blind keys named", "attention.py", "full.any(dim=-1)", "full.any(dim=-2)", "attention"),
    # SimpleSelfAttention
    Mutant("module: no scaling", "modules.py", " / math.sqrt(self.d_model)", "", "modules"),
    Mutant("module: d_model for √d_model", "modules.py", "math.sqrt(self.d_model)", "self.d_model", "modules"),
    Mutant(
        "module: softmax over queries", "modules.py", "softmax(scores, dim=-1)", "softmax(scores, dim=-2)", "modules"
    ),
    Mutant(
        "module: keys from query_dense", "modules.py", "key = self.key_dense(x)", "key = self.query_dense(x)", "modules"
    ),
    Mutant("module: output from keys", "modules.py", "weights @ value", "weights @ key", "modules"),
    Mutant(
        "module: no bias",
        "modules.py",
        "self.value_dense = nn.Linear(d_model, d_model)",
        "self.value_dense = nn.Linear(d_model, d_model, bias=False)",
        "modules",
    ),
    Mutant(
        "module: trace swaps q and k",
        "modules.py",
        "attend(self.query_dense(x), self.key_dense(x),",
        "attend(self.key_dense(x), self.query_dense(x),",
        "modules",
    ),
    # the demonstration
    Mutant(
        "demonstration draws from everyone",
        "demonstration.py",
        "nn.init.uniform_) else {}",
        ") else {}",
        "demonstration",
    ),
    Mutant(
        "spread within columns", "demonstration.py", "rows_first.var(dim=-1", "rows_first.var(dim=-2", "demonstration"
    ),
    Mutant(
        "scores unscaled",
        "demonstration.py",
        '"scores": self.trace.scaled',
        '"scores": self.trace.scores',
        "demonstration",
    ),
    # tokens
    Mutant(
        "one_hot off by one", "tokens.py", "list(ids)] = 1.0", "[(i + 1) % size for i in ids]] = 1.0", "tokens lesson"
    ),
    Mutant("IDs off by one", "tokens.py", "enumerate(self.words)}", "enumerate(self.words, 1)}", "tokens lesson"),
    Mutant("unknown words get the last ID", "tokens.py", "ids.get(token, 0)", "ids.get(token, len(ids) - 1)", "tokens"),
    Mutant("no longer than d_model", "tokens.py", "[: max(9, d_model)]", "[:1]", "tokens"),
    Mutant("long text not cut", "tokens.py", "if end <= MAX_CHARACTERS", "if True", "tokens"),
    Mutant(
        "emoji cut at the limit",
        "tokens.py",
        "if len(shown) <= MAX_CHARACTERS:",
        "if shown := shown[:MAX_CHARACTERS]:",
        "tokens",
    ),
    Mutant("Japanese swallowed by a hyphen", "tokens.py", "-]{_LETTERS})*", r"-]\w+)*", "tokens"),
    Mutant("control characters kept", "tokens.py", '("Cc", "Cs") and', '("Cs",) and', "tokens"),
    # lesson
    Mutant("W_Q used for K", "lesson.py", "x @ w_q, x @ w_k, x @ w_v", "x @ w_q, x @ w_q, x @ w_v", "lesson"),
    Mutant("W_V transposed", "lesson.py", "x @ w_k, x @ w_v", "x @ w_k, x @ w_v.T", "lesson"),
    Mutant("seed ignored", "parameters.py", "manual_seed(seed)", "manual_seed(0)", "lesson"),
    Mutant("one seed for all layers", "parameters.py", "glorot, 4 * seed + 2", "glorot, 4 * seed + 1", "lesson"),
    Mutant(
        "global generator",
        "parameters.py",
        "generator = torch.Generator().manual_seed(seed)",
        "generator = torch.manual_seed(seed)",
        "lesson",
    ),
    Mutant("float32", "parameters.py", ".to(torch.float64) / 10", ".to(torch.float32) / 10", "lesson"),
    Mutant("entries off by a tenth", "parameters.py", "randint(-bound, bound + 1,", "randint(-bound, bound,", "lesson"),
    Mutant("divisor not handed on", "lesson.py", "attend(q, k, v, scale=lesson.divisor)", "attend(q, k, v)", "lesson"),
    Mutant("queries and keys swapped", "lesson.py", "attend(q, k, v,", "attend(k, q, v,", "lesson"),
    Mutant("cut tokens not counted", "lesson.py", "len(found) - len(tokens)", "0", "lesson"),
    Mutant(
        "chosen query left outside",
        "lesson.py",
        "query=min(lesson.query, n_tokens - 1)",
        "query=lesson.query",
        "lesson",
    ),
    Mutant(
        "text does not follow the language", "lesson.py", "DEFAULT_TEXT.get(self.lang)", 'DEFAULT_TEXT["ja"]', "lesson"
    ),
    # links
    Mutant(
        "from_query drops a field",
        "links.py",
        "for name in cls.names():\n            if",
        "for name in cls.names()[:-1]:\n            if",
        "links lesson",
    ),
    Mutant("from_query reports nothing", "links.py", "ignored=tuple(ignored))", "ignored=())", "links"),
    Mutant("from_query raises", "links.py", "except (ValueError, KeyError):", "except ValueError:", "links"),
    Mutant(
        "booleans written as in Python",
        "links.py",
        "str(value).lower() if isinstance(value, bool) else str(value)",
        "str(value) if isinstance(value, bool) else str(value)",
        "links",
    ),
    Mutant(
        "limits not checked",
        "links.py",
        " and self.low <= value <= self.high\n\n\n@dataclass(frozen=True)\nclass Real",
        "\n\n\n@dataclass(frozen=True)\nclass Real",
        "links lesson",
    ),
    Mutant("report takes part in equality", "links.py", "compare=False, ", "", "links"),
)


def mutate(mutant: Mutant, folder: Path) -> None:
    """Puts the fault into the copy.

    Raises:
        ValueError: the text to replace is not there exactly once.
    """
    path = folder / "attn_core" / mutant.file
    source = path.read_text("utf-8")
    if source.count(mutant.old) != 1:
        raise ValueError(f"{mutant.old!r} is {source.count(mutant.old)} times in {mutant.file}, not once")
    path.write_text(source.replace(mutant.old, mutant.new), "utf-8")


def run(tests: str, mutant: Mutant | None = None) -> tuple[int, str]:
    """pytest's exit code on a copy of the tree, with the fault in it, and the line that says why."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for part in ("attn_core", "tests"):
            shutil.copytree(ROOT / part, folder / part, ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(ROOT / "pyproject.toml", folder)
        if mutant:
            mutate(mutant, folder)
        files = [f"tests/attn_core/test_{test}.py" for test in tests.split()]
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *files]
        one_core = os.environ | {"OMP_NUM_THREADS": "1"}  # another mutant runs on the other
        done = subprocess.run(
            command, cwd=folder, capture_output=True, encoding="utf-8", errors="replace", env=one_core
        )
    reasons = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return done.returncode, reasons[0].split(" - ")[0] if reasons else ""


def judge(mutant: Mutant) -> tuple[str, str]:
    """killed, SURVIVED or ERROR, and the test or the reason."""
    try:
        code, reason = run(mutant.tests, mutant)
    except ValueError as error:
        return "ERROR", str(error)
    # 1 = tests failed; above that pytest itself could not run: the fault was never tried.
    return {0: "SURVIVED", 1: "killed"}.get(code, "ERROR"), reason or f"pytest ended with {code}"


def main() -> int:
    """Prints a table; 1 if any mutant survives or cannot be tried."""
    every_test = " ".join(dict.fromkeys(test for mutant in MUTANTS for test in mutant.tests.split()))
    code, reason = run(every_test)
    if code != 0:
        print(f"The tests fail without any mutant: {reason}")
        return 1
    bad = 0
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for mutant, (verdict, reason) in zip(MUTANTS, pool.map(judge, MUTANTS), strict=True):
            print(f"{verdict:<9} {mutant.file:<13} {mutant.name:<34} {reason}", flush=True)
            bad += verdict != "killed"
    print(f"{len(MUTANTS) - bad} of {len(MUTANTS)} mutants killed")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
