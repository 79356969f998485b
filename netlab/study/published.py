"""A published table beside a study: a CSV file, and a few lines of YAML that describe it."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import AfterValidator, Field, model_validator

from netlab.errors import BadInput, why
from netlab.files.model_mistakes import pattern
from netlab.files.reading import open_regular
from netlab.files.yaml_file import read_yaml, validated
from netlab.study.base import Listed, Model
from netlab.study.factors import Level
from netlab.tuning.knobs import key

RATES = {"goodput_MBps": 1.0, "goodput_Mbps": 1 / 8, "goodput_Gbps": 125.0}
"""Columns that may have the published rate, and the factor to MB/s."""

GOODPUT = "goodput_MBps"

QUANTITIES = {
    GOODPUT: "goodput, MB/s",
    "jain_index": "Jain's index",
    "retransmits": "retransmits",
    "rtt_us": "RTT, µs",
    "min_rtt_us": "least RTT, µs",
    "rtt_idle_p50_us": "RTT before the streams, µs",
    "rtt_loaded_p50_us": "RTT under load, µs",
    "rtt_loaded_p99_us": "RTT under load, 99 %, µs",
    "added_latency_us": "added latency, µs",
    "responsiveness_rpm": "responsiveness, round trips a minute",
    "lost_percent": "lost datagrams, %",
    "jitter_us": "jitter, µs",
    "sender_cpu_percent": "CPU of the sender, %",
    "receiver_cpu_percent": "CPU of the receiver, %",
}
"""Columns of a run that a published table may have, and their names."""

SHARE = re.compile(r"share_([a-z0-9_-]{1,31})_percent")
"""Share of the bytes of one congestion control among several, as ``share_bbr_percent``."""

NUMBER = re.compile(r"[+-]?\d+(\.\d+)?([eE][+-]?\d+)?")
MOST_CELLS = 10_000


Title = Annotated[
    str, key("Name of the table.", "Throughput over payload", min_length=1, max_length=200)
]
Source = Annotated[
    str, key("Where it was published.", "A paper, table 1", min_length=1, max_length=500)
]
Fluctuation = Annotated[
    float, key("Largest error of a published value, either way.", 3.0, gt=0, lt=50)
]


def quantity_name(quantity: str) -> str:
    """A quantity as the heading of a column: ``share of bbr, %``."""
    if share := SHARE.fullmatch(quantity):
        return f"share of {share[1]}, %"
    return QUANTITIES[quantity]


def _known(quantity: str) -> str:
    if quantity not in QUANTITIES and not SHARE.fullmatch(quantity):
        known = ", ".join([*QUANTITIES, "share_STACK_percent"])
        raise ValueError(f"is not a quantity of a run; there are {known}")
    return quantity


Quantity = Annotated[
    str,
    AfterValidator(_known),
    key("Quantity of the values, a column of the results.", "share_bbr_percent", GOODPUT),
]
Levels = Annotated[dict[str, Level], Field(min_length=1)]


class PublishedStep(Model, title="`published.steps`"):
    """A ratio of two cells that was published without them, of one factor or of several."""

    before: Levels = key("Levels of the first cell.", {"send": "copy"})
    after: Levels = key("Levels of the second one, of the same factors.", {"send": "zerocopy"})
    at: dict[str, Level] = key("Levels that both have.", {"mtu_B": 9000}, default_factory=dict)
    ratio: float = key("After over before.", 1.35, gt=0, allow_inf_nan=False)

    @model_validator(mode="after")
    def _steps_between_levels(self) -> Self:
        if set(self.before) != set(self.after) or set(self.before) & set(self.at):
            raise ValueError("before and after need the same factors, and at has others")
        if self.before == self.after:
            raise ValueError("before and after have the same levels")
        return self


Steps = Annotated[
    Listed[PublishedStep],
    key(
        "Published ratios, of one factor or of several at once.",
        [{"before": {"streams": 1}, "after": {"streams": 4}, "ratio": 1.35}],
        (),
    ),
]


class Published(Model, title="`published`"):
    """A published table, as a study has it after its CSV file was read."""

    title: Title
    source: Source
    quantity: Quantity = GOODPUT
    fluctuation_percent: Fluctuation = 3.0
    cells: Listed[dict[str, Level]] = key(
        "The values, as a study beside its results has them.",
        [{"streams": 1, "goodput_MBps": 98.5}],
        (),
    )
    steps: Steps = ()

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if not self.cells and not self.steps:
            raise ValueError("needs a file, cells or steps")
        if any(self.quantity not in cell for cell in self.cells):
            raise ValueError(f"each of its cells needs {self.quantity}")
        return self

    @property
    def factors(self) -> tuple[str, ...]:
        """Columns of the table besides the quantity."""
        return tuple(name for name in (self.cells or ({},))[0] if name != self.quantity)

    @property
    def names(self) -> tuple[str, ...]:
        """Factors of the cells and of the steps."""
        of_steps = (name for step in self.steps for name in (*step.before, *step.at))
        return tuple(dict.fromkeys((*self.factors, *of_steps)))


class Described(Model, title="`published`"):
    """A published table, as lines of YAML describe its CSV file."""

    title: Title
    source: Source
    file: str | None = key(
        "Its CSV file, beside the study.",
        "theirs.csv",
        None,
        pattern=pattern(r"^[^/]+$", "the name of a file beside the study"),
    )
    columns: dict[str, str] = key(
        "Headings of the file that are other names of factors.",
        {"MTU": "mtu_B"},
        default_factory=dict,
    )
    quantity: Quantity = GOODPUT
    fluctuation_percent: Fluctuation = 3.0
    steps: Steps = ()


def with_published(content: dict[str, Any], file: Path) -> dict[str, Any]:
    """Read the table that a study names under ``published``, and put its cells there.

    ``published`` is the name of a YAML file beside the study's, or its content.
    """
    stated: Any = content.get("published")
    where = f"{file}: published"
    if isinstance(stated, str):
        if "/" in stated:
            reason, key = "name a file beside the study's", "published"
            raise BadInput(reason, where=str(file), key=key, value=stated, code="E-STUDY-077")
        path = file.parent / stated
        stated, where = read_yaml(path), str(path)
    elif not (isinstance(stated, Mapping) and "file" in stated):
        return content
    described = validated(Described, stated, where)
    rows = () if described.file is None else _cells(file.parent / described.file, described)
    content["published"] = {**described.model_dump(exclude={"file", "columns"}), "cells": rows}
    return content


def _cells(path: Path, described: Described) -> list[dict[str, Level]]:
    columns, quantity = described.columns, described.quantity
    try:
        with open_regular(path, "r", encoding="utf-8-sig", newline="") as lines:
            rows = list(csv.reader(lines))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        reason = f"cannot be read: {why(error)}"
        raise BadInput(reason, where=str(path), code="E-STUDY-078") from None
    heads = [columns.get(head.strip(), head.strip()) for head in rows[0]] if rows else []
    scales = RATES if quantity == GOODPUT else {quantity: 1.0}
    rates = [head for head in heads if head in scales]
    if len(rates) != 1 or len(set(heads)) < len(heads):
        has = f"it has {', '.join(heads)}"
        reason = f"needs each column once and one of {', '.join(scales)}; {has}"
        raise BadInput(reason, where=f"{path}:1", code="E-STUDY-079")
    cells = []
    for number, row in enumerate(rows[1 : MOST_CELLS + 1], 2):
        if not any(value.strip() for value in row):
            continue
        where = f"{path}:{number}"
        if len(row) != len(heads):
            reason = f"has {len(row)} values for {len(heads)} columns"
            raise BadInput(reason, where=where, code="E-STUDY-080")
        cell = {head: _value(text.strip()) for head, text in zip(heads, row, strict=True)}
        rate = cell.pop(rates[0])
        least = "a positive number" if quantity == GOODPUT else "a number from 0 on"
        if isinstance(rate, str) or rate < 0 or (rate == 0 and quantity == GOODPUT):
            reason = f"is not {least}"
            raise BadInput(reason, where=where, key=rates[0], value=rate, code="E-STUDY-081")
        cells.append({**cell, quantity: rate * scales[rates[0]]})
    return cells


def _value(text: str) -> Level:
    if not NUMBER.fullmatch(text):
        return text
    return int(text) if re.fullmatch(r"[+-]?\d+", text) else float(text)
