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
    Flow,
    Printed,
    PrintedRun,
    Record,
    Runs,
    Sample,
    check_rate,
    damaged,
    each_of,
    printed_runs,
)

_LINE = re.compile(
    rf"throughput +(?P<throughput>{NUMBER}) MB/s +data +(?P<data>{NUMBER}) MB +"
    rf"time +(?P<time>{NUMBER}) s +average +(?P<average>{NUMBER}) MB/s"
)


GENSINK = re.compile(r"^\s*throughput .*\bdata\b", re.MULTILINE)


def parse_gensink(text: str) -> Runs:
    """The one record of a report."""
    return printed_runs(text, _GenSinkRun, code="E-IMPORT-026")


@dataclass
class _GenSinkRun(PrintedRun):
    """The run of a report while it is parsed."""

    samples: list[Sample] = field(default_factory=list)
    data: Printed = NOTHING
    time_s: Printed = NOTHING
    average: Printed = NOTHING

    def is_over_at(self, line: str) -> bool:
        """Never: a report has one run."""
        return False

    def take(self, number: int, line: str) -> None:
        """Parse a line, or refuse it."""
        match = _LINE.fullmatch(line)
        if match is None:
            raise damaged(
                number, f"not a line of GenSink's report: {line[:60]!r}", code="E-IMPORT-024"
            )
        now_B, now_s = Printed.read(match["data"], 1e6), Printed.read(match["time"])
        self.average = Printed.read(match["average"], 1e6)
        check_rate(number, now_B, now_s, self.average)
        step, step_s = now_B - self.data, now_s - self.time_s
        if step.value < 0 or step_s.value < 0:
            raise damaged(
                number,
                "data or time decreases; they only grow within one report",
                code="E-IMPORT-025",
            )
        if step_s.value > 0:
            check_rate(number, step, step_s, Printed.read(match["throughput"], 1e6))
            self.samples.append(Sample(0, now_s.value, step_s.value, round(step.value)))
        elif self.samples:
            last = self.samples[-1]
            self.samples[-1] = replace(last, bytes=last.bytes + round(step.value))
        self.data, self.time_s = now_B, now_s

    def record(self) -> Record:
        """Return the run after its last line."""
        flow = Flow(
            streams=1,
            window_s=self.time_s.value,
            goodput_MBps=self.average.value / 1e6,
            measured_at=None,
            window_B=round(self.data.value),
            samples=tuple(self.samples),
        )
        return Record(
            tool="gensink",
            line=self.first,
            forward=flow,
            streams=1,
            wall_s=self.time_s.value,
            rounded=True,
        )


# SLAC's ``rapid``: the receiver's statistics of each process and their totals.
#
# Web pages have folded its lines into one, so the text is read as a sequence of phrases. Figures
# of the totals have the names of those of a process.

_PHRASES = (
    ("command", r"(?:[^\n]{0,120}?[#$%>] ?)?(?:\S{0,120}/)?rapid((?: +-[a-zA-Z]\S{0,120})+)"),
    (
        "said",
        r"Server bound!|Server listening!|Client accepted!|Client connected!"
        r"|Network activity progressing\.\.\.|-{3,}|={3,}",
    ),
    ("part", r"statistics for process: +\d{1,6}|totals:"),
    ("amount", rf"(?:total )?amount transferred: +({NUMBER}) bytes"),
    ("start", rf"(?:the earliest )?start time(?: of any child)?: +({NUMBER})"),
    ("stop", rf"(?:the latest )?stop time(?: of any child)?: +({NUMBER})"),
    ("elapsed", rf"total (?:elapsed )?time: +({NUMBER}) secou?nds"),
    ("throughput", rf"(?:total )?throughput: +({NUMBER}) megabits/sec"),
    ("done", r"Done!"),
)
_PHRASE = re.compile(
    r"\s*(?:" + "|".join(f"(?P<{name}>{text})" for name, text in _PHRASES) + r")(?=\s|$)"
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
            found = re.finditer(r" -([lSRn])(\d{1,15})(?=\s|$)", phrase)
            self.options.update({match[1]: int(match[2]) for match in found})
        elif kind == "part":
            name = "totals" if phrase == "totals:" else "process"
            self.parts.append({name: (line, NOTHING)})
        elif kind in _FIGURES:
            if not self.parts:
                raise damaged(line, f"{phrase[:40]!r} is outside a process", code="E-IMPORT-083")
            if kind in self.parts[-1]:
                raise damaged(line, f"{phrase[:40]!r}: duplicate", code="E-IMPORT-084")
            (number,) = re.findall(NUMBER, phrase)[:1]
            self.parts[-1][kind] = (line, Printed.read(number))

    def record(self) -> Record:
        """Return the run after its last phrase."""
        *processes, totals = self.parts
        if not processes or "totals" not in totals or any("totals" in one for one in processes):
            raise damaged(self.line, "no process, or no totals behind them", code="E-IMPORT-088")
        each = [_whole(one) for one in processes]
        amount, start, _, elapsed, rate = _whole(totals)
        if abs(sum(one[0].value for one in each) - amount.value) > 0.5 * len(each):
            raise damaged(
                totals["amount"][0],
                "the total is not the sum of the processes",
                code="E-IMPORT-089",
            )
        bytes_ = round(amount.value)
        return Record(
            tool="rapid",
            line=self.line,
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
        runs.append(
            damaged(line, "the run is incomplete: Done! is missing at its end", code="E-IMPORT-081")
        )
    if not runs:
        raise damaged(
            line, "nothing to import: only a receiver prints statistics", code="E-IMPORT-082"
        )
    return each_of(runs, _RapidRun.record)


def _whole(figures: dict[str, tuple[int, Printed]]) -> list[Printed]:
    """The figures of a process or of the totals, which must agree."""
    line = next(iter(figures.values()))[0]
    for name in _FIGURES:
        if name not in figures:
            raise damaged(line, f"{name} is missing", code="E-IMPORT-085")
    amount, start, stop, elapsed, rate = (figures[name][1] for name in _FIGURES)
    if not start.value <= stop.value <= MAX_UNIX_S or amount.value >= MAX_COUNT:
        raise damaged(
            figures["start"][0], "start and stop are not times of one run", code="E-IMPORT-086"
        )
    if abs(elapsed.value - (stop.value - start.value)) > 0.002:
        raise damaged(figures["elapsed"][0], "the time is not stop less start", code="E-IMPORT-087")
    megabit = Printed(rate.value * 1e6 / 8, rate.error * 1e6 / 8)
    check_rate(figures["throughput"][0], amount, elapsed, megabit)
    return [amount, start, stop, elapsed, rate]
