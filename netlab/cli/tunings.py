"""``netlab tune``: changes of a study's tunings, and recovery after a dead netlab."""

from __future__ import annotations

import click

from netlab.experiment.endpoint import open_endpoints
from netlab.experiment.study_hosts import study_lab
from netlab.face.changes import Changes, planned_changes
from netlab.study import Study


def plan(study: Study, tuning: str | None, path_name: str | None, commands: bool) -> None:
    planned = Changes(tuple(planned_changes(study, tuning, path_name)))
    click.echo(planned.commands() if commands else planned)


def recover(study: Study) -> None:
    """Revert what a netlab left that was killed together with its guard."""
    with study_lab(study) as lab:
        for path in study.paths:
            with open_endpoints(study, study.first_link(path), lab=lab) as endpoints:
                for host, endpoint in endpoints.items():
                    for answer in (answers := endpoint.recover()):
                        words = [answer.get(key) for key in ("knob", "name", "status", "reason")]
                        click.echo(f"{host}: {' '.join(str(word) for word in words if word)}")
                    if not answers:
                        click.echo(f"{host}: nothing to recover")
