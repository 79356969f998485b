"""The external tools: arguments of each, and the parser of its output.

A description is data: argument templates whose fields are those of :class:`TransferRequest`. The
receiver's goodput counts, so each description names the end that prints it.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Literal

from netlab import wings
from netlab.errors import HostError, NetlabError
from netlab.hosts import vrf as vrfs
from netlab.hosts.host import FACTS_S, Host
from netlab.hosts.line_process import SILENCE_S
from netlab.outputs.iperf_text import Iperf2Run
from netlab.outputs.records import Flow, PrintedRun, Record, damaged, printed_runs, whole
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

    ``joined`` are the client's options that have the kernels cut and join datagrams.
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
        return _filled(server, transfer), _filled(client, transfer)


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


# Find an external tool on a host: program file and version.

MAX_VERSION = 120
VERSION_S = 15

NOT_IN_VRF = "! "
"""Begins what the script prints where it can start no program in the VRF."""

# Print the program file and its version output, with a timeout, started as its runs are.
SCRIPT = vrfs.SCRIPT
SCRIPT += rf"""
PATH=$PATH:/usr/local/bin:/usr/sbin:/sbin LC_ALL=C
export PATH LC_ALL
program=$(command -v "$1") || exit 0
limit=$2 vrf=$3
shift 3
set -- "$program" "$@"
if [ -n "$vrf" ]; then
  ip=$(vrf_ip)
  if [ -z "$ip" ]; then
    echo '{NOT_IN_VRF}no `ip` of this host has that command; install iproute2'
    exit
  fi
  refused=$("$ip" vrf exec "$vrf" true 2>&1) || {{ echo "{NOT_IN_VRF}$refused"; exit; }}
  set -- "$ip" vrf exec "$vrf" "$@"
fi
printf '%s\n' "$program"
cd "${{TMPDIR:-/tmp}}" && timeout -k 1 "$limit" "$@" 2>&1 </dev/null | head -c 4096
"""


def tool_named(name: str) -> Tool:
    """A tool, with the program that its environment variable names."""
    tool = {tool.name: tool for tool in TOOLS}.get(name)
    if tool is None:
        target = wings.generators()[name]
        tool = wings.load(target)
        if not isinstance(tool, Tool) or tool.name != name:
            text = f"{target} is not a netlab.generators.Tool of the name {name}; mend its wing"
            raise NetlabError(text, code="E-TOOL-060")
    return replace(tool, program=os.environ.get(tool.variable) or tool.program)


def found_on(host: Host, tool: Tool, vrf: str = "") -> tuple[str, str] | None:
    argv = ("sh", "-c", SCRIPT, "version", tool.program, str(VERSION_S), vrf, *tool.version)
    program, *lines = host.run(
        argv, sudo=bool(vrf), timeout_s=FACTS_S
    ).stdout.strip().splitlines() or [""]
    if program.startswith(NOT_IN_VRF):
        command = shlex.join(vrfs.called(vrf, (tool.program,)))
        reason = " ".join((program.removeprefix(NOT_IN_VRF), *lines))
        message = f"{tool.name} is started by `{command}`, as {vrf} is a VRF: {reason}"
        raise HostError(host.name, message, code="E-TOOL-080")
    if not program:
        return None
    said = next((line.strip() for line in lines if line.strip()), "")[:MAX_VERSION]
    if not re.fullmatch(tool.version_of, said):
        what = f"printed {said!r}" if said else "printed nothing"
        message = f"{program} is not {tool.name}: its version option {what}; {tool.source}"
        raise HostError(host.name, message, code="E-TOOL-007")
    return program, said


def versions(host: Host, names: Iterable[str], vrf: str = "") -> dict[str, str | None]:
    found = {name: found_on(host, tool_named(name), vrf) for name in names}
    return {name: None if there is None else there[1] for name, there in found.items()}


def missing(name: str) -> str:
    return f"{name} is not installed; {tool_named(name).source}"


def require(used: Iterable[str], found: Mapping[str, Mapping[str, str | None]]) -> None:
    """Refuse runs whose tools are not installed, before anything is changed."""
    for name in sorted(set(used) & set(found)):
        for host, version in found[name].items():
            if version is None:
                raise HostError(host, missing(name), code="E-TOOL-008")


def version_text(found: Mapping[str, str | None] | None) -> str | None:
    """The version of a tool for a record: of both hosts if they differ."""
    if found is None:
        return None
    said = {str(version) for version in found.values()}
    return said.pop() if len(said) == 1 else ", ".join(f"{h}: {v}" for h, v in found.items())


# Set the congestion control of a tool without an option for it, by a route attribute.

APPLIED_S = 10.0
PROTOCOL = 203
"""Protocol number that marks netlab's route, so that no other route is removed."""

# Add a route before the present one, which stays; remove it at end of input or at a signal. Take
# the next hop from the kernel. IPv6 has no prepend, but prefers a low metric.
ROUTE_SCRIPT = r"""
peer=$1 dev=$2 src=$3 name=$4 tag=$5 silence_s=$6 vrf=${7:+vrf "$7"}
PATH=$PATH:/usr/sbin:/sbin LC_ALL=C
export PATH LC_ALL
say() { printf '{"event":"%s"}\n' "$1"; }
case $peer in
  *:*) family=-6 add=add metric='metric 1' ;;
  *) family=-4 add=prepend metric= ;;
esac
undo() { ip "$family" route del "$peer" dev "$dev" proto "$tag" $metric $vrf 2>/dev/null; }
undo
via=$(ip "$family" -o route get "$peer" oif "$dev" | sed -n 's/.* via \([^ ]*\) .*/via \1/p')
trap undo EXIT
trap 'exit 1' HUP INT TERM PIPE
ip "$family" route $add "$peer" $via dev "$dev" src "$src" proto "$tag" $metric $vrf \
  congctl "$name" || exit 1
if ip "$family" route show "$peer" proto "$tag" $vrf | grep -q "congctl $name"; then
  say applied
  # a sign of life arrives every few seconds; without one the controller is gone
  if command -v timeout >/dev/null; then
    while [ -n "$(timeout "$silence_s" dd bs=4096 count=1 2>/dev/null | tr '\n' x)" ]; do :; done
  else
    while read -r _; do :; done
  fi
else
  say refused
fi
"""


@contextmanager
def congestion_route(
    host: Host, *, interface: str, address: str, peer: str, congestion: str, vrf: str = ""
) -> Iterator[None]:
    """Make a congestion control the default of every new socket from a host to a peer.

    The route is removed at the end, also when this process is killed. The congestion control is
    its only attribute: it inherits none from the present route.
    """
    words = (peer, interface, address, congestion, str(PROTOCOL), str(SILENCE_S), vrf)
    process = host.start(("sh", "-c", ROUTE_SCRIPT, "route", *words), sudo=True).keep_alive()
    try:
        if process.receive(APPLIED_S).get("event") != "applied":
            message = f"its route to {peer} did not take {congestion}"
            raise HostError(host.name, message, code="E-TOOL-016")
        yield
    finally:
        process.close()
