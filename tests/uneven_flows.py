"""A stranger's study of several flows: three queues, eight flows, 0.43 Mb/s each, known shares."""

from __future__ import annotations

import numpy as np
import pandas as pd
import synthetic

from netlab import study as studies
from netlab.analysis.any_factors import levels_of
from netlab.analysis.measured import Measured, from_frames
from netlab.study import Study

STUDY = """\
netlab: 1
name: stranger
title: BBR beside CUBIC by queue
hosts: {a: {kind: lab}, b: {kind: lab}}
paths:
  wire:
    ends: [{host: a}, {host: b}]
    link: {emulator: {rtt_ms: 40, rate_Mbps: 3.5, queue_B: 9000}}
groups:
  - {name: mixed, path: wire, sender: a}
tunings: [{name: plain, mtus_B: [1500], knobs: []}]
streams: [8]
congestion: bbr+cubic
trace: true
factors: {queue_B: [9000, 20000, 60000]}
timing: {rounds: 4, seconds: 4, interval_ms: 200}
"""
RATE_MBPS = 0.43  # MB/s of eight flows: 0.43 Mb/s each
BBR_SHARE = {9000: 0.8, 20000: 0.5, 60000: 0.2}


def uneven(study, runs: pd.DataFrame, *, noise: float = 0.02) -> pd.DataFrame:
    """Samples in which the BBR streams of a queue have a known share of the bytes."""
    frame = synthetic.intervals_of(runs, study, noise=0.0)
    of_run = runs.set_index("run_id")["factors"]
    rng = np.random.default_rng(4)
    off = {run: noise * rng.standard_normal() for run in of_run.index}
    share = frame["run_id"].map(lambda run: BBR_SHARE[levels_of(of_run[run])["queue_B"]] + off[run])
    weight = np.where(frame["stream"] % 2 == 0, 2 * share, 2 * (1 - share))
    return frame.assign(bytes=(frame["bytes"] * weight).astype("int64"))


def stranger(directory, more: str = "") -> Study:
    """The study, with further lines of YAML."""
    (directory / "stranger.yml").write_text(STUDY + more)
    return studies.load(directory / "stranger.yml")


def measured(study, tmp_path, change=None) -> Measured:
    def rate(*_at) -> tuple[float, str]:
        return RATE_MBPS, "loss"

    runs = synthetic.runs_of(study, value=rate, change=change)
    return from_frames(study, runs, uneven(study, runs), tmp_path)
