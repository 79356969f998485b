"""``netlab schema``: the JSON Schema of a study, or its reference."""

from __future__ import annotations

import click

from netlab.cli.exitcodes import guarded


@click.command("schema")
@click.option("--reference", is_flag=True, help="Print every key as Markdown instead.")
@guarded
def schema_command(reference: bool) -> None:
    """Print the JSON Schema of a study file, with a description and an example for each key.

    An editor completes and checks a study that begins with the line
    "# yaml-language-server: $schema=study.schema.json", after netlab schema > study.schema.json.
    """
    from netlab.files.json_file import json_text
    from netlab.study.schema import as_markdown, json_schema

    click.echo(as_markdown().rstrip("\n") if reference else json_text(json_schema()))
