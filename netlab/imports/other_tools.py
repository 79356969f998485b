"""netperf, neper, ntttcp, kperf and pScheduler: a total a run, of the end that each names."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NoReturn

from netlab.outputs.records import (
    MAX_SECONDS,
    MAX_STREAMS,
    NUMBER,
    End,
    Printed,
    PrintedRun,
    Record,
    Sample,
    View,
    check_rate,
    damaged,
    expect,
    numbered,
    one_flow,
)

RATES_BPS = {
    **{f"10^{power}bits": 10**power / 8 for power in (0, 3, 6, 9, 12)},
    **{"bit": 1 / 8, "Kbit": 1e3 / 8, "Mbit": 1e6 / 8, "Gbit": 1e9 / 8},
    **{"bps": 1 / 8, "Kbps": 1e3 / 8, "Mbps": 1e6 / 8, "Gbps": 1e9 / 8},
    **{"Bytes": 1, "KBytes": 2**10, "MBytes": 2**20, "GBytes": 2**30},
    **{"B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30},
}
"""Bytes a second of one unit of a rate, by the unit before ``/s``."""


def _record(
    tool: str,
    line: int,
    time_s: Printed,
    rate_Bps: Printed,
    at: End | None,
    amounts_B: Mapping[str, int | None],
    **facts: Any,
) -> Record:
    """A run by its time and rate, with the bytes of each end where they are known.

    The receiver's bytes make the rate; a sender's rate stays one of the sender.
    """
    counted = amounts_B.get(at or "")
    amount_B = Printed(counted or rate_Bps.value * time_s.value, 0.5)
    check_rate(line, amount_B, time_s, rate_Bps)
    received_B = amounts_B.get("receiver")
    if received_B:
        at, counted, rate_Bps = "receiver", received_B, Printed(received_B / time_s.value, 0.0)
    expect(rate_Bps.value, line, "the run moved nothing", "E-IMPORT-123")
    facts = {"rounded": counted is None} | facts
    return one_flow(
        *(tool, line, time_s.value, rate_Bps.value / 1e6, at),
        window_B=counted or round(amount_B.value),
        sent_B=amounts_B.get("sender"),
        received_B=received_B,
        **facts,
    )


# netperf: the classic columns, and the omni tests' CSV and key=value. THROUGHPUT is of the local
# end: of the sender, but where the data come back (TCP_MAERTS, an omni Receive).

_BANNER = re.compile(
    r"^(?:MIGRATED )?(?P<test>(?:TCP|UDP|SCTP|OMNI)[ /_A-Za-z]{1,40}) TEST (?:from|to) .*",
    re.MULTILINE,
)
_CLASSIC = re.compile(
    rf"(?:\d{{1,12}} +){{2}}(?P<record>\d{{1,12}}) +(?P<time>{NUMBER}) +(?P<rate>{NUMBER})(?: .*)?"
)
_UNIT = re.compile(r"\b(?P<unit>10\^\d{1,2}bits|[KMG]?Bytes) */s(?:ec)?\b")
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
            rate_Bps = float(interim["rate"]) * _scale(interim["unit"])
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
        elif match := _UNIT.search(line):
            unit = match["unit"]
        elif (row := _CLASSIC.fullmatch(line)) and run.test:
            end(run.line)
            names = ("THROUGHPUT", "THROUGHPUT_UNITS", "ELAPSED_TIME", "LOCAL_SEND_SIZE")
            figures = (row["rate"], unit, row["time"], row["record"])
            run.keys = dict(zip(names, figures, strict=True))
            end(run.line)
    end(run.line, missing=begun or not runs)
    return runs


def _scale(unit: str) -> float:
    return RATES_BPS.get(unit.removesuffix("ec").removesuffix("/s"), 0.0)


def _unit(line: int, text: str) -> float:
    expect(_scale(text), line, f"not a rate in bits or bytes: {text[:40]!r}", "E-IMPORT-125")
    return _scale(text)


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
    return _record(
        "netperf",
        line,
        number("ELAPSED_TIME"),
        number("THROUGHPUT").scaled(_unit(line, keys.get("THROUGHPUT_UNITS") or "10^6bits")),
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


# neper's tcp_stream: key=value of one end.

NEPER = re.compile(r"^(?:local_throughput|throughput_units|invalid_secret_count)=", re.MULTILINE)


def of_neper(text: str) -> Record:
    keys = dict(line.split("=", 1) for _, line in numbered(text) if re.match(r"\w+=", line))
    expect("throughput_units" in keys, 1, "request and response; it has no goodput", "E-IMPORT-129")
    rate, time, flows = (keys.get(k, "") for k in ("throughput", "total_run_time", "num_flows"))
    numeric = all(re.fullmatch(NUMBER, one) for one in (rate, time, flows)) and "." not in flows
    expect(numeric, 1, "throughput, total_run_time or num_flows is missing", "E-IMPORT-130")
    rate_Bps = Printed.read(rate).scaled(_unit(1, keys["throughput_units"]))
    if re.fullmatch(r"\d{1,18}", exact := keys.get("local_throughput", "")):
        agrees = rate_Bps.agrees(int(exact) / 8)
        expect(agrees, 1, "throughput and local_throughput do not agree", "E-IMPORT-131")
        rate_Bps = Printed(int(exact) / 8, 0.5)
    client, reads, writes = (
        keys.get(key) in ("1", "true") for key in ("client", "enable_read", "enable_write")
    )
    expect(not (reads and writes), 1, "both directions in one rate", "E-IMPORT-132")
    receives = reads or not (client or writes)
    streams = int(flows)
    expect(1 <= streams <= MAX_STREAMS, 1, f"{streams} streams cannot be", "E-IMPORT-133")
    at: End = "receiver" if receives else "sender"
    facts = {"streams": streams, "client_sends": client != receives, "rounded": True}
    return _record("neper", 1, Printed.read(time), rate_Bps, at, {}, **facts)


# ntttcp for Linux: exact bytes of the end that printed them. Only a sender counts connections.

_NTTTCP = {
    "threads": re.compile(r"(\d{1,6}) threads created"),
    "streams": re.compile(r"(\d{1,6}) connections tested"),
    "time": re.compile(rf"test duration\s*:({NUMBER}) seconds"),
    "bytes": re.compile(r"total bytes\s*:(\d{1,19})"),
    "rate": re.compile(rf"throughput\s*:({NUMBER} ?[KMG]?bps)"),
    "again": re.compile(r"retrans segs\s*:(\d{1,12})"),
    "version": re.compile(r"NTTTCP for Linux (\S{1,20})"),
}
NTTTCP = re.compile(r"NTTTCP for Linux|#####  Totals:  #####")


@dataclass
class NtttcpRun(PrintedRun):
    keys: dict[str, str] = field(default_factory=dict)

    @staticmethod
    def _keys(line: str) -> dict[str, str]:
        line = re.sub(r"^(?:\d\d:\d\d:\d\d )?[A-Z]+: *", "", line).strip()
        each = {name: pattern.fullmatch(line) for name, pattern in _NTTTCP.items()}
        return {name: match[1] for name, match in each.items() if match}

    def is_over_at(self, line: str) -> bool:
        """True if a line says again what this run has said."""
        return bool(self.keys.keys() & self._keys(line).keys())

    def take(self, number: int, line: str) -> None:
        """Parse a line; what is not a figure may say anything."""
        whole = "interrupted" not in line
        expect(whole, number, "the run failed: it was interrupted", "E-IMPORT-134")
        self.keys |= self._keys(line)

    def record(self) -> Record:
        keys = self.keys
        whole = keys.keys() >= {"time", "bytes", "rate"}
        expect(whole, self.first, "the run has no totals", "E-IMPORT-135")
        unit = keys["rate"].lstrip("0123456789. ")
        rate = Printed.read(keys["rate"].removesuffix(unit).strip()).scaled(RATES_BPS[unit])
        at: End = "sender" if "streams" in keys else "receiver"
        streams = int(keys["streams"]) if "streams" in keys else None
        facts = {"streams": streams, "version": keys.get("version")}
        amounts_B: dict[str, int | None] = {at: int(keys["bytes"])}
        return _record(
            "ntttcp", self.first, Printed.read(keys["time"]), rate, at, amounts_B, **facts
        )


# kperf: one line a connection and direction, at the source and at the target.

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
    return _record("kperf", 1, time_s, rate_Bps, at, amounts_B, streams=streams)


# pScheduler's throughput test: JSON of the tool that it ran, at the end that it asked.


def of_pscheduler(doc: View) -> Record:
    result = doc.at("result") if "result" in doc else doc
    spec = doc
    for key in ("test", "spec"):
        spec = spec.at(key) if key in spec else spec
    if "succeeded" in result and result.at("succeeded").value is not True:
        why = result.at("error").words(2000)[:120] if "error" in result else "no reason given"
        raise result.at("succeeded").bad(f"the run failed: {why}", code="E-IMPORT-138")
    if "udp" in spec and spec.at("udp").value is True:
        raise spec.at("udp").bad("UDP run; results are of TCP only", code="E-IMPORT-139")
    whole = result.at("summary", "summary")
    streams = len(list(result.at("summary", "streams").items()))
    start_s, end_s = (whole.at(key).number(0, MAX_SECONDS) for key in ("start", "end"))
    received = "receiver-throughput-bits" in whole
    bits = whole.at("receiver-throughput-bits" if received else "throughput-bits").number(0, 8e18)
    samples = tuple(_samples_of_pscheduler(result))
    return _record(
        "pscheduler",
        doc.first_line,
        Printed(end_s - start_s, 0.05),
        Printed(bits / 8, 5e-3 * bits / 8),
        "receiver" if received else None,
        {},
        streams=min(MAX_STREAMS, max(1, streams)),
        samples=samples,
        mss_B=result.known("mss-size"),
        path_mtu_B=result.known("mtu", 65536),
        pacing_MBps=spec.at("bandwidth").number() / 8e6 or None if "bandwidth" in spec else None,
        rounded=True,
    )


def _samples_of_pscheduler(result: View) -> Iterator[Sample]:
    last_s: dict[int, float] = {}
    numbers: dict[int, int] = {}
    for stream in result.each("intervals", "streams"):
        if "omitted" in stream and stream.at("omitted").value is True:
            continue
        name = stream.at("stream-id").count()
        start_s, end_s = (stream.at(key).number(0, MAX_SECONDS) for key in ("start", "end"))
        follows = last_s.setdefault(name, -1.0) < end_s > start_s
        stream.expect(follows, "the interval does not follow the one before it", "E-IMPORT-141")
        last_s[name] = end_s
        rate_Bps = stream.at("throughput-bits").number(0, 8e18) / 8
        number, length_s = numbers.setdefault(name, len(numbers)), end_s - start_s
        yield Sample(number, end_s, length_s, round(rate_Bps * length_s))


# Formats that are named, and why they are not read.


def _refuse(reason: str, _text: str) -> NoReturn:
    raise damaged(1, reason, code="E-IMPORT-142")


NAMED = {
    "sockperf text": (
        re.compile(r"^sockperf(?:\[\w+\])?: ", re.MULTILINE),
        partial(_refuse, "sockperf measures latency and messages; it has no goodput of a stream"),
    ),
    "qperf text": (
        re.compile(r"^(?:tcp|udp|sctp|sdp|rds|rc|uc|ud|xrc)_\w+:$", re.MULTILINE),
        partial(_refuse, "qperf prints a rate without the bytes or the time of its run"),
    ),
    "ethr text": (
        re.compile(
            r"^\s*\[ *(?:ID|\d+|SUM)\] +(?:Protocol +Interval|(?:TCP|UDP|HTTPS?) +\d)", re.M
        ),
        partial(
            _refuse, "ethr prints a rate without the bytes of its run, rounded to three digits"
        ),
    ),
    "pScheduler text": (
        re.compile(r"^(?:Submitting task\.\.\.|Running with tool '|\* Stream ID \d)", re.MULTILINE),
        partial(
            _refuse,
            "pscheduler prints rates for people; `pscheduler task --format json throughput ...`, "
            "or `pscheduler result --format json URL`, prints the same run with its bytes",
        ),
    ),
    "crusader text": (
        re.compile(r"\bClient version \S+ running\b"),
        partial(
            _refuse, "crusader loads a link to measure its latency; its totals are not of a run"
        ),
    ),
}
