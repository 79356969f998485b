"""A whole benchmark: limits, then every turn of the schedule."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import netlab
from netlab import core
from netlab.bench.installed import Installed
from netlab.bench.limits import CopyLimits, copy_limits
from netlab.bench.path import SENDER, bench_study, open_path
from netlab.bench.rounds import GENSINK, LeftOut, Matrix, Turn, schedule
from netlab.errors import NetlabError
from netlab.station import host_facts, study_lab

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
        The one machine that both ends are on.
    limits : CopyLimits
        How fast it copies memory.
    tools : dict of str to dict
        Contender -> ``version`` and ``program``.
    samples : tuple of dict
        Every transfer in the order measured, failed ones included.
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
    left_out: tuple[LeftOut, ...]
    started_at: str


def run_bench(
    matrix: Matrix,
    peers: Sequence[Installed],
    *,
    progress: Callable[[Turn, dict | None, int], None] = lambda turn, sample, turns: None,
) -> Bench:
    """Run a benchmark on a lab of its own.

    Parameters
    ----------
    matrix : Matrix
        Cells, rounds, seconds and seed.
    peers : sequence of Installed
        The tools beside netlab's own.
    progress : callable
        Called after each turn with it, its sample (None if it was skipped) and how many there are.

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
    turns, unfit = schedule(matrix, peers)
    left_out = list(unfit)
    samples: list[dict] = []
    failures: dict[tuple, int] = {}
    study = bench_study()
    by_name = {peer.tool.name: peer for peer in peers}
    with study_lab(study) as lab:
        facts = host_facts(study, lab=lab)["on"][SENDER]
        limits = copy_limits()
        for environment, some in itertools.groupby(turns, lambda turn: turn.cell.environment):
            with open_path(study, lab, environment, by_name) as path:
                for turn in some:
                    key = (turn.cell, turn.contender)
                    if failures.get(key, 0) == MAX_FAILURES:
                        progress(turn, None, len(turns))
                        continue
                    sample = path.take(turn, matrix.seconds)
                    samples.append(sample)
                    failures[key] = failures.get(key, 0) + 1 if sample["error"] else 0
                    if failures[key] == MAX_FAILURES:
                        left_out.append(LeftOut(*key, f"failed: {sample['error']}"))
                    progress(turn, sample, len(turns))
    own = [sample["error"] for sample in samples if sample["contender"] == GENSINK]
    if all(own):
        raise NetlabError(f"no transfer of netlab's own succeeded: {own[-1]}")
    tools = {GENSINK: {"version": netlab.__version__, "program": core.source_digest()}}
    tools |= {peer.tool.name: {"version": peer.version, "program": peer.program} for peer in peers}
    machine = {name: facts.get(name) for name in MACHINE_FACTS}
    return Bench(matrix, machine, limits, tools, tuple(samples), tuple(left_out), started_at)
