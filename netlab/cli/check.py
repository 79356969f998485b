"""``netlab check``: whether a study can run on its hosts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from netlab.cli.exitcodes import guarded
from netlab.cli.options import results_option, study_argument, timing_options
from netlab.cli.validation import load_measurable
from netlab.errors import NetlabError


@click.command("check")
@study_argument
@timing_options
@results_option()
@guarded
def check_command(study: str, results: Path | None, **timing: Any) -> None:
    """Check that STUDY can run: hosts, keys, sudo, interfaces, MTUs, space, limits, ceilings.

    Nothing stays changed. All is checked before the first line is printed. Exit code 1 if a check
    failed, 2 if the study cannot be used.
    """
    loaded = load_measurable(study, **timing)
    from netlab.experiment.preflight import preflight

    findings = list(preflight(loaded, results))
    for finding in findings:
        click.echo(finding.line())
    failed = sum(finding.status == "fail" for finding in findings)
    if failed:
        raise NetlabError(f"{failed} of {len(findings)} checks failed", code="E-CLI-005")
