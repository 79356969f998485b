"""Results of all pairs of a fleet in one frame."""

from __future__ import annotations

import pandas as pd

from netlab.errors import NetlabError
from netlab.fleet.plan import FleetPlan, pair_id
from netlab.results import Store


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
