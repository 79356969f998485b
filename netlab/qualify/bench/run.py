"""A whole benchmark: limits, then every turn of the schedule."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import netlab
from netlab import core
from netlab.errors import NetlabError
from netlab.experiment.endpoint import host_facts, study_lab
from netlab.qualify.bench.contenders import GENSINK, contenders
from netlab.qualify.bench.heats import Standing, choose, standings
from netlab.qualify.bench.installed import Installed
from netlab.qualify.bench.limits import CopyLimits, copy_limits
from netlab.qualify.bench.path import SENDER, bench_study, open_path
from netlab.qualify.bench.rounds import Heat, LeftOut, Matrix, Turn, schedule

MAX_FAILURES = 2
"""So many failures on end in a cell and a contender is left out of the rest of it."""

MACHINE_FACTS = ("machine", "cpu_model", "cpus", "memory_kB", "kernel", "os")


@dataclass(frozen=True)
class Bench:
    """What was measured, before anything is concluded from it.

    Attributes
    ----------
    matrix : Matrix
        What was asked for.
    machine : dict
        The one machine that both ends are on, and what they are to its scheduler
        (:data:`netlab.lab.taskgroup.Kind`).
    limits : CopyLimits
        How fast it copies memory.
    tools : dict of str to dict
        Contender -> ``version`` and ``program``.
    samples : tuple of dict
        Every transfer of the rounds in the order measured, failed ones included.
    heats : tuple of dict
        Those of the heats, likewise.
    standings : tuple of Standing
        What the heats say of each variant, and which was chosen.
    left_out : tuple of LeftOut
        What was not measured, and why.
    started_at : str
        UTC.
    """

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
    progress: Callable[[Turn | Heat, dict | None, int], None] = lambda *_told: None,
) -> Bench:
    """Run a benchmark on a lab of its own.

    Parameters
    ----------
    matrix : Matrix
        Cells, rounds, seconds and seed.
    peers : sequence of Installed
        The tools beside netlab's own.
    progress : callable
        Called after each heat and each turn with it, its sample (None if it was skipped) and how
        many there are of both together.

    Raises
    ------
    NetlabError
        There is no peer to compare with, or netlab's own transfers all failed.
    Unsupported
        This machine cannot make a lab.
    HostError
        An end of the path was lost.
    """
    if not peers:
        raise NetlabError("none of the tools that netlab is compared with is installed")
    started_at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
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
        facts = host_facts(study, lab=lab)["on"][SENDER]
        limits, task_group = copy_limits(), lab.task_group
        for stage in stages:
            with open_path(study, lab, stage.environment, by_name) as path:
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
        raise NetlabError(f"no transfer of netlab's own succeeded: {own[-1]}")
    tools = {GENSINK: {"version": netlab.__version__, "program": core.source_digest()}}
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
