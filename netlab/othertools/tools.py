"""The other tools: how each is told what to do, and how its answer is read.

A description is data: argument templates whose fields are those of :class:`Transfer`. The goodput
that counts is the receiver's, so each says which of its two ends prints that.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Literal

from netlab.errors import BadInput, RunError
from netlab.imports import iperf2, iperf3, nuttcp
from netlab.imports.records import Record


@dataclass(frozen=True)
class Transfer:
    """One transfer as every tool is asked for it.

    Parameters
    ----------
    address : str
        Data address of the receiver.
    port, data_port : int
        Where its server listens; tools with a control connection take two.
    streams, seconds, record_length_B, congestion
        The same for all.
    threads : int
        For tools that spread streams over threads.
    """

    address: str
    port: int
    data_port: int
    streams: int
    seconds: int
    record_length_B: int
    congestion: str
    threads: int


@dataclass(frozen=True)
class Received:
    """What the receiver of a transfer counted."""

    goodput_MBps: float
    window_s: float


@dataclass(frozen=True)
class Tool:
    """One tool of netlab's kind.

    Parameters
    ----------
    name, program : str
        As people and the shell call it.
    variable : str
        Environment variable that names another program file.
    version : tuple of str
        Arguments that make it print its version.
    server, client : tuple of str
        Argument templates, with ``{field}`` of :class:`Transfer`.
    reads : {'client', 'server'}
        The end that prints what the receiver counted.
    parse : callable
        Text of that end and the transfer to what was received.
    best_server, best_client : tuple of str
        Arguments added when the tool may choose its best.
    best_record_length_B : int
        Record length it then takes.
    max_streams : int or None
        Most streams it can run at once.
    """

    name: str
    program: str
    variable: str
    version: tuple[str, ...]
    server: tuple[str, ...]
    client: tuple[str, ...]
    reads: Literal["client", "server"]
    parse: Callable[[str, Transfer], Received]
    best_server: tuple[str, ...] = ()
    best_client: tuple[str, ...] = ()
    best_record_length_B: int = 1 << 20
    max_streams: int | None = None

    def server_arguments(self, transfer: Transfer, *, best: bool) -> tuple[str, ...]:
        """What its server is called with."""
        return _filled(self.server + self.best_server * best, transfer)

    def client_arguments(self, transfer: Transfer, *, best: bool) -> tuple[str, ...]:
        """What its client is called with."""
        return _filled(self.client + self.best_client * best, transfer)


def _filled(template: tuple[str, ...], transfer: Transfer) -> tuple[str, ...]:
    fields = asdict(transfer)
    return tuple(word.format_map(fields) for word in template)


def _imported(parse: Callable[[str], tuple[Record, ...]]) -> Callable[[str, Transfer], Received]:
    """A parser of :mod:`netlab.imports`, of whose text one run of all the streams is wanted."""

    def read(text: str, transfer: Transfer) -> Received:
        try:
            records = parse(text)
        except BadInput as error:
            raise RunError(str(error), code="peer") from None
        if len(records) != 1:
            raise RunError(f"{len(records)} results for one run", code="peer")
        (record,) = records
        if record.streams not in (None, transfer.streams):
            raise RunError(f"{record.streams} streams in place of {transfer.streams}", code="peer")
        if record.forward.measured_at != "receiver":
            raise RunError("it is not the receiver's count", code="peer")
        return Received(record.forward.goodput_MBps, record.forward.window_s)

    return read


_NEPER = re.compile(r"^local_throughput=(\d{1,18})$", re.MULTILINE)


def _neper(text: str, transfer: Transfer) -> Received:
    """neper's ``key=value`` lines; bit/s over its own samples of the time asked for."""
    found = _NEPER.findall(text)
    if len(found) != 1 or int(found[0]) == 0:
        raise RunError("no local_throughput in what it printed", code="peer")
    return Received(int(found[0]) / 8e6, float(transfer.seconds))


TOOLS = (
    Tool(
        name="iperf3",
        program="iperf3",
        variable="NETLAB_IPERF3",
        version=("--version",),
        server=("-s", "-1", "-B", "{address}", "-p", "{port}"),
        client=(
            *("-c", "{address}", "-p", "{port}", "-P", "{streams}", "-t", "{seconds}"),
            *("-l", "{record_length_B}", "-C", "{congestion}", "-i", "0", "-J"),
        ),
        reads="client",
        parse=_imported(iperf3.parse),
        best_client=("-Z",),
        max_streams=128,
    ),
    Tool(
        name="iperf2",
        program="iperf",
        variable="NETLAB_IPERF2",
        version=("-v",),
        server=(
            *("-s", "-B", "{address}", "-p", "{port}", "-P", "{streams}"),
            *("-l", "{record_length_B}", "-f", "M"),
        ),
        client=(
            *("-c", "{address}", "-p", "{port}", "-P", "{streams}", "-t", "{seconds}"),
            *("-l", "{record_length_B}", "-Z", "{congestion}", "-f", "M"),
        ),
        reads="server",
        parse=_imported(iperf2.parse),
    ),
    # It has no option for congestion control; the route's is the one wanted.
    Tool(
        name="nuttcp",
        program="nuttcp",
        variable="NETLAB_NUTTCP",
        version=("-V",),
        server=("-S", "--nofork", "-1", "-P", "{port}"),
        client=(
            *("-P", "{port}", "-p", "{data_port}", "-N", "{streams}", "-T", "{seconds}"),
            *("-l{record_length_B}", "-fparse", "{address}"),
        ),
        reads="client",
        parse=_imported(nuttcp.parse),
        max_streams=128,
    ),
    Tool(
        name="neper",
        program="tcp_stream",
        variable="NETLAB_NEPER",
        version=("--version",),
        server=(
            *("-C", "{port}", "-P", "{data_port}", "-F", "{streams}", "-T", "{threads}"),
            *("-l", "{seconds}", "-B", "{record_length_B}", "--nolog"),
        ),
        client=(
            *("-c", "-H", "{address}", "-C", "{port}", "-P", "{data_port}", "-F", "{streams}"),
            *("-T", "{threads}", "-l", "{seconds}", "-B", "{record_length_B}", "--nolog"),
            "--congestion-control={congestion}",
        ),
        reads="server",
        parse=_neper,
        best_server=("--skip-rx-copy",),
    ),
)
