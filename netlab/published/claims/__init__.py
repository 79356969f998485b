"""Every quantitative statement of the five documents, recomputed and compared.

The statements are data: one YAML file a document beside this module. A statement names its place,
quotes the printed value, and gives an expression of the value recomputed from the published data.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd

from netlab import bus
from netlab.congestion.window_laws import (
    IP_TCP_HEADER_B,
    ethernet_goodput_Mbps,
    mss_B,
    window_limit_Mbps,
)
from netlab.files.yaml_file import read_yaml
from netlab.published.claims import gigabit, openlab, preliminary, slac
from netlab.published.claims.model import CheckResult, Claim, PrintedValue, Verdict, claims_of
from netlab.units import GIB, KIB, MIB

__all__ = ["CheckResult", "Claim", "PrintedValue", "Verdict", "all_claims", "check_all"]

DOCUMENTS = {
    "openlab-report": "10Gb Ethernet Back-To-Back tests",
    "openlab-preliminary": "Preliminary test results of the 10 GB NICs",
    "slac": "Throughput from Sunnyvale to Geneva",
    "solaris-linux": "Network buffers of Solaris and Linux",
    "gigabit-nic": "Squeeze Your Gigabit NIC for Top Performance",
}


def _bandwidth_MBps(of_bus: bus.ParallelBus) -> float:
    return of_bus.bandwidth_MBps


def _bandwidth_Mbps(of_bus: bus.ParallelBus) -> float:
    return of_bus.bandwidth_Mbps


def _percent_of(of_bus: bus.ParallelBus, throughput_MBps: float) -> float:
    return of_bus.percent(throughput_MBps)


def _join(form: str, *columns: Any) -> str:
    """Rows of one or several columns as text, each in a printf form such as ``%g to %g``."""
    return ", ".join(form % row for row in zip(*columns, strict=True))


def _where(values: list, mask: Any) -> list:
    return [value for value, chosen in zip(values, mask, strict=True) if chosen]


def _first(values: list, otherwise: str) -> Any:
    return values[0] if values else otherwise


_COMMON: dict[str, Any] = {
    **{name: getattr(bus, name) for name in dir(bus) if name.startswith("PCI_")},
    **{"pci": bus.pci, "pci_x_efficiency": bus.pci_x_efficiency, "shared": bus.shared},
    **{"bandwidth_MBps": _bandwidth_MBps, "bandwidth_Mbps": _bandwidth_Mbps},
    **{"percent_of": _percent_of, "join": _join, "where": _where, "first": _first},
    **{"all": all, "len": len, "max": max, "min": min, "sum": sum},
    **{"KIB": KIB, "MIB": MIB, "GIB": GIB, "IP_TCP_HEADER_B": IP_TCP_HEADER_B},
    **{"ethernet_goodput_Mbps": ethernet_goodput_Mbps, "mss_B": mss_B},
    "window_limit_Mbps": window_limit_Mbps,
}
_NAMES_OF: dict[str, Mapping[str, Any]] = {
    "openlab-report": openlab.NAMES,
    "openlab-preliminary": preliminary.NAMES,
    "slac": slac.NAMES,
    "solaris-linux": gigabit.NAMES,
    "gigabit-nic": gigabit.NAMES,
}


@cache
def _file_of(document: str) -> dict:
    return read_yaml(Path(__file__).with_name(f"{document}.yml"))


def all_claims() -> tuple[Claim, ...]:
    """All claims, by document and in the order of its text."""
    claims: list[Claim] = []
    for document in DOCUMENTS:
        if document == preliminary.DOCUMENT:
            claims += preliminary.totals()
        claims += claims_of(_file_of(document), _COMMON | dict(_NAMES_OF[document]))
    return tuple(claims)


def check_all() -> pd.DataFrame:
    """Recompute every claim."""
    rows = []
    for claim in all_claims():
        result = claim.checked()
        rows.append(
            {
                "document": claim.document,
                "place": claim.place,
                "statement": claim.statement,
                "claimed": claim.claimed.text,
                "recomputed": result.recomputed,
                "verdict": str(result.verdict),
                "why": result.why,
            }
        )
    return pd.DataFrame(rows)
