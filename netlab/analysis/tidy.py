"""Frames for pandas, seaborn and other programs: levels in order, a row a sample or a setting."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from itertools import chain

import pandas as pd

from netlab.analysis import any_factors
from netlab.analysis.measured import Measured, with_units
from netlab.files.recorded_columns import column_json
from netlab.results.columns import FURTHER_SENDER, INTERVAL_COLUMNS
from netlab.results.frames import frame_of
from netlab.study import Study
from netlab.study.factors import level_text

TEXT = "string"


def typed(frame: pd.DataFrame, study: Study) -> pd.DataFrame:
    """A frame with one type for text, and with levels of text in the order of the study."""
    orders = _orders(study)
    factors = {*orders, *any_factors.names(frame, study)}
    kinds = {str(name): _kind(column) for name, column in frame.items()}
    mixed = [name for name, kind in kinds.items() if kind == "mixed"]
    frame = frame.assign(**{name: frame[name].map(level_text, "ignore") for name in mixed})
    types: dict[str, object] = {name: kind for name, kind in kinds.items() if kind == "boolean"}
    for name in (name for name, kind in kinds.items() if kind in ("text", "mixed")):
        levels = (*map(level_text, orders.get(name, ())), *frame[name].dropna())
        types[name] = ordered(levels) if name in factors else TEXT
    return frame.astype(types)


def ordered(levels: Iterable[object]) -> pd.CategoricalDtype:
    """A type whose values are ordered as they come, each once."""
    return pd.CategoricalDtype(list(dict.fromkeys(levels)), ordered=True)


def _kind(column: pd.Series) -> str:
    """``text``, ``boolean`` with gaps, ``mixed``; empty for a type that stays."""
    if column.dtype != object:
        return "text" if pd.api.types.is_string_dtype(column.dtype) else ""
    kinds = {"string": "text", "empty": "text", "boolean": "boolean"}
    return kinds.get(pd.api.types.infer_dtype(column, skipna=True), "mixed")


def _orders(study: Study) -> dict[str, list]:
    """Factors whose levels the study lists, in its order."""
    orders: dict[str, list] = {
        "group": [group.name for group in study.groups],
        "path": list(study.paths),
        "direction": ["->", "<->"],
        "tuning": [level.name for level in study.tunings],
    }
    for one in chain.from_iterable(map(study.combinations, study.groups)):
        for name, level in one.levels:
            orders.setdefault(name, []).append(level)
    return orders


def rates(m: Measured) -> pd.DataFrame:
    """Rate of every stream in every interval, by its time from the window's start."""
    samples = frame_of([], INTERVAL_COLUMNS) if m.intervals is None else m.intervals
    samples = samples.rename(columns={"direction": "stream_direction"})
    within, direction = samples["in_window"], [samples["run_id"], samples["stream_direction"]]
    begin_s = (samples["t_s"] - samples["interval_s"]).where(within)
    number = samples.groupby(["run_id", "stream_direction", "stream"]).cumcount()
    first = number.where(within).groupby(direction).transform("min")
    warmup_s = samples["run_id"].map(m.runs.groupby("run_id")["warmup_s"].last())
    start_s = begin_s.groupby(direction).transform("min").fillna(warmup_s)
    length_s = samples["interval_s"].where(samples["interval_s"] > 0)
    derived = {
        "sample": (number - first).astype("Int64"),
        "t_window_s": samples["t_s"] - start_s,
        "rate_MBps": samples["bytes"] / length_s / 1e6,
    }
    first_columns = ["run_id", "stream_direction", "stream", *derived]
    frame = samples.assign(**derived)
    return _with_factors(
        m, frame[[*first_columns, *frame.columns.difference(first_columns, False)]]
    )


def knobs(m: Measured) -> pd.DataFrame:
    """Every knob of both hosts of every run, as read back, or why the host does not have it."""

    def rows(values: str, unsupported: str) -> Iterator[tuple]:
        for (host, *knob), value in _leaves(column_json(values, "knobs")):
            yield host, ".".join(knob), value, ""
        for one in column_json(unsupported, "unsupported"):
            yield one["host"], one["knob"], None, one["reason"]

    columns = ("host", "knob", "value", "unsupported")
    return _long(m, ["knobs", "unsupported"], columns, rows)


OF_A_RUN = frozenset({"path_check"})
"""Parts of the provenance that are measured, not set."""


def settings(m: Measured) -> pd.DataFrame:
    """Settings of sender, receiver, hosts and links of every run, besides the knobs of a tuning."""

    def rows(policy: str, provenance: str, sender: str, receiver: str) -> Iterator[tuple]:
        ends = {"sender": sender, "receiver": receiver}
        for (end, *setting), value in _leaves(column_json(policy, "policy")):
            yield (
                ends.get(end, end.removeprefix(FURTHER_SENDER)),
                ".".join(("policy", *setting)),
                value,
            )
        for path, value in _leaves(column_json(provenance, "provenance")):
            part, *rest = path
            if part in ("hosts", "link") and rest:
                host, *setting = rest
                yield host, ".".join((part.removesuffix("s"), *setting)), value
            elif part not in OF_A_RUN:
                yield "", ".".join(path), value

    return _long(
        m, ["policy", "provenance", "sender", "receiver"], ("host", "setting", "value"), rows
    )


def _leaves(value: object, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], object]]:
    """Paths of names in a JSON object, and the text of what stands there; None for null."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _leaves(inner, (*path, str(name)))
    elif path:
        yield path, value if value is None or isinstance(value, str) else json.dumps(value)


def _long(
    m: Measured, sources: list[str], columns: tuple[str, ...], rows: Callable[..., Iterator[tuple]]
) -> pd.DataFrame:
    """Rows of the JSON of every run; runs with the same texts have the same rows."""
    texts = m.runs[sources].astype(object).where(m.runs[sources].notna(), "")
    code = texts.groupby(sources).ngroup()
    distinct = texts.assign(code=code).drop_duplicates("code").itertuples(index=False)
    found = [(one[-1], *row) for one in distinct for row in rows(*one[:-1])]
    frame = pd.DataFrame(found, columns=["code", *columns])
    frame = frame.astype(dict.fromkeys(columns, TEXT))
    runs = pd.DataFrame({"run_id": m.runs["run_id"], "code": code})
    return _with_factors(m, runs.merge(frame, on="code").drop(columns="code"))


def _with_factors(m: Measured, frame: pd.DataFrame) -> pd.DataFrame:
    """The rows of a frame after study, factors, round and flags of their runs, run by run."""
    names = [
        "study",
        "run_id",
        *any_factors.ALWAYS,
        *any_factors.names(m.runs, m.study),
        "round",
        "flags",
    ]
    runs = any_factors.expanded(m.runs, m.study)[list(dict.fromkeys(names))]
    return with_units(typed(runs.merge(frame, on="run_id"), m.study))
