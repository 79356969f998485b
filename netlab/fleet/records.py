"""The runs of many stores: cells, quantiles of samples and comparisons."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from netlab import study as studies
from netlab.analysis.cell_precision import nominal_level
from netlab.analysis.cells import (
    CELL_COLUMNS,
    CELL_KEYS,
    FURTHER_COLUMNS,
    LEVELS,
    Cells,
    usable,
    valid,
)
from netlab.analysis.compare import FIGURES, SAME_WITHIN_PERCENT, Asked, compare_pairs
from netlab.errors import BadInput, NetlabError, check, require
from netlab.results import campaign_files
from netlab.results.store import Store

STORE_KEYS = ("study", "source", "sender", "receiver")
"""Columns that say where a cell is from: stores are never pooled."""

KEYS = (*STORE_KEYS, *CELL_KEYS)
READ = {*KEYS, *CELL_COLUMNS, *FURTHER_COLUMNS} - {"source"}
READ |= {"path", "direction", "campaign", "round", "sent_MBps", "sustained_MBps"}
"""Columns of runs that are read."""

QUANTILES = {"p01_MBps": 0.01, "p25_MBps": 0.25, "median_MBps": 0.5, "p75_MBps": 0.75}
QUANTILES |= {"p99_MBps": 0.99}

NO_STUDY_LEVEL = 0.95
"""Level of the intervals of results without a study."""

CAMPAIGN = "campaign"
FIRST, LATEST = "first", "latest"
"""Campaigns of each store by their age, in place of an id."""

COMPARED = (*dict.fromkeys((*STORE_KEYS, "group", *LEVELS)),)
DROPPED = {"study": {"study", "source"}, "source": {"source"}}
"""Columns besides the compared one that differ with it."""

COMPARABLE = ("campaign", "study", "source", "tuning", "mtu_B", "streams", "group", "factors")


def stores_below(directories: Iterable[Path]) -> Stores:
    paths: dict[Path, None] = {}
    for directory in directories:
        stores = sorted({file.parents[1] for file in directory.resolve().glob("**/runs/*.parquet")})
        if not stores:
            text = "has no results of a study, and none below it"
            raise BadInput(text, where=str(directory), code="E-FLEET-042")
        paths |= dict.fromkeys(stores)
    return Stores(tuple(map(Store, paths)))


@dataclass(frozen=True)
class Stores:
    """Results of many studies, pairs or campaigns; they are only read, one store at a time."""

    stores: tuple[Store, ...]

    def _runs(
        self, study: str | None, campaigns: tuple[str, ...] = (LATEST,)
    ) -> Iterator[tuple[Store, str, str | None, pd.DataFrame]]:
        """Runs that count in campaigns of each store: store, name and id of the campaign, runs."""
        count, names = 0, set()
        for store in self.stores:
            ids: list[str | None] = [*campaign_files.ids(store.directory)] or [None]
            for name in campaigns:
                campaign = {FIRST: ids[0], LATEST: ids[-1]}.get(name, name)
                if campaign not in ids:
                    continue
                records = store.records(campaign=campaign, only=READ)
                records = records.assign(source=str(store.directory))
                names |= set(records["study"].dropna())
                runs = records[~records["superseded"]].sort_values("order", ignore_index=True)
                if study is not None:
                    runs = runs[runs["study"] == study]
                if len(runs):
                    count += len(runs)
                    yield store, name, campaign, runs.assign(factors=runs["factors"].fillna(""))
        if not count:
            text = f"no run is of this study; there are {', '.join(sorted(names)) or 'none'}"
            raise BadInput(text, key="study", value=study, code="E-FLEET-046")

    def cells(self, study: str | None = None, *, confidence: float = 0.95) -> pd.DataFrame:
        """Cells of a study, or of all, as :class:`netlab.analysis.cells.Cells` of each store."""
        fine, text = 0.5 < confidence < 1, "must lie between 0.5 and 1"
        check(fine, "confidence", confidence, text, "E-FLEET-045")
        frames = []
        for store, _, _, runs in self._runs(study):
            good = valid(runs)
            # only a cell of one run has its interval from samples
            samples = _samples(store, good[~good.duplicated([*KEYS], keep=False)])
            for place, part in runs.groupby([*STORE_KEYS], sort=False):
                cells = Cells(confidence)(part, samples[samples["run_id"].isin(part["run_id"])])
                frames.append(cells.assign(**dict(zip(STORE_KEYS, place, strict=True))))
        ordered = pd.concat(frames).sort_values(["study", "source"], kind="stable")
        further = [name for name in FURTHER_COLUMNS if name in ordered]
        return ordered[[*STORE_KEYS, *CELL_COLUMNS, *further]].reset_index(drop=True)

    def samples(self, study: str | None = None) -> pd.DataFrame:
        """Quantiles of the samples of each cell's valid runs; memory is that of one store.

        Goodput of a run in each sample of its window is the sum over streams and directions.
        """
        none = pd.DataFrame(columns=[*KEYS, "samples", *QUANTILES])
        frames = []
        for store, _, _, runs in self._runs(study):
            good = valid(runs)
            rows = _samples(store, good)
            rows = rows[rows["in_window"] & (rows["interval_s"] > 0)].sort_values("t_s")
            number = rows.groupby(["run_id", "direction", "stream"]).cumcount().rename("number")
            rate_MBps = rows["bytes"] / rows["interval_s"] / 1e6
            rates = rate_MBps.groupby([rows["run_id"], number]).agg(["sum", "count"])
            whole = rates["count"] == rates["count"].groupby("run_id").transform("max")
            places = good.set_index("run_id")[[*KEYS]]
            cells = rates.loc[whole, ["sum"]].join(places).groupby([*KEYS], dropna=False)["sum"]
            if cells.ngroups == 0:  # no run of the store is valid
                continue
            quantiles = cells.quantile(list(QUANTILES.values())).unstack()
            quantiles.columns = pd.Index(QUANTILES)
            quantiles.insert(0, "samples", cells.size())
            frames.append(quantiles.reset_index())
        return pd.concat(frames or [none]).sort_values([*KEYS], ignore_index=True)

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
        of_campaigns = by == CAMPAIGN
        wanted = [*COMPARED, "campaign", "round", "goodput_MBps", "flags", "part", "run_id"]
        frames = []
        for store, name, campaign, runs in self._runs(study, (a, b) if of_campaigns else (LATEST,)):
            level, half_percent = _asked(campaign_files.study_file(store.directory, campaign))
            value = name if of_campaigns else runs[by].astype(str)
            runs = runs[wanted].assign(value=value, level=level, half_percent=half_percent)
            frames.append(runs[runs["value"].isin((a, b))])
        runs = pd.concat(frames, ignore_index=True)
        if of_campaigns:
            # a record that counts on both sides: to compare it with itself says nothing
            runs = runs[~runs.duplicated(["source", "part", "run_id"], keep=False)]
        runs = usable(runs).assign(side=lambda each: np.where(each["value"] == a, "A", "B"))
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
            text = f"no cell has valid runs of {by} {a} and of {by} {b}"
            raise NetlabError(text, code="E-FLEET-048")
        figures = compare_pairs(
            [(one["goodput_MBps"], other["goodput_MBps"]) for one, other in pairs.values()],
            asked=[(_narrowest(one), _narrowest(other)) for one, other in pairs.values()],
            level=confidence,
            same_within_percent=same_within_percent,
        )
        rows = [
            dict(zip(keys, key, strict=True)) | row for key, row in zip(pairs, figures, strict=True)
        ]
        return pd.DataFrame.from_records(rows, columns=[*keys, *FIGURES])


def _asked(file: Path) -> tuple[float, float]:
    """Level and precision that the study of a campaign asks for."""
    if not file.is_file():
        return NO_STUDY_LEVEL, np.nan
    study = studies.load_stored(file)
    half = np.nan if study.precision is None else study.precision.half_width_percent
    return nominal_level(study), half


def _narrowest(side: pd.DataFrame) -> Asked:
    half = side["half_percent"].min()
    return Asked(side["level"].max(), None if pd.isna(half) else float(half))


def _samples(store: Store, runs: pd.DataFrame) -> pd.DataFrame:
    parts = [store.part("intervals", "")]
    for part, some in runs.groupby("part"):
        rows = store.part("intervals", str(part))
        parts.append(rows[rows["run_id"].isin(some["run_id"])])
    return pd.concat(parts[1:] or parts, ignore_index=True)
