"""Binary multiples of a byte, the payload share of a frame; sizes, directions, lists as text."""

from __future__ import annotations

import math
from collections.abc import Iterable
from decimal import Decimal

KIB = 1 << 10
MIB = 1 << 20
GIB = 1 << 30

ETHERNET_HEADER_B = 14
"""Bytes of a frame that the kernel counts besides the MTU: no preamble, no FCS, no gap."""

HEADERS_B = 52
"""IPv4 header and TCP header with timestamps: MTU less the MSS of a full segment."""

IPV4_HEADER_B, IPV6_HEADER_B, UDP_HEADER_B = 20, 40, 8

TCP_OPTIONS_MOST_B = 40
"""Options of TCP that a host may reserve in each packet besides timestamps."""

HEADERS_MOST_B = 80
"""IPv6 header, TCP header with timestamps and a margin. A smaller MSS has another limit."""


LEAST_PLAIN = 1e-7
"""Numbers below it keep their exponent: a share of a byte of hours, a p-value."""


def plain(value: float, form: str) -> str:
    """Format a number with so many significant digits, and without an exponent.

    Examples
    --------
    >>> plain(135.9, ".2g"), plain(12345.6, ".4g"), plain(2.5, ".2g")
    ('140', '12350', '2.5')
    """
    text = format(value, form)
    return f"{Decimal(text):f}" if "e" in text and abs(value) >= LEAST_PLAIN else text


def size(count_B: int) -> str:
    """Format bytes in the largest binary unit that divides them without remainder.

    Examples
    --------
    >>> size(65536), size(1500)
    ('64 KiB', '1500 B')
    """
    for unit, name in ((MIB, "MiB"), (KIB, "KiB")):
        if count_B and count_B % unit == 0:
            return f"{count_B // unit} {name}"
    return f"{count_B} B"


def full_packet_B(mtu_B: float, mss_B: float) -> float:
    """Return the size of a full packet of TCP: the MTU, unless something else limits the MSS."""
    return mss_B + HEADERS_B if mss_B < mtu_B - HEADERS_MOST_B else mtu_B


def payload_share(mtu_B: float, mss_B: float) -> float:
    """Return the part of a full frame, as the kernel counts it, that is TCP payload."""
    return mss_B / (full_packet_B(mtu_B, mss_B) + ETHERNET_HEADER_B)


def datagram_share(mtu_B: float, datagram_B: float) -> float:
    """Return the part of a datagram's frames, over IPv4, that is its payload."""
    frames = math.ceil((datagram_B + UDP_HEADER_B) / (mtu_B - IPV4_HEADER_B))
    return datagram_B / (datagram_B + UDP_HEADER_B + frames * (IPV4_HEADER_B + ETHERNET_HEADER_B))


def udp_headers_B(address: str) -> int:
    """Return the headers of a datagram's packet to a numeric address."""
    return UDP_HEADER_B + (IPV6_HEADER_B if ":" in address else IPV4_HEADER_B)


def arrows(text: str) -> str:
    """The text as readers see it: arrows in place of ``->`` and ``<->``."""
    return text.replace("<->", "↔").replace("->", "→")


def listed(words: Iterable[object], joint: str = "and") -> str:
    """``a``, ``a and b``, ``a, b and c``."""
    *most, last = ["", *map(str, words)]
    return f"{', '.join(most[1:])} {joint} {last}" if most[1:] else last
