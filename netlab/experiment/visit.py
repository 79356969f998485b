"""Measure one visit of a block: open its hosts, tune them, make its runs, write Parquet."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import dataclass, field

import pandas as pd

import netlab
from netlab import core
from netlab.errors import HostError, NetlabError, RunError, TuningError
from netlab.experiment.copies import Copies
from netlab.experiment.emulation import Emulation
from netlab.experiment.endpoint import Endpoint, TuningPlan, open_endpoints
from netlab.experiment.measurement import side_of
from netlab.experiment.quiet import SPAN_S, wait_until_quiet
from netlab.experiment.trial import Trials
from netlab.experiment.watcher import RunDone
from netlab.generators import require
from netlab.hosts.lease import HostLease
from netlab.lab.lab import Lab
from netlab.measure.machines import one_machine
from netlab.notebooks.progress import WAITED, announce, note
from netlab.results import SCHEMA_VERSION, TABLES, Store, frame_of
from netlab.study import Study
from netlab.study.schedule import Run, Visit

SAVE_EVERY_S = 5.0
"""Interval between writes: the most that is lost if the controller is killed."""

MAX_FAILURES = 3
"""Abort the visit after this many consecutive failures."""


SAMPLES = tuple(table for table in TABLES if table != "runs")

STABLE_FACTS = (
    *("kernel", "machine", "cpu_model", "cpus", "governor"),
    *("nic_driver", "nic_driver_version", "nic_firmware", "link_speed_Mbps"),
    *("pci_vendor", "pci_device", "bus_width", "bus_speed"),
    *("bus_slot_speed", "bus_pci_x_bits"),
)


@dataclass
class VisitResult:
    """The result of a visit, for its notebook."""

    runs: pd.DataFrame
    intervals: pd.DataFrame
    diffs: dict[str, TuningPlan] = field(default_factory=dict)
    unsupported: list[dict] = field(default_factory=list)
    conflicts: list[dict] = field(default_factory=list)


def context_of(study: Study, visit: Visit, facts: dict[str, dict], lab: Lab | None) -> dict:
    """Provenance that a stored run must match to stay valid, besides its own factors."""
    hosts = [end.host for end in study.path(visit.link).ends]
    profiles = {host: study.tuning_profile(host, visit.tuning) for host in hosts}
    # A run as found stands only as long as the settings found are the same.
    found = {
        host: {"mtu_B": facts[host].get("mtu_B"), **facts[host].get("found", {})}
        for host in hosts
        if visit.mtu_B is None
    }
    return {
        "schema": SCHEMA_VERSION,
        "version": netlab.__version__,
        "agent": core.source_digest(),
        "hosts": {host: stable_facts(facts[host]) for host in hosts},
        "emulated_with": None if lab is None else lab.emulated_with(visit.link),
        "task_group": None if lab is None else lab.task_group,
        # absent otherwise, so that the runs of other labs stand
        **({"user_namespace": True} if lab is not None and lab.user_namespace else {}),
        "profiles": {host: profile.model_dump(mode="json") for host, profile in profiles.items()},
        "found": found,
        "generators": {
            name: {host: facts[host]["generators"][name] for host in hosts}
            for name in study.generators(visit.path)
        },
    }


def stable_facts(facts: dict) -> dict:
    """Facts of a host that a result depends on: without load, free space and uptime."""
    return {name: facts.get(name) for name in STABLE_FACTS}


def run_visit(
    study: Study,
    visit: Visit,
    store: Store,
    part: str,
    *,
    campaign: str = "",
    lab: Lab | None = None,
    lease: HostLease | None = None,
    wait_s: float = 0.0,
    progress: Callable[[RunDone], None] = lambda run: None,
) -> VisitResult:
    """Measure the runs of a visit."""
    with ExitStack() as stack:
        endpoints = stack.enter_context(open_endpoints(study, visit.link, lab=lab, lease=lease))
        facts = {name: endpoint.facts for name, endpoint in endpoints.items()}
        context = context_of(study, visit, facts, lab)
        results = _Results(visit, store, part)
        if wait_s >= SPAN_S:  # what a wait leaves is shorter than a reading
            announce(f"{WAITED}{wait_for_quiet(study, endpoints, wait_s, say=note):.3f}")
        require({run.group.generator for run in visit.runs}, context["generators"])
        copies = Copies.of(study, visit.path, endpoints, store.directory, campaign)
        trials = Trials(
            study,
            visit,
            endpoints,
            context,
            Emulation.of(study, visit.link, lab),
            copies,
            campaign,
        )
        names = study.congestions(run.group for run in visit.runs)
        for name, endpoint in endpoints.items():
            trials.controls[name] = stack.enter_context(endpoint.congestion_controls(study, names))
            stack.enter_context(endpoint.tuned(study, visit))
        for endpoint in endpoints.values():
            endpoint.wait_for_carrier()
        trials.check_path()
        try:
            results.measure_all(trials, visit.runs, progress)
        finally:
            results.save()
        result = VisitResult(results.runs(), results.samples("intervals"))
    # The tunings are reverted here, so conflicts are known.
    for name, endpoint in endpoints.items():
        if endpoint.plan is not None:
            result.diffs[name] = endpoint.plan
        result.unsupported += endpoint.unsupported()
        result.conflicts += endpoint.conflicts()
    return result


def wait_for_quiet(
    study: Study, endpoints: dict[str, Endpoint], wait_s: float, *, say: Callable[[str], None]
) -> float:
    """Say what else uses the machines of a path, and wait for quiet; s waited."""
    one = one_machine({name: endpoint.facts for name, endpoint in endpoints.items()})
    ends = [side_of(endpoint) for endpoint in endpoints.values()][: 1 if one else None]
    return wait_until_quiet(ends, study.noise, wait_s, say=say)


class _Results:
    """The results of a visit, as its runs finish."""

    def __init__(self, visit: Visit, store: Store, part: str):
        self.visit, self.store, self.part = visit, store, part
        self._rows: list[dict] = []
        self._samples: dict[str, list[pd.DataFrame]] = {table: [] for table in SAMPLES}
        self._saved_at = time.monotonic()
        self._unsaved = False

    def measure_all(
        self, trials: Trials, todo: Iterable[Run], progress: Callable[[RunDone], None]
    ) -> None:
        """Measure in schedule order; record failed runs, stop at a lost host or tuning."""
        failures = 0
        for run in todo:
            try:
                row, samples = trials.measured(run)
                failures = 0
            except HostError as error:
                self._add(trials.failed_row(run, "lost_host", str(error)))
                raise
            except TuningError as error:
                self._add(trials.failed_row(run, "failed", str(error)))
                raise
            except RunError as error:
                failures += 1
                self._add(trials.failed_row(run, "failed", str(error)))
                if failures == MAX_FAILURES:
                    where = f"visit {self.visit.visit_id}"
                    raise NetlabError(
                        f"{where}: {failures} consecutive runs failed: {error}",
                        code="E-RUN-001",
                    ) from error
                progress(RunDone(run.run_id, flags="failed"))
                continue
            self._add(row, **samples)
            progress(RunDone.of(row))

    def _add(self, row: dict, **samples: pd.DataFrame) -> None:
        self._rows.append(row)
        for table, frame in samples.items():
            self._samples[table].append(frame)
        self._unsaved = True
        if time.monotonic() - self._saved_at > SAVE_EVERY_S:
            self.save()

    def runs(self) -> pd.DataFrame:
        """The rows so far, in the order of the schedule."""
        return frame_of(self._rows).sort_values("order", ignore_index=True)

    def samples(self, table: str) -> pd.DataFrame:
        """The samples so far of one of the store's tables."""
        frames = [frame for frame in self._samples[table] if len(frame)]
        return pd.concat(frames, ignore_index=True) if frames else frame_of([], TABLES[table])

    def save(self) -> None:
        """Write all results, atomically."""
        if self._unsaved:
            samples = {table: self.samples(table) for table in SAMPLES}
            self.store.write(self.part, self.runs(), **samples)
            self._saved_at, self._unsaved = time.monotonic(), False
