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
        "self.value_dense = nn.Linear(d_model, d_model)\n\n",
        "self.value_dense = nn.Linear(d_model, d_model, bias=False)\n\n",
        "modules",
    ),
    Mutant(
        "module: trace swaps q and k",
        "modules.py",
        "attend(self.query_dense(x), self.key_dense(x),",
        "attend(self.key_dense(x), self.query_dense(x),",
        "modules",
    ),
    # heads
    Mutant("heads interleaved", "heads.py", "transpose(-3, -2).flatten", "movedim(-3, -1).flatten", "heads modules"),
    Mutant("heads in reverse order", "heads.py", "return heads.transpose", "return heads.flip(-3).transpose", "heads"),
    Mutant(
        "heads cut across tokens",
        "heads.py",
        "x.reshape(*x.shape[:-1], n_heads, x.shape[-1] // n_heads).transpose(-3, -2)",
        "x.reshape(*x.shape[:-2], n_heads, x.shape[-2], x.shape[-1] // n_heads)",
        "heads",
    ),
    Mutant("any number of heads", "heads.py", "or d_model % n_heads:", "or d_model < n_heads:", "heads modules"),
    Mutant(
        "heads: d_model for d_k",
        "modules.py",
        "mask=None if mask is None else mask.unsqueeze(-3))",
        "mask=None if mask is None else mask.unsqueeze(-3), scale=math.sqrt(self.d_model))",
        "modules",
    ),
    Mutant(
        "heads: W_O transposed",
        "modules.py",
        "self.output_dense(join_heads(trace.output))",
        "join_heads(trace.output) @ self.output_dense.weight + self.output_dense.bias",
        "modules",
    ),
    Mutant(
        "heads: mask forgotten", "modules.py", "self.mix(self.trace(x, mask))", "self.mix(self.trace(x))", "modules"
    ),
    Mutant("shares: W_O transposed", "shares.py", "trace.w_o.reshape", "trace.w_o.T.reshape", "shares"),
    Mutant("shares: columns for rows of W_O", "shares.py", "trace.d_k, -1)", "-1, trace.d_k).mT", "shares"),
    Mutant("shares: along not divided", "shares.py", " / total.norm().clamp(min=1e-300)", "", "shares"),
    Mutant("distance: differences not halved", "comparison.py", ".sum(dim=-1) / 2", ".sum(dim=-1)", "comparison"),
    Mutant("distance: from the first head", "comparison.py", "weights[trace.head]", "weights[0]", "comparison"),
    Mutant("distance: of the first query", "comparison.py", "apart[:, query]", "apart[:, 0]", "comparison"),
    Mutant("torch: another divisor", "reference.py", " * (math.sqrt(trace.d_k) / trace.divisor)", "", "reference"),
    Mutant("torch: mask inverted", "reference.py", "attn_mask=~trace.mask", "attn_mask=trace.mask", "reference"),
    Mutant(
        "torch: weights averaged over heads",
        "reference.py",
        "average_attn_weights=False",
        "average_attn_weights=True",
        "reference",
    ),
    Mutant("a head's columns from 0", "explain.py", "product.result.first_column + column", "column", "explain"),
    Mutant("X for the second sentence", "stages.py", '"second": _inputs(trace, "k")', '"second": _x(trace)', "stages"),
    Mutant(
        "a share of all of W_O", "stages.py", "values=right.values[rows], rows", "values=right.values, rows", "stages"
    ),
    # the demonstration
    Mutant(
        "demonstration draws from everyone",
        "initial.py",
        "nn.init.uniform_, torch",
        "torch",
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
    Mutant("cut tokens not counted", "lesson.py", "max(0, len(tokens) - limit)", "0", "lesson"),
    Mutant(
        "chosen query left outside",
        "lesson.py",
        "query=min(lesson.query, n_queries - 1)",
        "query=lesson.query",
        "lesson",
    ),
    Mutant(
        "text does not follow the language", "lesson.py", "DEFAULT_TEXT.get(self.lang)", 'DEFAULT_TEXT["ja"]', "lesson"
    ),
    Mutant(
        "padding behind both sentences",
        "lesson.py",
        "[*kept[:-1], (*kept[-1], *[PADDING] * lesson.padding)]",
        "[(*one, *[PADDING] * lesson.padding) for one in kept]",
        "lesson",
    ),
    Mutant(
        "heads that do not fit are not reported", "lesson.py", "(*lesson.ignored, refused)", "lesson.ignored", "lesson"
    ),
    Mutant("p added twice", "lesson.py", "selector, x, p, x + p)", "selector, x, p, x + 2 * p)", "lesson"),
    Mutant("p added twice to what asks", "lesson.py", "inputs=x + sequence.p", "inputs=x + 2 * sequence.p", "thread"),
    Mutant(
        "p with the first token's place for all",
        "lesson.py",
        'w["p"][: len(tokens)]',
        'w["p"][:1].expand(len(tokens), -1)',
        "thread",
    ),
    Mutant("an edit of a p that is not used", "lesson.py", "n_positions = 0 if", "n_positions = 32 if", "edits"),
    Mutant("W_O drawn like W_V", "parameters.py", "_LATER_STREAMS + 2 * seed + 1)", "4 * seed + 3)", "lesson"),
    # the thread
    Mutant("W_Q used for K", "thread.py", "answering.inputs @ layers.w_k", "answering.inputs @ layers.w_q", "thread"),
    Mutant("W_V transposed", "thread.py", "answering.inputs @ layers.w_v", "answering.inputs @ layers.w_v.T", "thread"),
    Mutant(
        "keys from the asking sentence",
        "thread.py",
        "answering.inputs @ layers.w_k",
        "asking.inputs @ layers.w_k",
        "thread",
    ),
    Mutant(
        "values from the asking sentence",
        "thread.py",
        "answering.inputs @ layers.w_v",
        "asking.inputs @ layers.w_v",
        "thread",
    ),
    Mutant(
        "values without positions", "thread.py", "answering.inputs @ layers.w_v", "answering.x @ layers.w_v", "thread"
    ),
    Mutant("mask kept from the heads", "thread.py", "*part, mask=mask, scale", "*part, scale", "thread"),
    Mutant("divisor not handed on", "thread.py", ", scale=divisor(scale, d_k))", ")", "thread"),
    Mutant("√d_model for √d_k", "thread.py", "d_k = q.shape[-1] // n_heads", "d_k = q.shape[-1]", "thread"),
    Mutant(
        "heads joined in reverse",
        "thread.py",
        "[one.output for one in heads]",
        "[one.output for one in heads[::-1]]",
        "thread",
    ),
    Mutant("W_O left out", "thread.py", "y=joined @ layers.w_o", "y=joined", "thread"),
    Mutant("W_O transposed", "thread.py", "y=joined @ layers.w_o", "y=joined @ layers.w_o.T", "thread"),
    Mutant("another head shown", "thread.py", "self.heads[self.head]", "self.heads[-1]", "thread"),
    Mutant("columns of the first head", "thread.py", "range(self.head * self.d_k,", "range(0,", "thread"),
    # what is taken along
    Mutant("script divides by √d_model", "script.py", '"d_k" if several else "d_model"', '"d_model"', "script export"),
    Mutant("script's keys from x", "script.py", 'f"second_{inputs}" if trace.is_cross else inputs', "inputs", "script"),
    Mutant(
        "script's positions turn too slowly",
        "script.py",
        "$base ** (2 * pairs / d_model)",
        "$base ** (pairs / d_model)",
        "script",
    ),
    Mutant("hidden keys asked about", "exercises.py", "if asked.hidden is None or", "if True or", "exercises"),
    Mutant(
        "a position asked about without p",
        "exercises.py",
        "for part in position_sum(trace)[:2])\n    if",
        "for part in position_sum(trace)[:1])\n    if",
        "exercises",
    ),
    Mutant("heads' labels from 0", "export.py", "range(place * trace.d_k,", "range(0 * trace.d_k,", "export"),
    # training on tasks
    Mutant("closeness without the half", "problems.py", "abs().sum(dim=-1) / 2", "abs().sum(dim=-1)", "problems"),
    Mutant(
        "places that ask nothing count",
        "problems.py",
        "(problems.answers != NOTHING)",
        "(problems.answers >= NOTHING)",
        "problems",
    ),
    Mutant("unseen sequences are trained on", "tasks.py", "drawn.take(torch.nonzero(~same)[:, 0])", "drawn", "tasks"),
    Mutant(
        "recall asks in order",
        "tasks.py",
        "keys.gather(1, order), values.gather(1, order)\n    nothing = torch.full_like(order",
        "keys, values\n    nothing = torch.full_like(order",
        "tasks",
    ),
    Mutant(
        "the grammar forgets", "language.py", "n * context[:, place - 1] +", "0 * context[:, place - 1] +", "language"
    ),
    Mutant(
        "layers are not added to their input",
        "learning.py",
        "x = x + layer(x, mask)\n        scores",
        "x = layer(x, mask)\n        scores",
        "learning",
    ),
    Mutant("matrices transposed", "learning.py", "weight.detach().T.clone()", "weight.detach().clone()", "learning"),
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
    # masks
    Mutant("causal mask turned over", "masks.py", "mask.tril()", "mask.triu()", "masks"),
    Mutant("a query hidden from itself", "masks.py", "mask.tril()", "mask.tril(-1)", "masks"),
    Mutant("the first keys for padding", "masks.py", "[:, n_keys - n_padding :]", "[:, :n_padding]", "masks"),
    Mutant("a drawn mask hides queries", "masks.py", "~mask.any(dim=-1)", "~mask.any(dim=0)", "masks"),
    Mutant("a drawing only ever hides", "masks.py", "= ~drawn[query, key]", "= False", "masks"),
    Mutant(
        "the visible keys' share", "masking.py", "(trace.mask, ~trace.mask)", "(~trace.mask, trace.mask)", "masking"
    ),
    Mutant(
        "weights without the mask, with it",
        "masking.py",
        "(trace.attention.scaled",
        "(trace.attention.masked",
        "masking",
    ),
    Mutant("a fill in place of the score", "fills.py", "hidden, row + stored, row", "hidden, stored, row", "fills"),
    Mutant("filled in float64", "fills.py", "row = scaled.to(dtype)", "row = scaled", "fills"),
    Mutant("a blind row that sees itself", "blind.py", "    mask[row] = False", "    mask[row, 1:] = False", "blind"),
    Mutant("True means hidden", "blind.py", "attn_mask=~mask", "attn_mask=mask", "blind"),
    # positions
    Mutant("sines and cosines swapped", "positions.py", "% 2 == 0", "% 2 == 1", "positions"),
    Mutant(
        "an angle for every column",
        "positions.py",
        "dtype=torch.float64) // 2",
        "dtype=torch.float64) / 2",
        "positions",
    ),
    Mutant("counted from 1", "positions.py", "torch.arange(n_tokens,", "torch.arange(1, n_tokens + 1,", "positions"),
    Mutant("slow pairs first", "positions.py", "BASE ** (2 *", "BASE ** (1 - 2 *", "positions"),
    Mutant("every column's speed counts", "position_study.py", "[1, ::2]", "[1, :]", "position_study"),
    # order
    Mutant(
        "positions go with their tokens",
        "permutation.py",
        "sequence.p, x + sequence.p",
        "sequence.p[places], x + sequence.p[places]",
        "permutation",
    ),
    Mutant(
        "rows not put back", "permutation.py", "restored[list(order)] = after", "restored[:] = after", "permutation"
    ),
    Mutant(
        "put back the wrong way",
        "permutation.py",
        "restored[list(order)] = after",
        "restored[:] = after[list(order)]",
        "permutation",
    ),
    Mutant("padding moves", "permutation.py", "0 if trace.is_cross else trace.lesson.padding", "0", "permutation"),
    # pictures
    Mutant(
        "patches column by column",
        "images.py",
        "cut.transpose(1, 2).reshape(rows * columns,",
        "cut.permute(2, 0, 1, 3, 4).reshape(rows * columns,",
        "images",
    ),
    Mutant(
        "channel by channel",
        "images.py",
        "cut.transpose(1, 2).reshape(rows * columns,",
        "cut.permute(0, 2, 4, 1, 3).reshape(rows * columns,",
        "images",
    ),
    Mutant("transparency on black", "images.py", 'opaque.size, "white")', 'opaque.size, "black")', "images"),
    Mutant("never turned upright", "images.py", "if orientation in turns else image", "if False else image", "images"),
    Mutant("size not checked", "images.py", "if width * height > MAX_PIXELS or", "if False and", "images"),
    Mutant("scans not counted", "images.py", " > MAX_SCANS:", " > 10**9:", "images"),
    Mutant("patches from the words' stream", "parameters.py", "_PATCH_STREAM + seed)", "4 * seed)", "picture_thread"),
    Mutant("picture: K and V swapped", "picture_thread.py", '"W_K", "W_V",', '"W_V", "W_K",', "picture_thread"),
    # the Vision Transformer
    Mutant(
        "held-out digits teach",
        "vit.py",
        "data.patches[~data.held_out].float(), data.labels[~data.held_out]",
        "data.patches.float(), data.labels",
        "vit",
    ),
    Mutant(
        "the same digits held out and learned",
        "vit.py",
        "model(data.patches[data.held_out])",
        "model(data.patches[~data.held_out][:359])",
        "vit",
    ),
    Mutant(
        "traced without its norm",
        "vit.py",
        "self.attention.trace(self.attention_norm(z))",
        "self.attention.trace(z)",
        "vit",
    ),
    Mutant("class token last", "vit.py", "[class_token, x], dim=-2", "[x, class_token], dim=-2", "vit"),
    Mutant("seed of the model ignored", "vit.py", "new_vit(2 * settings.vit_seed)", "new_vit(0)", "vit"),
    Mutant("damaged weights accepted", "vit.py", 'if _digest(data) != metadata.get("sha256"):', "if False:", "vit"),
    Mutant("share of the rate ignored", "optimizer.py", "rate = share * self._rate", "rate = self._rate", "optimizer"),
    # pretrained models
    Mutant(
        "a model's scaling taken for its divisor", "pretrained.py", "else 1 / scaling", "else scaling", "pretrained"
    ),
    Mutant(
        "grouped keys in another order",
        "pretrained.py",
        "x.repeat_interleave(query.shape[1] // x.shape[1], dim=1)",
        "x.repeat(1, query.shape[1] // x.shape[1], 1, 1)",
        "pretrained",
    ),
    Mutant("a bias taken for a mask", "pretrained.py", "if len(rest):", "if False:", "pretrained"),
    Mutant(
        "previous and next swapped",
        "head_measures.py",
        "step == -1, step == 1",
        "step == 1, step == -1",
        "head_measures",
    ),
    Mutant("rollout in the wrong order", "head_measures.py", "layer @ before", "before @ layer", "head_measures"),
    Mutant(
        "rollout without the residual",
        "head_measures.py",
        "weights.mean(dim=1) + torch.eye(",
        "weights.mean(dim=1) + 0 * torch.eye(",
        "head_measures",
    ),
    Mutant(
        "rows left as they are", "reading.py", "each_to_1(weights) if renormalised else weights", "weights", "reading"
    ),
    Mutant("special tokens stay", "reading.py", "if special or all(", "if True or all(", "reading"),
    Mutant(
        "a reading without its mask",
        "reading.py",
        "attend(query, key, value, mask=mask, scale=divisor)\n        return HeadSteps",
        "attend(query, key, value, scale=divisor)\n        return HeadSteps",
        "reading",
    ),
    Mutant(
        "another head's numbers",
        "reading.py",
        "index = (place.layer, place.head)",
        "index = (place.layer, place.head - 1)",
        "reading",
    ),
    Mutant(
        "patches counted from the class token",
        "reading.py",
        "weights=weights[:, :, token, n_special:]",
        "weights=weights[:, :, token, n_special - 1 : -1]",
        "reading",
    ),
    Mutant(
        "the rest of a long sum left out", "explain.py", "math.fsum(term.product for term in terms)", "0.0", "explain"
    ),
    Mutant("largest terms by sign", "explain.py", "-abs(terms[place].product)", "-terms[place].product", "explain"),
    Mutant("the rest of a long row left out", "explain.py", "if place not in kept)", "if place in ())", "explain"),
    Mutant(
        "an export of rounded weights",
        "pretrained_export.py",
        "reading.head(place).attention.weights.tolist()",
        "reading.head(place).attention.weights.round(decimals=3).tolist()",
        "pretrained_export",
    ),
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
