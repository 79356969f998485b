"""Every quantitative statement of the five documents, recomputed and judged."""

from __future__ import annotations

import pandas as pd

from netlab.published.claims import (
    gigabit_nic,
    openlab_bus,
    openlab_conclusions,
    openlab_tables,
    preliminary,
    slac,
    solaris_linux,
)
from netlab.published.claims.model import Claim, Finding, Printed, Verdict

__all__ = ["Claim", "Finding", "Printed", "Verdict", "all_claims", "check_all"]

DOCUMENTS = {
    "openlab-report": "10Gb Ethernet Back-To-Back tests",
    "openlab-preliminary": "Preliminary test results of the 10 GB NICs",
    "slac": "Throughput from Sunnyvale to Geneva",
    "solaris-linux": "Network buffers of Solaris and Linux",
    "gigabit-nic": "Squeeze Your Gigabit NIC for Top Performance",
}


def all_claims() -> tuple[Claim, ...]:
    """All claims, by document and in the order of its text."""
    return (
        *openlab_bus.CLAIMS,
        *openlab_tables.CLAIMS,
        *openlab_conclusions.CLAIMS,
        *preliminary.CLAIMS,
        *slac.CLAIMS,
        *solaris_linux.CLAIMS,
        *gigabit_nic.CLAIMS,
    )


def check_all() -> pd.DataFrame:
    """Recompute every claim.

    Returns
    -------
    DataFrame
        One row a claim: ``document``, ``place``, ``statement``, ``claimed``, ``recomputed``,
        ``verdict`` (``holds``, ``rounds``, ``contradicted``, ``not checkable``), ``why``.
    """
    rows = []
    for claim in all_claims():
        finding = claim.check()
        rows.append(
            {
                "document": claim.document,
                "place": claim.place,
                "statement": claim.statement,
                "claimed": claim.claimed.text,
                "recomputed": finding.recomputed,
                "verdict": str(finding.verdict),
                "why": finding.why,
            }
        )
    return pd.DataFrame(rows)
