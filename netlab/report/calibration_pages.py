"""The stored calibrations: a chart, tables and method of each part."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pandas as pd
from markupsafe import Markup

from netlab.analysis import host_facts, stored_calibrations, trust
from netlab.analysis.measured import Measured
from netlab.charts import calibration
from netlab.files.tables import Sentence, Table
from netlab.report.active_cache import chart_of
from netlab.report.page import PAGES, Page, Section, folded, page
from netlab.report.templating import as_html

PARTS = {stored_calibrations.RATES: "Known rates", stored_calibrations.EMULATOR: "Path emulator"}

CHARTS: dict[str, tuple[Callable, tuple[str, ...]]] = {
    "round_trips": (calibration.round_trips, calibration.ROUND_TRIP_COLUMNS)
}
"""Chart of a table, and the columns that it draws: figure third, its bound sixth."""

METHODS = PAGES["calibration"]["methods"]
"""Method of each part, in words."""


def calibration_pages(m: Measured, directory: Path) -> list[Page]:
    """The page of the calibrations stored in a directory; none if nothing is stored."""
    found = stored_calibrations.stored(directory)
    if not found.parts:
        return []
    about = host_facts.machines(m.runs, m.study).hosts
    facts = [host_facts.FACTS["cpu_model"], host_facts.FACTS["cpus"]]
    hosts = {host: _cpu_in_words(*map(about[host].get, facts)) for host in about.columns}
    sections = [Section("In short", Sentence(f"Latest: {trust.calibration(directory)}."))]
    sections += [
        Section(PARTS[name], _part(part, hosts), name=name) for name, part in found.parts.items()
    ]
    if found.damaged:
        names = pd.DataFrame({"file": [f"{f.parent.name}/{f.name}" for f in found.damaged]})
        table = Table(names, "Calibrations that cannot be read")
        sections.append(Section("Damaged files", folded("Files", len(names), table)))
    return [page("calibration", *sections)]


def _part(part: stored_calibrations.CalibratedPart, hosts: Mapping[str, str]) -> Markup:
    drawn, tables = Markup(""), Markup("")
    for name, (_, caption, names) in stored_calibrations.TABLES[part.name].items():
        frame = part.table(name)
        draw, columns = CHARTS.get(name, (calibration.rates, calibration.RATE_COLUMNS))
        if frame.empty:
            continue
        # null and text in the place of a figure are missing values
        figures = [name for name in frame if name in stored_calibrations.FORMATS]
        frame = frame.assign(**{n: pd.to_numeric(frame[n], errors="coerce") for n in figures})
        if (
            {*names, *columns} <= set(frame)
            and frame[[*names, columns[5]]].notna().all(axis=None)
            and frame[columns[2]].notna().any()
        ):
            drawn += as_html(chart_of(draw, frame, title=caption.partition(",")[0]))
        keys = [key for key in names if key in frame]
        texts = {
            key: [f"{v:g}" if isinstance(v, int | float) else str(v) for v in frame[key]]
            for key in keys
        }
        shown = frame.assign(**texts).set_index(keys) if keys else frame
        table = Table(
            shown, caption, stored_calibrations.HEADS, stored_calibrations.FORMATS, data=frame
        )
        tables += folded("Cells", len(frame), table)
    return drawn + tables + as_html(Sentence(f"{METHODS[part.name]} {_measured(part, hosts)}"))


def _measured(part: stored_calibrations.CalibratedPart, hosts: Mapping[str, str]) -> str:
    """Time and place of a part, and the hosts of the study that are another machine."""
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
    if not model or not cpus or host_facts.NOT_RECORDED in (model, cpus):
        return f"a machine whose CPU is {host_facts.NOT_RECORDED}"
    return f"{model}, {cpus} CPU{'' if str(cpus) == '1' else 's'}"
