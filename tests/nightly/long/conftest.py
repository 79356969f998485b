"""Of the native tests only the build: their network namespace is not for all of a night."""

from native.conftest import build

__all__ = ["build"]
