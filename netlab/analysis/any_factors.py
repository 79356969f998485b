"""Further factors of a study as columns, and tables of any two factors."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from functools import cache

import pandas as pd

from netlab.analysis.cell_texts import MISSING, stream_label, texts, tuning_labels
from netlab.analysis.cells import CELL_KEYS
from netlab.errors import BadInput, check
from netlab.files.recorded_columns import column_json
from netlab.study import Study
from netlab.study.factors import level_text, listed, same
from netlab.units import arrows

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
    return column_json(text, "factors")


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
