"""How much a reader may ask for: every upper limit, and why it is there.

The records that a link is read into hold these limits themselves (`attn_core.links`), so that no link, whoever wrote
it, asks for more; widgets take their bounds from the records. Where nothing else is said, a limit is what a class can
still read on a screen.
"""

# The lesson: worked by hand, cell by cell.
MAX_CHARACTERS = 500  # of a text; of a longer one, the beginning is used
MAX_TOKENS = 32  # of a sentence
MAX_SIZE = 16  # d_model, and so heads and columns
MAX_PADDING = 4  # tokens
MAX_SEED = 999_999
MAX_EDITS = 500  # numbers put in by hand; a link of MAX_LINK characters has room for fewer
LARGEST_EDIT = 1000.0  # up or down: far past every number drawn, and every step after it is still finite
MAX_LINK = 8000  # characters: what every browser, proxy and server passes on
MAX_REPORTED = 80  # characters of a parameter that could not be read, as they are repeated to the reader

# The reader's own corpus, and training on it: a few seconds.
MAX_CORPUS_CHARACTERS = 20_000
MAX_CORPUS_WORDS = 60  # the most frequent ones
MAX_EMBEDDING_STEPS = 1000

# Experiments: what one core does within MAX_JOB_SECONDS.
MAX_D_K = 4096
MAX_SAMPLES = 1_000_000  # per d_k; drawn in pieces, so that memory does not depend on it
MAX_LEARNING_STEPS = 2000
MAX_EPOCHS = 40  # of the model that reads digits
MAX_BATCH, MAX_SEQUENCE, MAX_MODULE_SIZE = 4, 64, 256  # of the PyTorch module's input, and its d_model

# Work that waits at the gate.
MAX_JOB_SECONDS = 120.0  # of work, waiting not counted; whoever asks again gets as much again

# A reader's picture, as a file.
MAX_PICTURE_BYTES = 5 * 1024 * 1024  # server.maxUploadSize, too
MAX_PIXELS = 16_000_000  # a phone's 12 megapixels and some more; up to 16 bytes each while the file is read
MAX_PICTURE_EDGE = 20_000  # pixels
MAX_SCANS = 20  # a progressive JPEG has about ten; each costs the time of the whole picture, and few bytes

# Pretrained models: what a machine of 1 GB can hold beside the app.
MAX_MODEL_BYTES = 500_000_000  # of its files, and of its numbers in float32
MAX_LAYERS = MAX_HEADS = 48
MAX_ALL_HEADS = 600  # their weights on 128 tokens, and their steps, fit into memory
MAX_PLACES = 1024  # tokens of a picture
MAX_MODEL_EDGE = 1024  # pixels that a model enlarges a picture to
MAX_PIECES = 128  # tokens of a text
MAX_PASSAGE = 700  # characters: of most writing more than the pieces that are read
MAX_NAME = 96  # characters of a model's name, as its hub allows
MAX_PINS = 6  # heads side by side
