"""What attention is: every step of it as a typed record, without any user interface.

Axis names used throughout: *batch* (any leading axes), *token*, *query* and *key* (positions in a
sequence), *head*, *vocabulary* (words), *feature* (words, or places in a patch), *d_model*, *d_k* and
*d_v* (sizes of an embedding, a query or key, a value).
"""

from attn_core.attention import AttentionTrace, BlindQueryError, attend
from attn_core.edits import Edit
from attn_core.lesson import Lesson, LessonTrace, run_lesson
from attn_core.masks import HiddenKeys, make_mask
from attn_core.modules import MultiHeadSelfAttention, SimpleSelfAttention
from attn_core.positions import sinusoidal
from attn_core.tokens import Vocabulary, one_hot, tokenize

__all__ = [
    "AttentionTrace",
    "BlindQueryError",
    "Edit",
    "HiddenKeys",
    "Lesson",
    "LessonTrace",
    "MultiHeadSelfAttention",
    "SimpleSelfAttention",
    "Vocabulary",
    "attend",
    "make_mask",
    "one_hot",
    "run_lesson",
    "sinusoidal",
    "tokenize",
]
