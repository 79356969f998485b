"""``netlab init``: write a study of two hosts, and list what would spoil it."""

from __future__ import annotations

from typing import Any

import click

from netlab.cli import terminal
from netlab.survey.init import init_study
from netlab.survey.paths import login_of


def init(left: str, right: str, identity_file: str | None, **asked: Any) -> None:
    with terminal.asking_at_terminal():
        written = init_study([login_of(text, identity_file) for text in (left, right)], **asked)
    for finding in written.findings:
        click.echo("\n".join(finding.lines()))
    if written.others:
        unused = "more of paths that the study does not use"
        click.echo(f"{written.others} {unused}: see {written.file}")
    click.echo(f"{written.file}: a study of {written.path}; next: netlab check {written.file}")
