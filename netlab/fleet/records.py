"""The runs of many stores, read by DuckDB from their Parquet files: cells and comparisons."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import pandas as pd

from netlab import study as studies
from netlab.analysis.cells import (
    CELL_COLUMNS,
    CELL_KEYS,
    Cells,
    half_width_percent,
    nominal_level,
    valid,
)
from netlab.analysis.compare import (
    CANNOT_TELL,
    FIGURES,
    SAME_WITHIN_PERCENT,
    Asked,
    compare_pairs,
    imprecise,
    usable,
)
from netlab.errors import BadInput, NetlabError, require
from netlab.fleet.plan import FleetPlan, pair_id
from netlab.results import store as results_store
from netlab.results.columns import BROKEN
from netlab.results.store import IMPORTED, Store

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
    return "'" + text.replace("'", "''") + "'"


def files_of(paths: list[str]) -> str:
    return "[" + ", ".join(quoted(path) for path in paths) + "]"


# The records that count, as in :class:`netlab.results.Store`.

STORE_KEYS = ("study", "source", "sender", "receiver")
"""Columns that say where a cell is from: stores are never pooled."""

KEYS = (*STORE_KEYS, *CELL_KEYS)
_QUOTED = ", ".join(f'"{key}"' for key in KEYS)

GOOD = "coalesce(flags, '') = '' AND goodput_MBps IS NOT NULL AND isfinite(goodput_MBps)"
"""A valid run, as :func:`netlab.analysis.cells.valid` has it."""

ENDED = (
    "isfinite(coalesce(goodput_MBps, sent_MBps)) IS TRUE AND NOT "
    f"list_has_any(string_split(coalesce(flags, ''), ','), {sorted(BROKEN)})"
)
"""A run that ended, as :func:`netlab.analysis.cells.ended` has it."""

COLUMNS = {
    **dict.fromkeys(("run_id", "study", "campaign", "group", "path", "direction"), "VARCHAR"),
    **dict.fromkeys(("sender", "receiver", "tuning", "factors", "flags"), "VARCHAR"),
    **dict.fromkeys(("table", "mtu_B", "streams", "round", "order"), "BIGINT"),
    **{"started_at": "TIMESTAMPTZ", "goodput_MBps": "DOUBLE", "bus_MBps": "DOUBLE"},
    "sent_MBps": "DOUBLE",
}
"""Columns of the runs that the queries need; a file of an older version may lack some."""

_ABSENT = ", ".join(f'NULL::{kind} AS "{name}"' for name, kind in COLUMNS.items())
_PRESENT = ", ".join(
    "coalesce(factors, '') AS factors" if name == "factors" else f'"{name}"' for name in COLUMNS
)
_RUNS = f"""
CREATE TEMP TABLE all_runs AS
SELECT {_PRESENT}, source, part, samples, file_row_number, row_number() OVER () AS record
FROM (
  SELECT {_ABSENT} WHERE false
  UNION ALL BY NAME
  SELECT * FROM read_parquet({{files}}, union_by_name = true, hive_partitioning = false,
    filename = 'file', file_row_number = true)
) JOIN store_parts USING (file) {{condition}}
"""
_STUDIES = """
SELECT DISTINCT study FROM read_parquet({files}, union_by_name = true, hive_partitioning = false)
ORDER BY study
"""
_COUNTING = f"""
CREATE TEMP TABLE standing AS
SELECT record, source, campaigns.campaign, latest FROM all_runs AS runs
JOIN store_campaigns AS campaigns USING (source)
LEFT JOIN adopted_runs AS adopted ON adopted.source = runs.source
  AND adopted.campaign = campaigns.campaign AND adopted.part = runs.part
  AND adopted.run_id = runs.run_id
WHERE campaigns.campaign = '' OR split_part(runs.part, '~', 1) = campaigns.campaign
  OR starts_with(runs.part, {quoted(IMPORTED)}) OR adopted.run_id IS NOT NULL
QUALIFY row_number() OVER (
  PARTITION BY source, campaigns.campaign, runs.run_id
  ORDER BY ({ENDED}) DESC, started_at DESC, "order" DESC, runs.part DESC, file_row_number DESC
) = 1;
CREATE TEMP VIEW standing_runs AS
SELECT all_runs.* FROM all_runs JOIN standing USING (record) WHERE standing.latest
"""
"""The record of a run that counts in each campaign, as in :class:`netlab.results.Store`."""


def stores_below(directories: Iterable[Path]) -> Stores:
    paths: dict[Path, None] = {}
    for directory in directories:
        found = sorted({file.parents[1] for file in directory.resolve().glob("**/runs/*.parquet")})
        if not found:
            raise BadInput(
                "has no results of a study, and none below it",
                where=str(directory),
                code="E-FLEET-042",
            )
        paths |= dict.fromkeys(found)
    return Stores(tuple(map(Store, paths)))


QUANTILES = {"p01_MBps": 0.01, "p25_MBps": 0.25, "median_MBps": 0.5, "p75_MBps": 0.75}
QUANTILES |= {"p99_MBps": 0.99}

_SAMPLES = """
FROM read_parquet({files}, union_by_name = true, hive_partitioning = false, filename = 'samples')
JOIN wanted USING (samples, run_id)
"""
_WANTED = f"""
CREATE OR REPLACE TEMP TABLE wanted AS
SELECT record, run_id, samples, dense_rank() OVER (ORDER BY {_QUOTED}) AS cell, {_QUOTED}
FROM standing_runs WHERE {GOOD} AND study = {{study}}
"""
_QUANTILES = f"""
WITH rates AS (
  SELECT record, any_value(cell) AS cell, sum(rate_MBps) AS rate_MBps FROM (
    SELECT record, cell, bytes / interval_s / 1e6 AS rate_MBps,
      row_number() OVER (PARTITION BY record, direction, stream ORDER BY t_s) AS sample
    {_SAMPLES} WHERE in_window AND interval_s > 0
  ) GROUP BY record, sample
  QUALIFY count(*) = max(count(*)) OVER (PARTITION BY record)
), cells AS (
  SELECT cell, count(*) AS samples, quantile_cont(rate_MBps, {list(QUANTILES.values())}) AS q
  FROM rates GROUP BY cell
)
SELECT {_QUOTED}, samples, {", ".join(f"q[{at}] AS {n}" for at, n in enumerate(QUANTILES, 1))}
FROM cells JOIN (SELECT DISTINCT cell, {_QUOTED} FROM wanted) USING (cell) ORDER BY cell
"""
"""Goodput of a run in each sample of its window is the sum over streams and directions."""

# Compare two levels of a column; rounds of different stores are different rounds.

NO_STUDY_LEVEL = 0.95
"""Level of the intervals of results without a study."""

CAMPAIGN = "campaign"
FIRST, LATEST = "first", "latest"
"""Campaigns of each store by their age, in place of an id."""

COMPARED = (*STORE_KEYS, "group", "path", "direction", "tuning", "mtu_B", "streams", "factors")
DROPPED = {"study": {"study", "source"}, "source": {"source"}}
"""Columns besides the compared one that differ with it."""

COMPARABLE = ("campaign", "study", "source", "tuning", "mtu_B", "streams", "group", "factors")

_BY_COLUMN = """
  SELECT runs.*, counts_in, CASE WHEN runs."{by}"::VARCHAR = {a} THEN 'A' ELSE 'B' END AS side
  FROM all_runs AS runs JOIN (
    SELECT record, campaign AS counts_in FROM standing WHERE latest
  ) USING (record) WHERE runs."{by}"::VARCHAR IN ({a}, {b})"""

_BY_CAMPAIGN = """
  SELECT runs.*, counts_in, chosen.side FROM all_runs AS runs JOIN (
    SELECT record, side, campaign AS counts_in FROM (
      SELECT record, campaign, latest,
        campaign = min(campaign) OVER (PARTITION BY source) AS first FROM standing
    ), (VALUES ('A', {a}), ('B', {b})) AS asked(side, name)
    WHERE campaign = name OR (name = 'first' AND first) OR (name = 'latest' AND latest)
    QUALIFY count(*) OVER (PARTITION BY record) = 1
  ) AS chosen USING (record)"""
"""Records that count on both sides are left out: to compare one with itself says nothing."""


@dataclass(frozen=True)
class Stores:
    """Results of many studies, pairs or campaigns; they are only read."""

    stores: tuple[Store, ...]

    @contextmanager
    def query(self, study: str | None = None) -> Iterator[DuckDBPyConnection]:
        """Open a connection with the runs that count, of a study or all: view ``standing_runs``.

        ``all_runs`` also has superseded ones. Columns are :data:`COLUMNS`, ``record`` (a number),
        ``source`` (the store), ``part`` and ``samples`` (its file). ``standing`` has the records of
        each campaign.
        """
        parts = [
            (str(store.directory / "runs" / f"{part}.parquet"), str(store.directory), part)
            for store in self.stores
            for part in store.parts()
        ]
        named = pd.DataFrame(parts, columns=["file", "source", "part"])
        named["samples"] = named["source"] + "/intervals/" + named["part"] + ".parquet"
        condition = "" if study is None else f"WHERE study = {quoted(study)}"
        with database() as connection:
            connection.register("store_parts", named)
            for name, frame in self._campaigns().items():
                connection.register(name, frame)
            files = files_of(list(named["file"]))
            connection.execute(_RUNS.format(files=files, condition=condition))
            if connection.execute("SELECT count(*) FROM all_runs").fetchall() == [(0,)]:
                named_studies = connection.execute(_STUDIES.format(files=files)).fetchall()
                known = ", ".join(name for (name,) in named_studies)
                text = f"no run is of this study; there are {known or 'none'}"
                raise BadInput(text, key="study", value=study, code="E-FLEET-046")
            connection.execute(_COUNTING)
            yield connection

    def _campaigns(self) -> dict[str, pd.DataFrame]:
        """Campaigns of each store, one with an empty name where it has none; what each adopted."""
        in_stores, adopted = [], []
        for store in self.stores:
            source, ids = str(store.directory), results_store.ids(store.directory)
            last = ids[-1] if ids else ""
            in_stores += [(source, campaign, campaign == last) for campaign in ids or [""]]
            adopted += [
                (source, campaign, part, run_id)
                for campaign in ids
                for part, runs in results_store.read_log(store.directory, campaign).adopted.items()
                for run_id in runs
            ]
        keys = ["source", "campaign", "part", "run_id"]
        return {
            "store_campaigns": pd.DataFrame(in_stores, columns=["source", "campaign", "latest"]),
            "adopted_runs": pd.DataFrame(adopted, columns=keys, dtype="string"),
        }

    def cells(self, study: str | None = None, *, confidence: float = 0.95) -> pd.DataFrame:
        """Cells of a study, or of all, as :class:`netlab.analysis.cells.Cells` of each store."""
        if not 0.5 < confidence < 1:
            raise BadInput(
                "must lie between 0.5 and 1", key="confidence", value=confidence, code="E-FLEET-045"
            )
        found = []
        with self.query(study) as connection:
            runs = connection.sql('FROM standing_runs ORDER BY study, source, "order"').df()
            good = valid(runs)
            single = good[~good.duplicated([*KEYS], keep=False)]
            for place, part in runs.groupby([*STORE_KEYS], sort=False):
                # only a cell of one run has its interval from samples
                samples = _intervals(connection, single[single.index.isin(part.index)])
                cells = Cells(confidence)(part, samples)
                found.append(cells.assign(**dict(zip(STORE_KEYS, place, strict=True))))
        return pd.concat(found, ignore_index=True)[[*STORE_KEYS, *CELL_COLUMNS]]

    def samples(self, study: str | None = None) -> pd.DataFrame:
        """Quantiles of the samples of each cell's valid runs; memory is that of one study."""
        found = [pd.DataFrame(columns=[*KEYS, "samples", *QUANTILES])]
        with self.query(study) as connection:
            names = connection.sql("SELECT DISTINCT study FROM standing_runs ORDER BY study")
            for (name,) in names.fetchall():
                connection.execute(_WANTED.format(study=quoted(name)))
                files = connection.sql("SELECT DISTINCT samples FROM wanted ORDER BY 1").fetchall()
                if present := [file for (file,) in files if Path(file).exists()]:
                    found.append(connection.sql(_QUANTILES.format(files=files_of(present))).df())
        return pd.concat(found[1:] or found, ignore_index=True)

    def compare(
        self,
        by: str,
        a: str,
        b: str,
        *,
        study: str | None = None,
        confidence: float = 0.95,
        same_within_percent: float = SAME_WITHIN_PERCENT,
    ) -> pd.DataFrame:
        """Compare two levels of a column over all cells that have both: ratios B / A.

        A cell is held to what the study of its campaign asks for: of a side with several studies
        the narrowest interval at the highest level.
        """
        require(by, COMPARABLE, key="by", code="E-FLEET-047")
        chosen = _BY_CAMPAIGN if by == CAMPAIGN else _BY_COLUMN
        with self.query(study) as connection:
            query = chosen.format(by=by, a=quoted(a), b=quoted(b))
            runs = usable(connection.sql(query).df())
        runs = runs.merge(self.asked, on=["source", "counts_in"], how="left")
        campaign = runs["campaign"].fillna(runs["side"])
        labels = zip(runs["source"], campaign, runs["round"], strict=True)
        runs.index = pd.Index([f"{source}|{one}@{round}" for source, one, round in labels])
        keys = [key for key in COMPARED if key != by and key not in DROPPED.get(by, ())]
        cells = runs[["goodput_MBps", "level", "half_percent"]]
        sides: dict[str, dict[tuple, pd.DataFrame]] = {"A": {}, "B": {}}
        for (side, *key), rows in runs.groupby(["side", *keys]).indices.items():
            sides[side][tuple(key)] = cells.iloc[rows]
        pairs = {
            key: (cell, sides["B"][key]) for key, cell in sides["A"].items() if key in sides["B"]
        }
        if not pairs:
            raise NetlabError(
                f"no cell has valid runs of {by} {a} and of {by} {b}", code="E-FLEET-048"
            )
        figures = compare_pairs(
            [(one["goodput_MBps"], other["goodput_MBps"]) for one, other in pairs.values()],
            level=confidence,
            same_within_percent=same_within_percent,
        )
        rows = [
            dict(zip(keys, key, strict=True)) | _held(row, pair)
            for (key, pair), row in zip(pairs.items(), figures, strict=True)
        ]
        return pd.DataFrame.from_records(rows, columns=[*keys, *FIGURES])

    @cached_property
    def asked(self) -> pd.DataFrame:
        """Level and precision that the study of each campaign of each store asks for."""
        known: dict[bytes, tuple[float, float | None]] = {}  # many stores have the same study
        rows = []
        for store in self.stores:
            for campaign in results_store.ids(store.directory) or [""]:
                file = results_store.study_file(store.directory, campaign or None)
                level: tuple[float, float | None] = (NO_STUDY_LEVEL, None)
                if file.is_file():
                    content = file.read_bytes()
                    level = known.get(content) or _asked(file)
                    known[content] = level
                rows.append((str(store.directory), campaign, *level))
        frame = pd.DataFrame(rows, columns=["source", "counts_in", "level", "half_percent"])
        texts = {"source": "string", "counts_in": "string"}
        return frame.astype(texts | {"level": float, "half_percent": float})


def _asked(file: Path) -> tuple[float, float | None]:
    study = studies.load_stored(file)
    half = None if study.precision is None else study.precision.half_width_percent
    return nominal_level(study), half


def _held(row: dict, pair: tuple[pd.DataFrame, pd.DataFrame]) -> dict:
    """A comparison of two cells, not ranked if one is less precise than its study asks."""
    narrowest = [side["half_percent"].min() for side in pair]
    asked = [
        Asked(side["level"].max(), None if pd.isna(half) else float(half))
        for side, half in zip(pair, narrowest, strict=True)
    ]
    halves = [
        half_width_percent(side["goodput_MBps"].to_numpy(), one.level)
        for side, one in zip(pair, asked, strict=True)
    ]
    row |= {"a_half_percent": halves[0], "b_half_percent": halves[1]}
    if row["ranked"] and (reason := imprecise(halves, asked)):
        row |= {"verdict": CANNOT_TELL, "ranked": False, "reason": reason}
    return row


def _intervals(connection: DuckDBPyConnection, runs: pd.DataFrame) -> pd.DataFrame | None:
    """Interval samples of some runs of a store."""
    files = [file for file in sorted(set(runs["samples"])) if Path(file).exists()]
    if not files:
        return None
    connection.register("wanted", runs[["samples", "run_id"]])
    names = "run_id, direction, stream, t_s, interval_s, bytes, in_window"
    return connection.sql(f"SELECT {names} {_SAMPLES.format(files=files_of(files))}").df()


# Results of all pairs of a fleet in one frame.


def fleet_runs(plan: FleetPlan) -> pd.DataFrame:
    """The runs that count, of every pair of a plan that has any."""
    found = []
    for pair in plan.pairs:
        directory = plan.pair_directory(pair)
        runs = Store(directory).runs() if directory.is_dir() else pd.DataFrame()
        if len(runs):
            found.append(runs.assign(pair=pair_id(pair)))
    if not found:
        raise NetlabError(f"{plan.directory}: no pair has a run yet", code="E-FLEET-037")
    return pd.concat(found, ignore_index=True)
