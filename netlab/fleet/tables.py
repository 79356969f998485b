"""Tables of a fleet: links, hosts and cells."""

from __future__ import annotations

import pandas as pd

from netlab.analysis.conditions import flag_counts
from netlab.files.tables import Sentence, Table, table_or
from netlab.fleet.links import ASYMMETRIC_PERCENT, asymmetric_pairs, host_links
from netlab.report.tables import GOODPUT, _period
from netlab.results.flags import PAGE

APART = f"{ASYMMETRIC_PERCENT:.0f} %"
PER_CENT = ".1f"


def _per_cent(frame: pd.DataFrame, *columns: str) -> pd.DataFrame:
    """The shares of some columns in per cent."""
    return frame.assign(**{column: 100 * frame[column] for column in columns})


def _links(frame: pd.DataFrame, name: str, *shares: str) -> pd.DataFrame:
    """The name of each link, and some of its shares in per cent."""
    names = frame["sender"] + " → " + frame["receiver"]
    return names.to_frame(name).join(_per_cent(frame, *shares)[list(shares)])


SHARES = {"share": "goodput, % of the median link", "reverse": "other direction, %"}


def answer(links: pd.DataFrame, outlying: pd.DataFrame) -> str:
    """The slowest link, asymmetric pairs, and the hosts that stand out, in words."""
    if links.empty:
        return "No link has a valid run."
    slowest = links.iloc[0]
    parts = [
        f"Of {len(links)} links of {len({*links['sender'], *links['receiver']})} hosts the "
        f"slowest, {slowest['sender']} → {slowest['receiver']}, is at "
        f"{100 * slowest['share']:.0f} % of the median link",
        f"{len(asymmetric_pairs(links))} are slower than their other direction by {APART} or more",
    ]
    parts += [
        f"{host.host} {host.role} at {100 * host.share:.0f} % of the others"
        for host in outlying.itertuples()
    ] or ["no host stands out"]
    return f"{'; '.join(parts)}."


def slowest(links: pd.DataFrame, most: int) -> Table:
    """The slowest links: share and that of the other direction, per cent."""
    frame = _links(links.head(most), "link", *SHARES)
    frame.insert(1, "cells", links["cells"].head(most))
    caption = f"The {len(frame)} slowest links"
    return Table(frame, caption, SHARES, dict.fromkeys(SHARES, PER_CENT))


def asymmetries(links: pd.DataFrame) -> Table | Sentence:
    """Pairs of which one direction is slower than the other."""
    pairs, heads = asymmetric_pairs(links), SHARES | {"ratio": "slower over faster, %"}
    return table_or(
        f"No link is slower than its other direction by {APART} or more.",
        _links(pairs, "slower direction", *heads),
        "Asymmetric pairs",
        heads,
        dict.fromkeys(heads, PER_CENT),
        data=pairs,
    )


def outlying_hosts(outlying: pd.DataFrame) -> Table:
    """Hosts whose links are all slower, or all faster."""
    return Table(
        _per_cent(outlying, "share"),
        "Hosts whose links all differ",
        {"share": "goodput, % of the others", "p": "p, corrected"},
        {"share": PER_CENT, "p": ".2g"},
        note="" if len(outlying) else "No host has links that are all slower, or all faster.",
    )


def hosts(links: pd.DataFrame) -> Table:
    """The links of every host: median, slowest, fastest, and medians by role."""
    frame, columns = host_links(links), ("median", "slowest", "fastest", "sends", "receives")
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
    shown = _links(frame, "link", "share").join(frame[["cell", "runs", *GOODPUT]])
    heads = dict(zip(GOODPUT, ("MB/s", "from", "to"), strict=True))
    return Table(
        shown[["link", "cell", "runs", *GOODPUT, "share"]],
        "Cells of every link",
        heads | {"share": "% of the median link"},
        dict.fromkeys(GOODPUT, ".4g") | {"share": PER_CENT},
        note="Geometric mean over the valid runs; an interval takes three.",
        data=frame,
    )


def runs(frame: pd.DataFrame) -> Table:
    """Number of runs, of valid ones, and of each flag; time of measuring."""
    rows = [
        ("measured", _period(frame)),
        ("runs", len(frame)),
        ("valid", int((frame["flags"] == "").sum())),
        *((f"flagged {row.flag}", row.runs) for row in flag_counts(frame).itertuples()),
    ]
    shown = pd.DataFrame([(name, str(value)) for name, value in rows], columns=["item", "value"])
    note = f"A run may have several flags. Flagged runs are left out of all figures: {PAGE}."
    return Table(shown, "Runs of all pairs", {"item": "", "value": ""}, note=note)
