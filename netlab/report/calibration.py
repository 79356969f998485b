"""The stored calibrations as a page of the report: a chart, tables and method of each part."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
from markupsafe import Markup

from netlab.analysis import trust
from netlab.analysis.measured import Measured
from netlab.analysis.trust import EMULATOR, FACTS, NOT_RECORDED, RATES, CalibratedPart, machines
from netlab.charts import experiments as charts
from netlab.charts.chart import show
from netlab.files.tables import Table
from netlab.report.page import Page, Section, as_html, folded, page
from netlab.report.tables import Sentence

HEADS = {
    "rate_Mbps": "rate, Mb/s",
    "mtu_B": "MTU, B",
    "rtt_ms": "RTT asked, ms",
    "expected_MBps": "TCP can carry, MB/s",
    "goodput_MBps": "measured, MB/s",
    "error_percent": "error, %",
    "least_percent": "least, %",
    "greatest_percent": "greatest, %",
    "within_percent": "bound, %",
    "goodput_Mbps": "load, Mb/s",
    "mean_ms": "median, ms",
    "deviation_us": "off by, µs",
    "least_us": "least, µs",
    "greatest_us": "greatest, µs",
    "bound_us": "bound, µs",
    "late_us": "late, µs",
}
FORMATS = {
    **dict.fromkeys(("expected_MBps", "goodput_MBps", "mean_ms"), ".3f"),
    **dict.fromkeys(("error_percent", "least_percent", "greatest_percent"), "+.2f"),
    **dict.fromkeys(("deviation_us", "least_us", "greatest_us"), "+.0f"),
    **dict.fromkeys(("goodput_Mbps", "bound_us", "late_us"), ".0f"),
    "within_percent": ".1f",
}


@dataclass(frozen=True)
class _Shown:
    """A table of a part, and its chart, which needs all `columns` and a value of `figure`."""

    caption: str
    keys: tuple[str, ...]
    chart: Callable | None = None
    columns: tuple[str, ...] = ()
    figure: str = ""
    bound: tuple[str, ...] = ()


TITLES = {
    RATES: "Known rates",
    EMULATOR: "Path emulator",
}

TABLES: dict[tuple[str, str], _Shown] = {
    (RATES, "cells"): _Shown(
        "Goodput on paths of known rates, beside what TCP can carry there",
        ("rate_Mbps", "mtu_B"),
        charts.rates,
        charts.RATE_COLUMNS,
        "error_percent",
        ("within_percent",),
    ),
    (EMULATOR, "round_trips"): _Shown(
        "Round trips of the emulator, beside those asked for",
        ("rtt_ms", "load"),
        charts.round_trips,
        charts.ROUND_TRIP_COLUMNS,
        "deviation_us",
        ("bound_us",),
    ),
    (EMULATOR, "rates"): _Shown(
        "Goodput of one stream through the emulator, beside what TCP can carry",
        ("rate_Mbps", "rtt_ms", "mtu_B"),
        charts.rates,
        charts.RATE_COLUMNS,
        "error_percent",
        ("within_percent",),
    ),
}

METHODS = {
    RATES: "Lab paths of a known rate, by a token bucket. TCP can carry MSS / (MTU + 14) of it. "
    "Every run counts: the error is that of their median, between the least and the greatest.",
    EMULATOR: "Pings and streams through the path emulator, beside the round trip and the rate "
    "asked for. Every try counts: the figure is their median, between the least and the greatest.",
}
"""Method of each part, in words."""


def calibration_pages(m: Measured, directory: Path) -> list[Page]:
    """The page of the calibrations stored in a directory; none if nothing is stored."""
    found = trust.stored(directory)
    if not found.parts:
        return []
    hosts = _machines_of(m)
    sections = [Section("In short", Sentence(f"Latest: {trust.calibration(directory)}."))]
    sections += [
        Section(TITLES[name], _part(part, hosts), name=name) for name, part in found.parts.items()
    ]
    if found.damaged:
        names = pd.DataFrame({"file": [f"{f.parent.name}/{f.name}" for f in found.damaged]})
        table = Table(names, "Calibrations that cannot be read")
        sections.append(Section("Damaged files", folded("Files", len(names), table)))
    return [page("calibration", *sections)]


def _part(part: CalibratedPart, hosts: Mapping[str, str]) -> Markup:
    drawn, tables = Markup(""), Markup("")
    for name in trust.TABLES[part.name]:
        frame, shown = part.table(name), TABLES[part.name, name]
        if frame.empty:
            continue
        numbers = _numeric(frame)
        if shown.chart and _drawable(numbers, shown):
            drawn += as_html(show(shown.chart(numbers, title=shown.caption.partition(",")[0])))
        tables += folded("Cells", len(frame), _table(numbers, shown))
    return drawn + tables + as_html(Sentence(f"{METHODS[part.name]} {_measured(part, hosts)}"))


def _numeric(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame with its figures as numbers; null and text in their place is no value."""
    wanted = [name for name in frame if name in FORMATS or name in _KEYS_IN_NUMBERS]
    return frame.assign(**{n: pd.to_numeric(frame[n], errors="coerce") for n in wanted})


_KEYS_IN_NUMBERS = ("rate_Mbps", "mtu_B", "rtt_ms")


def _drawable(frame: pd.DataFrame, shown: _Shown) -> bool:
    """Whether the columns of a chart are there, with a name for each row and a dot to draw."""
    if not {*shown.keys, *shown.columns} <= set(frame):
        return False
    named = frame[[*shown.keys, *shown.bound]].notna().all(axis=None)
    return bool(named and frame[shown.figure].notna().any())


def _table(frame: pd.DataFrame, shown: _Shown) -> Table:
    keys = [key for key in shown.keys if key in frame]
    texts = {
        key: [f"{v:g}" if isinstance(v, int | float) else str(v) for v in frame[key]]
        for key in keys
    }
    laid_out = frame.assign(**texts).set_index(keys) if keys else frame
    return Table(laid_out, shown.caption, HEADS, FORMATS, data=frame)


def _measured(part: CalibratedPart, hosts: Mapping[str, str]) -> str:
    """When and where a part was measured, and the hosts of the study that are another machine."""
    kernel = part.machine.get("kernel")
    system = f"Linux {kernel}" if kernel else "kernel not recorded"
    machine = _cpu_in_words(part.machine.get("cpu_model"), part.machine.get("cpus"))
    text = f"Measured on {part.date} with netlab {part.version} on {machine}, {system}."
    others: dict[str, list[str]] = {}
    for host, its in hosts.items():
        if its != machine:
            others.setdefault(its, []).append(host)
    if others:
        named = "; ".join(f"{', '.join(names)} ({its})" for its, names in others.items())
        text += f" Hosts of this study on another machine: {named}."
    return text


def _cpu_in_words(model: object, cpus: object) -> str:
    """CPU model and count: all that tells machines apart, since hosts of a lab are namespaces."""
    if not model or not cpus or NOT_RECORDED in (model, cpus):
        return f"a machine whose CPU is {NOT_RECORDED}"
    return f"{model}, {cpus} CPU{'' if str(cpus) == '1' else 's'}"


def _machines_of(m: Measured) -> dict[str, str]:
    """CPU model and count of each host of the study."""
    hosts = machines(m.runs, m.study).hosts
    facts = [FACTS["cpu_model"], FACTS["cpus"]]
    return {
        host: _cpu_in_words(*(hosts[host].get(fact) for fact in facts)) for host in hosts.columns
    }
