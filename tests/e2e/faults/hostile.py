"""Connect to every data port of a host as soon as it listens, and send what is not a hello.

    python hostile.py NETNS_OF_THE_SENDER NETNS_OF_THE_SINK

Connections come from the sender's address, so that only the hello can tell them apart. The word
`connected` is printed after the first of them; the end of input ends it."""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import socket
import sys
from pathlib import Path

NEWNET = 0x40000000
SINK, SENDER = "198.18.0.2", "198.18.0.1"
NOTHING_GOOD = (
    b"",
    b"NLHELLO1",
    b"NLHELLO1" + bytes(56),
    b"GET / HTTP/1.1\r\n\r\n",
    os.urandom(4096),
)
libc = ctypes.CDLL(None, use_errno=True)


def ports() -> list[int]:
    """Ports that listen on the sink's address, in the namespace of this thread."""
    address = "".join(f"{int(part):02X}" for part in reversed(SINK.split(".")))
    lines = Path("/proc/thread-self/net/tcp").read_text().splitlines()[1:]
    places = [line.split()[1] for line in lines if line.split()[3] == "0A"]
    return [
        int(port, 16) for host, _, port in (p.partition(":") for p in places) if host == address
    ]


def main(sender: str, sink: str) -> None:
    """Attack until the end of input."""
    inside = [os.open(f"/run/netns/{name}", os.O_RDONLY) for name in (sender, sink)]
    made: list[socket.socket] = []
    while not select.select([0], [], [], 0.0005)[0]:
        libc.setns(inside[1], NEWNET)
        found = ports()
        libc.setns(inside[0], NEWNET)
        for port in found:
            for content in NOTHING_GOOD:
                with contextlib.suppress(OSError):
                    connection = socket.create_connection((SINK, port), 0.2, (SENDER, 0))
                    made.append(connection)
                    connection.sendall(content)
                    if len(made) == 1:
                        print("connected", flush=True)


main(*sys.argv[1:])
