"""Tools that print lines: iperf 2, nuttcp and its ancestor ttcp."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Literal

from netlab.results.imports.records import (
    BINARY,
    DECIMAL,
    MAX_STREAMS,
    NOTHING,
    NUMBER,
    Flow,
    Printed,
    Record,
    Sample,
    check_rate,
    damaged,
    printed_runs,
)

# iperf 2 text: lines rounded to three or four digits, bytes in 2^10, bits in 10^3.
#
# One file may have several runs, and shell prompts between them. A client counts the bytes given to
# send(), a server those that it read.

_RESULT = re.compile(
    rf"\[ *(?P<star>\*?)(?P<id>\d{{1,6}}|SUM)\] +(?P<start>{NUMBER}) ?- *(?P<end>{NUMBER}) +sec +"
    rf"(?P<amount>{NUMBER}) (?P<unit>[KMGT]?)Bytes +"
    rf"(?P<rate>{NUMBER}) (?P<rate_unit>[KMGT]?)(?P<what>bits|Bytes)/sec(?P<more> .*)?"
)
_CONNECTED = re.compile(
    r"\[ *\*?(?P<id>\d{1,6})\] local \S+ port \d+ connected (?:with|to) \S+ port \d+(?P<more>.*)"
)
_HEADER = re.compile(
    r"(?P<role>Client connecting to \S+,|Server listening on) (?P<protocol>TCP|UDP) port \d+.*"
)
_WINDOW = re.compile(rf"TCP window size: +(?P<size>{NUMBER}) (?P<unit>[KMG]?)Byte(?P<more>.*)")
_RECORD = re.compile(
    rf"(?:Write|Read) buffer size: +(?P<size>{NUMBER}) (?P<unit>[KMG]?)Byte(?P<more>.*)"
)
_CONGESTION = re.compile(r"TCP congestion control (?:set to|using|default) (?P<name>[\w-]{1,40})")
_MSS_AFTER = re.compile(r"\[ *\d+\] MSS size (?P<mss>\d{1,5}) bytes.*")
_MSS_CONNECTED = re.compile(r"icwnd/mss/irtt=\d+/(?P<mss>\d{1,6})/(?P<irtt>\d{1,12})\)")
_RETRANSMITTED = re.compile(r" +\d+/\d+ +(?P<segments>\d{1,12}) +\S+/\S+ us .*")
"""Fields added by ``-e`` at the sender: writes, errors, retransmitted segments, window, RTT."""
_STARTED = re.compile(r"on (?P<t>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d) \(UTC\)")
_PROMPT = re.compile(r".{0,200}[#$%>] ?(?:\S{0,120}/)?iperf -.*")
_IGNORED = re.compile(
    r"-{20,}|\[ ID\] Interval .*|MSS size \d+ bytes|TOS set to .*|WARNING: .*"
    r"|Binding to local address .*|\[ CT\] final connect times .*"
)
_FAILED = re.compile(r".*(?:failed|error)\b.*|ERROR:.*", re.IGNORECASE)


IPERF2 = re.compile(
    r"^(Client connecting to|Server listening on) .*port|^\[ *\*?(\d+|SUM|ID)\] .*(sec|Interval)",
    re.MULTILINE,
)


def parse_iperf2(text: str) -> tuple[Record, ...]:
    """Records of every run in a text."""
    return printed_runs(text, _Iperf2Run, code="E-IMPORT-027")


@dataclass(frozen=True)
class Line:
    """One result line."""

    number: int
    start_s: Printed
    end_s: Printed
    amount_B: Printed
    rate_Bps: Printed
    retransmits: int | None = None

    @property
    def length_s(self) -> float:
        return self.end_s.value - self.start_s.value


def line_of(number: int, match: re.Match, segments: str | None) -> Line:
    """The result line of a match; amount, time and rate must agree."""
    units = BINARY if match["what"] == "Bytes" else DECIMAL
    scale = units[match["rate_unit"]] / (1 if match["what"] == "Bytes" else 8)
    start, end = Printed.read(match["start"]), Printed.read(match["end"])
    amount = Printed.read(match["amount"], BINARY[match["unit"]])
    rate = Printed.read(match["rate"], scale)
    check_rate(number, amount, end - start, rate)
    return Line(number, start, end, amount, rate, int(segments) if segments else None)


@dataclass
class _Iperf2Run:
    """One run while it is parsed."""

    first: int
    is_server: bool | None = None
    connected: dict[str, int] = field(default_factory=dict)
    silent: set[str] = field(default_factory=set)
    reversed_run: bool = False
    lines: dict[tuple[str, str], list[Line]] = field(default_factory=dict)
    mss_B: int | None = None
    record_length_B: int | None = None
    buffer_B: int = 0
    effective_B: int | None = None
    congestion: str | None = None
    started_unix_s: float | None = None
    connect_rtt_us: list[int] = field(default_factory=list)

    def is_over_at(self, line: str) -> bool:
        """True if a line is the first of another run.

        Of many streams some have ended before the last connects: one that connects while another
        has no result line yet is of the same run.
        """
        if not self.lines:
            return False
        if match := _CONNECTED.fullmatch(line):
            return match["id"] in self.connected or not self.silent
        return bool(_HEADER.fullmatch(line) or _PROMPT.fullmatch(line))

    def take(self, number: int, line: str) -> None:
        """Parse a line, or refuse it."""
        if match := _RESULT.fullmatch(line):
            self._result(number, match)
        elif match := _CONNECTED.fullmatch(line):
            self._connected(number, match)
        elif match := _HEADER.fullmatch(line):
            if match["protocol"] == "UDP":
                raise damaged(number, "UDP run; results are of TCP only", code="E-IMPORT-028")
            role = match["role"].startswith("Server")
            if self.is_server not in (None, role):
                raise damaged(
                    number, "output of both a client and a server in one run", code="E-IMPORT-029"
                )
            self.is_server = role
        elif match := _WINDOW.fullmatch(line):
            self._window(match)
        elif match := _RECORD.fullmatch(line):
            self.record_length_B = round(float(match["size"]) * BINARY[match["unit"]])
        elif match := _CONGESTION.fullmatch(line):
            self.congestion = match["name"]
        elif match := _MSS_AFTER.fullmatch(line):
            self.mss_B = self.mss_B or int(match["mss"])
        elif _FAILED.fullmatch(line) and not line.startswith("WARNING:"):
            raise damaged(number, f"the run failed: {line[:120]}", code="E-IMPORT-030")
        elif not (_IGNORED.fullmatch(line) or _PROMPT.fullmatch(line)):
            raise damaged(number, f"not a line of iperf 2: {line[:60]!r}", code="E-IMPORT-031")

    def _window(self, match: re.Match) -> None:
        asked = re.search(rf"requested +({NUMBER}) ([KMG]?)Byte", match["more"])
        size = round(float(match["size"]) * BINARY[match["unit"]])
        if asked:
            self.buffer_B = round(float(asked[1]) * BINARY[asked[2]])
            self.effective_B = size
        elif "default" not in match["more"]:
            self.buffer_B = self.effective_B = size

    def _connected(self, number: int, match: re.Match) -> None:
        if match["id"] in self.connected:
            raise damaged(number, f"stream {match['id']} is connected twice", code="E-IMPORT-032")
        self.connected[match["id"]] = number
        self.silent.add(match["id"])
        self.reversed_run |= "(reverse)" in match["more"]
        if mss := _MSS_CONNECTED.search(match["more"]):
            self.mss_B = int(mss["mss"])
            self.connect_rtt_us.append(int(mss["irtt"]))
        if started := _STARTED.search(match["more"]):
            try:
                moment = datetime.strptime(started["t"], "%Y-%m-%d %H:%M:%S")
                self.started_unix_s = moment.replace(tzinfo=UTC).timestamp()
            except ValueError:
                raise damaged(number, f"no date: {started['t']}", code="E-IMPORT-033") from None

    def _result(self, number: int, match: re.Match) -> None:
        again = _RETRANSMITTED.fullmatch(match["more"] or "")
        line = line_of(number, match, again["segments"] if again else None)
        self.lines.setdefault((match["star"], match["id"]), []).append(line)
        self.silent.discard(match["id"])

    def record(self) -> Record:
        """Return the run after its last line."""
        if not self.lines:
            raise damaged(self.first, "the run has no result line", code="E-IMPORT-034")
        stars = {star for star, name in self.lines if name != "SUM"}
        both = stars == {"", "*"}
        flows = [self._flow(star, both) for star in sorted(stars)]
        if not flows:
            raise damaged(self.first, "the run has totals but no streams", code="E-IMPORT-035")
        if both and flows[0].streams != flows[1].streams:
            raise damaged(
                self.first, "the two directions have different streams", code="E-IMPORT-036"
            )
        local_sends = not self.is_server and (both or not (self.reversed_run or "*" in stars))
        if self.is_server and self.reversed_run:
            local_sends = True
        for index, flow in enumerate(flows):
            if local_sends == (index == 0):
                flows[index] = replace(flow, measured_at="sender", sent_B=flow.window_B)
            else:
                flows[index] = replace(flow, measured_at="receiver", received_B=flow.window_B)
        return Record(
            tool="iperf2",
            line=self.first,
            forward=flows[0],
            reverse=flows[1] if both else None,
            client_sends=None if self.is_server is None else local_sends != self.is_server,
            streams=flows[0].streams,
            started_unix_s=self.started_unix_s,
            wall_s=max(flow.window_s for flow in flows),
            mss_B=self.mss_B,
            record_length_B=self.record_length_B,
            buffer_B=self.buffer_B,
            congestion=self.congestion,
            retransmits=self._retransmits(),
            sndbuf_B=self.effective_B if local_sends else None,
            rcvbuf_B=self.effective_B if not local_sends else None,
            rounded=True,
            extras={"connect_rtt_us": self.connect_rtt_us} if self.connect_rtt_us else {},
        )

    def _retransmits(self) -> int | None:
        """Segments retransmitted by all streams; None unless each total has a count."""
        totals = [lines[-1] for (_, name), lines in self.lines.items() if name != "SUM"]
        counts = [total.retransmits for total in totals if total.retransmits is not None]
        return sum(counts) if len(counts) == len(totals) else None

    def _flow(self, star: str, both: bool) -> Flow:
        names = sorted((n for s, n in self.lines if s == star and n != "SUM"), key=int)
        missing = set(self.connected) - set(names)
        if missing:
            name = min(missing, key=int)
            raise damaged(
                self.connected[name], f"stream {name} has no result line", code="E-IMPORT-037"
            )
        if self.connected and set(names) - set(self.connected):
            name = min(set(names) - set(self.connected), key=int)
            number = self.lines[star, name][0].number
            raise damaged(number, f"stream {name} was never connected", code="E-IMPORT-038")
        if len(names) > MAX_STREAMS:
            raise damaged(self.first, "too many streams", code="E-IMPORT-039")
        totals, samples = [], []
        for index, name in enumerate(names):
            total, intervals = total_of(self.lines[star, name])
            totals.append(total)
            samples += [
                Sample(index, one.end_s.value, one.length_s, round(one.amount_B.value))
                for one in intervals
            ]
        window_s = max(total.end_s.value for total in totals)
        amount = sum((total.amount_B for total in totals), NOTHING)
        rate_Bps = sum(total.rate_Bps.value for total in totals)
        summed = self.lines.get(("", "SUM")) if not both else None
        # A server that ends with its last stream may omit the last sums.
        if summed and len(summed) >= min(len(self.lines[star, name]) for name in names):
            total, _ = total_of(summed)
            if not total.amount_B.agrees(amount.value, amount.error):
                raise damaged(
                    total.number, "the sum is not the sum of the streams", code="E-IMPORT-040"
                )
            rate_Bps, window_s = total.rate_Bps.value, total.end_s.value
        return Flow(
            streams=len(names),
            window_s=window_s,
            goodput_MBps=rate_Bps / 1e6,
            measured_at=None,
            window_B=round(amount.value),
            samples=tuple(samples),
        )


def total_of(lines: list[Line]) -> tuple[Line, list[Line]]:
    """The total and the intervals of one stream, which must follow each other."""
    *intervals, total = lines
    if total.start_s.value > total.start_s.error:
        raise damaged(
            total.number, "the last line is an interval; the total is missing", code="E-IMPORT-041"
        )
    reached = NOTHING
    for one in intervals:
        if not one.start_s.agrees(reached.value, reached.error + 1e-3):
            raise damaged(
                one.number, f"the interval does not begin at {reached.value} s", code="E-IMPORT-042"
            )
        reached = one.end_s
    if intervals:
        held = sum((one.amount_B for one in intervals), NOTHING)
        tail_s = total.end_s.value - reached.value
        longest_s = max(one.length_s for one in intervals)
        if held.value > total.amount_B.value * 1.001 + held.error + total.amount_B.error:
            raise damaged(
                total.number, "the intervals sum to more than the total", code="E-IMPORT-043"
            )
        if not -total.end_s.error - reached.error - 1e-3 <= tail_s <= longest_s + 1e-3:
            raise damaged(
                total.number, "the intervals do not reach the total's end", code="E-IMPORT-044"
            )
    return total, intervals


# nuttcp's lines, brief, verbose and ``-fparse``, and those of its ancestor ttcp.
#
# MB and KB are 2^20 and 2^10 bytes, Mbps is 10^6 bit/s. nuttcp's brief line and its intervals are
# the receiver's count, whichever end printed them.

_MB, _KB, _MBIT = 2**20, 2**10, 1e6 / 8

_BRIEF = re.compile(
    rf"(?P<amount>{NUMBER}) MB / +(?P<time>{NUMBER}) sec = +(?P<rate>{NUMBER}) Mbps"
    rf"(?P<total> \d+ %TX \d+ %RX)?(?: +(?P<retrans>\d{{1,12}}) retrans)?"
    rf"(?: (?P<rtt>{NUMBER}) msRTT)?"
)
_PARSED = re.compile(
    rf"megabytes=(?P<amount>{NUMBER}) real_sec(?P<total>onds)?=(?P<time>{NUMBER}) "
    rf"rate_Mbps=(?P<rate>{NUMBER})(?: tx_cpu=\d+ rx_cpu=\d+)?(?: retrans=(?P<retrans>\d{{1,12}}))?"
    rf"(?: rtt_ms=(?P<rtt>{NUMBER}))?"
)
_SIDE = re.compile(r"#?(?P<tool>nu)?ttcp-(?P<side>[tr]): (?P<rest>.*)")
_TOTAL = re.compile(
    rf"(?P<amount>{NUMBER}) (?P<unit>MB|bytes) in (?P<time>{NUMBER}) real seconds = "
    rf"(?P<rate>{NUMBER}) KB/sec(?: = (?P<mbps>{NUMBER}) Mbps| \+\+\+)?"
)
_BUFLEN = re.compile(
    r"buflen=(?P<buflen>\d{1,10}), (?:nbuf=\d+, )?(?:nstream=(?P<nstream>\d{1,6}), )?"
    r"(?:align=\S+, )?port=\d+ +(?P<protocol>tcp|udp)(?: +-> \S+)?"
)
_IGNORED_REST = re.compile(
    r"socket|connect|Info: .*|accept from \S+|time limit = .*|interval reporting every .*"
    r"|(?:available )?send window .*|\d+ I/O calls, .*|[\d.]+user .*|buffer address .*"
    rf"|{NUMBER} bytes in {NUMBER} CPU seconds = .*|v[\d.]+: socket|connect to .*|retrans = \d+"
)


NUTTCP = re.compile(r"^\s*#?(nu)?ttcp-[tr]:|^\s*megabytes=|^ *[\d.]+ MB /", re.MULTILINE)


def parse_nuttcp(text: str) -> tuple[Record, ...]:
    """Records of every run in a text."""
    return printed_runs(text, _NuttcpRun, code="E-IMPORT-067")


@dataclass
class _NuttcpRun:
    """One run while it is parsed."""

    first: int
    tool: str = "nuttcp"
    version: str | None = None
    intervals: list[tuple[int, Printed, Printed]] = field(default_factory=list)
    brief: tuple[Printed, Printed, Printed] | None = None
    totals: dict[str, tuple[Printed, Printed, Printed]] = field(default_factory=dict)
    streams: int | None = None
    buflen_B: int | None = None
    mss_B: int | None = None
    retransmits: int | None = None
    rtt_ms: float | None = None

    def is_over_at(self, line: str) -> bool:
        """True if a line is the first of another run: this one has its totals."""
        if self.brief is not None:
            return True
        if side := _SIDE.fullmatch(line):
            return side["side"] in self.totals and side["rest"].endswith("socket")
        brief = _BRIEF.fullmatch(line) or _PARSED.fullmatch(line)
        return bool(brief and self.totals and (brief["total"] or len(self.totals) == 2))

    def take(self, number: int, line: str) -> None:
        """Parse a line, or refuse it."""
        if match := _BRIEF.fullmatch(line) or _PARSED.fullmatch(line):
            self._take_brief(number, match)
        elif side := _SIDE.fullmatch(line):
            self._take_side(number, side)
        elif "drop" in line and "pkt" in line:
            raise damaged(number, "UDP run; results are of TCP only", code="E-IMPORT-065")
        else:
            raise damaged(
                number, f"not a line of nuttcp or ttcp: {line[:60]!r}", code="E-IMPORT-066"
            )

    def _take_brief(self, number: int, match: re.Match) -> None:
        amount = Printed.read(match["amount"], _MB)
        time_s = Printed.read(match["time"])
        rate = Printed.read(match["rate"], _MBIT)
        check_rate(number, amount, time_s, rate)
        time_s = _closer(amount, time_s, rate)
        if not match["total"]:
            self.intervals.append((number, amount, time_s))
            return
        self.brief = (amount, time_s, rate)
        self.retransmits = int(match["retrans"]) if match["retrans"] else None
        self.rtt_ms = float(match["rtt"]) if match["rtt"] else None

    def _take_side(self, number: int, side: re.Match) -> None:
        rest, way = side["rest"], side["side"]
        self.tool = "nuttcp" if side["tool"] else "ttcp"
        if total := _TOTAL.fullmatch(rest):
            if way in self.totals:
                raise damaged(number, "duplicate total", code="E-IMPORT-068")
            unit = _MB if total["unit"] == "MB" else 1
            amount, time_s = Printed.read(total["amount"], unit), Printed.read(total["time"])
            rate = Printed.read(total["rate"], _KB)
            check_rate(number, amount, time_s, rate)
            if total["mbps"]:
                mbps = Printed.read(total["mbps"], _MBIT)
                if not mbps.agrees(rate.value, rate.error):
                    raise damaged(number, "KB/sec and Mbps do not agree", code="E-IMPORT-069")
            self.totals[way] = (amount, _closer(amount, time_s, rate), rate)
        elif shape := _BUFLEN.fullmatch(rest):
            if shape["protocol"] == "udp":
                raise damaged(number, "UDP run; results are of TCP only", code="E-IMPORT-070")
            streams = int(shape["nstream"] or 1)
            if not 1 <= streams <= MAX_STREAMS or self.streams not in (None, streams):
                raise damaged(number, f"{streams} streams cannot be", code="E-IMPORT-071")
            self.streams = streams
            self.buflen_B = int(shape["buflen"])
        elif not _IGNORED_REST.fullmatch(rest):
            reason = "the run failed" if "rror" in rest else "not a line of nuttcp or ttcp"
            raise damaged(number, f"{reason}: {rest[:100]!r}", code="E-IMPORT-072")
        if version := re.match(r"v([\d.]+): socket", rest):
            self.version = version[1]
        if connected := re.search(rf"with mss=(\d{{1,5}})(?:, RTT=({NUMBER}) ms)?$", rest):
            self.mss_B = int(connected[1])
            self.rtt_ms = float(connected[2]) if connected[2] else None
        if again := re.fullmatch(r"retrans = (\d{1,12})", rest):
            self.retransmits = int(again[1])

    def record(self) -> Record:
        """Return the run after its last line."""
        whole = self.brief or self.totals.get("r") or self.totals.get("t")
        if whole is None:
            raise damaged(self.first, "the run has no total", code="E-IMPORT-073")
        amount, time_s, rate = whole
        at: Literal["sender", "receiver"] = (
            "receiver" if self.brief or "r" in self.totals else "sender"
        )
        samples = []
        t_s = held = NOTHING
        for number, some, some_s in self.intervals:
            t_s, held = t_s + some_s, held + some
            if held.value > amount.value * 1.001 + held.error + amount.error:
                raise damaged(
                    number, "the intervals sum to more than the total", code="E-IMPORT-074"
                )
            if t_s.value > time_s.value * 1.001 + t_s.error + time_s.error:
                raise damaged(number, "the intervals are longer than the run", code="E-IMPORT-075")
            samples.append(Sample(0, t_s.value, some_s.value, round(some.value)))
        sent = self.totals.get("t")
        if sent and "r" in self.totals and not sent[0].agrees(amount.value, amount.error + 2**26):
            raise damaged(
                self.first, "bytes sent and bytes received do not agree", code="E-IMPORT-076"
            )
        extras: dict[str, object] = {}
        if self.rtt_ms is not None:
            extras["connect_rtt_us"] = self.rtt_ms * 1e3
        if samples and self.streams != 1:
            extras["intervals"] = "of all streams together, as stream 0"
        return Record(
            tool=self.tool,
            version=self.version,
            line=self.first,
            forward=Flow(
                streams=self.streams or 0,
                window_s=time_s.value,
                goodput_MBps=rate.value / 1e6,
                measured_at=at,
                window_B=round(amount.value),
                sent_B=round(sent[0].value) if sent else None,
                received_B=round(amount.value) if at == "receiver" else None,
                samples=tuple(samples),
            ),
            streams=self.streams,
            wall_s=time_s.value,
            mss_B=self.mss_B,
            record_length_B=self.buflen_B,
            retransmits=self.retransmits,
            rounded=self.tool == "nuttcp",
            extras=extras,
        )


def _closer(amount: Printed, time_s: Printed, rate: Printed) -> Printed:
    """The time computed from amount and rate, if they have more digits than the printed one.

    Intervals of 0.1 s are printed with two digits, and their rates with eight.
    """
    if not rate.value or rate.error / rate.value > 1e-3 or amount.error / amount.value > 1e-3:
        return time_s
    found_s = amount.value / rate.value
    error_s = found_s * (amount.error / amount.value + rate.error / rate.value)
    return Printed(found_s, error_s) if error_s < time_s.error else time_s
