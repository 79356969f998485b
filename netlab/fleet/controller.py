"""Run a fleet: passes of the workflow until no job is left, each under one lease number."""

from __future__ import annotations

import fcntl
import getpass
import os
import re
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from netlab.errors import NetlabError, printable
from netlab.files.locks import take
from netlab.files.reading import open_regular, read_text
from netlab.files.writing import write_json
from netlab.fleet.batches import BATCH_S
from netlab.fleet.events import log_event, read_events
from netlab.fleet.host_failures import clear_failures
from netlab.fleet.job import CAMPAIGN, JOBS_LOCK, end_with_parent, read_campaign
from netlab.fleet.plan import FOLDER, FleetPlan
from netlab.fleet.workflow import engine_argv, require_engine, write_workflow

LOCK, LOG = ".lock", "engine.log"
LOG_LINES = 10
FULL_B = 64 << 10
"""Less free space than this, and records of a few jobs do not fit: the disk is full."""
WATCH_S = 5.0
"""Time between two polls of a workflow that runs."""
ORPHANS_S = 60.0
"""Time for jobs of a controller that died to revert their hosts and end."""


@dataclass(frozen=True)
class FleetOptions:
    at_once: int = 8
    attempts: int = 3
    skip_after: int = 3
    retry_s: float = 20.0
    batch_s: float = BATCH_S


def controller_name() -> str:
    """User and host of this process, as a lease takes it."""
    name = f"{getpass.getuser()}@{socket.gethostname()}"
    return re.sub(r"[^!-~]", "?", name)[:64]


def run_fleet(
    plan: FleetPlan,
    options: FleetOptions,
    *,
    job_argv: Sequence[str] | None = None,
    say: Callable[[str], None] = lambda text: None,
    watch: Callable[[], None] = lambda: None,
    clock: Callable[[], float] = time.time,
) -> int:
    """Measure every job of a plan that has no result yet; the number of jobs that have one."""
    require_engine()
    folder = plan.folder
    with controlling(plan.directory):
        campaign = open_campaign(plan, options, clock=clock)
        log_event(folder, "campaign_started", **campaign, jobs=len(plan.jobs))
        number = campaign["number"]
        left = list(plan.remaining())
        try:
            for attempt in range(1, options.attempts + 1):
                if not left:
                    break
                if attempt > 1:
                    say(f"{len(left)} jobs failed; the next pass follows in {options.retry_s:g} s")
                    time.sleep(options.retry_s)
                clear_failures(folder, plan.hosts)
                write_workflow(
                    plan,
                    left,
                    at_once=options.at_once,
                    number=number,
                    batch_s=options.batch_s,
                    job_argv=job_argv,
                )
                log_event(folder, "pass_started", number=attempt, jobs=len(left))
                counts = f"{len(left)} of {len(plan.jobs)} jobs, {options.at_once} at a time"
                say(f"pass {attempt}: {counts}")
                _pass(plan, watch)
                left = list(plan.remaining())
        finally:
            left = list(plan.remaining())
            log_event(folder, "campaign_ended", number=number, remaining=len(left))
    return len(plan.jobs) - len(left)


@contextmanager
def controlling(directory: Path) -> Iterator[None]:
    """Lock the fleet of a directory against a second controller; wait for jobs of a former one."""
    folder = directory / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    with open_regular(folder / LOCK, "a+b") as lock:
        holder = take(lock.fileno())
        if holder is not None:
            text = f"another controller runs the fleet in {folder}: {holder}"
            raise NetlabError(text, code="E-FLEET-033")
        wait_for_jobs(folder)
        yield


def open_campaign(
    plan: FleetPlan, options: FleetOptions, *, clock: Callable[[], float] = time.time
) -> dict[str, Any]:
    """Begin a campaign with a lease number of its own; jobs of former ones refuse to start.

    The number is the time in ms, above all that this or another controller has taken before.
    """
    before = 0
    with suppress(NetlabError):
        before = int(read_campaign(plan.folder)["number"])
    number = max(int(clock() * 1000), before + 1)
    campaign = {"controller": controller_name(), "number": number}
    campaign["skip_after"] = options.skip_after
    write_json(plan.folder / CAMPAIGN, campaign)
    return campaign


def _pass(plan: FleetPlan, watch: Callable[[], None]) -> None:
    folder = plan.folder

    def started() -> int:
        return sum(event["event"] in ("job_started", "job_failed") for event in read_events(folder))

    before = started()
    code = _engine(folder, watch)
    # a disk may have room for the record of a failure, and not for what a job measured
    if (code > 0 or any(plan.remaining())) and _is_full(folder):
        reason = "no space is left on its file system, and jobs cannot record their results"
        remedy = "what they measured so far is complete: free some space and run it again"
        raise NetlabError(f"{printable(str(folder))}: {reason}; {remedy}", code="E-FLEET-066")
    if code > 0 and started() == before:
        tail = read_text(folder / LOG, errors="replace").splitlines()
        raise NetlabError(
            f"Snakemake ended with exit code {code}; the end of {folder / LOG}:\n"
            + "\n".join(tail[-LOG_LINES:]),
            code="E-FLEET-034",
        )


def _is_full(folder: Path) -> bool:
    found = os.statvfs(folder)
    without_inode = found.f_files > 0 and found.f_favail == 0
    return without_inode or found.f_bavail * found.f_frsize < FULL_B


def _engine(folder: Path, watch: Callable[[], None]) -> int:
    """Run the workflow; its exit code. Jobs end with it, and it ends with this process."""
    parent = os.getpid()
    with open_regular(folder / LOG, "ab") as log:
        process = subprocess.Popen(
            engine_argv(folder),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            env={**os.environ, "PYTHONSAFEPATH": "1"},  # the plan's folder may be somebody else's
            start_new_session=True,  # a Ctrl-C is for this process, which ends the others
            preexec_fn=lambda: end_with_parent(signal.SIGKILL, parent),
        )
        try:
            while True:
                watch()
                with suppress(subprocess.TimeoutExpired):
                    return process.wait(WATCH_S)
        finally:
            process.kill()  # jobs receive SIGTERM, and revert their hosts
            process.wait()
            wait_for_jobs(folder)


def wait_for_jobs(folder: Path, timeout_s: float = ORPHANS_S) -> None:
    """Wait until no job of an earlier engine is left; each has a shared lock."""
    deadline = time.monotonic() + timeout_s
    with open_regular(folder / JOBS_LOCK, "ab") as lock:
        while True:
            with suppress(BlockingIOError):
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            if time.monotonic() > deadline:
                raise NetlabError(
                    f"jobs of an earlier controller still run after {timeout_s:g} s; "
                    f"`fuser {folder / JOBS_LOCK}` lists them",
                    code="E-FLEET-035",
                )
            time.sleep(0.05)


def is_locked(path: Path) -> bool:
    try:
        with open_regular(path) as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False
