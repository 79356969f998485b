"""``netlab tune``: what the tunings of a study change, and recovery of what a dead netlab left."""

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
    """Show what tunings change; recover hosts."""


@tune_group.command("plan")
@study_argument
@click.option("--tuning", help="Only this tuning of the study.")
@click.option("--path", "path_name", help="Only this path of the study.")
@guarded
def plan_command(study: str, tuning: str | None, path_name: str | None) -> None:
    """Show as a diff what each tuning of STUDY would change on each host. Changes nothing.

    Everything is read and planned before the first line is printed.
    """
    loaded = load_measurable(study)
    require_known("tuning", tuning, (level.name for level in loaded.tunings))
    require_known("path", path_name, loaded.paths)
    from netlab.face.changes import Changes, planned_changes

    click.echo(Changes(tuple(planned_changes(loaded, tuning, path_name))))


@tune_group.command("recover")
@study_argument
@guarded
def recover_command(study: str) -> None:
    """Revert what a dead netlab left changed on the hosts of STUDY."""
    for line in _recovered(load_study(study)):
        click.echo(line)


def _recovered(study: Study) -> Iterator[str]:
    """Revert on every host what a netlab that was killed together with its guard left behind.

    Yields
    ------
    str
        One line for each knob that was read, or for a host that has nothing to recover.
    """
    from netlab.experiment.endpoint import open_endpoints, study_lab

    with study_lab(study) as lab:
        for path in study.paths:
            with open_endpoints(study, path, lab=lab) as endpoints:
                for host, endpoint in endpoints.items():
                    answers = endpoint.recover()
                    for answer in answers:
                        names = ("event",) if "journal" in answer else ("knob", "name", "status")
                        words = [answer.get(key) for key in (*names, "journal", "reason")]
                        yield f"{host}: {' '.join(str(word) for word in words if word)}"
                    if not answers:
                        yield f"{host}: nothing to recover"
