"""One transfer by a tool: client and server on a host, metered, with its result."""

from __future__ import annotations

import socket
from dataclasses import replace

import pytest
from local_host import LocalHost

from netlab.errors import RunError
from netlab.generators.tools import Received, Tool, TransferRequest, Variant
from netlab.generators.transfer import run_transfer

SERVER = """
import socket, sys, time
with socket.create_server(("127.0.0.1", int(sys.argv[1]))) as server:
    server.accept()[0].close()
print("received 7")
sys.stdout.flush()
time.sleep(float(sys.argv[2]))
"""
CLIENT = """
import socket, sys
socket.create_connection(("127.0.0.1", int(sys.argv[1]))).close()
print("sent 7")
"""


def parse(text: str, transfer: TransferRequest) -> Received:
    word, _, figure = text.strip().partition(" ")
    if not figure:
        raise RunError("no result")
    assert word in ("sent", "received")
    return Received(float(figure), transfer.seconds)


TOOL = Tool(
    name="pretender",
    program="python3",
    variable="NETLAB_PRETENDER",
    version=("-V",),
    server=("-c", SERVER, "{port}", "0"),
    client=("-c", CLIENT, "{port}"),
    reads="server",
    parse=parse,
)


@pytest.fixture
def host(tmp_path):
    with LocalHost(tmp_path / "home") as host:
        yield host


def transfer() -> TransferRequest:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    return TransferRequest("127.0.0.1", port, port + 1, 1, 1, 4096, "cubic", 1)


def transferred(host, tool: Tool) -> tuple[Received, float, int]:
    """The result, the CPU time and the number of meter readings."""
    meters = []
    received, cpu_s = run_transfer(
        tool,
        "python3",
        transfer(),
        Variant(4096),
        sender=host,
        receiver=host,
        meter=lambda: meters.append(None),
    )
    return received, cpu_s, len(meters)


@pytest.mark.parametrize("reads", ["client", "server"])
def test_the_end_with_the_result_is_parsed_between_two_meter_readings(host, reads):
    received, cpu_s, meters = transferred(host, replace(TOOL, reads=reads))
    assert (received.goodput_MBps, meters) == (7.0, 2)
    assert cpu_s > 0


def test_a_server_that_stays_is_terminated_after_its_result(host):
    stays = replace(TOOL, server=("-c", SERVER, "{port}", "60"), server_stays=True)
    received, _, meters = transferred(host, stays)
    assert (received.goodput_MBps, meters) == (7.0, 2)


def test_a_client_that_fails_is_a_failed_transfer_with_its_output(host):
    broken = replace(TOOL, client=("-c", "raise SystemExit('no route')"))
    with pytest.raises(RunError, match="pretender's client on here: exit status 1: no route"):
        transferred(host, broken)


def test_a_port_in_use_is_a_failed_transfer(host):
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        taken = replace(transfer(), port=port)
        with pytest.raises(RunError, match=f"port {port} is in use"):
            run_transfer(TOOL, "python3", taken, Variant(4096), sender=host, receiver=host)
