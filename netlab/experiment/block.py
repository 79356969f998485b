"""Measure one block of a study: open its hosts, tune them, make its runs, write Parquet."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field

import pandas as pd

import netlab
from netlab import core
from netlab.errors import HostError, NetlabError, RunError
from netlab.experiment.emulation import Emulation
from netlab.experiment.endpoint import TuningPlan, open_endpoints
from netlab.experiment.trial import Trials
from netlab.generators import require
from netlab.lab.lab import Lab
from netlab.results import SCHEMA_VERSION, TABLES, Store, frame_of
from netlab.study import Study
from netlab.study.schedule import Block, Run, provenance_key

SAVE_EVERY_S = 5.0
"""Interval between writes: the most that is lost if the controller is killed."""

MAX_FAILURES = 3
"""Abort the block after this many consecutive failures."""


SAMPLES = tuple(table for table in TABLES if table != "runs")

STABLE_FACTS = (
    *("kernel", "machine", "cpu_model", "cpus", "governor"),
    *("nic_driver", "nic_driver_version", "nic_firmware", "link_speed_Mbps"),
    *("pci_vendor", "pci_device", "bus_width", "bus_speed"),
)


@dataclass
class BlockResult:
    """The result of a block, for its notebook.

    Attributes
    ----------
    runs, intervals : pandas.DataFrame
        All rows of the block, measured now or before.
    measured, kept : int
        Runs measured now, and runs with an earlier valid record.
    diffs : dict of str to TuningPlan
        Host -> the tuning's plan, shown as a diff.
    unsupported : list of dict
        ``host``, ``knob`` and ``reason`` of knobs that a kernel or card lacks.
    conflicts : list of dict
        Knobs that another program changed meanwhile, left as found.
    """

    runs: pd.DataFrame
    intervals: pd.DataFrame
    measured: int = 0
    kept: int = 0
    diffs: dict[str, TuningPlan] = field(default_factory=dict)
    unsupported: list[dict] = field(default_factory=list)
    conflicts: list[dict] = field(default_factory=list)


def context_of(study: Study, block: Block, facts: dict[str, dict], lab: Lab | None) -> dict:
    """Provenance that a stored run must match to stay valid, besides its own factors."""
    hosts = [end.host for end in study.paths[block.path].ends]
    profiles = {host: study.tuning_profile(host, block.tuning) for host in hosts}
    # A run as found stands only as long as the settings found are the same.
    found = {
        host: {"mtu_B": facts[host].get("mtu_B"), **facts[host].get("found", {})}
        for host in hosts
        if block.mtu_B is None
    }
    return {
        "schema": SCHEMA_VERSION,
        "version": netlab.__version__,
        "agent": core.source_digest(),
        "hosts": {host: stable_facts(facts[host]) for host in hosts},
        "emulated_with": None if lab is None else lab.emulated_with(block.path),
        "task_group": None if lab is None else lab.task_group,
        "profiles": {host: profile.model_dump(mode="json") for host, profile in profiles.items()},
        "found": found,
        "generators": {
            name: {host: facts[host]["generators"][name] for host in hosts}
            for name in study.generators(block.path)
        },
    }


def stable_facts(facts: dict) -> dict:
    """Facts of a host that a result depends on: without load, free space and uptime."""
    return {name: facts.get(name) for name in STABLE_FACTS}


def standing(study: Study, block: Block, context: dict, store: Store) -> set[str]:
    """Ids of a block's runs that have a valid record with the same provenance."""
    stored = store.block_runs(block.block_id)
    valid = stored[stored["flags"] == ""]
    have = dict(zip(valid["run_id"], valid["provenance_key"], strict=True))
    return {
        run.run_id
        for run in block.runs
        if have.get(run.run_id) == provenance_key(study, block, run, context)
    }


def run_block(
    study: Study,
    block: Block,
    store: Store,
    *,
    lab: Lab | None = None,
    progress: Callable[[str], None] = lambda run_id: None,
) -> BlockResult:
    """Measure the runs of a block that have no valid record yet.

    Parameters
    ----------
    study, block : Study, Block
        What to measure.
    store : Store
        Store for the results; its valid runs are not repeated.
    lab : Lab, optional
        The lab with the study's lab hosts.
    progress : callable
        Called with the id of each run, measured or kept.

    Raises
    ------
    HostError, TuningError
        A host was lost, or a tuning could not be applied; results are saved, changes reverted.
    """
    with ExitStack() as stack:
        endpoints = stack.enter_context(open_endpoints(study, block.path, lab=lab))
        facts = {name: endpoint.facts for name, endpoint in endpoints.items()}
        context = context_of(study, block, facts, lab)
        keep = standing(study, block, context, store)
        results = _Results(block, store, keep)
        for run in block.runs:
            if run.run_id in keep:
                progress(run.run_id)
        todo = [run for run in block.runs if run.run_id not in keep]
        require({run.group.generator for run in todo}, context["generators"])
        if todo:
            one_machine = study.one_machine(block.path)
            trials = Trials(
                study,
                block,
                endpoints,
                context,
                Emulation.of(study, block.path, lab),
                core.memory_copy_MBps(budget_ms=60).cold_MBps if one_machine else None,
            )
            names = study.congestions(run.group for run in todo)
            for name, endpoint in endpoints.items():
                trials.controls[name] = stack.enter_context(
                    endpoint.congestion_controls(study, names)
                )
                stack.enter_context(endpoint.tuned(study, block))
            trials.check_path()
            try:
                results.measure_all(trials, todo, progress)
            finally:
                results.save()
        result = BlockResult(results.runs(), results.samples("intervals"), len(todo), len(keep))
    # The tunings are reverted here, so conflicts are known.
    for name, endpoint in endpoints.items():
        if endpoint.plan is not None:
            result.diffs[name] = endpoint.plan
        result.unsupported += endpoint.unsupported()
        result.conflicts += endpoint.conflicts()
    return result


class _Results:
    """The results of a block, as its runs finish."""

    def __init__(
        self,
        block: Block,
        store: Store,
        keep: set[str],
    ):
        self.block, self.store = block, store
        old_runs = store.block_runs(block.block_id)
        self._old_runs = old_runs[old_runs["run_id"].isin(keep)]
        self._rows: list[dict] = []
        # Each table besides the runs: its kept rows, then the rows of each new run.
        self._samples: dict[str, list[pd.DataFrame]] = {}
        for table in SAMPLES:
            old = store.block(table, block.block_id)
            self._samples[table] = [old[old["run_id"].isin(keep)]]
        self._saved_at = time.monotonic()
        self._unsaved = False

    def measure_all(self, trials: Trials, todo: list[Run], progress: Callable[[str], None]) -> None:
        """Measure in schedule order; record failed runs, stop at a lost host."""
        failures = 0
        for run in todo:
            try:
                row, samples = trials.measured(run)
                failures = 0
            except HostError as error:
                self._add(trials.failed_row(run, "lost_host", str(error)))
                raise
            except RunError as error:
                failures += 1
                self._add(trials.failed_row(run, "failed", str(error)))
                if failures == MAX_FAILURES:
                    where = f"block {self.block.block_id}"
                    raise NetlabError(
                        f"{where}: {failures} consecutive runs failed: {error}",
                        code="E-RUN-001",
                    ) from error
                progress(run.run_id)
                continue
            self._add(row, **samples)
            progress(run.run_id)

    def _add(self, row: dict, **samples: pd.DataFrame) -> None:
        self._rows.append(row)
        for table, frame in samples.items():
            self._samples[table].append(frame)
        self._unsaved = True
        if time.monotonic() - self._saved_at > SAVE_EVERY_S:
            self.save()

    def runs(self) -> pd.DataFrame:
        """Kept and new rows."""
        new = frame_of(self._rows)
        frames = [frame for frame in (self._old_runs, new) if len(frame)]
        both = pd.concat(frames, ignore_index=True) if frames else new
        return both.sort_values("order", ignore_index=True)

    def samples(self, table: str) -> pd.DataFrame:
        """Kept and new samples of one of the store's tables."""
        frames = [frame for frame in self._samples[table] if len(frame)]
        return pd.concat(frames, ignore_index=True) if frames else frame_of([], TABLES[table])

    def save(self) -> None:
        """Write all results, atomically."""
        if self._unsaved:
            samples = {table: self.samples(table) for table in SAMPLES}
            self.store.write_block(self.block.block_id, self.runs(), **samples)
            self._saved_at, self._unsaved = time.monotonic(), False
