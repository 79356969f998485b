"""The state of a fleet: jobs, hosts and the time that is left, from its files alone."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from netlab.fleet.controller import LOCK, is_locked
from netlab.fleet.events import read_events
from netlab.fleet.host_failures import failures
from netlab.fleet.job import read_campaign
from netlab.fleet.plan import DONE, FAILED, FleetPlan

HEADS = ("host", "state", "done", "running", "failed", "left", "last failure")


class HostState(NamedTuple):
    host: str
    word: str
    done: int
    running: int
    failed: int
    left: int
    reason: str


@dataclass(frozen=True)
class FleetStatus:
    jobs: int
    done: int
    running: int
    failed: int
    is_alive: bool
    remaining_s: float | None
    hosts: tuple[HostState, ...]
    runs: int
    """Runs of the jobs that are done."""
    flagged: int

    @property
    def sentence(self) -> str:
        skipped = sum(host.word == "skipped" for host in self.hosts)
        counts = {"running": self.running, "failed": self.failed, "hosts skipped": skipped}
        parts = [f"{self.done} of {self.jobs} jobs done"]
        parts += [f"{count} {word}" for word, count in counts.items() if count]
        if self.flagged:
            parts.append(f"{self.flagged} of {self.runs} runs flagged")
        if self.done == self.jobs:
            return ", ".join(parts)
        if not self.is_alive:
            parts.append("no controller runs")
        elif self.remaining_s is not None:
            parts.append(f"about {self.remaining_s / 60:.0f} min left")
        return ", ".join(parts)

    def _repr_html_(self) -> str:
        # pandas, which the controller of a fleet does not need
        import pandas as pd

        from netlab.files.tables import Table

        frame = pd.DataFrame(self.hosts, columns=[*HEADS]).set_index("host")
        return Table(frame, self.sentence)._repr_html_()


def fleet_status(plan: FleetPlan, *, clock: Callable[[], float] = time.time) -> FleetStatus:
    alive, limit, number = is_locked(plan.folder / LOCK), 0, 0
    if (plan.folder / LOCK).exists():
        campaign = read_campaign(plan.folder)
        limit, number = campaign["skip_after"], campaign["number"]
    running, first_s, done_now, reasons = _happened(plan.folder, number)
    counts: dict[str, Counter[str]] = {name: Counter() for name in plan.hosts}
    total: Counter[str] = Counter()
    runs = flagged = 0
    for job in plan.jobs:
        result = plan.result(job) or {}
        state = result.get("status", "left")
        if state == DONE:
            runs += job.visit.runs
            flagged += result.get("flagged", 0)
        if alive and job.job_id in running and state != DONE:
            state = "running"
        for count in (total, *(counts[host] for host in job.pair)):
            count[state] += 1

    def of_host(host: str, each: Counter[str]) -> HostState:
        word = "waiting" if each["left"] or each[FAILED] else "done"
        word = "measuring" if each["running"] else word
        if alive and failures(plan.folder, host) >= limit:
            word = "skipped"
        numbers = (each[DONE], each["running"], each[FAILED], each["left"])
        return HostState(host, word, *numbers, reasons.get(host, "") if each[FAILED] else "")

    left = len(plan.jobs) - total[DONE]
    speed = done_now / max(clock() - first_s, 1e-3)
    return FleetStatus(
        jobs=len(plan.jobs),
        done=total[DONE],
        running=total["running"],
        failed=total[FAILED],
        is_alive=alive,
        remaining_s=left / speed if alive and speed else None,
        hosts=tuple(of_host(host, each) for host, each in counts.items()),
        runs=runs,
        flagged=flagged,
    )


def _happened(folder: Path, number: int) -> tuple[set[str], float, int, dict[str, str]]:
    """Running jobs, the campaign's first moment, jobs done in it, and hosts' last failures."""
    running: set[str] = set()
    reasons: dict[str, str] = {}
    first_s, done = 0.0, 0
    for event in read_events(folder):
        kind = event["event"]
        if kind == "campaign_started" and event["number"] == number:
            first_s = event["at_s"]
        if kind == "job_failed":
            reasons |= dict.fromkeys(event["hosts"], event["message"].split("\n")[0])
        if event.get("lease") != number:
            continue
        if kind == "job_started":
            running.add(event["job"])
        elif kind in ("job_done", "job_failed", "job_stopped"):
            running.discard(event["job"])
            done += kind == "job_done"
    return running, first_s, done, reasons
