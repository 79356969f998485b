"""The bus between a network card and memory: PCI, PCI-X, PCI Express; bandwidth and its use.

Bandwidth is in MB/s = 10^6 B/s and Mb/s = 10^6 bit/s, as in the source documents. For a parallel
bus it is width times clock, shared by all that move data on the bus in either direction; for PCI
Express it is per direction.
"""

from __future__ import annotations

from netlab.bus.checked_numbers import is_number, is_whole, percent_of
from netlab.bus.parallel import (
    MMRBC_BYTES,
    PCI_32_33,
    PCI_32_66,
    PCI_64_66,
    PCI_X_100,
    PCI_X_133,
    ParallelBus,
    pci,
    pci_x,
    pci_x_efficiency,
    shared,
)
from netlab.bus.pcie import (
    COMPLETION_HEADER_B,
    PACKET_PAYLOADS_B,
    PCIE_LANES,
    SerialBus,
    generation_of,
)
from netlab.bus.sysfs import link_of, of_interface, parallel_of

__all__ = [
    "COMPLETION_HEADER_B",
    "MMRBC_BYTES",
    "PACKET_PAYLOADS_B",
    "PCIE_LANES",
    "PCI_32_33",
    "PCI_32_66",
    "PCI_64_66",
    "PCI_X_100",
    "PCI_X_133",
    "ParallelBus",
    "SerialBus",
    "generation_of",
    "is_number",
    "is_whole",
    "link_of",
    "of_interface",
    "parallel_of",
    "pci",
    "pci_x",
    "pci_x_efficiency",
    "percent_of",
    "shared",
]
