"""CPU time that a byte of payload costs: all cores of the machines over the goodput."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import pandas as pd

from netlab.analysis.cells import CELL_KEYS, usable
from netlab.files.recorded_facts import EndFacts, provenance_of
from netlab.measure.shared_machines import one_machine
from netlab.study import Study
from netlab.study.flows import from_text, has_hosts

COLUMNS = (*CELL_KEYS, "cpu_s_per_GB", "low", "high", "n")
OF_BUSY = (
    *("path", "sender", "receiver", "sender_cpu_percent", "receiver_cpu_percent", "provenance"),
    "flows",
)
"""Columns that the busy time of a run is computed from."""


def cpu_cost(runs: pd.DataFrame, study: Study) -> pd.DataFrame:
    """Busy time of all cores of both machines, other work included, a GB of payload, by cell."""
    good = usable(runs)
    facts = {text: provenance_of(text)["hosts"] for text in good["provenance"].unique()}
    rows = good[list(OF_BUSY)].to_dict("records")
    busy = [_busy_cores(row, facts[row["provenance"]], study) for row in rows]
    cost = np.asarray(busy, dtype=float) / (good["goodput_MBps"].astype(float) / 1e3)
    by_cell = good.assign(cost=cost).dropna(subset="cost").groupby(list(CELL_KEYS), sort=False)
    frame = by_cell["cost"].agg(cpu_s_per_GB="median", low="min", high="max", n="size")
    return frame.reset_index()[list(COLUMNS)]


def _busy_cores(row: Mapping, facts: Mapping[str, EndFacts], study: Study) -> float:
    """Cores that were busy in the window, at both ends together; NaN if unknown."""
    ends = [("sender", row["sender"])]
    if not (study.in_lab(row["path"]) or one_machine(facts)):
        if has_hosts(from_text(row["flows"])):
            return math.nan  # the record has the busiest sender's share alone
        ends.append(("receiver", row["receiver"]))
    cores = 0.0
    for end, host in ends:
        share = row[f"{end}_cpu_percent"]
        cpus = (facts[host]["cpus"] if host in facts else None) or math.nan
        cores += (math.nan if pd.isna(share) else float(share)) / 100 * cpus
    return cores
