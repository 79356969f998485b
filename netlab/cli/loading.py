"""Studies that a user names: loaded and validated before a host is reached."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from itertools import product
from pathlib import Path
from typing import Any

import click

from netlab.cli import options
from netlab.errors import BadInput
from netlab.files import paths
from netlab.study import Study, is_name, load, load_stored
from netlab.study.factor_checks import chosen_outer
from netlab.study.factors import level_text
from netlab.study.report_pages import report_notebooks
from netlab.tuning.exact import refusal
from netlab.tuning.profiles import each_knob


def any_study(study: str, **arguments: Any) -> dict[str, Any]:
    """Arguments of a command, with the study that they name."""
    return {"study": load_study(study), **arguments}


def measurable(study: str, **arguments: Any) -> dict[str, Any]:
    """Arguments of a command, with the study that it is to measure, or plan to."""
    timing = {name: arguments.pop(name) for name in options.TIMING if name in arguments}
    loaded = load_measurable(study, **timing)
    if "outer" in arguments:
        arguments["outer"] = asked_outer(loaded, arguments["outer"])
    return {"study": loaded, **arguments}


def measurable_and_notebooks(study: str, **arguments: Any) -> dict[str, Any]:
    """Arguments of a command, with the study that it measures and the notebooks of its report."""
    loaded = measurable(study, **arguments)
    return {"notebooks": notebooks_of(loaded["study"], study), **loaded}


def latest_measured(
    study: str, *, quick: bool, results: Path | None, **arguments: Any
) -> dict[str, Any]:
    """Arguments of a command, with a study that was measured and the notebooks of its report."""
    found = any_measured(study, quick=quick, results=results, **arguments)
    if earlier := found.pop("campaign"):
        text = "this command takes the latest campaign"
        raise BadInput(text, where=str(found["results"]), value=earlier, code="E-CLI-084")
    return found


def any_measured(
    study: str, *, quick: bool, results: Path | None, **arguments: Any
) -> dict[str, Any]:
    """The same of a command that takes an earlier campaign, too; empty of the latest one."""
    loaded, results, campaign = load_measured_study(study, quick=quick, results=results)
    found = {"study": loaded, "results": results, "campaign": campaign}
    return found | {"notebooks": notebooks_of(loaded, study), **arguments}


def load_study(
    given: str, *, quick: bool = False, results: Path | None = None, **timing: Any
) -> Study:
    """Load a study from what a user typed: a name, or the path of a file.

    Imported results bring their study, and no other file has its name.
    """
    try:
        study = load(paths.study_file(given), quick=quick, **timing)
    except BadInput:
        stored = (results or paths.results_dir(given)) / "study.yml" if is_name(given) else None
        if stored is None or not stored.is_file() or (study := load_stored(stored)).name != given:
            raise
    notebooks_of(study, given)
    return study


def load_measured_study(
    given: str, *, quick: bool, results: Path | None
) -> tuple[Study, Path | None, str]:
    """Load a study whose results are asked for, or its short form where that was measured last.

    With it the directory of its results, unless it is the usual one, and the campaign that was
    named, if any. A name or directory of results is enough: their study stands beside them,
    wherever its file is by now.
    """
    # pandas and pyarrow; a study that is to be measured needs neither
    from netlab.results.campaign_files import latest, named_campaign, study_file

    if one := named_campaign(given, results):
        directory, campaign = one
        if results is None or results.resolve() == directory.resolve():
            earlier = "" if campaign == (last := latest(directory)) else campaign
            if earlier:
                options.note(f"of campaign {earlier}; the latest is {last}")
            return load_stored(study_file(directory, campaign)), directory, earlier
    return *_load_latest(given, quick=quick, results=results), ""


def _load_latest(given: str, *, quick: bool, results: Path | None) -> tuple[Study, Path | None]:
    # as above
    from netlab.results.campaign_files import ids, latest_directory, names_here, study_file

    try:
        study = load_study(given, quick=quick, results=results)
    except BadInput as error:
        if is_name(given):
            place = results or latest_directory(given)
            stored = study_file(place)
            held = load_stored(stored).name if stored.is_file() else ""
            if held in (given, given + paths.QUICK):
                return load_stored(stored), results
            if held and results is None:
                text = f"holds runs of {held!r}; a directory that was renamed is named by its path"
                raise BadInput(text, where=str(place), code="E-CLI-081") from None
            if error.key == "study":
                found = f"runs of {held!r}" if held else "no results"
                searched = names_here() if results is None else f"; {place} holds {found}"
                text = error.message + searched
                raise BadInput(text, key="study", value=given, code="E-CLI-082") from None
        place = paths.given_path(given)
        begun = place.is_dir() and ((place / "runs").is_dir() or ids(place))
        if results is not None or not begun or not study_file(place).is_file():
            raise
        return load_stored(study_file(place)), place
    if quick or results is not None or latest_directory(study.name).name == study.name:
        return study, results
    short = load_study(given, quick=True)
    text = f"of {short.name}, the short form, which was measured last; --results names another"
    options.note(text)
    return short, None


def notebooks_of(study: Study, given: str) -> tuple[Path, ...] | None:
    """Notebooks that the study's file names for its report, those beside it included.

    None if it names none, or if it came with results: then it is not its user's.
    """
    if study.report is None:
        return None
    try:
        file = paths.study_file(given)
    except BadInput:  # the name or directory of results
        return None
    return None if paths.is_stored(file) else report_notebooks(study.report, file)


def load_measurable(given: str, *, quick: bool = False, **timing: Any) -> Study:
    """Load a study that is to be measured: each of its tunings must exist."""
    return with_tunings(load_study(given, quick=quick, **timing))


def with_tunings(study: Study) -> Study:
    """The study; one with a tuning that does not exist or has a mistake is refused.

    Results and bundles of before are read without it, but their study is not measured again as long
    as a knob that may not revert exactly states no risk.
    """

    for path, level in product(study.paths.values(), study.tunings):
        for host in path.hosts:
            for _, knob in each_knob(study.tuning_profile(host, level.name).items):
                if knob.needs_risk:
                    key = f"tunings.{level.name}"
                    message = refusal(knob.label)
                    raise BadInput(message, where=study.name, key=key, code="E-CLI-045")
    return study


def asked_outer(study: Study, given: Mapping[str, str]) -> dict[str, str]:
    """Levels of the study's outer factors: as given, and on a terminal asked for the others."""
    found = dict(given)
    for name in sorted(study.outer.keys() - found) if sys.stdin.isatty() else ():
        levels = click.Choice([level_text(level) for level in study.outer[name]])
        found[name] = click.prompt(f"{name} of the hosts now", type=levels, err=True)
    chosen_outer(study, found)
    return found
