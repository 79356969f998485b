"""Schedule of a study: rounds that each visit every block once and make each cell once."""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Iterator
from dataclasses import dataclass, replace

from netlab.errors import BadInput
from netlab.study import Group, Study, slug

FOUND = "found"
"""Stands in block ids for an MTU that is not set."""


@dataclass(frozen=True)
class Run:
    """One planned measurement.

    ``order`` is its position in the whole schedule, from 0; ``round`` counts from 1.
    """

    run_id: str
    order: int
    group: Group
    streams: int
    round: int

    @property
    def cell_id(self) -> str:
        """Its run id without the round: the same for all runs of a cell."""
        return cell_of(self.run_id)


def cell_of(run_id: str) -> str:
    """Id of the cell that a run belongs to."""
    return run_id.rpartition("@")[0]


@dataclass(frozen=True)
class Visit:
    """The runs of a block in one round, in the order they are measured.

    A block is what shares a path, a tuning and an MTU. ``mtu_B`` is None where the MTU stays as
    found.
    """

    block_id: str
    round: int
    path: str
    tuning: str
    mtu_B: int | None
    runs: tuple[Run, ...]

    @property
    def visit_id(self) -> str:
        """Block and round, for the names of files: ``64-64@full@9000@r3``."""
        return f"{self.block_id}@r{self.round}"

    @property
    def mtu_text(self) -> str:
        """``9000 B`` or ``MTU as found``."""
        return "MTU as found" if self.mtu_B is None else f"{self.mtu_B} B"

    def only(self, run_ids: set[str]) -> Visit:
        """The visit with these of its runs, in the same order."""
        return replace(self, runs=tuple(run for run in self.runs if run.run_id in run_ids))


@dataclass(frozen=True)
class _Block:
    """A block before its runs are put in order."""

    path: str
    tuning: str
    mtu_B: int | None
    cells: tuple[tuple[Group, int], ...]

    @property
    def block_id(self) -> str:
        return f"{self.path}@{self.tuning}@{FOUND if self.mtu_B is None else self.mtu_B}"


def _blocks(study: Study) -> Iterator[_Block]:
    """Every combination of path, tuning and MTU that a group has, in an order of names."""
    for path in sorted(study.paths):
        groups = [group for group in study.groups if group.path == path]
        for tuning in study.tunings:
            for mtu_B in tuning.mtus:
                cells = tuple(
                    (group, streams)
                    for group in groups
                    for name, level_B, streams in study.levels(group)
                    if (name, level_B) == (tuning.name, mtu_B)
                )
                if cells:
                    yield _Block(path, tuning.name, mtu_B, cells)


def rounds(study: Study) -> tuple[tuple[Visit, ...], ...]:
    """Schedule a study in randomised complete blocks.

    Each round visits every block once and makes each cell once. The order of the blocks, and of
    the runs of each visit, is shuffled anew in every round by a generator seeded from the study's
    seed and the round. Two values of a cell are a round and a tuning apart, so that drift of the
    machine is not confounded with a factor. The first rounds do not depend on how many there are,
    and the order of paths in the file does not matter.

    Returns
    -------
    tuple of tuple of Visit
        One tuple a round, as many as ``study.max_rounds``.
    """
    planned = list(_blocks(study))
    total = sum(len(block.cells) for block in planned)
    return tuple(
        _round(study.seed, number, planned, total * (number - 1))
        for number in range(1, study.max_rounds + 1)
    )


def _round(seed: int, number: int, planned: list[_Block], order: int) -> tuple[Visit, ...]:
    generator = random.Random(f"{seed}/{number}")
    found = []
    for block in generator.sample(planned, len(planned)):
        made = []
        for group, streams in generator.sample(block.cells, len(block.cells)):
            run_id = f"{block.block_id}@{slug(group.name)}@{streams}@{number}"
            made.append(Run(run_id, order, group, streams, number))
            order += 1
        found.append(
            Visit(block.block_id, number, block.path, block.tuning, block.mtu_B, tuple(made))
        )
    return tuple(found)


def visits(study: Study) -> tuple[Visit, ...]:
    """Every visit of a study in the order of measuring."""
    return tuple(visit for each in rounds(study) for visit in each)


def visit(study: Study, block_id: str, round: int = 1) -> Visit:
    """One visit of a study by its block and round.

    Raises
    ------
    BadInput
        The study has no such block or round.
    """
    found = [candidate for candidate in visits(study) if candidate.block_id == block_id]
    if not found:
        raise BadInput(
            "the study has no such block; there are "
            + ", ".join(sorted(block.block_id for block in _blocks(study))),
            where=study.name,
            key="block_id",
            value=block_id,
            code="E-STUDY-003",
        )
    for candidate in found:
        if candidate.round == round:
            return candidate
    raise BadInput(
        f"the study has rounds 1 to {study.max_rounds}",
        where=study.name,
        key="round",
        value=round,
        code="E-STUDY-060",
    )


VISIT_S = 2.5
"""Estimated time of a visit besides its runs: to connect to the hosts, tune and revert them."""

RUN_OVERHEAD_S = 0.11
"""Estimated time of a run besides warm-up and window."""


def run_s(study: Study) -> float:
    """Estimated time of a run, s."""
    return study.timing.warmup_s + study.timing.seconds + RUN_OVERHEAD_S


def measuring_s(study: Study, runs: int) -> float:
    """Seconds of warm-up and window of `runs` runs."""
    return runs * (study.timing.warmup_s + study.timing.seconds)


NOT_MEASURED = {
    *("table", "target_percent_of_bus", "congestion", "tunings", "mtus_B", "streams"),
    *("quick_records", "short", "part"),
}
"""Keys of a group that do not affect a run, or that the run's own factors cover."""


def provenance_key(study: Study, visit: Visit, run: Run, context: dict) -> str:
    """Key of a run; a stored run with the same key is not measured again.

    Parameters
    ----------
    study, visit, run
        The planned run.
    context : dict
        JSON-able: versions, digests, the hosts' kernels and cards, the tunings' content.

    Returns
    -------
    str
        SHA-256 over the run's own factors, timing, path and the context: changing a part of the
        study that the run does not depend on leaves it valid.
    """
    path, used = study.paths[visit.path], run.group.generator
    hosts = {
        end.host: {
            **study.hosts[end.host].model_dump(mode="json", exclude={"profiles"}),
            "profile": study.profile(end.host, visit.tuning),
        }
        for end in path.ends
    }
    content = {
        "path": path.model_dump(mode="json"),
        "hosts": hosts,
        "tuning": visit.tuning,
        "mtu_B": visit.mtu_B,
        "group": run.group.model_dump(mode="json", exclude=NOT_MEASURED),
        "streams": run.streams,
        "round": run.round,
        "seconds": study.timing.seconds,
        "warmup_s": study.timing.warmup_s,
        "interval_ms": study.timing.interval_ms,
        "drain_s": study.timing.drain_s,
        "congestion": study.congestion_of(run.group),
        "stacks": {
            name: study.stacks[name].model_dump(mode="json")
            for name in study.congestions((run.group,))
            if name in study.stacks
        },
        "force_buffer": study.force_buffer,
        "engine": study.engine,
        "threads": study.threads,
        "send": study.send,
        "receive": study.receive,
        "socket": study.socket.model_dump(mode="json"),
        "trace": study.trace,
        "noise": study.noise.model_dump(mode="json", exclude={"retries"}),
        "context": {**context, "generators": context.get("generators", {}).get(used)},
    }
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
