"""The module's source as a text to step through, and as a script to take along."""

import ast
import functools
import inspect
import textwrap

from attn_core.demonstration import LINES, Demonstration, DemonstrationSettings
from attn_core.modules import SimpleSelfAttention

SHAPE_LABELS = {"ja": ("入力の形状", "出力の形状"), "en": ("Input shape", "Output shape")}
_MARK = "▶"


@functools.cache
def module_source() -> str:
    """SimpleSelfAttention as it stands in its file, without `trace`, which forward does not need."""
    return inspect.getsource(SimpleSelfAttention).replace(inspect.getsource(SimpleSelfAttention.trace), "").rstrip()


@functools.cache
def init_source() -> str:
    """`__init__` as it stands in its file."""
    return textwrap.dedent(inspect.getsource(SimpleSelfAttention.__init__)).rstrip()


@functools.cache
def _forward_source() -> str:
    return textwrap.dedent(inspect.getsource(SimpleSelfAttention.forward)).rstrip()


@functools.cache
def forward_lines() -> tuple[int, ...]:
    """Where in the source of `forward` each of LINES stands, counted from 0."""
    (function,) = ast.parse(_forward_source()).body
    assert isinstance(function, ast.FunctionDef)
    steps = [function, *(part for part in function.body if not isinstance(part, ast.Expr))]  # but the docstring
    return tuple(step.lineno - 1 for step in steps)


def stepped_source(run: Demonstration) -> str:
    """The source of `forward`, every line up to the shown one with its tensor's shape, the shown one marked."""
    source = _forward_source().splitlines()
    shown = run.settings.shown_line
    text = [f"  {line}".rstrip() for line in source]
    for index, place in list(enumerate(forward_lines()))[: shown + 1]:
        text[place] += f"  # {tuple(run.at(LINES[index]).shape)}"
    place = forward_lines()[shown]
    text[place] = _MARK + text[place][1:]
    return "\n".join(text)


def code_line(shown_line: int) -> str:
    """One line of `forward`, bare."""
    return _forward_source().splitlines()[forward_lines()[shown_line]].strip()


def script(settings: DemonstrationSettings, lang: str) -> str:
    """A Python script that needs torch only and prints the shapes and numbers of this demonstration."""
    before, after = SHAPE_LABELS[lang]
    return _SCRIPT.format(
        source=module_source(),
        size=settings.size,
        seed=settings.module_seed,
        input_seed=settings.module_seed + 1,
        scale=settings.input_scale,
        shape=f"{settings.batch}, {settings.seq_len}, {settings.size}",
        before=before,
        after=after,
        seq_len=settings.seq_len,
    )


_SCRIPT = '''"""Self-attention with one head, and one run of it. Needs torch: python self_attention.py"""

from __future__ import annotations  # the annotations name shapes for the reader; nothing evaluates them

import math

import torch
from torch import nn


{source}


torch.manual_seed({seed})
module = SimpleSelfAttention({size})
x = {scale} * torch.rand({shape}, generator=torch.Generator().manual_seed({input_seed}))

with torch.no_grad():
    output = module(x)
    query, key, value = module.query_dense(x), module.key_dense(x), module.value_dense(x)
    reference = nn.functional.scaled_dot_product_attention(query, key, value)
    scores = query @ key.transpose(-2, -1) / math.sqrt({size})
    weights = torch.softmax(scores, dim=-1)

print("{before}:", tuple(x.shape))
print("{after}:", tuple(output.shape))
print("parameters:", sum(parameter.numel() for parameter in module.parameters()))
print("largest difference from scaled_dot_product_attention:", float((output - reference).abs().max()))
print("variance of the scores within rows:", float(scores.double().var(dim=-1, correction=0).mean()))
print("smallest and largest weight:", float(weights.min()), float(weights.max()), "equal:", 1 / {seq_len})
print("weights of the first query:", weights[0, 0].tolist())
'''
