"""One run of a block: asked for, made by netlab or another tool, recorded and flagged."""

from __future__ import annotations

import json
import math
import time
from dataclasses import dataclass, field

import pandas as pd

import netlab
from netlab import core
from netlab.analysis.bottleneck import bottleneck
from netlab.experiment.cc_session import Stacks
from netlab.experiment.emulation import Emulation
from netlab.experiment.endpoint import Station
from netlab.generators import Made, make_run, tool_named, version_text
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
from netlab.results import RUN_COLUMNS, SCHEMA_VERSION
from netlab.study import OWN, Study
from netlab.study.schedule import Block, Run, provenance_key


@dataclass
class Runner:
    """Makes the runs of a block whose hosts are open and tuned.

    Attributes
    ----------
    study, block : Study, Block
    stations : dict of str to Station
        Both ends.
    context : dict
        What the provenance of every run holds besides its own factors.
    emulation : Emulation or None
        Of the block's path.
    memory_MBps : float or None
        Memory copy rate of the machine that both ends are on, MB/s; None where they are on two.
    stacks : dict of str to Stacks
        The congestion controls held on each host.
    path_check : PathCheck or None
        What ping and traceroute said before the runs.
    """

    study: Study
    block: Block
    stations: dict[str, Station]
    context: dict
    emulation: Emulation | None
    memory_MBps: float | None
    stacks: dict[str, Stacks] = field(default_factory=dict)
    path_check: PathCheck | None = None

    def look(self) -> None:
        """Ping and trace the path from the sender of its first group."""
        group = next(group for group in self.study.groups if group.path == self.block.path)
        sender, receiver = (
            self.stations[name] for name in (group.sender, self.study.receiver(group))
        )
        self.path_check = look(sender.host, sender.address, receiver.address)

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

    @property
    def mtu_B(self) -> int:
        """The block's MTU; where it stays as found, the smaller of the two ends'."""
        if self.block.mtu_B is not None:
            return self.block.mtu_B
        return min(station.mtu_B() for station in self.stations.values())

    def _setting(self) -> Setting:
        path = self.study.paths[self.block.path]
        link_MBps = path.link_MBps
        if path.link is not None and path.link.shaped_Mbps is not None:
            link_MBps = path.link.shaped_Mbps / 8
        return Setting(
            mtu_B=self.mtu_B,
            bus_MBps=self.study.bus_MBps(self.block.path),
            link_MBps=link_MBps,
            memory_MBps=self.memory_MBps,
            bus_shared=self.study.bus_shared(self.block.path),
            one_machine=self.study.one_machine(self.block.path),
        )

    def measured(self, run: Run) -> tuple[dict, dict[str, pd.DataFrame]]:
        """Make a run.

        Returns
        -------
        dict
            Its row of the runs table.
        dict of str to DataFrame
            Its rows of the store's other tables.

        Raises
        ------
        RunError
            It could not be made; the hosts are fit for the next.
        HostError
            A host is lost.
        """
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
        name, mtu_B = run.group.generator, self.mtu_B
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
            "mtu_B": self.mtu_B,
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
                    "task_group": self.context["task_group"],
                    "socket": study.socket.model_dump(mode="json", exclude_defaults=True),
                    **({"generator": made.provenance} if made and made.provenance else {}),
                },
                sort_keys=True,
            ),
        }

    def failed(self, run: Run, flag: str, message: str) -> dict:
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
