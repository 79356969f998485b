"""netperf, neper, ntttcp, kperf and pScheduler: a total a run, of the end that each names."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from netlab.results.imports.records import (
    MAX_SECONDS,
    MAX_STREAMS,
    NUMBER,
    Flow,
    Printed,
    PrintedRun,
    Record,
    Runs,
    Sample,
    View,
    check_rate,
    damaged,
    documents,
    each_of,
    printed_runs,
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
    at: str | None,
    *,
    streams: int | None,
    amounts_B: dict[str, int | None],
    samples: tuple[Sample, ...] = (),
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
    if not rate_Bps.value:
        raise damaged(line, "the run moved nothing", code="E-IMPORT-123")
    flow = Flow(
        streams=streams or 0,
        window_s=time_s.value,
        goodput_MBps=rate_Bps.value / 1e6,
        measured_at=at,  # type: ignore[arg-type]
        window_B=counted or round(amount_B.value),
        sent_B=amounts_B.get("sender"),
        received_B=received_B,
        samples=samples,
    )
    facts = {"wall_s": time_s.value, "rounded": counted is None} | facts
    return Record(tool=tool, line=line, forward=flow, streams=streams, **facts)


def _lines(text: str) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(re.split(r"\r\n|\n|\r", text), start=1):
        if line := line.strip():
            yield number, line


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


def parse_netperf(text: str) -> Runs:
    """Every run of a text."""
    found: list[tuple[int, str, dict[str, str], tuple[Sample, ...]]] = []
    test, unit, first, begun = "", "", 1, False
    keys: dict[str, str] = {}
    heads: list[str] = []
    samples: list[Sample] = []

    def end(*, missing: bool = False) -> None:
        nonlocal keys, begun
        if keys or missing:
            found.append((first, test, keys, tuple(samples)))
            samples.clear()
        keys, begun = {}, False

    for number, line in _lines(text):
        if banner := _BANNER.fullmatch(line):
            end(missing=begun)
            test, unit, heads, first, begun = banner["test"], "", [], number, True
        elif key := _KEY.fullmatch(line):
            if key["key"] in keys:
                end()
            first = first if keys else number
            keys[key["key"]] = key["value"]
        elif interim := _INTERIM.fullmatch(line):
            rate_Bps = float(interim["rate"]) * _scale(interim["unit"])
            length_s = float(interim["time"])
            before_s = samples[-1].t_s if samples else 0.0
            if rate_Bps and 0 < length_s <= MAX_SECONDS:
                moved = round(rate_Bps * length_s)
                samples.append(Sample(0, before_s + length_s, length_s, moved))
        elif heads and line.count(",") == len(heads) - 1:
            end()
            first, keys = number, dict(zip(heads, line.split(","), strict=True))
        elif "," in line and "Throughput" in line:
            named = [head.strip() for head in line.split(",")]
            heads = [_HEADS.get(head, head.upper().replace(" ", "_")) for head in named]
        elif match := _UNIT.search(line):
            unit = match["unit"]
        elif (row := _CLASSIC.fullmatch(line)) and test:
            end()
            keys = {
                **{
                    "THROUGHPUT": row["rate"],
                    "THROUGHPUT_UNITS": unit,
                    "ELAPSED_TIME": row["time"],
                },
                "LOCAL_SEND_SIZE": row["record"],
            }
            end()
    end(missing=begun or not found)
    return each_of(found, lambda run: _of_keys(*run))


def _scale(unit: str) -> float:
    return RATES_BPS.get(unit.removesuffix("ec").removesuffix("/s"), 0.0)


def _unit(line: int, text: str) -> float:
    if not (scale := _scale(text)):
        raise damaged(line, f"not a rate in bits or bytes: {text[:40]!r}", code="E-IMPORT-125")
    return scale


def _of_keys(line: int, test: str, keys: dict[str, str], samples: tuple[Sample, ...]) -> Record:
    """A run of netperf by its output selectors."""

    def number(key: str) -> Printed:
        if not re.fullmatch(NUMBER, keys.get(key, "")):
            raise damaged(line, f"{key} is not a number", code="E-IMPORT-126")
        return Printed.read(keys[key])

    def count(key: str) -> int | None:
        return int(keys[key]) if re.fullmatch(r"\d{1,15}", keys.get(key, "")) else None

    test, direction = test.upper().replace("_", " "), keys.get("DIRECTION", "")
    if "UDP" in (keys.get("PROTOCOL"), test[:3]):
        raise damaged(line, "UDP run; results are of TCP only", code="E-IMPORT-127")
    if "REQUEST" in test or "|" in direction:
        raise damaged(line, "request and response; it has no goodput", code="E-IMPORT-128")
    if not keys:
        raise damaged(line, "netperf printed no result", code="E-IMPORT-124")
    sends: bool | None = None
    if re.match("Send|Rec", direction):
        sends = direction.startswith("Send")
    elif re.search("STREAM|SENDFILE|SEND|MAERTS|RECE", test):
        sends = re.search("MAERTS|RECE", test) is None
    near, far = ("sender", "receiver") if sends is not False else ("receiver", "sender")
    done = {"sender": "BYTES_SENT", "receiver": "BYTES_RECVD"}
    return _record(
        "netperf",
        line,
        number("ELAPSED_TIME"),
        _scaled(number("THROUGHPUT"), _unit(line, keys.get("THROUGHPUT_UNITS") or "10^6bits")),
        None if sends is None else near,
        streams=1,
        amounts_B={}
        if sends is None
        else {near: count(f"LOCAL_{done[near]}"), far: count(f"REMOTE_{done[far]}")},
        samples=samples,
        client_sends=sends,
        mss_B=count("TRANSPORT_MSS"),
        record_length_B=count("LOCAL_SEND_SIZE") if sends else None,
        congestion=(keys.get("LOCAL_CONG_CONTROL" if sends else "REMOTE_CONG_CONTROL") or None),
        retransmits=count("LOCAL_TRANSPORT_RETRANS") if sends else None,
    )


def _scaled(number: Printed, scale: float) -> Printed:
    return Printed(number.value * scale, number.error * scale)


# neper's tcp_stream: key=value of one end.

NEPER = re.compile(r"^(?:local_throughput|throughput_units|invalid_secret_count)=", re.MULTILINE)


def parse_neper(text: str) -> Runs:
    """The run of one end."""
    keys = dict(line.split("=", 1) for _, line in _lines(text) if re.match(r"\w+=", line))
    unit, rate = keys.get("throughput_units"), keys.get("throughput", "")
    if unit is None:
        raise damaged(1, "request and response; it has no goodput", code="E-IMPORT-129")
    numbers = (rate, keys.get("total_run_time", ""), keys.get("num_flows", ""))
    if not all(re.fullmatch(NUMBER, one) for one in numbers) or "." in numbers[2]:
        raise damaged(1, "throughput, total_run_time or num_flows is missing", code="E-IMPORT-130")
    rate_Bps = _scaled(Printed.read(rate), _unit(1, unit))
    if re.fullmatch(r"\d{1,18}", exact := keys.get("local_throughput", "")):
        if not rate_Bps.agrees(int(exact) / 8):
            raise damaged(1, "throughput and local_throughput do not agree", code="E-IMPORT-131")
        rate_Bps = Printed(int(exact) / 8, 0.5)
    client = keys.get("client", "") in ("1", "true")
    reads, writes = (keys.get(f"enable_{what}") in ("1", "true") for what in ("read", "write"))
    if reads and writes:
        raise damaged(1, "both directions in one rate", code="E-IMPORT-132")
    receives = reads or not (client or writes)
    streams = int(numbers[2])
    if not 1 <= streams <= MAX_STREAMS:
        raise damaged(1, f"{streams} streams cannot be", code="E-IMPORT-133")
    return (
        _record(
            "neper",
            1,
            Printed.read(numbers[1]),
            rate_Bps,
            "receiver" if receives else "sender",
            streams=streams,
            amounts_B={},
            client_sends=client != receives,
            rounded=True,
        ),
    )


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


def parse_ntttcp(text: str) -> Runs:
    """Every run of a text."""
    return printed_runs(text, _NtttcpRun, code="E-IMPORT-147")


@dataclass
class _NtttcpRun(PrintedRun):
    """One run while it is parsed."""

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
        if "interrupted" in line:
            raise damaged(number, "the run failed: it was interrupted", code="E-IMPORT-134")
        self.keys |= self._keys(line)

    def record(self) -> Record:
        """Return the run after its last line."""
        if not self.keys.keys() >= {"time", "bytes", "rate"}:
            raise damaged(self.first, "the run has no totals", code="E-IMPORT-135")
        unit = self.keys["rate"].lstrip("0123456789. ")
        at = "sender" if "streams" in self.keys else "receiver"
        return _record(
            "ntttcp",
            self.first,
            Printed.read(self.keys["time"]),
            _scaled(Printed.read(self.keys["rate"].removesuffix(unit).strip()), RATES_BPS[unit]),
            at,
            streams=int(self.keys["streams"]) if at == "sender" else None,
            amounts_B={at: int(self.keys["bytes"])},
            version=self.keys.get("version"),
        )


# kperf: one line a connection and direction, at the source and at the target.

_KPERF = re.compile(
    rf"(?:\S+: +)?(?P<way>[TR])x +(?P<rate>{NUMBER}) Gbps "
    r"\((?P<bytes>\d{1,19}) bytes in (?P<time>\d{1,12}) usec\)"
)
KPERF = re.compile(r"== (?:Source|Target) |^retrans,reord,ce,rtt,", re.MULTILINE)


def parse_kperf(text: str) -> Runs:
    """The run of a text: sent at its source, received at its target, or the reverse."""
    moved: dict[tuple[str, str], list[int]] = {}
    side, time_us = "", 0
    for number, line in _lines(text):
        if where := re.search(r"== (Source|Target) ", line):
            side = where[1]
        elif match := _KPERF.fullmatch(line):
            time_s = Printed(int(match["time"]) / 1e6, 5e-7)
            rate_Bps = _scaled(Printed.read(match["rate"]), 1e9 / 8)
            check_rate(number, Printed(int(match["bytes"]), 0.5), time_s, rate_Bps)
            time_us = max(time_us, int(match["time"]))
            if int(match["bytes"]):
                moved.setdefault((side, match["way"]), []).append(int(match["bytes"]))
    forward = moved.get(("Target", "R")), moved.get(("Source", "T"))
    back = moved.get(("Source", "R")), moved.get(("Target", "T"))
    if not time_us or not any(forward):
        raise damaged(
            1, "no rate with its bytes and time; kperf's CSV has no time", code="E-IMPORT-136"
        )
    if any(back):
        raise damaged(1, "both directions; netlab reads kperf's one way", code="E-IMPORT-137")
    read, sent = (sum(each) if each else None for each in forward)
    streams = max(len(each) for each in forward if each)
    time_s = Printed(time_us / 1e6, 5e-7)
    return (
        _record(
            "kperf",
            1,
            time_s,
            Printed((read or sent or 0) / time_s.value, 1.0),
            "receiver" if read else "sender",
            streams=streams,
            amounts_B={"receiver": read, "sender": sent},
        ),
    )


# pScheduler's throughput test: JSON of the tool that it ran, at the end that it asked.


def parse_pscheduler(text: str) -> Runs:
    """Every result of a text."""
    return each_of(documents(text), _of_pscheduler)


def _of_pscheduler(doc: View) -> Record:
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
    time_s = Printed(end_s - start_s, 0.05)
    key = "receiver-throughput-bits"
    at = "receiver" if key in whole else None
    rate = whole.at(key if at else "throughput-bits")
    bits = rate.number(0, 8e18)
    samples = tuple(_samples_of_pscheduler(result))
    paced = spec.at("bandwidth").number() / 8e6 if "bandwidth" in spec else None
    return _record(
        "pscheduler",
        doc.first_line,
        time_s,
        Printed(bits / 8, 5e-3 * bits / 8),
        at,
        streams=min(MAX_STREAMS, max(1, streams)),
        amounts_B={},
        samples=samples,
        mss_B=result.at("mss-size").count() or None if "mss-size" in result else None,
        path_mtu_B=result.at("mtu").count(0, 65536) or None if "mtu" in result else None,
        pacing_MBps=paced or None,
        rounded=True,
    )


def _samples_of_pscheduler(result: View) -> Iterator[Sample]:
    """The intervals of each stream within the summary."""
    last_s: dict[int, float] = {}
    numbers: dict[int, int] = {}
    for interval in result.at("intervals").items():
        for stream in interval.at("streams").items():
            if "omitted" in stream and stream.at("omitted").value is True:
                continue
            name = stream.at("stream-id").count()
            number = numbers.setdefault(name, len(numbers))
            start_s, end_s = (stream.at(key).number(0, MAX_SECONDS) for key in ("start", "end"))
            if not last_s.get(name, -1.0) < end_s > start_s:
                raise stream.bad(
                    "the interval does not follow the one before it", code="E-IMPORT-141"
                )
            last_s[name] = end_s
            rate_Bps = stream.at("throughput-bits").number(0, 8e18) / 8
            yield Sample(number, end_s, end_s - start_s, round(rate_Bps * (end_s - start_s)))


# Formats that are named, and why they are not read.

NAMED = {
    "sockperf text": (
        re.compile(r"^sockperf(?:\[\w+\])?: ", re.MULTILINE),
        "sockperf measures latency and messages; it has no goodput of a stream",
    ),
    "crusader text": (
        re.compile(r"\bClient version \S+ running\b"),
        "crusader loads a link to measure its latency; its totals are not of a run",
    ),
}


def refusal(reason: str) -> Callable[[str], Runs]:
    """A reader of a format that is named only."""

    def parse(_: str) -> Runs:
        raise damaged(1, reason, code="E-IMPORT-142")

    return parse
