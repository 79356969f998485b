"""nuttcp's lines and those of its ancestor ttcp; GenSink's report; SLAC's ``rapid``."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

from netlab.errors import BadInput
from netlab.outputs.records import (
    MAX_COUNT,
    MAX_STREAMS,
    MAX_UNIX_S,
    NOTHING,
    NUMBER,
    Datagrams,
    Printed,
    PrintedRun,
    Record,
    Sample,
    check_rate,
    damaged,
    datagrams_of,
    expect,
    one_flow,
)

# nuttcp's lines: brief, verbose and ``-fparse``. MB and KB are 2^20 and 2^10 bytes, Mbps is 10^6
# bit/s. Its brief line and its intervals are the receiver's count, whichever end printed them.

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


# GenSink's running report, as ``gen4`` and ``sink4`` print it: one stream, one line per second.
# Amounts are MB = 10^6 B. A report does not say at which end it was written.

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
