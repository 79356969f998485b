"""Tables and sentences of a comparison, and its outputs as text, CSV and JSON."""

from __future__ import annotations

import json
import math
from dataclasses import asdict

import pandas as pd

from netlab.analysis import answers as analysis
from netlab.analysis.cells import valid
from netlab.analysis.compare import BASE, FASTER, FIGURES, MORE, SLOWER, VERDICTS, Compared
from netlab.analysis.effects import Ratio
from netlab.analysis.measured import Measured
from netlab.analysis.printed import MISSING, number, text_of
from netlab.analysis.sides import SidesCompared
from netlab.files.tables import Table
from netlab.report.tables import Sentence, Tables

HEADS = {
    "mtu_B": "MTU, B",
    "record_length_B": "record, B",
    "buffer_B": "buffer, B",
    "receive_buffer_B": "receive buffer, B",
}
NO_DIFFERENCE = "Of all recorded conditions only the goodput differs between the two sides."


def percent(ratio: float) -> str:
    """A ratio as a signed difference in per cent."""
    return f"{100 * (ratio - 1):+.1f}"


def interval(low: float, high: float) -> str:
    """Ends of the interval of a ratio in per cent."""
    if math.isnan(low) or math.isnan(high):
        return "no interval"
    if high > 100:  # more than a hundredfold: the interval has no information
        return f"{percent(low)} to over +9900"
    return f"{percent(low)} to {percent(high)}"


def effect(found: Ratio) -> str:
    """``+1.2 % (+0.3 to +2.1)``."""
    return f"{percent(found.ratio)} % ({interval(found.low, found.high)})"


def differences(c: SidesCompared) -> Table | Sentence:
    """Recorded conditions that differ; what is compared comes first."""
    frame = pd.concat([_compared_factors(c), c.differences]).drop_duplicates(ignore_index=True)
    if frame.empty:
        return Sentence(NO_DIFFERENCE)
    return Table(frame, "What differs besides goodput", {"item": "", "a": "A", "b": "B"})


def _compared_factors(c: SidesCompared) -> pd.DataFrame:
    """Factors with another level on each side, unless the differences have them by a name."""
    apart = c.compared.apart
    named = {"congestion", "generator", "engine", *MORE} - {c.by}
    return apart[~apart["item"].isin(named)]


def sides(c: SidesCompared) -> Table:
    """Both sides: study, campaign, time and number of runs."""
    rows = []
    for name, side in (("A", c.a), ("B", c.b)):
        started, good = side.runs["started_at"], len(valid(side.runs))
        rows.append(
            {
                "side": name,
                "results": side.label,
                "study": side.study.name,
                "campaign": side.campaign or "none",
                "measured, UTC": f"{started.min():%Y-%m-%d %H:%M} to {started.max():%H:%M}",
                "runs": len(side.runs),
                "valid": good,
            }
        )
    return Table(pd.DataFrame(rows), "Compared: B against A")


def statement(c: SidesCompared) -> Sentence:
    """The overall effect, then the number of cells of each verdict."""
    found = c.compared
    counts = ", ".join(
        f"{found.count(word)} {word}"
        + (f" within {found.same_within_percent:g} %" if word == "the same" else "")
        for word in VERDICTS
    )
    alone = "" if found.only.empty else f" {len(found.only)} cells are on one side only."
    return Sentence(
        f"B against A over {len(found.frame)} cells: {effect(found.overall)} in the geometric "
        f"mean. Cell by cell: {counts}.{alone}"
    )


def method(c: SidesCompared) -> Sentence:
    """The method of the intervals."""
    found = c.compared
    paired = int(found.frame["paired"].sum())
    parts = [
        f"Intervals hold for all {len(found.frame)} cells at once at "
        f"{100 * found.level:.4g} % (Bonferroni: {100 * found.cell_level:.6g} % each). Faster and "
        f"slower: Holm's test of all ratios at {100 * (1 - found.level):.4g} %."
    ]
    spread = found.frame["low"].le(1) & found.frame["high"].ge(1)
    tested = int((spread & found.frame["verdict"].isin((FASTER, SLOWER))).sum())
    if tested:
        parts.append(f"{tested} cells: by that test, where the wider interval contains 0.")
    if paired:
        parts.append(f"{paired} cells: mean ratio within a round.")
    if paired < len(found.frame):
        alone = len(found.frame) - paired
        parts.append(f"{alone} cells: no rounds in common, Welch's interval on logarithms.")
    if (~found.frame["ranked"]).any():
        parts.append(f"{int((~found.frame['ranked']).sum())} cells are not ranked.")
    if found.shared:
        parts.append(f"{found.shared} records count on both sides and are left out.")
    parts.append("The interval of the mean over all cells stands for itself.")
    return Sentence(" ".join(parts))


def shown_keys(found: Compared) -> list[str]:
    """Columns that tell the cells apart."""
    several = [key for key in found.keys if found.frame[key].nunique(dropna=False) > 1]
    return several or list(found.keys[:1])


def _in_words(frame: pd.DataFrame) -> pd.DataFrame:
    """A copy with the further factors of each cell in words."""
    if "factors" not in frame:
        return frame.copy()
    return frame.assign(factors=[text_of(text) for text in frame["factors"]])


def cells(c: SidesCompared) -> Table:
    """Every cell, by verdict and size of the effect."""
    found = c.compared
    rows = found.frame.to_dict("records")
    shown = _in_words(found.frame[shown_keys(found)])
    shown["B against A, %"] = [percent(row["ratio"]) for row in rows]
    shown["interval"] = [interval(row["low"], row["high"]) for row in rows]
    shown["verdict"] = [_verdict(row) for row in rows]
    shown["A, MB/s"] = [number(row["a_MBps"]) for row in rows]
    shown["B, MB/s"] = [number(row["b_MBps"]) for row in rows]
    shown["rounds"] = [f"{row['n_a']} and {row['n_b']}" for row in rows]
    note = method(c).text
    return Table(shown, "Cell by cell", HEADS, note=note, bold="verdict", data=found.frame)


def _verdict(row: dict) -> str:
    return row["verdict"] if row["ranked"] else f"{row['verdict']}: {row['reason']}"


def only(c: SidesCompared) -> Table | Sentence:
    """Cells that only one side has."""
    frame = c.compared.only
    if frame.empty:
        return Sentence("Both sides have every cell.")
    heads = {**HEADS, "side": "only", "reason": "on the other side"}
    return Table(_in_words(frame), "Cells of one side only", heads)


def tables(c: SidesCompared) -> Tables:
    """The whole comparison: what differs, the effect, every cell, cells of one side."""
    return Tables((sides(c), differences(c), statement(c), cells(c), only(c)))


def as_text(c: SidesCompared) -> str:
    """The comparison for a terminal."""
    return "\n\n".join(
        one.text if isinstance(one, Sentence) else _plain(one) for one in tables(c).tables
    )


def _plain(table: Table) -> str:
    frame = table.frame.rename(columns=dict(table.heads))
    note = f"\n{table.note}" if table.note else ""
    text = frame.to_string(index=False, na_rep="-", justify="left")
    return f"{table.caption}\n{text}{note}"


def as_frame(c: SidesCompared) -> pd.DataFrame:
    """Compared cells, then those of one side with ``only in A`` or ``only in B`` as verdict."""
    found = c.compared
    alone = found.only.assign(verdict="only in " + found.only["side"], ranked=False)
    columns = [*found.keys, *FIGURES]
    if alone.empty:
        return found.frame[columns]
    return pd.concat([found.frame, alone.reindex(columns=columns)], ignore_index=True)[columns]


def as_json(c: SidesCompared) -> dict:
    """The comparison as JSON values."""
    found = c.compared
    factors = [name for name in (*BASE, *MORE) if name in found.keys]
    return {
        "netlab_comparison": 1,
        "by": c.by,
        "sides": {
            name: {
                "results": str(side.directory),
                "label": side.label,
                "study": side.study.name,
                "campaign": side.campaign,
                "runs": len(side.runs),
                "valid": len(valid(side.runs)),
            }
            for name, side in (("a", c.a), ("b", c.b))
        },
        "differences": pd.concat([found.apart, c.differences]).to_dict("records"),
        "settings": {
            "method": "Bonferroni intervals, Holm tests of differences",
            "confidence": found.level,
            "confidence_of_a_cell": found.cell_level,
            "same_within_percent": found.same_within_percent,
            "shared_records": found.shared,
        },
        "overall": asdict(found.overall),
        "counts": {word: found.count(word) for word in VERDICTS},
        "factors": factors,
        "cells": found.frame.to_dict("records"),
        "only": found.only.to_dict("records"),
    }


# Tables and sentences on the agreement of generators.

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


def agreement_statement(m: Measured, compared: pd.DataFrame, bound_percent: float) -> Sentence:
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


def agreement_cells(m: Measured, compared: pd.DataFrame) -> Table | Sentence:
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
    caption = "Every cell with each generator"
    return Table(shown, caption, note=note, bold="verdict", data=compared)


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
