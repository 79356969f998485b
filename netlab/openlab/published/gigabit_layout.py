"""Gigabit hosts before and after tuning, against the limits of bus and link."""

from __future__ import annotations

import pandas as pd

from netlab import bus
from netlab.congestion import ethernet_goodput_Mbps
from netlab.files.tables import Table
from netlab.openlab import published
from netlab.units import KIB

LINK_MBPS = 1000

# "Realistically limited to around 80MB/s in the best case" (gigabit-nic, hardware).
PRACTICAL_PCI_MBPS = 80
TITLE_OF_DOCUMENT = {
    "solaris-linux": "Linux → Solaris, iperf",
    "gigabit-nic": "Linux, FreeBSD, ttcp",
}

LINK_LIMIT = {
    "solaris-linux": "TCP on the link, MTU 9000",
    "gigabit-nic": "TCP on the link, MTU 1500",
}
"""TCP's share of the link of each document: names of :func:`ceilings`."""


def ceilings() -> pd.DataFrame:
    """Limits of a gigabit host, in Mb/s: ``name``, ``ceiling_Mbps``, ``source``."""
    return pd.DataFrame(
        [
            ("PCI 32 bit, 33 MHz, in practice", 8.0 * PRACTICAL_PCI_MBPS, "as the article states"),
            ("TCP on the link, MTU 1500", ethernet_goodput_Mbps(LINK_MBPS, 1500), "frame overhead"),
            ("TCP on the link, MTU 9000", ethernet_goodput_Mbps(LINK_MBPS, 9000), "frame overhead"),
            ("PCI 32 bit, 33 MHz", bus.PCI_32_33.bandwidth_Mbps, "width times clock"),
            ("PCI 32 bit, 66 MHz", bus.PCI_32_66.bandwidth_Mbps, "width times clock"),
            ("PCI 64 bit, 66 MHz", bus.PCI_64_66.bandwidth_Mbps, "width times clock"),
            ("PCI-X 64 bit, 133 MHz", bus.PCI_X_133.bandwidth_Mbps, "width times clock"),
        ],
        columns=["name", "ceiling_Mbps", "source"],
    )


def ceilings_table() -> Table:
    """Buses and links of the time, in Mb/s and MB/s."""
    shown = ceilings().set_axis(["Limit", "Mb/s", "From"], axis="columns")
    shown.insert(2, "MB/s", shown["Mb/s"] / 8)
    shown.insert(3, "Gigabit links it feeds", shown["Mb/s"] / LINK_MBPS)
    formats = {"Mb/s": ".0f", "MB/s": ".0f", "Gigabit links it feeds": ".2f"}
    return Table(shown, "Limits of a gigabit host", formats=formats)


def pcie_table(lanes: int = 8, payload_B: int = 256) -> Table:
    """PCI Express generations 1 to 6 with the same lanes, for comparison with PCI-X."""
    links = [bus.SerialBus(generation, lanes) for generation in range(1, 7)]
    rows = []
    for link in links:
        rate, payload = link.bandwidth_MBps, link.payload_MBps(payload_B)
        rows.append((link.name, link.encoding, rate, payload, rate / bus.PCI_X_133.bandwidth_MBps))
    columns = ["Link", "Line code", "After the code, MB/s"]
    columns += [f"Payload in {payload_B} B packets, MB/s", "PCI-X 133 buses"]
    formats = dict(zip(columns[2:], (".0f", ".0f", ".1f"), strict=True))
    caption = f"PCI Express with {lanes} lanes, each direction"
    return Table(pd.DataFrame(rows, columns=columns), caption, formats=formats)


def tuning_table() -> Table:
    """Before and after of both articles."""
    frame = published.load("gigabit-tuning")
    wide = frame.pivot(index="document", columns="phase", values="rate_Mbps")
    iperf = frame.set_index(["document", "phase"])

    def window(document: str, end: str) -> str | None:
        values = [iperf.loc[(document, phase), f"{end}_window_B"] for phase in ("before", "after")]
        return None if pd.isna(values[0]) else " → ".join(f"{v / KIB:g}" for v in values)

    rows = [
        {
            "Hosts": title,
            "Before, Mb/s": wide.loc[d, "before"],
            "After, Mb/s": wide.loc[d, "after"],
            "Times": wide.loc[d, "after"] / wide.loc[d, "before"],
            "Sender window, KiB": window(d, "sender"),
            "Receiver window, KiB": window(d, "receiver"),
            "What was set": iperf.loc[(d, "after"), "setting"],
        }
        for d, title in TITLE_OF_DOCUMENT.items()
    ]
    shown = pd.DataFrame(rows)
    return Table(shown, "Before and after tuning", formats={"Times": ".2f"})


def tuning_sentence() -> str:
    """A sentence on the effect of larger windows in both articles."""
    wide = published.load("gigabit-tuning").pivot(
        index="document", columns="phase", values="rate_Mbps"
    )
    limits = ceilings().set_index("name")["ceiling_Mbps"]
    parts = []
    for document, limit in LINK_LIMIT.items():
        before, after = wide.loc[document, "before"], wide.loc[document, "after"]
        parts.append(
            f"from {before:g} to {after:g} Mb/s (×{after / before:.1f}, "
            f"{100 * after / limits[limit]:.0f} % of {limit})"
        )
    return f"Larger windows raised goodput {' and '.join(parts)}."
