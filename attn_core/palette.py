"""The colours that carry meaning, the same in pictures and in formulas.

Query, key, value and embedding are from Okabe and Ito's set, which stays apart for colour-blind eyes.
"""

QUERY = "#D55E00"
KEY = "#0072B2"
VALUE = "#009E73"
EMBEDDING = "#CC79A7"
SCORES = "#7A5BC7"
NEUTRAL = "#8A8A8A"
EDITED = "#E69F00"

# Kinds of words (Paul Tol's muted colours): they mean nothing else.
KIND_COLORS = ("#CC6677", "#DDCC77", "#88CCEE", "#44AA99", "#AA4499")

ROLE_COLORS = {
    "query": QUERY,
    "key": KEY,
    "value": VALUE,
    "embedding": EMBEDDING,
    "scores": SCORES,
    "one_hot": NEUTRAL,
    "weight": NEUTRAL,
}
