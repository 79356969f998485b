"""A published table beside a study: a CSV file, and a few lines of YAML that describe it."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from netlab.errors import BadInput, why
from netlab.files import paths
from netlab.files.reading import open_regular
from netlab.files.yaml_file import read_yaml, validated
from netlab.study.base import Model, Several
from netlab.study.factors import Level
from netlab.tuning.knobs import key

RATES = {"goodput_MBps": 1.0, "goodput_Mbps": 1 / 8, "goodput_Gbps": 125.0}
"""Columns that may have the published rate, and the factor to MB/s."""

NUMBER = re.compile(r"[+-]?\d+(\.\d+)?([eE][+-]?\d+)?")
MOST_CELLS = 10_000


Title = Annotated[
    str, key("Name of the table.", "Throughput over payload", min_length=1, max_length=200)
]
Source = Annotated[
    str, key("Where it was published.", "A paper, table 1", min_length=1, max_length=500)
]
Fluctuation = Annotated[
    float, key("Largest error of a published value, either way.", 3.0, gt=0, lt=50)
]


class Published(Model, title="`published`"):
    """A published table, as a study has it after its CSV file was read."""

    title: Title
    source: Source
    fluctuation_percent: Fluctuation = 3.0
    cells: Several[dict[str, Level]] = key(
        "The values, as a study beside its results has them.",
        [{"streams": 1, "goodput_MBps": 98.5}],
    )

    @property
    def factors(self) -> tuple[str, ...]:
        """Columns of the table besides the rate."""
        return tuple(name for name in self.cells[0] if name != "goodput_MBps")


class Described(Model, title="`published`"):
    """A published table, as lines of YAML describe its CSV file."""

    title: Title
    source: Source
    file: str = key("Its CSV file, beside the study.", "theirs.csv", pattern=r"^[^/]+$")
    columns: dict[str, str] = key(
        "Headings of the file that are other names of factors.",
        {"MTU": "mtu_B"},
        default_factory=dict,
    )
    fluctuation_percent: Fluctuation = 3.0


def with_published(content: dict[str, Any], file: Path) -> dict[str, Any]:
    """Read the table that a study names under ``published``, and put its cells there.

    ``published`` is the name of a YAML file beside the study's, or its content.
    """
    stated: Any = content.get("published")
    where = f"{file}: published"
    if isinstance(stated, str):
        if "/" in stated:
            reason, key = "name a file beside the study's", "published"
            raise BadInput(reason, where=str(file), key=key, value=stated, code="E-STUDY-077")
        path = file.parent / stated
        stated, where = read_yaml(path), str(path)
    elif not (isinstance(stated, Mapping) and "file" in stated):
        return content
    described = validated(Described, stated, where)
    content["published"] = {
        **described.model_dump(exclude={"file", "columns"}),
        "cells": _cells(file.parent / described.file, described.columns),
    }
    return content


def _cells(path: Path, columns: Mapping[str, str]) -> list[dict[str, Level]]:
    try:
        with open_regular(path, "r", encoding="utf-8-sig", newline="") as lines:
            rows = list(csv.reader(lines))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        reason = f"cannot be read: {why(error)}"
        raise BadInput(reason, where=str(path), code="E-STUDY-078") from None
    heads = [columns.get(head.strip(), head.strip()) for head in rows[0]] if rows else []
    rates = [head for head in heads if head in RATES]
    if len(rates) != 1 or len(set(heads)) < len(heads):
        has = f"it has {', '.join(heads)}"
        reason = f"needs each column once and one of {', '.join(RATES)}; {has}"
        raise BadInput(reason, where=f"{path}:1", code="E-STUDY-079")
    cells = []
    for number, row in enumerate(rows[1 : MOST_CELLS + 1], 2):
        if not any(value.strip() for value in row):
            continue
        where = f"{path}:{number}"
        if len(row) != len(heads):
            reason = f"has {len(row)} values for {len(heads)} columns"
            raise BadInput(reason, where=where, code="E-STUDY-080")
        cell = {head: _value(text.strip()) for head, text in zip(heads, row, strict=True)}
        rate = cell.pop(rates[0])
        if isinstance(rate, str) or rate <= 0:
            reason = "is not a positive number"
            raise BadInput(reason, where=where, key=rates[0], value=rate, code="E-STUDY-081")
        cells.append({**cell, "goodput_MBps": rate * RATES[rates[0]]})
    return cells


def _value(text: str) -> Level:
    if not NUMBER.fullmatch(text):
        return text
    return int(text) if re.fullmatch(r"[+-]?\d+", text) else float(text)


# Notebooks that a study names for its report.

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
