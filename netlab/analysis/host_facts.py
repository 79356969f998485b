"""Machines of a measurement: the facts of each host, and what the whole campaign has in common."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from netlab.analysis.cells import valid
from netlab.files.recorded_columns import column_json
from netlab.study import Study

FACTS = {
    "cpu_model": "CPU",
    "cpus": "CPUs",
    "memory_kB": "memory, kB",
    "machine": "architecture",
    "smt": "SMT",
    "iommu": "IOMMU",
    "numa_node": "NUMA node of the card",
    "kernel": "kernel",
    "os": "operating system",
    "nic_driver": "NIC driver",
    "nic_driver_version": "NIC driver version",
    "nic_firmware": "NIC firmware",
    "link_speed_Mbps": "link speed, Mb/s",
    "pci_vendor": "card vendor",
    "pci_device": "card",
    "bus_width": "bus width",
    "bus_speed": "bus speed",
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
    # host (none for the campaign) -> item -> its values, each once in their order
    facts: dict[str, dict[str, dict[str, None]]] = {"": {}}

    def add(host: str, item: str, value: object) -> None:
        values = facts.setdefault(host, {}).setdefault(item, {})
        values[NOT_RECORDED if value is None else str(value)] = None

    for text in runs["provenance"].drop_duplicates():
        content = column_json(text, "provenance", code="E-ANALYSIS-040")
        for host, of_host in (content.pop("hosts", None) or {}).items():
            for key, part in of_host.items():
                for name, value in _flat(part, FACTS.get(key, key)):
                    add(host, name, value)
        for host, link in (content.pop("link", None) or {}).items():
            for name, value in _flat(link, "link"):
                add(host, name, value)
        for name, value in content.items():
            for item, leaf in _flat(value, name) if name not in LEFT_OUT else ():
                add("", item, leaf)
    shared = facts.pop("")
    hosts = [*(name for name in study.hosts if name in facts), *facts]
    names = dict.fromkeys(item for host in hosts for item in facts[host])
    items = [*(item for item in FACTS.values() if item in names), *names]
    frame = pd.DataFrame(
        {
            host: {i: "; ".join(facts[host].get(i, [NOT_RECORDED])) for i in dict.fromkeys(items)}
            for host in dict.fromkeys(hosts)
        },
        dtype=str,
    ).rename_axis("fact")
    rows = [*_campaign(runs, study), *((item, "; ".join(v)) for item, v in shared.items())]
    return Machines(frame, pd.DataFrame(rows, columns=["item", "value"], dtype=str))


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
