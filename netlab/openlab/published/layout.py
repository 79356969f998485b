"""Tables of the documents in their printed layout."""

from __future__ import annotations

import shlex
from dataclasses import dataclass

import numpy as np
import pandas as pd

from netlab import bus
from netlab.congestion import ethernet_goodput_Mbps
from netlab.errors import BadInput, check, require
from netlab.files.tables import Table
from netlab.openlab import published
from netlab.units import KIB

HEADING_OF_TUNING = {"none": "No Tuning", "kernel": "+ Kernel Tuning", "full": "+ Driver Tuning"}
TUNING_WORDS = {tuning: heading.lstrip("+ ") for tuning, heading in HEADING_OF_TUNING.items()}
TITLE_OF_TABLE = {
    1: "Original results (Linux64 → Linux64)",
    2: "Linux64 → Linux64 results",
    3: "Linux64 ↔ Linux64 results",
    4: "Linux32 → Linux64 results",
    5: "Linux64 → Linux32 results",
    6: "Linux32 ↔ Linux64 results",
}
TITLE_OF_SET = {
    "none": "Set 1: default settings",
    "kernel": "Set 2: improved kernel parameters",
    "full": "Set 3: improved kernel and driver parameters",
}
GOAL_PERCENT = 80
# Preliminary notes, after set 3: "about 470 MB/s for single stream with optimal parameters".
HALF_SPEED_MBPS = 470.0


def grid(frame: pd.DataFrame, value: str) -> pd.DataFrame:
    """Rows by tuning and MTU, columns by streams, in the order printed."""
    wide = frame.pivot(index=["tuning", "mtu_B"], columns="streams", values=value)
    present = [t for t in HEADING_OF_TUNING if t in wide.index.get_level_values("tuning")]
    wide = wide.reindex(present, level="tuning")
    rows = [(HEADING_OF_TUNING[tuning], f"{mtu_B} B") for tuning, mtu_B in wide.index]
    wide.index = pd.MultiIndex.from_tuples(rows, names=["Tuning", "MTU"])
    wide.columns = [f"{n} stream" if n == 1 else f"{n} streams" for n in wide.columns]
    return wide


def report_table(number: int, value: str = "throughput_MBps") -> Table:
    """One of tables 1 to 6 as printed, its best cell bold."""
    check(number in TITLE_OF_TABLE, "number", number, "must be 1 to 6", "E-PUBLISHED-010")
    units = {"throughput_MBps": ("MB/s", ".0f"), "percent_of_bus": ("% of the bus", ".1f")}
    require(value, units, key="value", code="E-PUBLISHED-011")
    unit, spec = units[value]
    frame = published.load("openlab-2003").query("table == @number")
    cells = grid(frame, value)
    return Table(
        cells,
        f"Table {number}: {TITLE_OF_TABLE[number]}, {unit}",
        formats=spec,
        note=f"PCI-X bandwidth of the slower host: {frame['bus_MBps'].iloc[0]:g} MB/s."
        if value == "percent_of_bus"
        else "",
        bold=cells == cells.max(axis=None),
    )


def best_cells() -> Table:
    """The best cell of each table of the report, against the goal of 80 per cent."""
    frame = published.load("openlab-2003")
    best = frame.loc[frame.groupby("table")["throughput_MBps"].idxmax()].reset_index(drop=True)
    met = np.where(best["percent_of_bus"] >= GOAL_PERCENT, "met", "missed")
    # The introduction sets the goal for transfers from Linux64 to Linux64 (tables 1 and 2).
    met[~best["table"].isin([1, 2])] = "–"
    hosts = best["table"].map(TITLE_OF_TABLE).str.removesuffix(" results")
    heads = {
        "table": "Table",
        "hosts": "Hosts",
        "tuning": "Tuning",
        "mtu_B": "MTU, B",
        "streams": "Streams",
        "throughput_MBps": "MB/s",
        "percent_of_bus": "% of the bus",
        "met": f"Goal of {GOAL_PERCENT} %",
    }
    return Table(
        best.assign(hosts=hosts, met=met)[list(heads)].rename(columns=heads),
        "The best cell of each table",
        formats={"% of the bus": ".1f"},
        note=f"The goal of {GOAL_PERCENT} % is set for Linux64 → Linux64 (introduction). Of equal "
        "cells the one with fewer streams is listed.",
    )


def goal_sentence() -> str:
    """A sentence on the goal of the introduction for Linux64 to Linux64: met or not."""
    frame = published.load("openlab-2003").query("table in (1, 2)")
    best = frame.loc[frame["percent_of_bus"].idxmax()]
    outcome = "was met" if best["percent_of_bus"] >= GOAL_PERCENT else "was not met"
    needed = GOAL_PERCENT / 100 * best["bus_MBps"]
    return (
        f"The goal of {GOAL_PERCENT} % of PCI-X, {needed:.0f} MB/s from Linux64 to Linux64, "
        f"{outcome}: the most is {best['throughput_MBps']:g} MB/s (table {best['table']}), "
        f"{best['percent_of_bus']:.1f} %."
    )


def preliminary_set(tuning: str) -> Table:
    """One of sets 1 to 3 of the notes: per stream and total in each cell."""
    require(tuning, TITLE_OF_SET, key="tuning", code="E-PUBLISHED-012")
    frame = published.load("openlab-2003-preliminary").query("tuning == @tuning")
    cells = [
        f"{row.stated_total_MBps:g} ({row.streams} × {row.per_stream_MBps:g})"
        if row.streams > 1
        else f"{row.throughput_MBps:g}"
        for row in frame.itertuples()
    ]
    return Table(
        grid(frame.assign(cell=cells), "cell").droplevel("Tuning"),
        f"{TITLE_OF_SET[tuning]}, MB/s",
        note="Stated total, and in brackets streams × MB/s per stream.",
    )


def slot_table() -> Table:
    """The half-speed and the full-speed PCI-X slot of the notes, against their bandwidth."""
    notes = published.load("openlab-2003-preliminary")
    full = notes.query("tuning == 'full' and mtu_B == 16114 and streams == 1")
    slots = [
        ("Slot 4, half speed", bus.shared(bus.PCI_X_133, half_speed_slot=True), HALF_SPEED_MBPS),
        ("Slot 1, full speed", bus.PCI_X_133, float(full["throughput_MBps"].iloc[0])),
        ("Slot 1, as hoped for", bus.PCI_X_133, 2.0 * HALF_SPEED_MBPS),
    ]
    shown = pd.DataFrame(
        [(name, one.bandwidth_MBps, rate, one.percent(rate)) for name, one, rate in slots],
        columns=["Slot", "Bandwidth, MB/s", "One stream, MB/s", "% of the bus"],
    )
    return Table(
        shown,
        "One stream with all tuning, by slot",
        formats={"% of the bus": ".0f"},
        note="The hoped-for rate is twice that of the half-speed slot, had the CPU been faster.",
    )


def notes_against_report() -> Table:
    """Number of the notes' cells that are equal, changed or absent in table 1 of the report."""
    levels, fates = ["tuning", "mtu_B", "streams"], ["the same in table 1", "changed"]
    fates.append("left out of table 1")
    notes = published.load("openlab-2003-preliminary").set_index(levels)["throughput_MBps"]
    table = published.load("openlab-2003").query("table == 1").set_index(levels)
    report = table["throughput_MBps"].reindex(notes.index)
    fate = np.select([report.isna(), notes == report], [fates[2], fates[0]], fates[1])
    sets = notes.index.get_level_values("tuning").map(TITLE_OF_SET)
    rows = pd.crosstab(sets, fate, rownames=["Set"], colnames=[None])
    return Table(
        rows.reindex(columns=fates, fill_value=0),
        "Cells of the notes in table 1 of the report",
        note="Left out are the columns for 8 streams, and 16114 B without driver tuning.",
    )


def notes_sentence() -> str:
    """A sentence on the highest total of the notes, and on totals that contradict their streams."""
    frame = published.load("openlab-2003-preliminary")
    best = frame.loc[frame["throughput_MBps"].idxmax()]
    differ = (frame["throughput_MBps"] - frame["streams"] * frame["per_stream_MBps"]).abs()
    wrong = int((differ > frame["streams"]).sum())
    streams = int(best["streams"])
    return (
        f"The highest total is {best['throughput_MBps']:g} MB/s, with {streams} "
        f"stream{'s' * (streams != 1)}, MTU {best['mtu_B']} B and "
        f"{TUNING_WORDS[best['tuning']]}; {wrong} of {len(frame)} totals cannot be right."
    )


# Gigabit hosts before and after tuning, against the limits of bus and link.

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


# Published settings of Linux, FreeBSD, Solaris and Windows as commands of each system.
#
# netlab does not apply them; they are for readers with such a host.

SYSTEMS = ("Linux", "FreeBSD", "Solaris", "Windows")
_REGISTRY_KEY = ("HKEY_LOCAL_MACHINE", "SYSTEM", "CurrentControlSet", "Services", "Tcpip",
                 "Parameters")  # fmt: skip


@dataclass(frozen=True)
class SystemSetting:
    system: str
    mechanism: str
    container: str
    key: str
    value: str

    def command(self) -> str:
        """Command line of the setting, quoted for that system's shell."""
        match self.system, self.mechanism:
            case "Linux", "sysctl":
                return shlex.join(("sysctl", "-w", f"{self.key}={self.value}"))
            case "FreeBSD", "sysctl":
                return shlex.join(("sysctl", f"{self.key}={self.value}"))
            case "Solaris", "ndd":
                return shlex.join(("ndd", "-set", self.container, self.key, self.value))
            case "Windows", "registry":
                return self._reg_add()
        text = f"not a mechanism of {self.system}"
        raise BadInput(text, key="mechanism", value=self.mechanism, code="E-PUBLISHED-013")

    def _reg_add(self) -> str:
        path = self.container
        if path == "".join(_REGISTRY_KEY):  # the backslashes were lost in print
            path = "\\".join(_REGISTRY_KEY)
        fine = self.value.isdecimal() and int(self.value) <= 0xFFFFFFFF
        check(fine, self.key, self.value, "not a DWORD", "E-PUBLISHED-014")
        for text in (path, self.key):
            fine = bool(text) and not any(c in text for c in '"%\r\n')
            check(fine, "registry", text, "cannot be quoted for cmd.exe", "E-PUBLISHED-015")
        return f'reg add "{path}" /v "{self.key}" /t REG_DWORD /d {self.value} /f'


def settings(name: str = "gigabit-settings", **where: str) -> tuple[SystemSetting, ...]:
    """Published settings with these values of their columns, in the order of the document."""
    frame = published.load(name)
    for column, value in where.items():
        choices = sorted(set(frame[column])) if column in frame else []
        require(value, choices or list(frame.columns), key=column, code="E-PUBLISHED-016")
        frame = frame[frame[column] == value]
    fields = ["system", "mechanism", "container", "key", "value"]
    return tuple(SystemSetting(*row) for row in frame[fields].itertuples(index=False, name=None))


def commands(name: str = "gigabit-settings", **where: str) -> list[str]:
    """Published settings as command lines; see `settings`."""
    return [setting.command() for setting in settings(name, **where)]


def listing() -> str:
    """All settings of the articles as commands, under a comment for each system and document."""
    sources = published.load("gigabit-settings")[["system", "document"]].drop_duplicates()
    blocks = []
    for system in SYSTEMS:
        remark = "rem" if system == "Windows" else "#"
        for document in sources.loc[sources["system"] == system, "document"]:
            lines = commands(system=system, document=document)
            blocks.append("\n".join([f"{remark} {system} (document {document})", *lines]))
    return "\n\n".join(blocks)
