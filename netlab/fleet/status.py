"""The state of a fleet: jobs, hosts and the time that is left, from its files alone."""

from __future__ import annotations

import fcntl
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from netlab.fleet.asides import failures
from netlab.fleet.controller import LOCK
from netlab.fleet.events import read_events
from netlab.fleet.job import read_campaign
from netlab.fleet.plan import DONE, FAILED, FleetPlan

if TYPE_CHECKING:
    from rich.table import Table

ENDED = ("job_done", "job_failed", "job_stopped")


@dataclass(frozen=True)
class HostState:
    """Jobs of a host by their state, and the reason of its last failure."""

    host: str
    done: int
    running: int
    failed: int
    left: int
    put_aside: bool
    reason: str

    @property
    def word(self) -> str:
        """``put aside``, ``measuring``, ``done`` or ``waiting``."""
        if self.put_aside:
            return "put aside"
        if self.running:
            return "measuring"
        return "waiting" if self.left or self.failed else "done"


@dataclass(frozen=True)
class FleetStatus:
    """The state of a fleet."""

    jobs: int
    done: int
    running: int
    failed: int
    is_alive: bool
    remaining_s: float | None
    hosts: tuple[HostState, ...]

    @property
    def sentence(self) -> str:
        """Jobs, and when they will be done."""
        parts = [f"{self.done} of {self.jobs} jobs done"]
        parts += [f"{self.running} running"] * (self.running > 0)
        parts += [f"{self.failed} failed"] * (self.failed > 0)
        aside = sum(host.put_aside for host in self.hosts)
        parts += [f"{aside} hosts put aside"] * (aside > 0)
        if self.done == self.jobs:
            return parts[0]
        if not self.is_alive:
            return ", ".join([*parts, "no controller runs"])
        if self.remaining_s is not None:
            parts.append(f"about {self.remaining_s / 60:.0f} min left")
        return ", ".join(parts)

    def _repr_html_(self) -> str:
        import pandas as pd

        from netlab.files.tables import Table

        heads = {"word": "state", "reason": "last failure"}
        columns = ["host", "word", "done", "running", "failed", "left", "reason"]
        rows = [[getattr(host, column) for column in columns] for host in self.hosts]
        frame = pd.DataFrame(rows, columns=columns).set_index("host")
        return Table(frame, self.sentence, heads)._repr_html_()

    def table(self) -> Table:
        """A table of the hosts for a terminal."""
        from rich.table import Table

        table = Table(title=self.sentence, title_justify="left", box=None, pad_edge=False)
        for head in ("host", "state", "done", "running", "failed", "left", "last failure"):
            number = head in ("done", "running", "failed", "left")
            table.add_column(head, justify="right" if number else "left", no_wrap=head == "host")
        for one in self.hosts:
            counts = (str(n) for n in (one.done, one.running, one.failed, one.left))
            table.add_row(one.host, one.word, *counts, one.reason)
        return table


def fleet_status(plan: FleetPlan, *, clock: Callable[[], float] = time.time) -> FleetStatus:
    """Read the state of a fleet."""
    alive, limit, number = _is_locked(plan.folder / LOCK), 0, 0
    if (plan.folder / LOCK).exists():
        campaign = read_campaign(plan.folder)
        limit, number = campaign["aside_after"], campaign["number"]
    running, first_s, done_now, reasons = _happened(plan.folder, number)
    running = running if alive else set()
    counts: dict[str, Counter[str]] = {name: Counter() for name in plan.hosts}
    total: Counter[str] = Counter()
    for job in plan.jobs:
        status = (plan.result(job) or {}).get("status", "left")
        state = "running" if job.job_id in running and status != DONE else status
        total[state] += 1
        for host in job.pair:
            counts[host][state] += 1
    left = len(plan.jobs) - total[DONE]
    speed = done_now / max(clock() - first_s, 1e-3) if first_s else 0.0
    return FleetStatus(
        jobs=len(plan.jobs),
        done=total[DONE],
        running=total["running"],
        failed=total[FAILED],
        is_alive=alive,
        remaining_s=left / speed if alive and speed else None,
        hosts=tuple(
            HostState(
                host,
                each[DONE],
                each["running"],
                each[FAILED],
                each["left"],
                put_aside=alive and failures(plan.folder, host) >= limit,
                reason=reasons.get(host, "") if each[FAILED] else "",
            )
            for host, each in counts.items()
        ),
    )


def _happened(folder: Path, number: int) -> tuple[set[str], float, int, dict[str, str]]:
    """Running jobs, the campaign's first moment, jobs done in it, and hosts' last failures."""
    running: set[str] = set()
    reasons: dict[str, str] = {}
    first_s, done = 0.0, 0
    for event in read_events(folder):
        if event["event"] == "campaign_started" and event["number"] == number:
            first_s, done = event["at_s"], 0
        if event["event"] == "job_failed":
            reasons |= dict.fromkeys(event["hosts"], event["message"].split("\n")[0])
        if event.get("lease") != number:
            continue
        if event["event"] == "job_started":
            running.add(event["job"])
        elif event["event"] in ENDED:
            running.discard(event["job"])
            done += event["event"] == "job_done"
    return running, first_s, done, reasons


def _is_locked(path: Path) -> bool:
    try:
        with open(path, "rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False
