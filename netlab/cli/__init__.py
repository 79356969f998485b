"""The ``netlab`` command."""

from netlab.cli.main import main

__all__ = ["main"]
