"""Recorded facts of hosts, links and campaigns in words, as a reader sees them."""

from __future__ import annotations

LABELS = {
    "hostname": "host name",
    "boot_id": "boot",
    "network_namespace": "network namespace",
    "interface_exists": "interface is there",
    "mac_address": "MAC address",
    "operstate": "state of the interface",
    "bridge_ports": "ports of the bridge",
    "mtu_B": "MTU, B",
    "bus_address": "address on the bus",
    "bus_devices": "devices on the bus",
    "bus_max_payload_B": "largest payload on the bus, B",
    "bus_max_speed": "highest bus speed",
    "bus_max_width": "greatest bus width",
    "bus_pci_x_bits": "PCI-X width, bits",
    "bus_slot_speed": "bus speed of the slot",
    "burst_B": "burst, B",
    "rate_bps": "rate, bit/s",
    "gro": "GRO",
    "gro_max_size_B": "largest packet of GRO, B",
    "gso": "GSO",
    "gso_max_segs": "most segments of a GSO packet",
    "tso": "TSO",
    "rx_checksum": "checksum offload, receive",
    "tx_checksum": "checksum offload, transmit",
    "scatter_gather": "scatter-gather",
    "interrupt_delay_ns": "deferral of interrupts, ns",
    "napi_defer_hard_irqs": "empty polls before an interrupt",
    "txqueuelen": "transmit queue, packets",
    "agent": "agent digest",
    "emulated_with": "path emulated with",
    "netlab": "netlab version",
    "task_group": "task group",
    "user_namespace": "lab in a user namespace",
    "socket": "socket options",
    "rule": "rule by which records count",
    "fixed": "settings fixed on this host",
}
OF_LINK = {
    "apart": "each segment as a packet",
    "card": "as a network card",
    "limit_B": "queue of the rate, B",
    "sending_cpus": "CPUs that send",
}
PREFIXES = {
    "link, wanted, ": "link as asked: ",
    "link, ": "link: ",
    "found, ": "setting found: ",
    "generators, ": "generator: ",
    "generator, ": "generator: ",
    "socket, ": "socket option: ",
    "emulator, ": "emulator: ",
}
AS_NAMED = ("found, ", "generators, ", "socket, ")
"""Prefixes of names that are those of knobs, programs and options already."""

UNITS = {
    **{"B": "B", "kB": "kB", "bps": "bit/s", "Mbps": "Mb/s", "MBps": "MB/s", "percent": "%"},
    **{"s": "s", "ms": "ms", "us": "µs", "ns": "ns"},
}


def fact(name: str) -> str:
    """Name of a fact in words, with its unit: ``link, burst_B`` is ``link: burst, B``."""
    for prefix, words in PREFIXES.items():
        if name.startswith(prefix):
            rest = name.removeprefix(prefix)
            return words + (rest if prefix in AS_NAMED else OF_LINK.get(rest) or _parts(rest))
    return _parts(name)


def _parts(name: str) -> str:
    return ", ".join(map(_part, name.split(", ")))


def _part(name: str) -> str:
    if name in LABELS:
        return LABELS[name]
    stem, _, unit = name.rpartition("_")
    words = f"{stem}, {UNITS[unit]}" if stem and unit in UNITS else name
    return words.replace("_", " ")


def value(text: str) -> str:
    """Values of a fact, several joined by ``;``, with *yes* and *no* for what is true or not."""
    truth = {"True": "yes", "False": "no"}
    return "; ".join(truth.get(one, one) for one in text.split("; "))
