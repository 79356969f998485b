"""Differences between two sides of a comparison besides goodput: provenance and settings."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pandas as pd

from netlab.analysis import fact_words
from netlab.analysis.host_facts import FACTS
from netlab.files.recorded_columns import column_json
from netlab.study import Study

MEASURED_FACTS = {"memory_kB", "copy_MBps", "cpu_frequency", "thermal_throttling"}
"""Facts that differ from one campaign to the next on the same host."""

HOST_FACTS = {key: label for key, label in FACTS.items() if key not in MEASURED_FACTS}
TOP = {
    key: fact_words.LABELS[key]
    for key in ("netlab", "agent", "emulated_with", "task_group", "user_namespace", "socket")
}
COLUMNS = {
    "study": "study",
    "study_digest": "study digest",
    "congestion": "congestion control",
    "congestion_source": "congestion control in the kernel",
    "generator": "generator",
    "generator_version": "generator version",
    "engine": "engine",
    "record_length_B": "record length, B",
    "buffer_B": "socket buffer, B",
    "receive_buffer_B": "receive buffer, B",
    "warmup_s": "warm-up, s",
}
TIMING = {"seconds": "window, s", "interval_ms": "interval, ms", "drain_s": "drain, s"}

UNITS = {
    "rtt_ms": "RTT, ms",
    "delay_ms": "delay each way, ms",
    "rate_Mbps": "rate, Mb/s",
    "queue_B": "queue, B",
    "queue_packets": "queue, packets",
    "loss": "probability of loss",
    "jitter_ms": "jitter, ms",
    "link_MBps": "rate of the link, MB/s",
    "interrupt_delay_us": "deferral of interrupts, µs",
    "pacing_MBps": "pacing, MB/s",
}
DIGESTS = {"study digest", "agent digest"}
PROGRAMS = {"netlab version", "generator version", "study"}
"""Listed after what was asked for and what was found."""
DIGEST_CHARS = 12
ABSENT = "not recorded"
ALONE, PATHS_ALONE = "hosts of one side", "path of one side"
TUNINGS_ALONE = "tunings of one side"
KINDS_ALONE = (ALONE, PATHS_ALONE, TUNINGS_ALONE)
"""Names of hosts, paths and tunings that one side has alone."""
NONE_ALONE = "none"
SHOWN = 4
"""Values that are listed of one item."""


def differences(
    a: pd.DataFrame,
    b: pd.DataFrame,
    studies: tuple[Study | None, Study | None] = (None, None),
    *,
    by: str = "",
) -> pd.DataFrame:
    """List the recorded conditions in which two sets of runs differ.

    Hosts and paths that one side has alone, under other names, are compared together.
    """
    both = _hosts(a) & _hosts(b)
    tunings = [{f"tuning {name}" for name in runs["tuning"].unique()} for runs in (a, b)]
    by_tuning = by != "tuning" and max(map(len, tunings)) > 1
    both |= tunings[0] & tunings[1]
    one, other = studies
    if one and other:
        both |= {f"path {name}" for name in one.paths.keys() & other.paths.keys()}
    of_a, of_b = (
        _items(runs, study, by, both, by_tuning=by_tuning)
        for runs, study in zip((a, b), studies, strict=True)
    )
    # a host, path or tuning without a counterpart has nothing to be compared with
    lone = {kind for kind in KINDS_ALONE if (kind in of_a) != (kind in of_b)}
    rows = [
        (item, _text(item, of_a.get(item)), _text(item, of_b.get(item)))
        for item in dict.fromkeys([*of_a, *of_b])
        if of_a.get(item) != of_b.get(item) and (item in lone or lone.isdisjoint(item.split(", ")))
    ]
    # First what was asked of the paths: the RTT, before the warm-up that follows from it.
    rows.sort(
        key=lambda row: (row[0] in DIGESTS, row[0] in PROGRAMS, not row[0].startswith("path "))
    )
    return pd.DataFrame.from_records(rows, columns=["item", "a", "b"])


def _of_study(study: Study, both: set[str]) -> Iterator[tuple[str, object]]:
    """Settings that a study asks of its paths and of all its runs, by names with units."""
    for name, path in study.paths.items():
        path_name = f"path {name}"
        if path_name not in both:
            path_name = PATHS_ALONE
            yield path_name, name
        for words, value in _leaves(path.model_dump(mode="json", exclude={"ends", "also"})):
            yield f"{path_name}, {words}", value
        yield f"{path_name}, hosts", len(path.hosts)
    for part in ("socket", "policy", "latency", "udp"):
        for words, value in _leaves(getattr(study, part).model_dump(mode="json")):
            yield f"{part}, {words}", value


def _leaves(content: dict, inside: str = "") -> Iterator[tuple[str, object]]:
    for name, value in content.items():
        if isinstance(value, dict):
            yield from _leaves(value, name)
        elif value is not None:
            yield UNITS.get(name, name if name == inside else f"{inside} {name}".strip()), value


def _text(item: str, values: set[str] | None) -> str:
    if not values:
        return NONE_ALONE if item in KINDS_ALONE else ABSENT
    shown = sorted(value[:DIGEST_CHARS] if item in DIGESTS else value for value in values)
    more = f" and {len(shown) - SHOWN} more" if len(shown) > SHOWN else ""
    return "; ".join(shown[:SHOWN]) + more


def _hosts(runs: pd.DataFrame) -> set[str]:
    """Names of all hosts of which something is recorded."""
    found = (content.get("hosts") or {} for content in _parsed(runs["provenance"], "provenance"))
    return {host for hosts in (*found, *_parsed(runs["knobs"], "knobs")) for host in hosts}


def _items(
    runs: pd.DataFrame, study: Study | None, by: str, both: set[str], *, by_tuning: bool
) -> dict[str, set[str]]:
    items: dict[str, set[str]] = {}

    def add(item: str, value: object) -> None:
        items.setdefault(item, set()).add(ABSENT if value is None else str(value))

    for column, label in COLUMNS.items():
        for value in runs[column].dropna().unique() if column != by else ():
            add(label, value)
    if study is not None:
        for key, label in TIMING.items():
            add(label, getattr(study.timing, key))
        for label, value in _of_study(study, both):
            add(label, value)
    for content in _parsed(runs["provenance"], "provenance"):
        for item, value in _of_provenance(content, both):
            add(item, value)
    for host in _hosts(runs) - both:
        add(ALONE, host)
    for tuning, texts in runs.groupby("tuning", sort=False)["knobs"]:
        name, where = f"tuning {tuning}", ""
        if by_tuning:
            where = f", {name if name in both else TUNINGS_ALONE}"
            if name not in both:
                add(TUNINGS_ALONE, tuning)
        for content in _parsed(texts, "knobs"):
            for host, knobs in content.items():
                for knob, value in knobs.items():
                    add(f"{host if host in both else ALONE}, {knob}{where}", value)
    return items


def _parsed(texts: pd.Series, column: str) -> Iterator[dict]:
    for text in texts.drop_duplicates():
        yield column_json(text, column, code="E-ANALYSIS-024")


def _of_provenance(content: dict, both: set[str]) -> Iterator[tuple[str, object]]:
    agent = content.get("agent", content.get("agent_digest"))
    for key, label in TOP.items():
        value = agent if key == "agent" else content.get(key)
        if value is not None:
            yield label, json.dumps(value, sort_keys=True) if isinstance(value, dict) else value
    for host, facts in (content.get("hosts") or {}).items():
        for key, label in HOST_FACTS.items():
            if facts.get(key) is not None:
                yield f"{host if host in both else ALONE}, {label}", facts[key]
