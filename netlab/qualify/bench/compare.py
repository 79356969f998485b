"""Turn samples of a benchmark into medians, ratios and verdicts, ``no conclusion`` included."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd

from netlab.analysis.effects import COMMON_ROUNDS, paired_ratio
from netlab.errors import BadInput
from netlab.measure.flags import LIMITS
from netlab.qualify.bench.contenders import GENSINK, OWN

CELL = ("mode", "offloads", "mtu_B", "streams")
BEST_PEER = "best peer"
"""Name for the peer with the highest median of a cell."""

FASTER, SLOWER, NO_CONCLUSION = "faster", "slower", "no conclusion"

MEDIAN_COLUMNS = (
    *CELL,
    *("contender", "variant", "n", "failed", "goodput_MBps", "least_MBps", "most_MBps"),
    *("cpu_s_per_GB", "steal_percent", "foreign_percent"),
    *("percent_of_hot_copy", "percent_of_cold_copy"),
)
RATIO_COLUMNS = (
    *CELL,
    *("other", "against", "pairs", "ratio", "low", "high", "noise_percent", "verdict", "reason"),
    *("cpu_ratio", "cpu_low", "cpu_high"),
)


@dataclass(frozen=True)
class ComparisonRule:
    """Parameters of the comparison of samples.

    Parameters
    ----------
    confidence : float
        Level of the intervals of ratios.
    """

    confidence: float = 0.95

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
        """One row a cell and contender.

        Parameters
        ----------
        samples : DataFrame
            Samples of :meth:`netlab.qualify.bench.path.BenchPath.take`.
        hot_MBps, cold_MBps : float
            Memory copy rates of all cores, for goodput in per cent of them.

        Returns
        -------
        DataFrame
            :data:`MEDIAN_COLUMNS`; medians over successful rounds with the least and the most of
            them, NaN without one.
        """
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
        logarithms.

        Returns
        -------
        DataFrame
            :data:`RATIO_COLUMNS`, one row a cell and other contender. One row of a cell has
            ``other`` = :data:`BEST_PEER`, with its name in ``against``: a tool, never netlab's own
            engine ``plain``. ``noise_percent`` is the standard deviation of the ratio between
            rounds.
        """
        rows = []
        for key, part in samples.groupby(list(CELL), sort=False):
            cell = dict(zip(CELL, key, strict=True))
            by_name = {
                name: some[some["goodput_MBps"].notna()].set_index("round")
                for name, some in part.groupby("contender", sort=False)
            }
            own = by_name.pop(GENSINK, None)
            if own is None:
                continue
            compared = {name: self._pair(own, other) for name, other in sorted(by_name.items())}
            rows += [
                cell | {"other": name, "against": name} | row for name, row in compared.items()
            ]
            peers = {name: other for name, other in by_name.items() if name not in OWN}
            known = {name: peer["goodput_MBps"].median() for name, peer in peers.items()}
            known = {name: median for name, median in known.items() if not math.isnan(median)}
            if known:
                best = max(known, key=known.__getitem__)
                rows.append(cell | {"other": BEST_PEER, "against": best} | compared[best])
        return pd.DataFrame.from_records(rows, columns=list(RATIO_COLUMNS))

    def _pair(self, own: pd.DataFrame, peer: pd.DataFrame) -> dict:
        rounds = own.index.intersection(peer.index)
        own, peer = own.loc[rounds], peer.loc[rounds]
        ratio, low, high = self._ratio(own, peer, "goodput_MBps")
        ours, theirs = (f["goodput_MBps"].to_numpy(dtype=float) for f in (own, peer))
        noise = float(np.std(np.log(ours / theirs), ddof=1)) if len(rounds) > 1 else math.nan
        cpu = self._ratio(own, peer, "cpu_s_per_GB")
        disturbed = _disturbed(own).to_numpy() | _disturbed(peer).to_numpy()
        verdict, reason = _verdict(ratio, low, high, noise, disturbed)
        return {
            "pairs": len(rounds),
            "ratio": ratio,
            "low": low,
            "high": high,
            "noise_percent": 100 * math.expm1(noise),
            "verdict": verdict,
            "reason": reason,
            **dict(zip(("cpu_ratio", "cpu_low", "cpu_high"), cpu, strict=True)),
        }

    def _ratio(
        self, own: pd.DataFrame, peer: pd.DataFrame, column: str
    ) -> tuple[float, float, float]:
        """Mean ratio within a round of a column, peer to own, and its interval."""
        ours, theirs = (f[column].astype(float) for f in (own, peer))
        good = (ours > 0) & (theirs > 0)
        if not good.any():
            return math.nan, math.nan, math.nan
        found = paired_ratio(theirs[good], ours[good], self.confidence)
        return found.ratio, found.low, found.high


def _disturbed(samples: pd.DataFrame) -> pd.Series:
    """Mask of the samples disturbed by steal or foreign load."""
    steal = samples["steal_percent"].astype(float) > LIMITS.steal_percent
    return steal | (samples["foreign_percent"].astype(float) > LIMITS.foreign_cpu_percent)


def _verdict(
    ratio: float, low: float, high: float, noise: float, disturbed: np.ndarray
) -> tuple[str, str]:
    """The verdict of a cell, and the reason if there is no conclusion."""
    if len(disturbed) < COMMON_ROUNDS:
        return NO_CONCLUSION, f"{len(disturbed)} rounds in common, {COMMON_ROUNDS} needed"
    if 2 * disturbed.sum() > len(disturbed):
        return NO_CONCLUSION, f"steal or foreign load in {disturbed.sum()} of {len(disturbed)}"
    if low <= 1 <= high:
        return NO_CONCLUSION, "the interval holds 1"
    if abs(math.log(ratio)) < noise:
        return NO_CONCLUSION, "the rounds differ by more than the contenders"
    return (FASTER if ratio > 1 else SLOWER), ""


def summary(ratios: pd.DataFrame) -> pd.DataFrame:
    """Compare gensink with the best peer over all cells of a mode.

    Returns
    -------
    DataFrame
        ``mode cells median_ratio lowest_ratio highest_ratio median_cpu_ratio faster slower
        no_conclusion``.
    """
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
                "no_conclusion": int(counts.get(NO_CONCLUSION, 0)),
            }
        )
    return pd.DataFrame.from_records(rows)
