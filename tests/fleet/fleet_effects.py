"""Runs of a fleet from a seed, with known effects of hosts, of one link, and of one direction."""

from __future__ import annotations

import numpy as np
import pandas as pd

SLOW_HOST, SLOW_LINK, ONE_WAY = "h03", ("h05", "h06"), ("h08", "h09")
EFFECTS = {"host": 0.7, "link": 0.5, "way": 0.8}


def fleet_runs(hosts: int, rounds: int, *, seed: int = 2003, noise: float = 0.02) -> pd.DataFrame:
    """Runs of all ordered pairs, two cells each.

    Links of h03 have 70 % of the goodput of others, h05 and h06 50 % both ways, and h08 to h09
    80 % one way.
    """
    generator = np.random.default_rng(seed)
    names = np.array([f"h{number:02}" for number in range(hosts)])
    index = pd.MultiIndex.from_product(
        [names, names, (1, 4), range(1, rounds + 1)],
        names=["sender", "receiver", "streams", "round"],
    )
    runs = index.to_frame(index=False)
    runs = runs[runs["sender"] != runs["receiver"]].reset_index(drop=True)
    ends = runs[["sender", "receiver"]]
    expected = np.where(runs["streams"] == 1, 400.0, 1100.0)
    expected = expected * np.where((ends == SLOW_HOST).any(axis=1), EFFECTS["host"], 1.0)
    expected = expected * np.where(ends.isin(SLOW_LINK).all(axis=1), EFFECTS["link"], 1.0)
    one_way = (runs["sender"] == ONE_WAY[0]) & (runs["receiver"] == ONE_WAY[1])
    expected = expected * np.where(one_way, EFFECTS["way"], 1.0)
    block = "cable@as-found@found@there@"
    return runs.assign(
        goodput_MBps=expected * np.exp(generator.normal(0.0, noise, len(runs))),
        flags="",
        run_id=block + runs["streams"].astype(str) + "@" + runs["round"].astype(str),
    )
