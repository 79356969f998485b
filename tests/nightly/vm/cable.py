"""Frames on the cables of a machine that its cards must drop, sent to QEMU's sockets."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator, Mapping

from .guest import Guest

EXPERIMENTAL = bytes.fromhex("88b5")
"""An Ethernet type that no kernel takes (IEEE Std 802)."""
EVERY_S = 0.4


@contextlib.contextmanager
def spoiled(guest: Guest, frames: Mapping[str, tuple[int, int]]) -> Iterator[None]:
    """Send frames to the cards of a machine, again and again, beside those of the other machine.

    Parameters
    ----------
    guest : Guest
        The machine.
    frames : mapping
        Card -> the size of a frame, B, and their number at once.
    """
    ended = threading.Event()

    def send() -> None:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as cable:
            cable.settimeout(EVERY_S)  # QEMU takes some frames at once
            while not ended.wait(EVERY_S):
                for card, (size_B, count) in frames.items():
                    _send(cable, guest, card, size_B, count)

    sending = threading.Thread(target=send)
    sending.start()
    try:
        yield
    finally:
        ended.set()
        sending.join()


def _send(cable: socket.socket, guest: Guest, card: str, size_B: int, count: int) -> None:
    to = bytes.fromhex(guest.mac(card).replace(":", ""))
    frame = (to + bytes.fromhex("525400ffffff") + EXPERIMENTAL).ljust(size_B, b"\0")
    with contextlib.suppress(TimeoutError):
        for _ in range(count):
            cable.sendto(frame, str(guest.state / f"{card}-{guest.number}"))
