"""Tables of cells: as the 2003 report prints them, and of any two factors of a study."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Literal

import pandas as pd

from netlab.analysis.cells import (
    CELL_KEYS,
    FROM_ROUNDS,
    FROM_RUN,
    LEAST,
    is_symmetric,
    reached_percent,
)
from netlab.errors import BadInput, check, require
from netlab.files.tables import HOLLOW
from netlab.files.writing import parse_json
from netlab.measure.bottleneck import ASKED
from netlab.study import Study, TuningLevel
from netlab.study.factors import level_text, listed, same
from netlab.study.schedule import slug
from netlab.units import arrows

# Cells laid out as the 2003 report prints its tables: sections, MTU rows, stream columns.

QUANTITIES = ("goodput", "percent", "both", "bottleneck", "address")
OneQuantity = Literal["goodput", "percent"]
Quantity = Literal["goodput", "percent", "both"]
CellText = Literal["goodput", "percent", "both", "bottleneck"]
""":data:`QUANTITIES` that a chart, a table of two factors and a table of a group take."""
GoodputColumn = Literal["goodput_MBps", "percent_of_bus"]
"""Columns of the cells that a chart has on its axis."""
MISSING = "–"


def stream_label(streams: int) -> str:
    """``1 Stream``, ``4 Streams``."""
    return f"{streams} Stream" if streams == 1 else f"{streams} Streams"


def number(value: float) -> str:
    """A rate with three significant digits, without decimals from 100 on."""
    return MISSING if pd.isna(value) else f"{value:.{_decimals(value)}f}"


def _decimals(value: float) -> int:
    if abs(value) >= 99.95 or value == 0:
        return 0
    if abs(value) >= 9.995:
        return 1
    return 2 if abs(value) >= 0.0995 else min(9, 2 - math.floor(math.log10(abs(value))))


def reach(values: Iterable[float], text: Callable[[float], str] = number) -> str:
    """``15.9 to 89.7``; one number where both ends read alike."""
    low, high = text(min(values)), text(max(values))
    return low if low == high else f"{low} to {high}"


def with_interval(value: float, low: float, high: float) -> str:
    """``744 ± 8``, ``290 (110 to 764)`` where the halves differ; a dash without a value."""
    if math.isnan(value):
        return MISSING
    decimals, half = _decimals(value), (high - low) / 2
    if half > 0:  # no half width reads as 0, if two decimals can show it
        decimals = max(decimals, min(2, math.ceil(-math.log10(2 * half))))
    return _spread(value, low, high, decimals)


def percent(value: float, low: float = math.nan, high: float = math.nan) -> str:
    """``69.9 ± 0.8 %`` of the bus, ``27 (10 to 72) %``; a dash where the bus is unknown."""
    return MISSING if math.isnan(value) else f"{_spread(value, low, high, 1)} %"


def _spread(value: float, low: float, high: float, decimals: int) -> str:
    if math.isnan(low) or math.isnan(high):
        return f"{value:.{decimals}f}"
    if not is_symmetric(value, low, high):
        return f"{value:.{decimals}f} ({low:.{decimals}f} to {high:.{decimals}f})"
    return f"{value:.{decimals}f} ± {(high - low) / 2:.{decimals}f}"


def interval_notes(cells: pd.DataFrame, confidence: float, sign: str = "±") -> list[str]:
    """Sentences on the intervals of cells: their level, and why cells have none."""
    measured = cells[cells["n_valid"] > 0]
    without = measured["interval_from"] != FROM_ROUNDS
    words, notes = f"{100 * confidence:g} % interval over rounds.", []
    if not without.all():
        notes.append(f"Mean ± half width of the {words}" if sign == "±" else f"Bars: {words}")
    if without.any():
        notes.append(f"No {sign}: an interval takes {LEAST} valid rounds.")
    if sign == "bars" and (measured["interval_from"] == FROM_RUN).any():
        notes.append("Broad strokes: within the only valid run of a cell, not over rounds.")
    return notes


def cell_notes(cells: pd.DataFrame, mark: str = HOLLOW) -> list[str]:
    """Sentences on disturbed cells, and on those that the study's own buffers limit, if any."""
    notes = []
    counts = cells.loc[cells["disturbed"] != "", "disturbed"].value_counts()
    if len(counts):
        cells_of = (f"{flags}: {n} cell{'s' if n > 1 else ''}" for flags, n in counts.items())
        notes.append(f"{mark}: median of disturbed runs, not a result ({'; '.join(cells_of)}).")
    asked = int((cells["bottleneck"] == ASKED).sum()) if "bottleneck" in cells else 0
    if asked:
        notes.append(f"Limited by the {ASKED}: {asked} cell{'s' if asked > 1 else ''}.")
    return notes


def group_names(cells: pd.DataFrame) -> list[str]:
    """Groups by table number; those without one follow in their order."""
    return cells.drop_duplicates("group").sort_values("table", kind="stable")["group"].tolist()


def tuning_label(level: TuningLevel) -> str:
    """Label of a tuning without a leading ``+``; its name where it has none."""
    return (level.label or "").lstrip("+ ") or level.name


def tuning_labels(cells: pd.DataFrame, study: Study | None = None) -> dict[str, str]:
    """Tuning levels in their order, each with its label."""
    tunings = study.tunings if study else ()
    labels = {level.name: tuning_label(level) for level in tunings}
    seen = cells["tuning"].drop_duplicates().tolist()
    return {name: labels.get(name, name) for name in [*(n for n in labels if n in seen), *seen]}


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


def texts(cells: pd.DataFrame, quantity: str = "goodput") -> list[str]:
    """Cells as text: ``goodput`` in MB/s, ``percent`` of the bus, or ``both``."""
    require(quantity, QUANTITIES, key="quantity", code="E-ANALYSIS-016")
    return [_text(row, quantity) for row in cells.to_dict("records")]


def _text(row: dict, quantity: str) -> str:
    both, mark = quantity == "both", ""
    if row["disturbed"]:  # its median after the mark: ``○ 512``
        mark, rate = f"{HOLLOW} ", number(row["disturbed_MBps"])
        share = percent(100 * row["disturbed_MBps"] / row["bus_MBps"])
    else:
        rate = with_interval(row["goodput_MBps"], row["low_MBps"], row["high_MBps"])
        ends = () if both else (row["percent_low"], row["percent_high"])
        share = percent(row["percent_of_bus"], *ends)
    if quantity == "percent":
        return share if share == MISSING else mark + share
    return f"{mark}{rate} ({share})" if both and share != MISSING else mark + rate


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


# Further factors of a study as columns, and tables of any two factors.

ALWAYS = ("group", "path", "direction", "tuning", "mtu_B", "streams")
"""Factors that the cells of every study have."""

UNITS = {"MBps": "MB/s", "Mbps": "Mb/s", "Gbps": "Gb/s", "us": "us", "ms": "ms", "B": "B"}
WORDS = {
    "mtu_B": "MTU, B",
    "streams": "streams",
    "record_length_B": "record length, B",
    "buffer_B": "socket buffer, B",
    "rtt_ms": "RTT, ms",
    "read_burst_B": "PCI-X read burst (MMRBC), B",
    "percent_of_bus": "goodput, % of bus",
}


@cache
def levels_of(text: str) -> dict[str, object]:
    """Factors and levels of a value of the column ``factors``."""
    return parse_json(text, "factors") if text else {}


def names(frame: pd.DataFrame, study: Study | None = None) -> list[str]:
    """Further factors of some cells or runs, in the study's order where it is given."""
    if "factors" not in frame:
        return []
    factors = [name for text in frame["factors"].unique() for name in levels_of(text)]
    if study is not None:
        firsts = [one for group in study.groups for one in study.combinations(group)[:1]]
        factors = [*(name for one in firsts for name, _ in one.levels if name in factors), *factors]
    return list(dict.fromkeys(factors))


def column(frame: pd.DataFrame, name: str) -> pd.Series:
    """Levels of one factor, missing where a row does not have it."""
    values = [levels_of(text).get(name) for text in frame["factors"]]
    return pd.Series(values, frame.index, dtype=object).infer_objects()


def expanded(frame: pd.DataFrame, study: Study | None = None) -> pd.DataFrame:
    """A frame with one column more for each further factor that it has no column for."""
    extra = {name: column(frame, name) for name in names(frame, study) if name not in frame}
    return frame.assign(**extra)


def without(frame: pd.DataFrame, name: str) -> pd.Series:
    """The column ``factors`` without one of the factors."""
    rest = [
        {key: level for key, level in levels_of(text).items() if key != name}
        for text in frame["factors"]
    ]
    texts = [json.dumps(one, separators=(",", ":")) if one else "" for one in rest]
    return pd.Series(texts, frame.index, dtype="string")


def text_of(factors: str) -> str:
    """The column ``factors`` for people: ``record length 1024 B, send zerocopy``."""
    return ", ".join(level_label(*level, {}) for level in levels_of(factors).items())


def shown_keys(frame: pd.DataFrame) -> list[str]:
    """Columns that identify a cell, without ``factors`` where no cell has further ones."""
    return [key for key in CELL_KEYS if key != "factors" or (frame["factors"] != "").any()]


def unit_of(name: str) -> str:
    """A factor as the label of an axis or a heading, with its unit."""
    if name in WORDS:
        return WORDS[name]
    stem, _, unit = name.rpartition("_")
    return f"{stem.replace('_', ' ')}, {UNITS[unit]}" if stem and unit in UNITS else name


def level_label(name: str, level: object, tunings: Mapping[str, str]) -> str:
    """A level for readers: ``MTU 9000 B``, ``4 streams``, ``send zerocopy``, a tuning's label."""
    if name == "tuning":
        return tunings.get(str(level), str(level))
    if name == "group":
        return arrows(str(level))
    if name == "streams":
        return stream_label(int(str(level))).lower()
    if name == "pacing_MBps" and level == 0:
        return "no pacing"
    stem, comma, unit = unit_of(name).partition(", ")
    text = level_text(level)
    return f"{stem} {text} {unit}" if comma else f"{stem} {text}"


def ratio_text(
    value: float, low: float, high: float, digits: int = 2, before: str = "×", after: str = ""
) -> str:
    """``×1.20 (1.10 to 1.31)``; a dash without a value."""
    if math.isnan(value):
        return MISSING
    ends = "" if math.isnan(low) else f" ({low:.{digits}f} to {high:.{digits}f})"
    return f"{before}{value:.{digits}f}{after}{ends}"


def step_text(factor: str, step: Iterable[str], tunings: Mapping[str, str]) -> str:
    """``queue from 62500 to 250000 B``, ``tuning from defaults to full`` of two levels' texts."""
    stem, _, unit = unit_of(factor).partition(", ")
    before, after = (arrows(tunings.get(level, level)) for level in step)
    return f"{stem} from {before} to {after}{' ' + unit if unit else ''}"


def at_text(at: Mapping[str, object], tunings: Mapping[str, str]) -> str:
    """The single levels of some factors, for readers."""
    single = {name: level for name, level in at.items() if not isinstance(level, list | tuple)}
    return ", ".join(level_label(name, level, tunings) for name, level in single.items())


def varying(cells: pd.DataFrame, study: Study | None = None) -> dict[str, list]:
    """Factors with several levels, in order, without path and direction where the group varies."""
    wide = expanded(cells, study)
    levels_of_name: dict[str, list] = {}
    for name in (*ALWAYS, *names(cells, study)):
        levels = ordered(name, wide[name], study)
        if len(levels) > 1 and not (name in ("path", "direction") and "group" in levels_of_name):
            levels_of_name[name] = levels
    return levels_of_name


def ordered(name: str, values: pd.Series, study: Study | None) -> list:
    """Levels of a factor: numbers ascending, tunings as in the study, others as they come."""
    levels = values.dropna().drop_duplicates().tolist()
    if name == "tuning":
        rank = {level.name: at for at, level in enumerate(study.tunings if study else ())}
        return sorted(levels, key=lambda level: rank.get(level, 0))
    if all(isinstance(level, int | float) for level in levels):
        return sorted(levels)
    return levels


def at_levels(
    cells: pd.DataFrame, wanted: Mapping[str, object], study: Study | None = None
) -> pd.DataFrame:
    """Cells at some levels of their factors, with a column for each further factor."""
    wide = expanded(cells, study)
    for name, wanted_level in wanted.items():
        check_factor(name, cells, study)
        ordered_levels = ordered(name, wide[name], study)
        text = f"no cell has this level; there are {', '.join(map(str, ordered_levels))}"
        for level in listed(wanted_level):
            check(
                any(same(level, one) for one in ordered_levels), name, level, text, "E-ANALYSIS-032"
            )
        wide = rows_at(wide, {name: wanted_level}, study)
    return wide


def rows_at(
    frame: pd.DataFrame, levels: Mapping[str, object], study: Study | None = None
) -> pd.DataFrame:
    """Cells or runs at some levels, as :func:`at_levels`, of which there may be none."""
    wide = expanded(frame, study)
    for name, given in levels.items():
        wanted = [any(same(level, one) for level in listed(given)) for one in wide[name]]
        wide = wide[pd.Series(wanted, wide.index, dtype=bool)]
    return wide


def check_factor(name: str, cells: pd.DataFrame, study: Study | None) -> None:
    factors = [*ALWAYS, *names(cells, study)]
    text = f"is not a factor of these cells; there are {', '.join(factors)}"
    known = isinstance(name, str) and name in factors
    check(known, "factor", name if name else repr(name), text, "E-ANALYSIS-033")


def of_two(
    cells: pd.DataFrame, first: str, second: str, at: Mapping = {}, study: Study | None = None
) -> pd.DataFrame:
    """Cells that differ in two factors alone; where some share a place, those that have both."""
    for name in (first, *([second] if second else [])):
        check_factor(name, cells, study)
    check(first != second, "factor", first, "name two different factors", "E-ANALYSIS-034")
    part, two = at_levels(cells, at, study), [name for name in (first, second) if name]
    if part.duplicated(two).any():
        part = part[part[two].notna().all(axis=1)]
    others = {name: of for name, of in varying(part, study).items() if name not in two}
    if others and part.duplicated(two).any():
        name, levels = next(iter(others.items()))
        shown = ", ".join(map(str, levels[:8])) + (", ..." if len(levels) > 8 else "")
        text = (
            f"{', '.join(others)} vary too; give a level of each, such as {name}={levels[0]!r}; "
            f"{name} has {shown}"
        )
        raise BadInput(text, key="factor", value=first, code="E-ANALYSIS-035")
    return part[part[first].notna()]


def table(part: pd.DataFrame, rows: str, columns: str, quantity: str, study: Study) -> pd.DataFrame:
    """Cells of :func:`of_two` as texts."""
    index, heads = (ordered(name, part[name], study) for name in (rows, columns))
    laid = part.assign(text=texts(part, quantity)).pivot(index=rows, columns=columns, values="text")
    frame = laid.reindex(index=index, columns=heads).astype(object).fillna("")
    labels, stem = tuning_labels(part, study), unit_of(columns).partition(",")[0]
    named = [labels[row] if rows == "tuning" else level_text(row) for row in index]
    frame.index = pd.Index(named, name=unit_of(rows))
    frame.columns = [
        labels[head] if columns == "tuning" else f"{stem} {level_text(head)}" for head in heads
    ]
    return frame


def layout(cells: pd.DataFrame, study: Study | None = None) -> tuple[str, str]:
    """Factors of a page: as axis the numeric one with most levels, as lines the largest other.

    Both are of the same cells: a factor of another group makes no lines.
    """
    varied = {name: levels for name, levels in varying(cells, study).items() if name != "group"}
    numeric = [
        name
        for name, levels in varied.items()
        if all(isinstance(v, int | float) and not isinstance(v, bool) for v in levels)
    ]
    ranked = sorted(numeric or varied, key=lambda name: -len(varied[name]))
    axis = ranked[0] if ranked else "streams"
    wide = expanded(cells, study)
    beside = varying(wide[wide[axis].notna()], study)
    others = (name for name in beside if name not in (axis, "group"))
    rest = sorted(others, key=lambda name: -len(beside[name]))
    return axis, rest[0] if rest else ""


def slices(cells: pd.DataFrame, held: Sequence[str], study: Study | None = None) -> list[dict]:
    """Combinations of levels of all varying factors but `held`, without those that cells lack."""
    wide = expanded(cells, study)
    wide = wide[wide[list(held)].notna().all(axis=1)]
    others = [name for name in varying(wide, study) if name not in held]
    at = wide[others].drop_duplicates().to_dict("records") if others else [{}]
    return [{name: level for name, level in one.items() if not pd.isna(level)} for one in at]
