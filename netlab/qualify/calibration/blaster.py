"""Foreign traffic of a calibration: datagrams that a process in a namespace sends at a rate.

Run as ``python -m netlab.qualify.calibration.blaster ADDRESS``: each line of standard input,
``START_NS LENGTH_NS RATE_BPS`` with the start on CLOCK_MONOTONIC and the rate in bytes a second, is
a blast, answered by its actual start and end and the bytes of its frames. It ends when its standard
input does, so that it never outlives the process that started it.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from typing import NamedTuple

from netlab.lab.namespaces import inside
from netlab.lab.reaper import SEARCH_PATH

PAYLOAD_B = 1472
FRAME_B = PAYLOAD_B + 8 + 20 + 14
"""With the headers of UDP, IPv4 and Ethernet."""

PORT = 9
"""Discard; nothing listens."""

PAUSE_S = 0.0005
END_S = 10.0
"""Timeout for the process to end."""


class Blast(NamedTuple):
    """A blast as it was: start and end on CLOCK_MONOTONIC, ns, and the bytes of its frames."""

    start_ns: int
    end_ns: int
    sent_B: int


class Blaster:
    """A process in a lab host's namespace that sends datagrams to an address when asked.

    It starts before a run, since starting one is a load of its own.

    Parameters
    ----------
    namespace : str
        Namespace of the sending host.
    address : str
        Numeric address that the datagrams go to; the route chooses the interface.
    """

    def __init__(self, namespace: str, address: str) -> None:
        self._argv = inside(namespace, (sys.executable, "-P", "-m", __name__, address))
        self._process: subprocess.Popen | None = None

    def __enter__(self) -> Blaster:
        self._process = subprocess.Popen(
            self._argv,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PATH": SEARCH_PATH},
        )
        self.start(time.monotonic_ns(), 0, 1.0)
        self.ended()  # until it has started
        return self

    def __exit__(self, *error: object) -> None:
        assert self._process is not None
        self._process.communicate(timeout=END_S)
        self._process = None

    def start(self, start_ns: int, length_ns: int, rate_MBps: float) -> None:
        """Ask for a blast."""
        assert self._process is not None and self._process.stdin is not None
        self._process.stdin.write(f"{start_ns} {length_ns} {rate_MBps * 1e6:.0f}\n")
        self._process.stdin.flush()

    def ended(self) -> Blast:
        """Wait for the end of the blast."""
        assert self._process is not None and self._process.stdout is not None
        return Blast(*map(int, self._process.stdout.readline().split()))


def send_blasts(address: str) -> None:
    """Send datagrams as the lines of standard input ask."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    payload = bytes(PAYLOAD_B)
    with socket.socket(family, socket.SOCK_DGRAM) as sender:
        for line in sys.stdin:
            start_ns, length_ns, rate_Bps = map(int, line.split())
            time.sleep(max(0, start_ns - time.monotonic_ns()) / 1e9)
            begun = now = time.monotonic_ns()
            sent_B = 0
            while now - begun < length_ns:
                if sent_B * 1_000_000_000 < (now - begun) * rate_Bps:
                    sender.sendto(payload, (address, PORT))
                    sent_B += FRAME_B
                else:
                    time.sleep(PAUSE_S)
                now = time.monotonic_ns()
            print(begun, now, sent_B, flush=True)


if __name__ == "__main__":
    send_blasts(sys.argv[1])
