"""The two sides of a comparison: results, campaigns, or levels of a factor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pandas as pd

from netlab import study as studies
from netlab.analysis import any_factors
from netlab.analysis.cell_precision import nominal_level
from netlab.analysis.cells import CELL_KEYS
from netlab.analysis.compare import (
    BASE,
    MORE,
    UNKNOWN_SHIFT,
    Asked,
    Compared,
    OtherRuns,
    compare_all,
    shift_of,
)
from netlab.analysis.measured import LoadedRuns, Measured, load_runs
from netlab.analysis.other_differences import COLUMNS, differences
from netlab.errors import BadInput, NetlabError, check
from netlab.files import paths
from netlab.results import campaign_files
from netlab.results.store import Store
from netlab.study import QUICK, Study

COMPARABLE = (*BASE, *MORE)


@dataclass(frozen=True, eq=False)
class ComparedSide:
    label: str
    study: Study
    runs: pd.DataFrame
    directory: Path
    campaign: str

    @property
    def given(self) -> str:
        """The side as an argument that means the same in any current directory."""
        place = str(self.directory.absolute())
        return f"{place}@{self.campaign}" if self.campaign else place

    @property
    def asked(self) -> Asked:
        """Level and precision that the study asks for."""
        precision = self.study.precision
        half = None if precision is None else precision.half_width_percent
        return Asked(nominal_level(self.study), half)


@dataclass(frozen=True, eq=False)
class SidesCompared:
    """Two sides with what differs between them, in conditions and in goodput."""

    a: ComparedSide
    b: ComparedSide
    by: str
    differences: pd.DataFrame
    compared: Compared


READ = (
    *(*CELL_KEYS, *BASE, *MORE, *COLUMNS),
    *("study", "campaign", "round", "started_at", "flags", "goodput_MBps"),
    *("provenance", "knobs"),
)
"""Columns of runs that a comparison reads."""


def side_of(given: str | Path | Measured) -> ComparedSide:
    text = str(given.results if isinstance(given, Measured) else given)
    if not isinstance(given, Measured) and (one := campaign_files.named_campaign(text)):
        return _campaign_of(text, *one)
    m = given if isinstance(given, Measured) else _loaded(text)
    return ComparedSide(text, m.study, m.runs, m.results, m.campaign or "")


def _campaign_of(label: str, directory: Path, campaign: str) -> ComparedSide:
    design = studies.load_stored(campaign_files.study_file(directory, campaign))
    runs = Store(directory).runs(campaign=campaign, only=READ)
    if runs.empty:
        raise NetlabError(f"campaign {campaign} in {directory} has no runs", code="E-ANALYSIS-026")
    return ComparedSide(label, design, runs, directory, campaign)


def _loaded(given: str) -> LoadedRuns:
    """Load results by their directory or by the name of their study."""
    named = "/" not in given and paths.results_dir(given).is_dir()
    if not named and paths.given_path(given).is_dir():
        return load_runs(given, only=READ)
    try:
        _ = named or paths.study_file(given.removesuffix(QUICK))
    except BadInput:
        text = (
            f"no such directory of results, and no study of this name{campaign_files.names_here()}"
        )
        raise BadInput(text, value=given, code="E-ANALYSIS-043") from None
    return load_runs("", given, only=READ)


def levels_of(text: str, runs: pd.DataFrame) -> tuple[str, tuple[object, object]]:
    """Parse ``COLUMN=a,b``: a factor and two of its levels, whose names may contain commas."""
    check(isinstance(text, str), "by", str(text), "write COLUMN=a,b", "E-ANALYSIS-049")
    column, equals, rest = text.partition("=")
    column = column.strip()
    further = [name for name in any_factors.names(runs) if name not in COMPARABLE]
    columns = (*COMPARABLE, *further)
    message = f"write COLUMN=a,b with a column of {', '.join(columns)}"
    check(equals and column in columns, "by", text, message, "E-ANALYSIS-027")
    values = any_factors.column(runs, column) if column in further else runs[column]
    level_of = {str(level): level for level in values.dropna().unique().tolist()}
    commas = [at for at, character in enumerate(rest) if character == ","]
    splits = [(rest[:at].strip(), rest[at + 1 :].strip()) for at in commas]
    pairs = [
        (level_of[a], level_of[b]) for a, b in splits if a in level_of and b in level_of and a != b
    ]
    message = f"write two levels, separated by a comma; the runs have {', '.join(sorted(level_of))}"
    message += " alone: measure another level first" if len(level_of) == 1 else ""
    message += "; this can be read in several ways" if pairs else ""
    check(len(pairs) == 1, f"by {column}", rest, message, "E-ANALYSIS-028")
    return column, pairs[0]


def split(side: ComparedSide, by: str) -> tuple[str, tuple[ComparedSide, ComparedSide]]:
    """Two sides of one: the runs with each of two levels of a factor."""
    column, levels = levels_of(by, side.runs)
    runs = side.runs
    if column in any_factors.names(runs):
        values = any_factors.column(runs, column)
        runs = runs.assign(**{column: values, "factors": any_factors.without(runs, column)})
    a, b = (
        replace(side, label=f"{column}={level}", runs=runs[runs[column] == level])
        for level in levels
    )
    return column, (a, b)


def comparison(
    given: Sequence[str | Path | Measured],
    *,
    by: str = "",
    same_within_percent: float = 5.0,
    repeats: Sequence[str | Path | Measured] = (),
) -> SidesCompared:
    names = [str(one) for one in given if not isinstance(one, Measured)]
    text = "name two results A and B, or one of them and --by COLUMN=a,b"
    check(len(given) == (1 if by else 2), "results", names, text, "E-ANALYSIS-029")
    column, sides = "", tuple(side_of(one) for one in given)
    if by:
        column, sides = split(sides[0], by)
    a, b = sides
    _check_apart(a, b, by)
    text = "are campaigns like A, beside another campaign; --by compares within one"
    check(not (by and repeats), "repeats", [str(one) for one in repeats], text, "E-ANALYSIS-045")
    (found,) = _compared_sides(a, [b], column, same_within_percent, repeats)
    return found


def comparisons(
    given: Sequence[str | Path | Measured],
    *,
    same_within_percent: float = 5.0,
    repeats: Sequence[str | Path | Measured] = (),
) -> list[SidesCompared]:
    """Compare all further results with the first ones, the reference, as one family."""
    names = [str(one) for one in given if not isinstance(one, Measured)]
    check(len(given) >= 2, "results", names, "name a reference and others", "E-ANALYSIS-048")
    reference, *others = (side_of(one) for one in given)
    for place, one in enumerate(others):
        for before in (reference, *others[:place]):
            _check_apart(before, one, "")
    return _compared_sides(reference, others, "", same_within_percent, repeats)


def _one_store(a: ComparedSide, b: ComparedSide) -> bool:
    return a.directory.resolve() == b.directory.resolve()


def _check_apart(a: ComparedSide, b: ComparedSide, by: str) -> None:
    apart = by or not _one_store(a, b) or a.campaign != b.campaign
    text = "A and B are the same results; name two campaigns as DIR@CAMPAIGN, or use --by"
    check(apart, "results", str(a.directory), text, "E-ANALYSIS-030")


def _compared_sides(
    a: ComparedSide,
    others: Sequence[ComparedSide],
    by: str,
    same_within_percent: float,
    repeats: Sequence[str | Path | Measured],
) -> list[SidesCompared]:
    shift = UNKNOWN_SHIFT
    if repeats:
        again = [side_of(one).runs for one in repeats]
        level = min(a.asked.level, *(b.asked.level for b in others))
        shift = shift_of([a.runs, *again], level)
    every = compare_all(
        *(a.runs, a.asked, [OtherRuns(b.runs, b.asked, _one_store(a, b), b.label) for b in others]),
        label=a.label,
        by=by,
        same_within_percent=same_within_percent,
        shift=shift,
    )
    return [
        SidesCompared(a, b, by, differences(a.runs, b.runs, (a.study, b.study), by=by), found)
        for b, found in zip(others, every, strict=True)
    ]
