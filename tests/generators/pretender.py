"""A made-up tool whose ends say what they moved, and agents whose meters say what passed."""

import time
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain, repeat

from measure.scripted import Clock, ScriptedAgent

from netlab.generators.tools import Tool, TransferRequest
from netlab.outputs.records import Flow, Record, damaged

SERVER = """
import socket, sys, time
with socket.create_server(("127.0.0.1", int(sys.argv[1]))) as server:
    server.accept()[0].close()
print("received", sys.argv[3])
sys.stdout.flush()
time.sleep(float(sys.argv[2]))
"""
CLIENT = """
import socket, sys
socket.create_connection(("127.0.0.1", int(sys.argv[1]))).close()
print("sent", sys.argv[2])
"""
MOVED_B = 7_000_000


def records(text: str, transfer: TransferRequest) -> tuple[Record, ...]:
    """``sent BYTES`` of a client, or ``received BYTES`` of a server, in the asked time."""
    word, _, count = text.strip().partition(" ")
    if word not in ("sent", "received") or not count:
        raise damaged(1, "no result", code="E-TEST-001")
    moved_B, received = int(count), word == "received"
    flow = Flow(
        streams=transfer.streams,
        window_s=transfer.seconds,
        goodput_MBps=moved_B / transfer.seconds / 1e6,
        measured_at="receiver" if received else "sender",
        window_B=moved_B,
        sent_B=None if received else moved_B,
        received_B=moved_B if received else None,
    )
    return (Record(tool="pretender", line=1, forward=flow, streams=transfer.streams),)


def pretender(
    *, stays_s: float = 0, sent_B: int = MOVED_B, received_B: int = MOVED_B, **changes
) -> Tool:
    """The tool; its server stays for some time after its result."""
    tool = Tool(
        name="pretender",
        program="python3",
        variable="NETLAB_PRETENDER",
        version=("-V",),
        version_of=".*",
        source="it is made up",
        has_intervals=False,
        server=("-c", SERVER, "{port}", str(stays_s), str(received_B)),
        client=("-c", CLIENT, "{port}", str(sent_B)),
        reads="server",
        records=records,
    )
    return replace(tool, **changes)


def metering(carried_B: int, **replies) -> ScriptedAgent:
    """An agent whose interface has carried some bytes by its second reading."""
    readings = _readings(carried_B)
    return ScriptedAgent(Clock(), meter=lambda words: [next(readings)], **replies)


def _readings(carried_B: int) -> Iterator[dict]:
    cpu = ("user", "nice", "system", "irq", "softirq", "iowait", "steal")
    for passed_B in chain((0,), repeat(carried_B)):
        counts = dict.fromkeys(("rx_bytes", "tx_bytes"), passed_B)
        counts |= dict.fromkeys(("rx_packets", "tx_packets"), passed_B // 65_536)
        yield {
            "event": "meter",
            "t_ns": time.monotonic_ns(),
            "interface": {"name": "data0", **counts, "rx_dropped": 0, "tx_dropped": 0},
            "cpu": [
                {"cpu": 0, **{f"{name}_us": 0 for name in cpu}, "idle_us": time.monotonic_ns()}
            ],
            "interrupts": 0,
            "context_switches": 0,
            "softnet": {"processed": 0, "dropped": 0, "time_squeeze": 0},
            "process": {"user_us": 0, "system_us": 0},
        }
