"""Turn samples of a benchmark into medians, ratios and verdicts.

The verdicts follow the rules of :mod:`netlab.analysis.compare`. A family is all pairs of a cell and
a tool in one mode: intervals are simultaneous (Bonferroni) and differences tested by Holm's steps
over all of them, so that the best peer of a cell can be chosen after the measurement. netlab's own
engine ``plain`` is a family of its own in each mode. Rounds in which either transfer was flagged
for interference, such as steal or foreign load, are left out.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd

from netlab.analysis.compare import (
    CANNOT_TELL,
    FASTER,
    SAME,
    SAME_WITHIN_PERCENT,
    SLOWER,
    bonferroni,
    compare_pairs,
)
from netlab.analysis.effects import COMMON_ROUNDS, paired_ratio
from netlab.errors import BadInput
from netlab.measure.flags import INTERFERENCE
from netlab.qualify.bench.contenders import GENSINK, OWN

CELL = ("mode", "offloads", "mtu_B", "streams")
BEST_PEER = "best peer"
"""Name for the peer with the highest median of a cell."""

MEDIAN_COLUMNS = (
    *CELL,
    *("contender", "variant", "n", "failed", "goodput_MBps", "least_MBps", "most_MBps"),
    *("cpu_s_per_GB", "steal_percent", "foreign_percent"),
    *("percent_of_hot_copy", "percent_of_cold_copy"),
)
RATIO_COLUMNS = (
    *CELL,
    *("other", "against", "pairs", "disturbed", "ratio", "low", "high", "p_holm"),
    *("noise_percent", "verdict", "reason"),
    *("cpu_ratio", "cpu_low", "cpu_high"),
)

_FIGURES, _DISTURBED = ("goodput_MBps", "cpu_s_per_GB"), "disturbed"


@dataclass(frozen=True)
class ComparisonRule:
    """Parameters of the comparison of samples."""

    confidence: float = 0.95
    same_within_percent: float = SAME_WITHIN_PERCENT

    def __post_init__(self) -> None:
        if not 0.5 < self.confidence < 1:
            raise BadInput(
                "lies between 0.5 and 1",
                key="confidence",
                value=self.confidence,
                code="E-BENCH-001",
            )

    def medians(
        self, samples: pd.DataFrame, hot_MBps: float = math.nan, cold_MBps: float = math.nan
    ) -> pd.DataFrame:
        """One row a cell and contender."""
        rows = []
        for key, part in samples.groupby([*CELL, "contender"], sort=False):
            good = part[part["goodput_MBps"].notna()]
            goodput = good["goodput_MBps"].to_numpy(dtype=float)
            median = float(np.median(goodput)) if len(goodput) else math.nan
            rows.append(
                dict(zip((*CELL, "contender"), key, strict=True))
                | {
                    "variant": part["variant"].iloc[0],
                    "n": len(good),
                    "failed": len(part) - len(good),
                    "goodput_MBps": median,
                    "least_MBps": goodput.min() if len(goodput) else math.nan,
                    "most_MBps": goodput.max() if len(goodput) else math.nan,
                    "percent_of_hot_copy": 100 * median / hot_MBps,
                    "percent_of_cold_copy": 100 * median / cold_MBps,
                }
                | {
                    name: float(good[name].astype(float).median())
                    for name in ("cpu_s_per_GB", "steal_percent", "foreign_percent")
                }
            )
        return pd.DataFrame.from_records(rows, columns=list(MEDIAN_COLUMNS))

    def ratios(self, samples: pd.DataFrame) -> pd.DataFrame:
        """Compare gensink with every other contender, and with the best peer, in every cell.

        Transfers of the same round are compared, so that a slow drift of the machine cancels. The
        ratio is the geometric mean of the ratios within a round, with Student's interval on their
        logarithms, simultaneous over the family.
        """
        good = samples[samples["goodput_MBps"].notna()]
        figures = good.set_index("round")[[*_FIGURES]].astype(float)
        figures[_DISTURBED] = _disturbed(good).to_numpy()
        cells: dict[tuple, dict[str, pd.DataFrame]] = {}
        for (*key, name), rows in good.reset_index().groupby([*CELL, "contender"]).indices.items():
            cells.setdefault(tuple(key), {})[name] = figures.iloc[rows]
        compared = self._compared(samples, cells)
        rows = []
        for key, others in compared.items():
            cell = dict(zip(CELL, key, strict=True))
            rows += [cell | {"other": name, "against": name} | row for name, row in others.items()]
            known = {
                name: float(cells[key][name]["goodput_MBps"].median())
                for name in others
                if name not in OWN and name in cells[key]
            }
            if known:
                best = max(known, key=known.__getitem__)
                rows.append(cell | {"other": BEST_PEER, "against": best} | others[best])
        return pd.DataFrame.from_records(rows, columns=list(RATIO_COLUMNS))

    def _compared(
        self, samples: pd.DataFrame, cells: dict[tuple, dict[str, pd.DataFrame]]
    ) -> dict[tuple, dict[str, dict]]:
        """Rows by cell and contender, compared family by family."""
        tried = samples.groupby(list(CELL), sort=False)["contender"].unique()
        found: dict[tuple, dict[str, dict]] = {}
        families: dict[tuple[str, bool], list[tuple[tuple, str, _Pair]]] = {}
        for key, names in tried.items():
            if GENSINK not in names:
                continue
            by_name = cells.get(key, {})
            found[key] = {}
            for name in sorted(set(names) - {GENSINK}):
                pair = _Pair.of(by_name.get(GENSINK), by_name.get(name))
                found[key][name] = pair.without_figures()
                if pair.rounds:
                    families.setdefault((key[0], name in OWN), []).append((key, name, pair))
        for family in families.values():
            rows = self._family([pair for *_, pair in family])
            for (key, name, _), row in zip(family, rows, strict=True):
                found[key][name] |= row
        return found

    def _family(self, pairs: list[_Pair]) -> list[dict]:
        """Figures of each pair of one family."""
        figures = compare_pairs(
            [pair.series("goodput_MBps") for pair in pairs],
            level=self.confidence,
            same_within_percent=self.same_within_percent,
        )
        level = bonferroni(self.confidence, len(pairs))
        rows = []
        for pair, figure in zip(pairs, figures, strict=True):
            row = {name: figure[name] for name in ("ratio", "low", "high", "p_holm", "verdict")}
            reason = {} if pair.too_few else {"reason": figure["reason"]}
            rows.append(row | reason | {"noise_percent": pair.noise_percent()} | pair.cpu(level))
        return rows


@dataclass(frozen=True, eq=False)
class _Pair:
    """Transfers of another contender and of gensink in the undisturbed rounds that both have."""

    other: pd.DataFrame
    own: pd.DataFrame
    disturbed: int

    @classmethod
    def of(cls, own: pd.DataFrame | None, other: pd.DataFrame | None) -> _Pair:
        if own is None or other is None:
            return cls(pd.DataFrame(), pd.DataFrame(), 0)
        common = own.index.intersection(other.index)
        own, other = own.loc[common], other.loc[common]
        disturbed = own[_DISTURBED].to_numpy() | other[_DISTURBED].to_numpy()
        return cls(other[~disturbed], own[~disturbed], int(disturbed.sum()))

    @property
    def rounds(self) -> int:
        return len(self.own)

    @property
    def too_few(self) -> bool:
        return self.rounds < COMMON_ROUNDS

    def series(self, column: str) -> tuple[pd.Series, pd.Series]:
        return self.other[column], self.own[column]

    def noise_percent(self) -> float:
        other, own = (side.to_numpy() for side in self.series("goodput_MBps"))
        logs = np.log(own / other)
        return 100 * math.expm1(float(np.std(logs, ddof=1))) if len(logs) > 1 else math.nan

    def cpu(self, level: float) -> dict:
        """Ratio of the CPU time for a byte, with an interval unless the rounds are too few."""
        other, own = self.series("cpu_s_per_GB")
        good = (own > 0) & (other > 0)
        if not good.any():
            return {}
        found = paired_ratio(other[good], own[good], level)
        if good.sum() < COMMON_ROUNDS:
            return {"cpu_ratio": found.ratio}
        return {"cpu_ratio": found.ratio, "cpu_low": found.low, "cpu_high": found.high}

    def without_figures(self) -> dict:
        """Row of a pair that has no round to compare."""
        figures = ("ratio", "low", "high", "p_holm", "noise_percent")
        reason = f"{self.rounds} undisturbed rounds in common, {COMMON_ROUNDS} needed"
        if self.disturbed:
            reason += f" (steal or foreign load in {self.disturbed})"
        return {
            "pairs": self.rounds,
            "disturbed": self.disturbed,
            **dict.fromkeys((*figures, "cpu_ratio", "cpu_low", "cpu_high"), math.nan),
            "verdict": CANNOT_TELL,
            "reason": reason,
        }


def _disturbed(samples: pd.DataFrame) -> pd.Series:
    """Mask of the samples flagged for interference, such as steal or foreign load."""
    return samples["flags"].map(lambda flags: INTERFERENCE in flags.split(",")).astype(bool)


def summary(ratios: pd.DataFrame) -> pd.DataFrame:
    """Compare gensink with the best peer over all cells of a mode."""
    rows = []
    against = ratios[ratios["other"] == BEST_PEER]
    for mode, part in against.groupby("mode", sort=False):
        counts = part["verdict"].value_counts()
        rows.append(
            {
                "mode": mode,
                "cells": len(part),
                "median_ratio": part["ratio"].median(),
                "lowest_ratio": part["ratio"].min(),
                "highest_ratio": part["ratio"].max(),
                "median_cpu_ratio": part["cpu_ratio"].median(),
                "faster": int(counts.get(FASTER, 0)),
                "slower": int(counts.get(SLOWER, 0)),
                "the_same": int(counts.get(SAME, 0)),
                "cannot_tell": int(counts.get(CANNOT_TELL, 0)),
            }
        )
    return pd.DataFrame.from_records(rows)
