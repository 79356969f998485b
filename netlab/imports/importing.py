"""``netlab import``: read files, store their runs, and list what was refused."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from netlab.cli import guard, options
from netlab.errors import BadInput, check, printable
from netlab.files import paths
from netlab.imports.implied import write_study
from netlab.imports.into_store import below, import_files
from netlab.imports.rows import Facts
from netlab.results.store import Store


def import_results(
    files: tuple[Path, ...], results: Path | None, strict: bool, **given: Any
) -> None:
    facts = Facts(**given)
    apart, text = facts.sender != facts.receiver, "sender and receiver are the same host"
    check(apart, "", facts.sender, text, "E-CLI-006")
    directory = results or paths.results_dir(facts.study)
    done = import_files(below(files), facts, directory, strict=strict)
    notes = ((one, text) for one in done.files for text in [one.imported, *one.reasons])
    rows = [(str(one.path), one.kind, text) for one, text in notes if text]
    if len(rows) > 1:
        click.echo(options.in_columns(("file", "kind", "runs"), *rows), err=True)
    errors = done.refused()
    for one in done.files:
        if not (one.run_ids or one.errors):
            click.echo(printable(f"{one.path}: imported before"), err=True)
    if done.run_ids:
        try:
            write_study(Store(directory).runs(), directory)
        except BadInput as error:  # such as a path whose name other hosts have
            options.note(f"no study was written: {error.with_code()}")
            errors.append(error)
    options.note(f"{len(done.run_ids)} runs imported into {directory}")
    for run_id in done.run_ids:
        click.echo(run_id)
    if errors:
        sys.exit(guard.BELOW_GATE)
