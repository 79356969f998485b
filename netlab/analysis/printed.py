"""Cells laid out as the 2003 report prints its tables: sections, MTU rows, stream columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import pandas as pd

from netlab.analysis.any_factors import level_label, levels_of, names, shown_keys
from netlab.analysis.cell_texts import MISSING, number, stream_label, texts, tuning_labels
from netlab.analysis.cells import CELL_KEYS, FROM_ROUNDS, FROM_RUN, empty, reached_percent
from netlab.analysis.intervals import LEAST_ROUNDS
from netlab.errors import check
from netlab.files.tables import HOLLOW
from netlab.measure.bottleneck import ASKED
from netlab.study import Study
from netlab.study.factors import level_text
from netlab.study.schedule import slug


def reach(values: Iterable[float], text: Callable[[float], str] = number) -> str:
    """``15.9 to 89.7``; one number where both ends read alike."""
    low, high = text(min(values)), text(max(values))
    return low if low == high else f"{low} to {high}"


UNKNOWN_BUS = (
    "No per cent of the bus: these hosts report none, and the study states none (`bus` of a host, "
    "with `bandwidth_MBps` and `label`)."
)


def interval_notes(cells: pd.DataFrame, confidence: float, sign: str = "±") -> list[str]:
    """Sentences on the intervals of cells: their level, and why cells have none."""
    measured = cells[cells["n_valid"] > 0]
    without = measured["interval_from"] != FROM_ROUNDS
    words, notes = f"{100 * confidence:g} % interval over rounds.", []
    if not without.all():
        notes.append(f"Mean ± half width of the {words}" if sign == "±" else f"Bars: {words}")
    if without.any():
        notes.append(f"No {sign}: an interval takes {LEAST_ROUNDS} valid rounds.")
    if sign == "bars" and (measured["interval_from"] == FROM_RUN).any():
        notes.append("Broad strokes: within the only valid run of a cell, not over rounds.")
    return notes


def cell_notes(cells: pd.DataFrame, mark: str = HOLLOW) -> list[str]:
    """Sentences on flagged cells, and on those that the study's own buffers limit, if any."""
    notes = []
    counts = cells.loc[cells["disturbed"] != "", "disturbed"].value_counts()
    if len(counts):
        cells_of = (f"{flags}: {n} cell{'s' if n > 1 else ''}" for flags, n in counts.items())
        notes.append(f"{mark}: median of flagged runs, not a result ({'; '.join(cells_of)}).")
    asked = int((cells["bottleneck"] == ASKED).sum()) if "bottleneck" in cells else 0
    if asked:
        notes.append(f"Limited by the {ASKED}: {asked} cell{'s' if asked > 1 else ''}.")
    return notes


def unknown_bus_notes(cells: pd.DataFrame) -> list[str]:
    """The reason why no cell has a share of the bus, and what to do; empty if one has.

    Empty also before any run has ended: what the hosts report is in its record.
    """
    known = cells.loc[~empty(cells), "bus_MBps"].notna()
    return [UNKNOWN_BUS] if len(known) and not known.any() else []


def group_names(cells: pd.DataFrame) -> list[str]:
    """Groups by table number; those without one follow in their order."""
    return cells.drop_duplicates("group").sort_values("table", kind="stable")["group"].tolist()


def of_group(cells: pd.DataFrame, group: str) -> pd.DataFrame:
    groups = group_names(cells)
    text = f"no such group; there are {', '.join(map(repr, groups)) or 'none'}"
    known = isinstance(group, str) and group in groups
    check(known, "group", group, text, "E-ANALYSIS-015")
    return cells[cells["group"] == group]


def caption(cells: pd.DataFrame, group: str) -> str:
    """``Table 2: Linux64 -> Linux64``, or the group's name where it has no table number."""
    table = of_group(cells, group)["table"].iloc[0]
    return group if pd.isna(table) else f"Table {int(table)}: {group}"


BOTH_WAYS = "both directions together, of twice the bus"


def both_ways(cells: pd.DataFrame, study: Study | None) -> bool:
    """True for cells of both directions where each direction has the whole bus."""
    first = cells.iloc[0]
    return study is not None and first["direction"] == "<->" and not study.bus_shared(first["path"])


def bus_name(cells: pd.DataFrame, study: Study | None) -> str:
    """The ceiling of the cells of one group: ``bus``, or ``twice the bus``."""
    return "twice the bus" if both_ways(cells, study) else "bus"


def one_bus_MBps(cells: pd.DataFrame, study: Study | None) -> pd.Series:
    """Bandwidth of one host's bus of each cell: half of the ceiling where that is twice the bus."""
    parts = [
        part["bus_MBps"] / (2 if both_ways(part, study) else 1)
        for _, part in cells.groupby("group", sort=False)
    ]
    return pd.concat(parts).reindex(cells.index)


def cell_address(row: Mapping) -> str:
    """Name of a cell within its group, for an address: ``full-9000-4``."""
    return "-".join(filter(None, (slug(str(row[key])) for key in CELL_KEYS if key != "group")))


def mtu_text(cells: pd.DataFrame) -> str:
    """MTU of cells that share it, and the packets that their paths carried if these are smaller."""
    mtu_B, used_B = int(cells["mtu_B"].iloc[0]), cells["packet_B"].min()
    return f"asked {mtu_B} B, used {used_B:.0f} B" if used_B < mtu_B else f"{mtu_B} B"


def as_printed(
    cells: pd.DataFrame, group: str, *, study: Study | None = None, quantity: str = "goodput"
) -> pd.DataFrame:
    part = of_group(cells, group)
    if quantity == "bottleneck":
        words = part["bottleneck"].fillna(MISSING).tolist()
    elif quantity == "address":
        words = [cell_address(row) for row in part.to_dict("records")]
    else:
        words = texts(part, quantity)
    labels, further = tuning_labels(part, study), names(part)
    sections = pd.Categorical(part["tuning"], [*labels], ordered=True)
    laid = part.assign(text=words, tuning=sections)
    laid = laid.sort_values(["tuning", "mtu_B"], kind="stable")
    columns = sorted(part["streams"].unique())
    rows, index = [], []
    keys = ["tuning", "mtu_B", "factors"]
    for (tuning, mtu_B, factors), row in laid.groupby(keys, sort=False, observed=True):
        text, levels = row.set_index("streams")["text"], levels_of(factors)
        rows.append([text.get(streams, "") for streams in columns])
        others = [level_text(levels[name]) if name in levels else "" for name in further]
        index.append((labels[tuning], mtu_text(row) if mtu_B else "as found", *others))
    return pd.DataFrame(
        rows,
        index=pd.MultiIndex.from_tuples(index, names=["Tuning", "MTU", *further]),
        columns=[stream_label(int(streams)) for streams in columns],
        dtype=object,
    )


def where(cell: dict, labels: dict[str, str]) -> str:
    """The levels of a cell within its group: ``No Tuning, 1500 B, 4 Streams``."""
    text = f"{labels[cell['tuning']]}, {cell['mtu_B']} B, {stream_label(int(cell['streams']))}"
    levels = levels_of(cell["factors"])
    return ", ".join((text, *(level_label(*level, {}) for level in levels.items())))


def missing(cells: pd.DataFrame) -> pd.DataFrame:
    columns = [*shown_keys(cells), "disturbed_MBps", "missing_because"]
    return cells.loc[cells["n_valid"] == 0, columns].reset_index(drop=True)


def best(cells: pd.DataFrame, study: Study | None = None) -> pd.DataFrame:
    """The best cell of each group, of those that are as precise as the study asks."""
    if study is not None and study.precision is not None:
        cells = cells[reached_percent(cells) <= study.precision.half_width_percent]
    rows = cells[cells["goodput_MBps"].notna()]
    highest = rows.loc[rows.groupby("group")["goodput_MBps"].idxmax()]
    order = group_names(cells)
    return highest.sort_values("group", key=lambda names: names.map(order.index), ignore_index=True)
