"""Notebooks that a study names for its report."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from netlab.errors import BadInput
from netlab.files import paths
from netlab.study.base import Model

SUFFIX = ".ipynb"


class ReportPages(Model):
    """Pages of a report besides those that every study has.

    Parameters
    ----------
    notebooks : tuple of str
        Notebooks in their order: names of those that come with netlab, or files beside the
        study's. Each is executed; it gets ``results`` and ``study`` if it has such parameters.
    """

    notebooks: Annotated[
        tuple[Annotated[str, Field(min_length=1, max_length=400)], ...],
        Field(strict=False, max_length=40),
    ] = ()


def own_notebooks(report: ReportPages | None) -> tuple[Path, ...]:
    """Files of the notebooks that do not come with netlab."""
    names = report.notebooks if report is not None else ()
    return tuple(Path(name) for name in names if Path(name).is_absolute())


def without_own(report: ReportPages | None) -> ReportPages | None:
    """The notebooks that come with netlab alone."""
    if report is None:
        return None
    kept = tuple(name for name in report.notebooks if not Path(name).is_absolute())
    return ReportPages(notebooks=kept)


def with_notebooks(content: dict[str, Any], file: Path) -> dict[str, Any]:
    """Make the paths of a study's own notebooks absolute, from the directory of its file.

    The content is not validated yet; anything unexpected stays as it is.
    """
    given = content.get("report")
    names = given.get("notebooks") if isinstance(given, Mapping) else None
    if not isinstance(given, Mapping) or not isinstance(names, list):
        return content
    found = [_beside(name, file) if isinstance(name, str) else name for name in names]
    return {**content, "report": {**given, "notebooks": found}}


def _beside(name: str, file: Path) -> str:
    """The absolute path of a notebook beside the study's file, else the name."""
    path = file.absolute().parent / name
    return str(path) if name.endswith(SUFFIX) and path.is_file() else name


def report_notebooks(report: ReportPages | None) -> tuple[Path, ...]:
    """Files of the notebooks that a study names.

    Raises
    ------
    BadInput
        A notebook that does not exist, or two of one name.
    """
    found: dict[str, Path] = {}
    for name in report.notebooks if report is not None else ():
        own = paths.notebooks_dir() / (name if name.endswith(SUFFIX) else name + SUFFIX)
        file = Path(name) if Path(name).is_absolute() else own
        if not file.is_file():
            raise BadInput(
                "no such notebook beside the study's file, and none of this name comes with netlab",
                where="study",
                key="report.notebooks",
                value=name,
                code="E-STUDY-085",
            )
        if file.stem in found:
            raise BadInput(
                "another notebook of the report has this name",
                where="study",
                key="report.notebooks",
                value=name,
                code="E-STUDY-084",
            )
        found[file.stem] = file
    return tuple(found.values())
