"""Studies whose report is made in a way of their own, by the wing that has them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from netlab import wings
from netlab.analysis.measured import Measured, computed_once
from netlab.errors import NetlabError
from netlab.study import QUICK


@dataclass(frozen=True)
class OwnReport:
    """Parts of the report of a study in the place of those of any study."""

    applies: Callable[[Measured], bool]
    """False for results of the study that lack what the report needs."""
    per_MBps: float
    """Goodput of 1 MB/s in the unit of its sentences."""
    unit: str
    notebook: str
    """Name of the notebook that shows it."""
    note: str
    """Sentence on the unit of its tables."""
    tables: Callable[[Measured], tuple[Any, ...]]
    picture: Callable[[Measured], Any]
    """Chart or gallery that opens it."""


@dataclass(frozen=True)
class Opening:
    """Opening of the report of a study that asks a question of its own."""

    answer: str
    picture: Callable[[Measured], Any]
    """Chart or gallery; one without charts leaves its place to that of any study."""


@computed_once
def opening(m: Measured) -> Opening | None:
    """The first opening that a wing has for a study; None for most."""
    return next(filter(None, (of(m) for of in wings.openings())), None)


@computed_once
def own_report(m: Measured) -> OwnReport | None:
    """The report of a study that has one of its own; None for any other study."""
    target = wings.reports().get(m.study.name.removesuffix(QUICK))
    if target is None:
        return None
    report, package = wings.load(target), wings.package_of(target)
    if not isinstance(report, OwnReport):
        text = f"{target} is not an OwnReport, but of type {type(report).__name__}"
        raise NetlabError(f"{text}; {wings.remedy(package)}", code="E-ANALYSIS-052")
    what = f"report {target} of {package}"
    report = replace(
        report,
        applies=wings.explained(report.applies, what, package),
        tables=wings.explained(report.tables, what, package),
        picture=wings.explained(report.picture, what, package),
    )
    return report if report.applies(m) else None
