"""Run a whole benchmark: memory copy limits, then every transfer of the schedule."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from netlab import core
from netlab.errors import NetlabError
from netlab.experiment.endpoint import host_facts, study_lab
from netlab.qualify.bench.contenders import GENSINK, OWN, contenders
from netlab.qualify.bench.heats import Standing, choose, standings
from netlab.qualify.bench.installed import Installed
from netlab.qualify.bench.limits import CopyLimits, copy_limits
from netlab.qualify.bench.path import SENDER, bench_study, open_path
from netlab.qualify.bench.rounds import Heat, LeftOut, Matrix, Turn, schedule
from netlab.version import version

MAX_FAILURES = 2
"""Exclude a contender from a cell after this many consecutive failures."""

MACHINE_FACTS = ("machine", "cpu_model", "cpus", "memory_kB", "kernel", "os")


@dataclass(frozen=True)
class Bench:
    """The measurements of a benchmark, without conclusions."""

    matrix: Matrix
    machine: dict
    limits: CopyLimits
    tools: dict[str, dict]
    samples: tuple[dict, ...]
    heats: tuple[dict, ...]
    standings: tuple[Standing, ...]
    left_out: tuple[LeftOut, ...]
    started_at: str


def run_bench(
    matrix: Matrix,
    peers: Sequence[Installed],
    *,
    started_at: str,
    progress: Callable[[Turn | Heat, dict | None, int], None] = lambda *_told: None,
) -> Bench:
    """Run a benchmark on a lab of its own."""
    if not peers:
        raise NetlabError("no tool to compare with is installed", code="E-BENCH-016")
    stages, unfit = schedule(matrix, contenders(peers))
    total = sum(len(stage.heats) + len(stage.turns) for stage in stages)
    left_out = list(unfit)
    samples: list[dict] = []
    heats: list[dict] = []
    stood: list[Standing] = []
    failures: dict[tuple, int] = {}
    study = bench_study(matrix.queues)
    by_name = {peer.tool.name: peer for peer in peers}
    with study_lab(study) as lab:
        assert lab is not None  # both hosts of this study are lab hosts
        facts = host_facts(study, lab=lab)["on"][SENDER]
        limits, task_group = copy_limits(), lab.task_group
        for stage in stages:
            with open_path(study, lab, stage.environment, by_name, limits) as path:
                for heat in stage.heats:
                    heats.append(path.take(heat, heat.variant, matrix.heat_s))
                    progress(heat, heats[-1], total)
                chosen = choose(stage, heats)
                stood += standings(stage, heats, chosen)
                for turn in stage.turns:
                    key = (turn.cell, turn.contender)
                    if failures.get(key, 0) == MAX_FAILURES:
                        progress(turn, None, total)
                        continue
                    sample = path.take(turn, chosen[key], matrix.seconds)
                    samples.append(sample)
                    failures[key] = failures.get(key, 0) + 1 if sample["error"] else 0
                    if failures[key] == MAX_FAILURES:
                        left_out.append(LeftOut(*key, f"failed: {sample['error']}"))
                    progress(turn, sample, total)
    own = [sample["error"] for sample in samples if sample["contender"] == GENSINK]
    if all(own):
        raise NetlabError(f"all transfers of gensink failed: {own[-1]}", code="E-BENCH-017")
    core_version = {"version": version(), "program": core.source_digest()}
    tools = dict.fromkeys(OWN, core_version)
    tools |= {peer.tool.name: {"version": peer.version, "program": peer.program} for peer in peers}
    return Bench(
        matrix=matrix,
        machine={name: facts.get(name) for name in MACHINE_FACTS} | {"task_group": task_group},
        limits=limits,
        tools=tools,
        samples=tuple(samples),
        heats=tuple(heats),
        standings=tuple(stood),
        left_out=tuple(left_out),
        started_at=started_at,
    )
