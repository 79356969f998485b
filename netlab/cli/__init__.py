"""The ``netlab`` command: one module a subcommand."""

from netlab.cli.main import main

__all__ = ["main"]
