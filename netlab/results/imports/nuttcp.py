"""nuttcp's lines, brief, verbose and ``-fparse``, and those of its ancestor ttcp."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Literal

from netlab.results.imports.records import (
    MAX_STREAMS,
    NOTHING,
    NUMBER,
    Flow,
    Printed,
    PrintedRun,
    Record,
    Runs,
    Sample,
    check_rate,
    damaged,
    printed_runs,
)

# MB and KB are 2^20 and 2^10 bytes, Mbps is 10^6 bit/s. nuttcp's brief line and its intervals are
# the receiver's count, whichever end printed them.

_MB, _KB, _MBIT = 2**20, 2**10, 1e6 / 8

_BRIEF = re.compile(
    rf"(?P<amount>{NUMBER}) MB / +(?P<time>{NUMBER}) sec = +(?P<rate>{NUMBER}) Mbps"
    rf"(?P<total> \d+ %TX \d+ %RX)?(?: +(?P<retrans>\d{{1,12}}) retrans)?"
    rf"(?: (?P<rtt>{NUMBER}) msRTT)?"
    rf"(?: Tot: +(?P<so_far>{NUMBER}) MB / +(?P<so_far_s>{NUMBER}) sec = +{NUMBER} Mbps.*)?"
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


def parse_nuttcp(text: str) -> Runs:
    """Records of every run in a text."""
    return printed_runs(text, _NuttcpRun, code="E-IMPORT-067")


@dataclass
class _NuttcpRun(PrintedRun):
    """One run while it is parsed."""

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
    ended: bool = False
    sockets: set[str] = field(default_factory=set)

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
        """Parse a line, or refuse it."""
        if match := _BRIEF.fullmatch(line) or _PARSED.fullmatch(line):
            self._take_brief(number, match)
        elif side := _SIDE.fullmatch(line):
            self._take_side(number, side)
        elif "drop" in line and "pkt" in line:
            self.ended = "%TX" in line
            raise damaged(number, "UDP run; results are of TCP only", code="E-IMPORT-065")
        else:
            raise damaged(
                number, f"not a line of nuttcp or ttcp: {line[:60]!r}", code="E-IMPORT-066"
            )

    def _take_brief(self, number: int, match: re.Match) -> None:
        self.ended = bool(match["total"])
        amount = Printed.read(match["amount"], _MB)
        time_s = Printed.read(match["time"])
        rate = Printed.read(match["rate"], _MBIT)
        check_rate(number, amount, time_s, rate)
        time_s = _closer(amount, time_s, rate)
        if so_far := match.groupdict().get("so_far"):
            held = sum((one for _, one, _ in self.intervals), amount)
            if not Printed.read(so_far, _MB).agrees(held.value, held.error):
                raise damaged(
                    number, "the running total is not the sum so far", code="E-IMPORT-143"
                )
        if not match["total"]:
            self.intervals.append((number, amount, time_s))
            return
        self.brief = (amount, time_s, rate)
        self.retransmits = int(match["retrans"]) if match["retrans"] else None
        self.rtt_ms = float(match["rtt"]) if match["rtt"] else None

    def _take_side(self, number: int, side: re.Match) -> None:
        rest, way = side["rest"], side["side"]
        self.sockets |= {way} if rest.endswith("socket") else set()
        self.ended = "rror" in rest
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
