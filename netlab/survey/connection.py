"""A TCP connection between two hosts, to a port of netlab's agent: it decides on a path.

Pings may be filtered, or not permitted to a user.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Self

from netlab import core
from netlab.errors import HostError, RunError
from netlab.hosts.agent import push_agent
from netlab.hosts.host import Host
from netlab.hosts.line_process import SILENCE_S, LineProcess
from netlab.measure.exchange import Request, RunEnd
from netlab.measure.segment import tcp_rtt_s
from netlab.survey.surveyed import FoundEnd

READY_S = 10.0
ONE_BYTE = Request(
    streams=1,
    record_length_B=1,
    congestion="reno",  # every kernel has it, and any user may choose it
    force_buffer=False,
    receive="copy",
    warmup_ms=0,
    window_ms=0,
    interval_ms=50,
    both=False,
)


@dataclass(frozen=True)
class Connected:
    """Round trip of a path; ``refused`` has the reason by each sender that cannot connect."""

    rtt_ms: float
    refused: Mapping[str, str]


class Connector:
    """Connects two hosts by their agents, which start with the first connection."""

    def __init__(self, *hosts: Host):
        self._hosts = {host.name: host for host in hosts}
        self._agents: Mapping[str, LineProcess] = {}

    def __enter__(self) -> Self:
        self._open = ExitStack()
        return self

    def __exit__(self, *_error: object) -> None:
        self._open.close()

    def connect(self, ends: tuple[FoundEnd, FoundEnd]) -> Connected:
        """Send a byte each way; RunError with the reason of each if none passes."""
        self._agents = self._agents or {n: self._started(host) for n, host in self._hosts.items()}
        one, other = map(self._end, ends)
        rtts_ms, refused = [], {}
        for sender, receiver in ((one, other), (other, one)):
            try:
                if rtt_s := tcp_rtt_s(sender, receiver, ONE_BYTE):
                    rtts_ms.append(1e3 * rtt_s)
                else:
                    refused[sender.host] = f"{sender.host}: no data arrive at {receiver.host}"
            except RunError as error:
                refused[sender.host] = str(error)
        if rtts_ms:
            return Connected(rtts_ms[0], refused)
        reasons = "; ".join(dict.fromkeys(refused.values()))
        raise RunError(reasons, reason="peer", code="E-SURVEY-006")

    def _end(self, end: FoundEnd) -> RunEnd:
        name, card = end.host.name, end.interface.name
        return RunEnd(name, self._agents[name], end.address, card, sndbuf_B=0, rcvbuf_B=0)

    def _started(self, host: Host) -> LineProcess:
        binary = push_agent(host, core.gensink_path(), source_dir=core.source_dir())
        argv = (binary, "agent", "--silence-s", str(SILENCE_S))
        agent = self._open.enter_context(host.start(argv).keep_alive())
        ready = agent.receive(READY_S)
        if ready.get("event") != "ready":
            message = f"{ready.get('message')} ({ready.get('code')})"
            raise HostError(host.name, message, code="E-SURVEY-007")
        return agent
