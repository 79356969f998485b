"""Valid frames of runs that were never measured: material for tests, seeded, made in memory."""

import dataclasses
import json
import math

import numpy as np
import pandas as pd

from netlab import study as studies
from netlab.analysis.measured import from_frames
from netlab.files.paths import data_dir
from netlab.results.columns import INTERVAL_COLUMNS, SCHEMA_VERSION
from netlab.results.frames import frame_of
from netlab.results.store import Store
from netlab.study import schedule as plan

PER_STREAM_WINDOW_MBps = {"none": 400.0, "kernel": 1400.0, "full": 4000.0}
SMALL_FRAME_LIMIT_MBps = {"none": 620.0, "kernel": 460.0, "full": 1050.0}
FOUND_MTU_B = 1500
"""MTU that hosts have which are measured as found."""
PROVENANCE = {
    "netlab": "0.1.0",
    "agent_digest": "5f" * 32,
    "hosts": {
        "linux64-a": {
            **{"kernel": "6.12.0", "cpu": "Some CPU", "cpus": 2},
            **{"nic": "veth", "driver": "veth", "firmware": None},
        }
    },
}

FOREIGN = """
netlab: 1
name: two-racks
title: "<script>alert(1)</script> & two racks"
hosts:
  left: {kind: ssh, address: left.example}
  right: {kind: ssh, address: right.example}
paths:
  rack:
    ends:
      - {host: left, address: 192.0.2.1, interface: eth0}
      - {host: right, address: 192.0.2.2, interface: eth0}
groups:
  - {name: "<b>left</b> to right", path: rack, sender: left}
streams: [1, 64]
timing: {rounds: 1, seconds: 1.0, warmup_s: 0.2, interval_ms: 100}
"""


def openlab_file():
    return data_dir() / "studies" / "openlab-2003.yml"


def openlab():
    return studies.load(openlab_file(), rounds=3)


def foreign_file(directory, streams="[1, 64]"):
    """YAML of a study without a bus, a table number or tunings, so its hosts are as found."""
    path = directory / "two-racks.yml"
    path.write_text(FOREIGN.replace("[1, 64]", streams), encoding="utf-8")
    return path


def foreign(directory, streams="[1, 64]", **changes):
    """That study; its title and group are markup."""
    return studies.load(foreign_file(directory, streams), **changes)


def only(**levels):
    """A change for `runs_of` that keeps the runs with these factor levels."""
    return lambda row: all(row[name] in wanted for name, wanted in levels.items())


def setting(values, **levels):
    """A change for `runs_of` that sets values of the runs with these factor levels."""
    matches = only(**levels)

    def change(row):
        if matches(row):
            row.update(values)

    return change


def model(study, group, tuning, mtu_B, streams):
    """A noiseless goodput in MB/s and the field values that a machine bound so would show."""
    bus = study.bus_MBps(group.path) or 1250.0
    both = 2 if group.direction == "<->" else 1
    payload = (mtu_B - 52) / (mtu_B + 14) * bus
    window = PER_STREAM_WINDOW_MBps.get(tuning, 4000.0) * streams * (1 if mtu_B <= 1500 else 1.8)
    cpu = SMALL_FRAME_LIMIT_MBps.get(tuning, 1050.0) if mtu_B <= 1500 else 1e9
    limits = {"window": window, "CPU": cpu, "bus": payload * 0.995}
    kind = min(limits, key=limits.get)
    return limits[kind] * both, kind


FACTS = {
    **{"engine": "blocking:copy/blocking:copy", "ledger_error_B": 0, "min_rtt_us": 40.0},
    **{"retransmits": 0, "busy_share": 0.99, "sndbuf_limited_share": 0.01, "agent_cpu_s": 1.0},
    **{"sender_cpu_percent": 60.0, "receiver_cpu_percent": 60.0, "sender_softirq_percent": 20.0},
    **{"receiver_softirq_percent": 25.0, "interface_drops": 0, "softnet_drops": 0},
    **{"interrupts_per_s": 20000.0, "context_switches_per_s": 30000.0, "flags": "", "message": ""},
    "knobs": json.dumps({"linux64-a": {"net.core.rmem_max": "212992"}}),
    "provenance": json.dumps(PROVENANCE),
}
"""What every record has alike."""
LACKING = [{"host": "linux64-a", "knob": "net.ipv4.tcp_tw_recycle", "reason": "left Linux in 4.12"}]


def record(study, digest, block, run, rng, kind_and_goodput):
    goodput, kind = kind_and_goodput
    group = run.group
    both = group.direction == "<->"
    window_s, warmup_s = study.timing.seconds, study.timing.warmup_at()
    mss_B = block.mtu_B - 52.0
    total_B = int(goodput * 1e6 * (window_s + warmup_s))
    carried_B = int(total_B * (block.mtu_B + 14) / mss_B)
    bus = study.bus_of_group_MBps(group)
    of_bus = 100 * goodput / bus if bus else None
    per_stream = goodput / run.streams / (2 if both else 1)
    rtt_us = 60.0 if kind == "window" else 400.0
    buffers_B = per_stream * rtt_us * (2 if kind == "window" else 20)
    overhead_s = 0.12 + 0.02 * rng.random()
    started_s = (window_s + warmup_s + 0.2) * run.order
    row = {"schema_version": SCHEMA_VERSION, "study": study.name, "study_digest": digest}
    row |= {"provenance_key": "k" + run.run_id, "run_id": run.run_id, "block_id": block.block_id}
    row |= {"order": run.order, "group": group.name, "table": group.table, "path": block.path}
    row |= {"sender": group.sender, "receiver": study.receiver(group), "tuning": block.tuning}
    row |= {"direction": group.direction, "mtu_B": block.mtu_B, "streams": run.streams}
    row |= {"factors": run.factors, "round": run.round, "seed": study.seed}
    row |= {"record_length_B": group.record_length_B, "buffer_B": group.buffer_B}
    row |= {"congestion": study.congestion_of(group), "generator": group.generator}
    row["started_at"] = pd.Timestamp("2026-01-05T10:00:00Z") + pd.Timedelta(seconds=started_s)
    row |= {"wall_s": window_s + warmup_s + overhead_s, "overhead_s": overhead_s}
    row |= {"warmup_s": warmup_s, "window_s": window_s, "goodput_MBps": goodput}
    row["goodput_forward_MBps"] = goodput / 2 if both else goodput
    row["goodput_reverse_MBps"] = goodput / 2 if both else math.nan
    row |= dict.fromkeys(("sent_B", "received_B", "acked_B", "tcp_received_B"), total_B)
    row |= {"interval_sum_B": total_B, "window_B": int(goodput * 1e6 * window_s)}
    row |= {"interface_tx_B": carried_B, "interface_rx_B": carried_B, "mss_B": mss_B}
    row |= {"header_share": (block.mtu_B + 14) / mss_B - 1, "rtt_us": rtt_us}
    row["cwnd_segments"] = max(10.0, 2 * per_stream * rtt_us / mss_B)
    row["rwnd_limited_share"] = 0.8 if kind == "window" else 0.02
    row |= {"sndbuf_B": buffers_B, "rcvbuf_B": buffers_B, "bottleneck": kind}
    row["busiest_core_percent"] = 99.5 if kind == "CPU" else 72.0
    row["steal_percent"], row["foreign_cpu_percent"] = 0.1 * rng.random(), 0.5 * rng.random()
    row |= {"bus_MBps": bus, "ceiling_MBps": bus, "ceiling_kind": "bus" if bus else None}
    row["bus_shared"] = None if bus is None else study.bus_shared(block.path)
    row["ceiling_source"] = "PCI-X, as the study states" if bus else ""
    row |= {"percent_of_bus": of_bus, "percent_of_ceiling": of_bus}
    row["unsupported"] = json.dumps(LACKING if block.tuning != "none" else [])
    return row | FACTS


def samples(run, study, rng, noise=0.02):
    """Interval samples that fit a record: every stream of every direction, warm-up included."""
    step = study.timing.interval_ms / 1000
    count = round((study.timing.warmup_at() + study.timing.seconds) / step)
    directions = ["forward", "reverse"] if run["direction"] == "<->" else ["forward"]
    rows = []
    for direction in directions:
        per_stream = run["goodput_MBps"] / len(directions) / run["streams"] * 1e6 * step
        for stream in range(run["streams"]):
            for i in range(1, count + 1):
                amount = int(per_stream * (1 + noise * rng.standard_normal()))
                inside = (i - 1) * step >= study.timing.warmup_at() - 1e-9
                rows.append((run["run_id"], direction, stream, i * step, step, amount, inside))
    return rows


def runs_of(study, *, seed=1, noise=0.01, value=model, change=None):
    """All runs of a study as a checked frame.

    ``value(study, group, tuning, mtu_B, streams)`` gives goodput and what binds it;
    ``change(row)`` may edit a record or return False to leave it out.
    """
    rng = np.random.default_rng(seed)
    digest = study.digest()
    rows = []
    for planned in plan.visits(study):
        block = dataclasses.replace(planned, mtu_B=planned.mtu_B or FOUND_MTU_B)
        for run in block.runs:
            goodput, kind = value(study, run.group, block.tuning, block.mtu_B, run.streams)
            goodput *= 1 + noise * rng.standard_normal()
            row = record(study, digest, block, run, rng, (goodput, kind))
            if change is None or change(row) is not False:
                rows.append(row)
    return frame_of(rows)


def measured(study=None, results=None, **how):
    """A study with its runs, by default all of the openlab study; as :func:`runs_of` makes them."""
    study = openlab() if study is None else study
    return from_frames(study, runs_of(study, **how), None, results)


def intervals_of(runs, study, *, seed=2, noise=0.02):
    """Interval samples of the runs that have a goodput, as a checked frame."""
    rng = np.random.default_rng(seed)
    rows = []
    for run in runs[runs["goodput_MBps"].notna()].to_dict("records"):
        rows += samples(run, study, rng, noise)
    columns = [c.name for c in INTERVAL_COLUMNS]
    return frame_of([dict(zip(columns, row, strict=False)) for row in rows], INTERVAL_COLUMNS)


def store_of(directory, study, runs=None):
    """Write a store of synthetic results below `directory` and return it."""
    runs = runs_of(study) if runs is None else runs
    store = Store(directory)
    for block_id, part in runs.groupby("block_id"):
        store.write(block_id, part, intervals_of(part, study))
    return store
