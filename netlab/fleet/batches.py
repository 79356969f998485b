"""Batches of a fleet: short jobs of one pair in one round, which one process makes in turn.

To start a process, Python and Snakemake's part take as long as a short job. A batch never has two
rounds of the study, so that two values of a cell stay as far apart as in its schedule.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby

from netlab.fleet.pairs import Pair, rounds_of
from netlab.fleet.plan import FleetJob, FleetPlan, FleetVisit, pair_id

BATCH_S = 60.0
MOST = 100
"""Jobs of a batch: all their names are arguments of one command."""


@dataclass(frozen=True)
class Batch:
    pair: Pair
    number: int
    visits: tuple[FleetVisit, ...]
    after: tuple[str, ...]

    @property
    def batch_id(self) -> str:
        """Pair and number: ``a~b/3``."""
        return f"{pair_id(self.pair)}/{self.number}"


def batches(
    plan: FleetPlan, jobs: Iterable[FleetJob], batch_s: float = BATCH_S
) -> tuple[Batch, ...]:
    wanted = {(job.pair, job.visit) for job in jobs}
    pairs = [pair for each in rounds_of(plan.pairs) for pair in each]
    last: dict[str, str] = {}
    all_batches = []
    for number, part in enumerate(_parts(plan.visits, batch_s)):
        for pair in pairs:
            if visits := tuple(visit for visit in part if (pair, visit) in wanted):
                after = dict.fromkeys(last[name] for name in pair if name in last)
                batch = Batch(pair, number, visits, tuple(after))
                last |= dict.fromkeys(pair, batch.batch_id)
                all_batches.append(batch)
    return tuple(all_batches)


def _parts(visits: Iterable[FleetVisit], batch_s: float) -> Iterator[list[FleetVisit]]:
    """Consecutive visits of one round that take at most the time of a batch."""
    for _, of_round in groupby(visits, key=lambda visit: visit.round):
        part: list[FleetVisit] = []
        for visit in of_round:
            long = sum(each.seconds for each in part) + visit.seconds > batch_s
            if part and (long or len(part) == MOST):
                yield part
                part = []
            part.append(visit)
        yield part
