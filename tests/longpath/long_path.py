"""Samples of a long path whose truth is known: windows that follow a law, one round trip a step."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
from synthetic import runs_of

from netlab import study as studies
from netlab.analysis.measured import load_measured
from netlab.files.paths import data_dir
from netlab.longpath.analysis import LongPath, samples_of
from netlab.results.store import Store
from netlab.study.frozen import freeze

STEP_S = 0.1
MSS_B = 8948


def windows(
    t_s: np.ndarray,
    *,
    rtt_s: float,
    top: float,
    start: float = 10.0,
    loss_s: float | None = None,
    kept: float = 0.5,
    growth=lambda window: 1.0,
) -> np.ndarray:
    """A congestion window at each time: doubled each round trip up to `top`, then lost from."""
    window = np.minimum(start * 2.0 ** np.floor(t_s / rtt_s), top)
    if loss_s is None:
        return window
    value, at_s, fallen = kept * top, loss_s + rtt_s, []
    while at_s <= t_s[-1]:
        fallen.append((at_s, value))
        value, at_s = min(top, value + growth(value)), at_s + rtt_s
    for since_s, value in fallen:
        window[t_s >= since_s] = value
    return window


def trace_of(
    window: np.ndarray,
    t_s: np.ndarray,
    *,
    rtt_s: float,
    lost_s: float | None = None,
    run_id: str = "r",
    stream: int = 0,
) -> pd.DataFrame:
    """Trace rows of one stream; `lost_s` is when its only retransmit is counted."""
    again = np.zeros(len(t_s)) if lost_s is None else (t_s >= lost_s).astype(float)
    return pd.DataFrame(
        {
            "run_id": run_id,
            "direction": "forward",
            "stream": stream,
            "t_s": t_s,
            "rtt_us": np.full(len(t_s), round(rtt_s * 1e6)),
            "cwnd_segments": np.round(window).astype(int),
            "retransmits": again.astype(int),
        }
    )


def intervals_of(
    rates_Mbps: np.ndarray, *, warmup_s: float = 0.0, run_id: str = "r", stream: int = 0
) -> pd.DataFrame:
    """Interval rows of one stream with these rates, one a step."""
    t_s = STEP_S * np.arange(1, len(rates_Mbps) + 1)
    return pd.DataFrame(
        {
            "run_id": run_id,
            "direction": "forward",
            "stream": stream,
            "t_s": t_s,
            "interval_s": STEP_S,
            "bytes": np.round(np.asarray(rates_Mbps) * 1e6 / 8 * STEP_S).astype(int),
            "in_window": t_s - STEP_S >= warmup_s - 1e-9,
            **dict.fromkeys(("rtt_p50_us", "rtt_p99_us"), np.nan),
        }
    )


def short_study() -> studies.Study:
    """The short form of the wide-area study."""
    return studies.load(data_dir() / "studies" / "slac-2003.yml", quick=True)


def loaded(directory: Path) -> LongPath:
    study = short_study()
    store_of(directory, study)
    return samples_of(load_measured(directory, freeze(study, directory)))


LAWS = {"reno": (0.5, lambda w: 1.0), "scalable": (0.875, lambda w: 0.01 * w)}


def store_of(directory, study: studies.Study, *, flagged: str = "") -> Store:
    """A store of the study as its runs might have gone; every run is there, none was made."""
    runs = runs_of(study, value=lambda *_: (250.0, "window"), noise=0.0)
    emulators = {name: path.link.emulator for name, path in study.paths.items()}
    groups = {group.name: group for group in study.groups}
    rows = {"intervals": [], "traces": [], "paths": []}
    runs["flags"] = flagged
    for at, run in runs.iterrows():
        group, emulator = groups[run["group"]], emulators[run["path"]]
        rtt_s = emulator.rtt_ms / 1e3
        total_s = study.timing.warmup_s + study.timing.seconds
        t_s = STEP_S * np.arange(round(total_s / STEP_S) + 1)
        top = emulator.rate_Mbps * 1e6 / 8 * rtt_s / MSS_B
        for stream in range(run["streams"]):
            kept, growth = LAWS.get(run["congestion"].split("+")[0], (0.7, lambda w: 3.0))
            window = windows(
                t_s, rtt_s=rtt_s, top=top, loss_s=group.force_loss_at_s, kept=kept, growth=growth
            )
            lost_s = None if group.force_loss_at_s is None else group.force_loss_at_s + rtt_s
            named = {"run_id": run["run_id"], "stream": stream}
            rows["traces"].append(trace_of(window, t_s, rtt_s=rtt_s, lost_s=lost_s, **named))
            rate = window[:-1] * MSS_B * 8e-6 / rtt_s / run["streams"]
            rows["intervals"].append(intervals_of(rate, warmup_s=study.timing.warmup_s, **named))
        named = {"run_id": run["run_id"], "direction": "forward", "t_s": t_s}
        rows["paths"].append(
            pd.DataFrame({**named, "queue_B": 1000, "queue_packets": 1, "drops": 0})
        )
        runs.loc[at, "forced_loss_s"] = group.force_loss_at_s
        runs.loc[at, "receive_buffer_B"] = group.receive_buffer_B
        runs.loc[at, "path_queue_max_B"] = 1000
        profile = study.profile("sunnyvale", run["tuning"])
        memory, _, txqueuelen = profile.rpartition("-txq")
        knobs = {"txqueuelen": txqueuelen, "net.ipv4.tcp_wmem": memory}
        runs.loc[at, "knobs"] = json.dumps({"sunnyvale": knobs})
        looked = {"path_check": {"ping": "PING printed", "traceroute": "hops printed"}}
        runs.loc[at, "provenance"] = json.dumps(json.loads(run["provenance"]) | looked)
        if group.records:
            runs.loc[at, ["records", "window_s"]] = [group.records, 4.0]
            runs.loc[at, "received_B"] = group.records * group.record_length_B
    store = Store(directory)
    frames = {name: pd.concat(parts, ignore_index=True) for name, parts in rows.items()}
    for block_id, part in runs.groupby("block_id"):
        of_block = {
            name: frame[frame["run_id"].isin(part["run_id"])] for name, frame in frames.items()
        }
        store.write(block_id, part, **of_block)
    return store
