"""SLAC's ``rapid``: the receiver's statistics of each process and their totals.

Web pages have folded its lines into one, so the text is read as a sequence of phrases. Figures
of the totals have the names of those of a process.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from netlab.errors import BadInput
from netlab.outputs.records import MAX_COUNT, MAX_UNIX_S, Record, damaged, expect, one_flow
from netlab.outputs.rounded import NOTHING, NUMBER, Printed, check_rate

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
class RapidRun:
    """One run while it is parsed: each process and then the totals, each figure with its line."""

    line: int
    parts: list[dict[str, tuple[int, Printed]]] = field(default_factory=list)
    options: dict[str, int] = field(default_factory=dict)

    def take(self, kind: str, phrase: str, line: int) -> None:
        if kind == "command":
            options = re.finditer(r" -([lSRn])(\d{1,15})(?=\s|$)", phrase)
            self.options.update({match[1]: int(match[2]) for match in options})
        elif kind == "part":
            name = "totals" if phrase == "totals:" else "process"
            self.parts.append({name: (line, NOTHING)})
        elif kind in _FIGURES:
            expect(self.parts, line, f"{phrase[:40]!r} is outside a process", "E-IMPORT-083")
            expect(kind not in self.parts[-1], line, f"{phrase[:40]!r}: duplicate", "E-IMPORT-084")
            self.parts[-1][kind] = (line, Printed.read(re.findall(NUMBER, phrase)[0]))

    def record(self) -> Record:
        *processes, totals = self.parts
        whole = processes and "totals" in totals and not any("totals" in one for one in processes)
        expect(whole, self.line, "no process, or no totals behind them", "E-IMPORT-088")
        each = [_whole(one) for one in processes]
        amount, start, _, elapsed, rate = _whole(totals)
        over_B = abs(sum(one[0].value for one in each) - amount.value)
        reason = "the total is not the sum of the processes"
        expect(over_B <= 0.5 * len(each), totals["amount"][0], reason, "E-IMPORT-089")
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


def runs_of_rapid(text: str) -> list[RapidRun | BadInput]:
    """Every run of a text: after an error the next one begins behind ``Done!``."""
    runs: list[RapidRun | BadInput] = []
    run: RapidRun | None = None
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
            run = run or RapidRun(line)
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
    expect(runs, line, "nothing to import: only a receiver prints statistics", "E-IMPORT-082")
    return runs


def _whole(figures: dict[str, tuple[int, Printed]]) -> list[Printed]:
    """The figures of a process or of the totals, which must agree."""
    first = next(iter(figures.values()))[0]
    for name in _FIGURES:
        expect(name in figures, first, f"{name} is missing", "E-IMPORT-085")
    lines, values = zip(*(figures[name] for name in _FIGURES), strict=True)
    amount, start, stop, elapsed, rate = values
    ordered = start.value <= stop.value <= MAX_UNIX_S and amount.value < MAX_COUNT
    expect(ordered, lines[1], "start and stop are not times of one run", "E-IMPORT-086")
    late_s = abs(elapsed.value - (stop.value - start.value))
    expect(late_s <= 0.002, lines[3], "the time is not stop less start", "E-IMPORT-087")
    check_rate(lines[4], amount, elapsed, rate.scaled(1e6 / 8))
    return list(values)
