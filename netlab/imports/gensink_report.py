"""GenSink's running report, as ``gen4`` and ``sink4`` print it: one stream, one line per second.

Amounts are MB = 10^6 B. A report does not say at which end it was written.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

from netlab.outputs.records import Record, Sample, damaged, expect, one_flow
from netlab.outputs.rounded import NOTHING, NUMBER, Printed, PrintedRun, check_rate

_LINE = re.compile(
    rf"throughput +(?P<throughput>{NUMBER}) MB/s +data +(?P<data>{NUMBER}) MB +"
    rf"time +(?P<time>{NUMBER}) s +average +(?P<average>{NUMBER}) MB/s"
)


GENSINK = re.compile(r"^\s*throughput .*\bdata\b", re.MULTILINE)


@dataclass
class GenSinkRun(PrintedRun):
    samples: list[Sample] = field(default_factory=list)
    data: Printed = NOTHING
    time_s: Printed = NOTHING
    average: Printed = NOTHING

    def is_over_at(self, line: str) -> bool:
        return False  # a report has one run

    def take(self, number: int, line: str) -> None:
        match = _LINE.fullmatch(line)
        if match is None:
            reason = f"not a line of GenSink's report: {line[:60]!r}"
            raise damaged(number, reason, code="E-IMPORT-024")
        now_B, now_s = Printed.read(match["data"], 1e6), Printed.read(match["time"])
        self.average = Printed.read(match["average"], 1e6)
        check_rate(number, now_B, now_s, self.average)
        step, step_s = now_B - self.data, now_s - self.time_s
        reason = "data or time decreases; they only grow within one report"
        expect(step.value >= 0 and step_s.value >= 0, number, reason, "E-IMPORT-025")
        if step_s.value > 0:
            check_rate(number, step, step_s, Printed.read(match["throughput"], 1e6))
            self.samples.append(Sample(0, now_s.value, step_s.value, round(step.value)))
        elif self.samples:
            last = self.samples[-1]
            self.samples[-1] = replace(last, bytes=last.bytes + round(step.value))
        self.data, self.time_s = now_B, now_s

    def record(self) -> Record:
        return one_flow(
            "gensink",
            self.first,
            self.time_s.value,
            self.average.value / 1e6,
            None,
            streams=1,
            window_B=round(self.data.value),
            samples=tuple(self.samples),
            rounded=True,
        )
