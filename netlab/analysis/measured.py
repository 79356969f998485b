"""A measured study, loaded; the stability of its campaign, and its goodput over campaigns."""

from __future__ import annotations

import math
import shlex
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import wraps
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np
import pandas as pd

from netlab import study as studies
from netlab import wings
from netlab.analysis import cells, printed
from netlab.analysis.cells import CELL_KEYS, Cells, usable
from netlab.analysis.conditions import verdicts
from netlab.analysis.effects import Ratio, mean_ratio_of
from netlab.analysis.findings import findings
from netlab.errors import BadInput, NetlabError
from netlab.files import paths
from netlab.results.columns import INTERVAL_COLUMNS, RUN_COLUMNS
from netlab.results.store import (
    Damaged,
    Store,
    folder,
    ids,
    measured_directory,
    names_here,
    study_file,
)
from netlab.study import QUICK, Study, is_name

# Stability of a campaign: drift, a step, carry-over from the run before, rounds that correlate.
#
# Each test looks at the residuals of the runs, in the order of measuring: the logarithm of a run's
# goodput less the mean of its cell, over the scatter of the cell. Its p-value is that of a
# permutation test. For drift and a step the visits are put in random orders, so that what the runs
# of one visit share does not count as many observations; for carry-over the runs are, and for their
# correlation the rounds. Rounds keep drift out of the comparison of cells; these tests say whether
# there was any.
#
# Drift is stated over the time that was measured, with an interval; an hour only of campaigns that
# lasted at least :data:`HOURLY_FROM_H`: nothing is extrapolated.

PERMUTATIONS = 999
LEVEL = 0.01
"""A finding is stated below this p-value; four tests a campaign."""

MIN_VISITS = 8
MIN_ROUNDS = 8
"""Fewest rounds whose correlation is estimated: with fewer it is biased by more than its size."""

CLIP = 4.0
"""Residuals beyond this many standard deviations count as this many."""

MIN_SIDE = 0.05
"""A step leaves at least this share of the runs on either side."""

HOURLY_FROM_H = 1.0
"""Least length of a campaign whose drift is stated an hour."""

CONFIDENCE = 0.95
"""Level of the interval of the drift."""

COLUMNS = ("test", "estimate", "low", "high", "unit", "p", "found", "text")


def _series(runs: pd.DataFrame) -> pd.DataFrame:
    """Residuals of runs in the order of measuring."""
    keys, good = list(CELL_KEYS), usable(runs).sort_values("started_at")
    n = good.groupby(keys)["run_id"].transform("size")
    good, n = good[n > 1], n[n > 1]
    start = good["started_at"]
    good = good.assign(
        log=np.log(good["goodput_MBps"].astype(float)),
        hours=(start - start.min()).dt.total_seconds() / 3600,
    )
    of_cell, visit = good.groupby(keys), good.groupby(["block_id", "round"], sort=False)
    inflation = np.sqrt(n / (n - 1))
    logs = (good["log"] - of_cell["log"].transform("mean")) * inflation
    scatter = of_cell["log"].transform("std")
    scale = np.sqrt((scatter**2 + scatter.median() ** 2) / 2).replace(0, np.nan)
    series = {
        "scaled": (logs / scale).clip(-CLIP, CLIP).fillna(0),
        "logs": logs,
        "visit": visit.ngroup(),
        "hours": good["hours"],
        "within_h": good["hours"] - of_cell["hours"].transform("mean"),
        "inflation": inflation,
        "before": visit["log"].shift(1),
        "cell": of_cell.ngroup(),
        "round": good["round"],
        "started_at": start,
    }
    return pd.DataFrame(series).reset_index(drop=True)


def stability(runs: pd.DataFrame) -> pd.DataFrame:
    series = _series(runs)
    visits = series["visit"].nunique()
    rng = np.random.default_rng(1)
    rows: list[tuple] = []
    for name, test in (("drift", _drift), ("step", _step), ("carry-over", _carry_over)):
        if visits < MIN_VISITS:
            text = f"{visits} visits are too few for this test; it takes {MIN_VISITS}"
            rows.append((name, *[math.nan] * 3, "", math.nan, False, text))
            continue
        # the ends of an interval are NaN without one; what to say of an effect, and of none
        *figures, p, effect, none = test(series, rng)
        rows.append((name, *figures, p, p < LEVEL, effect if p < LEVEL else none))
    rows.append(_correlation(series, rng))
    return pd.DataFrame.from_records(rows, columns=list(COLUMNS))


def _shuffled(series: pd.DataFrame, rng: np.random.Generator) -> Callable[[], np.ndarray]:
    """Gives the residuals with the visits in a random order, another one at each call."""
    visit = series["visit"].to_numpy()
    of_visits = series["scaled"].to_numpy()[np.argsort(visit, kind="stable")]
    lengths = np.bincount(visit)
    starts, places = np.cumsum(lengths) - lengths, np.arange(len(visit))

    def values() -> np.ndarray:
        # not sorted by run: a permutation of 10^5 runs in 2,000 visits would take ten times as long
        chosen = np.argsort(rng.permutation(len(lengths)))
        own = lengths[chosen]
        return of_visits[np.repeat(starts[chosen] - (np.cumsum(own) - own), own) + places]

    return values


def _p(seen: float, draw: Callable[[], float]) -> float:
    drawn = np.array([draw() for _ in range(PERMUTATIONS)])
    return float((1 + np.sum(drawn >= seen)) / (1 + len(drawn)))


def _drift(series: pd.DataFrame, rng: np.random.Generator) -> tuple:
    """Trend over the order of measuring, by its correlation with the residuals."""
    hours = series["hours"].to_numpy()
    time = hours - hours.mean()
    spread = float((time**2).sum())

    def slope(values: np.ndarray) -> float:
        return abs(float((time * values).sum())) / spread if spread else 0.0

    shuffled = _shuffled(series, rng)
    p = _p(slope(series["scaled"].to_numpy()), lambda: slope(shuffled()))
    span_h = float(np.ptp(hours))
    hourly = span_h >= HOURLY_FROM_H
    estimate, low, high = (
        100 * math.expm1(value * (1.0 if hourly else span_h)) for value in _slope_within(series)
    )
    unit = "% an hour" if hourly else f"% over {_duration(span_h)}"
    interval = f"{100 * CONFIDENCE:g} % interval {low:+.1f} to {high:+.1f} %"
    text = f"{estimate:+.1f} {unit}, {interval}"
    effect = f"goodput drifted by {text} (p = {p:.3f})"
    none = f"no drift is distinguishable from zero: {text} (p = {p:.2f})"
    return estimate, low, high, unit, p, effect, none


def _slope_within(series: pd.DataFrame) -> tuple[float, float, float]:
    """Slope of the logarithms over hours, with a cluster-robust interval: a visit is a cluster."""
    # centred by cell: a mean over cells measured at different times would take trend away
    within_h, inflation = series["within_h"], series["inflation"]
    spread, visits = float((within_h**2).sum()), series["visit"].nunique()
    if not spread or visits < 3:
        return math.nan, math.nan, math.nan
    slope = float((within_h * series["logs"] / inflation).sum()) / spread
    residual = series["logs"] - slope * within_h * inflation
    scores = (within_h * residual).groupby(series["visit"]).sum()
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


def _step(series: pd.DataFrame, rng: np.random.Generator) -> tuple:
    """The largest change of level, by the maximum of the CUSUM statistic."""
    statistic = _cusum(series["scaled"].to_numpy())
    place = int(np.argmax(statistic)) + 1
    shuffled = _shuffled(series, rng)
    p = _p(statistic[place - 1], lambda: _cusum(shuffled()).max())
    before, after = series["logs"][:place], series["logs"][place:]
    estimate = 100 * math.expm1(after.median() - before.median())
    at = series["started_at"][place]
    effect = f"goodput changed by {estimate:+.1f} % at {at:%H:%M:%S} UTC (p = {p:.3f})"
    none = f"no step is distinguishable from zero (p = {p:.2f})"
    return estimate, math.nan, math.nan, "%", p, effect, none


def _carry_over(series: pd.DataFrame, rng: np.random.Generator) -> tuple:
    """Rank correlation of a run's residual with the goodput of the run before in its visit."""
    paired = series.dropna(subset="before")
    before, ranks = (paired[name].rank().to_numpy() for name in ("before", "scaled"))

    def correlation(ranks: np.ndarray) -> float:
        if len(ranks) < 2 or ranks.std() == 0 or before.std() == 0:
            return 0.0
        return float(np.corrcoef(before, ranks)[0, 1])

    seen = correlation(ranks)
    p = _p(abs(seen), lambda: abs(correlation(rng.permutation(ranks))))
    word = "faster" if seen > 0 else "slower"
    effect = f"runs are {word} after a fast run: rank correlation {seen:+.2f} (p = {p:.3f})"
    none = f"no effect of the run before is distinguishable from zero (p = {p:.2f})"
    return seen, math.nan, math.nan, "correlation", p, effect, none


def _correlation(series: pd.DataFrame, rng: np.random.Generator) -> tuple:
    """Correlation of a cell's goodput in neighbouring rounds: its interval takes them as unrelated.

    The mean over cells, without the bias of a short series (Kendall 1954: -(1 + 4 r) / n).
    """
    name, none = "correlation of rounds", [math.nan] * 3
    wide = series.astype({"logs": float}).pivot_table("logs", "cell", "round").to_numpy(dtype=float)
    wide = wide[(~np.isnan(wide)).all(axis=1) & (wide.std(axis=1) > 0)] if wide.size else wide
    rounds = wide.shape[1]
    if rounds < MIN_ROUNDS or not len(wide):
        text = (
            f"{rounds} rounds are too few to estimate whether neighbours correlate, which makes "
            f"intervals too narrow; it takes {MIN_ROUNDS}"
        )
        return name, *none, "", math.nan, False, text
    wide -= wide.mean(axis=1, keepdims=True)
    squares = (wide**2).sum(axis=1)

    def neighbours(of: np.ndarray) -> float:
        return float(np.mean((of[:, 1:] * of[:, :-1]).sum(axis=1) / squares))

    seen = neighbours(wide)
    p = _p(seen, lambda: neighbours(wide[:, rng.permutation(rounds)]))
    estimate = float(np.clip((seen + 1 / rounds) / (1 - 4 / rounds), -0.99, 0.99))
    factor = math.sqrt((1 + estimate) / (1 - estimate))
    effect = (
        f"neighbouring rounds correlate by {estimate:+.2f} (p = {p:.3f}): intervals of cells are "
        f"off by a factor of about {factor:.1f}; measure rounds further apart"
    )
    fine = f"no correlation of neighbouring rounds is distinguishable from zero (p = {p:.2f})"
    found = p < LEVEL
    return name, estimate, *none[1:], "correlation", p, found, effect if found else fine


# Load a measured study: its file, its stored runs, and the cells they make.

MadeT = TypeVar("MadeT")

PARTS_AT_ONCE = 100
"""Files whose samples are in memory together; each has those of one visit."""


class Samples(Protocol):
    """Interval samples of the runs that count, read when asked for."""

    def __call__(self, run_ids: Collection[str] | None) -> pd.DataFrame:
        """Samples of some runs, by their ids, or of all."""

    def batches(self, only: Collection[str] = ()) -> Iterator[pd.DataFrame]:
        """Samples of all runs, those of some at a time, in their order; all of a run together.

        Some columns only, if they are named.
        """


@dataclass(frozen=True, eq=False)
class SamplesInMemory:
    intervals: pd.DataFrame

    def __call__(self, run_ids: Collection[str] | None) -> pd.DataFrame:
        frame = self.intervals
        return frame if run_ids is None else frame[frame["run_id"].isin(run_ids)]

    def batches(self, only: Collection[str] = ()) -> Iterator[pd.DataFrame]:
        frame, wanted = self.intervals, {"run_id", *only}
        yield frame[[name for name in frame if name in wanted]] if only else frame


@dataclass(frozen=True, eq=False)
class StoredSamples:
    store: Store
    places: pd.DataFrame
    """Part and run id of each run that counts."""

    def __call__(self, run_ids: Collection[str] | None) -> pd.DataFrame:
        places = self.places
        return self._read(places if run_ids is None else places[places["run_id"].isin(run_ids)])

    def batches(self, only: Collection[str] = ()) -> Iterator[pd.DataFrame]:
        part = self.places["part"].astype(str)
        parts = sorted(part.unique())
        for start in range(0, len(parts), PARTS_AT_ONCE):
            some = part.isin(parts[start : start + PARTS_AT_ONCE])
            yield self._read(self.places[some], only)

    def _read(self, places: pd.DataFrame, only: Collection[str] = ()) -> pd.DataFrame:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Damaged)  # each is known since its check
            return self.store.rows_of("intervals", places, only)


def computed_once(analysis: Callable[[Measured], MadeT]) -> Callable[[Measured], MadeT]:
    """Decorator: a later call for the same results gives the same object, which nobody changes."""

    @wraps(analysis)
    def stored(m: Measured) -> MadeT:
        if analysis not in m._made:
            m._made[analysis] = analysis(m)
        return m._made[analysis]

    return stored


@computed_once
def published_values(m: Measured) -> pd.DataFrame | None:
    """Cells that were published, beside what is measured of them; None if no wing knows any."""
    known = (find(m) for find in wings.published())
    return next((values for values in known if len(values)), None)


@dataclass(frozen=True)
class Measured:
    study: Study
    runs: pd.DataFrame
    cells: pd.DataFrame
    bottlenecks: pd.DataFrame
    results: Path
    samples: Samples | None = None
    """They are a hundred times as many as the runs."""
    campaign: str | None = None
    damaged: tuple[str, ...] = ()
    """What is wrong with each damaged file of the results."""
    _made: dict[Callable, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    @computed_once
    def intervals(self) -> pd.DataFrame | None:
        """Interval samples of all runs; None of results that have none."""
        return None if self.samples is None else self.samples(None)

    @property
    @computed_once
    def findings(self) -> pd.DataFrame:
        return findings(self.runs, self.study)

    @property
    @computed_once
    def stability(self) -> pd.DataFrame:
        return stability(self.runs)

    @property
    def groups(self) -> list[str]:
        """Names of the groups, in the order of their tables."""
        return printed.group_names(self.cells)

    def table(self, group: str, quantity: str = "goodput") -> pd.DataFrame:
        """One group laid out as the report prints it; see :func:`printed.as_printed`."""
        return printed.as_printed(self.cells, group, study=self.study, quantity=quantity)


def cell_table(m: Measured) -> pd.DataFrame:
    """The cells as Python and the downloads show them, with their units in ``attrs``."""
    frame = printed.expanded(m.cells, m.study)
    frame.insert(0, "study", m.study.name)
    return with_units(frame)


def with_units(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame with the unit of each column that has one in ``attrs["units"]``."""
    known = {column.name: column.unit for column in (*RUN_COLUMNS, *INTERVAL_COLUMNS)}
    units = {name: known.get(name) or _unit(name) for name in map(str, frame.columns)}
    frame.attrs["units"] = {name: unit for name, unit in units.items() if unit}
    return frame


def _unit(name: str) -> str:
    parts = name.split("_")
    return "%" if "percent" in parts else (printed.UNITS | {"s": "s"}).get(parts[-1], "")


def from_frames(
    study: Study, runs: pd.DataFrame, intervals: pd.DataFrame | None, results: Path
) -> Measured:
    """Make cells and bottlenecks of frames that are already in memory."""
    return _measured(
        study, runs, None if intervals is None else SamplesInMemory(intervals), results
    )


def _measured(study: Study, runs: pd.DataFrame, samples: Samples | None, results: Path) -> Measured:
    intervals = None if samples is None else samples(_alone(runs))
    cells, verdict_frame = Cells.of(study)(runs, intervals, study), verdicts(runs)
    cells = cells.merge(verdict_frame[[*CELL_KEYS, "bottleneck"]], on=list(CELL_KEYS), how="left")
    return Measured(study, runs, cells, verdict_frame, results, samples)


def _alone(runs: pd.DataFrame) -> set[str]:
    """Valid runs that are the only one of their cell: samples make the interval within them."""
    good = cells.valid(runs)
    return set(good.loc[~good.duplicated(list(CELL_KEYS), keep=False), "run_id"])


def load_measured(results: str | Path = "", study: str | Path = "") -> Measured:
    """Load a store and the study it was measured for."""
    loaded = load_runs(results, study, samples=True)
    made = _measured(loaded.study, loaded.runs, loaded.samples, loaded.results)
    return replace(made, campaign=loaded.campaign, damaged=loaded.damaged)


@dataclass(frozen=True, eq=False)
class LoadedRuns:
    """The runs of a store that count, and the study they were measured for."""

    study: Study
    runs: pd.DataFrame
    samples: Samples
    results: Path
    campaign: str | None
    damaged: tuple[str, ...]


def load_runs(
    results: str | Path = "",
    study: str | Path = "",
    *,
    only: Collection[str] = (),
    samples: bool = False,
) -> LoadedRuns:
    """Load runs without their cells; some columns only, if they are named.

    With `samples` their files are checked, so that a damaged one is known.
    """
    file, name = _named(study, results) if str(study) else (None, "")
    directory = _directory(results, name)
    # one campaign for runs and design: another may begin meanwhile
    campaigns = ids(directory)
    campaign = campaigns[-1] if campaigns else None
    for one in campaigns if file else ():  # the campaign that stored this study
        if file == (folder(directory, one) / "study.yml").resolve():
            campaign = one
            break
    store = Store(directory)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always", Damaged)
        runs, places = store.counting(campaign, {*only, "study"} if only else ())
        if samples:
            store.check_samples(places)
    for warning in seen:
        warnings.warn(warning.message, stacklevel=3)
    damaged = tuple(str(one.message) for one in seen if one.category is Damaged)
    if runs.empty:
        before = [] if campaign is None else campaigns[: campaigns.index(campaign)]
        if before and store.parts():
            raise NetlabError(
                f"campaign {campaign} in {directory} has no runs yet; those of {before[-1]} and "
                "before are kept. Try again when it has some",
                code="E-ANALYSIS-042",
            )
        text = f"{directory} holds no runs; measure the study first"
        raise NetlabError(text, code="E-ANALYSIS-011")
    names = sorted(runs["study"].unique())
    design = _design(directory, campaign, file, name, names)
    if names != [design.name]:
        text = f"holds runs of {', '.join(map(repr, names))}, the study is {design.name!r}"
        raise BadInput(text, where=str(directory), key="study", code="E-ANALYSIS-012")
    samples_of_runs = StoredSamples(store, places)
    return LoadedRuns(design, runs, samples_of_runs, directory, campaign, damaged)


def _named(study: str | Path, results: str | Path) -> tuple[Path | None, str]:
    """File and name of a study; no file for a name that only results go by."""
    text = str(study)
    try:
        file = paths.study_file(study)
    except BadInput as error:
        if is_name(text) and (str(results) or paths.results_dir(text).is_dir()):
            return None, text
        if is_name(text) and not text.endswith(QUICK):
            message = error.message + names_here()
            raise BadInput(message, key="study", value=text, code="E-ANALYSIS-050") from None
        if not is_name(text):
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
        places = [measured_directory(name)]
    else:
        text = "name a study, or the directory of its results"
        raise BadInput(text, key="results", code="E-ANALYSIS-013")
    text, value = "there is no such directory; measure the study first", str(results or places[0])
    chosen = next((place for place in places if place.is_dir()), None)
    if chosen is None:
        raise BadInput(text, key="results", value=value, code="E-ANALYSIS-014")
    return chosen


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
            message = (
                f"holds runs of {design.name!r}, the study is {name!r}; a directory that was "
                f"renamed is named by its path, {shlex.quote(str(directory))}"
            )
            raise BadInput(message, where=str(directory), key="study", code="E-ANALYSIS-018")
    file = file or paths.study_file(measured[0].removesuffix(QUICK))
    design = studies.load(file)
    return studies.load(file, quick=True) if measured == [design.name + QUICK] else design


# Goodput over campaigns: each beside the one before, and the steps between them.

TREND_COLUMNS = (
    *("campaign", "started_at", "cells", "common"),
    *("ratio", "low", "high", "level", "step"),
)


def trend(m: Measured) -> pd.DataFrame:
    """Compare every campaign in a directory of results with the one before it."""
    campaigns, store = ids(m.results), Store(m.results)
    if m.campaign in campaigns:
        campaigns = campaigns[: campaigns.index(m.campaign) + 1]  # none that began since
    needed = (*CELL_KEYS, "campaign", "started_at", "flags", "goodput_MBps")
    measured = store.of_campaigns(campaigns if len(campaigns) > 1 else (), needed)
    own = ((campaign, runs[runs["campaign"] == campaign]) for campaign, runs in measured)
    return trend_of(own, m.study.confidence)


def trend_of(measured: Iterable[tuple[str, pd.DataFrame]], confidence: float) -> pd.DataFrame:
    """Compare runs with those before them, cell by cell."""
    rows: list[tuple] = []
    before, level = pd.Series(dtype=float), 1.0
    for name, runs in measured:
        own = usable(runs)
        if own.empty:
            continue
        logs = np.log(own["goodput_MBps"].astype(float))
        cells = logs.groupby([own[key] for key in CELL_KEYS]).mean()
        change = (cells - before).dropna().to_numpy() if rows else np.empty(0)
        ratio = Ratio(math.nan, math.nan, math.nan)
        if len(change):
            ratio = mean_ratio_of(change, confidence)
        level *= ratio.ratio if rows else 1.0
        figures = (ratio.ratio, ratio.low, ratio.high, level, ratio.low > 1 or ratio.high < 1)
        rows.append((name, own["started_at"].min(), len(cells), len(change), *figures))
        before = cells
    return pd.DataFrame.from_records(rows, columns=list(TREND_COLUMNS))
