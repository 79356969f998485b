"""GenSink's running report, as ``gen4`` and ``sink4`` print it: one stream, one line per second.

Amounts are MB = 10^6 B. A report does not say at which end it was written.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from netlab.results.imports.records import (
    MAX_COUNT,
    MAX_UNIX_S,
    NUMBER,
    Flow,
    Printed,
    Record,
    Sample,
    check_rate,
    damaged,
    lines_of,
)

_LINE = re.compile(
    rf"throughput +(?P<throughput>{NUMBER}) MB/s +data +(?P<data>{NUMBER}) MB +"
    rf"time +(?P<time>{NUMBER}) s +average +(?P<average>{NUMBER}) MB/s"
)


def detect_gensink(text: str) -> bool:
    """True if a text has a line of GenSink's report."""
    return bool(re.search(r"^\s*throughput .*\bdata\b", text, re.MULTILINE))


def parse_gensink(text: str) -> tuple[Record, ...]:
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


# SLAC's ``rapid``: the receiver's statistics of each process and their totals.
#
# Web pages have folded its lines into one, so the text is read as a sequence of phrases.

_PHRASES = (
    ("command", r"(?:[^\n]{0,120}?[#$%>] ?)?(?:\S{0,120}/)?rapid((?: +-[a-zA-Z]\S{0,120})+)"),
    (
        "said",
        r"Server bound!|Server listening!|Client accepted!|Client connected!"
        r"|Network activity progressing\.\.\.",
    ),
    ("process", r"statistics for process: +(\d{1,6})"),
    ("rule", r"-{3,}|={3,}"),
    ("total_amount", rf"total amount transferred: +({NUMBER}) bytes"),
    ("earliest", rf"the earliest start time of any child: +({NUMBER})"),
    ("latest", rf"the latest stop time of any child: +({NUMBER})"),
    ("total_elapsed", rf"total elapsed time: +({NUMBER}) secou?nds"),
    ("total_throughput", rf"total throughput: +({NUMBER}) megabits/sec"),
    ("amount", rf"amount transferred: +({NUMBER}) bytes"),
    ("start", rf"start time: +({NUMBER})"),
    ("stop", rf"stop time: +({NUMBER})"),
    ("elapsed", rf"total time: +({NUMBER}) secou?nds"),
    ("throughput", rf"throughput: +({NUMBER}) megabits/sec"),
    ("totals", r"totals:"),
    ("done", r"Done!"),
)
_NO_BLANK = re.compile(r"\S")
_PHRASE = re.compile(r"(?:" + "|".join(f"(?P<{name}>{_})" for name, _ in _PHRASES) + ")(?=\\s|$)")
_TOTALS = ("total_amount", "earliest", "latest", "total_elapsed", "total_throughput")
_OF_PROCESS = ("amount", "start", "stop", "elapsed", "throughput")


def detect_rapid(text: str) -> bool:
    """True if a text has rapid's statistics."""
    return bool(re.search(r"statistics for process:|(^|/)rapid +-|earliest start time of", text))


@dataclass
class _Run:
    """One run while it is parsed; each figure with its line."""

    line: int
    processes: list[dict[str, tuple[int, Printed]]] = field(default_factory=list)
    totals: dict[str, tuple[int, Printed]] = field(default_factory=dict)
    options: dict[str, int] = field(default_factory=dict)


def parse_rapid(text: str) -> tuple[Record, ...]:
    """Records of every run in a text."""
    runs: list[_Run] = []
    run: _Run | None = None
    at, line = 0, 1
    while True:
        found = _NO_BLANK.search(text, at)
        begin = len(text) if found is None else found.start()
        line += text.count("\n", at, begin)
        if begin == len(text):
            break
        match = _PHRASE.match(text, begin)
        if match is None:
            raise damaged(
                line, f"not output of rapid: {text[begin : begin + 50]!r}", code="E-IMPORT-080"
            )
        kind = next(name for name, _ in _PHRASES if match.group(name) is not None)
        if run is None:
            run = _Run(line)
        if kind == "done":
            if run.processes or run.totals:
                runs.append(run)
            run = None
        else:
            _take(run, kind, match.group(), line)
        at = match.end()
    if run is not None and (run.processes or run.totals):
        raise damaged(
            line, "the run is incomplete: Done! is missing at its end", code="E-IMPORT-081"
        )
    if not runs:
        raise damaged(
            line,
            "nothing to import: only a receiver prints statistics",
            code="E-IMPORT-082",
        )
    return tuple(_record(one) for one in runs)


def _take(run: _Run, kind: str, phrase: str, line: int) -> None:
    if kind == "command":
        run.options.update(
            {m[1]: int(m[2]) for m in re.finditer(r" -([lSRn])(\d{1,15})(?=\s|$)", phrase)}
        )
        return
    if kind == "process":
        run.processes.append({"process": (line, Printed(0, 0))})
        return
    if kind in ("said", "rule", "totals"):
        return
    into = run.totals if kind in _TOTALS else run.processes[-1] if run.processes else None
    if into is None:
        raise damaged(line, f"{phrase.strip()[:40]!r} is outside a process", code="E-IMPORT-083")
    if kind in into:
        raise damaged(line, f"{phrase.strip()[:40]!r}: duplicate", code="E-IMPORT-084")
    (number,) = re.findall(NUMBER, phrase)[:1]
    into[kind] = (line, Printed.read(number))


def _whole(line: int, figures: dict, names: tuple[str, ...]) -> list[Printed]:
    for name in names:
        if name not in figures:
            raise damaged(line, f"{name.replace('_', ' ')} is missing", code="E-IMPORT-085")
    amount, start, stop, elapsed, rate = (figures[name][1] for name in names)
    if not start.value <= stop.value <= MAX_UNIX_S or amount.value >= MAX_COUNT:
        raise damaged(
            figures[names[1]][0], "start and stop are not times of one run", code="E-IMPORT-086"
        )
    if abs(elapsed.value - (stop.value - start.value)) > 0.002:
        raise damaged(figures[names[3]][0], "the time is not stop less start", code="E-IMPORT-087")
    megabit = Printed(rate.value * 1e6 / 8, rate.error * 1e6 / 8)
    check_rate(figures[names[4]][0], amount, elapsed, megabit)
    return [amount, start, stop, elapsed, rate]


def _record(run: _Run) -> Record:
    if not run.processes:
        raise damaged(run.line, "totals without a process", code="E-IMPORT-088")
    each = [_whole(one["process"][0], one, _OF_PROCESS) for one in run.processes]
    amount, start, _, elapsed, rate = _whole(run.line, run.totals, _TOTALS)
    if abs(sum(one[0].value for one in each) - amount.value) > 0.5 * len(each):
        raise damaged(
            run.totals["total_amount"][0],
            "the total is not the sum of the processes",
            code="E-IMPORT-089",
        )
    bytes_ = round(amount.value)
    return Record(
        tool="rapid",
        line=run.line,
        forward=Flow(
            streams=len(each),
            window_s=elapsed.value,
            goodput_MBps=rate.value / 8,
            measured_at="receiver",
            window_B=bytes_,
            received_B=bytes_,
        ),
        streams=len(each),
        started_unix_s=start.value,
        wall_s=elapsed.value,
        record_length_B=run.options.get("l"),
        buffer_B=run.options.get("R"),
    )
