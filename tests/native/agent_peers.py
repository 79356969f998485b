"""An agent and its peers."""

from __future__ import annotations

import contextlib
import socket
import struct

PEERS_TOKEN = "5a" * 16


def hello(run: int, stream: int, token: str, *, magic: bytes = b"NLHELLO1", version: int = 3):
    """The 64 bytes a gen says first."""
    return struct.pack(">8sIIQ16s24x", magic, version, stream, run, bytes.fromhex(token))


def control(port: int, run: int, streams: int, token: str) -> socket.socket:
    """The connection of a run beside its streams, on which a sink says that its window is over."""
    connection = socket.create_connection(("127.0.0.1", port), timeout=30)
    connection.sendall(hello(run, streams + 1, token))
    return connection


@contextlib.contextmanager
def one_peer(port: int):
    """A stream of run 1 that was let go."""
    with (
        control(port, 1, 1, PEERS_TOKEN),
        socket.create_connection(("127.0.0.1", port)) as peer,
    ):
        peer.sendall(hello(1, 0, PEERS_TOKEN))
        assert peer.recv(1) == b"G"
        yield peer
