"""One TCP stream without netlab's code: an independent tool to compare a lab link with.

``tcp_stream.py sink ADDRESS WARMUP_S WINDOW_S`` prints its port, then the goodput in bit/s of the
window; ``tcp_stream.py gen ADDRESS PORT CONGESTION`` sends until the reader is gone.
"""

import contextlib
import socket
import sys
import time


def sink(address: str, warmup_s: float, window_s: float) -> None:
    with socket.create_server((address, 0)) as server:
        print(server.getsockname()[1], flush=True)
        stream, _ = server.accept()
    buffer = bytearray(1 << 18)
    with stream:
        begun = time.monotonic()
        while (t0 := time.monotonic()) < begun + warmup_s:
            stream.recv_into(buffer)
        received = 0
        while (t1 := time.monotonic()) < t0 + window_s:
            received += stream.recv_into(buffer)
    print(received * 8 / (t1 - t0), flush=True)


def gen(address: str, port: int, congestion: str) -> None:
    with socket.socket() as stream:
        stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, congestion.encode())
        stream.connect((address, port))
        with contextlib.suppress(OSError):
            while True:
                stream.sendall(bytes(1 << 18))


if __name__ == "__main__":
    if sys.argv[1] == "sink":
        sink(sys.argv[2], float(sys.argv[3]), float(sys.argv[4]))
    else:
        gen(sys.argv[2], int(sys.argv[3]), sys.argv[4])
