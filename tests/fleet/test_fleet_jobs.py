"""A job writes one result whatever happens, blames hosts, and belongs to one lease."""

from __future__ import annotations

import fcntl
import json
import signal
import subprocess
import sys
import time

import pandas as pd
import pytest
from fleet.planned_fleet import planned, write_result
from refusals import refused

from netlab.errors import HostError, NetlabError, TuningError, Unsupported
from netlab.fleet import host_failures, job
from netlab.fleet.controller import (
    FleetOptions,
    controller_name,
    controlling,
    open_campaign,
    wait_for_jobs,
)
from netlab.fleet.events import log_event, read_events
from netlab.fleet.job import end_with_parent, run_job
from netlab.fleet.job_visit import outcome_of, while_busy
from netlab.fleet.plan import FleetPlan, JobOutcome
from netlab.fleet.status import fleet_status
from netlab.hosts.lease import LeaseRefused


@pytest.fixture
def plan(tmp_path) -> FleetPlan:
    made = planned(tmp_path)
    open_campaign(made, FleetOptions(skip_after=2), clock=lambda: 1.0)
    return made


def names(plan: FleetPlan) -> list[str]:
    return [event["event"] for event in read_events(plan.folder)]


def failing(error: BaseException):
    def fails(*_):
        raise error

    return fails


def test_a_job_measures_under_the_lease_and_writes_its_result(plan):
    seen = []

    def measure(_plan, job, lease):
        seen.append((job.job_id, lease.controller, lease.number))
        return JobOutcome(measured=4)

    first = plan.jobs[0]
    run_job(plan, first, measure)
    assert seen == [(first.job_id, controller_name(), 1000)]
    result = plan.result(first)
    assert (result["status"], result["measured"], result["lease"]) == ("done", 4, 1000)
    assert result["began_s"] <= result["ended_s"]
    assert names(plan) == ["job_started", "job_done"]


@pytest.mark.parametrize(
    ("error", "blamed"),
    [
        (HostError("h0", "is gone", code="E-HOST-011"), ["h0"]),
        (HostError("h0, h1", "cannot be used", code="E-HOST-039"), ["h0", "h1"]),
        (TuningError("no", code="E-TUNING-018"), []),
        (TuningError("h1: no answer", host="h1", code="E-TUNING-002"), ["h1"]),
        (OSError(28, "No space left on device"), []),
    ],
)
def test_a_failure_is_a_result_that_blames_its_hosts(plan, error, blamed):
    first = plan.jobs[0]
    assert first.pair == ("h0", "h1")
    run_job(plan, first, failing(error))
    assert plan.result(first)["status"] == "failed"
    assert plan.result(first)["error"]["code"] == getattr(error, "code", None)
    (failed,) = [e for e in read_events(plan.folder) if e["event"] == "job_failed"]
    assert failed["hosts"] == blamed
    assert [host for host in first.pair if host_failures.failures(plan.folder, host)] == blamed


def test_a_host_is_put_skip_after_failures_in_a_row_until_the_next_pass(plan):
    gone = failing(HostError("h0", "is gone", code="E-HOST-011"))
    own = [each for each in plan.jobs if "h0" in each.pair]
    run_job(plan, own[0], gone)
    run_job(plan, own[1], lambda *_: JobOutcome())
    assert host_failures.failures(plan.folder, "h0") == 0
    run_job(plan, own[2], gone)
    run_job(plan, own[3], gone)
    assert names(plan)[-1] == "host_put_aside"
    run_job(plan, own[4], lambda *_: pytest.fail("the host is skipped"))
    assert plan.result(own[4])["error"]["code"] == "E-FLEET-030"
    host_failures.clear_failures(plan.folder, plan.hosts)
    run_job(plan, own[4], lambda *_: JobOutcome(measured=1))
    assert plan.result(own[4])["status"] == "done"


def test_an_interrupted_job_leaves_no_result(plan):
    with pytest.raises(KeyboardInterrupt):
        run_job(plan, plan.jobs[0], failing(KeyboardInterrupt()))
    assert plan.result(plan.jobs[0]) is None
    assert names(plan) == ["job_started", "job_stopped"]


def test_a_job_needs_a_campaign(tmp_path):
    plan = planned(tmp_path)
    with refused(NetlabError, "E-FLEET-029"):
        run_job(plan, plan.jobs[0], lambda *_: JobOutcome())


def test_a_job_of_a_former_lease_does_not_start(plan, capsys, monkeypatch):
    monkeypatch.setattr(signal, "signal", lambda *_: None)  # the handlers of pytest stay
    monkeypatch.setattr(job, "end_with_parent", lambda parent: None)
    words = [str(plan.directory), "h0~h1", plan.jobs[0].visit.visit_id, "--lease"]
    assert job.main([*words, "999"], lambda *_: pytest.fail("measured")) == 1
    assert "[E-FLEET-036]" in capsys.readouterr().err
    assert job.main([*words, "1000"], lambda *_: JobOutcome()) == 0
    assert plan.result(plan.jobs[0])["status"] == "done"


def test_a_job_ends_with_its_parent_also_with_one_that_is_dead(tmp_path):
    code = (
        "import sys, time\nfrom netlab.fleet.job import end_with_parent\n"
        "end_with_parent(parent=int(sys.argv[1]))\nprint('alive', flush=True)\ntime.sleep(60)\n"
    )
    late = subprocess.run((sys.executable, "-c", code, "1"), capture_output=True, timeout=60)
    assert (late.returncode, late.stdout) == (-signal.SIGTERM, b"")
    inner = (
        "import subprocess, sys, os\n"
        f"subprocess.run((sys.executable, '-c', {code!r}, str(os.getpid())))\n"
    )
    with subprocess.Popen((sys.executable, "-c", inner), stdout=subprocess.PIPE) as parent:
        assert parent.stdout.readline() == b"alive\n"
        parent.kill()
        assert parent.stdout.read() == b""  # the end of its output is that of the child


def test_a_signal_that_the_kernel_does_not_have_is_refused():
    with refused(Unsupported, "E-FLEET-038"):
        end_with_parent(9999)


def test_a_busy_host_is_waited_for_and_another_failure_is_not():
    busy = HostError("h0", "another agent serves it (in_use)", code="E-RUN-006")
    now, tries = [0.0], []

    def attempt() -> JobOutcome:
        tries.append(now[0])
        if len(tries) < 4:
            raise busy
        return JobOutcome(measured=1)

    def sleep(seconds: float) -> None:
        now[0] += seconds

    assert while_busy(attempt, clock=lambda: now[0], sleep=sleep).measured == 1
    assert tries == [0.0, 2.0, 4.0, 6.0]
    with refused(HostError, "E-RUN-006"):
        while_busy(failing(busy), clock=lambda: now[0], sleep=sleep)
    assert now[0] > 30
    late = LeaseRefused("h0", "lease 1 is too old (in_use)", code="E-HOST-042")
    with refused(HostError, "E-HOST-042"):
        while_busy(failing(late), sleep=pytest.fail)
    with refused(HostError, "E-RUN-008"):
        while_busy(failing(HostError("h0", "other", code="E-RUN-008")), sleep=pytest.fail)


def test_runs_without_a_goodput_fail_a_job_and_flagged_ones_are_counted():
    runs = pd.DataFrame({"goodput_MBps": [1.0, 2.0], "flags": ["", "stalled"], "message": ["", ""]})
    assert outcome_of(runs, 1, 1) == JobOutcome(measured=1, kept=1, flagged=1)
    runs.loc[1, ["goodput_MBps", "message"]] = [None, "timed out"]
    with refused(NetlabError, "E-FLEET-031", match="1 of 2 runs.*timed out"):
        outcome_of(runs, 2, 0)
    messages = ["h1: no gen_result in time", "h1: no sink_result in time"]
    runs = runs.assign(goodput_MBps=float("nan"), message=messages)
    with refused(HostError, "E-FLEET-067", match="h1: 2 of 2 runs.*no gen_result") as silent:
        outcome_of(runs, 2, 0)
    assert silent.value.host == "h1"
    runs.loc[1, "message"] = "h0: no sink_result in time"
    with refused(NetlabError, "E-FLEET-031"):
        outcome_of(runs, 2, 0)


def test_a_lease_number_grows_also_when_the_clock_is_set_back(plan):
    moments = iter((5.0, 2.0, 9.0))
    campaigns = [open_campaign(plan, FleetOptions(), clock=lambda: next(moments)) for _ in "123"]
    numbers = [campaign["number"] for campaign in campaigns]
    assert numbers == [5000, 5001, 9000]
    assert 1 <= len(controller_name()) <= 64 and " " not in controller_name()


def test_one_controller_runs_a_fleet_and_waits_for_jobs_of_a_former_one(plan):
    with (
        controlling(plan.directory),
        refused(NetlabError, "E-FLEET-033"),
        controlling(plan.directory),
    ):
        pytest.fail("two controllers")
    with open(plan.folder / job.JOBS_LOCK, "ab") as lock:
        fcntl.flock(lock, fcntl.LOCK_SH)
        with refused(NetlabError, "E-FLEET-035"):
            wait_for_jobs(plan.folder, 0.1)
    wait_for_jobs(plan.folder, 0.1)


def test_the_status_counts_jobs_and_names_hosts_and_reasons(plan):
    log_event(plan.folder, "campaign_started", number=1000)
    run_job(plan, plan.jobs[0], lambda *_: JobOutcome())
    gone = HostError("h3", "is [gone]", code="E-HOST-011")
    for each in [each for each in plan.jobs if "h3" in each.pair][:2]:
        run_job(plan, each, failing(gone))
    started = plan.jobs[-1]
    log_event(plan.folder, "job_started", job=started.job_id, lease=1000)
    idle = fleet_status(plan)
    assert (idle.jobs, idle.done, idle.failed, idle.running) == (24, 1, 2, 0)
    assert idle.sentence == "1 of 24 jobs done, 2 failed, no controller runs"
    with controlling(plan.directory):
        status = fleet_status(plan, clock=lambda: time.time() + 60)
    states = {host.host: host for host in status.hosts}
    assert status.running == 1 and status.remaining_s == pytest.approx(23 * 60, rel=0.1)
    assert states["h3"].word == "skipped" and states["h3"].reason == "h3: is [gone]"
    assert {states[host].word for host in started.pair} <= {"measuring", "skipped"}
    assert states["h0"].done == 1 and states["h0"].reason == ""
    assert "1 hosts skipped" in status.sentence
    for each in plan.jobs:
        write_result(plan, each)
    whole = fleet_status(plan)
    assert whole.sentence == "24 of 24 jobs done"
    runs = sum(each.visit.runs for each in plan.jobs)
    run_job(plan, plan.jobs[0], lambda *_: JobOutcome(measured=2, flagged=2))
    assert fleet_status(plan).sentence == f"24 of 24 jobs done, 2 of {runs} runs flagged"
    assert {host.word for host in whole.hosts} == {"done"}


def test_a_line_of_the_log_that_a_crash_cut_off_is_left_out(plan):
    log_event(plan.folder, "one", part=1)
    with open(plan.folder / "events.jsonl", "a") as log:
        log.write('{"event": "tw')
    assert [event["event"] for event in read_events(plan.folder)] == ["one"]
    assert json.loads((plan.folder / "events.jsonl").read_text().splitlines()[0])["at"]
    log_event(plan.folder, "three")
    assert [event["event"] for event in read_events(plan.folder)] == ["one", "three"]
