"""Results of all pairs of a fleet in one frame."""

from __future__ import annotations

import pandas as pd

from netlab.errors import NetlabError
from netlab.fleet.plan import FleetPlan, pair_id
from netlab.results import campaign_files
from netlab.results.conditions import left_out
from netlab.results.store import Store


def fleet_runs(plan: FleetPlan) -> pd.DataFrame:
    """The runs that count, of every pair of a plan that has any."""
    frames = []
    for pair in plan.pairs:
        directory = plan.pair_directory(pair)
        runs = Store(directory).runs() if directory.is_dir() else pd.DataFrame()
        if len(runs):
            frames.append(runs.assign(pair=pair_id(pair)))
    if not frames:
        raise NetlabError(f"{plan.directory}: no pair has a run yet", code="E-FLEET-037")
    return pd.concat(frames, ignore_index=True)


def fleet_left_out(plan: FleetPlan) -> tuple[str, ...]:
    """Records of each pair that do not count for their conditions, in words."""
    stores = [(pair_id(pair), Store(plan.pair_directory(pair))) for pair in plan.pairs]
    return tuple(
        f"{pair}: {other}"
        for pair, store in stores
        for other in left_out(store, campaign_files.latest(store.directory))
    )
