"""A lesson as a Python script that recomputes it with torch alone."""

import inspect
import textwrap
from collections.abc import Iterable
from string import Template

import torch
from jaxtyping import Float
from torch import Tensor

from attn_core.edits import EditedMatrix, edited, is_inside
from attn_core.export import matrix_names
from attn_core.lesson import LessonTrace
from attn_core.limits import MAX_TOKENS
from attn_core.parameters import Draw, draws, output_draw, position_draw, tenths
from attn_core.positions import BASE

# The script's blocks, an empty line between them; a lesson has those that it needs.
_BLOCKS = {
    "start": '''"""$title

$needs
"""

import math

import torch

# $tokens_comment
tokens = $tokens
vocabulary = $vocabulary
ids = $ids
d_model = $d_model''',
    "second_tokens": """# $second_tokens_comment
second_tokens = $second_tokens
second_ids = $second_ids""",
    "tenths": """
# $tenths_comment
$tenths""",
    "parameters": """# $parameters_comment
$parameters""",
    "x": """# $one_hot_comment
one_hot = torch.zeros(len(ids), len(vocabulary), dtype=torch.float64)
one_hot[range(len(ids)), ids] = 1.0

# $x_comment
x = one_hot @ W_E$x_edits""",
    "sinusoidal": """# $sinusoidal_comment
pairs = torch.arange(d_model, dtype=torch.float64) // 2
angles = torch.arange($max_tokens, dtype=torch.float64)[:, None] / $base ** (2 * pairs / d_model)
positions = torch.where(torch.arange(d_model) % 2 == 0, angles.sin(), angles.cos())$p_edits""",
    "learned": """# $learned_comment
positions = $learned$p_edits""",
    "inputs": """# $inputs_comment
p = positions[: len(ids)]
inputs = x + p""",
    "second_x": """# $second_x_comment
second_one_hot = torch.zeros(len(second_ids), len(vocabulary), dtype=torch.float64)
second_one_hot[range(len(second_ids)), second_ids] = 1.0
second_x = second_one_hot @ W_E""",
    "second_inputs": """second_p = positions[: len(second_ids)]
second_inputs = second_x + second_p""",
    "projections": """# $projections_comment
q = $queries_from @ W_Q
k = $keys_from @ W_K
v = $keys_from @ W_V""",
    "causal": """# $causal_comment
mask = torch.ones(len(q), len(k), dtype=torch.bool).tril()""",
    "padding": """# $padding_comment
mask = torch.ones(len(q), len(k), dtype=torch.bool)
mask[:, -$padding:] = False""",
    "drawn": """# $drawn_comment
mask = torch.tensor($mask_rows)""",
    "attention": """# $scores_comment
scores = $q @ $k.T

# $scaled_comment
scaled = scores / $divisor

# $masked_comment
masked = $masked

# $weights_comment
weights = torch.softmax(masked, dim=-1)

# $output_comment
output = weights @ $v""",
    "each_head": """# $heads_comment
n_heads = $n_heads
d_k = d_model // n_heads
heads = {}
for head in range(n_heads):
    columns = slice(head * d_k, (head + 1) * d_k)
""",
    "kept": """heads |= {
    f"scores_{head}": scores,
    f"scaled_{head}": scaled,
    f"masked_{head}": masked,
    f"weights_{head}": weights,
    f"output_{head}": output,
}""",
    "joined": """# $joined_comment
joined = torch.cat([heads[f"output_{head}"] for head in range(n_heads)], dim=-1)""",
    "y": """# $y_comment
y = $joined @ W_O""",
    "end": """# $lesson_comment
matrices = {
$matrices
}
lesson = {"tokens": tokens, "vocabulary": vocabulary, "ids": ids, **matrices}$second_labels

try:
    print(f"tokens: {tokens}")
except UnicodeEncodeError:  # $console_comment
    print(f"tokens: {ascii(tokens)}")
print(f"ids: {ids}")
for name, values in matrices.items():
    print(f"\\n{name}: {values.shape[0]} x {values.shape[1]}")
    for row in values.tolist():
        print(" ".join(f"{round(value, 4) + 0.0:9.4f}" for value in row))  # $zero_comment
""",
}

_COMMENTS = {
    "en": {
        "title": "One lesson on attention, step by step: the numbers on the screen, computed again.",
        "needs": "Needs PyTorch and nothing else. Everything is float64; four decimals are printed.",
        "tokens_comment": "The tokens, the vocabulary, and the ID of each token: its place in the vocabulary, from 0.",
        "second_tokens_comment": "The second sentence: keys and values come from it.",
        "tenths_comment": "Random numbers with one decimal, from -bound/10 to bound/10; the same for the same seed.",
        "parameters_comment": "The parameters: the embedding layer, those for query, key, value, and the last layer.",
        "edited": "edited",
        "one_hot_comment": "One-hot vectors: a row per token, with 1 at the place of its ID and 0 elsewhere.",
        "x_comment": "Embedding vectors: the product selects one row of W_E for each token.",
        "sinusoidal_comment": "Position vectors: sines in the even columns, cosines of the same angles in the odd.",
        "learned_comment": "Position vectors, to be learned: as the seed draws them, a row for each place.",
        "inputs_comment": "The layers get the sum of embedding and position.",
        "second_x_comment": "The second sentence goes the same way.",
        "projections_comment": "The same x through three layers gives queries, keys and values.",
        "positions_projections_comment": "The same sums through three layers give queries, keys and values.",
        "cross_projections_comment": "Queries come from the first sentence, keys and values from the second.",
        "causal_comment": "The mask, True where a query (row) may look at a key (column): none after its own place.",
        "padding_comment": "The mask, True where a query (row) may look at a key (column): not at the padding.",
        "drawn_comment": "The mask, drawn by hand: True where a query (row) may look at a key (column).",
        "heads_comment": "Heads: each does the following with its own d_k columns of q, k and v.",
        "scores_comment": "Similarity: the inner products of all queries (rows) with all keys (columns).",
        "scaled_comment": "The scores over their divisor.",
        "masked_comment": "Where a query may not look, the score becomes minus infinity.",
        "unmasked_comment": "Nothing is masked in this lesson: every query may look at every key.",
        "weights_comment": "Attention weights: softmax makes each row sum to 1.",
        "output_comment": "Each output is the weighted sum of all values.",
        "joined_comment": "The outputs of all heads, side by side.",
        "y_comment": "The last layer mixes the columns of the output.",
        "lesson_comment": "Every step under its name.",
        "console_comment": "this console cannot show the characters",
        "zero_comment": "+ 0.0: no minus before a zero",
    },
    "ja": {
        "title": "注意の計算を一段ずつ: 画面と同じ数値を計算し直します。",
        "needs": "必要なのは PyTorch だけです。計算はすべて float64、表示は小数第 4 位までです。",
        "tokens_comment": "トークン、語彙、各トークンの ID (語彙の中での位置、0 から数える)。",
        "second_tokens_comment": "2 つ目の文: key と value はこの文から作る。",
        "tenths_comment": "小数第 1 位までの乱数 (-bound/10 から bound/10 まで)。シードが同じなら数値も同じ。",
        "parameters_comment": "パラメータ: 埋め込み層、query・key・value の 3 つの層、最後の層。",
        "edited": "手で変更した値",
        "one_hot_comment": "one-hot ベクトル: トークンごとに 1 行。ID の位置だけが 1、ほかは 0。",
        "x_comment": "埋め込みベクトル: この積は、トークンごとに W_E の 1 行を選び出す。",
        "sinusoidal_comment": "位置ベクトル: 偶数番目の列は sin、奇数番目の列は同じ角度の cos (列は 0 から数える)。",
        "learned_comment": "学習される位置ベクトル: 位置ごとに 1 行。値はシードから作った学習前のもの。",
        "inputs_comment": "層に入るのは、埋め込みと位置の和。",
        "second_x_comment": "2 つ目の文も同じ道をたどる。",
        "projections_comment": "同じ x を 3 つの層に通して、query・key・value を得る。",
        "positions_projections_comment": "同じ和を 3 つの層に通して、query・key・value を得る。",
        "cross_projections_comment": "query は 1 つ目の文から、key と value は 2 つ目の文から作る。",
        "causal_comment": "マスク: query (行) が key (列) を見てよいところが True。自分より後ろの位置は見ない。",
        "padding_comment": "マスク: query (行) が key (列) を見てよいところが True。パディングは見ない。",
        "drawn_comment": "手で描いたマスク: query (行) が key (列) を見てよいところが True。",
        "heads_comment": "ヘッド: それぞれが q・k・v の自分の d_k 列だけを使って、次の計算をする。",
        "scores_comment": "類似度: すべての query (行) とすべての key (列) の内積。",
        "scaled_comment": "スコアを決まった数で割る。",
        "masked_comment": "見てはいけない key のスコアをマイナス無限大にする。",
        "unmasked_comment": "この講義にマスクはない: どの query もすべての key を見る。",
        "weights_comment": "注意の重み: softmax によって各行の和が 1 になる。",
        "output_comment": "出力: すべての value の重みつきの和。",
        "joined_comment": "すべてのヘッドの出力を横に並べる。",
        "y_comment": "最後の層が、出力の列を混ぜ合わせる。",
        "lesson_comment": "すべての段階を名前で取り出せるようにする。",
        "console_comment": "この端末では表示できない文字がある",
        "zero_comment": "+ 0.0: ゼロにマイナスを付けない",
    },
}


def to_script(trace: LessonTrace) -> str:
    """A Python script that recomputes the lesson step by step, with torch alone, and prints its matrices.

    It does in float64 what `run_lesson` does, in the same order; its dict `lesson` holds what
    `attn_core.export.arrays` holds.
    Tokens and words stand in it as `repr` writes them, so that no text can become code. Comments are in the
    lesson's language: the script is to be saved as UTF-8.
    """
    values = _COMMENTS[trace.lesson.lang] | _chosen_comments(trace) | _data(trace) | _formulas(trace)
    blocks = {name: Template(text).substitute(values) for name, text in _BLOCKS.items()}
    return "\n\n".join(_in_heads(blocks) if name == "each_head" else blocks[name] for name in _needed(trace))


def _needed(trace: LessonTrace) -> list[str]:
    """The blocks of this lesson, in order."""
    positions, several = _adds_positions(trace), trace.n_heads > 1
    blocks = {
        "start": True,
        "second_tokens": trace.is_cross,
        "tenths": True,
        "parameters": True,
        "x": True,
        trace.lesson.positions: positions,
        "inputs": positions,
        "second_x": trace.is_cross,
        "second_inputs": trace.is_cross and positions,
        "projections": True,
        trace.lesson.mask: trace.is_masked,
        "each_head" if several else "attention": True,
        "joined": several,
        "y": True,
        "end": True,
    }
    return [name for name, needed in blocks.items() if needed]


def _adds_positions(trace: LessonTrace) -> bool:
    return trace.lesson.positions != "none"


def _in_heads(blocks: dict[str, str]) -> str:
    """The attention of one head inside of the loop over all."""
    inside = textwrap.indent(f"{blocks['attention']}\n\n{blocks['kept']}", "    ")
    return f"{blocks['each_head']}\n{inside}"


def _chosen_comments(trace: LessonTrace) -> dict[str, str]:
    """Comments that depend on the lesson."""
    comments = _COMMENTS[trace.lesson.lang]
    projections = "cross_" if trace.is_cross else "positions_" if _adds_positions(trace) else ""
    return {
        "projections_comment": comments[f"{projections}projections_comment"],
        "masked_comment": comments["masked_comment" if trace.is_masked else "unmasked_comment"],
    }


def _data(trace: LessonTrace) -> dict[str, object]:
    """The lesson's own texts and numbers, as Python."""
    positions = position_draw(MAX_TOKENS, trace.lesson.d_model, trace.lesson.seed)
    return {
        "tokens": _listed(map(repr, trace.tokens)),
        "vocabulary": _listed(map(repr, trace.vocabulary.words)),
        "ids": _listed(map(repr, trace.ids)),
        "second_tokens": _listed(map(repr, trace.key_tokens)),
        "second_ids": _listed(map(repr, trace.vocabulary.encode(trace.key_tokens))),
        "d_model": trace.lesson.d_model,
        "n_heads": trace.n_heads,
        "max_tokens": MAX_TOKENS,
        "base": BASE,
        "padding": trace.lesson.padding,
        "mask_rows": _listed_rows(trace.mask),
        "tenths": inspect.getsource(tenths),
        "parameters": "\n".join(_parameters(trace)),
        "learned": _drawn(positions),
        "x_edits": _assignments(trace, "x", "x", trace.x),
        "p_edits": _assignments(trace, "p", "positions", torch.empty(MAX_TOKENS, trace.lesson.d_model)),
    }


def _formulas(trace: LessonTrace) -> dict[str, str]:
    """What the steps are computed from, and the names of the matrices."""
    several, inputs = trace.n_heads > 1, "inputs" if _adds_positions(trace) else "x"
    size = "d_k" if several else "d_model"
    second_labels = '\nlesson |= {"second_tokens": second_tokens, "second_ids": second_ids}'
    return {
        "queries_from": inputs,
        "keys_from": f"second_{inputs}" if trace.is_cross else inputs,
        **{letter: f"{letter}[:, columns]" if several else letter for letter in "qkv"},
        "divisor": {"sqrt_d_k": f"math.sqrt({size})", "none": "1.0", "d_k": f"float({size})"}[trace.lesson.scale],
        "masked": "scaled.masked_fill(~mask, -math.inf)" if trace.is_masked else "scaled",
        "joined": "joined" if several else "output",
        "second_labels": second_labels if trace.is_cross else "",
        "matrices": "\n".join(_entries(trace)),
    }


def _entries(trace: LessonTrace) -> list[str]:
    """The lines of the script's dict: every matrix under its name, those of several heads at once."""
    names = [name for name in matrix_names(trace) if name[-1] not in "0123456789"]  # a number is that of a head
    lines = [f'    "{name}": {name.upper() if name.startswith("w_") else name},' for name in names]
    if trace.n_heads > 1:
        lines.insert(names.index("joined"), "    **heads,")
    return lines


def _parameters(trace: LessonTrace) -> list[str]:
    """The lines that make the parameters."""
    size, seed = trace.lesson.d_model, trace.lesson.seed
    drawn = draws(len(trace.vocabulary), size, seed) | {"W_O": output_draw(size, seed)}
    return [_parameter(trace, matrix, draw, getattr(trace, matrix.lower())) for matrix, draw in drawn.items()]


def _parameter(trace: LessonTrace, matrix: EditedMatrix, draw: Draw, values: Float[Tensor, "_ _"]) -> str:
    """One parameter: drawn if that gives its numbers, else (trained) written out; then its edits."""
    made = f"torch.tensor({_listed_rows(values)}, dtype=torch.float64)"
    if torch.equal(edited(matrix, draw.numbers(), trace.lesson.edits), values):
        made = _drawn(draw)
    return f"{matrix} = {made}{_assignments(trace, matrix, matrix, values)}"


def _drawn(draw: Draw) -> str:
    return f"tenths({draw.rows}, {draw.columns}, {draw.bound}, seed={draw.seed})"


def _assignments(trace: LessonTrace, matrix: EditedMatrix, name: str, values: Float[Tensor, "_ _"]) -> str:
    """The edits of one matrix in order, each on a line of its own after the line that makes the matrix."""
    comment = _COMMENTS[trace.lesson.lang]["edited"]
    edits = [edit for edit in trace.lesson.edits if edit.matrix == matrix and is_inside(edit, values)]
    return "".join(f"\n{name}[{edit.row}, {edit.column}] = {edit.value!r}  # {comment}" for edit in edits)


def _listed(items: Iterable[str], per_line: int = 8) -> str:
    """Literals as a Python list, a few to a line."""
    all_items = list(items)
    if len(all_items) <= per_line:
        return f"[{', '.join(all_items)}]"
    lines = [all_items[start : start + per_line] for start in range(0, len(all_items), per_line)]
    return "[\n" + "".join(f"    {', '.join(line)},\n" for line in lines) + "]"


def _listed_rows(values: Tensor) -> str:
    """A matrix as a Python list of its rows, each number with all its digits."""
    return "[\n" + "".join(f"    {row!r},\n" for row in values.tolist()) + "]"
