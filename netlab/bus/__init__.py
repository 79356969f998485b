"""The bus between a network card and memory: PCI, PCI-X, PCI Express; bandwidth and its use.

Bandwidth is in MB/s = 10^6 B/s and Mb/s = 10^6 bit/s, as in the source documents. For a parallel
bus it is width times clock, shared by all that move data on the bus in either direction; for PCI
Express it is per direction.
"""

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
from netlab.bus.pcie import PACKET_PAYLOADS_B, PCIE_LANES, SerialBus, generation_of, pcie
from netlab.bus.sysfs import InterfaceBus, of_interface

__all__ = [
    "MMRBC_BYTES",
    "PACKET_PAYLOADS_B",
    "PCIE_LANES",
    "PCI_32_33",
    "PCI_32_66",
    "PCI_64_66",
    "PCI_X_100",
    "PCI_X_133",
    "InterfaceBus",
    "ParallelBus",
    "SerialBus",
    "generation_of",
    "of_interface",
    "pci",
    "pci_x",
    "pci_x_efficiency",
    "pcie",
    "shared",
]
