"""Validate input before a host is reached and before heavy imports."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from netlab.errors import BadInput

if TYPE_CHECKING:
    from netlab.study import Study


def load_study(given: str, *, quick: bool = False, **timing: float | int | str | None) -> Study:
    """Load a study from what a user typed: a name, or the path of a file."""
    from netlab.files import paths
    from netlab.study import load

    study = load(paths.study_file(given), quick=quick, **timing)
    notebooks_of(study, given)
    return study


def notebooks_of(study: Study, given: str) -> tuple[Path, ...] | None:
    """Notebooks that the study's file names for its report, those beside it included.

    None if it names none, or if it came with results: then it is not its user's.
    """
    from netlab.files import paths
    from netlab.study.pages import report_notebooks

    file = paths.study_file(given)
    return (
        None
        if study.report is None or paths.is_stored(file)
        else report_notebooks(study.report, file)
    )


def load_measurable(
    given: str, *, quick: bool = False, **timing: float | int | str | None
) -> Study:
    """Load a study that is to be measured: each of its tunings must exist."""
    study = load_study(given, quick=quick, **timing)
    check_tunings(study)
    return study


def check_tunings(study: Study) -> None:
    """Refuse a study with a tuning that does not exist or has a mistake."""
    for path in study.paths.values():
        for end in path.ends:
            for level in study.tunings:
                study.tuning_profile(end.host, level.name)


def asked_outer(study: Study, given: Mapping[str, str]) -> dict[str, str]:
    """Levels of the study's outer factors: as given, and on a terminal asked for the others."""
    from netlab.study.factors import level_text
    from netlab.study.levels import chosen_outer

    found = dict(given)
    if sys.stdin.isatty():
        for name in sorted(set(study.outer) - set(found)):
            levels = click.Choice([level_text(level) for level in study.outer[name]])
            found[name] = click.prompt(f"{name} of the hosts now", type=levels, err=True)
    chosen_outer(study, found)
    return found


def require_known(key: str, given: str | None, names: Iterable[str]) -> None:
    """Refuse a name that the study does not have; None means all."""
    known = list(names)
    if given is not None and given not in known:
        raise BadInput(
            f"the study has the {key}s {', '.join(known)}", key=key, value=given, code="E-CLI-013"
        )
