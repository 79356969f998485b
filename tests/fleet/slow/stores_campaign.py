"""Stores of known effects from a seed, and what queries of them take.

    python tests/fleet/slow/stores_campaign.py DIRECTORY

writes 10^5 runs and 10^8 interval samples below a new directory, queries them, and prints the CPU
time of each step, the peak memory so far, and how often known effects lie within their intervals.
"""

from __future__ import annotations

import itertools
import json
import resource
import sys
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import synthetic

from netlab import study as studies
from netlab.results.store import Store

STUDY = """
netlab: 1
name: racks
title: Racks
hosts: {left: {kind: lab}, right: {kind: lab}}
paths: {rack: {ends: [{host: left}, {host: right}]}}
groups: [{name: "left -> right", path: rack, sender: left}]
tunings:
  - {name: none, mtus_B: [1500, 9000], knobs: []}
  - {name: full, mtus_B: [1500, 9000], knobs: []}
streams: [1, 2, 4, 5, 10]
timing: {rounds: 5, seconds: 98, warmup_s: 2, interval_ms: 100}
"""
FACTORS: dict[str, dict] = {
    **{"tuning": {"none": 1.0, "full": 1.5}, "mtu_B": {1500: 1.0, 9000: 1.25}},
    "streams": {1: 1.0, 2: 1.05, 4: 1.1, 5: 1.1, 10: 1.15},
}
"""Factors of goodput; of 4 and 5 streams it is the same."""

ROUND_SD, RUN_SD, SAMPLE_SD = 0.02, 0.03, 0.05
"""Noise that the runs of a round share, that of each, and that of each sample."""

RUN_SAMPLES, WARMUP = 1000, 0.02
INTERVAL_S, JITTER_S = 0.1, 1e-4


class Size(NamedTuple):
    """Numbers of studies, stores of each, and rounds of each in a multiple of 5."""

    studies: int = 20
    stores: int = 10
    rounds: int = 25
    seed: int = 17


def true_MBps(rows: pd.DataFrame) -> np.ndarray:
    """Geometric mean of the goodput of each row's cell: that of its store and its factors."""
    study, store = (rows[name].str[-2:].astype(int) for name in ("study", "sender"))
    factors = [rows[name].map(levels).to_numpy(float) for name, levels in FACTORS.items()]
    return (400.0 + 10 * study + store).to_numpy() * np.prod(factors, axis=0)


def samples_of(runs: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    """Interval samples of runs: the same number for each, split over its streams."""
    rows = runs.loc[runs.index.repeat(RUN_SAMPLES), ["run_id", "streams", "goodput_MBps"]]
    within, streams = np.tile(np.arange(RUN_SAMPLES), len(runs)), rows["streams"].to_numpy(int)
    per_stream = RUN_SAMPLES // streams
    place = within % per_stream
    lengths = INTERVAL_S + JITTER_S * rng.standard_normal(len(rows))
    noise = 1 + SAMPLE_SD * rng.standard_normal(len(rows))
    rates = rows["goodput_MBps"].to_numpy(float) / streams * 1e6
    columns = {
        "run_id": rows["run_id"].to_numpy(object),
        "direction": "forward",
        "stream": within // per_stream,
        "t_s": (place + 1) * INTERVAL_S + JITTER_S * rng.standard_normal(len(rows)),
        "interval_s": lengths,
        "bytes": (rates * lengths * noise).astype(np.int64),
        "in_window": place >= WARMUP * per_stream,
        **dict.fromkeys(("rtt_p50_us", "rtt_p99_us"), np.nan),
    }
    return pd.DataFrame(columns).astype({"run_id": "string", "direction": "string"})


def generate(directory: Path, size: Size) -> None:
    """Write the stores; a part has five rounds of a store."""
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / "racks.yml"
    path.write_text(STUDY, encoding="utf-8")
    five = synthetic.runs_of(studies.load(path), value=lambda *_: (1.0, "window"))
    for study, number in itertools.product(range(size.studies), range(size.stores)):
        store = Store(directory / f"study-{study:02d}" / f"pair-{number:02d}")
        rng = np.random.default_rng([size.seed, study, number])
        for visit in range(0, size.rounds, 5):
            block = five["run_id"].str.rpartition("@")[0]
            runs = five.assign(
                study=f"study-{study:02d}",
                sender=f"host-{number:02d}",
                receiver=f"host-{number + 1:02d}",
                round=five["round"] + visit,
                order=five["order"] + visit * 20,
                run_id=block + "@" + (five["round"] + visit).astype(str),
                started_at=five["started_at"] + pd.Timedelta(hours=visit),
            )
            shared = rng.normal(0, ROUND_SD, 5)[five["round"].to_numpy(int) - 1]
            noise = shared + rng.normal(0, RUN_SD, len(runs))
            runs["goodput_MBps"] = true_MBps(runs) * np.exp(noise)
            runs = runs.astype(five.dtypes.to_dict())
            store.write(f"visits-{visit:02d}", runs, samples_of(runs, rng))


def step(name: str, directory: Path, size: Size) -> dict:
    """Do one step, and return what is to be reported of it."""
    from netlab.fleet.records import stores_below

    if name == "generate":
        generate(directory, size)
        return {"runs": size.studies * size.stores * size.rounds * 20}
    opened = stores_below([directory])
    study = "study-00" if name.endswith("one") else None
    if name.startswith("cells"):
        cells = opened.cells(study)
        truth = true_MBps(cells)
        inside = (cells["low_MBps"] <= truth) & (truth <= cells["high_MBps"])
        runs = int(cells["n_valid"].sum())
        return {"cells": len(cells), "runs": runs, "within_percent": 100 * inside.mean()}
    if name.startswith("samples"):
        found = opened.samples(study)
        off_percent = 100 * (found["median_MBps"] / true_MBps(found) - 1).abs().median()
        samples = int(found["samples"].sum())
        return {"cells": len(found), "samples": samples, "median_off_percent": off_percent}
    by, a, b, truth = COMPARED[name]
    found = opened.compare(by, a, b)
    return {
        "cells": len(found),
        "all_within": bool(((found["low"] <= truth) & (truth <= found["high"])).all()),
        "overall": float(np.exp(np.log(found["ratio"]).mean())),
        "verdicts": found["verdict"].value_counts().to_dict(),
    }


COMPARED = {
    "compare-tunings": ("tuning", "none", "full", 1.5),
    "compare-mtus": ("mtu_B", "1500", "9000", 1.25),
    "compare-equals": ("streams", "4", "5", 1.0),
}
"""Comparisons: column, its levels, and the known ratio."""
STEPS = ("generate", "cells-one", "cells-all", "samples-one", "samples-all", *COMPARED)


if __name__ == "__main__":
    for name in STEPS:
        before_s = time.process_time()
        report = step(name, Path(sys.argv[1]), Size())
        cost = {"step": name, "cpu_s": time.process_time() - before_s}
        cost["peak_MiB"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(json.dumps(cost | report), flush=True)
