"""Trust in results: precision, flags, empty cells, order effects; the quality gate.

The gate names what a reader must know before any figure: empty and disturbed cells, a share of
flagged runs above :data:`FLAGGED_LIMIT`, cells less precise than the study asks, and a short form.
Each concern comes with its counts, the reason and the command that mends it.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from netlab.analysis import conditions
from netlab.analysis.cells import empty, reached_percent, valid
from netlab.analysis.measured import Measured, computed_once
from netlab.analysis.printed import levels_of
from netlab.errors import BadInput
from netlab.files import paths, writing
from netlab.results.flags import Flag, counted_flags, remedies
from netlab.results.store import read_log, study_file
from netlab.study import QUICK, Study
from netlab.study.factors import level_text

# The stored calibrations of this machine: the latest measurement of each part.

FILE = "calibration.json"
RATES, EMULATOR = "rates", "emulator"


class CalibratedTable(NamedTuple):
    """A table of a part: the stem of its files, its caption, and the columns that name a row."""

    file: str
    caption: str
    keys: tuple[str, ...]


TABLES = {
    RATES: {
        "cells": CalibratedTable(
            "calibration",
            "Goodput on paths of known rates, beside what TCP can carry there",
            ("rate_Mbps", "mtu_B"),
        )
    },
    EMULATOR: {
        "round_trips": CalibratedTable(
            "calibration-round-trips",
            "Round trips of the emulator, idle and loaded, beside those asked for",
            ("rtt_ms", "load"),
        ),
        "rates": CalibratedTable(
            "calibration-emulated-rates",
            "Goodput of one stream through the emulator, beside what TCP can carry",
            ("rate_Mbps", "rtt_ms", "mtu_B"),
        ),
    },
}
"""Part of a calibration -> its tables; each row of them has a verdict, or an empty one."""

_COLUMNS = {
    "rate_Mbps": ("rate, Mb/s", "g"),
    "mtu_B": ("MTU, B", "g"),
    "rtt_ms": ("RTT asked, ms", "g"),
    "expected_MBps": ("TCP can carry, MB/s", ".3f"),
    "goodput_MBps": ("measured, MB/s", ".3f"),
    "error_percent": ("error, %", "+.2f"),
    "least_percent": ("least, %", "+.2f"),
    "greatest_percent": ("greatest, %", "+.2f"),
    "within_percent": ("bound, %", ".1f"),
    "goodput_Mbps": ("load, Mb/s", ".0f"),
    "mean_ms": ("median, ms", ".3f"),
    "deviation_us": ("off by, µs", "+.0f"),
    "least_us": ("least, µs", "+.0f"),
    "greatest_us": ("greatest, µs", "+.0f"),
    "bound_us": ("bound, µs", ".0f"),
    "late_us": ("late, µs", ".0f"),
}
HEADS = {name: head for name, (head, _) in _COLUMNS.items()}
FORMATS = {name: form for name, (_, form) in _COLUMNS.items()}


@dataclass(frozen=True)
class CalibratedPart:
    """The latest measurement of one part."""

    name: str
    content: dict
    started_at: str
    version: str
    machine: dict
    file: Path

    @property
    def verdicts(self) -> list[str]:
        """The verdict of every cell that has one."""
        rows = [row for table in TABLES[self.name] for row in self.content[table]]
        return [row["verdict"] for row in rows if row["verdict"]]

    @property
    def date(self) -> str:
        """Day of the run, UTC."""
        return self.started_at[:10]

    @property
    def made_with(self) -> str:
        """``netlab 0.1.0, Linux 6.1, Intel Xeon``; what is unknown is left out."""
        names = {"kernel": "Linux {}", "cpu_model": "{}"}
        known = [form.format(self.machine[n]) for n, form in names.items() if self.machine.get(n)]
        return ", ".join([f"netlab {self.version}", *known])

    def table(self, name: str) -> pd.DataFrame:
        return pd.DataFrame.from_records(self.content[name])


@dataclass(frozen=True)
class Calibrated:
    """All that is stored of a machine's calibrations."""

    parts: dict[str, CalibratedPart]
    damaged: tuple[Path, ...] = ()


def stored(directory: Path | None = None) -> Calibrated:
    documents, damaged = writing.documents(directory or paths.results_dir("calibration"), FILE)
    parts = [part for name in TABLES for one in reversed(documents) if (part := _part(name, one))]
    return Calibrated({part.name: part for part in parts}, tuple(damaged))


def _part(name: str, document: writing.DatedDocument) -> CalibratedPart | None:
    """A part of a document; None if it was not measured, or cannot be read."""
    whole = document.content
    content = whole if name == RATES else whole.get(name)
    if not isinstance(content, dict):
        return None
    tables: list[Any] = [content.get(table) for table in TABLES[name]]
    if not all(isinstance(table, list) for table in tables) or not any(tables):
        return None
    rows = [row for table in tables for row in table]
    if not all(isinstance(row, dict) and isinstance(row.get("verdict"), str) for row in rows):
        return None
    machine, version = whole.get("machine"), str(whole.get("netlab", ""))
    machine = machine if isinstance(machine, dict) else {}
    return CalibratedPart(name, content, document.started_at, version, machine, document.file)


FLAGGED_LIMIT = 0.05
"""Largest share of flagged runs that raises no concern."""

MOST_ROUNDS_FACTOR = 4
"""A proposed number of rounds is at most this many times the study's."""

EMPTY, DISTURBED, FLAGGED = "empty cells", "disturbed cells", "flagged runs"
IMPRECISE, SHORT, DAMAGED = "precision", "short form", "damaged files"
KINDS = (DAMAGED, EMPTY, DISTURBED, FLAGGED, IMPRECISE, SHORT)


@dataclass(frozen=True)
class Concern:
    """One reason for which a report does not pass the gate, with its remedy in a shell and here.

    `call` is what to do in a notebook: a call, or a sentence.
    """

    kind: str
    text: str
    reason: str
    command: str
    call: str


@dataclass(frozen=True)
class PrecisionReached:
    """Half widths of the cells' intervals, in per cent of the mean."""

    asked_percent: float
    within: int
    wide: int
    none: int
    median_percent: float
    widest_percent: float


def precision(m: Measured) -> PrecisionReached:
    half = reached_percent(m.cells[m.cells["n_valid"] > 0])
    asked = math.nan if m.study.precision is None else m.study.precision.half_width_percent
    limit = math.inf if math.isnan(asked) else asked
    return PrecisionReached(
        asked_percent=asked,
        within=int((half <= limit).sum()),
        wide=int((half > limit).sum()),
        none=int(half.isna().sum()),
        median_percent=float(half.median()),
        widest_percent=float(half.max()),
    )


def less_precise(m: Measured) -> pd.DataFrame:
    """Cells with a valid run that are less precise over their rounds than the study asks."""
    cells, asked = m.cells[m.cells["n_valid"] > 0], m.study.precision
    if asked is None:
        return cells.head(0)
    return cells[~(reached_percent(cells) <= asked.half_width_percent)]


def counted(count: int, noun: str, verb: tuple[str, str] | None = None) -> str:
    """``1 cell``, ``1,120 runs``; with `verb` the form that agrees: ``1 cell is``."""
    text = f"{count:,} {noun}" + ("" if count == 1 else "s")
    return text if verb is None else f"{text} {verb[0] if count == 1 else verb[1]}"


def _of(part: int, whole: int, noun: str, verb: tuple[str, str]) -> str:
    return f"{part:,} of {counted(whole, noun)} {verb[0] if part == 1 else verb[1]}"


IS, HAS = ("is", "are"), ("has", "have")


@computed_once
def gate(m: Measured) -> tuple[Concern, ...]:
    """All concerns of a measured study, in the order of :data:`KINDS`; empty if it passes."""
    reasons = (_damaged(m), _empty(m), _disturbed(m), _flagged(m), _imprecise(m), _short(m))
    return tuple(filter(None, reasons))


def _damaged(m: Measured) -> Concern | None:
    if not m.damaged:
        return None
    repair = shlex.join(["netlab", "results", "repair", _short_path(m.results)])
    files = counted(len(m.damaged), "damaged file")
    text = f"{files} of the results: records or samples are missing here"
    return Concern(DAMAGED, text, "; ".join(m.damaged), repair, f"!{repair}")


def _empty(m: Measured) -> Concern | None:
    cells = m.cells[empty(m.cells)]
    reasons = cells["missing_because"].str.replace(r"^\d+ runs?, ", "", regex=True)
    text = _of(len(cells), len(m.cells), "cell", IS) + " empty"
    reason = f"{_counts(reasons)}; runs that are missing or failed are measured again"
    return _to_measure(m, cells, EMPTY, text, reason)


def _counts(texts: pd.Series) -> str:
    return "; ".join(f"{text}: {count}" for text, count in texts.value_counts().items())


def _to_measure(
    m: Measured, rows: pd.DataFrame, kind: str, text: str, reason: str, again: str = ""
) -> Concern | None:
    """The concern of cells or runs that another call of the study measures; None of none."""
    if rows.empty:
        return None
    if len(m.runs) and m.runs["run_id"].str.startswith("imported@").all():
        reason += "; import other reports of them"
        return Concern(kind, text, reason, "netlab import --help", "netlab.import_files(...)")
    reason += f"; {again}" if again else ""
    return Concern(kind, text, reason, *_remedy(m, rows, quick=_is_short(m)))


def _disturbed(m: Measured) -> Concern | None:
    cells = m.cells[m.cells["disturbed"] != ""]
    text = _of(len(cells), len(m.cells), "cell", HAS) + " only disturbed runs"
    shown = "shown hollow with their median, never ranked or compared"
    reason = f"{_counts(cells['disturbed'])}; {shown}"
    flags = cells["disturbed"].str.replace(", ", ",", regex=False)
    again = remedies(flags, "measure these cells again")
    return _to_measure(m, cells, DISTURBED, text, reason, again)


def _flagged(m: Measured) -> Concern | None:
    flagged = conditions.flagged(m.runs)
    if len(flagged) <= FLAGGED_LIMIT * len(m.runs):
        return None
    runs, share = m.runs[m.runs["run_id"].isin(flagged["run_id"])], len(flagged) / len(m.runs)
    text = f"{_of(len(flagged), len(m.runs), 'run', IS)} flagged ({100 * share:.0f} %)"
    again = remedies(runs["flags"], "measure these runs again")
    return _to_measure(m, runs, FLAGGED, text, counted_flags(m.runs["flags"]) + _foreign(m), again)


def _foreign(m: Measured) -> str:
    """How much of the CPUs other work took from the runs flagged for it; empty without one."""
    of_load = m.runs["flags"].fillna("").str.contains(Flag.INTERFERENCE)
    percent = m.runs.loc[of_load, "foreign_cpu_percent"].median()
    if pd.isna(percent):
        return ""
    return f"; other work took {percent:.0f} % of the CPUs, at the median of those disturbed"


def _imprecise(m: Measured) -> Concern | None:
    seen, asked, wide = precision(m), m.study.precision, less_precise(m)
    if asked is None or wide.empty:
        return None
    reason = f"{asked.half_width_percent:g} % was asked"
    if not math.isnan(seen.widest_percent):
        reason += f", the widest cell reached {seen.widest_percent:.3g} %"
    if seen.none:
        reason += f"; {counted(seen.none, 'cell', HAS)} no interval over rounds"
    needed = wide["rounds_needed"].dropna()
    timing: dict[str, int | str] = {}
    if needed.empty:
        reason += "; rounds of the study are still to come"
    else:
        most = MOST_ROUNDS_FACTOR * asked.max_rounds
        wanted = needed[needed != math.inf].max()
        rounds = most if math.isnan(wanted) else min(most, int(wanted))
        timing["max_rounds"] = rounds = max(asked.max_rounds + 1, rounds)
        if beyond := int((needed > most).sum()):
            scatter = counted(beyond, "cell", ("scatters", "scatter"))
            reason += f"; {scatter} too much for {most} rounds: quiet the hosts"
        if asked.budget is not None:
            budget_s = asked.budget * rounds / asked.max_rounds
            minutes, seconds = (math.ceil(budget_s / unit) for unit in (60, 1))
            timing["budget"] = f"{minutes}min" if budget_s >= 60 else f"{seconds}s"
    text = _of(len(wide), len(m.cells), "cell", IS) + " less precise than asked"
    return Concern(IMPRECISE, text, reason, *_remedy(m, wide, timing=timing))


def _is_short(m: Measured) -> bool:
    return m.study.name.endswith(QUICK)


def _short(m: Measured) -> Concern | None:
    if not _is_short(m):
        return None
    rounds = counted(int(m.runs["round"].max()) if len(m.runs) else 0, "round")
    reason = f"{rounds} of {m.study.timing.seconds:g} s a run: a first look, not a result"
    return Concern(SHORT, "Short form of the study", reason, *_remedy(m, m.runs, whole=True))


def _outer(m: Measured, rows: pd.DataFrame) -> Mapping[str, object]:
    """Levels of outer factors: of the latest run if a row has them, else of a row."""
    outer = sorted(m.study.outer)
    now, concerned = (
        [{name: levels_of(text)[name] for name in outer} for text in frame["factors"]]
        for frame in (m.runs.sort_values("started_at").tail(1), rows)
    )
    return next(iter([*(one for one in now if one in concerned), *concerned, *now]), {})


def _remedy(
    m: Measured,
    rows: pd.DataFrame,
    *,
    quick: bool = False,
    whole: bool = False,
    timing: Mapping[str, int | str] = {},
) -> tuple[str, str]:
    """How to measure these rows, or the `whole` study: a command, and what to do in a notebook."""
    name, outer = m.study.name.removesuffix(QUICK), _outer(m, rows)
    pairs = [f"{key}={level_text(level)}" for key, level in outer.items()]
    options = [word for pair in pairs for word in ("--outer", pair)]
    for key, value in timing.items():
        options += [f"--{key.replace('_', '-')}", str(value)]
    words, place = command(m, *options, quick=quick), ""
    if whole:  # its results are not those of the short form
        file = name if _is_known(name) else f"{name}.yml"
        words = shlex.join(["netlab", "study", file, *options])
    elif not _is_own(m):
        place = _short_path(m.results, paths.given_path(""))
    if not _is_known(name):
        again = "Measure the study without quick=True."
        return words, again if whole else "Run the cell that measures again."
    chosen = {"quick": True, **timing} if quick else timing
    study = [repr(name), *(f"{key}={value!r}" for key, value in chosen.items())]
    run = [f"outer={dict(outer)!r}"] * bool(outer) + [f"results={place!r}"] * bool(place)
    return words, f"netlab.Study({', '.join(study)}).run({', '.join(run)})"


def _is_own(m: Measured) -> bool:
    """True where the study's results go by default, and for an example, which is never changed."""
    places = (None, paths.results_dir(m.study.name))
    return m.results in places or m.results.is_relative_to(paths.example(""))


def _is_known(name: str) -> bool:
    """True if netlab finds the study by its name."""
    try:
        paths.study_file(name)
    except BadInput:
        return False
    return True


def command(m: Measured, *options: str, quick: bool = False) -> str:
    """The command that measures the study of these results, to paste into a shell."""
    words = ["netlab", "study", m.study.name.removesuffix(QUICK)]
    if _is_known(words[-1]):
        words += ["--quick"] * quick
    else:
        # The copy of a short form is the short form itself.
        copy = m.results and _short_path(study_file(m.results, m.campaign))
        words[-1] = copy or f"{words[-1]}.yml"
    if not _is_own(m):
        words += ["--results", _short_path(m.results)]
    return shlex.join([*words, *options])


def _short_path(path: Path, here: Path | None = None) -> str:
    """Relative to the current directory where it lies there."""
    here = here or Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)


def contradictions(m: Measured) -> tuple[str, ...]:
    """Buses that the study states and a host contradicted, as the campaign recorded them."""
    if not m.campaign:
        return ()
    texts = read_log(m.results, m.campaign).contradictions
    return tuple(f"{host}: {text}" for host, text in texts.items())


def calibration(directory: Path | None = None) -> str:
    """State the calibrations stored beside the results, in a sentence.

    Each with its machine: results move to other ones, and a kernel is replaced.
    """
    parts = []
    for part in stored(directory).parts.values():
        within, when = part.verdicts.count("within"), f"on {part.date} ({part.made_with})"
        if part.name == RATES:
            met = f"{within} of {counted(len(part.verdicts), 'known rate')} met"
        else:
            of = counted(len(part.verdicts), "cell")
            met = f"path emulator: {within} of {of} within the bound"
        parts.append(f"{met} {when}")
    nothing = "not calibrated here; netlab calibrate compares this machine with known rates"
    return "; ".join(parts) or nothing


# Machines of a measurement: the facts of each host, and what the whole campaign has in common.

FACTS = {
    "cpu_model": "CPU",
    "cpus": "CPUs",
    "memory_kB": "memory, kB",
    "machine": "architecture",
    "smt": "SMT",
    "iommu": "IOMMU",
    "numa_node": "NUMA node of the card",
    "kernel": "kernel",
    "os": "operating system",
    "nic_driver": "NIC driver",
    "nic_driver_version": "NIC driver version",
    "nic_firmware": "NIC firmware",
    "link_speed_Mbps": "link speed, Mb/s",
    "pci_vendor": "card vendor",
    "pci_device": "card",
    "bus_width": "bus width",
    "bus_speed": "bus speed",
    "copy_MBps": "copy rate of a core, MB/s",
    "governor": "CPU frequency governor",
    "cpu_frequency": "CPU frequency",
    "thermal_throttling": "thermal throttling",
}
"""Facts by the names of a record, with the names that a reader sees."""

NOT_RECORDED = "not recorded"
LEFT_OUT = ("path_check",)
"""Printed output of ping and traceroute: in the record of each run."""


@dataclass(frozen=True)
class Machines:
    """Provenance of a study."""

    hosts: pd.DataFrame
    shared: pd.DataFrame

    @property
    def differing(self) -> pd.DataFrame:
        return self.hosts[self.hosts.nunique(axis="columns") > 1]

    @property
    def equal(self) -> pd.DataFrame:
        """Rows of :attr:`hosts` with one value for all hosts: ``item, value``."""
        rows = self.hosts[self.hosts.nunique(axis="columns") <= 1]
        values = rows.iloc[:, 0].tolist() if rows.shape[1] else []
        return pd.DataFrame({"item": rows.index.tolist(), "value": values}, dtype=str)

    def fact(self, name: str) -> list[str]:
        """Distinct values of one fact over the hosts, in their order."""
        if name not in self.hosts.index:
            return []
        values = dict.fromkeys(self.hosts.loc[name])
        return [value for value in values if value and value != NOT_RECORDED]


def machines(runs: pd.DataFrame, study: Study) -> Machines:
    # host (none for the campaign) -> item -> its values, each once in their order
    facts: dict[str, dict[str, dict[str, None]]] = {"": {}}

    def add(host: str, item: str, value: object) -> None:
        values = facts.setdefault(host, {}).setdefault(item, {})
        values[NOT_RECORDED if value is None else str(value)] = None

    for text in runs["provenance"].drop_duplicates():
        content = conditions.json_of(text, "provenance", code="E-ANALYSIS-040")
        if not isinstance(content, dict):
            continue
        for host, of_host in (content.pop("hosts", None) or {}).items():
            for key, part in of_host.items():
                for name, value in _flat(part, FACTS.get(key, key)):
                    add(host, name, value)
        for host, link in (content.pop("link", None) or {}).items():
            for name, value in _flat(link, "link"):
                add(host, name, value)
        for name, value in content.items():
            for item, leaf in _flat(value, name) if name not in LEFT_OUT else ():
                add("", item, leaf)
    shared = facts.pop("")
    hosts = [*(name for name in study.hosts if name in facts), *facts]
    names = dict.fromkeys(item for host in hosts for item in facts[host])
    items = [*(item for item in FACTS.values() if item in names), *names]
    frame = pd.DataFrame(
        {
            host: {i: "; ".join(facts[host].get(i, [NOT_RECORDED])) for i in dict.fromkeys(items)}
            for host in dict.fromkeys(hosts)
        },
        dtype=str,
    ).rename_axis("fact")
    rows = [*_campaign(runs, study), *((item, "; ".join(v)) for item, v in shared.items())]
    return Machines(frame, pd.DataFrame(rows, columns=["item", "value"], dtype=str))


def _flat(content: object, prefix: str) -> list[tuple[str, object]]:
    """Leaves of nested JSON by their path; empty objects are left out."""
    if isinstance(content, dict):
        return [leaf for key, part in content.items() for leaf in _flat(part, f"{prefix}, {key}")]
    if isinstance(content, list):
        return [(prefix, ", ".join(map(str, content)))] if content else []
    return [(prefix, content)]


def _campaign(runs: pd.DataFrame, study: Study) -> list[tuple[str, str]]:
    digests = [str(digest) for digest in runs["study_digest"].unique()]
    rows = [("study", study.name), ("study digest (SHA-256)", "; ".join(digests))]
    if len(runs):
        started = runs["started_at"]
        rows.append(("first run", f"{started.min():%Y-%m-%d %H:%M:%S} UTC"))
        rows.append(("last run", f"{started.max():%Y-%m-%d %H:%M:%S} UTC"))
        rows.append(("runs", f"{len(runs)}, of which {len(valid(runs))} valid"))
    for column, item in (
        ("seed", "seed"),
        ("congestion", "congestion control"),
        ("congestion_source", "congestion control, name in the kernel"),
        ("engine", "engine"),
    ):
        values = runs[column].dropna().unique()
        if len(values):
            rows.append((item, "; ".join(map(str, values))))
    return rows
