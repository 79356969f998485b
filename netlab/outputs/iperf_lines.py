"""Lines that iperf 2 and iperf3 print for people: their figures, and the sum of several streams."""

from __future__ import annotations

import re
from dataclasses import dataclass

from netlab.outputs.records import Datagrams, Flow, Sample, datagrams_of, expect
from netlab.outputs.rounded import BINARY, DECIMAL, NOTHING, NUMBER, Printed, check_rate

_DATAGRAMS = re.compile(
    rf" +(?P<jitter>{NUMBER}) ms +(?P<lost>\d{{1,12}})/ *(?P<sent>\d{{1,12}}) \(.*"
)
LATE = re.compile(
    rf"\[ *\*?(?P<id>\d{{1,6}}|SUM)\] +{NUMBER} ?- *{NUMBER} +sec +"
    r"(?P<late>\d{1,12}) datagrams received out-of-order"
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


def flow_of(lines: list[list[Line]], streams: int) -> Flow:
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


def wrong_sum(line: Line) -> str:
    return f"the sum in line {line.number} is not that of the streams, which are taken"
