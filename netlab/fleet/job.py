"""Jobs of a fleet: study and visit in, one atomically written result out.

The workflow runs ``python -m netlab.fleet.job DIRECTORY PAIR VISIT...``, and so can anyone by hand.
Visits that have a valid result are left out. Exit code 0: every result is written, be it of a
failure.
"""

from __future__ import annotations

import argparse
import ctypes
import fcntl
import os
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from types import FrameType

from netlab.errors import NetlabError, Unsupported, why
from netlab.files.bounded_json import read_json
from netlab.files.reading import open_regular
from netlab.files.writing import write_json
from netlab.fleet.events import log_event
from netlab.fleet.host_failures import clear_failures, failures, note_failure
from netlab.fleet.plan import DONE, FAILED, FleetJob, FleetPlan, JobOutcome, read_plan
from netlab.hosts.lease import HostLease

CAMPAIGN = "campaign.json"


JOBS_LOCK = ".jobs"


PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True)


def end_with_parent(number: int = signal.SIGTERM, parent: int | None = None) -> None:
    """Ask the kernel for a signal when the process that started this one dies (Linux)."""
    if _libc.prctl(PR_SET_PDEATHSIG, number, 0, 0, 0):
        reason = os.strerror(ctypes.get_errno())
        raise Unsupported(f"prctl(PR_SET_PDEATHSIG): {reason}", code="E-FLEET-038")
    if parent is not None and os.getppid() != parent:
        os.kill(os.getpid(), number)


Measure = Callable[[FleetPlan, FleetJob, HostLease], JobOutcome]


def run_job(plan: FleetPlan, job: FleetJob, measure: Measure) -> None:
    """Make one visit of one pair and write its result: done, or failed with the error."""
    folder, campaign = plan.folder, read_campaign(plan.folder)
    lease, limit = HostLease(campaign["controller"], campaign["number"]), campaign["skip_after"]
    named = {"job": job.job_id, "lease": lease.number}
    began_s = time.time()

    def write(status: str, **parts: object) -> None:
        hosts = {"key": plan.pair_key(job.pair), "hosts": job.pair, "status": status}
        times = {"began_s": began_s, "ended_s": time.time()}
        write_json(plan.done_file(job.job_id), hosts | named | times | parts)

    try:
        if skipped := [host for host in job.pair if failures(folder, host) >= limit]:
            text = f"{', '.join(skipped)}: skipped after {limit} failures in a row"
            raise NetlabError(text, code="E-FLEET-030")
        log_event(folder, "job_started", **named, pid=os.getpid())
        outcome = asdict(measure(plan, job, lease))
    except (NetlabError, OSError) as error:
        failure = {"code": getattr(error, "code", None), "message": str(error)}
        # none for an error of the path or the study
        named_hosts = getattr(error, "host", "").split(", ")
        blamed = [host for host in job.pair if host in named_hosts]
        write(FAILED, error=failure)
        log_event(folder, "job_failed", **named, **failure, hosts=blamed)
        for host in blamed:
            note_failure(folder, host)
            if failures(folder, host) == limit:
                aside_of = {"host": host, "lease": lease.number, "code": failure["code"]}
                log_event(folder, "host_put_aside", **aside_of)
    except KeyboardInterrupt:
        log_event(folder, "job_stopped", **named)
        raise
    else:
        # the result before the event: a job that is killed between the two is done
        write(DONE, **outcome)
        clear_failures(folder, job.pair)
        log_event(folder, "job_done", **named, **outcome, seconds=time.time() - began_s)


def read_campaign(folder: Path) -> dict:
    """Controller, lease number and limit of failures of the present campaign."""
    try:
        content = read_json(folder / CAMPAIGN)
        return {key: content[key] for key in ("controller", "number", "skip_after")}
    except (OSError, ValueError, KeyError) as error:
        text = f"{folder / CAMPAIGN}: no campaign ({why(error)}); start one with `netlab fleet run`"
        raise NetlabError(text, code="E-FLEET-029") from None


def main(argv: list[str] | None = None, measure: Measure | None = None) -> int:
    parser = argparse.ArgumentParser(prog="netlab.fleet.job", description=__doc__)
    parser.add_argument("directory", type=Path)
    parser.add_argument("pair")
    parser.add_argument("visits", nargs="+", metavar="visit")
    parser.add_argument("--lease", type=int, help="lease number of the campaign they belong to")
    parser.add_argument("--parent", type=int, help="process that the jobs end with")
    parser.add_argument("--mark", type=Path, help="file to create once every result is written")
    arguments = parser.parse_args(argv)
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        end_with_parent(parent=arguments.parent)
        plan = read_plan(arguments.directory)
        with open_regular(plan.folder / JOBS_LOCK, "ab") as lock:
            # the controller waits for this lock, so that no job of a former one is left
            fcntl.flock(lock, fcntl.LOCK_SH)
            now = read_campaign(plan.folder)["number"]
            if arguments.lease not in (None, now):
                raise NetlabError(
                    f"{plan.folder}: the job belongs to lease {arguments.lease}, and a controller "
                    f"has lease {now} now",
                    code="E-FLEET-036",
                )
            if measure is None:
                from netlab.fleet import job_visit  # takes a second to import

                measure = job_visit.measure_job
            for job in [plan.job(arguments.pair, visit) for visit in arguments.visits]:
                if not plan.is_done(job):
                    run_job(plan, job, measure)
        if arguments.mark is not None:
            arguments.mark.touch()
    except NetlabError as error:
        print(f"netlab: {error.with_code()}", file=sys.stderr)
        return error.exit_code
    except OSError as error:
        print(f"netlab: {error.filename or arguments.directory}: {why(error)}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 128 + signal.SIGTERM
    return 0


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main())
