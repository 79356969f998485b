"""iperf 2 ``-y C``: exact bytes, times of one decimal; only UDP's jitter says which end it is.

The stamp of a row is the time of its report, in whole seconds, and separates one run from the next.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

from netlab.outputs.iperf_lines import Line, flow_of, wrong_sum
from netlab.outputs.records import Record, damaged, datagrams_of, expect, unix_s
from netlab.outputs.rounded import NUMBER, Printed, PrintedRun, check_rate

_CSV = re.compile(
    r"(?P<stamp>\d{14})(?:\.\d+)?,[^,]*,\d*,[^,]*,\d*,(?P<id>-?\d{1,6}),"
    rf"(?P<start>{NUMBER})-(?P<end>{NUMBER}),(?P<amount>\d{{1,19}}),(?P<rate>\d{{1,19}})"
    rf"(?P<udp>,-?(?P<jitter>{NUMBER}),(?P<lost>\d{{1,12}}),(?P<sent>-1|\d{{1,12}}),"
    r"[^,]*,(?P<late>\d{1,12}))?(?:,[^,]*){0,2}"
)
_STAMP = "%Y%m%d%H%M%S"
IPERF2_CSV = re.compile(r"^\d{14}(?:\.\d+)?,(?:[^,\n]*,\d*,){2}-?\d+,[\d.]+-[\d.]+,", re.M)


@dataclass
class CsvRun(PrintedRun):
    """The rows of streams that ran at the same time."""

    lines: dict[str, list[Line]] = field(default_factory=dict)
    ended_unix_s: float = 0.0
    udp: bool = False

    def is_over_at(self, line: str) -> bool:
        """True if a row is of a stream that began when those before had ended."""
        match = _CSV.fullmatch(line)
        if match is None or match["id"] == "-1" or not self.ended_unix_s:
            return False
        begun_unix_s = (unix_s(match["stamp"], _STAMP) or 0.0) - float(match["end"])
        return float(match["start"]) == 0 and begun_unix_s > self.ended_unix_s - 1

    def take(self, number: int, line: str) -> None:
        match = _CSV.fullmatch(line)
        if match is None:
            raise damaged(number, f"not a row of iperf 2: {line[:60]!r}", code="E-IMPORT-115")
        # in an unknown zone, for differences
        self.ended_unix_s = max(self.ended_unix_s, unix_s(match["stamp"], _STAMP) or 0.0)
        self.udp |= bool(match["udp"])
        start, end, amount = (Printed.read(match[name]) for name in ("start", "end", "amount"))
        rate = Printed.read(match["rate"], 1 / 8)
        check_rate(number, amount, end - start, rate)
        row = Line(number, start, end, amount, rate)
        if match["udp"] and (float(match["jitter"]) or int(match["lost"])):  # a sender has neither
            counts = replace(datagrams_of(number, match), reordered=int(match["late"]))
            row = replace(row, datagrams=counts)
        timed = not match["stamp"].startswith("1970") or not self.lines.keys() - {match["id"]}
        expect(timed, number, "times of 1970 do not tell runs apart", "E-IMPORT-119")
        self.lines.setdefault(match["id"], []).append(row)

    def record(self) -> Record:
        summed = self.lines.pop("-1", [])[-1:]
        alone = summed and not self.lines
        expect(not alone, self.first, "the run has a sum but no streams", "E-IMPORT-117")
        flow = flow_of(list(self.lines.values()), len(self.lines))
        if self.udp:
            counted = all(rows[-1].datagrams for rows in self.lines.values())
            expect(counted, self.first, "a UDP run without its datagrams", "E-IMPORT-116")
            flow = replace(flow, measured_at="receiver", received_B=flow.window_B)
        shortest_s = min(each[-1].length_s for each in self.lines.values())
        wrong = [  # unless it is of an interval: a server may end before its last sum
            one
            for one in summed
            if one.amount_B.value != flow.window_B and one.length_s >= shortest_s
        ]
        flow = replace(flow, note=wrong_sum(wrong[0])) if wrong else flow
        return Record.of("iperf2", self.first, [flow], rounded=True)
