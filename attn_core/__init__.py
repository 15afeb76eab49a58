"""What attention is: every step of it as a typed record, without any user interface.

Axis names used throughout: *batch* (any leading axes), *token*, *query* and *key* (positions in a
sequence), *vocabulary* (words), *d_model*, *d_k* and *d_v* (sizes of an embedding, a query or
key, a value).
"""

from attn_core.attention import AttentionTrace, attend
from attn_core.lesson import Lesson, LessonTrace, run_lesson
from attn_core.modules import SimpleSelfAttention
from attn_core.tokens import Vocabulary, one_hot, tokenize

__all__ = [
    "AttentionTrace",
    "Lesson",
    "LessonTrace",
    "SimpleSelfAttention",
    "Vocabulary",
    "attend",
    "one_hot",
    "run_lesson",
    "tokenize",
]
