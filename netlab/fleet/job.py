"""Jobs of a fleet: study and visit in, one atomically written result out.

The workflow runs ``python -m netlab.fleet.job DIRECTORY PAIR VISIT...``, and so can anyone by hand.
Visits that have a valid result are left out. Exit code 0: every result is written, be it of a
failure.
"""

from __future__ import annotations

import argparse
import fcntl
import os
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from types import FrameType

from netlab.errors import HostError, NetlabError, why
from netlab.files.json_file import read_json
from netlab.files.writing import write_json
from netlab.fleet.events import end_with_parent, failures, forgive, log_event, note_failure
from netlab.fleet.plan import DONE, FAILED, FleetJob, FleetPlan, read_plan
from netlab.hosts.agent import HostLease

CAMPAIGN = "campaign.json"
JOBS_LOCK = ".jobs"


@dataclass(frozen=True)
class JobOutcome:
    """Runs of a job: measured now, valid from before, and flagged."""

    measured: int = 0
    kept: int = 0
    flagged: int = 0


Measure = Callable[[FleetPlan, FleetJob, HostLease], JobOutcome]


def run_job(
    plan: FleetPlan,
    job: FleetJob,
    measure: Measure,
    *,
    clock: Callable[[], float] = time.time,
) -> None:
    """Make one visit of one pair and write its result: done, or failed with the error."""
    folder, campaign = plan.folder, read_campaign(plan.folder)
    lease = HostLease(campaign["controller"], campaign["number"])
    named = {"job": job.job_id, "lease": lease.number}
    began_s = clock()
    result = {
        "key": plan.pair_key(job.pair),
        "job": job.job_id,
        "hosts": list(job.pair),
        "lease": lease.number,
        "began_s": began_s,
    }
    try:
        limit = campaign["aside_after"]
        if aside := [host for host in job.pair if failures(folder, host) >= limit]:
            text = f"{', '.join(aside)}: put aside after {limit} failures in a row"
            raise NetlabError(text, code="E-FLEET-030")
        log_event(folder, "job_started", **named, pid=os.getpid())
        outcome = measure(plan, job, lease)
    except (NetlabError, OSError) as error:
        failure = {"code": getattr(error, "code", None), "message": str(error)}
        # none for an error of the path or the study
        named_hosts = error.host.split(", ") if isinstance(error, HostError) else []
        blamed = [host for host in job.pair if host in named_hosts]
        _write(plan, job, result | {"status": FAILED, "error": failure}, clock)
        log_event(folder, "job_failed", **named, **failure, hosts=blamed)
        for host in blamed:
            if note_failure(folder, host) == campaign["aside_after"]:
                log_event(
                    folder, "host_put_aside", host=host, lease=lease.number, code=failure["code"]
                )
    except KeyboardInterrupt:
        log_event(folder, "job_stopped", **named)
        raise
    else:
        # the result before the event: a job that is killed between the two is done
        _write(plan, job, result | {"status": DONE, **asdict(outcome)}, clock)
        forgive(folder, job.pair)
        log_event(folder, "job_done", **named, **asdict(outcome), seconds=clock() - began_s)


def _write(plan: FleetPlan, job: FleetJob, result: dict, clock: Callable[[], float]) -> None:
    write_json(plan.done_file(job.job_id), result | {"ended_s": clock()})


def read_campaign(folder: Path) -> dict:
    """Controller, lease number and limit of failures of the present campaign."""
    try:
        content = read_json(folder / CAMPAIGN)
        return {key: content[key] for key in ("controller", "number", "aside_after")}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise NetlabError(
            f"{folder / CAMPAIGN}: no campaign ({why(error)}); start one with `netlab fleet run`",
            code="E-FLEET-029",
        ) from None


def main(argv: list[str] | None = None, measure: Measure | None = None) -> int:
    given = _arguments(argv)
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        end_with_parent(parent=given.parent)
        plan = read_plan(given.directory)
        with open(plan.folder / JOBS_LOCK, "ab") as lock:
            # the controller waits for this lock, so that no job of a former one is left
            fcntl.flock(lock, fcntl.LOCK_SH)
            now = read_campaign(plan.folder)["number"]
            if given.lease not in (None, now):
                raise NetlabError(
                    f"{plan.folder}: the job belongs to lease {given.lease}, and a controller has "
                    f"lease {now} now",
                    code="E-FLEET-036",
                )
            if measure is None:
                from netlab.fleet import measured  # takes a second to import

                measure = measured.measure_job
            for job in [plan.job(given.pair, visit) for visit in given.visits]:
                if not plan.is_done(job):
                    run_job(plan, job, measure)
        if given.mark is not None:
            given.mark.touch()
    except NetlabError as error:
        print(f"netlab: {error.with_code()}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        return 128 + signal.SIGTERM
    return 0


def _arguments(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="netlab.fleet.job", description=__doc__)
    parser.add_argument("directory", type=Path)
    parser.add_argument("pair")
    parser.add_argument("visits", nargs="+", metavar="visit")
    parser.add_argument("--lease", type=int, help="lease number of the campaign they belong to")
    parser.add_argument("--parent", type=int, help="process that the jobs end with")
    parser.add_argument("--mark", type=Path, help="file to create once every result is written")
    return parser.parse_args(argv)


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main())
