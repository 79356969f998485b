"""Tables and sentences on the agreement of generators."""

from __future__ import annotations

import pandas as pd

from netlab.analysis import tool_agreement
from netlab.analysis.cell_texts import MISSING
from netlab.analysis.cells import valid
from netlab.analysis.tool_agreement import Agreement
from netlab.files.recorded_facts import provenance_of
from netlab.files.tables import Sentence, Table, table_or
from netlab.report.compare import every_cell, in_words, verdict_counts

NOTHING = "No cell of this study has valid runs of two generators."


def opening(c: Agreement) -> Table:
    """Generators with their versions and number of usable runs."""
    runs, rows = c.measured.runs, []
    for name in tool_agreement.generators(runs):
        part = runs[runs["generator"] == name]
        own = {provenance_of(text)["netlab"] for text in part["provenance"].unique()}
        versions = part["generator_version"].dropna().unique().tolist()
        row = {
            "generator": name,
            "version": "; ".join(versions or sorted(f"netlab {v}" for v in own)),
        }
        rows.append({**row, "runs": len(part), "flagged": len(part) - len(valid(part))})
    heads = {"flagged": "flagged, excluded"}
    return Table(pd.DataFrame(rows), "Generators", heads)


def agreement_statement(c: Agreement) -> Sentence:
    """Number of comparisons of each verdict, path by path."""
    text = [
        f"Path {path}: of {len(part)} comparisons "
        f"{verdict_counts(part['verdict'], c.bound_percent)}."
        for path, part in c.frame.groupby("path", sort=False)
    ]
    return Sentence(" ".join(text) or NOTHING)


def summary(c: Agreement) -> Table | Sentence:
    """Agreement by path and generator."""
    if c.frame.empty:
        return Sentence(NOTHING)
    heads = {"least_percent": "least, %", "greatest_percent": "greatest, %"}
    formats = dict.fromkeys(heads, "+.1f")
    note = "Least and greatest difference of a cell's mean from the reference."
    return Table(tool_agreement.summary(c.frame), "Agreement in short", heads, formats, note)


def agreement_cells(c: Agreement) -> Table | Sentence:
    """Every cell: both goodputs, the difference with its interval, and the verdict."""
    compared = c.frame
    if compared.empty:
        return Sentence(NOTHING)
    named = ["path", "mtu_B", "streams", "reference", "generator"]
    several = [
        key
        for key in (*tool_agreement.CELL, "reference", "generator")
        if key in named or compared[key].nunique(dropna=False) > 1
    ]
    heads = {"reference": "reference, A", "generator": "generator, B"}
    note = (
        f"Intervals hold for all {len(compared)} comparisons at once at "
        f"{100 * c.measured.study.confidence:g} %, by the mean ratio within a round."
    )
    shown = in_words(compared[several]).rename(columns=heads)
    return every_cell(shown, compared, "Every cell with each generator", note)


def meters(c: Agreement) -> Table | Sentence:
    """Readings of the hosts' meters with each generator."""
    frame = in_words(tool_agreement.meters(c.measured.runs))
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
    frame = frame.assign(header_share=100 * frame["header_share"]) if len(frame) else frame
    none = "There are no valid runs with meter readings."
    return table_or(none, frame, "Meter readings with each generator", heads, formats, note)
