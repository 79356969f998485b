"""Queues of a lab link, distributed among the CPUs.

A card's driver gives each processor a pair and lets it send into its own (XPS). So does this:
what a processor sends, it also receives at the other end of the veth pair, and no two of them
wait for one ring or overfill it.
"""

from __future__ import annotations

import os

from netlab.study.links import MOST_QUEUES

GROUP_BITS = 32
"""Bits of a group in a mask of sysfs; commas separate the groups."""


def queue_a_cpu() -> int:
    return min(os.cpu_count() or 1, MOST_QUEUES)


def sending_masks(queues: int, cpus: int | None = None) -> tuple[str, ...]:
    """Return the CPUs that send into each queue, in the format of ``xps_cpus``."""
    if queues == 1:
        return ()
    cpus = cpus or os.cpu_count() or 1
    return tuple(_mask(sum(1 << cpu for cpu in range(q, cpus, queues))) for q in range(queues))


def _mask(bits: int) -> str:
    groups = [f"{bits % (1 << GROUP_BITS):08x}"]
    while bits := bits >> GROUP_BITS:
        groups.insert(0, f"{bits % (1 << GROUP_BITS):08x}")
    return ",".join(groups)
