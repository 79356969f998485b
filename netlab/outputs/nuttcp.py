"""nuttcp's lines, and those of its ancestor ttcp: brief, verbose and ``-fparse``.

MB and KB are 2^20 and 2^10 bytes, Mbps is 10^6 bit/s. nuttcp's brief line and its intervals are
the receiver's count, whichever end printed them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from netlab.outputs.records import (
    MAX_STREAMS,
    Datagrams,
    Record,
    Sample,
    damaged,
    datagrams_of,
    expect,
    one_flow,
)
from netlab.outputs.rounded import NOTHING, NUMBER, Printed, PrintedRun, check_rate

_MB, _KB, _MBIT = 2**20, 2**10, 1e6 / 8

_BRIEF = re.compile(
    rf"(?P<amount>{NUMBER}) MB / +(?P<time>{NUMBER}) sec = +(?P<rate>{NUMBER}) Mbps"
    rf"(?P<total> \d+ %TX \d+ %RX)?(?: +(?P<retrans>\d{{1,12}}) retrans)?"
    r"(?: +\d{1,12} KB-cwnd)?"
    rf"(?: +(?P<lost>\d{{1,12}}) / +(?P<sent>\d{{1,12}}) ~?drop/pkt +{NUMBER} ~?%loss)?"
    rf"(?: (?P<rtt>{NUMBER}) msRTT)?"
    rf"(?: Tot: +(?P<so_far>{NUMBER}) MB / +(?P<so_far_s>{NUMBER}) sec = +{NUMBER} Mbps.*)?"
)
_PARSED = re.compile(
    rf"megabytes=(?P<amount>{NUMBER}) real_sec(?P<total>onds)?=(?P<time>{NUMBER}) "
    rf"rate_Mbps=(?P<rate>{NUMBER})(?: tx_cpu=\d+ rx_cpu=\d+)?(?: retrans=(?P<retrans>\d{{1,12}}))?"
    rf"(?: drop=(?P<lost>\d{{1,12}}) pkt=(?P<sent>\d{{1,12}}) data_loss={NUMBER})?"
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
_DROPPED = re.compile(rf"(?P<lost>\d{{1,12}}) / (?P<sent>\d{{1,12}}) drop/pkt {NUMBER}% data loss")
_RATE_LIMIT = re.compile(rf"rate limit = (?P<rate>{NUMBER}) Mbps \(aggregate\), \d+ pps")
_IGNORED_REST = re.compile(
    r"socket|connect|Info: .*|accept from \S+|time limit = .*|interval reporting every .*"
    r"|(?:available )?send window .*|\d+ I/O calls, .*|[\d.]+user .*|buffer address .*"
    rf"|{NUMBER} bytes in {NUMBER} CPU seconds = .*|v[\d.]+: socket|connect to .*|retrans = \d+"
)


NUTTCP = re.compile(r"^\s*#?(nu)?ttcp-[tr]:|^\s*megabytes=|^ *[\d.]+ MB /", re.MULTILINE)


@dataclass
class NuttcpRun(PrintedRun):
    """A total is its amount, time and rate."""

    tool: str = "nuttcp"
    intervals: list[tuple[int, Printed, Printed]] = field(default_factory=list)
    brief: tuple[Printed, Printed, Printed] | None = None
    totals: dict[str, tuple[Printed, Printed, Printed]] = field(default_factory=dict)
    streams: int | None = None
    rtt_ms: float | None = None
    ended: bool = False
    sockets: set[str] = field(default_factory=set)
    datagrams: Datagrams | None = None

    def is_over_at(self, line: str) -> bool:
        """True if a line is the first of another run: this one has its totals."""
        if self.ended:
            return not line.startswith("errno=")
        if side := _SIDE.fullmatch(line):
            begun = self.sockets | self.totals.keys()
            return side["side"] in begun and side["rest"].endswith("socket")
        brief = _BRIEF.fullmatch(line) or _PARSED.fullmatch(line)
        return bool(brief and self.totals and (brief["total"] or len(self.totals) == 2))

    def take(self, number: int, line: str) -> None:
        if match := _BRIEF.fullmatch(line) or _PARSED.fullmatch(line):
            self._take_brief(number, match)
        elif side := _SIDE.fullmatch(line):
            self._take_side(number, side)
        else:
            reason = f"not a line of nuttcp or ttcp: {line[:60]!r}"
            raise damaged(number, reason, code="E-IMPORT-066")

    def _take_brief(self, number: int, match: re.Match) -> None:
        self.ended = bool(match["total"])
        amount, time_s, _ = whole = _total(number, match, _MB, _MBIT)
        if so_far := match.groupdict().get("so_far"):
            sum_B = sum((one for _, one, _ in self.intervals), amount)
            agrees = Printed.read(so_far, _MB).agrees(sum_B.value, sum_B.error)
            expect(agrees, number, "the running total is not the sum so far", "E-IMPORT-143")
        if not match["total"]:
            self.intervals.append((number, amount, time_s))
            return
        self.brief = whole
        if match["lost"]:
            self.datagrams = datagrams_of(number, match)
        self.facts["retransmits"] = int(match["retrans"]) if match["retrans"] else None
        self.rtt_ms = float(match["rtt"]) if match["rtt"] else None

    def _take_side(self, number: int, side: re.Match) -> None:
        rest, way = side["rest"], side["side"]
        self.sockets |= {way} if rest.endswith("socket") else set()
        self.ended = "rror" in rest
        self.tool = "nuttcp" if side["tool"] else "ttcp"
        if total := _TOTAL.fullmatch(rest):
            expect(way not in self.totals, number, "duplicate total", "E-IMPORT-068")
            whole = _total(number, total, _MB if total["unit"] == "MB" else 1, _KB)
            mbps = Printed.read(total["mbps"], _MBIT) if total["mbps"] else whole[2]
            agrees = mbps.agrees(whole[2].value, whole[2].error)
            expect(agrees, number, "KB/sec and Mbps do not agree", "E-IMPORT-069")
            self.totals[way] = whole
        elif shape := _BUFLEN.fullmatch(rest):
            if shape["protocol"] == "udp":
                self.datagrams = self.datagrams or Datagrams()
            streams = int(shape["nstream"] or 1)
            possible = 1 <= streams <= MAX_STREAMS and self.streams in (None, streams)
            expect(possible, number, f"{streams} streams cannot be", "E-IMPORT-071")
            self.streams = streams
            self.facts["record_length_B"] = int(shape["buflen"])
        elif dropped := _DROPPED.fullmatch(rest):
            self.datagrams = datagrams_of(number, dropped)
        elif limit := _RATE_LIMIT.fullmatch(rest):
            self.facts["pacing_MBps"] = float(limit["rate"]) / 8
        elif not _IGNORED_REST.fullmatch(rest):
            reason = "the run failed" if "rror" in rest else "not a line of nuttcp or ttcp"
            raise damaged(number, f"{reason}: {rest[:100]!r}", code="E-IMPORT-072")
        if version := re.match(r"v([\d.]+): socket", rest):
            self.facts["version"] = version[1]
        if connected := re.search(rf"with mss=(\d{{1,5}})(?:, RTT=({NUMBER}) ms)?$", rest):
            self.facts["mss_B"] = int(connected[1])
            self.rtt_ms = float(connected[2]) if connected[2] else None
        if again := re.fullmatch(r"retrans = (\d{1,12})", rest):
            self.facts["retransmits"] = int(again[1])

    def record(self) -> Record:
        sent, received = self.totals.get("t"), self.totals.get("r")
        whole = self.brief or received or sent
        if whole is None:
            raise damaged(self.first, "the run has no total", code="E-IMPORT-073")
        amount, time_s, rate = whole
        samples = []
        t_s = sum_B = NOTHING
        for number, some, some_s in self.intervals:
            t_s, sum_B = t_s + some_s, sum_B + some
            fits = sum_B.value <= amount.value * 1.001 + sum_B.error + amount.error
            expect(fits, number, "the intervals sum to more than the total", "E-IMPORT-074")
            fits = t_s.value <= time_s.value * 1.001 + t_s.error + time_s.error
            expect(fits, number, "the intervals are longer than the run", "E-IMPORT-075")
            samples.append(Sample(0, t_s.value, some_s.value, round(some.value)))
        compared = sent if received and not self.datagrams else None
        same = not compared or compared[0].agrees(amount.value, amount.error + 2**26)
        expect(same, self.first, "bytes sent and bytes received do not agree", "E-IMPORT-076")
        extras: dict[str, object] = {}
        if self.rtt_ms is not None:
            extras["connect_rtt_us"] = self.rtt_ms * 1e3
        if samples and self.streams != 1:
            extras["intervals"] = "of all streams together, as stream 0"
        at_receiver = bool(self.brief or received)
        return one_flow(
            self.tool,
            self.first,
            time_s.value,
            rate.value / 1e6,
            "receiver" if at_receiver else "sender",
            streams=self.streams,
            window_B=round(amount.value),
            sent_B=round(sent[0].value) if sent else None,
            received_B=round(amount.value) if at_receiver else None,
            samples=tuple(samples),
            datagrams=self.datagrams,
            rounded=self.tool == "nuttcp",
            extras=extras,
            **self.facts,
        )


def _total(
    number: int, match: re.Match, unit_B: float, rate_unit_Bps: float
) -> tuple[Printed, Printed, Printed]:
    """Amount, time and rate of a line, which must agree.

    The time is computed from the others if these have more digits than the printed one: intervals
    of 0.1 s are printed with two digits, and their rates with eight.
    """
    amount, time_s = Printed.read(match["amount"], unit_B), Printed.read(match["time"])
    rate = Printed.read(match["rate"], rate_unit_Bps)
    check_rate(number, amount, time_s, rate)
    if rate.value and rate.error / rate.value <= 1e-3 and amount.error / amount.value <= 1e-3:
        exact_s = amount.value / rate.value
        error_s = exact_s * (amount.error / amount.value + rate.error / rate.value)
        if error_s < time_s.error:
            time_s = Printed(exact_s, error_s)
    return amount, time_s, rate
