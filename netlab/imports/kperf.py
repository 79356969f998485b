"""kperf: one line a connection and direction, at the source and at the target."""

from __future__ import annotations

import re

from netlab.imports.totals import total_record
from netlab.outputs.records import End, Record, expect
from netlab.outputs.rounded import NUMBER, Printed, check_rate, numbered

_KPERF = re.compile(
    rf"(?:\S+: +)?(?P<way>[TR])x +(?P<rate>{NUMBER}) Gbps "
    r"\((?P<bytes>\d{1,19}) bytes in (?P<time>\d{1,12}) usec\)"
)
KPERF = re.compile(r"== (?:Source|Target) |^retrans,reord,ce,rtt,", re.MULTILINE)


def of_kperf(text: str) -> Record:
    """The run of a text: sent at its source, received at its target, or the reverse."""
    moved: dict[tuple[str, str], list[int]] = {}
    side, time_us = "", 0
    for number, line in numbered(text):
        if where := re.search(r"== (Source|Target) ", line):
            side = where[1]
        elif match := _KPERF.fullmatch(line):
            time_s = Printed(int(match["time"]) / 1e6, 5e-7)
            rate_Bps = Printed.read(match["rate"]).scaled(1e9 / 8)
            check_rate(number, Printed(int(match["bytes"]), 0.5), time_s, rate_Bps)
            time_us = max(time_us, int(match["time"]))
            if int(match["bytes"]):
                moved.setdefault((side, match["way"]), []).append(int(match["bytes"]))
    forward = moved.get(("Target", "R")), moved.get(("Source", "T"))
    reason = "no rate with its bytes and time; kperf's CSV has no time"
    expect(time_us and any(forward), 1, reason, "E-IMPORT-136")
    back = any(moved.get(each) for each in (("Source", "R"), ("Target", "T")))
    expect(not back, 1, "both directions; netlab reads kperf's one way", "E-IMPORT-137")
    read, sent = (sum(each) if each else None for each in forward)
    streams = max(len(each) for each in forward if each)
    time_s = Printed(time_us / 1e6, 5e-7)
    rate_Bps = Printed((read or sent or 0) / time_s.value, 1.0)
    at: End = "receiver" if read else "sender"
    amounts_B = {"receiver": read, "sender": sent}
    return total_record("kperf", 1, time_s, rate_Bps, at, amounts_B, streams=streams)
