"""Every quantitative statement of the five documents, recomputed and compared.

The statements are data: one YAML file a document beside this module. A statement names its place,
quotes the printed value, and gives an expression of the value recomputed from the published data.
"""

from __future__ import annotations

from functools import cache
from operator import attrgetter
from pathlib import Path
from typing import Any

import pandas as pd

from netlab import bus
from netlab.congestion import IP_TCP_HEADER_B, ethernet_goodput_Mbps, mss_B, window_limit_Mbps
from netlab.files.yaml_file import read_yaml
from netlab.openlab.published.claims import notes_values, values
from netlab.openlab.published.claims.claim import (
    CheckResult,
    Claim,
    PrintedValue,
    Verdict,
    claims_of,
)
from netlab.units import GIB, KIB, MIB

__all__ = ["CheckResult", "Claim", "PrintedValue", "Verdict", "all_claims", "check_all"]

DOCUMENTS = {
    "openlab-report": "10Gb Ethernet Back-To-Back tests",
    "openlab-preliminary": "Preliminary test results of the 10 GB NICs",
    "slac": "Throughput from Sunnyvale to Geneva",
    "solaris-linux": "Network buffers of Solaris and Linux",
    "gigabit-nic": "Squeeze Your Gigabit NIC for Top Performance",
}

HEADS = {
    "place": "Where", "statement": "What is said", "claimed": "Claimed",
    "recomputed": "Recomputed", "verdict": "Verdict", "why": "Why",
}  # fmt: skip
"""Columns of the claims, and their heads in tables."""


def _join(form: str, *columns: Any) -> str:
    """Rows of one or several columns as text, each in a printf form such as ``%g to %g``."""
    return ", ".join(form % row for row in zip(*columns, strict=True))


def _where(values: list, mask: Any) -> list:
    return [value for value, chosen in zip(values, mask, strict=True) if chosen]


_NAMES: dict[str, Any] = {
    **values.NAMES,
    **{name: getattr(bus, name) for name in dir(bus) if name.startswith("PCI_")},
    **{"pci": bus.pci, "pci_x_efficiency": bus.pci_x_efficiency, "shared": bus.shared},
    **{name: attrgetter(name) for name in ("bandwidth_MBps", "bandwidth_Mbps")},
    **{"percent_of": bus.ParallelBus.percent, "join": _join, "where": _where},
    **{"all": all, "len": len, "max": max, "min": min, "sum": sum},
    **{"KIB": KIB, "MIB": MIB, "GIB": GIB, "IP_TCP_HEADER_B": IP_TCP_HEADER_B},
    **{"ethernet_goodput_Mbps": ethernet_goodput_Mbps, "mss_B": mss_B},
    "window_limit_Mbps": window_limit_Mbps,
}


@cache
def all_claims() -> tuple[Claim, ...]:
    """All claims, by document and in the order of its text."""
    claims: list[Claim] = []
    for document in DOCUMENTS:
        if document == notes_values.PRELIMINARY:
            claims += notes_values.totals()
        content = read_yaml(Path(__file__).with_name(f"{document}.yml"))
        claims += claims_of(content, _NAMES)
    return tuple(claims)


def check_all() -> pd.DataFrame:
    rows = []
    for claim in all_claims():
        result, place = claim.checked(), (claim.document, claim.place, claim.statement)
        figures = (claim.claimed.text, result.recomputed, str(result.verdict), result.why)
        rows.append((*place, *figures))
    return pd.DataFrame(rows, columns=["document", *HEADS])
