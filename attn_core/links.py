"""Records whose every field can be written into a link and read back from it."""

import dataclasses
import functools
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, Self, runtime_checkable

from attn_core.limits import MAX_REPORTED

_REPORTED = 3  # unread parts of one parameter


@dataclass(frozen=True)
class Ignored:
    """A parameter that could not be read, and what would have been allowed.

    `value` is repeated to the reader: the beginning of a long one, and a question mark for what is no character.
    """

    name: str
    value: str
    allowed: str

    def __post_init__(self) -> None:
        shown = self.value[:MAX_REPORTED].encode(errors="replace").decode()
        object.__setattr__(self, "value", shown)


class PartlyReadError(ValueError):
    """Some parts of a parameter could be read and some could not."""

    def __init__(self, value: object, unread: tuple[str, ...]) -> None:
        super().__init__(", ".join(unread))
        self.value = value
        self.unread = unread


@runtime_checkable
class Allowed(Protocol):
    """What a field may hold, how it is written into a link, and how it is read back."""

    def read(self, text: str) -> object: ...
    def accepts(self, value: object) -> bool: ...


@dataclass(frozen=True)
class Whole:
    """A whole number from low to high."""

    low: int
    high: int

    def __str__(self) -> str:
        return f"{self.low} … {self.high}"

    def read(self, text: str) -> int:
        if not re.fullmatch(r"[+-]?[0-9]{1,9}", text):
            raise ValueError(text)
        return int(text)

    def accepts(self, value: object) -> bool:
        return isinstance(value, int) and not isinstance(value, bool) and self.low <= value <= self.high


@dataclass(frozen=True)
class Real:
    """A finite number from low to high."""

    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.low:g} … {self.high:g}"

    def read(self, text: str) -> float:
        if not re.fullmatch(r"[+-]?[0-9.]{1,24}(e[+-]?[0-9]{1,3})?", text):
            raise ValueError(text)
        return float(text)

    def accepts(self, value: object) -> bool:
        return isinstance(value, float) and math.isfinite(value) and self.low <= value <= self.high


@dataclass(frozen=True)
class OneOf:
    """One of a few words."""

    options: tuple[str, ...]

    def __str__(self) -> str:
        return ", ".join(self.options)

    def read(self, text: str) -> str:
        return text

    def accepts(self, value: object) -> bool:
        return value in self.options


@dataclass(frozen=True)
class YesNo:
    """true or false."""

    def __str__(self) -> str:
        return "true, false"

    def read(self, text: str) -> bool:
        return {"true": True, "false": False}[text.lower()]

    def accepts(self, value: object) -> bool:
        return isinstance(value, bool)


@dataclass(frozen=True)
class CutText:
    """A text of at most so many characters; a link's longer one is cut off there."""

    limit: int

    def __str__(self) -> str:
        return f"≤ {self.limit}"

    def read(self, text: str) -> str:
        return text[: self.limit]

    def accepts(self, value: object) -> bool:
        return isinstance(value, str) and len(value) <= self.limit


def linked(default: object, allowed: Allowed) -> Any:
    """A dataclass field with a default and what it may hold."""
    return field(default=default, metadata={"allowed": allowed})


@dataclass(frozen=True)
class Linked:
    """Base of the records that a link holds: frozen, hashable, every field with a default.

    `ignored` says what from_query could not read; it takes no part in equality.
    """

    ignored: tuple[Ignored, ...] = field(default=(), compare=False, repr=False, kw_only=True)

    def __post_init__(self) -> None:
        for name in self.names():
            value, allowed = getattr(self, name), self.allowed(name)
            if not allowed.accepts(value):
                raise ValueError(f"{name} must be {allowed}, got {repr(value)[:MAX_REPORTED]}")

    @classmethod
    def names(cls) -> tuple[str, ...]:
        """The fields that a link holds, in order."""
        return tuple(cls._allowed())

    @classmethod
    def allowed(cls, name: str) -> Any:
        """What the field may hold.

        Raises:
            KeyError: there is no such field.
        """
        return cls._allowed()[name]

    @classmethod
    @functools.cache
    def _allowed(cls) -> dict[str, Any]:
        fields = dataclasses.fields(cls)
        return {field.name: field.metadata["allowed"] for field in fields if "allowed" in field.metadata}

    def defaults(self) -> Self:
        """The record whose fields a link leaves out."""
        return type(self)()

    def to_query(self) -> dict[str, str]:
        """The fields that differ from their defaults, as URL parameters."""
        return dict(self._query)

    @functools.cached_property
    def _query(self) -> dict[str, str]:
        """Worked out once for a record: every run of every page asks for it."""
        defaults = self.defaults()
        changed = {name: getattr(self, name) for name in self.names() if getattr(self, name) != getattr(defaults, name)}
        return {name: _written(value) for name, value in changed.items()}

    @classmethod
    def from_query(cls, query: Mapping[str, str]) -> Self:
        """The record that the parameters describe; never raises.

        What cannot be read keeps its default and is listed in `ignored`.
        """
        values: dict[str, Any] = {}
        ignored: list[Ignored] = []
        for name in cls.names():
            if name not in query:
                continue
            allowed, text = cls.allowed(name), str(query[name])
            value, unread = _read(allowed, text)
            ignored += [Ignored(name, part, str(allowed)) for part in _few(unread)]
            if allowed.accepts(value):
                values[name] = value
        return cls(**values, ignored=tuple(ignored))


def _read(allowed: Allowed, text: str) -> tuple[object, tuple[str, ...]]:
    """The value that the text stands for, and the parts of the text that stand for nothing allowed."""
    try:
        value = allowed.read(text)
    except PartlyReadError as partly:
        return partly.value, partly.unread
    except (ValueError, KeyError):
        return None, (text,)
    return value, () if allowed.accepts(value) else (text,)


def _few(unread: tuple[str, ...]) -> tuple[str, ...]:
    """The first unread parts, and how many more there are: a link may hold thousands."""
    if len(unread) <= _REPORTED:
        return unread
    return (*unread[: _REPORTED - 1], f"… ({len(unread) - _REPORTED + 1})")


def _written(value: object) -> str:
    if isinstance(value, tuple):
        return " ".join(str(part) for part in value)
    return str(value).lower() if isinstance(value, bool) else str(value)
