"""Measure one visit of a block: open its hosts, tune them, make its runs, write Parquet."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import pandas as pd

from netlab.errors import HostError, NetlabError, RunError, TuningError
from netlab.experiment.conditions import context_of
from netlab.experiment.emulation import Emulation
from netlab.experiment.endpoint import Endpoint, open_endpoints, tuned_ends
from netlab.experiment.memory_copy import Copies
from netlab.experiment.quiet import SPAN_S, LoadReader, wait_until_quiet
from netlab.experiment.request import VisitRequest
from netlab.experiment.trial import Trials
from netlab.experiment.watcher import RunDone
from netlab.files.recorded_facts import BlockConditions
from netlab.generators import require
from netlab.hosts.lease import HostLease
from netlab.lab.lab import Lab
from netlab.notebooks.progress import WAITED, announce, note
from netlab.results.campaign_files import campaign_of
from netlab.results.columns import TABLES
from netlab.results.flags import Flag, join_flags, split_flags
from netlab.results.frames import frame_of, joined
from netlab.results.store import Store
from netlab.study import Study
from netlab.study.schedule import Run, Visit
from netlab.tuning.plan import Change

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
    choose: Callable[[BlockConditions, Callable[[Run], dict]], None] | None = None,
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
            results.flag_all(Flag.TUNING_DRIFT, "; ".join(changed))
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
            row, samples = trials.measure_run(run)
        except HostError as error:
            self._add(trials.failed_row(run, Flag.LOST_HOST, str(error)))
            raise
        except TuningError as error:
            self._add(trials.failed_row(run, Flag.FAILED, str(error)))
            raise
        except RunError as error:
            self._failures += 1
            self._add(row := trials.failed_row(run, Flag.FAILED, str(error)))
            if self._failures == self._most:
                text = f"{self._failures} consecutive runs failed: {error}"
                visit_id = self.visit.visit_id
                raise NetlabError(f"visit {visit_id}: {text}", code="E-RUN-001") from error
            progress(RunDone(run.run_id, flags=Flag.FAILED))
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

    def flag_all(self, flag: Flag, message: str) -> None:
        """Flag every run of the visit, and store them so."""
        for row in self._rows:
            row["flags"] = join_flags(dict.fromkeys([*split_flags(row["flags"]), flag]))
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
