"""A study of a long path through the command: stacks, losses, an amount and records."""

from __future__ import annotations

import json
import os
import re
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest
from e2e.conftest import EARLY_US
from e2e.long_path_store import LOSS_S, QUEUE_B, SETTINGS, content, store

from netlab.experiment.request import VisitRequest
from netlab.experiment.visit import run_visit
from netlab.lab import reaper
from netlab.lab.lab import Lab
from netlab.results.store import Store
from netlab.study import load
from netlab.study.schedule import visits

__all__ = ["store"]

SOURCES = {
    "Reno": "kernel reno (Linux ",
    "Scalable": "bpf scalable 1 (netlab ",
    "HighSpeed both ways": "bpf highspeed 1 (netlab ",
    "wad and CUBIC": "bpf aimd 1 (netlab ",
}
"""Group -> begin of what its senders' kernel was given."""


@pytest.fixture(scope="module")
def runs(store):
    found = store.runs().set_index("group")
    assert len(found) == len(content()["groups"])
    assert not found["flags"].str.contains("failed|lost_host").any(), found["message"].tolist()
    return found


def test_every_run_was_made_with_the_stack_it_names(store, runs):
    for group, begin in SOURCES.items():
        source = runs.loc[group, "congestion_source"]
        assert source.startswith(begin) and "/" not in source, source
    mixed = runs.loc["wad and CUBIC", "congestion_source"]
    assert "increase_millionths 6000000, decrease_millionths 300000" in mixed
    assert " + kernel cubic (Linux " in mixed
    assert set(store.rows("traces")["run_id"]) == set(runs["run_id"])
    assert (runs["ledger_error_B"] == 0).all()
    own = set(re.findall(r"nl_\w+", " ".join(runs["congestion_in_force"].dropna())))
    there = (SETTINGS / "tcp_available_congestion_control").read_text().split()
    assert own and not own & set(there), "a stack goes with its study"


def test_an_amount_is_timed_by_its_bytes(runs):
    row = runs.loc["amount"]
    assert row["records"] == 200 and row["received_B"] == 200 * 65536
    # 13.1 MB of payload at 100 Mb/s of frames take 1.05 s at least
    assert 1.05 < row["window_s"] < 20


def test_every_run_says_what_its_path_did(runs):
    for row in runs.itertuples():
        # TCP may measure by its clock of 1 ms
        assert row.path_rtt_us == 30_000 and row.min_rtt_us > 29_000
        assert row.path_B > row.received_B and row.path_packets > row.received_B / 9000
        assert row.path_queue_max_packets >= 1 and row.path_queue_max_B <= QUEUE_B
        assert row.emulator_late_us > 0 and 0 < row.emulator_cpu_percent < 100
        assert row.path_drops == row.path_queue_drops + row.path_forced_drops
        assert 30 - EARLY_US / 1000 < row.ping_min_ms <= row.ping_avg_ms <= row.ping_max_ms
        assert row.ping_mdev_ms >= 0 and row.ping_loss_percent < 100
        provenance = json.loads(row.provenance)
        assert provenance["emulated_with"] == "netlab"
        assert "5 packets transmitted" in provenance["path_check"]["ping"]
        assert "198.18.0.2" in provenance["path_check"]["traceroute"]


def test_a_loss_is_forced_once_about_when_it_was_asked(runs):
    for group, row in runs.iterrows():
        lost = "a loss" in group
        assert row["path_forced_drops"] == lost
        if lost:
            # the first packet after that time: none comes while the machine stands still
            assert LOSS_S - 0.15 < row["forced_loss_s"] < LOSS_S + 2.5 and row["retransmits"] >= 1
        else:
            assert not row["forced_loss_s"] > 0


def test_the_queues_are_on_the_axis_of_the_intervals(store, runs):
    paths, intervals = store.rows("paths"), store.intervals()
    ends_s = []
    for row in runs[runs["direction"] == "->"].itertuples():
        mine = paths[paths["run_id"] == row.run_id]
        forward = mine[mine["direction"] == "forward"]
        last_s = intervals[intervals["run_id"] == row.run_id]["t_s"].max()
        assert forward["t_s"].min() >= 0
        ends_s.append((forward["t_s"].min(), last_s - forward["t_s"].max()))
        assert 9000 < forward["queue_B"].max() <= row.path_queue_max_B
        assert mine["drops"].sum() <= row.path_drops
        # the queue that fills is the data's, whichever end they come from
        data = mine.groupby("direction")["queue_B"].sum()
        assert data["forward"] > 10 * data["reverse"]
    first_s, short_s = np.median(ends_s, axis=0)
    assert first_s < 0.1 and short_s < 0.2, ends_s


@contextmanager
def held_up(pid: int) -> Iterator[None]:
    """Stop a process for 30 ms, again and again."""
    over = threading.Event()

    def hold() -> None:
        while not over.wait(0.07):
            os.kill(pid, signal.SIGSTOP)
            time.sleep(0.03)
            os.kill(pid, signal.SIGCONT)

    holder = threading.Thread(target=hold)
    holder.start()
    try:
        yield
    finally:
        over.set()
        holder.join()


def test_a_run_whose_emulator_was_held_up_is_flagged(tmp_path):
    """A tenth of the packets that are on their way meanwhile leave tens of ms late."""
    short = {"rounds": 1, "seconds": 0.8, "warmup_s": 0.2, "interval_ms": 20}
    one = {**content(), "name": "held", "groups": content()["groups"][:1], "timing": short}
    del one["stacks"]
    study = load(one)
    (visit,) = visits(study)
    with Lab.up(study, owned=True) as lab:
        (pid,) = reaper.processes_in([lab.namespace("west")])
        with held_up(pid):
            runs = [run.run_id for run in visit.runs]
            asked = VisitRequest("", visit.block_id, visit.round, str(tmp_path), runs, "part")
            run_visit(study, asked, lab=lab)
    (row,) = Store(tmp_path).runs().itertuples()
    assert "emulator_late" in row.flags.split(",")
    assert "over 1000 us late" in row.message and row.emulator_late_us > 1000
