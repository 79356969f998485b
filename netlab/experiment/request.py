"""The request of a visit, which a campaign hands to whatever measures it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from netlab.errors import BadInput
from netlab.study import Study, schedule
from netlab.study.schedule import Visit


@dataclass(frozen=True)
class VisitRequest:
    """A visit to be measured. Its fields are JSON, and the parameters of the visit's notebook."""

    study: str
    """File of the study."""
    block_id: str
    round_number: int
    results: str
    """Directory of the store."""
    runs: Sequence[str] = ()
    """Ids of the runs to measure, with `part`; without it, empty is all without a valid record."""
    part: str = ""
    """Part of the store to write, whose name has the campaign; empty: a new one."""
    lab: str = ""
    """Id of a lab that is up; empty: one of its own, if the study needs it."""
    wait_s: float = 0.0
    """Longest wait for quiet hosts before they are tuned, s."""
    quick: bool = False
    """Take the short form of the study; a campaign names the file of the form that it measures."""

    def parameters(self) -> dict[str, object]:
        """The request as a notebook takes it."""
        return asdict(self) | {"runs": list(self.runs)}

    def visit(self, study: Study) -> Visit:
        """The visit of the study that it asks for, with its runs alone."""
        visit = schedule.visit(study, self.block_id, self.round_number)
        if unknown := sorted(set(self.runs) - {run.run_id for run in visit.runs}):
            reason = "the block has no such run in this round"
            raise BadInput(reason, key="runs", value=unknown[0], code="E-RUN-091")
        return visit.only(set(self.runs)) if self.runs or self.part else visit
