"""Run a whole benchmark: memory copy limits, then every transfer of the schedule."""

from __future__ import annotations

import itertools
import math
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from statistics import median

import numpy as np

from netlab import core
from netlab.errors import HostError, NetlabError, RunError
from netlab.experiment.endpoint import Endpoint, host_facts, open_endpoints, study_lab
from netlab.experiment.trial import core_run, measured, request_of, setting_of, side_of
from netlab.files import writing
from netlab.files.writing import json_line
from netlab.generators import TrialResult, run_trial
from netlab.generators.remote_process import difference, snapshot
from netlab.generators.tools import Variant, congestion_route
from netlab.lab.lab import Lab
from netlab.lab.topology import RECEIVER, SENDER, lab_pair
from netlab.measure.flags import INTERFERENCE
from netlab.measure.ledger import with_controller
from netlab.qualify.bench_contenders import (
    GENSINK,
    OWN,
    BenchCell,
    BenchTransfer,
    CopyLimits,
    Environment,
    EnvironmentSchedule,
    Installed,
    LeftOut,
    Matrix,
    OwnVariant,
    contenders,
    copy_limits,
    schedule,
)
from netlab.study import Study, Timing
from netlab.version import version

# Choose the variant of a contender in a cell: the one with the highest median of its heats.


def choose(
    stage: EnvironmentSchedule, heats: Sequence[Mapping]
) -> tuple[dict[tuple[BenchCell, str], Variant], list[dict]]:
    """Choose the variant of each contender in each cell of an environment.

    Of equal variants the first wins; so it does if every heat failed. The rows, one a variant, are
    of contenders that had several.
    """
    chosen, rows = {}, []
    for (cell, contender), variants in stage.variants.items():
        tried = []
        for variant in variants:
            whose: dict = {**asdict(cell), "contender": contender, "variant": variant.label}
            own = [heat for heat in heats if whose.items() <= heat.items()]
            known = [heat["goodput_MBps"] for heat in own if heat["goodput_MBps"] is not None]
            errors = [heat["error"] for heat in own if heat["error"]]
            whose |= {"heats": len(own), "failed": len(errors)}
            whose["goodput_MBps"] = median(known) if known else math.nan
            tried.append(whose | {"reason": errors[-1] if errors else ""})
        reached = [row["goodput_MBps"] for row in tried]
        best = int(np.argmax(np.nan_to_num(reached, nan=-1.0)))
        chosen[cell, contender] = variants[best]
        if len(variants) > 1:
            rows += [{**row, "chosen": at == best} for at, row in enumerate(tried)]
    return chosen, rows


# The lab path that all contenders share, and one transfer over it, made as a run of a study.

CONGESTION = "cubic"
HEADERS_B = 20 + 32
"""IPv4 and TCP with timestamps; a veth's receive counter omits the Ethernet header."""

BUSY = ("user", "nice", "system", "irq", "softirq")


def bench_study(queues: int) -> Study:
    """Two lab hosts joined by two unshaped paths: with veth's offloads, and without."""
    links = {}
    for level in ("on", "off"):
        offloads = dict.fromkeys(("segmentation_offload", "checksum_offload"), level == "on")
        links[level] = {"interrupt_delay_us": 0.0, **offloads, "queues": queues}
    return lab_pair(
        "bench",
        "netlab beside other tools",
        links,
        [{"name": "bench", "path": "on"}],
        congestion=CONGESTION,
        timing=Timing(rounds=1),
    )


@contextmanager
def open_path(
    study: Study,
    lab: Lab,
    environment: Environment,
    peers: dict[str, Installed],
    limits: CopyLimits,
) -> Iterator[BenchPath]:
    with ExitStack() as stack:
        endpoints = stack.enter_context(open_endpoints(study, environment.offloads, lab=lab))
        for endpoint in endpoints.values():
            session = stack.enter_context(endpoint.with_mtu(environment.mtu_B))
            if session.drift():
                message = f"did not take an MTU of {environment.mtu_B} B"
                raise HostError(endpoint.name, message, code="E-BENCH-006")
        # The default of every socket, also of tools that choose late or not at all: a socket that
        # begins with bbr goes on pacing when it is given cubic.
        for here, there in itertools.permutations(endpoints.values(), 2):
            stack.enter_context(
                congestion_route(
                    here.host,
                    interface=here.interface,
                    address=here.address,
                    peer=there.address,
                    congestion=CONGESTION,
                )
            )
        yield BenchPath(study, environment, endpoints, peers, limits)


def cost_of(total: dict) -> dict:
    interface = total["interface"]
    if not interface:
        raise RunError("the meter has no interface", reason="internal", code="E-BENCH-008")
    payload_B = interface["rx_bytes"] - HEADERS_B * interface["rx_packets"]
    if interface["reset"] or payload_B < 0:
        raise RunError("an interface counter decreased", reason="internal", code="E-BENCH-009")
    busy_s = sum(cpu[f"{name}_us"] for cpu in total["cpu"] for name in BUSY) / 1e6
    return {
        "wall_s": (total["t1_ns"] - total["t0_ns"]) / 1e9,
        "payload_B": payload_B,
        "busy_s": busy_s,
        "cpu_s_per_GB": busy_s / payload_B * 1e9 if payload_B else None,
    }


@dataclass(frozen=True)
class BenchPath:
    """An open path that the contenders share; made by :func:`open_path`."""

    study: Study
    environment: Environment
    endpoints: dict[str, Endpoint]
    peers: dict[str, Installed]
    limits: CopyLimits

    def take(self, turn: BenchTransfer, seconds: int, variant: Variant | None = None) -> dict:
        """Make one transfer: of its own variant, or of the one that was chosen."""
        variant = variant or turn.variant
        assert variant is not None
        row = {
            **turn.as_dict(),
            "variant": variant.label,
            "record_length_B": variant.record_length_B,
            "started_unix_s": time.time(),
            **dict.fromkeys(("goodput_MBps", "window_s")),
            **dict.fromkeys(("flags", "error"), ""),
        }
        try:
            return row | self._measured(turn, variant, seconds)
        except RunError as error:
            return row | {"error": str(error)}

    def _measured(self, turn: BenchTransfer, variant: Variant, seconds: int) -> dict:
        timing = Timing(rounds=1, seconds=seconds, warmup_s=0.0)
        total: dict = {}

        def run() -> TrialResult:
            result, metered = self._run(turn, variant, timing)
            total.update(metered)
            return result

        made = measured(
            run,
            setting=setting_of(
                self.study,
                self.environment.offloads,
                self.environment.mtu_B,
                memory_MBps=self.limits.all_hot_MBps if variant.copies else None,
                memory_source=f"hot copies by {self.limits.cores} cores, measured before",
                facts=self._facts,
            ),
            timing=timing,
            group=self.study.groups[0],
            endpoints=self.endpoints.values(),
            run_id="bench",
        )
        row = made.row
        failed = [flag for flag in row["flags"].split(",") if flag not in ("", INTERFERENCE)]
        return cost_of(total) | {
            "goodput_MBps": None if failed else row["goodput_MBps"],
            "window_s": None if failed else row["window_s"],
            "steal_percent": row["steal_percent"],
            "foreign_percent": row["foreign_cpu_percent"],
            "flags": row["flags"],
            "error": f"{', '.join(failed)}: {row['message']}" if failed else "",
        }

    def _run(
        self, turn: BenchTransfer, variant: Variant, timing: Timing
    ) -> tuple[TrialResult, dict]:
        """A run as of a study, with the kernel's buffers; and the sink's meter over all of it."""
        sender, receiver = (side_of(self.endpoints[name]) for name in (SENDER, RECEIVER))
        options: dict = {"record_length_B": variant.record_length_B, "streams": turn.cell.streams}
        if isinstance(variant, OwnVariant):
            options |= {name: getattr(variant, name) for name in ("engine", "send", "receive")}
        else:
            cpus = int(self.endpoints[SENDER].facts.get("cpus") or 1)
            options["threads"] = min(cpus, turn.cell.streams)
        request = request_of(
            self.study, timing, congestion=CONGESTION, force_buffer=False, **options
        )
        if isinstance(variant, OwnVariant):
            before = snapshot(receiver)
            result = core_run(sender, receiver, request, mtu_B=self.environment.mtu_B)
            return result, difference(before, snapshot(receiver))
        peer = self.peers[turn.contender]
        result = run_trial(
            # The path has the route that a tool without such an option needs.
            replace(peer.tool, program=peer.program, sets_congestion=True),
            sender,
            receiver,
            request,
            hosts={name: endpoint.host for name, endpoint in self.endpoints.items()},
            versions={},
            mtu_B=self.environment.mtu_B,
            with_controller=with_controller(self._facts),
            variant=variant,
        )
        return result, result.outcome.flows[0].sink["meter"]["total"]

    @property
    def _facts(self) -> dict[str, dict]:
        return {name: endpoint.facts for name, endpoint in self.endpoints.items()}


MAX_FAILURES = 2
"""Exclude a contender from a cell after this many consecutive failures."""

MACHINE_FACTS = ("machine", "cpu_model", "cpus", "memory_kB", "kernel", "os")


@dataclass(frozen=True)
class Bench:
    matrix: Matrix
    machine: dict
    limits: CopyLimits
    tools: dict[str, dict]
    samples: tuple[dict, ...]
    heats: tuple[dict, ...]
    variants: tuple[dict, ...]
    left_out: tuple[LeftOut, ...]
    started_at: str


def run_bench(
    matrix: Matrix,
    peers: Sequence[Installed],
    *,
    started_at: str,
    progress: Callable[[BenchTransfer, dict, int], None] = lambda *_told: None,
) -> Bench:
    """Run a benchmark on a lab of its own.

    A study's rounds do not serve here: heats choose the variants that the rounds measure, and neper
    is not a generator of studies.
    """
    if not peers:
        raise NetlabError("no tool to compare with is installed", code="E-BENCH-016")
    stages, unfit = schedule(matrix, contenders(peers))
    total = sum(len(stage.heats) + len(stage.turns) for stage in stages)
    left_out = list(unfit)
    samples, heats, rows = [], [], []
    failures: Counter[tuple] = Counter()
    study = bench_study(matrix.queues)
    by_name = {peer.tool.name: peer for peer in peers}
    with study_lab(study) as lab:
        assert lab is not None  # both hosts of this study are lab hosts
        facts = host_facts(study, lab=lab)["on"][SENDER]
        limits, task_group = copy_limits(), lab.task_group
        for stage in stages:
            with open_path(study, lab, stage.environment, by_name, limits) as path:
                for heat in stage.heats:
                    heats.append(path.take(heat, matrix.heat_s))
                    progress(heat, heats[-1], total)
                chosen, tried = choose(stage, heats)
                rows += tried
                for turn in stage.turns:
                    key = (turn.cell, turn.contender)
                    if failures[key] == MAX_FAILURES:
                        continue
                    sample = path.take(turn, matrix.seconds, chosen[key])
                    samples.append(sample)
                    failures[key] = failures[key] + 1 if sample["error"] else 0
                    if failures[key] == MAX_FAILURES:
                        left_out.append(LeftOut(*key, f"failed: {sample['error']}"))
                    progress(turn, sample, total)
    own = [sample["error"] for sample in samples if sample["contender"] == GENSINK]
    if all(own):
        raise NetlabError(f"all transfers of gensink failed: {own[-1]}", code="E-BENCH-017")
    own_version = {"version": version(), "program": core.source_digest()}
    tools = dict.fromkeys(OWN, own_version)
    tools |= {peer.tool.name: {"version": peer.version, "program": peer.program} for peer in peers}
    return Bench(
        matrix=matrix,
        machine={name: facts.get(name) for name in MACHINE_FACTS} | {"task_group": task_group},
        limits=limits,
        tools=tools,
        samples=tuple(samples),
        heats=tuple(heats),
        variants=tuple(rows),
        left_out=tuple(left_out),
        started_at=started_at,
    )


# Every transfer of a benchmark on disk as it ends, so that one that is ended early keeps them.

NAME = "transfers.jsonl"


class TransferLog:
    def __init__(self, parent: Path, started_at: str):
        self._parent, self._started_at = parent, started_at
        self.count = 0
        """Transfers written."""

    @cached_property
    def directory(self) -> Path:
        return writing.new_directory(self._parent, self._started_at)

    @property
    def path(self) -> Path:
        return self.directory / NAME

    def write(self, sample: Mapping[str, object]) -> None:
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json_line(sample))
        self.count += 1
