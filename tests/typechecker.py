"""The run-time type checker of the suite: beartype, with `typing.Self` and the numeric tower allowed for."""

from collections.abc import Callable
from typing import Any, TypeVar

from beartype import BeartypeConf, beartype
from beartype.roar import BeartypeDecorHintPep673Exception

F = TypeVar("F", bound=Callable[..., Any])

# An int is welcome where a float is asked for, as for mypy.
_as_mypy_reads_it = beartype(conf=BeartypeConf(is_pep484_tower=True))


def checked(function: F) -> F:
    """The function with its annotations checked at every call.

    beartype understands `Self` on whole classes only, while jaxtyping hands over methods: those few go unchecked.
    """
    try:
        return _as_mypy_reads_it(function)
    except BeartypeDecorHintPep673Exception:
        return function
