"""``netlab tune``: what the tunings of a study change, and recovery of what a dead netlab left."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from netlab.cli.exitcodes import guarded
from netlab.cli.options import study_argument
from netlab.cli.validation import load_measurable, load_study, require_known

if TYPE_CHECKING:
    from netlab.hosts.host import Host
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
    for heading, diff in list(_plans(loaded, tuning, path_name)):
        click.echo(f"# {heading}\n{diff}")


@tune_group.command("recover")
@study_argument
@guarded
def recover_command(study: str) -> None:
    """Revert what a dead netlab left changed on the hosts of STUDY."""
    for line in _recovered(load_study(study)):
        click.echo(line)


def _plans(study: Study, tuning: str | None, path: str | None) -> Iterator[tuple[str, str]]:
    """Plan each tuning on each host of each path: a heading and a diff.

    Raises
    ------
    Unsupported
        A host has no congestion control of a name that the study's groups give.
    """
    from netlab.experiment.endpoint import open_endpoints, study_lab
    from netlab.tuning.profiles import load_profile

    with study_lab(study) as lab:
        for name in study.paths if path is None else (path,):
            with open_endpoints(study, name, lab=lab) as endpoints:
                for endpoint in endpoints.values():
                    _require_congestions(study, name, endpoint.host)
                for level in study.tunings:
                    if tuning not in (None, level.name):
                        continue
                    for mtu_B in level.mtus_B:
                        for host, endpoint in endpoints.items():
                            profile = load_profile(study.profile(host, level.name))
                            heading = f"{name}, {level.name}, MTU {mtu_B}: {host}"
                            yield heading, endpoint.planned(profile, mtu_B).to_text()


def _require_congestions(study: Study, path: str, host: Host) -> None:
    """Refuse a congestion control that a host cannot have; loads nothing."""
    from netlab.congestion.choice import choose
    from netlab.experiment.cc_session import AVAILABLE, can_load, words_of

    names = study.congestions(group for group in study.groups if group.path == path)
    there = words_of(host, AVAILABLE) if names else ()
    choose(host.name, names, study.stacks, there, lambda module: can_load(host, module))


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
                        words = (answer.get("knob"), answer.get("name"), answer.get("status"))
                        yield f"{host}: {' '.join(str(word) for word in words if word)}"
                    if not answers:
                        yield f"{host}: nothing to recover"
