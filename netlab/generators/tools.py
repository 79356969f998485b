"""The external tools: arguments of each, and the parser of its output.

A description is data: argument templates whose fields are those of :class:`TransferRequest`. The
receiver's goodput counts, so each description names the end that prints it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Literal

from netlab.outputs.iperf2_text import Iperf2Run
from netlab.outputs.records import Flow, Record, damaged, whole
from netlab.outputs.rounded import PrintedRun, printed_runs
from netlab.outputs.tools import IPERF2_TEXT, IPERF3_JSON, NUTTCP_LINES, Format
from netlab.study.tool_limits import Limits


@dataclass(frozen=True)
class TransferRequest:
    address: str
    port: int
    data_port: int
    streams: int
    seconds: float
    record_length_B: int
    congestion: str
    threads: int
    interval_s: float = 0.1
    sndbuf_B: int = 0
    rcvbuf_B: int = 0
    send: str = "copy"
    receive: str = "copy"
    pacing_bps: int = 0
    joined: bool = False

    def fields(self) -> dict[str, object]:
        return {
            **asdict(self),
            "seconds": f"{self.seconds:g}",
            "interval_s": f"{self.interval_s:g}",
            "sndbuf_KiB": -(-self.sndbuf_B // 1024),
            "rcvbuf_KiB": -(-self.rcvbuf_B // 1024),
            "least_buffer_B": min(self.sndbuf_B, self.rcvbuf_B),
        }


@dataclass(frozen=True)
class Tool:
    """A tool: its options, its output, and its capabilities.

    ``ipv6`` are the options of either end without which it takes IPv4 addresses alone, ``joined``
    the client's that have the kernels cut and join datagrams.
    ``variable`` names the environment variable that may name its program. ``sendfile`` is the
    client's option to send without a copy, ``discard`` the server's to receive without one.
    """

    name: str
    program: str
    variable: str
    version: tuple[str, ...]
    version_of: str
    source: str
    server: tuple[str, ...]
    client: tuple[str, ...]
    records: Callable[[str, TransferRequest], tuple[Record, ...]]
    reads: Literal["client", "server"]
    client_sndbuf: tuple[str, ...] = ()
    client_rcvbuf: tuple[str, ...] = ()
    server_rcvbuf: tuple[str, ...] = ()
    congestion: tuple[str, ...] = ()
    sendfile: tuple[str, ...] = ()
    discard: tuple[str, ...] = ()
    joined: tuple[str, ...] = ()
    ipv6: tuple[str, ...] = ()
    sets_congestion: bool = True
    has_intervals: bool = True
    whole_seconds: bool = False
    client_counts: bool = True
    reads_all: bool = True
    stops_writes_since: tuple[int, int] | None = None
    server_stays: bool = False
    limits: Limits = field(default_factory=Limits)
    """Of a wing's tool; netlab's own stand with the study, which is checked without them."""

    def arguments(self, transfer: TransferRequest) -> tuple[tuple[str, ...], tuple[str, ...]]:
        snd, rcv = transfer.sndbuf_B > 0, transfer.rcvbuf_B > 0
        discards, no_copy = transfer.receive == "discard", transfer.send == "sendfile"
        server = self.server + self.server_rcvbuf * rcv + self.discard * discards
        client = self.client_sndbuf * snd + self.client_rcvbuf * rcv + self.sendfile * no_copy
        client += self.joined * transfer.joined
        client += self.congestion * bool(transfer.congestion) + self.client
        family = self.ipv6 * (":" in transfer.address)
        return _filled(family + server, transfer), _filled(family + client, transfer)


def _filled(template: tuple[str, ...], transfer: TransferRequest) -> tuple[str, ...]:
    fields = transfer.fields()
    return tuple(word.format_map(fields) for word in template)


class _OneRun(Iperf2Run):
    """All of an output: a busy server prints intervals before the last stream connects."""

    def is_over_at(self, line: str) -> bool:
        return False


def _printed(
    form: Format, kind: type[PrintedRun] | None = None
) -> Callable[[str, TransferRequest], tuple[Record, ...]]:
    """The parser of a format, which needs no transfer."""
    if kind:
        form = replace(form, parts=partial(printed_runs, kind=kind))
    return lambda text, transfer: whole(form.parse(text))


_NEPER = re.compile(r"^local_throughput=(\d{1,18})$", re.MULTILINE)


def _neper(text: str, transfer: TransferRequest) -> tuple[Record, ...]:
    """Parse neper's ``key=value`` lines; its bit/s are over its own samples of the transfer."""
    found = _NEPER.findall(text)
    if len(found) != 1 or int(found[0]) == 0:
        raise damaged(1, "its output has no local_throughput", code="E-TOOL-021")
    rate_Bps = int(found[0]) / 8
    flow = Flow(
        streams=transfer.streams,
        window_s=transfer.seconds,
        goodput_MBps=rate_Bps / 1e6,
        measured_at="receiver",
        window_B=round(rate_Bps * transfer.seconds),
    )
    return (Record(tool="neper", line=1, forward=flow, streams=transfer.streams),)


_IPERF = (
    *("-c", "{address}", "-p", "{port}", "-P", "{streams}", "-t", "{seconds}"),
    *("-l", "{record_length_B}"),
)
TOOLS: tuple[Tool, ...] = (
    Tool(
        name="iperf3",
        program="iperf3",
        variable="NETLAB_IPERF3",
        version=("--version",),
        version_of=r"iperf 3\.\S+.*",
        source="Debian's package of it is iperf3",
        server=("-s", "-1", "-B", "{address}", "-p", "{port}", "-i", "{interval_s}", "-J"),
        client=("-i", "{interval_s}", "-J", *_IPERF),
        client_sndbuf=("-w", "{least_buffer_B}"),
        congestion=("-C", "{congestion}"),
        sendfile=("-Z",),
        reads="server",
        records=_printed(IPERF3_JSON),
        reads_all=False,
        whole_seconds=True,
        stops_writes_since=(3, 16),
    ),
    Tool(
        name="iperf2",
        program="iperf",
        variable="NETLAB_IPERF2",
        version=("-v",),
        version_of=r"iperf version 2\..*",
        source="Debian's package of it is iperf",
        server=(
            *("-s", "-B", "{address}", "-p", "{port}", "-l", "{record_length_B}"),
            *("-i", "{interval_s}", "-f", "b"),
        ),
        client=("-f", "b", "-e", *_IPERF),
        client_sndbuf=("-w", "{sndbuf_B}"),
        server_rcvbuf=("-w", "{rcvbuf_B}"),
        congestion=("-Z", "{congestion}"),
        ipv6=("-V",),
        reads="server",
        records=_printed(IPERF2_TEXT, _OneRun),
        server_stays=True,
    ),
    # It has no option for congestion control: the route sets it.
    Tool(
        name="nuttcp",
        program="nuttcp",
        variable="NETLAB_NUTTCP",
        version=("-V",),
        version_of=r"nuttcp-\d.*",
        source="Debian's package of it is nuttcp",
        server=("-S", "--nofork", "-1", "-P", "{port}"),
        client=(
            *("-i{interval_s}", "-v", "-P", "{port}", "-p", "{data_port}", "-N", "{streams}"),
            *("-T", "{seconds}", "-l{record_length_B}", "{address}"),
        ),
        client_sndbuf=("-w{sndbuf_KiB}",),
        client_rcvbuf=("-ws{rcvbuf_KiB}",),
        ipv6=("-6",),
        reads="client",
        records=_printed(NUTTCP_LINES),
        sets_congestion=False,
    ),
    Tool(
        name="neper",
        program="tcp_stream",
        variable="NETLAB_NEPER",
        version=("--version",),
        version_of=r".*",
        source="its source is github.com/google/neper",
        server=(
            *("-C", "{port}", "-P", "{data_port}", "-F", "{streams}", "-T", "{threads}"),
            *("-l", "{seconds}", "-B", "{record_length_B}", "--nolog"),
        ),
        client=(
            *("-c", "-H", "{address}", "-C", "{port}", "-P", "{data_port}", "-F", "{streams}"),
            *("-T", "{threads}", "-l", "{seconds}", "-B", "{record_length_B}", "--nolog"),
        ),
        congestion=("--congestion-control={congestion}",),
        discard=("--skip-rx-copy",),
        reads="server",
        records=_neper,
        has_intervals=False,
        whole_seconds=True,
        client_counts=False,
    ),
)

_IPERF3, _IPERF2, *_ = TOOLS
_OF_UDP = ("-u", "-b", "{pacing_bps}")
TOOLS += (
    replace(_IPERF3, name="iperf3-udp", client=(*_OF_UDP, *_IPERF3.client), joined=("--gsro",)),
    replace(
        _IPERF2,
        name="iperf2-udp",
        server=("-u", *_IPERF2.server),
        client=(*_OF_UDP, *_IPERF2.client),
        reads_all=False,
    ),
)
