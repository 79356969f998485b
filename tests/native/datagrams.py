"""Numbered datagrams, for tests of what a path does to packets.

``datagrams.py receive ADDRESS`` prints its port, then as JSON the numbers that came, in order,
once nothing came for half a second after the first; ``datagrams.py send ADDRESS PORT COUNT SIZE
PACE_US`` sends them.
"""

import json
import socket
import sys
import time


def receive(address: str) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
        s.bind((address, 0))
        print(s.getsockname()[1], flush=True)
        s.settimeout(10)
        numbers = []
        try:
            while True:
                numbers.append(int.from_bytes(s.recv(65536)[:8]))
                s.settimeout(0.5)
        except TimeoutError:
            print(json.dumps(numbers))


def send(address: str, port: int, count: int, size_B: int, pace_us: int) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 22)
        due = time.monotonic()
        for number in range(count):
            s.sendto(number.to_bytes(8) + bytes(size_B - 8), (address, port))
            due += pace_us / 1e6
            time.sleep(max(0, due - time.monotonic()))


if __name__ == "__main__":
    if sys.argv[1] == "receive":
        receive(sys.argv[2])
    else:
        send(sys.argv[2], *map(int, sys.argv[3:]))
