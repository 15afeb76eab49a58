"""The colours that carry meaning, the same in pictures and in formulas.

Query, key, value and embedding are from Okabe and Ito's set, which stays apart for colour-blind eyes; the violet of
scores is as light as it is because a darker one is the key's blue for eyes without red or green.
"""

QUERY = "#D55E00"
KEY = "#0072B2"
VALUE = "#009E73"
EMBEDDING = "#CC79A7"
SCORES = "#9281F0"
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
    "weights": SCORES,
    "one_hot": NEUTRAL,
    "pixels": NEUTRAL,
    "weight": NEUTRAL,
}

# The fullest colour of a cell: numbers in cells are black.
CELL_COLORS = ROLE_COLORS | {"key": "#2E7AB8"}
DARKEST_PIXEL = "#777777"  # under a number

# The same colours for letters, which need more contrast than lines: on a light page, on a dark one.
TEXT_COLORS = {
    QUERY: ("#B55000", "#D96E19"),
    KEY: ("#00507D", "#73B1D5"),
    VALUE: ("#007E5C", "#009E73"),
    EMBEDDING: ("#995B7D", "#CC79A7"),
    SCORES: ("#7456BD", "#957CD2"),
    NEUTRAL: ("#6E6E6E", "#8A8A8A"),
}
