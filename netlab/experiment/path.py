"""Limits of a path: its bus, and the memory copy rate of its machines."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from netlab import core
from netlab.bus import PACKET_PAYLOADS_B, link_of, parallel_of
from netlab.experiment.endpoint import Endpoint
from netlab.files.answers import checked
from netlab.files.writing import parse_json, read_json, write_json
from netlab.measure.ledger import one_machine, with_controller
from netlab.study import Study
from netlab.study.schedule import Run

# Bus of a path: what the study states, else what the hosts report.

CONTRADICTS = 0.02
"""A stated bandwidth further from the reported one than this share contradicts it."""


@dataclass(frozen=True)
class HostBus:
    bandwidth_MBps: float
    shared: bool
    label: str
    source: str
    line_MBps: float | None = None

    def text(self) -> str:
        by = "study states" if self.source == "study" else "host reports"
        return f"{self.label}, as the {by}"


def reported_bus(facts: Mapping) -> HostBus | None:
    """The bus that a host's kernel reports for the interface; None if it reports none.

    The directions of PCI Express do not share it. PCI and PCI-X are shared by both directions and
    all devices of the bus; their clock is that of the card's slot, their width the device's.
    """
    link = link_of(facts.get("bus_speed"), facts.get("bus_width"))
    if link is None:
        return _parallel(facts)
    payload_B = facts.get("bus_max_payload_B")
    line_MBps = link.bandwidth_MBps
    if payload_B not in PACKET_PAYLOADS_B:
        return HostBus(line_MBps, False, link.name, "sysfs", line_MBps)
    label = f"{link.name} ({link.encoding}) in packets of {payload_B} B"
    return HostBus(link.most_payload_MBps(payload_B), False, label, "sysfs", line_MBps)


def _parallel(facts: Mapping) -> HostBus | None:
    bus = parallel_of(facts.get("bus_slot_speed"), facts.get("bus_pci_x_bits"))
    if bus is None:
        return None
    label = f"{bus.name} {bus.width_bit} bit at {bus.clock_MHz:g} MHz"
    devices = facts.get("bus_devices") or 1
    if devices > 1:
        label += f", shared by {devices} devices"
    return HostBus(bus.bandwidth_MBps, True, label, "sysfs")


def host_bus(study: Study, host: str, facts: Mapping) -> HostBus | None:
    stated = study.hosts[host].bus
    if stated is None:
        return reported_bus(facts)
    return HostBus(stated.bandwidth_MBps, stated.shared, stated.label, "study")


def contradiction(study: Study, host: str, facts: Mapping) -> str | None:
    """Describe a stated bus that the host's kernel contradicts; None if there is none."""
    stated, reported = study.hosts[host].bus, reported_bus(facts)
    if stated is None or reported is None:
        return None
    for bandwidth_MBps in (reported.bandwidth_MBps, reported.line_MBps or 0.0):
        if abs(stated.bandwidth_MBps - bandwidth_MBps) <= CONTRADICTS * bandwidth_MBps:
            return None
    return (
        f"the study states {stated.bandwidth_MBps:.0f} MB/s ({stated.label}), and the host reports "
        f"{reported.label}, {reported.bandwidth_MBps:.0f} MB/s; leave out hosts.{host}.bus to use "
        "that"
    )


def path_bus(study: Study, path: str, facts: Mapping[str, Mapping]) -> HostBus | None:
    """The slower of the two buses of a path, shared if one of them is; None if one is unknown."""
    ends = [end.host for end in study.path(path).ends]
    buses = [bus for end in ends if (bus := host_bus(study, end, facts.get(end, {})))]
    if len(buses) < len(ends):
        return None
    slower = min(buses, key=lambda bus: bus.bandwidth_MBps)
    return replace(slower, shared=any(bus.shared for bus in buses))


# Memory copy rate of one core of each machine: a ceiling of what its programs send and receive.
#
# One machine with both ends is measured before each visit. On two machines each host measures
# itself once a campaign, while no run uses it, and the campaign keeps the figure.

BUDGET_MS, OWN_BUDGET_MS = 100, 60
TIMEOUT_S = 15.0
"""For a host that is busy or slow; with 100 ms of copying it takes about 0.2 s."""

LEAST_MEMORY_kB = 1 << 20
"""The copies take 128 MiB."""

FILE = "copies.json"


@dataclass(frozen=True)
class Copies:
    one_MBps: float | None = None
    hot_MBps: float | None = None
    """Copies within the caches by all cores of one machine: no run copies more."""
    each_MBps: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        study: Study,
        path: str,
        endpoints: Mapping[str, Endpoint],
        directory: Path,
        campaign: str = "",
    ) -> Copies:
        """Measure the machines of a path, or take what the campaign has of them.

        The figure of each host, or the reason that there is none, goes to its facts as
        ``copy_MBps``.
        """
        facts = {name: endpoint.facts for name, endpoint in endpoints.items()}
        if with_controller(facts) == set(endpoints):
            copies = core.memory_copy_MBps(budget_ms=OWN_BUDGET_MS)
            cpus = max(found.get("cpus") or 1 for found in facts.values())
            return cls(one_MBps=copies.cold_MBps, hot_MBps=cpus * copies.hot_MBps)
        if one_machine(facts):
            rate = _measured(next(iter(endpoints.values())))
            return cls(one_MBps=rate if isinstance(rate, float) else None)
        from netlab.results.store import folder  # loads pandas, which a check does not need

        file = folder(directory, campaign) / FILE if campaign else None
        rates = _read(file) if file else {}
        measured = {
            name: rates[name] if name in rates else _measured(endpoint)
            for name, endpoint in endpoints.items()
        }
        if file and not measured.keys() <= rates.keys():
            write_json(file, {**rates, **measured})
        for name, endpoint in endpoints.items():
            endpoint.facts["copy_MBps"] = measured[name]
        return cls(each_MBps={n: rate for n, rate in measured.items() if isinstance(rate, float)})

    def ceiling(
        self, study: Study, run: Run, facts: Mapping[str, Mapping]
    ) -> tuple[float | None, str]:
        """Most payload per second, MB/s, that the copies of both hosts allow; and its source.

        A stream is served by one core at a time. An end that sends or receives without copying has
        no such ceiling.
        """
        if self.one_MBps is not None:
            return self.one_MBps, ""
        both = run.group.direction == "<->"
        copying = {run.group.sender: study.send, study.receiver(run.group): study.receive}
        if both and (study.send, study.receive) != ("copy", "copy"):
            return None, ""
        limits = []
        for host, rate_MBps in self.each_MBps.items():
            if copying.get(host) == "copy":
                cores = _cores(study, run.streams, facts[host].get("cpus"), both)
                limits.append((rate_MBps * cores, host, cores))
        if not limits:
            return None, ""
        most_MBps, host, cores = min(limits)
        of = "one core" if cores == 1 else f"{cores} cores"
        return most_MBps, f"copies of cold memory by {of} of {host}, measured there"


def _cores(study: Study, streams: int, cpus: int | None, both: bool) -> int:
    """Most cores of a host that copy at a time: one a stream, a thread and a CPU."""
    threads = min(streams, study.threads or streams) * (2 if both else 1)
    return min(threads, cpus or threads)


def _measured(endpoint: Endpoint) -> float | str:
    """Rate of a host, MB/s, or the reason that there is none."""
    memory_kB = endpoint.facts.get("memory_kB")
    if not memory_kB or memory_kB < LEAST_MEMORY_kB:
        return "unsupported: less than 1 GiB of memory"
    argv = (endpoint.binary, "copyrate", "--budget-ms", str(BUDGET_MS))
    done = endpoint.host.run(argv, check=False, timeout_s=TIMEOUT_S)
    try:
        return round(checked(parse_json(done.stdout))["cold_Bps"] / 1e6, 1)
    except (ValueError, KeyError):
        reason = done.stderr.strip().splitlines()[-1:] or [f"exit code {done.exit_status}"]
        return f"unsupported: {reason[0]}"


def _read(file: Path) -> dict[str, float | str]:
    """Figures of a campaign; those of a file that is absent or damaged are measured again."""
    try:
        return read_json(file)
    except (OSError, ValueError):
        return {}
