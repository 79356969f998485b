"""A measured study, loaded; the stability of its campaign, and its goodput over campaigns."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pandas as pd

from netlab import study as studies
from netlab.analysis import cells, printed
from netlab.analysis.cells import CELL_KEYS, Cells, valid
from netlab.analysis.conditions import verdicts
from netlab.analysis.effects import mean_ratio_of
from netlab.analysis.findings import findings
from netlab.errors import BadInput, NetlabError
from netlab.files import paths
from netlab.results.store import Damaged, Store, folder, ids, latest, study_file
from netlab.study import QUICK, Study, is_name

# Stability of a campaign: drift, a step, and carry-over from the run before.
#
# Each test looks at the residuals of the runs, in the order of measuring: the logarithm of a run's
# goodput less the mean of its cell, over the scatter of the cell. Its p-value is that of a
# permutation test. For drift and a step the visits are put in random orders, so that what the runs
# of one visit share does not count as many observations; for carry-over the runs are. Rounds keep
# drift out of the comparison of cells; these tests say whether there was any.
#
# Drift is stated over the time that was measured, with an interval; an hour only of campaigns that
# lasted at least :data:`HOURLY_FROM_H`: nothing is extrapolated.

PERMUTATIONS = 999
LEVEL = 0.01
"""A finding is stated below this p-value; three tests a campaign."""

MIN_VISITS = 8
CLIP = 4.0
"""Residuals beyond this many standard deviations count as this many."""

MIN_SIDE = 0.05
"""A step leaves at least this share of the runs on either side."""

HOURLY_FROM_H = 1.0
"""Least length of a campaign whose drift is stated an hour."""

CONFIDENCE = 0.95
"""Level of the interval of the drift."""

COLUMNS = ("test", "estimate", "low", "high", "unit", "p", "found", "text")


@dataclass(frozen=True)
class _Series:
    """Residuals of runs in the order of measuring."""

    scaled: np.ndarray
    logs: np.ndarray
    visit: np.ndarray
    hours: np.ndarray
    within_h: np.ndarray
    inflation: np.ndarray
    before: np.ndarray
    started_at: pd.Series


def _series(runs: pd.DataFrame) -> _Series:
    good = valid(runs)
    good = good[good["goodput_MBps"] > 0].sort_values("started_at")
    logs = np.log(good["goodput_MBps"].astype(float))
    cell = [good[key] for key in CELL_KEYS]
    count = logs.groupby(cell).transform("size")
    good, logs = good[count > 1], logs[count > 1]
    cell = [good[key] for key in CELL_KEYS]
    n = logs.groupby(cell).transform("size")
    inflation = np.sqrt(n / (n - 1))
    residual = (logs - logs.groupby(cell).transform("mean")) * inflation
    scatter = logs.groupby(cell).transform("std")
    typical = scatter.median() if len(scatter) else math.nan
    scale = np.sqrt((scatter**2 + typical**2) / 2).replace(0, np.nan)
    visit = good.groupby(["block_id", "round"], sort=False).ngroup()
    before = logs.groupby(visit).shift(1)
    start = good["started_at"]
    hours = pd.Series(dtype=float)
    if len(good):
        hours = (start - start.min()).dt.total_seconds() / 3600
    return _Series(
        scaled=(residual / scale).clip(-CLIP, CLIP).fillna(0).to_numpy(dtype=float),
        logs=residual.to_numpy(dtype=float),
        visit=visit.to_numpy(),
        hours=hours.to_numpy(),
        within_h=(hours - hours.groupby(cell).transform("mean")).to_numpy(),
        inflation=inflation.to_numpy(dtype=float),
        before=before.to_numpy(dtype=float),
        started_at=start.reset_index(drop=True),
    )


Found = tuple[float, float, float, str, float, str, str]
"""Estimate, low and high end of its interval (NaN without one), unit, p-value, and what to say of
an effect and of none."""

Test = Callable[[_Series, np.random.Generator], Found]


def stability(runs: pd.DataFrame, *, seed: int = 1) -> pd.DataFrame:
    """Test a campaign for drift, a step and carry-over."""
    series = _series(runs)
    visits = len(np.unique(series.visit))
    rng = np.random.default_rng(seed)
    tests: tuple[tuple[str, Test], ...] = (
        ("drift", _drift),
        ("step", _step),
        ("carry-over", _carry_over),
    )
    rows = []
    for name, test in tests:
        if visits < MIN_VISITS:
            text = f"{visits} visits are too few for this test; it takes {MIN_VISITS}"
            rows.append((name, math.nan, math.nan, math.nan, "", math.nan, False, text))
            continue
        estimate, low, high, unit, p, effect, none = test(series, rng)
        text = effect if p < LEVEL else none
        rows.append((name, estimate, low, high, unit, p, p < LEVEL, text))
    return pd.DataFrame.from_records(rows, columns=list(COLUMNS))


def _shuffled(series: _Series, rng: np.random.Generator) -> np.ndarray:
    """Indices of the runs with the visits in a random order."""
    order = rng.permutation(series.visit.max() + 1)
    return np.argsort(order[series.visit], kind="stable")


def _p(seen: float, drawn: np.ndarray) -> float:
    return float((1 + np.sum(drawn >= seen)) / (1 + len(drawn)))


def _drift(series: _Series, rng: np.random.Generator) -> Found:
    """Trend over the order of measuring, by its correlation with the residuals."""
    time = series.hours - series.hours.mean()
    spread = float((time**2).sum())

    def slope(values: np.ndarray) -> float:
        return float((time * values).sum()) / spread if spread else 0.0

    drawn = [abs(slope(series.scaled[_shuffled(series, rng)])) for _ in range(PERMUTATIONS)]
    p = _p(abs(slope(series.scaled)), np.array(drawn))
    span_h = float(np.ptp(series.hours))
    hourly = span_h >= HOURLY_FROM_H
    estimate, low, high = (
        100 * math.expm1(value * (1.0 if hourly else span_h)) for value in _slope_within(series)
    )
    unit = "% an hour" if hourly else f"% over {_duration(span_h)}"
    interval = f"{100 * CONFIDENCE:g} % interval {low:+.1f} to {high:+.1f} %"
    said = f"{estimate:+.1f} {unit}, {interval}"
    effect = f"goodput drifted by {said} (p = {p:.3f})"
    none = f"no drift is distinguishable from zero: {said} (p = {p:.2f})"
    return estimate, low, high, unit, p, effect, none


def _slope_within(series: _Series) -> tuple[float, float, float]:
    """Slope of the logarithms over hours, with a cluster-robust interval: a visit is a cluster."""
    # centred by cell: a mean over cells measured at different times would take trend away
    spread = float((series.within_h**2).sum())
    visits = len(np.unique(series.visit))
    if not spread or visits < 3:
        return math.nan, math.nan, math.nan
    slope = float((series.within_h * series.logs / series.inflation).sum()) / spread
    residual = series.logs - slope * series.within_h * series.inflation
    scores = np.bincount(series.visit, series.within_h * residual)
    error = math.sqrt(visits / (visits - 1) * float((scores**2).sum())) / spread
    half = float(cells.t_quantile(visits - 2, 0.5 + CONFIDENCE / 2)) * error
    return slope, slope - half, slope + half


def _duration(hours: float) -> str:
    """``95 min``, ``3.1 min``, ``42 s``."""
    minutes = 60 * hours
    if minutes < 1:
        return f"{60 * minutes:.0f} s"
    return f"{minutes:.1f} min" if minutes < 10 else f"{minutes:.0f} min"


def _cusum(values: np.ndarray) -> np.ndarray:
    """Difference of means before and after each place, over its standard error."""
    n = len(values)
    after = np.arange(1, n)
    total = np.cumsum(values)[:-1]
    statistic = np.abs(total - after * values.mean()) * np.sqrt(n / (after * (n - after)))
    least = max(1, round(MIN_SIDE * n))
    statistic[: least - 1] = 0
    statistic[n - least :] = 0
    return statistic


def _step(series: _Series, rng: np.random.Generator) -> Found:
    """The largest change of level, by the maximum of the CUSUM statistic."""
    statistic = _cusum(series.scaled)
    place = int(np.argmax(statistic)) + 1
    drawn = [_cusum(series.scaled[_shuffled(series, rng)]).max() for _ in range(PERMUTATIONS)]
    p = _p(float(statistic[place - 1]), np.array(drawn))
    change = float(np.median(series.logs[place:]) - np.median(series.logs[:place]))
    estimate = 100 * math.expm1(change)
    at = series.started_at[place]
    effect = f"goodput changed by {estimate:+.1f} % at {at:%H:%M:%S} UTC (p = {p:.3f})"
    none = f"no step is distinguishable from zero (p = {p:.2f})"
    return estimate, math.nan, math.nan, "%", p, effect, none


def _carry_over(series: _Series, rng: np.random.Generator) -> Found:
    """Rank correlation of a run's residual with the goodput of the run before in its visit."""
    has = ~np.isnan(series.before)
    before = pd.Series(series.before[has]).rank().to_numpy()
    scaled = series.scaled[has]

    def correlation(values: np.ndarray) -> float:
        ranks = pd.Series(values).rank().to_numpy()
        if len(ranks) < 2 or ranks.std() == 0 or before.std() == 0:
            return 0.0
        return float(np.corrcoef(before, ranks)[0, 1])

    seen = correlation(scaled)
    drawn = [abs(correlation(rng.permutation(scaled))) for _ in range(PERMUTATIONS)]
    p = _p(abs(seen), np.array(drawn))
    word = "faster" if seen > 0 else "slower"
    effect = f"runs are {word} after a fast run: rank correlation {seen:+.2f} (p = {p:.3f})"
    none = f"no effect of the run before is distinguishable from zero (p = {p:.2f})"
    return seen, math.nan, math.nan, "correlation", p, effect, none


# Load a measured study: its file, its stored runs, and the cells they make.

MadeT = TypeVar("MadeT")


def computed_once(analysis: Callable[[Measured], MadeT]) -> Callable[[Measured], MadeT]:
    """Decorator: a later call for the same results gives the same object, which nobody changes."""

    @wraps(analysis)
    def stored(m: Measured) -> MadeT:
        if analysis not in m._made:
            m._made[analysis] = analysis(m)
        return m._made[analysis]

    return stored


@dataclass(frozen=True)
class Measured:
    """A study with its measurements."""

    study: Study
    runs: pd.DataFrame
    cells: pd.DataFrame
    bottlenecks: pd.DataFrame
    results: Path
    intervals: pd.DataFrame | None = None
    campaign: str | None = None
    damaged: tuple[str, ...] = ()
    """What is wrong with each damaged file of the results."""
    _made: dict[Callable, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def findings(self) -> pd.DataFrame:
        """Findings of 2003 tested on these runs, from :func:`netlab.analysis.findings.findings`."""
        return _findings(self)

    @property
    def stability(self) -> pd.DataFrame:
        """Order effects of the campaign, from :func:`netlab.analysis.measured.stability`."""
        return _stability(self)

    @property
    def groups(self) -> list[str]:
        """Names of the groups, in the order of their tables."""
        return printed.group_names(self.cells)

    def table(self, group: str, quantity: str = "goodput") -> pd.DataFrame:
        """One group laid out as the report prints it; see :func:`printed.as_printed`."""
        return printed.as_printed(self.cells, group, study=self.study, quantity=quantity)


@computed_once
def _findings(m: Measured) -> pd.DataFrame:
    return findings(m.runs, m.study)


@computed_once
def _stability(m: Measured) -> pd.DataFrame:
    return stability(m.runs)


def from_frames(
    study: Study,
    runs: pd.DataFrame,
    intervals: pd.DataFrame | None,
    results: Path,
    campaign: str | None = None,
) -> Measured:
    """Make cells and bottlenecks of frames that are already in memory."""
    cells, found = Cells.of(study)(runs, intervals, study), verdicts(runs)
    cells = cells.merge(found[[*CELL_KEYS, "bottleneck"]], on=list(CELL_KEYS), how="left")
    return Measured(study, runs, cells, found, results, intervals, campaign)


def load_measured(results: str | Path = "", study: str | Path = "") -> Measured:
    """Load a store and the study it was measured for."""
    file, name = _named(study, results) if str(study) else (None, "")
    directory = _directory(results, name)
    return _load(directory, file, name)


def _load(directory: Path, file: Path | None, name: str) -> Measured:
    # one campaign for runs and design: another may begin meanwhile
    campaign = _campaign(directory, file)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always", Damaged)
        runs, intervals = Store(directory).block(campaign=campaign)
    for one in seen:
        warnings.warn(one.message, stacklevel=2)
    damaged = tuple(str(one.message) for one in seen if one.category is Damaged)
    if runs.empty:
        raise _without_runs(directory, campaign)
    names = sorted(runs["study"].unique())
    design = _design(directory, campaign, file, name, names)
    if names != [design.name]:
        raise BadInput(
            f"holds runs of {', '.join(map(repr, names))}, the study is {design.name!r}",
            where=str(directory),
            key="study",
            code="E-ANALYSIS-012",
        )
    return replace(from_frames(design, runs, intervals, directory, campaign), damaged=damaged)


def _campaign(directory: Path, file: Path | None) -> str | None:
    """The campaign that stored this study in the directory, else the latest."""
    for one in () if file is None else ids(directory):
        if file == (folder(directory, one) / "study.yml").resolve():
            return one
    return latest(directory)


def _without_runs(directory: Path, campaign: str | None) -> NetlabError:
    before = [] if campaign is None else ids(directory)[: ids(directory).index(campaign)]
    if before and Store(directory).parts():
        return NetlabError(
            f"campaign {campaign} in {directory} has no runs yet; those of {before[-1]} and "
            "before are kept. Try again when it has some",
            code="E-ANALYSIS-042",
        )
    return NetlabError(f"{directory} holds no runs; measure the study first", code="E-ANALYSIS-011")


def _named(study: str | Path, results: str | Path) -> tuple[Path | None, str]:
    """File and name of a study; no file for a name that only results go by."""
    text = str(study)
    try:
        file = paths.study_file(study)
    except BadInput:
        if is_name(text) and (str(results) or paths.results_dir(text).is_dir()):
            return None, text
        if not (is_name(text) and text.endswith(QUICK)):
            raise
        return paths.study_file(text.removesuffix(QUICK)), text
    return file, studies.load(file).name


def _forms(name: str) -> tuple[str, ...]:
    """Names that results of a study go by: of the study, and of its short form."""
    return (name,) if name.endswith(QUICK) else (name, name + QUICK)


def _directory(results: str | Path, name: str) -> Path:
    if str(results):
        places = [paths.given_path(results), paths.root_dir() / results]
    elif name:
        forms = [paths.results_dir(form) for form in _forms(name)]
        places = sorted(forms, key=_measured_at, reverse=True)
    else:
        raise BadInput(
            "name a study, or the directory of its results", key="results", code="E-ANALYSIS-013"
        )
    for place in places:
        if place.is_dir():
            return place
    raise BadInput(
        "there is no such directory; measure the study first",
        key="results",
        value=str(results or places[0]),
        code="E-ANALYSIS-014",
    )


def _measured_at(directory: Path) -> float:
    """Time of the last change of a directory of results, s since the epoch; 0 without one."""
    files = [study_file(directory), *directory.glob("runs/*.parquet")]
    return max((file.stat().st_mtime for file in files if file.is_file()), default=0.0)


def _design(
    directory: Path, campaign: str | None, file: Path | None, name: str, measured: list[str]
) -> Study:
    """The study as the campaign measured it, else from its file."""
    kept = study_file(directory, campaign)
    if kept.is_file():
        design = studies.load_stored(kept)
        if not name or design.name in _forms(name):
            return design
        if file is None:
            message = f"holds runs of {design.name!r}, the study is {name!r}"
            raise BadInput(message, where=str(directory), key="study", code="E-ANALYSIS-018")
    if file is None:
        file = paths.study_file(measured[0].removesuffix(QUICK))
    design = studies.load(file)
    if measured == [design.name + QUICK]:
        return studies.load(file, quick=True)
    return design


# Goodput over campaigns: each beside the one before, and the steps between them.

TREND_COLUMNS = (
    *("campaign", "started_at", "cells", "common"),
    *("ratio", "low", "high", "level", "step"),
)


def trend(m: Measured) -> pd.DataFrame:
    """Compare every campaign in a directory of results with the one before it."""
    rows: list[tuple] = []
    before: pd.Series | None = None
    level = 1.0
    store = Store(m.results)
    campaigns = ids(m.results)
    if m.campaign in campaigns:
        campaigns = campaigns[: campaigns.index(m.campaign) + 1]  # none that began since
    for campaign in campaigns if len(campaigns) > 1 else ():
        runs = valid(store.runs(campaign=campaign))
        own = runs[(runs["campaign"] == campaign) & (runs["goodput_MBps"] > 0)]
        if own.empty:
            continue
        logs = np.log(own["goodput_MBps"].astype(float))
        cells = logs.groupby([own[key] for key in CELL_KEYS]).mean()
        ratio, low, high, common = math.nan, math.nan, math.nan, 0
        if before is not None:
            change = (cells - before).dropna().to_numpy()
            common = len(change)
            if common:
                found = mean_ratio_of(change, m.study.confidence)
                ratio, low, high = found.ratio, found.low, found.high
            level *= ratio
        step = bool(low > 1 or high < 1)
        started = own["started_at"].min()
        rows.append((campaign, started, len(cells), common, ratio, low, high, level, step))
        before = cells
    return pd.DataFrame.from_records(rows, columns=list(TREND_COLUMNS))
