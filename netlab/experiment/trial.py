"""The trials of a visit: each run requested, measured by netlab or another tool, and recorded."""

from __future__ import annotations

import json
import math
import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from netlab import core
from netlab.errors import RunError
from netlab.experiment.cc_session import CcSession
from netlab.experiment.copies import Copies
from netlab.experiment.emulation import Emulation
from netlab.experiment.endpoint import Endpoint
from netlab.experiment.measurement import (
    core_run,
    measured,
    probe_request,
    request_of,
    setting_of,
    side_of,
    sides_of,
)
from netlab.experiment.packet_size import packet_size, tcp_rtt_s
from netlab.generators import TrialResult, run_trial, tool_named, version_text
from netlab.hosts.pathcheck import PathCheck, probe_path
from netlab.measure import RunEnd, trace_rows
from netlab.measure.bottleneck import bottleneck
from netlab.measure.exchange import Request
from netlab.measure.machines import with_controller
from netlab.results import RUN_COLUMNS, SCHEMA_VERSION
from netlab.study import OWN, Group, Study, Timing
from netlab.study.groups import WARMUP_RTTS
from netlab.study.schedule import Run, Visit, provenance_key
from netlab.version import version


@dataclass
class Trials:
    """Measures the runs of a visit whose endpoints are open and tuned."""

    study: Study
    visit: Visit
    endpoints: dict[str, Endpoint]
    context: dict
    emulation: Emulation | None
    copies: Copies
    campaign: str = ""
    controls: dict[str, CcSession] = field(default_factory=dict)
    path_check: PathCheck | None = None
    rtt_s: float = 0.0
    packet_faults: dict[tuple[str, str], str] = field(default_factory=dict)

    def check_path(self) -> None:
        """Ping and trace the path from the sender of its first group; a path may ignore pings."""
        group = next(group for group in self.study.groups if group.path == self.visit.path)
        sender, receiver = (
            self.endpoints[name] for name in (group.sender, self.study.receiver(group))
        )
        self.path_check = probe_path(sender.host, sender.address, receiver.address)
        if self.path_check.avg_ms is not None:
            self.rtt_s = self.path_check.avg_ms / 1e3
            return
        request = probe_request(self.study, self.study.timing)
        with suppress(RunError):  # the first run fails for the same reason, and is recorded
            self.rtt_s = tcp_rtt_s(side_of(sender), side_of(receiver), request)

    def _congestion_source(self, run: Run) -> str:
        """Source of the congestion control on each sending host; once if all agree."""
        congestion = self.study.congestion_of(run.group)
        if not congestion:
            return "as found"
        senders = [run.group.sender]
        if run.group.direction == "<->":
            senders.append(self.study.receiver(run.group))
        texts = [self.controls[name].text(congestion) for name in senders]
        return " / ".join(dict.fromkeys(texts))

    @property
    def mtu_B(self) -> int:
        """The visit's MTU; where it stays as found, the smaller of the two ends'."""
        if self.visit.mtu_B is not None:
            return self.visit.mtu_B
        return min(endpoint.mtu_B() for endpoint in self.endpoints.values())

    def measured(self, run: Run) -> tuple[dict, dict[str, pd.DataFrame]]:
        """Make a run."""
        started = time.monotonic()
        study, group = run.study(self.study), run.group
        sender, receiver = sides_of(
            study,
            group,
            self.endpoints,
            buffer_B=group.buffer_B,
            receive_buffer_B=group.receive_buffer_B,
        )
        facts = {name: endpoint.facts for name, endpoint in self.endpoints.items()}
        memory_MBps, memory_source = self.copies.ceiling(study, run, facts)
        amount_B = (group.records or 0) * group.record_length_B
        request = request_of(
            study,
            study.timing,
            streams=run.streams,
            record_length_B=group.record_length_B,
            congestion=study.congestion_of(group),
            rtt_s=self.rtt_s,
            both=group.direction == "<->",
            trace=study.trace,
            **({"bytes_per_stream": amount_B, "warmup_ms": 0, "window_ms": 0} if amount_B else {}),
        )
        made = measured(
            lambda: self._run(run, sender, receiver, request),
            setting=setting_of(
                study,
                self.visit.link,
                self.mtu_B,
                memory_MBps=memory_MBps,
                memory_source=memory_source,
                facts=facts,
            ),
            timing=study.timing,
            group=group,
            endpoints=self.endpoints.values(),
            run_id=run.run_id,
            emulation=self.emulation,
            noise=study.noise,
            named=lambda result: self._named(run, result),
        )
        row, flows = made.row, made.outcome.flows
        row["congestion"] = row["congestion"] or row["congestion_in_force"] or ""
        if any(not flow.sink.get("total_bytes", 1) for flow in flows):
            fault = self._packet_fault(sender, receiver)
            row["message"] = "; ".join(text for text in (fault, row["message"]) if text)
        row["bottleneck"] = bottleneck(row)
        row["wall_s"] = time.monotonic() - started
        row["overhead_s"] = row["wall_s"] - row["warmup_s"] - (row["window_s"] or 0.0)
        samples = {"intervals": made.intervals, "traces": trace_rows(run.run_id, flows)}
        if made.emulated is not None:
            samples["paths"] = made.emulated.rows(run.run_id, flows)
        return row, samples

    def _packet_fault(self, sender: RunEnd, receiver: RunEnd) -> str:
        """Reason that no byte arrived, from a probe of each direction; empty for a sound path."""
        ends = (sender.host, receiver.host)
        if ends not in self.packet_faults:
            request = probe_request(self.study, self.study.timing)
            try:
                sizes = [
                    packet_size(sender, receiver, request),
                    packet_size(receiver, sender, request),
                ]
                found = [size.text() for size in sizes if not size.passes]
            except RunError as error:
                found = [str(error)]
            self.packet_faults[ends] = (
                f"path {self.visit.path}: {'; '.join(found)}" if found else ""
            )
        return self.packet_faults[ends]

    def _run(self, run: Run, sender: RunEnd, receiver: RunEnd, request: Request) -> TrialResult:
        """Measure with the generator of the run's group."""
        name, mtu_B = run.group.generator, self.mtu_B
        if name == OWN:
            return core_run(sender, receiver, request, mtu_B=mtu_B)
        return run_trial(
            tool_named(name),
            sender,
            receiver,
            request,
            hosts={host: endpoint.host for host, endpoint in self.endpoints.items()},
            versions=self.context["generators"][name],
            mtu_B=mtu_B,
            with_controller=with_controller({n: e.facts for n, e in self.endpoints.items()}),
        )

    def _named(self, run: Run, made: TrialResult | None = None) -> dict:
        """The columns that name a run, its tuning and its provenance."""
        study, visit, group = run.study(self.study), self.visit, run.group
        send_max_B, _ = self.endpoints[group.sender].buffer_clamps()
        _, receive_max_B = self.endpoints[study.receiver(group)].buffer_clamps()
        facts = {name: endpoint.facts for name, endpoint in self.endpoints.items()}
        return {
            "schema_version": SCHEMA_VERSION,
            "study": study.name,
            "study_digest": self.study.digest(),
            "provenance_key": provenance_key(self.study, visit, run, self.context),
            "campaign": self.campaign or None,
            "run_id": run.run_id,
            "block_id": visit.block_id,
            "order": run.order,
            "group": group.name,
            "table": group.table,
            "path": visit.path,
            "sender": group.sender,
            "receiver": study.receiver(group),
            "direction": group.direction,
            "tuning": visit.tuning,
            "mtu_B": self.mtu_B,
            "streams": run.streams,
            "factors": run.factors,
            "round": run.round,
            "seed": study.seed,
            "record_length_B": group.record_length_B,
            "buffer_B": group.buffer_B,
            "buffer_clamp_sender_B": send_max_B,
            "buffer_clamp_receiver_B": receive_max_B,
            "receive_buffer_B": group.receive_buffer_B,
            "congestion": study.congestion_of(group),
            "congestion_source": self._congestion_source(run),
            "generator": group.generator,
            "generator_version": version_text(self.context["generators"].get(group.generator)),
            "records": group.records,
            "engine": f"{study.engine}:{study.send}/{study.engine}:{study.receive}"
            if group.generator == OWN
            else group.generator,
            **self._warmup(study.timing, group),
            **(self.path_check.columns() if self.path_check else {}),
            "unsupported": json.dumps(
                [line for endpoint in self.endpoints.values() for line in endpoint.unsupported()]
            ),
            "knobs": json.dumps({n: s.knobs() for n, s in self.endpoints.items()}, sort_keys=True),
            "provenance": json.dumps(
                {
                    "netlab": version(),
                    "agent": core.source_digest(),
                    "hosts": facts,
                    "link": {n: s.link for n, s in self.endpoints.items()},
                    "path_check": self.path_check and self.path_check.printed(),
                    "emulated_with": self.context["emulated_with"],
                    "task_group": self.context["task_group"],
                    "user_namespace": self.context.get("user_namespace", False),
                    "socket": study.socket.model_dump(mode="json", exclude_defaults=True),
                    **({"outer": dict(visit.outer)} if visit.outer else {}),
                    **({"generator": made.provenance} if made and made.provenance else {}),
                },
                sort_keys=True,
            ),
        }

    def _warmup(self, timing: Timing, group: Group) -> dict[str, float | str | None]:
        """Warm-up of a run, and its rule."""
        if group.records:
            return {"warmup_s": 0.0, "warmup_rule": None}
        least_s, warmup_s = timing.warmup_at(), timing.warmup_at(self.rtt_s)
        follows = f"{WARMUP_RTTS} RTTs" if warmup_s > least_s else "default"
        rule = "stated" if timing.warmup_s is not None else follows
        return {"warmup_s": warmup_s, "warmup_rule": rule}

    def failed_row(self, run: Run, flag: str, message: str) -> dict:
        """The record of a failed run: named, flagged, and otherwise empty."""
        row: dict[str, Any] = {column.name: None for column in RUN_COLUMNS}
        row.update(self._named(run))
        row.update(
            started_at=pd.Timestamp.now(tz="UTC"),
            wall_s=0.0,
            overhead_s=0.0,
            flags=flag,
            message=message,
        )
        return {k: (None if isinstance(v, float) and math.isnan(v) else v) for k, v in row.items()}
