"""Tables and sentences on the agreement of generators."""

from __future__ import annotations

import json
import math

import pandas as pd

from netlab.analysis import agreement as analysis
from netlab.analysis.cells import valid
from netlab.analysis.measured import Measured
from netlab.analysis.printed import MISSING, number
from netlab.files.tables import Table
from netlab.report.tables import Sentence

NOTHING = "No cell of this study has valid runs of two generators."


def opening(m: Measured) -> Table:
    """Generators with their versions and number of usable runs."""
    usable = valid(m.runs)
    rows = []
    for name in analysis.generators(m.runs):
        part = m.runs[m.runs["generator"] == name]
        versions = part["generator_version"].dropna().unique().tolist()
        rows.append(
            {
                "generator": name,
                "version": "; ".join(versions) or "; ".join(_versions(part)),
                "runs": len(part),
                "flagged": len(part) - int((usable["generator"] == name).sum()),
            }
        )
    heads = {"flagged": "flagged, excluded"}
    return Table(pd.DataFrame(rows), "Generators", heads)


def _versions(part: pd.DataFrame) -> list[str]:
    return sorted({f"netlab {json.loads(text).get('netlab')}" for text in part["provenance"]})


def statement(m: Measured, compared: pd.DataFrame, bound_percent: float) -> Sentence:
    """Sentence on the number of cells in which the generators agree within the bound."""
    if compared.empty:
        return Sentence(NOTHING)
    text = []
    for path, part in compared.groupby("path", sort=False):
        counts = {word: int((part["verdict"] == word).sum()) for word in analysis.VERDICTS}
        text.append(
            f"Path {path}: of {len(part)} comparisons {counts[analysis.AGREE]} agree within "
            f"{bound_percent:g} %, {counts[analysis.DIFFER]} differ by more, "
            f"{counts[analysis.UNDECIDED]} are undecided."
        )
    return Sentence(" ".join(text))


def summary(compared: pd.DataFrame) -> Table | Sentence:
    """Agreement by path and generator."""
    if compared.empty:
        return Sentence(NOTHING)
    heads = {"least_percent": "least, %", "greatest_percent": "greatest, %"}
    formats = {"least_percent": "+.1f", "greatest_percent": "+.1f"}
    note = "Least and greatest difference of a cell's mean from the reference."
    return Table(analysis.summary(compared), "Agreement in short", heads, formats, note)


def cells(m: Measured, compared: pd.DataFrame) -> Table | Sentence:
    """Every cell: both goodputs, the difference with its interval, and the verdict."""
    if compared.empty:
        return Sentence(NOTHING)
    rows = compared.to_dict("records")
    shown = pd.DataFrame(
        {
            "path": compared["path"],
            "MTU, B": compared["mtu_B"],
            "streams": compared["streams"],
            "generator": compared["generator"],
            "goodput, MB/s": [number(row["goodput_MBps"]) for row in rows],
            "reference": [f"{row['reference']}: {number(row['reference_MBps'])}" for row in rows],
            "difference, %": [_difference(row) for row in rows],
            "rounds": [f"{row['n']} and {row['n_reference']}" for row in rows],
            "verdict": compared["verdict"],
        }
    ).reset_index(drop=True)
    several = [name for name in ("direction", "tuning") if compared[name].nunique() > 1]
    for name in several:
        shown.insert(1, name, compared[name].tolist())
    note = (
        f"In brackets the {100 * m.study.confidence:g} % interval of the mean ratio within a "
        "round. Differences of geometric means."
    )
    bold = shown.apply(lambda column: column.map(lambda _: column.name == "verdict"))
    return Table(shown, "Every cell with each generator", note=note, bold=bold, data=compared)


def _difference(row: dict) -> str:
    low, high = row["low_percent"], row["high_percent"]
    interval = "no interval" if math.isnan(low) else f"{low:+.1f} to {high:+.1f}"
    return f"{row['difference_percent']:+.1f} ({interval})"


def meters(m: Measured) -> Table | Sentence:
    """Readings of the hosts' meters with each generator."""
    frame = analysis.meters(m.runs)
    if frame.empty:
        return Sentence("There are no valid runs with meter readings.")
    frame["header_share"] *= 100
    heads = {
        "mtu_B": "MTU, B",
        "goodput_MBps": "goodput, MB/s",
        "sender_cpu_percent": "sender CPU, %",
        "receiver_cpu_percent": "receiver CPU, %",
        "cpu_s_per_GB": "programs, s/GB",
        "header_share": "headers, %",
    }
    formats = {
        **dict.fromkeys(("sender_cpu_percent", "receiver_cpu_percent"), ".1f"),
        **{"goodput_MBps": ".1f", "cpu_s_per_GB": ".3f", "header_share": ".2f"},
    }
    note = (
        f"Means of valid runs; {MISSING}: not reported. CPU: all cores, in the window. Programs: "
        "CPU time of both ends' own processes for every GB received; headers: bytes "
        "that the receiver's interface counted beyond the payload."
    )
    return Table(frame, "Meter readings with each generator", heads, formats, note)
