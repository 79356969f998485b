"""Tables of provenance: one column a host, rows that differ apart from those that do not."""

from __future__ import annotations

import pandas as pd

from netlab.analysis import fact_words
from netlab.analysis.host_facts import machines
from netlab.analysis.measured import Measured
from netlab.files.tables import Table, table_or
from netlab.report.tables import Tables


def provenance(m: Measured) -> Tables:
    """Machines, versions, digests, settings and times of a measurement.

    Facts in which the hosts differ, those they share, and those of the whole campaign.
    """
    found = machines(m.runs, m.study)
    none = "No recorded fact differs between the hosts."
    head = "fact" if "fact" not in found.hosts else "fact_"  # a host may have this name
    frame = found.differing
    frame = frame.reset_index(names=head) if len(frame) else frame
    caption = "Facts in which the hosts differ"
    differing = table_or(none, _facts_in_words(frame), caption, data=frame)
    names = ", ".join(found.hosts.columns) or "none"
    equal = Table(_facts_in_words(found.equal), f"Facts of all hosts: {names}", data=found.equal)
    campaign = Table(_facts_in_words(found.shared), "The campaign", data=found.shared)
    return Tables((differing, equal, campaign))


def _facts_in_words(frame: pd.DataFrame) -> pd.DataFrame:
    """A copy with names in the first column, and values in the others, as a reader sees them."""
    shown = frame.copy()
    for place, name in enumerate(frame.columns):
        shown[name] = frame[name].map(fact_words.value if place else fact_words.fact)
    return shown
