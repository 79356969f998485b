"""Limits of a lab made without root, for the records of its runs."""

from __future__ import annotations

from pathlib import Path

LIMITS = Path("/proc/sys/net/core")
RESERVED = "only root of the machine may set it, and the lab was made without root"


def lab_limits(
    host: str, link: dict, *, sndbuf_B: int = 0, rcvbuf_B: int = 0, limits: Path = LIMITS
) -> list[dict]:
    """Settings of a study that a lab made without root does not have."""
    reasons = {}
    for name, asked_B in (("wmem_max", sndbuf_B), ("rmem_max", rcvbuf_B)):
        limit_B = int((limits / name).read_text())
        if asked_B > limit_B:
            reasons[f"force_buffer beyond net.core.{name}"] = (
                f"a socket gets {limit_B} B instead of {asked_B} B: only root of the machine may "
                "exceed its limits, and the lab was made without root"
            )
    wanted = link.get("wanted", {})
    if wanted.get("interrupt_delay_ns", 0) != link.get("interrupt_delay_ns", 0):
        reasons["interrupt_delay_us"] = RESERVED
    if wanted.get("queues", 1) > 1 and not any(mask.strip("0,") for mask in link["sending_cpus"]):
        reasons["CPUs of each queue (xps_cpus)"] = RESERVED
    return [{"host": host, "knob": knob, "reason": reason} for knob, reason in reasons.items()]
