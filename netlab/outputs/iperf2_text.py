"""iperf 2 text: lines rounded to three or four digits, bytes in 2^10, bits in 10^3.

One file may have several runs, and shell prompts between them. A client counts the bytes given to
send(), a server those that it read.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from typing import Any

from netlab.outputs.iperf_lines import LATE, Line, flow_of, line_of, total_of, wrong_sum
from netlab.outputs.records import (
    MAX_STREAMS,
    Datagrams,
    Flow,
    Record,
    damaged,
    expect,
    sum_of,
    unix_s,
)
from netlab.outputs.rounded import BINARY, NUMBER, PrintedRun

_RESULT = re.compile(
    rf"\[ *(?P<star>\*?)(?P<id>\d{{1,6}}|SUM)(?:-(?P<flows>\d{{1,6}}))?\] +"
    rf"(?P<start>{NUMBER}) ?- *(?P<end>{NUMBER}) +sec +"
    rf"(?P<amount>{NUMBER}) (?P<unit>[KMGT]?)Bytes +"
    rf"(?P<rate>{NUMBER}) (?P<rate_unit>[KMGT]?)(?P<what>bits|Bytes)/sec(?P<more> .*)?"
)
_CONNECTED = re.compile(
    r"\[ *\*?(?P<id>\d{1,6})\] local \S+ port (?P<port>\d+) connected (?:with|to) \S+ port \d+"
    r"(?P<more>.*)"
)
_HEADER = re.compile(
    r"(?P<role>Client connecting to \S+,|Server listening on) (?P<protocol>TCP|UDP) "
    r"port (?P<port>\d+).*"
)
_WINDOW = re.compile(rf"TCP window size: +(?P<size>{NUMBER}) (?P<unit>[KMG]?)Byte(?P<more>.*)")
_REQUESTED = re.compile(rf"requested +(?P<size>{NUMBER}) (?P<unit>[KMG]?)Byte")
_RECORD = re.compile(
    rf"(?:Write|Read) buffer size: +(?P<size>{NUMBER}) (?P<unit>[KMG]?)Byte(?P<more>.*)"
)
_CONGESTION = re.compile(r"TCP congestion control (?:set to|using|default) (?P<name>[\w-]{1,40})")
_MSS_AFTER = re.compile(r"\[ *\d+\] MSS size (?P<mss>\d{1,5}) bytes.*")
_MSS_CONNECTED = re.compile(r"icwnd/mss/irtt=\d+/(?P<mss>\d{1,6})/(?P<irtt>\d{1,12})\)")
_RETRANSMITTED = re.compile(r" +\d+/\d+ +(?P<segments>\d{1,12})(?: +\S+/\S+ us .*)?")
"""Fields added by ``-e`` at the sender: writes, errors, retransmitted segments, window, RTT."""


_SENT = re.compile(r"\[ *\*?(?P<id>\d{1,6})\] Sent (?P<sent>\d{1,12}) datagrams")
_REPORT = re.compile(r"\[ *(?P<id>\d{1,6})\] Server Report:")
_SENDING = re.compile(
    rf"Sending (?P<size>\d{{1,5}}) byte datagrams, IPG target: (?P<gap>{NUMBER}) us .*"
)
_STARTED = re.compile(r"on (?P<t>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d) \(UTC\)")
_PROMPT = re.compile(r".{0,200}[#$%>] ?(?:\S{0,120}/)?iperf -.*")
_BRACKETS = re.compile(
    r"\[(?: ID|SUM-cnt|FD\d+| CT)\] .*|\[[\w.-]+@.*|\[SUM-\d+\] Sent .*|\[ *\d+\] WARNING: .*"
)
"""Lines in brackets that are not a result: heads, sums of both directions, times, prompts."""
_OTHER_TESTS = {
    "bounceback or burst test": re.compile(r"Bounce-back test .*|Bursting: .*|.* \(bb\b.*"),
    "isochronous test": re.compile(r"Isochronous: .*|.* \(isoch\).*"),
}
_FAILED = re.compile(r".*(?:failed|error)\b.*|ERROR:.*", re.IGNORECASE)


IPERF2 = re.compile(
    r"^(Client connecting to|Server listening on) .*port|^\[ *\*?(\d+|SUM|ID)\] .*(sec|Interval)",
    re.MULTILINE,
)


def _size_B(match: re.Match) -> int:
    return round(float(match["size"]) * BINARY[match["unit"]])


@dataclass
class Iperf2Run(PrintedRun):
    """``flows`` are the streams of a sum alone (``--sum-only``).

    With ``-d`` and ``-r`` a client has a listener of its own, to which the server connects
    (``dials``); a stream of the server to it has the star that other ways of both directions print.
    """

    is_server: bool | None = None
    serves: bool = False
    udp: bool = False
    listens_at: str = ""
    dials: bool = False
    served: bool = False
    star_of: dict[str, str] = field(default_factory=dict)
    connected: dict[str, int] = field(default_factory=dict)
    silent: set[str] = field(default_factory=set)
    reversed_run: bool = False
    lines: dict[tuple[str, str], list[Line]] = field(default_factory=dict)
    headed: bool = False
    flows: int = 0
    effective_B: int | None = None
    connect_rtt_us: list[int] = field(default_factory=list)
    sent: dict[str, int] = field(default_factory=dict)
    late: dict[str, int] = field(default_factory=dict)
    reports: dict[str, list[Line]] = field(default_factory=dict)

    def next(self, number: int) -> Iperf2Run:
        # a server says once that it is one
        waits = self.serves or bool(self.dials and self.listens_at)
        return Iperf2Run(
            number,
            is_server=False if self.dials and self.listens_at else None,
            serves=self.serves,
            udp=self.udp and waits,
            listens_at=self.listens_at,
            dials=self.dials and waits,
            served=self.served,
        )

    def is_over_at(self, line: str) -> bool:
        """True if a line is the first of another run.

        Of many streams some have ended before the last connects: one that connects while another
        has no result line yet is of the same run.
        """
        if not (self.lines or self.failed):
            return False
        if match := _CONNECTED.fullmatch(line):
            silent = not self.failed and self.silent
            return match["id"] in self.connected or (bool(self.lines) and not silent)
        return bool(_HEADER.fullmatch(line) or _PROMPT.fullmatch(line))

    def take(self, number: int, line: str) -> None:
        for name, pattern in _OTHER_TESTS.items():
            goodput = not pattern.fullmatch(line)
            expect(goodput, number, f"{name}; it has no goodput", "E-IMPORT-113")
        if match := _RESULT.fullmatch(line):
            lines = self.reports.get(match["id"])
            if lines is None:
                star = self.star_of.get(match["id"], match["star"])
                lines = self.lines.setdefault((star, match["id"]), [])
            again = _RETRANSMITTED.fullmatch(match["more"] or "")
            lines.append(line_of(number, match, again["segments"] if again else None))
            self.silent.discard(match["id"])
            self.flows = int(match["flows"] or 0)
        elif match := _CONNECTED.fullmatch(line):
            self._connected(number, match)
        elif match := _HEADER.fullmatch(line):
            self._header(match)
        elif match := _WINDOW.fullmatch(line):
            if asked := _REQUESTED.search(match["more"]):
                self.facts["buffer_B"], self.effective_B = _size_B(asked), _size_B(match)
            elif "default" not in match["more"]:
                self.facts["buffer_B"] = self.effective_B = _size_B(match)
        elif (match := _RECORD.fullmatch(line)) and not self.udp:
            self.facts["record_length_B"] = _size_B(match)
        elif match := _SENDING.fullmatch(line):
            self.facts["record_length_B"] = int(match["size"])
            gap_us = float(match["gap"])
            self.facts["pacing_MBps"] = int(match["size"]) / gap_us if gap_us else None
        elif match := _SENT.fullmatch(line):
            self.sent[match["id"]] = int(match["sent"])
        elif match := LATE.fullmatch(line):
            self.late[match["id"]] = int(match["late"])  # the last is of the whole run
        elif match := _REPORT.fullmatch(line):
            self.reports[match["id"]] = []
        elif match := _CONGESTION.fullmatch(line):
            self.facts["congestion"] = match["name"]
        elif match := _MSS_AFTER.fullmatch(line):
            self.facts["mss_B"] = self.facts.get("mss_B") or int(match["mss"])
        elif _FAILED.fullmatch(line) and "WARNING:" not in line:
            raise damaged(number, f"the run failed: {line[:120]}", code="E-IMPORT-030")
        elif line.startswith("[") and not _BRACKETS.fullmatch(line):
            raise damaged(number, f"not a line of iperf 2: {line[:60]!r}", code="E-IMPORT-031")

    def _header(self, match: re.Match) -> None:
        self.udp = match["protocol"] == "UDP"
        if match["role"].startswith("Server"):
            self.listens_at = match["port"]
            if not (self.dials and self.headed):  # else a client that is connected back to
                self.is_server = self.serves = True
                self.dials = self.served = False
        elif not (self.serves and self.served):  # else a server may connect back
            self._is_client()
        self.headed = True

    def _is_client(self) -> None:
        self.is_server = self.serves = False
        self.dials = True

    def _ways(self, match: re.Match) -> None:
        """The star of a stream between a host and one that connects back to it."""
        incoming = match["port"] == self.listens_at
        if self.serves and not incoming and self.served:
            beside = len(self.connected) > 1  # an iperf before 2.1 marks no stream
            if beside or "*" in match[0] or "(reverse)" in match["more"]:
                self.star_of[match["id"]] = "*"
            else:
                self._is_client()
        elif self.serves:
            self.served |= incoming
        elif self.dials and self.listens_at:
            self.star_of[match["id"]] = "*" if incoming else ""

    def _connected(self, number: int, match: re.Match) -> None:
        twice = f"stream {match['id']} is connected twice"
        expect(match["id"] not in self.connected, number, twice, "E-IMPORT-032")
        self.connected[match["id"]] = number
        self.silent.add(match["id"])
        self._ways(match)
        self.reversed_run |= "(reverse)" in match["more"]
        if mss := _MSS_CONNECTED.search(match["more"]):
            self.facts["mss_B"] = int(mss["mss"])
            self.connect_rtt_us.append(int(mss["irtt"]))
        if started := _STARTED.search(match["more"]):
            began = self.facts["started_unix_s"] = unix_s(started["t"], "%Y-%m-%d %H:%M:%S")
            expect(began is not None, number, f"no date: {started['t']}", "E-IMPORT-033")

    def record(self) -> Record:
        expect(self.lines, self.first, "the run has no result line", "E-IMPORT-034")
        self.is_server = self.serves or self.is_server
        stars = {star for star, name in self.lines if name != "SUM"}
        both = stars == {"", "*"}
        flows = [self._flow(star, both) for star in sorted(stars)]
        if not flows and self.flows:
            flows = [flow_of([self.lines["", "SUM"]], self.flows)]
        expect(flows, self.first, "the run has totals but no streams", "E-IMPORT-035")
        reason = "the two directions have different streams"
        expect(flows[0].streams == flows[-1].streams, self.first, reason, "E-IMPORT-036")
        local_sends = self.reversed_run or (stars == {"*"} and bool(self.star_of))
        if both and self.star_of:
            local_sends = not self.is_server
        elif not self.is_server:
            local_sends = both or not (self.reversed_run or "*" in stars)
        for index, (flow, star) in enumerate(zip(flows, sorted(stars) or [""], strict=True)):
            if local_sends == (index == 0):
                flows[index] = self._sent(flow)
            else:
                flows[index] = self._received(flow, {n for s, n in self.lines if s == star})
        counted = not self.udp or all(flow.datagrams for flow in flows)
        expect(counted, self.first, "a UDP run without its datagrams", "E-IMPORT-070")
        rtts = {"connect_rtt_us": self.connect_rtt_us} if self.connect_rtt_us else {}
        return Record.of(
            *("iperf2", self.first, flows),
            client_sends=None if self.is_server is None else local_sends != self.is_server,
            retransmits=self._retransmits(),
            sndbuf_B=self.effective_B if local_sends else None,
            rcvbuf_B=self.effective_B if not local_sends else None,
            rounded=True,
            extras=rtts,
            **{"buffer_B": 0} | self.facts,
        )

    def _sent(self, flow: Flow) -> Flow:
        """The flow of a sender; of datagrams the receiver's, if it reported all streams."""
        ends: dict[str, Any] = {"measured_at": "sender", "sent_B": flow.window_B}
        count = sum_of(self.sent.values())
        reports = [lines for lines in self.reports.values() if lines]
        if len(reports) == flow.streams:
            flow = self._received(flow_of(reports, flow.streams), self.reports.keys())
            ends["measured_at"] = "receiver"
        if self.sent:
            flow = replace(flow, datagrams=replace(flow.datagrams or Datagrams(), sent=count))
        return replace(flow, **ends)

    def _received(self, flow: Flow, names: Collection[str]) -> Flow:
        late = sum(self.late[name] for name in self.late.keys() & names if name != "SUM")
        datagrams = flow.datagrams and replace(flow.datagrams, reordered=late)
        ends: dict[str, Any] = {"measured_at": "receiver", "received_B": flow.window_B}
        return replace(flow, **ends, datagrams=datagrams)

    def _retransmits(self) -> int | None:
        """Segments retransmitted by all streams; None unless each total has a count."""
        totals = [lines[-1] for (_, name), lines in self.lines.items() if name != "SUM"]
        totals = totals or [self.lines["", "SUM"][-1]]
        return sum_of([total.retransmits for total in totals])

    def _flow(self, star: str, both: bool) -> Flow:
        names = sorted((n for s, n in self.lines if s == star and n != "SUM"), key=int)
        connected = set(self.connected)
        if self.star_of:
            connected = {name for name in connected if self.star_of.get(name, "") == star}
        if missing := connected - set(names):
            name = min(missing, key=int)
            reason = f"stream {name} has no result line"
            raise damaged(self.connected[name], reason, code="E-IMPORT-037")
        if self.connected and (strange := set(names) - connected):
            name = min(strange, key=int)
            number = self.lines[star, name][0].number
            raise damaged(number, f"stream {name} was never connected", code="E-IMPORT-038")
        expect(len(names) <= MAX_STREAMS, self.first, "too many streams", "E-IMPORT-039")
        flow = flow_of([self.lines[star, name] for name in names], len(names))
        summed = self.lines.get(("", "SUM")) if not both else None
        # A server that ends with its last stream may omit the last sums, and some versions add them
        # up wrongly: the streams are what was counted.
        if summed and len(summed) >= min(len(self.lines[star, name]) for name in names):
            errors_B = sum(self.lines[star, name][-1].amount_B.error for name in names)
            if summed[-1].amount_B.agrees(flow.window_B or 0, errors_B):
                total, _ = total_of(summed)
                goodput_MBps = total.rate_Bps.value / 1e6
                return replace(flow, goodput_MBps=goodput_MBps, window_s=total.end_s.value)
            return replace(flow, note=wrong_sum(summed[-1]))
        return flow
