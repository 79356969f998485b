"""Outlying hosts of a fleet: those whose links are all slower, or all faster, than others'.

A host is tested as a sender and as a receiver. Medians take out the contribution of its partners,
so that the partners of a slow host are not named in its place. The rank-sum test of H. B. Mann and
D. R. Whitney (1947) then compares its links with those of the other hosts; it asks nothing of the
distribution of the noise. The most extreme host is named and excluded, and the others are compared
again. Each test allows for the number of hosts and for both roles.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

LEAST_PARTNERS = 4
"""Least number of links of a host that is tested."""
LEAST_PERCENT = 2.0
"""A smaller difference is not named, however certain it is."""
LEVEL = 0.02
"""Nominal share of fleets without such a host in which one is named. The medians cost something:
5 % of simulated fleets at most (tests/fleet/slow/test_outliers.py)."""
SWEEPS = 5
COLUMNS = ["host", "role", "links", "share", "p"]


def outlying_hosts(links: pd.DataFrame) -> pd.DataFrame:
    """Name the hosts whose links are slower or faster than those of others."""
    if links.empty:
        return pd.DataFrame(columns=COLUMNS)
    names = sorted({*links["sender"], *links["receiver"]})
    at = {name: position for position, name in enumerate(names)}
    logs = np.full((len(names), len(names)), np.nan)
    logs[links["sender"].map(at), links["receiver"].map(at)] = np.log(links["share"])
    sends, receives = _polished(logs)
    outliers = [
        {"host": names[host], "role": role, "links": count, "share": share, "p": p}
        for role, rows in (("sends", logs - receives), ("receives", (logs - sends[:, None]).T))
        for host, count, share, p in _outlying(rows)
        if abs(share - 1) >= LEAST_PERCENT / 100
    ]
    return pd.DataFrame(outliers, columns=COLUMNS).sort_values("share", ignore_index=True)


def _polished(logs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Contributions of rows and columns by median polish (J. W. Tukey, 1977), around 0."""
    rest = logs.copy()
    sums = [np.zeros(len(logs)), np.zeros(len(logs))]
    for _ in range(SWEEPS):
        for axis in (1, 0):
            medians = _medians(rest, axis)
            sums[1 - axis] += medians
            rest -= np.expand_dims(medians, axis)
    return sums[0] - np.median(sums[0]), sums[1] - np.median(sums[1])


def _medians(values: np.ndarray, axis: int) -> np.ndarray:
    """Medians without NaN; 0 of a row that has no value. numpy's take ten times as long."""
    ordered = np.sort(values, axis=axis)  # NaN last
    count = np.isfinite(values).sum(axis=axis, keepdims=True)
    last = np.maximum(count - 1, 0)
    middle = [np.take_along_axis(ordered, at, axis) for at in (last // 2, (last + 1) // 2)]
    return np.where(count > 0, (middle[0] + middle[1]) / 2, 0.0).squeeze(axis)


def _outlying(rows: np.ndarray) -> list[tuple[int, int, float, float]]:
    """Row, number of its values, its median over that of the others, corrected p."""
    counts = np.isfinite(rows).sum(axis=1)
    left = np.flatnonzero(counts >= LEAST_PARTNERS)
    outliers = []
    while len(left) > 2:
        p = np.minimum(1.0, 2 * len(left) * _rank_sum_p(rows[left]))
        first = int(np.argmin(p))
        if p[first] > LEVEL:
            break
        host = int(left[first])
        left = np.delete(left, first)
        share = float(np.exp(np.nanmedian(rows[host]) - np.nanmedian(rows[left])))
        outliers.append((host, int(counts[host]), share, float(p[first])))
    return outliers


def _rank_sum_p(rows: np.ndarray) -> np.ndarray:
    """Two-sided p of each row against all others, by the normal approximation."""
    # scipy.stats: 0.5 s, which only hosts with enough links need
    from scipy.special import ndtr
    from scipy.stats import rankdata

    finite = np.isfinite(rows)
    ranks = np.zeros(rows.shape)
    ranks[finite] = rankdata(rows[finite])
    count = finite.sum(axis=1)
    others = count.sum() - count
    surplus = ranks.sum(axis=1) - count * (count + 1) / 2 - count * others / 2
    z = surplus / np.sqrt(count * others * (count + others + 1) / 12)
    return 2 * ndtr(-np.abs(z))
