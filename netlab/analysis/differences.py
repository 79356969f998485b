"""Differences between two sides of a comparison besides goodput: provenance and settings."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pandas as pd

from netlab.errors import NetlabError
from netlab.study import Study

HOST_FACTS = {
    "kernel": "kernel",
    "os": "operating system",
    "machine": "architecture",
    "cpu_model": "CPU",
    "cpus": "CPUs",
    "smt": "SMT",
    "iommu": "IOMMU",
    "numa_node": "NUMA node of the card",
    "governor": "frequency governor",
    "nic_driver": "driver",
    "nic_driver_version": "driver version",
    "nic_firmware": "firmware",
    "link_speed_Mbps": "link speed, Mb/s",
    "pci_vendor": "card vendor",
    "pci_device": "card",
    "bus_width": "bus width",
    "bus_speed": "bus speed",
}
TOP = {
    "netlab": "netlab version",
    "agent": "agent digest",
    "emulated_with": "path emulated with",
    "task_group": "task group",
    "user_namespace": "lab in a user namespace",
    "socket": "socket options",
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

DIGESTS = {"study digest", "agent digest"}
DIGEST_CHARS = 12
ABSENT = "not recorded"
SHOWN = 4
"""Values that are listed of one item."""

Items = dict[str, set[str]]


def differences(
    a: pd.DataFrame,
    b: pd.DataFrame,
    studies: tuple[Study | None, Study | None] = (None, None),
    *,
    by: str = "",
) -> pd.DataFrame:
    """List the recorded conditions in which two sets of runs differ."""
    found = [_items(runs, study, by) for runs, study in zip((a, b), studies, strict=True)]
    rows = [
        (item, _text(item, found[0].get(item)), _text(item, found[1].get(item)))
        for item in dict.fromkeys([*found[0], *found[1]])
        if found[0].get(item) != found[1].get(item)
    ]
    return pd.DataFrame.from_records(rows, columns=["item", "a", "b"])


def _text(item: str, values: set[str] | None) -> str:
    if not values:
        return ABSENT
    shown = sorted(value[:DIGEST_CHARS] if item in DIGESTS else value for value in values)
    more = f" and {len(shown) - SHOWN} more" if len(shown) > SHOWN else ""
    return "; ".join(shown[:SHOWN]) + more


def _items(runs: pd.DataFrame, study: Study | None, by: str) -> Items:
    items: Items = {}

    def add(item: str, value: object) -> None:
        items.setdefault(item, set()).add(ABSENT if value is None else str(value))

    for column, label in COLUMNS.items():
        if column != by:
            for value in runs[column].dropna().unique():
                add(label, value)
    if study is not None:
        for key, label in TIMING.items():
            add(label, getattr(study.timing, key))
    for content in _parsed(runs["provenance"], "provenance"):
        for item, value in _of_provenance(content):
            add(item, value)
    tunings = runs["tuning"].unique()
    for tuning in tunings:
        of_tuning = runs.loc[runs["tuning"] == tuning, "knobs"]
        where = "" if by == "tuning" or len(tunings) == 1 else f", tuning {tuning}"
        for content in _parsed(of_tuning, "knobs"):
            for host, knobs in content.items():
                for knob, value in knobs.items():
                    add(f"{host}, {knob}{where}", value)
    return items


def _parsed(texts: pd.Series, column: str) -> Iterator[dict]:
    for text in texts.drop_duplicates():
        try:
            content = json.loads(text or "{}")
        except ValueError:
            raise NetlabError(
                f"column {column} of the results contains text that is not JSON",
                code="E-ANALYSIS-024",
            ) from None
        if isinstance(content, dict):
            yield content


def _of_provenance(content: dict) -> Iterator[tuple[str, object]]:
    agent = content.get("agent", content.get("agent_digest"))
    for key, label in TOP.items():
        value = agent if key == "agent" else content.get(key)
        if value is not None:
            yield label, json.dumps(value, sort_keys=True) if isinstance(value, dict) else value
    for host, facts in content.get("hosts", {}).items():
        for key, label in HOST_FACTS.items():
            if facts.get(key) is not None:
                yield f"{host}, {label}", facts[key]
