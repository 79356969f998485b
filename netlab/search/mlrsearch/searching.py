"""``netlab mlrsearch``: search each cell, and print the bounds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from netlab.cli import options
from netlab.errors import NetlabError
from netlab.files import paths
from netlab.search.mlrsearch.bounds import DOCUMENT, FOLDER, bounds_table
from netlab.search.mlrsearch.run import mlrsearch
from netlab.search.mlrsearch.search import Goals
from netlab.study import Study


def search(study: Study, results: Path | None, **goals: Any) -> None:
    place = results or paths.results_dir(study.name) / FOLDER
    bounds = mlrsearch(study, Goals(**goals), place, say=options.note)
    heads, rows = bounds_table(bounds).texts()
    click.echo(f"{options.in_columns(*map(tuple, heads + rows))}\n{place / DOCUMENT}")
    if ended := [text for text in bounds["message"].unique() if text]:
        raise NetlabError(f"{len(ended)} searches ended: {ended[0]}", code="E-CLI-036")
