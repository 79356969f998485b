"""Multiples of a byte that are no power of ten, sizes in them, and what of a frame is payload."""

from __future__ import annotations

KIB = 1 << 10
MIB = 1 << 20
GIB = 1 << 30

ETHERNET_HEADER_B = 14
"""What the kernel counts of a frame besides its MTU; preamble, FCS and gap are the wire's."""

HEADERS_B = 52
"""IPv4 and TCP with timestamps: what a full segment's MSS falls short of the MTU."""

HEADERS_MOST_B = 80
"""IPv6 and TCP with timestamps and a little more: an MSS below even that was bounded otherwise."""


def size(count_B: int) -> str:
    """Bytes in the largest binary unit that takes them whole."""
    for unit, name in ((MIB, "MiB"), (KIB, "KiB")):
        if count_B and count_B % unit == 0:
            return f"{count_B // unit} {name}"
    return f"{count_B} B"


def payload_share(mtu_B: float, mss_B: float) -> float:
    """Part of a full frame, as the kernel counts it, that is TCP payload.

    Parameters
    ----------
    mtu_B : float
        MTU of the path, B.
    mss_B : float
        Payload of a full segment, B. If it is far below the MTU, frames are as short as it is.
    """
    frame_B = mss_B + HEADERS_B if mss_B < mtu_B - HEADERS_MOST_B else mtu_B
    return mss_B / (frame_B + ETHERNET_HEADER_B)
