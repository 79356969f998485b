"""One block of a study: hosts, tuning, runs, results. Study file and block id in, Parquet out."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field

import pandas as pd

import netlab
from netlab import core
from netlab.analysis.bottleneck import bottleneck
from netlab.emulation import Emulation
from netlab.errors import HostError, NetlabError, RunError
from netlab.generators import Made, make_run, require, tool_named, version_text
from netlab.hosts.lab import Lab
from netlab.hosts.pathcheck import PathCheck, look
from netlab.measure import (
    Emulated,
    Setting,
    Side,
    audit,
    interval_rows,
    measure,
    record,
    trace_rows,
)
from netlab.measure.exchange import Request
from netlab.measure.flags import flags_of
from netlab.plan import Block, Run, provenance_key
from netlab.results import RUN_COLUMNS, SCHEMA_VERSION, TABLES, Store, frame_of
from netlab.stacks import Stacks
from netlab.station import Station, open_stations
from netlab.study import OWN, Study
from netlab.tuning.profiles import load_profile

SAVE_EVERY_S = 5.0
"""At most this much measuring is lost when the controller is killed."""

MAX_FAILURES = 3
"""So many failed runs on end and the block is given up: the fault is not the run's."""


SAMPLES = tuple(table for table in TABLES if table != "runs")

STABLE_FACTS = (
    *("kernel", "machine", "cpu_model", "cpus", "governor"),
    *("nic_driver", "nic_driver_version", "nic_firmware", "link_speed_Mbps"),
    *("pci_vendor", "pci_device", "bus_width", "bus_speed"),
)


@dataclass
class BlockResult:
    """What a block's notebook shows.

    Attributes
    ----------
    runs, intervals : pandas.DataFrame
        All rows of the block, measured now or before.
    measured, kept : int
        Runs measured now, and runs that had a valid record.
    diffs : dict of str to object
        Host -> the tuning's plan, shown as a diff.
    unsupported : list of dict
        ``host``, ``knob`` and ``reason`` of what a kernel or card does not have.
    conflicts : list of dict
        Knobs that somebody else changed meanwhile, left as found.
    """

    runs: pd.DataFrame
    intervals: pd.DataFrame
    measured: int = 0
    kept: int = 0
    diffs: dict[str, object] = field(default_factory=dict)
    unsupported: list[dict] = field(default_factory=list)
    conflicts: list[dict] = field(default_factory=list)


def context_of(study: Study, block: Block, facts: dict[str, dict], lab: Lab | None) -> dict:
    """What decides whether a stored run still stands, besides the run's own factors."""
    hosts = [end.host for end in study.paths[block.path].ends]
    profiles = {host: load_profile(study.profile(host, block.tuning)) for host in hosts}
    return {
        "schema": SCHEMA_VERSION,
        "version": netlab.__version__,
        "agent": core.source_digest(),
        "hosts": {host: stable_facts(facts[host]) for host in hosts},
        "emulated_with": None if lab is None else lab.emulated_with(block.path),
        "profiles": {host: profile.model_dump(mode="json") for host, profile in profiles.items()},
        "generators": {
            name: {host: facts[host]["generators"][name] for host in hosts}
            for name in study.generators(block.path)
        },
    }


def stable_facts(facts: dict) -> dict:
    """The facts of a host that a result depends on: not its load, free space or uptime."""
    return {name: facts.get(name) for name in STABLE_FACTS}


def standing(study: Study, block: Block, context: dict, store: Store) -> set[str]:
    """Run ids of a block that have a valid record for the same provenance."""
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
        Where results go; runs that stand there are not repeated.
    lab : Lab, optional
        The lab that the study's lab hosts live in.
    progress : callable
        Called with the id of every run that is done, measured or kept.

    Raises
    ------
    HostError, TuningError
        A host was lost, or a tuning could not be applied; what was measured is saved, what was
        changed is reverted.
    """
    with ExitStack() as stack:
        stations = stack.enter_context(open_stations(study, block.path, lab=lab))
        facts = {name: station.facts for name, station in stations.items()}
        context = context_of(study, block, facts, lab)
        keep = standing(study, block, context, store)
        emulation = Emulation.of(study, block, lab)
        session = _Session(study, block, store, stations, context, keep, emulation)
        for run in block.runs:
            if run.run_id in keep:
                progress(run.run_id)
        todo = [run for run in block.runs if run.run_id not in keep]
        require({run.group.generator for run in todo}, context["generators"])
        if todo:
            names = study.congestions(run.group for run in todo)
            for station in stations.values():
                stacks = stack.enter_context(station.stacks(study, names))
                session.stacks[station.name] = stacks
                stack.enter_context(station.tuned(study, block))
            session.look()
            try:
                session.measure_all(todo, progress)
            finally:
                session.save()
        result = BlockResult(session.runs(), session.samples("intervals"), len(todo), len(keep))
    # the tunings are reverted here, and what that met is known
    for name, station in stations.items():
        if station.plan is not None:
            result.diffs[name] = station.plan
        result.unsupported += station.unsupported()
        result.conflicts += station.conflicts()
    return result


class _Session:
    """The growing results of a block while it is measured."""

    def __init__(
        self,
        study: Study,
        block: Block,
        store: Store,
        stations: dict[str, Station],
        context: dict,
        keep: set[str],
        emulation: Emulation | None,
    ):
        self.study, self.block, self.store = study, block, store
        self.stations, self.context, self.emulation = stations, context, emulation
        self.stacks: dict[str, Stacks] = {}
        old_runs = store.block_runs(block.block_id)
        self._old_runs = old_runs[old_runs["run_id"].isin(keep)]
        self._rows: list[dict] = []
        # of each table besides the runs: the rows kept, and those of every run measured
        self._samples: dict[str, list[pd.DataFrame]] = {}
        for table in SAMPLES:
            old = store.block(table, block.block_id)
            self._samples[table] = [old[old["run_id"].isin(keep)]]
        self.path_check: PathCheck | None = None
        self._saved_at = time.monotonic()
        self._unsaved = False
        self._memory_MBps = (
            core.memory_copy_MBps(budget_ms=60).cold_MBps if study.paths[block.path].link else None
        )

    def look(self) -> None:
        """Ping and trace the path from the sender of its first group."""
        group = next(group for group in self.study.groups if group.path == self.block.path)
        sender, receiver = (
            self.stations[name] for name in (group.sender, self.study.receiver(group))
        )
        self.path_check = look(sender.host, sender.address, receiver.address)

    def measure_all(self, todo: list[Run], progress: Callable[[str], None]) -> None:
        """Measure in the planned order; failed runs are recorded, a lost host ends the block."""
        failures = 0
        for run in todo:
            try:
                row, samples = self._measure(run)
                failures = 0
            except HostError as error:
                self._add(self._failed(run, "lost_host", str(error)))
                raise
            except RunError as error:
                failures += 1
                self._add(self._failed(run, "failed", str(error)))
                if failures == MAX_FAILURES:
                    where = f"block {self.block.block_id}"
                    raise NetlabError(f"{where}: {failures} runs on end failed: {error}") from error
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
        """Rows kept and rows measured."""
        new = frame_of(self._rows)
        frames = [frame for frame in (self._old_runs, new) if len(frame)]
        both = pd.concat(frames, ignore_index=True) if frames else new
        return both.sort_values("order", ignore_index=True)

    def samples(self, table: str) -> pd.DataFrame:
        """Samples kept and measured, of one of the store's tables."""
        frames = [frame for frame in self._samples[table] if len(frame)]
        return pd.concat(frames, ignore_index=True) if frames else frame_of([], TABLES[table])

    def save(self) -> None:
        """Write all that is there, whole or not at all."""
        if self._unsaved:
            samples = {table: self.samples(table) for table in SAMPLES}
            self.store.write_block(self.block.block_id, self.runs(), **samples)
            self._saved_at, self._unsaved = time.monotonic(), False

    def _sides(self, run: Run) -> tuple[Side, Side, dict]:
        """Sender and receiver of a run, and the clamps a tuning puts on their buffers."""
        receiver = self.study.receiver(run.group)
        sides, clamps = [], {}
        for role, name in (("sender", run.group.sender), ("receiver", receiver)):
            station = self.stations[name]
            send_max, receive_max = station.buffer_clamps()
            asked, socket = run.group.buffer_B, self.study.socket
            if role == "receiver" and run.group.receive_buffer_B is not None:
                asked = run.group.receive_buffer_B
            sides.append(
                Side(
                    host=name,
                    channel=station.agent,
                    address=station.address,
                    interface=station.interface,
                    sndbuf_B=min(asked, send_max or asked),
                    rcvbuf_B=min(asked, receive_max or asked),
                    congestion=station.kernel_names(self.study.congestion_of(run.group)),
                    cpus=socket.cpus_sender if role == "sender" else socket.cpus_receiver,
                )
            )
            clamps[role] = send_max if role == "sender" else receive_max
        return sides[0], sides[1], clamps

    def _congestion_source(self, run: Run) -> str:
        """What the kernel of each sender was given; once where it is the same on both."""
        congestion = self.study.congestion_of(run.group)
        senders = [run.group.sender]
        if run.group.direction == "<->":
            senders.append(self.study.receiver(run.group))
        texts = [self.stacks[name].text(congestion) for name in senders]
        return " / ".join(dict.fromkeys(texts))

    def _setting(self) -> Setting:
        path = self.study.paths[self.block.path]
        link_MBps = path.link_MBps
        if path.link is not None and path.link.shaped_Mbps is not None:
            link_MBps = path.link.shaped_Mbps / 8
        return Setting(
            mtu_B=self.block.mtu_B,
            bus_MBps=self.study.bus_MBps(self.block.path),
            link_MBps=link_MBps,
            memory_MBps=self._memory_MBps,
            bus_shared=self.study.bus_shared(self.block.path),
            one_machine=path.link is not None,
        )

    def _measure(self, run: Run) -> tuple[dict, dict[str, pd.DataFrame]]:
        started = time.monotonic()
        timing, group = self.study.timing, run.group
        both = group.direction == "<->"
        sender, receiver, _ = self._sides(run)
        amount_B = (group.records or 0) * group.record_length_B
        request = Request(
            streams=run.streams,
            record_length_B=group.record_length_B,
            congestion=self.study.congestion_of(group),
            force_buffer=self.study.force_buffer,
            receive=self.study.receive,
            warmup_ms=0 if amount_B else round(timing.warmup_s * 1e3),
            window_ms=0 if amount_B else round(timing.seconds * 1e3),
            interval_ms=timing.interval_ms,
            both=both,
            trace=self.study.trace,
            bytes_per_stream=amount_B,
            drain_ms=round(timing.drain_s * 1e3),
            engine=self.study.engine,
            threads=self.study.threads,
            send=self.study.send,
            socket=self.study.socket,
        )
        made, emulated = self._exchanged(run, sender, receiver, request)
        outcome, ledger = made.outcome, made.ledger
        drift = [line for station in self.stations.values() for line in station.drift()]
        row = {**self._named(run, made), **record(outcome, self._setting(), ledger, emulated)}
        row |= made.columns
        intervals = interval_rows(run.run_id, outcome.flows)
        flags = flags_of(row, outcome, ledger.problems, drift, intervals, timing, emulated)
        row["bottleneck"] = bottleneck(row)
        row["flags"] = ",".join(flags)
        row["message"] = "; ".join(flags.values())
        row["wall_s"] = time.monotonic() - started
        row["overhead_s"] = row["wall_s"] - row["warmup_s"] - (row["window_s"] or 0.0)
        samples = {"intervals": intervals, "traces": trace_rows(run.run_id, outcome.flows)}
        if emulated is not None:
            samples["paths"] = emulated.rows(run.run_id, outcome.flows)
        return row, samples

    def _exchanged(
        self, run: Run, sender: Side, receiver: Side, request: Request
    ) -> tuple[Made, Emulated | None]:
        """The run itself, and what the emulator of its path did meanwhile."""
        if self.emulation is None:
            return self._made(run, sender, receiver, request), None
        try:
            before = self.emulation.begin(run)
            made = self._made(run, sender, receiver, request)
            return made, self.emulation.end(run, before)
        finally:
            self.emulation.forget(run)

    def _made(self, run: Run, sender: Side, receiver: Side, request: Request) -> Made:
        """The run by whatever the group sends with."""
        name, mtu_B = run.group.generator, self.block.mtu_B
        if name == OWN:
            outcome = measure(sender, receiver, request)
            flows = [(flow.gen, flow.sink) for flow in outcome.flows]
            return Made(outcome, audit(flows, mtu_B=mtu_B, both=request.both))
        return make_run(
            tool_named(name),
            sender,
            receiver,
            request,
            hosts={host: station.host for host, station in self.stations.items()},
            versions=self.context["generators"][name],
            mtu_B=mtu_B,
            one_machine=self._setting().one_machine,
        )

    def _named(self, run: Run, made: Made | None = None) -> dict:
        """The columns that name a run, its tuning and where it came from."""
        study, block, group = self.study, self.block, run.group
        _, _, clamps = self._sides(run)
        facts = {name: station.facts for name, station in self.stations.items()}
        return {
            "schema_version": SCHEMA_VERSION,
            "study": study.name,
            "study_digest": study.digest(),
            "provenance_key": provenance_key(study, block, run, self.context),
            "run_id": run.run_id,
            "block_id": block.block_id,
            "order": run.order,
            "group": group.name,
            "table": group.table,
            "path": block.path,
            "sender": group.sender,
            "receiver": study.receiver(group),
            "direction": group.direction,
            "tuning": block.tuning,
            "mtu_B": block.mtu_B,
            "streams": run.streams,
            "repeat": run.repeat,
            "seed": study.seed,
            "record_length_B": group.record_length_B,
            "buffer_B": group.buffer_B,
            "buffer_clamp_sender_B": clamps["sender"],
            "buffer_clamp_receiver_B": clamps["receiver"],
            "receive_buffer_B": group.receive_buffer_B,
            "congestion": study.congestion_of(group),
            "congestion_source": self._congestion_source(run),
            "generator": group.generator,
            "generator_version": version_text(self.context["generators"].get(group.generator)),
            "records": group.records,
            "engine": f"{study.engine}:{study.send}/{study.engine}:{study.receive}"
            if group.generator == OWN
            else group.generator,
            "warmup_s": 0.0 if group.records else study.timing.warmup_s,
            **(self.path_check.columns() if self.path_check else {}),
            "unsupported": json.dumps(
                [line for station in self.stations.values() for line in station.unsupported()]
            ),
            "knobs": json.dumps({n: s.knobs() for n, s in self.stations.items()}, sort_keys=True),
            "provenance": json.dumps(
                {
                    "netlab": netlab.__version__,
                    "agent": core.source_digest(),
                    "hosts": facts,
                    "link": {n: s.link for n, s in self.stations.items()},
                    "path_check": self.path_check and self.path_check.printed(),
                    "emulated_with": self.context["emulated_with"],
                    "socket": study.socket.model_dump(mode="json", exclude_defaults=True),
                    **({"generator": made.provenance} if made and made.provenance else {}),
                },
                sort_keys=True,
            ),
        }

    def _failed(self, run: Run, flag: str, message: str) -> dict:
        """The record of a run that gave no figure: named, flagged, and otherwise empty."""
        row = {column.name: None for column in RUN_COLUMNS}
        row.update(self._named(run))
        row.update(
            started_at=pd.Timestamp.now(tz="UTC"),
            wall_s=0.0,
            overhead_s=0.0,
            flags=flag,
            message=message,
        )
        return {k: (None if isinstance(v, float) and math.isnan(v) else v) for k, v in row.items()}
