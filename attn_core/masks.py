"""Which query may attend to which key: the masks of a lesson, and what becomes of hidden scores."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

import torch
from jaxtyping import Bool
from torch import Tensor

from attn_core.links import PartlyReadError

MASKS = ("none", "causal", "padding", "drawn")
PADDING = "[PAD]"

_MOST_PARTS = 100  # a query is written with two digits
_FORM = re.compile(r"([0-9]{1,2}):([0-9]{1,2}(?:-[0-9]{1,2})?(?:,[0-9]{1,2}(?:-[0-9]{1,2})?)*)")


@dataclass(frozen=True)
class HiddenKeys:
    """The keys that one query may not attend to, written `0:1-3,5`; positions count from 0."""

    query: int
    keys: tuple[int, ...]

    def __post_init__(self) -> None:
        if not self.keys or list(self.keys) != sorted(set(self.keys)):
            raise ValueError(f"keys must be in order, each once, and at least one, got {self.keys}")
        if not all(0 <= place <= 99 for place in (self.query, *self.keys)):
            raise ValueError(f"positions must be between 0 and 99, got {self.query} and {self.keys}")

    @classmethod
    def parse(cls, text: str) -> "HiddenKeys":
        """Reads `0:1-3,5`.

        Raises:
            ValueError: the text has another form.
        """
        match = _FORM.fullmatch(text)
        if match is None:
            raise ValueError(f"hidden keys are written like 0:1-3,5, got {text!r}")
        query, parts = match.groups()
        keys: set[int] = set()
        for part in parts.split(","):
            first, *rest = map(int, part.split("-"))
            last = rest[0] if rest else first
            if last < first:
                raise ValueError(f"a run of keys goes up, got {part}")
            keys.update(range(first, last + 1))
        return cls(int(query), tuple(sorted(keys)))

    def __str__(self) -> str:
        runs: list[list[int]] = []
        for key in self.keys:
            if runs and key == runs[-1][-1] + 1:
                runs[-1].append(key)
            else:
                runs.append([key])
        return f"{self.query}:{','.join(_run(run) for run in runs)}"


def _run(keys: list[int]) -> str:
    return str(keys[0]) if len(keys) == 1 else f"{keys[0]}-{keys[-1]}"


@dataclass(frozen=True)
class HiddenList:
    """The hidden keys of up to 100 queries, with spaces between."""

    def __str__(self) -> str:
        return "0:1-3,5 2:0"

    def read(self, text: str) -> tuple[HiddenKeys, ...]:
        found: dict[int, set[int]] = {}
        parts = text.split()
        unread = parts[_MOST_PARTS:]
        for part in parts[:_MOST_PARTS]:
            try:
                hidden = HiddenKeys.parse(part)
            except ValueError:
                unread.append(part)
            else:
                found.setdefault(hidden.query, set()).update(hidden.keys)
        read = tuple(HiddenKeys(query, tuple(sorted(keys))) for query, keys in sorted(found.items()))
        if unread:
            raise PartlyReadError(read, tuple(unread))
        return read

    def accepts(self, value: object) -> bool:
        if not (isinstance(value, tuple) and all(isinstance(part, HiddenKeys) for part in value)):
            return False
        queries = [part.query for part in value]
        return queries == sorted(set(queries))


def make_mask(
    kind: str, n_queries: int, n_keys: int, *, n_padding: int = 0, hidden: Iterable[HiddenKeys] = ()
) -> Bool[Tensor, "query key"]:
    """True where the query may attend to the key.

    Args:
        kind: "none"; "causal" (no key after the query's own place; Vaswani et al. 2017, section 3.2.3);
            "padding" (no key among the last n_padding); "drawn" (all but the hidden ones).
        n_queries: length of the sequence that asks.
        n_keys: length of the sequence that is attended to.
        n_padding: how many of the last keys are padding.
        hidden: the hidden keys of a drawn mask; positions outside of it hide nothing.

    Raises:
        ValueError: there is no such kind, or there is more padding than keys.
    """
    if not 0 <= n_padding <= n_keys:
        raise ValueError(f"n_padding must be between 0 and {n_keys}, the number of keys, got {n_padding}")
    mask = torch.ones(n_queries, n_keys, dtype=torch.bool)
    if kind == "causal":
        return mask.tril()
    if kind == "padding":
        mask[:, n_keys - n_padding :] = False
    elif kind == "drawn":
        for part in hidden:
            if part.query < n_queries:
                mask[part.query, [key for key in part.keys if key < n_keys]] = False
    elif kind != "none":
        raise ValueError(f"mask must be one of {', '.join(MASKS)}, got {kind!r}")
    return mask


def blind_queries(mask: Bool[Tensor, "query key"]) -> tuple[int, ...]:
    """The queries that may see no key at all."""
    return tuple(torch.nonzero(~mask.any(dim=-1))[:, 0].tolist())


def hidden_keys(mask: Bool[Tensor, "query key"]) -> tuple[HiddenKeys, ...]:
    """The mask's hidden keys, as a drawn mask has them."""
    rows = ((query, tuple(torch.nonzero(~row)[:, 0].tolist())) for query, row in enumerate(mask))
    return tuple(HiddenKeys(query, keys) for query, keys in rows if keys)


def toggled(mask: Bool[Tensor, "query key"], query: int, key: int) -> tuple[HiddenKeys, ...]:
    """The hidden keys after one cell of the mask was turned over: a visible one is hidden, a hidden one shown."""
    drawn = mask.clone()
    drawn[query, key] = ~drawn[query, key]
    return hidden_keys(drawn)
