"""Measure how far pairs that run at once disturb each other, on a lab of 40 hosts.

    python tests/e2e/fleet/paced_campaign.py --hosts 40 --pacing-MBps 20

As root. Every pair is measured alone, then all pairs at once: a paced stream each way. The figures
of docs/fleet.md come from it.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
from fleet_lab import FleetLab, fleet_lab

from netlab.analysis import cells
from netlab.fleet.plan import read_plan
from netlab.fleet.records import fleet_runs

DEFAULTS = {"hosts": 40, "pacing-MBps": 20, "rounds": 3, "alone-rounds": 1, "alone-pairs": 20}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name, default in DEFAULTS.items():
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--seconds", type=float, default=4.0, help="window of a run")
    given = parser.parse_args()
    with (
        tempfile.TemporaryDirectory() as folder,
        fleet_lab(Path(folder), given.hosts, rounds=1, pacing_MBps=given.pacing_MBps) as lab,
    ):
        ends = zip(lab.names[::2], lab.names[1::2], strict=True)
        pairs = [f"{one}:{other}" for one, other in ends]
        some = pairs[: given.alone_pairs]
        alone = measured(lab, "alone", some, 1, given.alone_rounds, given.seconds)
        beside = measured(lab, "beside", pairs, len(pairs), given.rounds, given.seconds)
    print(sentence(alone, beside))


def measured(
    lab: FleetLab, name: str, pairs: list[str], at_once: int, rounds: int, seconds: float
) -> pd.DataFrame:
    """The runs of some pairs, so many pairs at once."""
    results, began_s = lab.state / name, time.monotonic()
    words = ("--results", str(results), "--pairs", ",".join(pairs), "--at-once", str(at_once))
    words += ("--rounds", str(rounds), "--seconds", str(seconds), "--retry-s", "1")
    _, complaint = lab.run(*words).communicate()
    print(f"{name}: {complaint.splitlines()[-1]} in {time.monotonic() - began_s:.0f} s", flush=True)
    return fleet_runs(read_plan(results))


def sentence(alone: pd.DataFrame, beside: pd.DataFrame) -> str:
    """Ratio of each link beside others to the same alone, with an interval over the links."""
    logs = [np.log(frame.groupby(["sender", "receiver"])["goodput_MBps"].mean())
            for frame in (alone, beside)]  # fmt: skip
    ratio = (logs[1] - logs[0]).dropna()
    half = cells.t_quantile(len(ratio) - 1, 0.975) * ratio.std() / np.sqrt(len(ratio))
    low, mean, high = (100 * np.exp(ratio.mean() + by) for by in (-half, 0.0, half))
    least, most = (100 * np.exp(value) for value in (ratio.min(), ratio.max()))
    others = company(beside)
    flags = beside["flags"].str.split(",").explode().value_counts().to_dict()
    return (
        f"{len(ratio)} links: {np.exp(logs[0].mean()):.3f} MB/s alone; beside a mean of "
        f"{others.mean():.1f} other runs (at most {others.max():.0f}) {mean:.2f} % of that, 95 % "
        f"interval {low:.2f} to {high:.2f} %; links from {least:.2f} to {most:.2f} %; "
        f"{(alone['flags'] != '').sum()} of {len(alone)} runs flagged alone, beside of "
        f"{len(beside)}: {flags}"
    )


def company(runs: pd.DataFrame) -> pd.Series:
    """Number of other runs that measure in the middle of each run's window."""
    began = runs["started_at"].map(lambda moment: moment.timestamp())
    middle = began + runs["window_s"] / 2
    return middle.map(lambda at: ((began <= at) & (began + runs["window_s"] >= at)).sum() - 1)


if __name__ == "__main__":
    main()
