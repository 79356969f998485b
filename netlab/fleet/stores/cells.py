"""Cells of many stores, with the intervals that a single store gives, and their samples.

DuckDB reduces runs to moments of logarithms, and samples to quantiles; Student's t and what is
shown are made of the small frames that remain.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from netlab.analysis import student
from netlab.analysis.cells import (
    BROKEN,
    CELL_COLUMNS,
    CELL_KEYS,
    FROM_BATCHES,
    FROM_NOTHING,
    FROM_ROUNDS,
    batch_interval,
    flags_in,
    missing_reason,
)
from netlab.analysis.intervals import LEAST
from netlab.errors import BadInput
from netlab.fleet.stores.database import files_of, quoted

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

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
    quantile = student.quantile(np.maximum(n - 1, 1).astype(float), 0.5 + confidence / 2)
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
