"""GenSink's running report, as ``gen4`` and ``sink4`` print it: one stream, one line per second.

Amounts are MB = 10^6 B. A report does not say at which end it was written.
"""

from __future__ import annotations

import re

from netlab.results.imports.printed import NUMBER, Printed, check_rate, lines_of
from netlab.results.imports.records import Flow, Record, Sample, damaged

_LINE = re.compile(
    rf"throughput +(?P<throughput>{NUMBER}) MB/s +data +(?P<data>{NUMBER}) MB +"
    rf"time +(?P<time>{NUMBER}) s +average +(?P<average>{NUMBER}) MB/s"
)


def detect(text: str) -> bool:
    """True if a text has a line of GenSink's report."""
    return bool(re.search(r"^\s*throughput .*\bdata\b", text, re.MULTILINE))


def parse(text: str) -> tuple[Record, ...]:
    """The one record of a report."""
    samples: list[Sample] = []
    data = time_s = Printed(0.0, 0.0)
    first = 0
    average: Printed | None = None
    for number, line in lines_of(text):
        match = _LINE.fullmatch(line)
        if match is None:
            raise damaged(
                number, f"not a line of GenSink's report: {line[:60]!r}", code="E-IMPORT-024"
            )
        now_B, now_s = Printed.read(match["data"], 1e6), Printed.read(match["time"])
        average = Printed.read(match["average"], 1e6)
        check_rate(number, now_B, now_s, average)
        step = Printed(now_B.value - data.value, now_B.error + data.error)
        step_s = Printed(now_s.value - time_s.value, now_s.error + time_s.error)
        if step.value < 0 or step_s.value < 0:
            raise damaged(
                number,
                "data or time decreases; they only grow within one report",
                code="E-IMPORT-025",
            )
        if step_s.value > 0:
            check_rate(number, step, step_s, Printed.read(match["throughput"], 1e6))
            sample = Sample(0, now_s.value, step_s.value, round(step.value))
            samples.append(sample)
        elif samples:
            last = samples[-1]
            samples[-1] = Sample(0, last.t_s, last.interval_s, last.bytes + round(step.value))
        data, time_s, first = now_B, now_s, first or number
    if average is None:
        raise damaged(1, "nothing to import", code="E-IMPORT-026")
    flow = Flow(
        streams=1,
        window_s=time_s.value,
        goodput_MBps=average.value / 1e6,
        measured_at=None,
        window_B=round(data.value),
        samples=tuple(samples),
    )
    return (
        Record(
            tool="gensink", line=first, forward=flow, streams=1, wall_s=time_s.value, rounded=True
        ),
    )
