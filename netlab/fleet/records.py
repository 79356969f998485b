"""The records of many stores as tables of DuckDB, and what is asked of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from netlab import study as studies
from netlab.analysis.cells import nominal_level
from netlab.analysis.compare import SAME_WITHIN_PERCENT
from netlab.errors import BadInput, NetlabError
from netlab.fleet.plan import FleetPlan, pair_id
from netlab.fleet.store_cells import (
    ENDED,
    NO_STUDY_LEVEL,
    cells_of,
    compare_sides,
    database,
    files_of,
    quoted,
    samples_of,
)
from netlab.results import store as results_store
from netlab.results.store import IMPORTED, Store

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


COLUMNS = {
    **dict.fromkeys(("run_id", "study", "campaign", "group", "path", "direction"), "VARCHAR"),
    **dict.fromkeys(("sender", "receiver", "tuning", "factors", "flags"), "VARCHAR"),
    **dict.fromkeys(("table", "mtu_B", "streams", "round", "order"), "BIGINT"),
    **{"started_at": "TIMESTAMPTZ", "goodput_MBps": "DOUBLE", "bus_MBps": "DOUBLE"},
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
    """All stores in and below directories."""
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
        """Cells of a study, or of all."""
        with self.query(study) as connection:
            return cells_of(connection, confidence)

    def samples(self, study: str | None = None) -> pd.DataFrame:
        """Distribution of the interval samples of each cell of a study, or of all."""
        with self.query(study) as connection:
            return samples_of(connection)

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
        """Compare two levels of a column over all cells that have both."""
        with self.query(study) as connection:
            return compare_sides(
                connection,
                by,
                (a, b),
                self.asked,
                confidence=confidence,
                same_within_percent=same_within_percent,
            )

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
