"""Further factors of a study as columns, and tables of any two factors."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache

import pandas as pd

from netlab.analysis import printed
from netlab.analysis.cells import CELL_KEYS
from netlab.errors import BadInput
from netlab.study import Study
from netlab.study.factors import level_text, listed, same
from netlab.units import arrows

ALWAYS = ("group", "path", "direction", "tuning", "mtu_B", "streams")
"""Factors that the cells of every study have."""

UNITS = {"MBps": "MB/s", "Mbps": "Mb/s", "Gbps": "Gb/s", "us": "us", "ms": "ms", "B": "B"}
WORDS = {
    "mtu_B": "MTU, B",
    "streams": "TCP streams",
    "record_length_B": "record length, B",
    "buffer_B": "socket buffer, B",
    "rtt_ms": "RTT, ms",
    "read_burst_B": "PCI-X read burst (MMRBC), B",
    "percent_of_bus": "goodput, % of bus",
}


@cache
def levels_of(text: str) -> dict[str, object]:
    """Factors and levels of a value of the column ``factors``."""
    return json.loads(text) if text else {}


def names(frame: pd.DataFrame, study: Study | None = None) -> list[str]:
    """Further factors of some cells or runs, in the study's order where it is given."""
    if "factors" not in frame:
        return []
    found = [name for text in frame["factors"].unique() for name in levels_of(text)]
    if study is not None:
        of_study = [
            name
            for group in study.groups
            for one in study.combinations(group)[:1]
            for name, _ in one.levels
        ]
        found = [*(name for name in of_study if name in found), *found]
    return list(dict.fromkeys(found))


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
    """The column ``factors`` for people: ``record_length_B 1024, send zerocopy``."""
    return ", ".join(f"{name} {level_text(level)}" for name, level in levels_of(factors).items())


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
    """A level for readers: ``MTU 9000 B``, ``4 streams``, ``send zerocopy``, a tuning's label.

    Examples
    --------
    >>> level_label("rtt_ms", 10, {}), level_label("tuning", "full", {"full": "Driver Tuning"})
    ('RTT 10 ms', 'Driver Tuning')
    """
    if name == "tuning":
        return tunings.get(str(level), str(level))
    if name == "group":
        return arrows(str(level))
    if name == "streams":
        return printed.stream_label(int(str(level))).lower()
    stem, comma, unit = unit_of(name).partition(", ")
    text = level_text(level)
    return f"{stem} {text} {unit}" if comma else f"{stem} {text}"


def varying(cells: pd.DataFrame, study: Study | None = None) -> dict[str, list]:
    """Factors with more than one level, each with its levels in order.

    Path and direction follow from the group, and are left out where it varies with them.
    """
    wide = expanded(cells, study)
    found: dict[str, list] = {}
    for name in (*ALWAYS, *names(cells, study)):
        levels = ordered(name, wide[name], study)
        if len(levels) > 1 and not (name in ("path", "direction") and "group" in found):
            found[name] = levels
    return found


def ordered(name: str, values: pd.Series, study: Study | None) -> list:
    """Levels of a factor: numbers ascending, tunings as in the study, others as they come."""
    levels = values.dropna().drop_duplicates().tolist()
    if name == "tuning":
        known = [level.name for level in study.tunings] if study else []
        return sorted(levels, key=lambda level: known.index(level) if level in known else 0)
    if all(isinstance(level, int | float) for level in levels):
        return sorted(levels)
    return levels


def at_levels(
    cells: pd.DataFrame, wanted: Mapping[str, object], study: Study | None = None
) -> pd.DataFrame:
    """Cells at some levels of their factors, with a column for each further factor."""
    wide = expanded(cells, study)
    for name, given in wanted.items():
        _check_factor(name, cells, study)
        known = ordered(name, wide[name], study)
        for level in listed(given):
            if not any(same(level, one) for one in known):
                raise BadInput(
                    f"no cell has this level; there are {', '.join(map(str, known))}",
                    key=name,
                    value=level,
                    code="E-ANALYSIS-032",
                )
        wide = rows_at(wide, {name: given}, study)
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


def _check_factor(name: str, cells: pd.DataFrame, study: Study | None) -> None:
    known = [*ALWAYS, *names(cells, study)]
    if name not in known:
        raise BadInput(
            f"is not a factor of these cells; there are {', '.join(known)}",
            key="factor",
            value=name,
            code="E-ANALYSIS-033",
        )


def of_two(
    cells: pd.DataFrame,
    first: str,
    second: str,
    at: Mapping[str, object] | None = None,
    study: Study | None = None,
) -> pd.DataFrame:
    """Cells that differ in two factors alone."""
    for name in filter(None, (first, second)):
        _check_factor(name, cells, study)
    if first == second:
        raise BadInput(
            "name two different factors", key="factor", value=first, code="E-ANALYSIS-034"
        )
    part = at_levels(cells, at or {}, study)
    others = {
        name: levels for name, levels in varying(part, study).items() if name not in (first, second)
    }
    if others and part.duplicated([name for name in (first, second) if name]).any():
        name, levels = next(iter(others.items()))
        shown = ", ".join(map(str, levels[:8])) + (", ..." if len(levels) > 8 else "")
        raise BadInput(
            f"{', '.join(others)} vary too; give a level of each, such as {name}={levels[0]!r}; "
            f"{name} has {shown}",
            key="factor",
            value=first,
            code="E-ANALYSIS-035",
        )
    return part[part[first].notna()]


def table(
    cells: pd.DataFrame,
    rows: str,
    columns: str,
    *,
    at: Mapping[str, object] | None = None,
    quantity: str = "goodput",
    study: Study | None = None,
) -> pd.DataFrame:
    """Lay out cells by two factors."""
    part = of_two(cells, rows, columns, at, study)
    pairs = zip(part[rows], part[columns], strict=True)
    laid = dict(zip(pairs, printed.texts(part, quantity), strict=True))
    index, heads = (ordered(name, part[name], study) for name in (rows, columns))
    body = [[laid.get((row, head), "") for head in heads] for row in index]
    frame = pd.DataFrame(body, dtype=object)
    labels = printed.tuning_labels(part, study)
    frame.index = pd.Index([_text(rows, row, labels) for row in index], name=unit_of(rows))
    stem = unit_of(columns).partition(",")[0]
    frame.columns = [
        _text(columns, head, labels) if columns == "tuning" else f"{stem} {level_text(head)}"
        for head in heads
    ]
    return frame


def _text(name: str, level: object, tunings: Mapping[str, str]) -> str:
    return tunings[str(level)] if name == "tuning" else level_text(level)


def layout(cells: pd.DataFrame, study: Study | None = None) -> tuple[str, str]:
    """Two factors that a page shows: of an axis, and of lines or columns.

    The axis is the numeric factor with the most levels; the lines are the factor with the most of
    those that vary besides the group.
    """
    found = {name: levels for name, levels in varying(cells, study).items() if name != "group"}
    numeric = [
        name
        for name, levels in found.items()
        if all(isinstance(v, int | float) and not isinstance(v, bool) for v in levels)
    ]
    ranked = sorted(numeric or found, key=lambda name: -len(found[name]))
    axis = ranked[0] if ranked else "streams"
    rest = sorted((name for name in found if name != axis), key=lambda name: -len(found[name]))
    return axis, rest[0] if rest else ""


def slices(cells: pd.DataFrame, held: Sequence[str], study: Study | None = None) -> list[dict]:
    """Combinations of levels of all varying factors but `held`, one dict a combination.

    A combination has no entry for a factor that its cells lack.
    """
    wide = expanded(cells, study)
    wide = wide[wide[list(held)].notna().all(axis=1)]
    others = [name for name in varying(wide, study) if name not in held]
    found = wide[others].drop_duplicates().to_dict("records") if others else [{}]
    return [{name: level for name, level in one.items() if not _missing(level)} for one in found]


def _missing(level: object) -> bool:
    return level is None or level is pd.NA or level != level
