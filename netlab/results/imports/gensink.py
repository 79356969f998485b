"""GenSink's running report, as ``gen4`` and ``sink4`` print it: one stream, one line per second.

Amounts are MB = 10^6 B. A report does not say at which end it was written.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

from netlab.errors import BadInput
from netlab.results.imports.records import (
    MAX_COUNT,
    MAX_UNIX_S,
    NOTHING,
    NUMBER,
    Printed,
    PrintedRun,
    Record,
    Runs,
    Sample,
    check_rate,
    damaged,
    each_of,
    expect,
    one_flow,
)

_LINE = re.compile(
    rf"throughput +(?P<throughput>{NUMBER}) MB/s +data +(?P<data>{NUMBER}) MB +"
    rf"time +(?P<time>{NUMBER}) s +average +(?P<average>{NUMBER}) MB/s"
)


GENSINK = re.compile(r"^\s*throughput .*\bdata\b", re.MULTILINE)


@dataclass
class GenSinkRun(PrintedRun):
    """The run of a report while it is parsed."""

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
        expect(step.value >= 0 and step_s.value >= 0, number, reason, code="E-IMPORT-025")
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


# SLAC's ``rapid``: the receiver's statistics of each process and their totals.
#
# Web pages have folded its lines into one, so the text is read as a sequence of phrases. Figures
# of the totals have the names of those of a process.

_PHRASES = {
    "command": r"(?:[^\n]{0,120}?[#$%>] ?)?(?:\S{0,120}/)?rapid((?: +-[a-zA-Z]\S{0,120})+)",
    "said": r"Server bound!|Server listening!|Client accepted!|Client connected!"
    r"|Network activity progressing\.\.\.|-{3,}|={3,}",
    "part": r"statistics for process: +\d{1,6}|totals:",
    "amount": rf"(?:total )?amount transferred: +({NUMBER}) bytes",
    "start": rf"(?:the earliest )?start time(?: of any child)?: +({NUMBER})",
    "stop": rf"(?:the latest )?stop time(?: of any child)?: +({NUMBER})",
    "elapsed": rf"total (?:elapsed )?time: +({NUMBER}) secou?nds",
    "throughput": rf"(?:total )?throughput: +({NUMBER}) megabits/sec",
    "done": r"Done!",
}
_PHRASE = re.compile(
    rf"\s*(?:{'|'.join(f'(?P<{name}>{text})' for name, text in _PHRASES.items())})(?=\s|$)"
)
_FIGURES = ("amount", "start", "stop", "elapsed", "throughput")

RAPID = re.compile(r"statistics for process:|(^|/)rapid +-|earliest start time of")


@dataclass
class _RapidRun:
    """One run while it is parsed: each process and then the totals, each figure with its line."""

    line: int
    parts: list[dict[str, tuple[int, Printed]]] = field(default_factory=list)
    options: dict[str, int] = field(default_factory=dict)

    def take(self, kind: str, phrase: str, line: int) -> None:
        """Parse a phrase of a kind."""
        if kind == "command":
            options = re.finditer(r" -([lSRn])(\d{1,15})(?=\s|$)", phrase)
            self.options.update({match[1]: int(match[2]) for match in options})
        elif kind == "part":
            name = "totals" if phrase == "totals:" else "process"
            self.parts.append({name: (line, NOTHING)})
        elif kind in _FIGURES:
            outside = f"{phrase[:40]!r} is outside a process"
            expect(self.parts, line, outside, code="E-IMPORT-083")
            twice = f"{phrase[:40]!r}: duplicate"
            expect(kind not in self.parts[-1], line, twice, code="E-IMPORT-084")
            self.parts[-1][kind] = (line, Printed.read(re.findall(NUMBER, phrase)[0]))

    def record(self) -> Record:
        *processes, totals = self.parts
        whole = processes and "totals" in totals and not any("totals" in one for one in processes)
        expect(whole, self.line, "no process, or no totals behind them", code="E-IMPORT-088")
        each = [_whole(one) for one in processes]
        amount, start, _, elapsed, rate = _whole(totals)
        over_B = abs(sum(one[0].value for one in each) - amount.value)
        reason = "the total is not the sum of the processes"
        expect(over_B <= 0.5 * len(each), totals["amount"][0], reason, code="E-IMPORT-089")
        bytes_ = round(amount.value)
        return one_flow(
            "rapid",
            self.line,
            elapsed.value,
            rate.value / 8,
            "receiver",
            streams=len(each),
            window_B=bytes_,
            received_B=bytes_,
            started_unix_s=start.value,
            record_length_B=self.options.get("l"),
            buffer_B=self.options.get("R"),
        )


def parse_rapid(text: str) -> Runs:
    """Every run of a text: after an error the next one begins behind ``Done!``."""
    runs: list[_RapidRun | BadInput] = []
    run: _RapidRun | None = None
    at, end, line = 0, len(text.rstrip()), 1
    while at < end:
        match = _PHRASE.match(text, at)
        kind = str(match and match.lastgroup)
        begin = match.start(kind) if match else end - len(text[at:end].lstrip())
        line += text.count("\n", at, begin)
        try:
            if match is None:
                rest = text[begin : min(end, begin + 50)]
                raise damaged(line, f"not output of rapid: {rest!r}", code="E-IMPORT-080")
            run = run or _RapidRun(line)
            if kind != "done":
                run.take(kind, match[kind], line)
            else:
                runs += [run] if run.parts else []
                run = None
            at = match.end()
        except BadInput as error:
            runs.append(error)
            run = None
            done = text.find("Done!", begin, end)
            at = end if done < 0 else done
            line += text.count("\n", begin, at)
    if run is not None and run.parts:
        reason = "the run is incomplete: Done! is missing at its end"
        runs.append(damaged(line, reason, code="E-IMPORT-081"))
    expect(runs, line, "nothing to import: only a receiver prints statistics", code="E-IMPORT-082")
    return each_of(runs, _RapidRun.record)


def _whole(figures: dict[str, tuple[int, Printed]]) -> list[Printed]:
    """The figures of a process or of the totals, which must agree."""
    first = next(iter(figures.values()))[0]
    for name in _FIGURES:
        expect(name in figures, first, f"{name} is missing", code="E-IMPORT-085")
    lines, values = zip(*(figures[name] for name in _FIGURES), strict=True)
    amount, start, stop, elapsed, rate = values
    ordered = start.value <= stop.value <= MAX_UNIX_S and amount.value < MAX_COUNT
    expect(ordered, lines[1], "start and stop are not times of one run", code="E-IMPORT-086")
    late_s = abs(elapsed.value - (stop.value - start.value))
    expect(late_s <= 0.002, lines[3], "the time is not stop less start", code="E-IMPORT-087")
    check_rate(lines[4], amount, elapsed, rate.scaled(1e6 / 8))
    return list(values)
