"""Records whose every field can be written into a link and read back from it."""

import dataclasses
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, Self, runtime_checkable


@dataclass(frozen=True)
class Ignored:
    """A parameter of a link that could not be read, and what would have been allowed."""

    name: str
    value: str
    allowed: str


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
class AnyText:
    """Any text."""

    def __str__(self) -> str:
        return "…"

    def read(self, text: str) -> str:
        return text

    def accepts(self, value: object) -> bool:
        return isinstance(value, str)


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
                raise ValueError(f"{name} must be {allowed}, got {value!r}")

    @classmethod
    def names(cls) -> tuple[str, ...]:
        """The fields that a link holds, in order."""
        return tuple(f.name for f in dataclasses.fields(cls) if "allowed" in f.metadata)

    @classmethod
    def allowed(cls, name: str) -> Any:
        """What the field may hold.

        Raises:
            KeyError: there is no such field.
        """
        return {f.name: f.metadata.get("allowed") for f in dataclasses.fields(cls)}[name]

    def defaults(self) -> Self:
        """The record whose fields a link leaves out."""
        return type(self)()

    def to_query(self) -> dict[str, str]:
        """The fields that differ from their defaults, as URL parameters."""
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
            ignored += [Ignored(name, part, str(allowed)) for part in unread]
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


def _written(value: object) -> str:
    if isinstance(value, tuple):
        return " ".join(str(part) for part in value)
    return str(value).lower() if isinstance(value, bool) else str(value)
