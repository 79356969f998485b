"""Fixtures of the native tests."""

from tests.native.conftest import build

__all__ = ["build"]
