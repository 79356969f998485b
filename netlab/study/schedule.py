"""Schedule of a study: blocks of runs in an order shuffled from the seed."""

from __future__ import annotations

import hashlib
import json
import random
from dataclasses import dataclass

from netlab.errors import BadInput
from netlab.study import Group, Study, slug

FOUND = "found"
"""Stands in block ids for an MTU that is not set."""


@dataclass(frozen=True)
class Run:
    """One planned measurement.

    ``order`` is its position in the whole study, from 0; ``repeat`` counts from 1.
    """

    run_id: str
    order: int
    group: Group
    streams: int
    repeat: int


@dataclass(frozen=True)
class Block:
    """The runs that share a path, a tuning and an MTU, in the order they are measured.

    ``mtu_B`` is None where the MTU stays as found.
    """

    block_id: str
    path: str
    tuning: str
    mtu_B: int | None
    runs: tuple[Run, ...]

    @property
    def mtu_text(self) -> str:
        """``9000 B`` or ``MTU as found``."""
        return "MTU as found" if self.mtu_B is None else f"{self.mtu_B} B"


def blocks(study: Study) -> tuple[Block, ...]:
    """Schedule a study.

    Blocks and the runs within each are shuffled by a generator seeded from the study's seed, so
    that drift of the machine is not confounded with a factor. Studies with the same digest have
    the same schedule, independent of the order of the paths in their files.

    Returns
    -------
    tuple of Block
        Every combination of path, tuning and MTU; paths without a group are left out.
    """
    generator = random.Random(study.seed)
    planned: list[tuple[str, str, int | None, list[tuple[Group, int, int]]]] = []
    for path in sorted(study.paths):
        groups = [group for group in study.groups if group.path == path]
        if not groups:
            continue
        levels = {group.name: study.levels(group) for group in groups}
        for tuning in study.tunings:
            for mtu_B in tuning.mtus:
                runs = [
                    (group, streams, repeat)
                    for group in groups
                    for name, level_B, streams in levels[group.name]
                    if (name, level_B) == (tuning.name, mtu_B)
                    for repeat in range(1, study.timing.repeats + 1)
                ]
                if runs:
                    generator.shuffle(runs)
                    planned.append((path, tuning.name, mtu_B, runs))
    generator.shuffle(planned)

    order = 0
    result = []
    for path, level, mtu_B, runs in planned:
        block_id = f"{path}@{level}@{FOUND if mtu_B is None else mtu_B}"
        made = []
        for group, streams, repeat in runs:
            run_id = f"{block_id}@{slug(group.name)}@{streams}@{repeat}"
            made.append(Run(run_id, order, group, streams, repeat))
            order += 1
        result.append(Block(block_id, path, level, mtu_B, tuple(made)))
    return tuple(result)


def block(study: Study, block_id: str) -> Block:
    """One block of a study by its id.

    Raises
    ------
    BadInput
        The study has no such block.
    """
    for candidate in blocks(study):
        if candidate.block_id == block_id:
            return candidate
    raise BadInput(
        f"study {study.name!r} has no such block",
        key="block_id",
        value=block_id,
        code="E-STUDY-003",
    )


def measuring_s(study: Study, runs: int) -> float:
    """Seconds of warm-up and window of `runs` runs."""
    return runs * (study.timing.warmup_s + study.timing.seconds)


NOT_MEASURED = {
    *("table", "target_percent_of_bus", "congestion", "tunings", "mtus_B", "streams"),
    *("quick_records", "short", "part"),
}
"""Keys of a group that do not affect a run, or that the run's own factors cover."""


def provenance_key(study: Study, block: Block, run: Run, context: dict) -> str:
    """Key of a run; a stored run with the same key is not measured again.

    Parameters
    ----------
    study, block, run
        The planned run.
    context : dict
        JSON-able: versions, digests, the hosts' kernels and cards, the tunings' content.

    Returns
    -------
    str
        SHA-256 over the run's own factors, timing, path and the context: changing a part of the
        study that the run does not depend on leaves it valid.
    """
    path, used = study.paths[block.path], run.group.generator
    hosts = {
        end.host: {
            **study.hosts[end.host].model_dump(mode="json", exclude={"profiles"}),
            "profile": study.profile(end.host, block.tuning),
        }
        for end in path.ends
    }
    content = {
        "path": path.model_dump(mode="json"),
        "hosts": hosts,
        "tuning": block.tuning,
        "mtu_B": block.mtu_B,
        "group": run.group.model_dump(mode="json", exclude=NOT_MEASURED),
        "streams": run.streams,
        "repeat": run.repeat,
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
        "context": {**context, "generators": context.get("generators", {}).get(used)},
    }
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
