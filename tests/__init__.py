"""The suite; `checked` is here because the shape checker is named as `package.function` in pyproject.toml."""

from tests.typechecker import checked

__all__ = ["checked"]
