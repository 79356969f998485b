"""Batches of a fleet: short jobs of one pair in one round, which one process makes in turn.

To start a process, Python and Snakemake's part take as long as a short job. A batch never has two
rounds of the study, so that two values of a cell stay as far apart as in its schedule.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from netlab.fleet.pairs import Pair, rounds_of
from netlab.fleet.plan import FleetJob, FleetPlan, FleetVisit, pair_id

BATCH_S = 60.0
MOST = 100
"""Jobs of a batch: all their names are arguments of one command."""


@dataclass(frozen=True)
class Batch:
    """Consecutive jobs of a pair."""

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
    """Put jobs together to batches, in the order of measuring."""
    wanted = {(job.pair, job.visit.visit_id) for job in jobs}
    matches = rounds_of(plan.pairs)
    last: dict[str, str] = {}
    found = []
    for number, part in enumerate(_parts(plan.visits, batch_s)):
        for pair in (pair for match in matches for pair in match):
            visits = tuple(visit for visit in part if (pair, visit.visit_id) in wanted)
            if visits:
                after = dict.fromkeys(last[name] for name in pair if name in last)
                batch = Batch(pair, number, visits, tuple(after))
                last.update(dict.fromkeys(pair, batch.batch_id))
                found.append(batch)
    return tuple(found)


def _parts(visits: Iterable[FleetVisit], batch_s: float) -> Iterator[list[FleetVisit]]:
    """Consecutive visits of one round that take at most the time of a batch."""
    part: list[FleetVisit] = []
    for visit in visits:
        long = sum(each.seconds for each in part) + visit.seconds > batch_s
        if part and (long or len(part) == MOST or part[0].round != visit.round):
            yield part
            part = []
        part.append(visit)
    if part:
        yield part
