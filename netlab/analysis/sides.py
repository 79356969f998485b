"""The two sides of a comparison: results, campaigns, or levels of a factor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pandas as pd

from netlab import study as studies
from netlab.analysis import factors
from netlab.analysis.compare import Asked, Compared, compare
from netlab.analysis.differences import differences
from netlab.analysis.matching import BASE, MORE
from netlab.analysis.measured import Measured, load_measured
from netlab.analysis.precision import nominal_level
from netlab.errors import BadInput, NetlabError
from netlab.files import paths
from netlab.results import Store, campaigns
from netlab.study import QUICK, Study

FACTORS = (*BASE, *MORE)


@dataclass(frozen=True, eq=False)
class ComparedSide:
    """One side of a comparison."""

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


def side_of(given: str | Path | Measured) -> ComparedSide:
    """Load one side."""
    if isinstance(given, Measured):
        return _side(str(given.results), given)
    text = str(given)
    place, at, campaign = text.rpartition("@")
    if not at or paths.given_path(text).is_dir():
        return _side(text, _loaded(text))
    return _of_campaign(text, _loaded(place), campaign)


def _loaded(given: str) -> Measured:
    """Load results by their directory or by the name of their study."""
    if "/" not in given and paths.results_dir(given).is_dir():
        return load_measured("", given)
    if paths.given_path(given).is_dir():
        return load_measured(given)
    try:
        paths.study_file(given.removesuffix(QUICK))
    except BadInput:
        raise BadInput(
            "no such directory of results, and no study of this name",
            value=given,
            code="E-ANALYSIS-043",
        ) from None
    return load_measured("", given)


def _side(label: str, m: Measured) -> ComparedSide:
    return ComparedSide(label, m.study, m.runs, m.results, m.campaign or "")


def _of_campaign(label: str, m: Measured, campaign: str) -> ComparedSide:
    known = campaigns.ids(m.results)
    if campaign not in known:
        raise BadInput(
            f"no such campaign; there are {', '.join(known) or 'none'}",
            where=str(m.results),
            key="campaign",
            value=campaign,
            code="E-ANALYSIS-025",
        )
    design = studies.load_stored(campaigns.folder(m.results, campaign) / "study.yml")
    runs = Store(m.results).runs(campaign=campaign)
    if runs.empty:
        raise NetlabError(f"campaign {campaign} in {m.results} has no runs", code="E-ANALYSIS-026")
    return ComparedSide(label, design, runs, m.results, campaign)


def levels_of(text: str, runs: pd.DataFrame) -> tuple[str, tuple[object, object]]:
    """Parse ``COLUMN=a,b``: a factor and two of its levels.

    A level may contain a comma, as names of groups do.
    """
    column, equals, rest = text.partition("=")
    column = column.strip()
    further = [name for name in factors.names(runs) if name not in FACTORS]
    if not equals or column not in (*FACTORS, *further):
        raise BadInput(
            f"write COLUMN=a,b with a column of {', '.join((*FACTORS, *further))}",
            key="by",
            value=text,
            code="E-ANALYSIS-027",
        )
    values = factors.column(runs, column) if column in further else runs[column]
    known = {str(level): level for level in values.dropna().unique().tolist()}
    commas = [at for at, character in enumerate(rest) if character == ","]
    splits = [(rest[:at].strip(), rest[at + 1 :].strip()) for at in commas]
    found = [(known[a], known[b]) for a, b in splits if a in known and b in known and a != b]
    if len(found) == 1:
        return column, found[0]
    raise BadInput(
        f"write two levels, separated by a comma; the runs have {', '.join(sorted(known))}"
        + ("; this can be read in several ways" if found else ""),
        key=f"by {column}",
        value=rest,
        code="E-ANALYSIS-028",
    )


def split(side: ComparedSide, by: str) -> tuple[str, tuple[ComparedSide, ComparedSide]]:
    """Two sides of one: the runs with each of two levels of a factor."""
    column, levels = levels_of(by, side.runs)
    runs = side.runs
    if column in factors.names(runs):
        values = factors.column(runs, column)
        runs = runs.assign(**{column: values, "factors": factors.without(runs, column)})
    a, b = (
        replace(side, label=f"{column}={level}", runs=runs[runs[column] == level])
        for level in levels
    )
    return column, (a, b)


def comparison(
    given: Sequence[str | Path | Measured], *, by: str = "", same_within_percent: float = 5.0
) -> SidesCompared:
    """Load and compare two sides."""
    if len(given) != (1 if by else 2):
        raise BadInput(
            "name two results A and B, or one of them and --by COLUMN=a,b",
            key="results",
            value=[str(one) for one in given if not isinstance(one, Measured)],
            code="E-ANALYSIS-029",
        )
    column, sides = "", tuple(side_of(one) for one in given)
    if by:
        column, sides = split(sides[0], by)
    a, b = sides
    if not by and (a.directory.resolve(), a.campaign) == (b.directory.resolve(), b.campaign):
        raise BadInput(
            "A and B are the same results; name two campaigns as DIR@CAMPAIGN, or use --by",
            key="results",
            value=str(a.directory),
            code="E-ANALYSIS-030",
        )
    found = compare(
        a.runs,
        b.runs,
        by=column,
        asked=(a.asked, b.asked),
        same_within_percent=same_within_percent,
        one_store=a.directory.resolve() == b.directory.resolve(),
    )
    unlike = differences(a.runs, b.runs, (a.study, b.study), by=column)
    return SidesCompared(a, b, column, unlike, found)
