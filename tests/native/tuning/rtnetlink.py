"""GSO and GRO maxima of an interface over rtnetlink.

ip(8) of Debian 12 does not know all of the maxima, and a process for each reading is slow.
"""

from __future__ import annotations

import os
import socket
import struct

SIZES = {"gso_max_size": 41, "gro_max_size": 58, "gso_ipv4_max_size": 63, "gro_ipv4_max_size": 64}
"""IFLA_... of linux/if_link.h."""

GETLINK, SETLINK, ERROR = 18, 19, 2
REQUEST, ACK = 1, 4


def _asked(kind: int, flags: int, index: int, attributes: bytes = b"") -> bytes:
    """Content of the answer after its header; OSError if the kernel refuses."""
    body = struct.pack("=BxHiII", 0, 0, index, 0, 0) + attributes
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE) as sock:
        sock.send(struct.pack("=IHHII", 16 + len(body), kind, flags, 1, 0) + body)
        answer = sock.recv(65536)
    (_, found) = struct.unpack_from("=IH", answer)
    if found == ERROR and (code := struct.unpack_from("=i", answer, 16)[0]):
        raise OSError(-code, os.strerror(-code))
    return answer[16:]


def read_sizes(interface: str) -> dict[str, int]:
    """Every size that this kernel has."""
    answer = _asked(GETLINK, REQUEST, socket.if_nametoindex(interface))
    found, at = {}, 16
    while at + 4 <= len(answer):
        length, kind = struct.unpack_from("=HH", answer, at)
        if kind in SIZES.values():
            found[kind] = struct.unpack_from("=I", answer, at + 4)[0]
        at += (length + 3) & ~3
    return {name: found[kind] for name, kind in SIZES.items() if kind in found}


def write_size(interface: str, name: str, value: int) -> None:
    """Set one size."""
    attribute = struct.pack("=HHI", 8, SIZES[name], value)
    _asked(SETLINK, REQUEST | ACK, socket.if_nametoindex(interface), attribute)
