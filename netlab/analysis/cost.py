"""CPU time that a byte of payload costs: all cores of the machines over the goodput."""

from __future__ import annotations

import json
from collections.abc import Mapping

import numpy as np
import pandas as pd

from netlab.analysis.cells import CELL_KEYS, valid
from netlab.measure.machines import one_machine
from netlab.study import Study

COLUMNS = (*CELL_KEYS, "cpu_s_per_GB", "low", "high", "n")


def cpu_cost(runs: pd.DataFrame, study: Study) -> pd.DataFrame:
    """CPU time of the machines at both ends for every GB of payload, cell by cell.

    It is the busy time of all cores in the window, the kernel's included, so other work of a
    machine counts too. A machine with both ends is counted once.
    """
    good = valid(runs)
    good = good[good["goodput_MBps"] > 0]
    facts = {text: _facts(text) for text in good["provenance"].unique()}
    busy = [_busy_cores(row, facts[row["provenance"]], study) for row in good.to_dict("records")]
    cost = np.asarray(busy, dtype=float) / (good["goodput_MBps"].astype(float) / 1e3)
    known = good.assign(cost=cost)[lambda frame: frame["cost"].notna()]
    rows = [
        (*key, part.median(), part.min(), part.max(), len(part))
        for key, part in known.groupby(list(CELL_KEYS), sort=False)["cost"]
    ]
    return pd.DataFrame.from_records(rows, columns=list(COLUMNS))


def _facts(provenance: str) -> dict[str, dict]:
    """Facts of each host."""
    return json.loads(provenance or "{}").get("hosts") or {}


def _busy_cores(row: Mapping, facts: Mapping[str, Mapping], study: Study) -> float:
    """Cores that were busy in the window, at both ends together; NaN if unknown."""
    ends = [("sender", row["sender"])]
    if not (study.in_lab(row["path"]) or one_machine(facts)):
        ends.append(("receiver", row["receiver"]))
    cores = 0.0
    for end, host in ends:
        share, cpus = row[f"{end}_cpu_percent"], facts.get(host, {}).get("cpus")
        if pd.isna(share) or not cpus:
            return float("nan")
        cores += float(share) / 100 * cpus
    return cores
