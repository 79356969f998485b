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
from netlab.errors import require
from netlab.files.tables import Table
from netlab.files.yaml_file import read_yaml
from netlab.openlab.published.claims import values
from netlab.openlab.published.claims.values import (
    CheckResult,
    Claim,
    PrintedValue,
    Verdict,
    claims_of,
)
from netlab.units import GIB, KIB, MIB, listed

__all__ = ["CheckResult", "Claim", "PrintedValue", "Verdict", "all_claims", "check_all"]

DOCUMENTS = {
    "openlab-report": "10Gb Ethernet Back-To-Back tests",
    "openlab-preliminary": "Preliminary test results of the 10 GB NICs",
    "slac": "Throughput from Sunnyvale to Geneva",
    "solaris-linux": "Network buffers of Solaris and Linux",
    "gigabit-nic": "Squeeze Your Gigabit NIC for Top Performance",
}


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
        if document == values.PRELIMINARY:
            claims += values.totals()
        content = read_yaml(Path(__file__).with_name(f"{document}.yml"))
        claims += claims_of(content, _NAMES)
    return tuple(claims)


def check_all() -> pd.DataFrame:
    rows = []
    for claim in all_claims():
        result, place = claim.checked(), (claim.document, claim.place, claim.statement)
        figures = (claim.claimed.text, result.recomputed, str(result.verdict), result.why)
        rows.append((*place, *figures))
    return pd.DataFrame(rows, columns=["document", *_HEADS])


# The claims as tables for a reader.

_HEADS = {
    "place": "Where", "statement": "What is said", "claimed": "Claimed",
    "recomputed": "Recomputed", "verdict": "Verdict", "why": "Why",
}  # fmt: skip


_DONE = {
    Verdict.HOLDS: "hold",
    Verdict.ROUNDS: "hold when rounded",
    Verdict.CONTRADICTED: "are contradicted",
    Verdict.NOT_CHECKABLE: "cannot be checked",
}


def counts_of(found: pd.DataFrame) -> pd.DataFrame:
    """Number of claims, a row a document and a column a verdict."""
    counts = pd.crosstab(found["document"], found["verdict"])
    return counts.reindex(index=list(DOCUMENTS), columns=[str(v) for v in Verdict], fill_value=0)


def verdict_counts(found: pd.DataFrame) -> Table:
    counts = counts_of(found).rename(index=DOCUMENTS).rename_axis(columns=None)
    counts["all"] = counts.sum(axis=1)
    counts.loc["All documents"] = counts.sum()
    counts.index.name = "Document"
    return Table(counts, "Verdicts by document")


def sentence(found: pd.DataFrame) -> str:
    """A sentence on the number of claims of each verdict."""
    counts = found["verdict"].value_counts()
    parts = [f"{counts.get(str(verdict), 0)} {_DONE[verdict]}" for verdict in Verdict]
    return f"Of {len(found)} claims {listed(parts)}."


def claims_table(
    found: pd.DataFrame, *, document: str | None = None, verdict: Verdict | str | None = None
) -> Table:
    frame, caption = found, "Claims"
    if document is not None:
        require(document, DOCUMENTS, key="document", code="E-PUBLISHED-008")
        frame = frame[frame["document"] == document]
        caption = f"Claims of “{DOCUMENTS[document]}”"
    if verdict is not None:
        require(verdict, [str(v) for v in Verdict], key="verdict", code="E-PUBLISHED-009")
        frame = frame[frame["verdict"] == verdict]
        caption += f" that are {verdict}" if verdict != "holds" else " that hold"
    columns = [*(["document"] if document is None else []), *_HEADS]
    return Table(
        frame[columns].reset_index(drop=True),
        f"{caption} ({len(frame)})",
        heads={"document": "Document", **_HEADS},
    )
