"""Tables of provenance: one column a host, rows that differ apart from those that do not."""

from __future__ import annotations

from dataclasses import dataclass

from netlab.analysis.machines import machines
from netlab.analysis.measured import Measured
from netlab.files.tables import Table
from netlab.report.tables import Sentence


@dataclass(frozen=True)
class Provenance:
    """Facts in which the hosts differ, those they share, and those of the whole campaign."""

    differing: Table | Sentence
    equal: Table
    shared: Table

    def _repr_html_(self) -> str:
        parts = (self.differing, self.equal, self.shared)
        return "".join(part._repr_html_() for part in parts)

    def __repr__(self) -> str:
        return "\n\n".join(map(repr, (self.differing, self.equal, self.shared)))


def provenance(m: Measured) -> Provenance:
    """Machines, versions, digests, settings and times of a measurement."""
    found = machines(m.runs, m.study)
    differing: Table | Sentence
    if found.differing.empty:
        differing = Sentence("No recorded fact differs between the hosts.")
    else:
        frame = found.differing.reset_index()
        differing = Table(frame, "Facts in which the hosts differ")
    return Provenance(
        differing,
        Table(found.equal, f"Facts of all hosts: {', '.join(found.hosts.columns) or 'none'}"),
        Table(found.shared, "The campaign"),
    )
