"""Schedule of a study: rounds that each visit every block once and make each cell once."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, replace

from netlab.errors import BadInput
from netlab.study import Group, Study, slug
from netlab.study.factors import OF_LINK, Combination, Levels, id_part, levels_json, link_name
from netlab.study.model import study_at
from netlab.study.tool_limits import group_at

FOUND = "found"
"""Stands in block ids for an MTU that is not set."""


@dataclass(frozen=True)
class Run:
    """One planned measurement.

    ``order`` is its position in the whole schedule, from 0; ``round`` counts from 1. ``group`` has
    the options of the run, and ``levels`` one level of each factor of the study.
    """

    run_id: str
    order: int
    group: Group
    streams: int
    round: int
    levels: Levels = ()

    @property
    def cell_id(self) -> str:
        """Its run id without the round: the same for all runs of a cell."""
        return cell_of(self.run_id)

    @property
    def link(self) -> str:
        """Link of its path at its levels."""
        return link_name(self.group.path, tuple(p for p in self.levels if p[0] in OF_LINK))

    @property
    def factors(self) -> str:
        """Its levels as the column ``factors`` of results has them."""
        return levels_json(self.levels)

    def study(self, study: Study) -> Study:
        """The study with the options and the timing of this run."""
        return study_at(study, self.group, self.levels)


def cell_of(run_id: str) -> str:
    """Id of the cell that a run belongs to."""
    return run_id.rpartition("@")[0]


@dataclass(frozen=True)
class Visit:
    """The runs of a block in one round, in the order they are measured.

    A block is what shares a path, a tuning, an MTU, and the levels of all factors that are set
    between blocks. ``mtu_B`` is None where the MTU stays as found. ``link`` is the path's link at
    those levels, and ``outer`` has the factors that a person sets.
    """

    block_id: str
    round: int
    path: str
    link: str
    tuning: str
    mtu_B: int | None
    outer: Levels
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


Cells = list[tuple[Group, Combination]]


def _blocks(study: Study) -> Iterator[tuple[Visit, Cells]]:
    """Every combination of what is set between blocks that a group has, in an order of names.

    A block is a visit in no round and without runs, and the cells that it has.
    """
    for path in sorted(study.paths):
        by_tuning: dict[tuple, dict[tuple, Cells]] = {}
        for group in (group for group in study.groups if group.path == path):
            for one in study.combinations(group):
                parts = by_tuning.setdefault((one.tuning, one.mtu_B), {})
                key = (link_name(path, one.of_link), one.outer)
                parts.setdefault(key, []).append((group, one))
        for tuning in study.tunings:
            for mtu_B in tuning.mtus:
                for (link, outer), cells in by_tuning.get((tuning.name, mtu_B), {}).items():
                    mtu = FOUND if mtu_B is None else mtu_B
                    block_id = f"{link}@{tuning.name}@{mtu}{id_part(outer, '@')}"
                    yield Visit(block_id, 0, path, link, tuning.name, mtu_B, outer, ()), cells


def rounds(study: Study) -> tuple[tuple[Visit, ...], ...]:
    """Schedule a study in randomised complete blocks.

    Each round visits every block once and makes each cell once. The order of the blocks, and of
    the runs of each visit, is shuffled anew in every round by a generator seeded from the study's
    seed and the round. Two values of a cell are a round and a tuning apart, so that drift of the
    machine is not confounded with a factor. The first rounds do not depend on how many there are,
    and the order of paths in the file does not matter.
    """
    planned = list(_blocks(study))
    numbers = range(1, study.max_rounds + 1)
    return tuple(tuple(_round(study.seed, number, planned)) for number in numbers)


def _round(seed: int, number: int, planned: list[tuple[Visit, Cells]]) -> Iterator[Visit]:
    generator = random.Random(f"{seed}/{number}")
    order = (number - 1) * sum(len(cells) for _, cells in planned)
    for block, cells in generator.sample(planned, len(planned)):
        runs = []
        for at, (group, one) in enumerate(generator.sample(cells, len(cells)), order):
            of_run = id_part(one.of_run, "@")
            run_id = f"{block.block_id}@{slug(group.name)}@{one.streams}{of_run}@{number}"
            taken = group_at(group, one.of_run)
            runs.append(Run(run_id, at, taken, one.streams, number, one.levels))
        order += len(cells)
        yield replace(block, round=number, runs=tuple(runs))


def visits(study: Study) -> tuple[Visit, ...]:
    """Every visit of a study in the order of measuring."""
    return tuple(visit for each in rounds(study) for visit in each)


def visit(study: Study, block_id: str, round: int = 1) -> Visit:
    """One visit of a study by its block and round."""
    planned, where = list(_blocks(study)), study.name
    ids = sorted(block.block_id for block, _ in planned)
    if block_id not in ids:
        reason = f"the study has no such block; there are {', '.join(ids)}"
        raise BadInput(reason, where=where, key="block_id", value=block_id, code="E-STUDY-003")
    if round not in range(1, study.max_rounds + 1):
        reason = f"the study has rounds 1 to {study.max_rounds}"
        raise BadInput(reason, where=where, key="round", value=round, code="E-STUDY-060")
    return next(one for one in _round(study.seed, int(round), planned) if one.block_id == block_id)
