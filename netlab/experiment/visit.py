"""Measure one visit of a block: open its hosts, tune them, make its runs, write Parquet."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import pandas as pd

from netlab.errors import HostError, NetlabError, RunError, TuningError
from netlab.experiment.conditions import context_of
from netlab.experiment.endpoint import Endpoint, open_endpoints, tuned_ends
from netlab.experiment.memory_copy import Copies
from netlab.experiment.request import VisitRequest
from netlab.experiment.trial import Emulation, Trials, side_of
from netlab.experiment.watcher import RunDone
from netlab.generators import require
from netlab.generators.remote_process import difference, snapshot
from netlab.hosts.agent import HostLease
from netlab.lab.lab import Lab
from netlab.measure.exchange import RunEnd
from netlab.measure.flags import ForeignLoad, load_of, own_processes
from netlab.measure.ledger import one_machine
from netlab.measure.record import others_load, own_us
from netlab.notebooks.progress import WAITED, announce, note
from netlab.results.columns import TABLES
from netlab.results.frames import frame_of, joined
from netlab.results.store import Store, campaign_of
from netlab.study import Noise, Study
from netlab.study.schedule import Run, Visit
from netlab.tuning.plan import Change

# What else uses the hosts of a path, and a wait until it is little, before runs are measured.

SPAN_S = 0.2
"""Span of a reading: CPU times are known in ticks of 10 ms."""

NOTED_PERCENT = 2.0
"""Load of others that is said although it is within the limits; a login and a ping are less."""

QUIET_SPANS = 15
"""Quiet readings in a row after a loud one: bursts of other work have pauses."""


@dataclass(frozen=True)
class HostLoad:
    """Work of others on a host, read as in a run."""

    host: str
    steal_percent: float | None
    foreign: ForeignLoad | None

    def is_beyond(self, noise: Noise) -> bool:
        """True if a run under this load would be flagged."""
        steal, foreign = self.steal_percent or 0.0, self.foreign.percent if self.foreign else 0.0
        return steal > noise.steal_percent or foreign > noise.foreign_cpu_percent

    @property
    def is_noted(self) -> bool:
        """True if others use the host, or its processes cannot be read."""
        return self.foreign is None or self.foreign.percent >= NOTED_PERCENT

    @property
    def text(self) -> str:
        """``a: other programs use 48 % of the CPUs, most of it python3 (process 812)``."""
        if self.foreign is None:
            text = "its processes cannot be read"
        else:
            text = f"other programs use {self.foreign.percent:.1f} % of the CPUs"
            text += f", most of it {self.foreign.largest}" if self.foreign.largest else ""
        steal = f", steal {self.steal_percent:.1f} %" if self.steal_percent else ""
        return f"{self.host}: {text}{steal}"


@dataclass(frozen=True)
class LoadReader:
    """Reads the work of others on each host."""

    ends: Sequence[RunEnd]
    now: Callable[[], float] = time.monotonic
    pause: Callable[[float], None] = time.sleep

    @classmethod
    def of(cls, endpoints: dict[str, Endpoint]) -> LoadReader:
        """Reads it on the machines of a path."""
        one = one_machine({name: endpoint.facts for name, endpoint in endpoints.items()})
        return cls([side_of(endpoint) for endpoint in endpoints.values()][: 1 if one else None])

    def loads(self) -> list[HostLoad]:
        """Work of others on each host, over `SPAN_S`."""
        before = [snapshot(end, others=True) for end in self.ends]
        self.pause(SPAN_S)
        after = [snapshot(end, others=True) for end in self.ends]
        reports = [late["others"] for late in after]
        own = own_processes([others for others in reports if others])
        loads = []
        for end, early, late, others in zip(self.ends, before, after, reports, strict=True):
            meter = difference(early, late)
            steal = others_load(meter, own_us(meter))["steal_percent"]
            foreign = load_of(others, len(meter["cpu"]), own) if others else None
            loads.append(HostLoad(end.host, steal, foreign))
        return loads


def wait_until_quiet(
    reader: LoadReader, noise: Noise, at_most_s: float, *, say: Callable[[str], None]
) -> float:
    """Say what else uses the hosts; if that is beyond a limit, wait until it is not."""
    began_s, quiet, first = reader.now(), 0, True
    while True:
        loads = reader.loads()
        loud = [load for load in loads if load.is_beyond(noise)]
        if first:
            wait = f"; waiting for quiet, {at_most_s:.0f} s at most" if loud else ""
            if noted := [load.text for load in loads if load in loud or load.is_noted]:
                say("; ".join(noted) + wait)
            if not loud:
                return 0.0
        first, quiet = False, 0 if loud else quiet + 1
        waited_s = reader.now() - began_s
        if quiet == QUIET_SPANS or waited_s + SPAN_S > at_most_s:
            if loud:
                say(f"not quiet after {waited_s:.0f} s: {loud[0].text}; measuring all the same")
            return waited_s


SAVE_EVERY_S = 5.0
"""Interval between writes: the most that is lost if the controller is killed."""

MAX_FAILURES = 3
"""Abort the visit after this many consecutive failures for each of its generators."""


SAMPLES = tuple(table for table in TABLES if table != "runs")


@dataclass
class VisitResult:
    runs: pd.DataFrame
    intervals: pd.DataFrame
    diffs: dict[str, tuple[Change, ...]] = field(default_factory=dict)
    changed: tuple[str, ...] = ()
    """Settings that the tuning left and that changed meanwhile, one sentence each."""
    unsupported: list[dict] = field(default_factory=list)
    conflicts: list[dict] = field(default_factory=list)
    beside: list[dict] = field(default_factory=list)


def run_visit(
    study: Study,
    request: VisitRequest,
    *,
    lab: Lab | None = None,
    lease: HostLease | None = None,
    progress: Callable[[RunDone], None] = lambda run: None,
    choose: Callable[[dict, Callable[[Run], dict]], None] | None = None,
) -> VisitResult:
    """Measure the runs of a visit in their order, or those that `choose` measures of its cells.

    `study` is the content of the request's. `choose` gets the provenance context, and what measures
    one run and returns its record.
    """
    visit, wait_s = request.visit(study), request.wait_s
    store, campaign = Store(Path(request.results)), campaign_of(request.part)
    with ExitStack() as stack:
        endpoints = stack.enter_context(open_endpoints(study, visit.link, lab=lab, lease=lease))
        facts = {name: endpoint.facts for name, endpoint in endpoints.items()}
        context = context_of(study, visit, facts, lab)
        results = _Results(visit, store, request.part)
        require({run.group.generator for run in visit.runs}, context["generators"])
        copies = Copies.of(study, visit.path, endpoints, store.directory, campaign)
        trials = Trials(
            study, visit, endpoints, context, Emulation.of(study, visit.link, lab), copies, campaign
        )
        groups = [run.group for run in visit.runs]
        with tuned_ends(study, endpoints, groups, visit.tuning, visit.mtu_B) as trials.controls:
            trials.check_path()
            if wait_s >= SPAN_S:  # what an earlier wait leaves may be shorter than a reading
                # after the work on the hosts, which their sshd does and which is not a stranger's
                waited_s = wait_until_quiet(LoadReader.of(endpoints), study.noise, wait_s, say=note)
                announce(f"{WAITED}{waited_s:.3f}")
            take = partial(results.measure, trials, progress)
            try:
                if choose is not None:
                    choose(context, take)
                else:
                    for run in visit.runs:
                        take(run)
            finally:
                results.save()
        changed = _changed(study, endpoints.values())
        if changed:
            results.flag_all("tuning_drift", "; ".join(changed))
            for line in changed:
                note(f"{line}: runs of {visit.visit_id} are flagged")
        runs, intervals = results.runs(), results.samples("intervals")
        result = VisitResult(runs, intervals, changed=changed)
    # The tunings are reverted here, so conflicts are known.
    for name, endpoint in endpoints.items():
        if endpoint.session is not None:
            result.diffs[name] = endpoint.session.plan()
        result.unsupported += endpoint.unsupported()
        result.conflicts += endpoint.conflicts()
        result.beside += endpoint.beside()
    for conflict in result.conflicts:
        note(f"{conflict['host']}: {conflict['knob']}: {conflict['reason']}")
    return result


def _changed(study: Study, endpoints: Iterable[Endpoint]) -> tuple[str, ...]:
    """Settings found that changed during a visit, of ends whose runs check those of a tuning."""
    tuned = (end for end in endpoints if end.session is not None and not end.session.only_reads)
    return tuple(line for end in tuned for line in end.changed_since_opened(study))


class _Results:
    def __init__(self, visit: Visit, store: Store, part: str):
        self.visit, self.store, self.part = visit, store, part
        self._rows: list[dict] = []
        self._samples: dict[str, list[dict]] = {table: [] for table in SAMPLES}
        self._saved_at, self._saved = time.monotonic(), 0
        self._failures = 0
        self._most = MAX_FAILURES * len({run.group.generator for run in visit.runs})

    def measure(self, trials: Trials, progress: Callable[[RunDone], None], run: Run) -> dict:
        """Measure a run and return its record; stop at a lost host or tuning, or many failures."""
        try:
            row, samples = trials.measured(run)
        except HostError as error:
            self._add(trials.failed_row(run, "lost_host", str(error)))
            raise
        except TuningError as error:
            self._add(trials.failed_row(run, "failed", str(error)))
            raise
        except RunError as error:
            self._failures += 1
            self._add(row := trials.failed_row(run, "failed", str(error)))
            if self._failures == self._most:
                text = f"{self._failures} consecutive runs failed: {error}"
                visit_id = self.visit.visit_id
                raise NetlabError(f"visit {visit_id}: {text}", code="E-RUN-001") from error
            progress(RunDone(run.run_id, flags="failed"))
        else:
            self._failures = 0
            self._add(row, **samples)
            progress(RunDone.of(row))
        return row

    def _add(self, row: dict, **samples: list[dict]) -> None:
        self._rows.append(row)
        for table, parts in samples.items():
            self._samples[table] += parts
        if time.monotonic() - self._saved_at > SAVE_EVERY_S:
            self.save()

    def flag_all(self, flag: str, message: str) -> None:
        """Flag every run of the visit, and store them so."""
        for row in self._rows:
            flags = [*filter(None, row["flags"].split(","))]
            row["flags"] = ",".join(flags if flag in flags else [*flags, flag])
            row["message"] = "; ".join(filter(None, (row["message"], message)))
        self._saved = -1
        self.save()

    def runs(self) -> pd.DataFrame:
        return frame_of(self._rows).sort_values("order", ignore_index=True)

    def samples(self, table: str) -> pd.DataFrame:
        return joined(self._samples[table], TABLES[table])

    def save(self) -> None:
        if self._saved < len(self._rows):
            samples = {table: self.samples(table) for table in SAMPLES}
            self.store.write(self.part, self.runs(), **samples)
            self._saved_at, self._saved = time.monotonic(), len(self._rows)
