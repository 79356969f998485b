"""netperf: the classic columns, and the omni tests' CSV and key=value.

THROUGHPUT is of the local end: of the sender, but where the data come back (TCP_MAERTS, an omni
Receive).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from netlab.imports.totals import UNIT, scale, total_record, unit_of
from netlab.outputs.records import MAX_SECONDS, Record, Sample, expect
from netlab.outputs.rounded import NUMBER, Printed, numbered

_BANNER = re.compile(
    r"^(?:MIGRATED )?(?P<test>(?:TCP|UDP|SCTP|OMNI)[ /_A-Za-z]{1,40}) TEST (?:from|to) .*",
    re.MULTILINE,
)
_CLASSIC = re.compile(
    rf"(?:\d{{1,12}} +){{2}}(?P<record>\d{{1,12}}) +(?P<time>{NUMBER}) +(?P<rate>{NUMBER})(?: .*)?"
)

_INTERIM = re.compile(
    rf"Interim result: +(?P<rate>{NUMBER}) (?P<unit>\S+)/s over (?P<time>{NUMBER}) seconds.*"
)
_KEY = re.compile(r"(?P<key>[A-Z][A-Z0-9_]{2,40})=(?P<value>.*)")
_HEADS = {
    "Elapsed Time (sec)": "ELAPSED_TIME",
    "Transport MSS bytes": "TRANSPORT_MSS",
    "Local Congestion Control Algorithm": "LOCAL_CONG_CONTROL",
    "Local Bytes Received": "LOCAL_BYTES_RECVD",
    "Remote Bytes Received": "REMOTE_BYTES_RECVD",
    "Local Transport Retransmissions": "LOCAL_TRANSPORT_RETRANS",
}
"""Heads of the CSV whose keys are not the same words in capitals."""

NETPERF = re.compile(_BANNER.pattern + r"|^(?:THROUGHPUT|ELAPSED_TIME)=", re.MULTILINE)


@dataclass
class _NetperfRun:
    """One run: the line, the name of the test, its keys and its interim results."""

    line: int
    test: str
    keys: dict[str, str] = field(default_factory=dict)
    samples: list[Sample] = field(default_factory=list)


def runs_of_netperf(text: str) -> list[_NetperfRun]:
    runs: list[_NetperfRun] = []
    run = _NetperfRun(1, "")
    unit, begun = "", False
    heads: list[str] = []

    def end(line: int, *, missing: bool = False) -> None:
        nonlocal run, begun
        ended = bool(run.keys or missing)
        runs.extend([run] if ended else [])
        run, begun = _NetperfRun(line, run.test, samples=[] if ended else run.samples), False

    for number, line in numbered(text):
        if banner := _BANNER.fullmatch(line):
            end(number, missing=begun)
            run.test, unit, heads, begun = banner["test"], "", [], True
        elif key := _KEY.fullmatch(line):
            if key["key"] in run.keys:
                end(number)
            run.line = run.line if run.keys else number
            run.keys[key["key"]] = key["value"]
        elif interim := _INTERIM.fullmatch(line):
            rate_Bps = float(interim["rate"]) * scale(interim["unit"])
            length_s = float(interim["time"])
            before_s = run.samples[-1].t_s if run.samples else 0.0
            if rate_Bps and 0 < length_s <= MAX_SECONDS:
                moved = round(rate_Bps * length_s)
                run.samples.append(Sample(0, before_s + length_s, length_s, moved))
        elif heads and line.count(",") == len(heads) - 1:
            end(number)
            run.line, run.keys = number, dict(zip(heads, line.split(","), strict=True))
        elif "," in line and "Throughput" in line:
            named = [head.strip() for head in line.split(",")]
            heads = [_HEADS.get(head, head.upper().replace(" ", "_")) for head in named]
        elif match := UNIT.search(line):
            unit = match["unit"]
        elif (row := _CLASSIC.fullmatch(line)) and run.test:
            end(run.line)
            names = ("THROUGHPUT", "THROUGHPUT_UNITS", "ELAPSED_TIME", "LOCAL_SEND_SIZE")
            figures = (row["rate"], unit, row["time"], row["record"])
            run.keys = dict(zip(names, figures, strict=True))
            end(run.line)
    end(run.line, missing=begun or not runs)
    return runs


def of_netperf(run: _NetperfRun) -> Record:
    line, keys = run.line, run.keys

    def number(key: str) -> Printed:
        numeric = re.fullmatch(NUMBER, keys.get(key, ""))
        expect(numeric, line, f"{key} is not a number", "E-IMPORT-126")
        return Printed.read(keys[key])

    def count(key: str) -> int | None:
        return int(keys[key]) if re.fullmatch(r"\d{1,15}", keys.get(key, "")) else None

    test, direction = run.test.upper().replace("_", " "), keys.get("DIRECTION", "")
    tcp = "UDP" not in (keys.get("PROTOCOL"), test[:3])
    expect(tcp, line, "UDP run; results are of TCP only", "E-IMPORT-127")
    streams = "REQUEST" not in test and "|" not in direction
    expect(streams, line, "request and response; it has no goodput", "E-IMPORT-128")
    expect(keys, line, "netperf printed no result", "E-IMPORT-124")
    sends: bool | None = None
    if re.match("Send|Rec", direction):
        sends = direction.startswith("Send")
    elif re.search("STREAM|SENDFILE|SEND|MAERTS|RECE", test):
        sends = re.search("MAERTS|RECE", test) is None
    own: dict[str, int | None] = {}
    if sends is not None:
        near, far = ("LOCAL", "REMOTE") if sends else ("REMOTE", "LOCAL")
        own = {"sender": count(f"{near}_BYTES_SENT"), "receiver": count(f"{far}_BYTES_RECVD")}
    return total_record(
        "netperf",
        line,
        number("ELAPSED_TIME"),
        number("THROUGHPUT").scaled(unit_of(line, keys.get("THROUGHPUT_UNITS") or "10^6bits")),
        None if sends is None else "sender" if sends else "receiver",
        own,
        streams=1,
        samples=tuple(run.samples),
        client_sends=sends,
        mss_B=count("TRANSPORT_MSS"),
        record_length_B=count("LOCAL_SEND_SIZE") if sends else None,
        congestion=keys.get("LOCAL_CONG_CONTROL" if sends else "REMOTE_CONG_CONTROL") or None,
        retransmits=count("LOCAL_TRANSPORT_RETRANS") if sends else None,
    )
