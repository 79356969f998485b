"""Measure one visit of a pair as a campaign of one controller does."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

import pandas as pd

from netlab.errors import HostError, NetlabError
from netlab.experiment.campaign import Rounds
from netlab.experiment.campaign_record import CampaignRecord, exclusive, open_visit
from netlab.experiment.request import VisitRequest
from netlab.experiment.visit import run_visit
from netlab.experiment.watcher import Watcher
from netlab.files.bounded_json import read_json
from netlab.files.writing import write_json
from netlab.fleet.pair_study import PairEnds, pair_study
from netlab.fleet.pairs import Pair
from netlab.fleet.plan import FleetJob, FleetPlan, JobOutcome, pair_id
from netlab.hosts.lease import HostLease, LeaseRefused
from netlab.measure.exchange import silent_host
from netlab.study import Study, schedule
from netlab.survey.paths import surveyed

T = TypeVar("T")
BUSY = "(in_use)"
"""End of the message of an agent that cannot start because another serves the host."""

BUSY_S = 30.0
"""Time in which a busy host may become free: that of a job that reverts and ends."""

RETRY_S = 2.0


def measure_job(plan: FleetPlan, job: FleetJob, lease: HostLease) -> JobOutcome:
    """Measure the runs of a job that have no valid record yet."""
    hosts = tuple(plan.hosts[name] for name in job.pair)
    ends = plan.ends(job.pair) or while_busy(lambda: found_ends(plan, job.pair))
    study = pair_study(plan.study(), job.pair, (hosts[0], hosts[1]), ends)
    visit = schedule.visit(study, job.visit.block_id, job.visit.round)
    directory = plan.pair_directory(job.pair)
    with exclusive(directory):
        return while_busy(lambda: _measured(study, visit, directory, lease))


def while_busy(
    attempt: Callable[[], T],
    *,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> T:
    """Try again while another agent serves a host, for a job that ends takes seconds to revert."""
    until = clock() + BUSY_S
    while True:
        try:
            return attempt()
        except HostError as error:
            if isinstance(error, LeaseRefused) or BUSY not in str(error) or clock() > until:
                raise
        sleep(RETRY_S)


class _PairRounds(Rounds):
    """The rounds of a pair, whose visits this process makes under a lease, without a notebook."""

    def __init__(self, record: CampaignRecord, lease: HostLease):
        super().__init__(record, Watcher())
        self.lease = lease

    def make_visit(self, request: VisitRequest) -> None:
        """Measure a visit; what other pairs do does not end in a wait, so there is none."""
        run_visit(self.study, request, lease=self.lease)
        self.measured += len(request.runs)


def _measured(study: Study, visit: schedule.Visit, directory: Path, lease: HostLease) -> JobOutcome:
    record, todo = open_visit(study, visit, directory)
    pair_rounds = _PairRounds(record, lease)
    pair_rounds.measure_one(visit)
    runs, _ = record.store.block(visit.block_id)
    kept = len(visit.runs) - len(todo.runs)
    return outcome_of(runs[runs["round"] == visit.round], pair_rounds.measured, kept)


def outcome_of(runs: pd.DataFrame, measured: int, kept: int) -> JobOutcome:
    without = runs["goodput_MBps"].isna()
    if without.any():
        reasons = runs.loc[without, "message"].fillna("")
        text = f"{without.sum()} of {len(runs)} runs have no goodput, the first: {reasons.iloc[0]}"
        silent = set(map(silent_host, reasons))
        if len(silent) == 1 and "" not in silent:
            raise HostError(silent.pop(), text, code="E-FLEET-067")
        raise NetlabError(text, code="E-FLEET-031")
    return JobOutcome(measured, kept, flagged=int((runs["flags"] != "").sum()))


def found_ends(plan: FleetPlan, pair: Pair) -> PairEnds:
    """Data addresses and interfaces of a pair, asked of its hosts once and then remembered."""
    file = plan.folder / "ends" / f"{pair_id(pair)}.json"
    key = plan.pair_key(pair)
    with suppress(OSError, ValueError, KeyError):
        ends = read_json(file)
        if ends["key"] == key:
            one, other = map(tuple, ends["ends"])
            return one, other
    first, second = (plan.hosts[name].data_address for name in pair)
    data = (first, second) if first and second else None
    path, *_ = surveyed({name: plan.hosts[name].ssh(name) for name in pair}, data)
    one, other = ((end.address, end.interface.name) for end in path.ends)
    write_json(file, {"key": key, "ends": [one, other]})
    return one, other
