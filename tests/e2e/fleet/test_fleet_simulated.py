"""A fleet through crashes: jobs of a host never overlap, none is lost, only missing ones run."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from e2e.fleet import simulated_job
from e2e.fleet.simulated_job import job_argv
from refusals import refused
from waiting import until

from netlab.errors import NetlabError
from netlab.fleet.batches import batches
from netlab.fleet.controller import FleetOptions, run_fleet
from netlab.fleet.events import read_events
from netlab.fleet.inventory import Inventory
from netlab.fleet.pairs import pairs_of
from netlab.fleet.plan import FleetJob, FleetPlan, make_plan
from netlab.study import load

HOSTS, ROUNDS, BLOCKS = 6, 2, 3
WAIT_S = 240
"""Timeout on a machine that is busy otherwise."""
STUDY = """\
netlab: 1
name: simulated
title: Runs that sleep
hosts: {{left: {{kind: lab}}, right: {{kind: lab}}}}
paths: {{cable: {{ends: [{{host: left}}, {{host: right}}]}}}}
groups: [{{name: only, path: cable, sender: left}}]
tunings:
  - name: sack-off
    mtus_B: {mtus_B}
    knobs: [{{kind: sysctl, name: net.ipv4.tcp_sack, value: 0}}]
streams: [1]
timing: {{rounds: {rounds}, seconds: 0.05, warmup_s: 0.0}}
"""


@pytest.fixture(scope="module")
def inventory() -> Iterator[Inventory]:
    """Empty network namespaces as hosts."""
    spaces = {f"h{number:03}": f"nfs{os.getpid()}-{number}" for number in range(HOSTS)}
    try:
        for space in spaces.values():
            subprocess.run(("ip", "netns", "add", space), check=True)
        hosts = {name: {"labels": {"netns": space}} for name, space in spaces.items()}
        yield Inventory.model_validate({"hosts": hosts})
    finally:
        for space in spaces.values():
            subprocess.run(("ip", "netns", "del", space))


def planned(
    directory: Path, inventory: Inventory, rule: str = "ring", rounds: int = 1, blocks: int = 1
) -> FleetPlan:
    directory.mkdir(exist_ok=True)
    study = directory / "study.yml"
    study.write_text(STUDY.format(rounds=rounds, mtus_B=[*range(1500, 1500 + blocks)]))
    return make_plan(load(study), inventory, pairs_of(inventory, rule), directory)


def events(plan: FleetPlan, kind: str) -> list[dict]:
    return [event for event in read_events(plan.folder) if event["event"] == kind]


def holds(plan: FleetPlan) -> list[dict]:
    """Times in which jobs had their hosts, also those of jobs that were killed later."""
    file = plan.folder / "holds.jsonl"
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def of_host(plan: FleetPlan, host: str) -> list[dict]:
    own = [hold for hold in holds(plan) if host in hold["hosts"]]
    return sorted(own, key=lambda hold: hold["began_s"])


def complete(plan: FleetPlan) -> None:
    """Every job is there, and no two jobs of a host overlapped."""
    assert not list(plan.remaining())
    assert {hold["job"] for hold in holds(plan)} == {job.job_id for job in plan.jobs}
    for host in plan.hosts:
        for a, b in pairwise(of_host(plan, host)):
            assert b["began_s"] >= a["ended_s"], (host, a, b)


def until_done(plan: FleetPlan, count: int, process: subprocess.Popen) -> None:
    until(lambda: process.poll() is not None or len(events(plan, "job_done")) >= count, WAIT_S)
    assert process.poll() is None


def test_after_kill_9_of_controller_engine_and_job_only_what_is_missing_is_done(
    tmp_path, inventory
):
    plan = planned(tmp_path, inventory, rounds=ROUNDS, blocks=BLOCKS)
    argv = (sys.executable, simulated_job.__file__, str(tmp_path))
    with subprocess.Popen(argv, start_new_session=True) as first:
        until_done(plan, 7, first)
        first.kill()
    with subprocess.Popen(argv, start_new_session=True) as second:
        until_done(plan, 14, second)
        children = Path(f"/proc/{second.pid}/task/{second.pid}/children").read_text()
        os.kill(int(children.split()[0]), signal.SIGKILL)  # Snakemake; the next pass goes on
        until_done(plan, 22, second)
        with contextlib.suppress(ProcessLookupError):  # a job
            victim = events(plan, "job_started")[-1]
            os.kill(victim["pid"], signal.SIGKILL)
        second.wait(WAIT_S)
    done = {job.job_id for job in plan.jobs} - {job.job_id for job in plan.remaining()}
    before = holds(plan)
    done_now = run_fleet(plan, FleetOptions(at_once=3, retry_s=0), job_argv=job_argv(plan))
    assert done_now == len(plan.jobs) == HOSTS * ROUNDS * BLOCKS
    complete(plan)
    assert not done & {hold["job"] for hold in holds(plan)[len(before) :]}
    finished = [event["job"] for event in events(plan, "job_done")]
    assert len(finished) == len(set(finished))
    numbers = [event["number"] for event in events(plan, "campaign_started")]
    assert numbers == sorted(set(numbers)) and len(numbers) == 3


def test_a_controller_that_has_a_successor_is_refused_by_every_host(tmp_path, inventory):
    plan = planned(tmp_path, inventory, "h000:h001,h002:h003", rounds=1)
    newer = FleetOptions(at_once=2, attempts=1)
    assert run_fleet(plan, newer, job_argv=job_argv(plan), clock=lambda: 2e6) == 2
    leases = [file.read_text() for file in (plan.folder / "leases").iterdir()]
    assert len(leases) == 4 and all(text.startswith("2000000000 ") for text in leases)
    late = planned(tmp_path / "late", inventory, "h000:h001", rounds=1)
    shutil.copytree(plan.folder / "leases", late.folder / "leases")
    assert run_fleet(late, newer, job_argv=job_argv(late), clock=lambda: 1e6) == 0
    (failed,) = events(late, "job_failed")
    assert failed["code"] == "E-HOST-042" and "too old" in failed["message"]
    assert holds(late) == []


def test_all_pairs_of_a_fleet_keep_the_order_of_the_plan_on_every_host(tmp_path, inventory):
    some = Inventory(hosts={name: inventory.hosts[name] for name in list(inventory.hosts)[:4]})
    plan = planned(tmp_path, some, "all", 1)
    assert run_fleet(plan, FleetOptions(at_once=6, retry_s=0), job_argv=job_argv(plan)) == 6
    complete(plan)
    made = batches(plan, plan.jobs)
    order = [FleetJob(batch.pair, visit).job_id for batch in made for visit in batch.visits]
    for host in some.hosts:
        done = [hold["job"] for hold in of_host(plan, host)]
        assert done == [j for j in order if host in j.split("/")[0].split("~")]


def test_an_engine_that_cannot_start_is_an_error_with_the_end_of_its_log(tmp_path, inventory):
    plan = planned(tmp_path, inventory, rounds=1)
    (plan.folder / ".snakemake").write_text("in the way of its folder")
    with refused(NetlabError, "E-FLEET-034", match="engine.log"):
        run_fleet(plan, FleetOptions(), job_argv=job_argv(plan))
    assert events(plan, "campaign_ended")[0]["remaining"] == HOSTS


@pytest.fixture
def small_disk(tmp_path) -> Iterator[tuple[Path, tuple[str, ...]]]:
    """A disk of 1 MB: where it is seen from here, and words that run a command where it is mounted.

    It is in a mount namespace of its own, which ends with the test.
    """
    place = tmp_path / "disk"
    place.mkdir()
    script = f"mount -t tmpfs -o size=1m disk {place} && echo mounted && exec sleep 3600"
    words = ("unshare", "--mount", "sh", "-c", script)
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as holder:
        try:
            assert holder.stdout is not None and holder.stdout.readline() == "mounted\n"
            inside = ("nsenter", "--target", str(holder.pid), "--mount")
            yield Path(f"/proc/{holder.pid}/root{place}"), (*inside, "--wd=/")
        finally:
            holder.kill()


def test_a_disk_with_room_for_failures_alone_ends_the_first_pass(small_disk, tmp_path, inventory):
    disk, inside = small_disk
    plan = planned(disk, inventory, "h000:h001,h002:h003")
    argv = (*inside, sys.executable, simulated_job.__file__, str(tmp_path / "disk"))
    fill = disk / "fill"
    with contextlib.suppress(OSError), fill.open("wb", buffering=0) as file:
        while True:
            file.write(bytes(512))
    # of 116 KiB the engine and two records of failures take 67
    os.truncate(fill, fill.stat().st_size - (116 << 10))
    environment = {**os.environ, "SIMULATED_PART_B": str(128 << 10)}
    ran = subprocess.run(argv, capture_output=True, text=True, timeout=WAIT_S, env=environment)
    assert ran.returncode != 0
    assert "disk/fleet: no space is left on its file system" in ran.stderr, ran.stderr
    failed = events(plan, "job_failed")
    assert len(failed) == len(plan.jobs) and len(events(plan, "pass_started")) == 1
    assert all("No space left on device" in event["message"] for event in failed)
    fill.unlink()
    subprocess.run(argv, check=True, timeout=WAIT_S, env=environment)
    assert not list(plan.remaining())


def test_a_full_disk_is_named_and_the_same_command_completes_later(small_disk, tmp_path, inventory):
    disk, inside = small_disk
    plan = planned(disk, inventory, rounds=ROUNDS, blocks=BLOCKS)
    argv = (*inside, sys.executable, simulated_job.__file__, str(tmp_path / "disk"))
    fill = disk / "fill"
    with subprocess.Popen(argv, stderr=subprocess.PIPE, text=True) as first:
        until_done(plan, 4, first)
        with contextlib.suppress(OSError), fill.open("wb", buffering=0) as file:
            while True:
                file.write(bytes(512))
        _, complaint = first.communicate(timeout=WAIT_S)
    assert first.returncode != 0
    assert "disk/fleet: no space is left on its file system" in complaint, complaint
    done = {job.job_id for job in plan.jobs} - {job.job_id for job in plan.remaining()}
    assert 4 <= len(done) < len(plan.jobs)
    fill.unlink()
    subprocess.run(argv, check=True, timeout=WAIT_S)
    assert not list(plan.remaining())
    finished = [event["job"] for event in events(plan, "job_done")]
    assert len(finished) == len(set(finished))
    again = events(plan, "campaign_started")[1]["number"]
    own = {event["job"] for event in events(plan, "job_done") if event["lease"] == again}
    assert own == {job.job_id for job in plan.jobs} - done
