"""Numbered datagrams, for tests of what a path does to packets.

``datagrams.py receive ADDRESS`` prints its port, then as JSON the numbers that came, in order,
once its input has ended and nothing came for 0.2 s; ``datagrams.py send ADDRESS PORT COUNT
SIZE PACE_US`` sends them.
"""

import json
import select
import socket
import sys
import time

SO_RCVBUFFORCE = 33


def receive(address: str) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 1 << 24)
        s.bind((address, 0))
        print(s.getsockname()[1], flush=True)
        numbers = []
        while select.select([s], [], [], 0.2)[0] or not select.select([0], [], [], 0)[0]:
            if select.select([s], [], [], 0)[0]:
                numbers.append(int.from_bytes(s.recv(65536)[:8]))
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
