"""Medians, ratios and verdicts of the runs of a benchmark.

The verdicts follow the rules of :mod:`netlab.analysis.compare`. A family is all pairs of a cell
and a tool in one mode: intervals are simultaneous (Bonferroni) and differences tested by Holm's
steps over all of them, so that the best peer of a cell can be chosen after the measurement.
netlab's own engine ``plain`` is a family of its own in each mode. Rounds in which either transfer
was flagged for interference, such as steal or foreign load, are left out.
"""

from __future__ import annotations

import json
import math
from collections import defaultdict

import numpy as np
import pandas as pd

from netlab.analysis.compare import SAME_WITHIN_PERCENT, bonferroni, compare_pairs
from netlab.analysis.effects import NO_INTERVAL, VERDICTS, paired_ratio
from netlab.analysis.intervals import LEAST_ROUNDS
from netlab.files.recorded_facts import provenance_of
from netlab.lab.pair import RECEIVER
from netlab.qualify.bench import CELL, GENSINK, OFFLOADS, OWN_CONTENDERS
from netlab.results.flags import Flag, split_flags

BEST_PEER = "best peer"
"""Name for the peer with the highest median of a cell."""

MEDIAN_COLUMNS = (
    *CELL,
    *("contender", "variant", "n", "failed", "goodput_MBps", "least_MBps", "most_MBps"),
    *("cpu_s_per_GB", "steal_percent", "foreign_percent"),
)
RATIO_COLUMNS = (
    *CELL,
    *("other", "against", "pairs", "disturbed", "ratio", "low", "high", "p_holm"),
    *("noise_percent", "verdict", "reason"),
    *("cpu_ratio", "cpu_low", "cpu_high"),
)

CONFIDENCE = 0.95
"""Level at which all intervals of a family hold at once."""


def samples_of(runs: pd.DataFrame) -> pd.DataFrame:
    """The runs of a store by contender, mode and variant, which the name of their group has.

    A run with a flag other than that of interference failed, and has no goodput.
    """
    named = runs["group"].str.split(" ", n=2, expand=True)
    failed = runs["flags"].map(lambda flags: bool({*split_flags(flags)} - {Flag.INTERFERENCE}))
    goodput_MBps = runs["goodput_MBps"].mask(failed)
    hosts = [provenance_of(text)["hosts"] for text in runs["provenance"]]
    cpus = np.array([facts[RECEIVER]["cpus"] or math.nan for facts in hosts], dtype=float)
    # both ends are on one machine, whose busy time counts
    busy_cores = runs["receiver_cpu_percent"] / 100 * cpus
    return pd.DataFrame(
        {
            "mode": named[1],
            "offloads": [OFFLOADS[json.loads(text)["offloads"]] for text in runs["factors"]],
            **{name: runs[name] for name in ("mtu_B", "streams", "round", "flags")},
            "contender": named[0],
            "variant": named[2],
            "goodput_MBps": goodput_MBps,
            "cpu_s_per_GB": 1e3 * busy_cores / goodput_MBps,
            "steal_percent": runs["steal_percent"],
            "foreign_percent": runs["foreign_cpu_percent"],
            "error": runs["message"].where(failed, ""),
        }
    )


def medians(samples: pd.DataFrame) -> pd.DataFrame:
    rate, *others = "goodput_MBps", "cpu_s_per_GB", "steal_percent", "foreign_percent"
    frame = samples.astype(dict.fromkeys((rate, *others), float))
    frame.loc[frame[rate].isna(), others] = math.nan
    found = frame.groupby([*CELL, "contender"], sort=False, as_index=False).agg(
        variant=("variant", "first"),
        n=(rate, "count"),
        transfers=(rate, "size"),
        goodput_MBps=(rate, "median"),
        least_MBps=(rate, "min"),
        most_MBps=(rate, "max"),
        **{name: (name, "median") for name in others},
    )
    found["failed"] = found["transfers"] - found["n"]
    return found[list(MEDIAN_COLUMNS)]


def ratios(samples: pd.DataFrame) -> pd.DataFrame:
    """Compare gensink with every other contender, and with the best peer, in every cell.

    Transfers of the same round are compared, so that a slow drift of the machine cancels. The
    ratio is the geometric mean of the ratios within a round, with Student's interval on their
    logarithms, simultaneous over the family.
    """
    families: dict[tuple[str, bool], list[tuple]] = defaultdict(list)
    rows: list[tuple[dict, str]] = []
    for key, part in samples.groupby([*CELL], sort=False):
        sides = {name: side.set_index("round") for name, side in part.groupby("contender")}
        own = sides.pop(GENSINK, None)
        peers = []
        for name, other in sides.items() if own is not None else ():
            row = {**dict(zip(CELL, key, strict=True)), "against": name}
            pair = _undisturbed(own, other, row)
            rows.append((row, name))
            if row["pairs"]:
                families[key[0], name in OWN_CONTENDERS].append((row, *pair))
            median_MBps = other["goodput_MBps"].astype(float).median()
            if name not in OWN_CONTENDERS and median_MBps > 0:
                peers.append((median_MBps, row))
        if peers:
            rows.append((max(peers, key=lambda peer: peer[0])[1], BEST_PEER))
    for family in families.values():
        figures = compare_pairs(
            [(other["goodput_MBps"], own["goodput_MBps"]) for _, own, other in family],
            level=CONFIDENCE,
            same_within_percent=SAME_WITHIN_PERCENT,
        )
        level = bonferroni(CONFIDENCE, len(family))
        for (row, own, other), figure in zip(family, figures, strict=True):
            kept = ["ratio", "low", "high", "p_holm", "verdict"]
            kept += ["reason"] if len(own) >= LEAST_ROUNDS else []
            logs = np.log((own / other)["goodput_MBps"])
            row |= {name: figure[name] for name in kept} | _cpu(own, other, level)
            row["noise_percent"] = 100 * math.expm1(logs.std())
    return pd.DataFrame.from_records(
        [row | {"other": name} for row, name in rows], columns=list(RATIO_COLUMNS)
    )


def _undisturbed(
    own: pd.DataFrame, other: pd.DataFrame, row: dict
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Both sides in the undisturbed rounds that both have; the row gets their numbers."""
    good = [side[side["goodput_MBps"].notna()] for side in (own, other)]
    common = good[0].index.intersection(good[1].index)
    own, other = (side.loc[common] for side in good)
    load = pd.concat([side["flags"].str.split(",") for side in (own, other)], axis=1)
    disturbed = load.map(lambda flags: Flag.INTERFERENCE in flags).any(axis=1)
    columns = ["goodput_MBps", "cpu_s_per_GB"]
    own, other = (side.loc[~disturbed, columns].astype(float) for side in (own, other))
    reason = f"{len(own)} undisturbed rounds in common, {LEAST_ROUNDS} needed"
    if disturbed.any():
        reason += f" (steal or foreign load in {disturbed.sum()})"
    row |= {"pairs": len(own), "disturbed": int(disturbed.sum())}
    row |= {"verdict": NO_INTERVAL, "reason": reason}
    return own, other


def _cpu(own: pd.DataFrame, other: pd.DataFrame, level: float) -> dict:
    """Ratio of the CPU time for a byte, with an interval unless the rounds are too few."""
    mine, others = own["cpu_s_per_GB"], other["cpu_s_per_GB"]
    good = (mine > 0) & (others > 0)
    if not good.any():
        return {}
    found = paired_ratio(others[good], mine[good], level)
    interval = {"cpu_low": found.low, "cpu_high": found.high}
    return {"cpu_ratio": found.ratio} | (interval if good.sum() >= LEAST_ROUNDS else {})


def summary(ratios: pd.DataFrame) -> pd.DataFrame:
    by_mode = ratios[ratios["other"] == BEST_PEER].groupby("mode", sort=False)
    found = by_mode.agg(
        cells=("ratio", "size"),
        median_ratio=("ratio", "median"),
        lowest_ratio=("ratio", "min"),
        highest_ratio=("ratio", "max"),
        median_cpu_ratio=("cpu_ratio", "median"),
    )
    for verdict in VERDICTS:
        found[verdict.replace(" ", "_")] = (
            by_mode["verdict"].agg(list).map(lambda verdicts, one=verdict: verdicts.count(one))
        )
    return found.reset_index()
