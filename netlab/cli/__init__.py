"""The ``netlab`` command."""

from netlab.cli import experiments, fleet, results, studies
from netlab.cli.main import main

__all__ = ["experiments", "fleet", "main", "results", "studies"]
