"""Machines of a measurement: the facts of each host, and what the whole campaign has in common."""

from __future__ import annotations

import json
from dataclasses import dataclass

import pandas as pd

from netlab.analysis.cells import valid
from netlab.errors import NetlabError
from netlab.study import Study

FACTS = {
    "cpu_model": "CPU",
    "cpus": "CPUs",
    "memory_kB": "memory, kB",
    "smt": "SMT",
    "iommu": "IOMMU",
    "numa_node": "NUMA node of the card",
    "kernel": "kernel",
    "os": "operating system",
    "nic_driver": "NIC driver",
    "nic_firmware": "NIC firmware",
    "copy_MBps": "copy rate of a core, MB/s",
    "governor": "CPU frequency governor",
    "cpu_frequency": "CPU frequency",
    "thermal_throttling": "thermal throttling",
}
"""Facts by the names of a record, with the names that a reader sees."""

NOT_RECORDED = "not recorded"
LEFT_OUT = ("path_check",)
"""Printed output of ping and traceroute: in the record of each run."""


@dataclass(frozen=True)
class Machines:
    """Provenance of a study."""

    hosts: pd.DataFrame
    shared: pd.DataFrame

    @property
    def differing(self) -> pd.DataFrame:
        """Rows of :attr:`hosts` in which the hosts differ."""
        return self.hosts[self.hosts.nunique(axis="columns") > 1]

    @property
    def equal(self) -> pd.DataFrame:
        """Rows of :attr:`hosts` with one value for all hosts: ``item, value``."""
        rows = self.hosts[self.hosts.nunique(axis="columns") <= 1]
        values = rows.iloc[:, 0].tolist() if rows.shape[1] else []
        return pd.DataFrame({"item": rows.index.tolist(), "value": values}, dtype=str)

    def fact(self, name: str) -> list[str]:
        """Distinct values of one fact over the hosts, in their order."""
        if name not in self.hosts.index:
            return []
        values = dict.fromkeys(self.hosts.loc[name])
        return [value for value in values if value and value != NOT_RECORDED]


def machines(runs: pd.DataFrame, study: Study) -> Machines:
    """Read the provenance of all runs."""
    hosts: dict[str, dict[str, list[str]]] = {}
    shared: dict[str, list[str]] = {}
    for text in runs["provenance"].drop_duplicates():
        content = _parsed(text)
        for host, facts in (content.pop("hosts", None) or {}).items():
            for name, value in facts.items():
                _add(hosts.setdefault(host, {}), FACTS.get(name, name), value)
        for host, link in (content.pop("link", None) or {}).items():
            for name, value in _flat(link, "link"):
                _add(hosts.setdefault(host, {}), name, value)
        for name, value in content.items():
            if name not in LEFT_OUT:
                for item, leaf in _flat(value, name):
                    _add(shared, item, leaf)
    order = [name for name in study.hosts if name in hosts]
    order += [name for name in hosts if name not in order]
    known = dict.fromkeys(FACTS.values())
    items = [item for item in known if any(item in hosts[host] for host in order)]
    items += [
        item
        for item in dict.fromkeys(item for host in order for item in hosts[host])
        if item not in known
    ]
    frame = pd.DataFrame(
        {
            host: ["; ".join(hosts[host].get(item, [NOT_RECORDED])) for item in items]
            for host in order
        },
        index=pd.Index(items, name="fact"),
        dtype=str,
    )
    rows = [*_campaign(runs, study), *((item, "; ".join(v)) for item, v in shared.items())]
    return Machines(frame, pd.DataFrame(rows, columns=["item", "value"], dtype=str))


def _parsed(text: str) -> dict:
    try:
        content = json.loads(text or "{}")
    except ValueError:
        raise NetlabError(
            "column provenance of the results contains text that is not JSON",
            code="E-ANALYSIS-040",
        ) from None
    return dict(content) if isinstance(content, dict) else {}


def _add(place: dict[str, list[str]], item: str, value: object) -> None:
    text = NOT_RECORDED if value is None else str(value)
    if text not in place.setdefault(item, []):
        place[item].append(text)


def _flat(content: object, prefix: str) -> list[tuple[str, object]]:
    """Leaves of nested JSON by their path; empty objects are left out."""
    if isinstance(content, dict):
        return [leaf for key, part in content.items() for leaf in _flat(part, f"{prefix}, {key}")]
    if isinstance(content, list):
        return [(prefix, ", ".join(map(str, content)))] if content else []
    return [(prefix, content)]


def _campaign(runs: pd.DataFrame, study: Study) -> list[tuple[str, str]]:
    digests = [str(digest) for digest in runs["study_digest"].unique()]
    rows = [("study", study.name), ("study digest (SHA-256)", "; ".join(digests))]
    if len(runs):
        started = runs["started_at"]
        rows.append(("first run", f"{started.min():%Y-%m-%d %H:%M:%S} UTC"))
        rows.append(("last run", f"{started.max():%Y-%m-%d %H:%M:%S} UTC"))
        rows.append(("runs", f"{len(runs)}, of which {len(valid(runs))} valid"))
    for column, item in (
        ("seed", "seed"),
        ("congestion", "congestion control"),
        ("congestion_source", "congestion control, name in the kernel"),
        ("engine", "engine"),
    ):
        values = runs[column].dropna().unique()
        if len(values):
            rows.append((item, "; ".join(map(str, values))))
    return rows
