"""Lines for people of iperf 2 and iperf3, and iperf 2's ``-y C``."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from netlab.outputs.records import (
    BINARY,
    DECIMAL,
    MAX_STREAMS,
    NOTHING,
    NUMBER,
    Datagrams,
    Flow,
    Printed,
    PrintedRun,
    Record,
    Sample,
    check_rate,
    damaged,
    datagrams_of,
    expect,
    sum_of,
    unix_s,
)

# iperf 2 text: lines rounded to three or four digits, bytes in 2^10, bits in 10^3.
#
# One file may have several runs, and shell prompts between them. A client counts the bytes given to
# send(), a server those that it read.

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
_DATAGRAMS = re.compile(
    rf" +(?P<jitter>{NUMBER}) ms +(?P<lost>\d{{1,12}})/ *(?P<sent>\d{{1,12}}) \(.*"
)
_LATE = re.compile(
    rf"\[ *\*?(?P<id>\d{{1,6}}|SUM)\] +{NUMBER} ?- *{NUMBER} +sec +"
    r"(?P<late>\d{1,12}) datagrams received out-of-order"
)
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


@dataclass(frozen=True)
class Line:
    number: int
    start_s: Printed
    end_s: Printed
    amount_B: Printed
    rate_Bps: Printed
    retransmits: int | None = None
    datagrams: Datagrams | None = None

    @property
    def length_s(self) -> float:
        return self.end_s.value - self.start_s.value

    def sample(self, stream: int, before_s: float = 0.0, *, in_window: bool = True) -> Sample:
        """The interval as a sample of a stream, after a warm-up."""
        end_s, bytes_ = self.end_s.value + before_s, round(self.amount_B.value)
        return Sample(stream, end_s, self.length_s, bytes_, in_window)


def line_of(number: int, match: re.Match, segments: str | None) -> Line:
    """The result line of a match; amount, time and rate must agree."""
    units = BINARY if match["what"] == "Bytes" else DECIMAL
    scale = units[match["rate_unit"]] / (1 if match["what"] == "Bytes" else 8)
    start, end = Printed.read(match["start"]), Printed.read(match["end"])
    amount = Printed.read(match["amount"], BINARY[match["unit"]])
    rate = Printed.read(match["rate"], scale)
    check_rate(number, amount, end - start, rate)
    if of_udp := _DATAGRAMS.match(match["more"] or ""):
        return Line(number, start, end, amount, rate, None, datagrams_of(number, of_udp))
    return Line(number, start, end, amount, rate, int(segments) if segments else None)


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
        elif match := _LATE.fullmatch(line):
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
            flows = [_flow_of([self.lines["", "SUM"]], self.flows)]
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
            flow = self._received(_flow_of(reports, flow.streams), self.reports.keys())
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
        flow = _flow_of([self.lines[star, name] for name in names], len(names))
        summed = self.lines.get(("", "SUM")) if not both else None
        # A server that ends with its last stream may omit the last sums, and some versions add them
        # up wrongly: the streams are what was counted.
        if summed and len(summed) >= min(len(self.lines[star, name]) for name in names):
            errors_B = sum(self.lines[star, name][-1].amount_B.error for name in names)
            if summed[-1].amount_B.agrees(flow.window_B or 0, errors_B):
                total, _ = total_of(summed)
                goodput_MBps = total.rate_Bps.value / 1e6
                return replace(flow, goodput_MBps=goodput_MBps, window_s=total.end_s.value)
            return replace(flow, note=_wrong_sum(summed[-1]))
        return flow


def _flow_of(lines: list[list[Line]], streams: int) -> Flow:
    """The flow of streams, or of a sum that has their number."""
    each = [total_of(one) for one in lines]
    totals = [total for total, _ in each]
    return Flow(
        streams=streams,
        window_s=max(total.end_s.value for total in totals),
        goodput_MBps=sum(total.rate_Bps.value for total in totals) / 1e6,
        measured_at=None,
        window_B=round(sum(total.amount_B.value for total in totals)),
        datagrams=Datagrams.total(total.datagrams for total in totals),
        samples=tuple(one.sample(n) for n, (_, intervals) in enumerate(each) for one in intervals),
    )


def total_of(lines: list[Line]) -> tuple[Line, list[Line]]:
    """The total and the intervals of one stream; a busy iperf 2 leaves out the last but one."""
    *intervals, total = lines
    number, whole = total.number, total.start_s.value <= total.start_s.error
    expect(whole, number, "the last line is an interval; the total is missing", "E-IMPORT-041")
    reached = sum_B = NOTHING
    for one in intervals:
        follows = one.start_s.agrees(reached.value, reached.error + 1e-3)
        reason = f"the interval does not begin at {reached.value} s"
        expect(follows, one.number, reason, "E-IMPORT-042")
        reached, sum_B = one.end_s, sum_B + one.amount_B
    if intervals:
        fits = sum_B.value <= total.amount_B.value * 1.001 + sum_B.error + total.amount_B.error
        expect(fits, number, "the intervals sum to more than the total", "E-IMPORT-043")
        longest_s = max(one.length_s for one in intervals)
        tail_s = total.end_s.value - reached.value
        ends = -total.end_s.error - reached.error - 1e-3 <= tail_s <= 2 * longest_s + 1e-3
        expect(ends, number, "the intervals do not reach the total's end", "E-IMPORT-044")
    return total, intervals


# iperf 2 ``-y C``: exact bytes, times of one decimal; only UDP's jitter tells which end it is. A
# time is of the report, in whole seconds, and tells runs apart.

_CSV = re.compile(
    r"(?P<stamp>\d{14})(?:\.\d+)?,[^,]*,\d*,[^,]*,\d*,(?P<id>-?\d{1,6}),"
    rf"(?P<start>{NUMBER})-(?P<end>{NUMBER}),(?P<amount>\d{{1,19}}),(?P<rate>\d{{1,19}})"
    rf"(?P<udp>,-?(?P<jitter>{NUMBER}),(?P<lost>\d{{1,12}}),(?P<sent>-1|\d{{1,12}}),"
    r"[^,]*,(?P<late>\d{1,12}))?(?:,[^,]*){0,2}"
)
_STAMP = "%Y%m%d%H%M%S"
IPERF2_CSV = re.compile(r"^\d{14}(?:\.\d+)?,(?:[^,\n]*,\d*,){2}-?\d+,[\d.]+-[\d.]+,", re.M)


@dataclass
class CsvRun(PrintedRun):
    """The rows of streams that ran at the same time."""

    lines: dict[str, list[Line]] = field(default_factory=dict)
    ended_unix_s: float = 0.0
    udp: bool = False

    def is_over_at(self, line: str) -> bool:
        """True if a row is of a stream that began when those before had ended."""
        match = _CSV.fullmatch(line)
        if match is None or match["id"] == "-1" or not self.ended_unix_s:
            return False
        begun_unix_s = (unix_s(match["stamp"], _STAMP) or 0.0) - float(match["end"])
        return float(match["start"]) == 0 and begun_unix_s > self.ended_unix_s - 1

    def take(self, number: int, line: str) -> None:
        match = _CSV.fullmatch(line)
        if match is None:
            raise damaged(number, f"not a row of iperf 2: {line[:60]!r}", code="E-IMPORT-115")
        # in an unknown zone, for differences
        self.ended_unix_s = max(self.ended_unix_s, unix_s(match["stamp"], _STAMP) or 0.0)
        self.udp |= bool(match["udp"])
        start, end, amount = (Printed.read(match[name]) for name in ("start", "end", "amount"))
        rate = Printed.read(match["rate"], 1 / 8)
        check_rate(number, amount, end - start, rate)
        row = Line(number, start, end, amount, rate)
        if match["udp"] and (float(match["jitter"]) or int(match["lost"])):  # a sender has neither
            counts = replace(datagrams_of(number, match), reordered=int(match["late"]))
            row = replace(row, datagrams=counts)
        timed = not match["stamp"].startswith("1970") or not self.lines.keys() - {match["id"]}
        expect(timed, number, "times of 1970 do not tell runs apart", "E-IMPORT-119")
        self.lines.setdefault(match["id"], []).append(row)

    def record(self) -> Record:
        summed = self.lines.pop("-1", [])[-1:]
        alone = summed and not self.lines
        expect(not alone, self.first, "the run has a sum but no streams", "E-IMPORT-117")
        flow = _flow_of(list(self.lines.values()), len(self.lines))
        if self.udp:
            counted = all(rows[-1].datagrams for rows in self.lines.values())
            expect(counted, self.first, "a UDP run without its datagrams", "E-IMPORT-116")
            flow = replace(flow, measured_at="receiver", received_B=flow.window_B)
        shortest_s = min(each[-1].length_s for each in self.lines.values())
        wrong = [  # unless it is of an interval: a server may end before its last sum
            one
            for one in summed
            if one.amount_B.value != flow.window_B and one.length_s >= shortest_s
        ]
        flow = replace(flow, note=_wrong_sum(wrong[0])) if wrong else flow
        return Record.of("iperf2", self.first, [flow], rounded=True)


def _wrong_sum(line: Line) -> str:
    return f"the sum in line {line.number} is not that of the streams, which are taken"


# Text that iperf3 prints for people, a client's or a server's: rounded as iperf 2's lines are.

_RESULT3 = re.compile(
    r"\[ *(?P<id>\d{1,6}|SUM)\](?:\[(?P<role>[TR]X-[CS])\])? +"
    rf"(?P<start>{NUMBER})-(?P<end>{NUMBER}) +sec +(?P<amount>{NUMBER}) (?P<unit>[KMGT]?)Bytes +"
    rf"(?P<rate>{NUMBER}|-?nan) (?P<rate_unit>[KMGT]?)(?P<what>bits|Bytes)/sec(?P<more>.*)"
)
_MORE = re.compile(r" *(?:(?P<retr>\d{1,12})\b.*?)?(?P<end>sender|receiver|\(omitted\))?")
_DATE3 = re.compile(r"[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4} (?=\S)")
_BEGINS = re.compile(r"iperf 3\.\S+.*|Connecting to host .*|Accepted connection from .*")
_LOCAL = re.compile(r"\[ *(?P<id>\d{1,6})\] local \S+ port \d+ connected to \S+ port \d+")
_FACTS = {
    "version": re.compile(r"iperf (3\.\S+).*"),
    "mss_B": re.compile(r"TCP MSS: (\d{1,6}) .*"),
    "record_length_B": re.compile(r"Starting Test: .* (\d{1,10}) byte blocks.*"),
    "started": re.compile(r"Time: \w{3}, (\d\d \w{3} \d{4} \d\d:\d\d:\d\d) (?:GMT|UTC)"),
    "cookie": re.compile(r"Cookie: (\w{1,80})"),
    "congestion": re.compile(r"snd_tcp_congestion ([\w-]{1,40})"),
    "pacing": re.compile(
        r"(?:.*\biperf3 .*(?: -b *|--bitrate[ =]|--fq-rate[ =])|Target Bitrate: )"
        r"(\d{1,12}[KMGT]?)\b.*"
    ),
}
_FAILED3 = re.compile(r"iperf3: (?:error|interrupt) - (?P<why>.*)")
_STOPPED = "the server has terminated"

IPERF3_TEXT = re.compile(
    r"^(?:\w{3} \w{3} [ \d]\d [\d:]{8} \d{4} )?"
    r"(?:Connecting to host \S+, port|iperf3: (?:error|interrupt)"
    r"|Server listening on \d+|Accepted connection from"
    r"|\[ *(?:\d+|SUM)\]\S* .*\b(?:sender|receiver)\b"
    r"|\[ ID\]\S* Interval +Transfer +(?:Bitrate|Bandwidth) +Retr)",
    re.MULTILINE,
)


@dataclass
class Iperf3Run(PrintedRun):
    """A stream is its role and its id."""

    is_server: bool = False
    reverse: bool = False
    connected: dict[str, int] = field(default_factory=dict)
    omitted: dict[tuple[str, str], list[Line]] = field(default_factory=dict)
    intervals: dict[tuple[str, str], list[Line]] = field(default_factory=dict)
    totals: dict[str, dict[tuple[str, str], Line]] = field(default_factory=dict)
    late: int = 0
    udp: bool = False
    answered: bool = False
    """True within the server's output that a client prints behind its own."""

    def is_over_at(self, line: str) -> bool:
        line = _DATE3.sub("", line)
        if self.answered:
            return False
        if self.totals and self.is_server and _FAILED3.fullmatch(line):
            return not line.endswith(_STOPPED)  # a server prints its totals last
        began = self.connected or self.intervals or self.totals or self.failed
        return bool(began and _BEGINS.fullmatch(line))

    def take(self, number: int, line: str) -> None:
        """Parse a line, or refuse it; what is not a result may say anything."""
        line = _DATE3.sub("", line)
        if line in ("Server output:", "iperf Done."):
            self.answered = line == "Server output:"
        if self.answered:
            return
        for name, pattern in _FACTS.items():
            if fact := pattern.fullmatch(line):
                self.facts[name] = fact[1]
        if match := _RESULT3.fullmatch(line):
            self._result(number, match)
        elif match := _LOCAL.fullmatch(line):
            self.connected[match["id"]] = number
        elif failed := _FAILED3.fullmatch(line):
            # a server that is ended while it listens has failed no test
            if failed["why"] != _STOPPED or (self.is_server and not self.totals):
                began = "the run failed" if self.intervals else "the test never started"
                raise damaged(number, f"{began}: {failed['why'][:120]}", code="E-IMPORT-102")
        elif late := _LATE.fullmatch(line):
            self.late += int(late["late"])
        elif line.startswith("[") and not re.search(r"Interval|statistics not available", line):
            raise damaged(number, f"not a line of iperf3: {line[:60]!r}", code="E-IMPORT-104")
        self.udp |= "Datagrams" in line or "protocol: UDP" in line
        self.is_server |= line.startswith("Accepted connection from")
        self.reverse |= line.startswith("Reverse mode")

    def _result(self, number: int, match: re.Match) -> None:
        more = _MORE.match(match["more"])
        ends = re.search(r"sender|receiver|\(omitted\)", match["more"])
        end, key = ends[0] if ends else "", (match["role"] or "", match["id"])
        if end not in ("", "(omitted)"):
            self.totals.setdefault(end, {})
        if float(match["end"]) <= float(match["start"]):
            return  # of no length; its rate may be no number
        rated = not match["rate"].endswith("nan")
        expect(rated, number, "a rate that is not a number", "E-IMPORT-105")
        line = line_of(number, match, more["retr"] if more else None)
        if end in ("", "(omitted)"):
            lines = self.omitted if end else self.intervals
            lines.setdefault(key, []).append(line)
        elif line.amount_B.value:
            first = self.totals.setdefault(end, {}).setdefault(key, line)
            expect(first == line, number, "duplicate total", "E-IMPORT-106")

    def record(self) -> Record:
        why = "the run has no total" if self.intervals else "the test never started"
        expect(any(self.totals.values()), self.first, f"{why}: no bytes in all", "E-IMPORT-107")
        roles = sorted({role for keys in self.totals.values() for role, _ in keys})
        # forward is from client to server
        roles.sort(key=lambda role: role in ("RX-C", "TX-S"))
        local_sends = not (self.totals.get("receiver") if self.is_server else self.reverse)
        omitted_s = [one.end_s.value for each in self.omitted.values() for one in each]
        warmup_s = max(omitted_s, default=0)
        flows = [
            self._flow(role, role.startswith("TX") if role else local_sends, warmup_s)
            for role in roles
        ]
        alike = len(flows) <= 2 and flows[0].streams == flows[-1].streams
        expect(alike, self.first, "the two directions have different streams", "E-IMPORT-108")
        counted = not self.udp or all(flow.datagrams for flow in flows)
        expect(counted, self.first, "a UDP run without its datagrams", "E-IMPORT-103")
        facts = self.facts
        started_unix_s = unix_s(facts.get("started", ""), "%d %b %Y %H:%M:%S")
        dated = "started" not in facts or started_unix_s is not None
        expect(dated, self.first, f"no date: {facts.get('started')}", "E-IMPORT-109")
        return Record.of(
            *("iperf3", self.first, flows),
            version=facts.get("version"),
            client_sends=len(flows) > 1 or local_sends != self.is_server,
            started_unix_s=started_unix_s,
            warmup_s=warmup_s,
            mss_B=int(facts["mss_B"]) if "mss_B" in facts else None,
            record_length_B=int(facts.get("record_length_B", 0)) or None,
            congestion=facts.get("congestion"),
            pacing_MBps=pacing_of(facts.get("pacing", "0")),
            retransmits=sum_of([one.retransmits for one in self._streams("sender", roles)]),
            rounded=True,
            test_id=facts.get("cookie"),
        )

    def _streams(self, end: str, roles: Iterable[str]) -> list[Line]:
        totals = self.totals.get(end, {})
        return [line for (role, name), line in totals.items() if name != "SUM" and role in roles]

    def _flow(self, role: str, local_sends: bool, warmup_s: float) -> Flow:
        received = self._streams("receiver", [role])
        streams = received or self._streams("sender", [role])
        least = 1 if role else max(1, len(self.connected))
        reason = f"{len(self.connected)} connections, {len(streams)} totals"
        expect(least <= len(streams) <= MAX_STREAMS, self.first, reason, "E-IMPORT-110")
        amount = sum((one.amount_B for one in streams), NOTHING)
        rate_Bps = sum(one.rate_Bps.value for one in streams)
        window_s = max(one.end_s.value for one in streams)
        if summed := self.totals["receiver" if received else "sender"].get((role, "SUM")):
            agrees = summed.amount_B.agrees(amount.value, amount.error)
            expect(agrees, summed.number, "the sum is not the sum of the streams", "E-IMPORT-111")
            rate_Bps, window_s = summed.rate_Bps.value, summed.end_s.value
        samples: list[Sample] = []
        local = self.totals.get("sender" if local_sends else "receiver", {})
        names = sorted((n for r, n in self.intervals if r == role and n != "SUM"), key=int)
        for stream, name in enumerate(names):
            each = self.intervals[role, name]
            if (role, name) in local:
                total_of([*each, local[role, name]])
            omitted = self.omitted.get((role, name), [])
            samples += [one.sample(stream, in_window=False) for one in omitted]
            samples += [one.sample(stream, warmup_s) for one in each]
        senders = self._streams("sender", [role])
        sent = sum((one.amount_B for one in senders), NOTHING)
        datagrams = Datagrams.total(one.datagrams for one in streams)
        if datagrams:
            given = Datagrams.total(one.datagrams for one in senders) or datagrams
            late = None if local_sends else self.late
            datagrams = replace(datagrams, sent=given.sent, reordered=late)
            datagrams = datagrams if received else Datagrams(given.sent)
            # those of the sender have datagrams that were not received
            samples = [] if received and local_sends else samples
        whole = warmup_s == 0
        return Flow(
            streams=len(streams),
            window_s=window_s,
            goodput_MBps=rate_Bps / 1e6,
            measured_at="receiver" if received else "sender",
            window_B=round(amount.value),
            sent_B=round(sent.value) or None if whole else None,
            received_B=round(amount.value) if received and whole else None,
            samples=tuple(samples),
            datagrams=datagrams,
        )


def pacing_of(rate: str) -> float | None:
    """The rate of ``-b`` in MB/s; None for 0, which is without a limit."""
    unit = rate[-1] if rate[-1] in DECIMAL else ""
    return float(rate.removesuffix(unit)) * DECIMAL[unit] / 8e6 or None
