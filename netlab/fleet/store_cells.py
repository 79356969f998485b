"""Queries over the results of many stores: their cells, and comparisons of them."""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from netlab.analysis import cells
from netlab.analysis.cells import (
    CELL_COLUMNS,
    CELL_KEYS,
    FROM_BATCHES,
    FROM_NOTHING,
    FROM_ROUNDS,
    LEAST,
    batch_interval,
    flags_in,
    missing_reason,
)
from netlab.analysis.compare import CANNOT_TELL, FIGURES, Asked, bonferroni, decide, holm, imprecise
from netlab.analysis.effects import COMMON_ROUNDS, Ratio, p_value
from netlab.errors import BadInput, NetlabError
from netlab.results.columns import BROKEN

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


# A DuckDB connection that is bounded in memory and never reaches a network.

MEMORY = "2GiB"
"""Limit of DuckDB's own memory; beyond it DuckDB writes to a temporary directory."""

THREADS = 2


@contextmanager
def database() -> Iterator[DuckDBPyConnection]:
    """Open a database in memory, which spills to a temporary directory."""
    if importlib.util.find_spec("duckdb") is None:
        raise NetlabError(
            "queries of many stores need DuckDB, which is not installed: "
            "pip install 'netlab[fleet]', or `uv sync --extra fleet` in a checkout",
            code="E-FLEET-040",
        )
    import duckdb

    settings = {
        "memory_limit": MEMORY,
        "threads": str(THREADS),
        "autoinstall_known_extensions": "false",
        "autoload_known_extensions": "false",
        "preserve_insertion_order": "false",
    }
    with TemporaryDirectory(prefix="netlab-spill-") as spill:
        connection = duckdb.connect(config={**settings, "temp_directory": spill})
        try:
            connection.execute("SET enable_progress_bar = false")
            yield connection
        except duckdb.Error as error:
            reason = " ".join(str(error).split())[:300]
            raise NetlabError(
                f"the results cannot be queried: {reason}", code="E-FLEET-041"
            ) from None
        finally:
            connection.close()


def quoted(text: str) -> str:
    """A string literal of SQL."""
    return "'" + text.replace("'", "''") + "'"


def files_of(paths: list[str]) -> str:
    """A list of files in SQL."""
    return "[" + ", ".join(quoted(path) for path in paths) + "]"


# Cells of many stores, with the intervals that a single store gives, and their samples.
#
# DuckDB reduces runs to moments of logarithms, and samples to quantiles; Student's t and what is
# shown are made of the small frames that remain.

RUNS_AT_ONCE = 5000
"""Runs whose samples are in memory at once, for intervals from within a run."""

STORE_KEYS = ("study", "source", "sender", "receiver")
"""Columns that say where a cell is from: stores are never pooled."""

KEYS = (*STORE_KEYS, *CELL_KEYS)
_QUOTED = ", ".join(f'"{key}"' for key in KEYS)

GOOD = "coalesce(flags, '') = '' AND goodput_MBps IS NOT NULL AND isfinite(goodput_MBps)"
"""A valid run, as :func:`netlab.analysis.cells.valid` has it."""

ENDED = (
    "isfinite(goodput_MBps) IS TRUE AND NOT list_has_any(string_split(coalesce(flags, ''), ','), "
    f"{sorted(BROKEN)})"
)
"""A run that ended, as :func:`netlab.analysis.cells.ended` has it."""

_CELLS = f"""
WITH runs AS (
  SELECT *, {GOOD} AS good, {ENDED} AS ended,
    arg_min(bus_MBps, "order") FILTER (bus_MBps IS NOT NULL) OVER (
      PARTITION BY source, "group") AS group_bus_MBps
  FROM standing_runs
)
SELECT {_QUOTED},
  arg_min("table", "order") AS "table", arg_min(path, "order") AS path,
  arg_min(direction, "order") AS direction,
  count(*) FILTER (good) AS n_valid,
  count(*) FILTER (NOT good) AS n_flagged,
  bool_or(goodput_MBps <= 0) FILTER (good) AS has_zero,
  favg(goodput_MBps) FILTER (good) AS arithmetic,
  favg(ln(goodput_MBps)) FILTER (good AND goodput_MBps > 0) AS centre,
  stddev_samp(ln(goodput_MBps)) FILTER (good AND goodput_MBps > 0) AS log_sd,
  stddev_samp(goodput_MBps) FILTER (good) AS sd_MBps,
  max(goodput_MBps) FILTER (good) - min(goodput_MBps) FILTER (good) AS range_MBps,
  coalesce(arg_min(bus_MBps, "order") FILTER (good AND bus_MBps IS NOT NULL),
    any_value(group_bus_MBps)) AS bus_MBps,
  any_value(record) FILTER (good) AS record,
  CASE WHEN count(*) FILTER (good) = 0 THEN median(goodput_MBps) FILTER (ended) END
    AS disturbed_MBps,
  CASE WHEN count(*) FILTER (good) = 0 THEN coalesce(list(flags) FILTER (ended), []) ELSE [] END
    AS ended_flags,
  CASE WHEN count(*) FILTER (good) = 0 THEN list(coalesce(flags, '')) END AS all_flags,
  min("order") AS first_order
FROM runs GROUP BY {_QUOTED}
ORDER BY study, source, first_order
"""

_RATES = """
SELECT record, sample, sum(rate_MBps) AS rate_MBps FROM (
  SELECT record, bytes / interval_s / 1e6 AS rate_MBps,
    row_number() OVER (PARTITION BY record, direction, stream ORDER BY t_s) AS sample
  FROM read_parquet({files}, union_by_name = true, hive_partitioning = false, filename = 'samples')
  JOIN wanted USING (samples, run_id) WHERE in_window AND interval_s > 0
) GROUP BY record, sample
QUALIFY count(*) = max(count(*)) OVER (PARTITION BY record)
"""
"""Goodput of a run in each sample of its window, summed over streams and directions."""

QUANTILES = {"p01_MBps": 0.01, "p25_MBps": 0.25, "median_MBps": 0.5, "p75_MBps": 0.75}
QUANTILES |= {"p99_MBps": 0.99}

_WANTED = """
CREATE OR REPLACE TEMP TABLE wanted AS
SELECT record, run_id, samples FROM standing_runs WHERE {condition}
"""
_CELLS_WANTED = f"""
CREATE OR REPLACE TEMP TABLE cells_wanted AS
SELECT record, dense_rank() OVER (ORDER BY {_QUOTED}) AS cell, {_QUOTED}
FROM standing_runs WHERE {GOOD} AND study = {{study}}
"""
_QUANTILES = """
WITH rates AS ({rates})
SELECT cell, count(*) AS samples, quantile_cont(rate_MBps, {levels}) AS quantiles
FROM rates JOIN cells_wanted USING (record) GROUP BY cell
"""


def cells_of(connection: DuckDBPyConnection, confidence: float) -> pd.DataFrame:
    """Cells of the runs in the view ``standing_runs``, as :class:`netlab.analysis.cells.Cells`."""
    if not 0.5 < confidence < 1:
        raise BadInput(
            "must lie between 0.5 and 1", key="confidence", value=confidence, code="E-FLEET-045"
        )
    found = connection.execute(_CELLS).df()
    n = found["n_valid"].to_numpy()
    zero = found["has_zero"].fillna(False).to_numpy(bool)
    centre = np.where(zero, np.nan, found["centre"].to_numpy(float))
    quantile = cells.t_quantile(np.maximum(n - 1, 1).astype(float), 0.5 + confidence / 2)
    half = quantile * found["log_sd"].to_numpy(float) / np.sqrt(np.maximum(n, 1))
    half = np.where((n >= LEAST) & ~zero, half, np.nan)
    mean = np.where(zero, found["arithmetic"].to_numpy(float), np.exp(centre))
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        found = found.assign(
            goodput_MBps=mean,
            low_MBps=np.exp(centre - half),
            high_MBps=np.exp(centre + half),
            interval_from=np.where(np.isnan(half), FROM_NOTHING, FROM_ROUNDS),
            spread_percent=np.where(
                (n > 1) & (mean > 0), 100 * found["range_MBps"].to_numpy(float) / mean, np.nan
            ),
        )
    _within_one_run(connection, found, confidence)
    return _finished(found)


def _rates_of(connection: DuckDBPyConnection, condition: str) -> str:
    """Query of the rates of the runs that count and meet a condition; empty without samples."""
    connection.execute(_WANTED.format(condition=condition))
    files = connection.execute("SELECT DISTINCT samples FROM wanted ORDER BY samples").fetchall()
    present = [file for (file,) in files if Path(file).exists()]
    return _RATES.format(files=files_of(present)) if present else ""


def _within_one_run(connection: DuckDBPyConnection, found: pd.DataFrame, confidence: float) -> None:
    """Give cells of a single valid run an interval from its samples, in place."""
    single = found[(found["n_valid"] == 1) & (found["goodput_MBps"] > 0)]
    places = dict(zip(single["record"].astype("int64"), single.index, strict=True))
    records = list(places)
    for start in range(0, len(records), RUNS_AT_ONCE):
        chosen = ", ".join(map(str, records[start : start + RUNS_AT_ONCE]))
        rates = _rates_of(connection, f"record IN ({chosen})")
        if not rates:
            continue
        samples = connection.execute(f"{rates} ORDER BY record, sample").df()
        for record, of_run in samples.groupby("record", sort=False)["rate_MBps"]:
            within = batch_interval(of_run.to_numpy(float), confidence)
            if math.isnan(within.low):
                continue
            place = places[record]
            scale = found.at[place, "goodput_MBps"] / within.mean
            found.at[place, "low_MBps"] = scale * within.low
            found.at[place, "high_MBps"] = scale * within.high
            found.at[place, "interval_from"] = FROM_BATCHES


def _finished(found: pd.DataFrame) -> pd.DataFrame:
    """Add what follows from means and bounds, in the order of a store's cells."""
    mean, bus = found["goodput_MBps"].where(found["goodput_MBps"] > 0), found["bus_MBps"]
    bus = bus.astype(float).where(bus.astype(float) > 0)
    half = (found["high_MBps"] - found["low_MBps"]) / 2
    flags = found["all_flags"]
    found = found.assign(
        half_width_MBps=half,
        half_width_percent=100 * half / mean,
        percent_of_bus=100 * found["goodput_MBps"] / bus,
        percent_low=100 * found["low_MBps"] / bus,
        percent_high=100 * found["high_MBps"] / bus,
        rounds_needed=np.nan,
        disturbed=[", ".join(flags_in(each)) for each in found["ended_flags"]],
        missing_because=[
            missing_reason(list(each)) if count == 0 else ""
            for each, count in zip(flags, found["n_valid"], strict=True)
        ],
    )
    counts = {"mtu_B": "int64", "streams": "int64", "n_valid": "int64", "n_flagged": "int64"}
    return found[[*STORE_KEYS, *CELL_COLUMNS]].astype({**counts, "table": "Int64"})


def samples_of(connection: DuckDBPyConnection) -> pd.DataFrame:
    """Quantiles of the samples of the valid runs in the view ``standing_runs``, cell by cell.

    Study after study, so that memory is that of one.
    """
    frames = []
    named = connection.execute("SELECT DISTINCT study FROM standing_runs ORDER BY study").fetchall()
    for study in (quoted(name) for (name,) in named):
        connection.execute(_CELLS_WANTED.format(study=study))
        rates = _rates_of(connection, f"{GOOD} AND study = {study}")
        if not rates:
            continue
        query = _QUANTILES.format(rates=rates, levels=list(QUANTILES.values()))
        found = connection.execute(query).df()
        keys = connection.execute(f"SELECT DISTINCT cell, {_QUOTED} FROM cells_wanted").df()
        values = pd.DataFrame(found.pop("quantiles").tolist(), columns=list(QUANTILES))
        whole = keys.merge(pd.concat([found, values], axis=1), on="cell").sort_values("cell")
        frames.append(whole.drop(columns="cell"))
    if not frames:
        return pd.DataFrame(columns=[*KEYS, "samples", *QUANTILES])
    return pd.concat(frames, ignore_index=True)


# Compare two sides of many stores cell by cell, as :mod:`netlab.analysis.compare` does.
#
# DuckDB matches cells and rounds, and reduces them to moments of logarithms.

NO_STUDY_LEVEL = 0.95
"""Level of the intervals of results without a study."""

CAMPAIGN = "campaign"
FIRST, LATEST = "first", "latest"
"""Campaigns of each store by their age, in place of an id."""

CELL = (*STORE_KEYS, "group", "path", "direction", "tuning", "mtu_B", "streams", "factors")
DROPPED = {"study": {"study", "source"}, "source": {"source"}}
"""Columns besides the compared one that differ with it."""

COMPARABLE = ("campaign", "study", "source", "tuning", "mtu_B", "streams", "group", "factors")
TOO_FEW = f"{COMMON_ROUNDS} valid runs of each side are needed"

_SIDES = """
CREATE OR REPLACE TEMP TABLE sides AS
SELECT side, {keys}, ln(goodput_MBps) AS log,
  source || '|' || coalesce(campaign, side) || '@' || round AS round_label,
  level, half_percent
FROM {chosen} LEFT JOIN asked_precision USING (source, counts_in)
WHERE {good} AND goodput_MBps > 0
"""

_BY_COLUMN = """(
  SELECT runs.*, counts_in, CASE WHEN runs."{by}"::VARCHAR = {a} THEN 'A' ELSE 'B' END AS side
  FROM all_runs AS runs JOIN (
    SELECT record, campaign AS counts_in FROM standing WHERE latest
  ) USING (record) WHERE runs."{by}"::VARCHAR IN ({a}, {b}))"""

_BY_CAMPAIGN = """(
  SELECT runs.*, counts_in, chosen.side FROM all_runs AS runs JOIN (
    SELECT record, side, campaign AS counts_in FROM (
      SELECT record, campaign, latest,
        campaign = min(campaign) OVER (PARTITION BY source) AS first FROM standing
    ), (VALUES ('A', {a}), ('B', {b})) AS asked(side, name)
    WHERE campaign = name OR (name = 'first' AND first) OR (name = 'latest' AND latest)
    QUALIFY count(*) OVER (PARTITION BY record) = 1
  ) AS chosen USING (record))"""
"""Records that count on both sides are left out: to compare one with itself says nothing."""

_MOMENTS = """
WITH of_side AS (
  SELECT side, {keys}, count(*) AS n, favg(log) AS centre, var_samp(log) AS variance,
    max(level) AS level, min(half_percent) AS half_percent
  FROM sides GROUP BY ALL
), of_round AS (
  SELECT side, {keys}, round_label, favg(log) AS log FROM sides GROUP BY ALL
), steps AS (
  SELECT {keys}, b.log - a.log AS step
  FROM (SELECT * EXCLUDE (side) FROM of_round WHERE side = 'A') AS a
  JOIN (SELECT * EXCLUDE (side) FROM of_round WHERE side = 'B') AS b USING ({keys}, round_label)
), paired AS (
  SELECT {keys}, count(*) AS rounds, favg(step) AS step, stddev_samp(step) AS step_sd
  FROM steps GROUP BY ALL
)
SELECT {keys}, a.n AS n_a, b.n AS n_b, a.centre AS centre_a, b.centre AS centre_b,
  a.variance AS variance_a, b.variance AS variance_b,
  a.level AS level_a, b.level AS level_b,
  a.half_percent AS half_percent_a, b.half_percent AS half_percent_b,
  coalesce(rounds, 0) AS rounds, step, step_sd
FROM (SELECT * EXCLUDE (side) FROM of_side WHERE side = 'A') AS a
JOIN (SELECT * EXCLUDE (side) FROM of_side WHERE side = 'B') AS b USING ({keys})
LEFT JOIN paired USING ({keys})
ORDER BY {keys}
"""


def compare_sides(
    connection: DuckDBPyConnection,
    by: str,
    sides: tuple[str, str],
    asked: pd.DataFrame,
    *,
    confidence: float,
    same_within_percent: float,
) -> pd.DataFrame:
    """Ratios B / A of all cells that both sides have; see :meth:`Stores.compare`.

    `asked` has ``source counts_in level half_percent``: what the study of each campaign asks for.
    Of a side with several studies the narrowest interval at the highest level is asked.
    """
    if by not in COMPARABLE:
        raise BadInput(
            f"cannot be compared; choose from {', '.join(COMPARABLE)}",
            key="by",
            value=by,
            code="E-FLEET-047",
        )
    keys = [key for key in CELL if key != by and key not in DROPPED.get(by, ())]
    a, b = map(quoted, sides)
    names = ", ".join(f'"{key}"' for key in keys)
    form = _BY_CAMPAIGN if by == CAMPAIGN else _BY_COLUMN
    chosen = form.format(by=by, a=a, b=b)
    connection.register("asked_precision", asked)
    connection.execute(_SIDES.format(keys=names, chosen=chosen, good=GOOD))
    connection.unregister("asked_precision")
    found = connection.execute(_MOMENTS.format(keys=names)).df()
    if found.empty:
        raise NetlabError(
            f"no cell has valid runs of {by} {sides[0]} and of {by} {sides[1]}", code="E-FLEET-048"
        )
    return _with_verdicts(found, keys, confidence, same_within_percent)


def _with_verdicts(
    found: pd.DataFrame, keys: list[str], confidence: float, same_within_percent: float
) -> pd.DataFrame:
    """Add ratios with simultaneous intervals (Bonferroni) and verdicts (Holm)."""
    paired = found["rounds"].to_numpy() >= COMMON_ROUNDS
    few = found[["n_a", "n_b"]].min(axis=1).to_numpy() < COMMON_ROUNDS
    centre, error, degrees = _moments(found, paired)
    cell_level = bonferroni(confidence, len(found))
    half = cells.t_quantile(degrees, 0.5 + cell_level / 2) * error
    half = np.where(few, np.nan, half)
    with np.errstate(over="ignore"):
        low, high = np.exp(centre - half), np.exp(centre + half)
    p_values = [
        math.nan if skip else p_value(*each)
        for skip, *each in zip(few, centre, error, degrees, strict=True)
    ]
    adjusted = holm(p_values)
    halves = np.column_stack([_half_percent(found, side) for side in "ab"])
    unranked = [
        TOO_FEW if skip else imprecise(half, asked)
        for skip, half, asked in zip(few, halves, _asked(found), strict=True)
    ]
    words = [
        CANNOT_TELL if why else decide(Ratio(*ends), p, 1 - confidence, same_within_percent)
        for *ends, p, why in zip(np.exp(centre), low, high, adjusted, unranked, strict=True)
    ]
    figures = found.assign(
        ratio=np.exp(centre),
        low=low,
        high=high,
        p_holm=adjusted,
        verdict=words,
        ranked=[not reason for reason in unranked],
        reason=[
            why or ("the interval is too wide" if word == CANNOT_TELL else "")
            for why, word in zip(unranked, words, strict=True)
        ],
        paired=paired,
        a_MBps=np.exp(found["centre_a"]),
        b_MBps=np.exp(found["centre_b"]),
        a_half_percent=halves[:, 0],
        b_half_percent=halves[:, 1],
    )
    return figures[[*keys, *FIGURES]]


def _half_percent(found: pd.DataFrame, side: str) -> np.ndarray:
    """Half the width of the interval of a side's cell, per cent of its mean; NaN for too few."""
    n = found[f"n_{side}"].to_numpy(float)
    level = found[f"level_{side}"].fillna(NO_STUDY_LEVEL).to_numpy(float)
    deviation = np.sqrt(found[f"variance_{side}"].to_numpy(float))
    half = cells.t_quantile(np.maximum(n - 1, 1), 0.5 + level / 2) * deviation / np.sqrt(n)
    with np.errstate(over="ignore"):
        return np.where(n < LEAST, np.nan, 100 * np.sinh(half))


def _asked(found: pd.DataFrame) -> list[list[Asked]]:
    """Precision of both sides of each cell."""
    sides = (found[f"half_percent_{side}"].astype(float) for side in "ab")
    return [
        [Asked(half_width_percent=None if math.isnan(half) else half) for half in pair]
        for pair in zip(*sides, strict=True)
    ]


def _moments(found: pd.DataFrame, paired: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Logarithm of each ratio, its standard error, and degrees of freedom."""
    rounds = np.maximum(found["rounds"].to_numpy(float), 1)
    n = found[["n_a", "n_b"]].to_numpy(float)
    parts = found[["variance_a", "variance_b"]].to_numpy(float) / n
    total = parts.sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        welch = total**2 / (parts**2 / (n - 1)).sum(axis=1)
    welch = np.where(total > 0, welch, 1.0)
    difference = (found["centre_b"] - found["centre_a"]).to_numpy(float)
    centre = np.where(paired, found["step"].to_numpy(float), difference)
    within = found["step_sd"].to_numpy(float) / np.sqrt(rounds)
    error = np.where(paired, within, np.sqrt(total))
    return centre, error, np.where(paired, np.maximum(rounds - 1, 1), welch)
