"""``netlab check``: whether a study can run on its hosts."""

from __future__ import annotations

from pathlib import Path

import click

from netlab.cli import terminal
from netlab.errors import NetlabError
from netlab.experiment.preflight import preflight
from netlab.study import Study


def check_study(study: Study, results: Path | None) -> None:
    with terminal.asking_at_terminal():
        # a host may be on several paths
        findings = list(dict.fromkeys(preflight(study, results)))
    for finding in findings:
        click.echo(finding.line())
    failed = sum(finding.status == "fail" for finding in findings)
    if failed:
        raise NetlabError(f"{failed} of {len(findings)} checks failed", code="E-CLI-005")
