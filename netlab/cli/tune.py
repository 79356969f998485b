"""``netlab tune``: changes of a study's tunings, and recovery after a dead netlab."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from netlab.cli.exitcodes import guarded
from netlab.cli.options import study_argument
from netlab.cli.validation import load_measurable, load_study, require_known

if TYPE_CHECKING:
    from netlab.study import Study


@click.group("tune")
def tune_group() -> None:
    """Show the changes of tunings; recover hosts."""


@tune_group.command("plan")
@study_argument
@click.option("--tuning", help="Only this tuning of the study.")
@click.option("--path", "path_name", help="Only this path of the study.")
@click.option("--commands", is_flag=True, help="Print shell commands instead of a diff.")
@guarded
def plan_command(study: str, tuning: str | None, path_name: str | None, commands: bool) -> None:
    """Show the changes of each tuning of STUDY on each host as a diff, without making them.

    Everything is read and planned before the first line is printed.
    """
    loaded = load_measurable(study)
    require_known("tuning", tuning, (level.name for level in loaded.tunings))
    require_known("path", path_name, loaded.paths)
    from netlab.face.changes import Changes, planned_changes

    planned = Changes(tuple(planned_changes(loaded, tuning, path_name)))
    click.echo(planned.commands() if commands else planned)


@tune_group.command("recover")
@study_argument
@guarded
def recover_command(study: str) -> None:
    """Revert what a dead netlab left changed on the hosts of STUDY."""
    for line in _recovered(load_study(study)):
        click.echo(line)


def _recovered(study: Study) -> Iterator[str]:
    """Revert on every host the changes of a netlab that was killed together with its guard."""
    from netlab.experiment.endpoint import open_endpoints, study_lab

    with study_lab(study) as lab:
        for path in study.paths:
            with open_endpoints(study, study.first_link(path), lab=lab) as endpoints:
                for host, endpoint in endpoints.items():
                    answers = endpoint.recover()
                    for answer in answers:
                        words = [answer.get(key) for key in ("knob", "name", "status", "reason")]
                        yield f"{host}: {' '.join(str(word) for word in words if word)}"
                    if not answers:
                        yield f"{host}: nothing to recover"
