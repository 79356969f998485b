"""Tables and sentences of a fleet: slowest links, asymmetric pairs, hosts, runs by flag."""

from __future__ import annotations

import pandas as pd

from netlab.analysis.conditions import flag_counts
from netlab.analysis.links import ASYMMETRIC_PERCENT, asymmetric_pairs, host_links
from netlab.files.tables import Table
from netlab.report.tables import Sentence

LEAST = f"{ASYMMETRIC_PERCENT:.0f} %"
PER_CENT = ".1f"


def _per_cent(frame: pd.DataFrame, *columns: str) -> pd.DataFrame:
    """The shares of some columns in per cent."""
    return frame.assign(**{column: 100 * frame[column] for column in columns})


def _named(frame: pd.DataFrame) -> pd.Series:
    return frame["sender"] + " → " + frame["receiver"]


def answer(links: pd.DataFrame, outlying: pd.DataFrame) -> str:
    """The slowest link, asymmetric pairs, and the hosts that stand out, in words."""
    if links.empty:
        return "No link has a valid run."
    slowest = links.iloc[0]
    parts = [
        f"Of {len(links)} links of {len({*links['sender'], *links['receiver']})} hosts the "
        f"slowest, {slowest['sender']} → {slowest['receiver']}, is at "
        f"{100 * slowest['share']:.0f} % of the median link",
        f"{len(asymmetric_pairs(links))} are slower than their other direction by {LEAST} or more",
    ]
    parts += [
        f"{host.host} {host.role} at {100 * host.share:.0f} % of the others"
        for host in outlying.itertuples()
    ] or ["no host stands out"]
    return f"{'; '.join(parts)}."


def slowest(links: pd.DataFrame, most: int) -> Table:
    """The slowest links: share and that of the other direction, per cent."""
    shown = links.head(most)
    frame = pd.DataFrame({"link": _named(shown), "cells": shown["cells"]})
    frame = frame.join(_per_cent(shown, "share", "reverse")[["share", "reverse"]])
    heads = {"share": "goodput, % of the median link", "reverse": "other direction, %"}
    formats = {"share": PER_CENT, "reverse": PER_CENT}
    return Table(frame, f"The {len(frame)} slowest links", heads, formats)


def asymmetries(links: pd.DataFrame) -> Table | Sentence:
    """Pairs of which one direction is slower than the other."""
    pairs = asymmetric_pairs(links)
    if pairs.empty:
        return Sentence(f"No link is slower than its other direction by {LEAST} or more.")
    shown = _per_cent(pairs, "share", "reverse", "ratio")
    frame = pd.DataFrame({"slower direction": _named(shown)})
    frame = frame.join(shown[["share", "reverse", "ratio"]])
    heads = {"share": "goodput, % of the median link", "reverse": "other direction, %"}
    heads["ratio"] = "slower over faster, %"
    formats = dict.fromkeys(("share", "reverse", "ratio"), PER_CENT)
    return Table(frame, "Asymmetric pairs", heads, formats, data=pairs)


def outlying_hosts(outlying: pd.DataFrame) -> Table:
    """Hosts whose links are all slower, or all faster."""
    frame = _per_cent(outlying, "share")
    heads = {"share": "goodput, % of the others", "p": "p, corrected"}
    note = "" if len(frame) else "No host has links that are all slower, or all faster."
    formats = {"share": PER_CENT, "p": ".2g"}
    return Table(frame, "Hosts whose links all differ", heads, formats, note=note)


def hosts(links: pd.DataFrame) -> Table:
    """The links of every host: median, slowest, fastest, and medians by role."""
    frame = host_links(links)
    columns = ("median", "slowest", "fastest", "sends", "receives")
    return Table(
        _per_cent(frame, *columns),
        "Links of each host",
        {"sends": "median, sends", "receives": "median, receives"},
        dict.fromkeys(columns, PER_CENT),
        note="Per cent of the median link, by the slowest median.",
        data=frame,
    )


def cells(found: pd.DataFrame) -> Table:
    """Every cell of every link with its interval, the slowest share first."""
    frame = found.sort_values("share", ignore_index=True)
    shown = pd.DataFrame({"link": _named(frame), "cell": frame["cell"], "runs": frame["runs"]})
    numbers = ["goodput_MBps", "low_MBps", "high_MBps"]
    shown = shown.join(_per_cent(frame, "share")[[*numbers, "share"]])
    heads = {"goodput_MBps": "MB/s", "low_MBps": "from", "high_MBps": "to"}
    heads["share"] = "% of the median link"
    formats = dict.fromkeys(numbers, ".4g") | {"share": PER_CENT}
    note = "Geometric mean over the valid runs; an interval takes three."
    return Table(shown, "Cells of every link", heads, formats, note=note, data=frame)


def runs(frame: pd.DataFrame) -> Table:
    """Number of runs, of valid ones, and of each flag; time of measuring."""
    started = frame["started_at"]
    rows = [
        ("measured", f"{started.min():%Y-%m-%d %H:%M} to {started.max():%Y-%m-%d %H:%M} UTC"),
        ("runs", len(frame)),
        ("valid", int((frame["flags"] == "").sum())),
        *((f"flagged {row.flag}", row.runs) for row in flag_counts(frame).itertuples()),
    ]
    shown = pd.DataFrame([(name, str(value)) for name, value in rows], columns=["item", "value"])
    note = "A run may have several flags. Flagged runs are left out of all figures."
    return Table(shown, "Runs of all pairs", {"item": "", "value": ""}, note=note)
