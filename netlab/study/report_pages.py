"""Notebooks that a study names for its report."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import Field

from netlab.errors import BadInput
from netlab.files import paths
from netlab.study.base import Model
from netlab.tuning.knobs import key

SUFFIX = ".ipynb"


class ReportPages(Model, title="`report`"):
    """Pages of a report besides those that every study has.

    Each notebook gets ``results`` and ``study`` if it has such parameters.
    """

    notebooks: tuple[Annotated[str, Field(min_length=1, max_length=400)], ...] = key(
        "Notebooks to execute: files beside the study's, or names of those that come with netlab.",
        ["mine.ipynb", "14-claims"],
        (),
        strict=False,
        max_length=40,
    )


def report_notebooks(report: ReportPages | None, study: Path | None = None) -> tuple[Path, ...]:
    """Files of the notebooks that a study names."""
    files: dict[str, Path] = {}
    for name in report.notebooks if report is not None else ():
        file = _notebook(name, study)
        if file is None and study is None:
            continue
        place = {"where": "study", "key": "report.notebooks"}
        if file is None:
            reason = "no such notebook beside the study's file, and none of this name comes with"
            raise BadInput(f"{reason} netlab", **place, value=name, code="E-STUDY-085")
        if file.stem in files:
            reason = "another notebook of the report has this name"
            raise BadInput(reason, **place, value=name, code="E-STUDY-084")
        files[file.stem] = file
    return tuple(files.values())


def is_own(notebook: Path) -> bool:
    """True for a notebook that does not come with netlab."""
    return notebook.parent != paths.notebooks_dir()


def _notebook(name: str, study: Path | None) -> Path | None:
    """A file beside the study, else a notebook of netlab; None without either."""
    if study and name.endswith(SUFFIX) and (file := study.absolute().parent / name).is_file():
        return file
    name = name.removesuffix(SUFFIX) + SUFFIX
    file = paths.notebooks_dir() / name
    return file if file.name == name and file.is_file() else None
