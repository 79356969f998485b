"""Runs over an emulated path: the record tells what the path did to each of them."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from lab_study import lab_study

from netlab.experiment.visit import run_visit
from netlab.face.block import MeasuredBlock
from netlab.lab import reaper
from netlab.lab.lab import Lab
from netlab.results.store import Store
from netlab.study import Study
from netlab.study.schedule import visits

EMULATOR = {"with": "netlab", "rtt_ms": 10.0, "rate_Mbps": 100.0, "queue_packets": 60}


def emulated_study() -> Study:
    ends = [{"host": "a"}, {"host": "b"}]
    study = lab_study(paths={"long": {"ends": ends, "link": {"emulator": EMULATOR}}})
    group = {"path": "long", "buffer_B": 1_000_000}
    groups = [
        {"name": "plain", "sender": "a", **group},
        {"name": "back", "sender": "b", **group},
        {"name": "loss", "sender": "b", **group, "force_loss_at_s": 0.6},
    ]
    timing = {"rounds": 1, "seconds": 0.8, "warmup_s": 0.2, "interval_ms": 20}
    return Study.model_validate(
        study.model_dump()
        | {"groups": groups, "timing": timing, "congestion": "reno", "force_buffer": True}
    )


@pytest.fixture(scope="module")
def stored(tmp_path_factory) -> Store:
    """The study's one block, measured."""
    study = emulated_study()
    (visit,) = visits(study)
    store = Store(tmp_path_factory.mktemp("results"))
    with Lab.up(study, owned=True) as lab:
        run_visit(study, visit, store, "part", lab=lab)
    return store


@pytest.fixture(scope="module")
def runs(stored):
    return stored.runs().set_index("group")


def test_every_run_says_what_its_path_did(runs):
    """The path is asked for 10 ms and 100 Mb/s; a machine that others use may flag a run."""
    assert len(runs) == 3
    for row in runs.itertuples():
        assert set(filter(None, row.flags.split(","))) <= {"interference", "emulator_late"}, row
        # TCP may measure by its clock of 1 ms
        assert row.path_rtt_us == 10_000 and row.min_rtt_us > 9_000
        assert row.path_B > row.received_B and row.path_packets > row.received_B / 1500
        assert 1 <= row.path_queue_max_packets <= 60
        assert row.path_queue_max_B <= 60 * 1514
        assert row.emulator_late_us > 0 and 0 < row.emulator_cpu_percent < 100
        assert row.path_drops == row.path_queue_drops + row.path_forced_drops


def test_a_loss_is_forced_once_about_when_it_was_asked(runs):
    assert runs["path_forced_drops"].to_dict() == {"plain": 0, "back": 0, "loss": 1}
    assert runs["forced_loss_s"].isna().to_dict() == {"plain": True, "back": True, "loss": False}
    assert 0.55 < runs.loc["loss", "forced_loss_s"] < 0.8
    assert runs.loc["loss", "retransmits"] >= 1


def test_the_queues_are_on_the_axis_of_the_intervals(stored, runs):
    paths, intervals = stored.rows("paths"), stored.intervals()
    for row in runs.itertuples():
        mine = paths[paths["run_id"] == row.run_id]
        forward = mine[mine["direction"] == "forward"]
        assert set(mine["direction"]) == {"forward", "reverse"}
        last_s = intervals[intervals["run_id"] == row.run_id]["t_s"].max()
        assert 0 <= forward["t_s"].min() < 0.1 and last_s - 0.2 < forward["t_s"].max()
        assert forward["queue_B"].max() > 1514
        assert forward["queue_B"].max() <= row.path_queue_max_B
        assert mine["drops"].sum() <= row.path_drops
    # the queue that fills is the data's, whichever end they come from
    data = paths.groupby("direction")["queue_B"].sum()
    assert data["forward"] > 10 * data["reverse"]


def test_ping_and_traceroute_of_the_path_are_taken_before_the_block(runs):
    for row in runs.itertuples():
        assert 9.9 < row.ping_min_ms <= row.ping_avg_ms <= row.ping_max_ms
        assert row.ping_mdev_ms >= 0 and row.ping_loss_percent == 0
        printed = json.loads(row.provenance)["path_check"]
        assert "5 packets transmitted" in printed["ping"]
        assert "198.18.0.2" in printed["traceroute"]


def test_the_blocks_notebook_shows_what_the_path_did(stored):
    shown = MeasuredBlock(None, None, None, stored.runs(), stored.intervals()).path.text
    assert "5 packets transmitted" in shown and "packets in 3 runs" in shown


def test_runs_are_marked_as_emulated(runs):
    provenance = json.loads(runs.loc["plain", "provenance"])
    assert provenance["emulated_with"] == "netlab"


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
    study = emulated_study()
    study = study.model_copy(update={"groups": study.groups[:1]})
    (visit,) = visits(study)
    with Lab.up(study, owned=True) as lab:
        (pid,) = reaper.processes_in([lab.namespace("a")])
        with held_up(pid):
            run_visit(study, visit, Store(tmp_path), "part", lab=lab)
    (row,) = Store(tmp_path).runs().itertuples()
    assert "emulator_late" in row.flags.split(",")
    assert "over 1000 us late" in row.message and row.emulator_late_us > 1000
