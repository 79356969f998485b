"""Tools that write JSON: iperf3 and flent."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial
from typing import Any, Literal

from netlab.errors import BadInput
from netlab.results.imports.records import (
    MAX_SECONDS,
    MAX_STREAMS,
    MAX_UNIX_S,
    Flow,
    Printed,
    Record,
    Runs,
    Sample,
    View,
    documents,
    each_of,
)

# iperf3 ``-J``: exact counts of the end that wrote it, and the other end's totals.

LOST_SHARE = 0.01
"""Share of the bytes that the intervals may lack: iperf3 omits a short last interval."""


def parse_iperf3(text: str) -> Runs:
    """Every test of a text: of a client, of a server's log, or streamed as it went."""
    tests = _tests(documents(text))
    began = [doc for doc in tests if isinstance(doc, BadInput) or not _never_started(doc)]
    return each_of(began or tests, _record_of_iperf3)


def _tests(found: list[View | BadInput]) -> list[View | BadInput]:
    """The documents of tests; the events of ``--json-stream`` make one, if no whole one follows."""
    tests: list[View | BadInput] = []
    streamed: View | None = None
    for doc in found:
        if isinstance(doc, BadInput):
            if streamed is not None and tests[-1] is streamed and "end" not in streamed:
                tests.pop()  # a damaged event
            tests.append(doc)
            continue
        if "event" not in doc:
            if streamed is not None and tests[-1] is streamed and not _never_started(doc):
                tests.pop()
            tests.append(doc)
            continue
        event, data = doc.at("event").words(), doc.at("data").value
        if event == "start" or streamed is None:
            streamed = View({"intervals": []}, (), "", doc.first_line)
            tests.append(streamed)
        of: Any = streamed.value
        if event == "interval":
            of["intervals"].append(data)
        else:
            of[event] = data
    return tests


def _never_started(doc: View) -> bool:
    """True of a server's last listen, or of a client that reached none."""
    empty: tuple[Any, ...] = ([], {}, None)
    start: Any = doc.at("start").value if "start" in doc else None
    end = doc.at("end").value if "end" in doc else None
    return isinstance(start, dict) and start.get("connected") in empty and end in empty


def _record_of_iperf3(doc: View) -> Record:
    never = "the test never started" if _never_started(doc) else ""
    if "error" in doc:
        why = f"the run failed: {doc.at('error').words()}"
        raise doc.at("error").bad(f"{never}; {why}" if never else why, code="E-IMPORT-045")
    if never:
        raise doc.bad(never, code="E-IMPORT-112")
    if "end" not in doc or doc.at("end").value == {}:
        raise doc.bad("the test did not end: it has no totals", code="E-IMPORT-145")
    start, end = doc.at("start"), doc.at("end")
    test = start.at("test_start")
    protocol = test.at("protocol")
    if protocol.words() != "TCP":
        raise protocol.bad(f"{protocol.words()} run; results are of TCP only", code="E-IMPORT-046")
    streams = test.at("num_streams").count(1, MAX_STREAMS)
    both = "sum_sent_bidir_reverse" in end
    is_server = "accepted_connection" in start
    local_sends = bool(test.at("reverse").count(0, 1)) == is_server
    connected = start.at("connected")
    sockets = [one.at("socket").count() for one in connected.items()]
    if len(sockets) != streams * (2 if both else 1) or len(set(sockets)) != len(sockets):
        raise connected.bad(
            f"{len(sockets)} connections for {streams} streams", code="E-IMPORT-047"
        )
    omit_s = test.at("omit").number(0, MAX_SECONDS)

    samples = _samples_of_iperf3(doc, sockets, omit_s, local_sends, both)
    sink_samples = None
    if "server_output_json" in doc and local_sends and not is_server and not both:
        answer = doc.at("server_output_json")
        theirs = [one.at("socket").count() for one in answer.at("start", "connected").items()]
        sink_samples = _samples_of_iperf3(answer, theirs, omit_s, False, False)[0]
    # a server that sends is not told what the client received
    of_all = partial(_flow_of_iperf3, end, streams=streams, omit_s=omit_s, serves=is_server)
    forward = of_all("", local_sends, samples[0], sink_samples)
    reverse = of_all("_bidir_reverse", not local_sends, samples[1], None) if both else None
    mss_B = _known(start, "tcp_mss_default")
    buffer_B = _known(start, "sock_bufsize")
    rtts = _of_senders(end, "mean_rtt")
    least = _of_senders(end, "min_rtt")
    cwnds = _last_cwnds(doc)
    sums = [end.at(f"sum_sent{part}") for part in ("", *(("_bidir_reverse",) if both else ()))]
    retransmits = None
    if all("retransmits" in one for one in sums):
        retransmits = sum(one.at("retransmits").count() for one in sums)
    paced = [_known(test, key) for key in ("target_bitrate", "fqrate")]
    cpu = end.at("cpu_utilization_percent") if "cpu_utilization_percent" in end else None
    return Record(
        tool="iperf3",
        version=start.at("version").words().removeprefix("iperf "),
        line=doc.first_line,
        forward=forward,
        reverse=reverse,
        client_sends=local_sends != is_server,
        streams=streams,
        started_unix_s=start.at("timestamp", "timesecs").number(0, MAX_UNIX_S),
        warmup_s=omit_s,
        wall_s=omit_s + max(flow.window_s for flow in (forward, reverse) if flow),
        path_mtu_B=_path_mtu(doc),
        mss_B=mss_B,
        record_length_B=test.at("blksize").count(1),
        buffer_B=buffer_B or 0,
        congestion=_congestion(end),
        pacing_MBps=min((rate / 8e6 for rate in paced if rate), default=None),
        retransmits=retransmits,
        rtt_us=sum(rtts) / len(rtts) if rtts else None,
        min_rtt_us=min(least) if least else None,
        cwnd_segments=sum(cwnds) / len(cwnds) / mss_B if cwnds and mss_B else None,
        sndbuf_B=_known(start, "sndbuf_actual") if buffer_B and (local_sends or both) else None,
        rcvbuf_B=_known(start, "rcvbuf_actual") if buffer_B and not local_sends else None,
        extras={
            "cpu_percent_of_one_core": {
                key: cpu.at(key).number() for key in ("host_total", "remote_total") if key in cpu
            }
        }
        if cpu is not None
        else {},
    )


def _known(view: View, key: str) -> int | None:
    """A count that iperf3 writes as 0 when it does not know it."""
    return (view.at(key).count() or None) if key in view else None


def _congestion(end: View) -> str | None:
    for key in ("sender_tcp_congestion", "receiver_tcp_congestion"):
        if key in end:
            return end.at(key).words(40)
    return None


def _of_senders(end: View, key: str) -> list[float]:
    found = []
    for stream in end.at("streams").items():
        sender = stream.at("sender") if "sender" in stream else None
        if sender is not None and key in sender and sender.at(key).number() > 0:
            found.append(sender.at(key).number())
    return found


def _last_cwnds(doc: View) -> list[float]:
    last = list(doc.at("intervals").items())[-1:]
    streams = [stream for one in last for stream in one.at("streams").items()]
    return [s.at("snd_cwnd").number() for s in streams if "snd_cwnd" in s]


def _path_mtu(doc: View) -> int | None:
    """The path MTU of the last interval; None for a socket that only received."""
    found = None
    for interval in doc.at("intervals").items():
        for stream in interval.at("streams").items():
            if "pmtu" in stream:
                found = stream.at("pmtu").count(0, 65536) or found
    return found


def _samples_of_iperf3(
    doc: View, sockets: list[int], omit_s: float, local_sends: bool, both: bool
) -> tuple[tuple[Sample, ...], tuple[Sample, ...]]:
    """Interval samples of the forward and of the reverse direction."""
    found: tuple[list[Sample], list[Sample]] = ([], [])
    numbers: tuple[dict[int, int], dict[int, int]] = ({}, {})
    last_s: dict[int, float] = {}
    for interval in doc.at("intervals").items():
        for stream in interval.at("streams").items():
            socket = stream.at("socket")
            if socket.count() not in sockets:
                raise socket.bad(
                    f"socket {socket.count()} was never connected", code="E-IMPORT-048"
                )
            omitted = stream.at("omitted").value is True
            sends = stream.at("sender").value is True if "sender" in stream else local_sends
            if not both and sends != local_sends:
                raise stream.bad("the direction differs from the run's", code="E-IMPORT-049")
            way = 1 if sends != local_sends else 0
            number = numbers[way].setdefault(socket.count(), len(numbers[way]))
            length_s = stream.at("seconds").number(0, MAX_SECONDS)
            t_s = stream.at("end").number(0, MAX_SECONDS) + (0.0 if omitted else omit_s)
            if length_s <= 0 and not stream.at("bytes").count():
                continue
            if length_s <= 0 or t_s <= last_s.get(socket.count(), 0.0):
                raise stream.bad(
                    "the interval does not follow the one before it", code="E-IMPORT-050"
                )
            last_s[socket.count()] = t_s
            found[way].append(
                Sample(number, t_s, length_s, stream.at("bytes").count(), not omitted)
            )
    return tuple(found[0]), tuple(found[1])


def _flow_of_iperf3(
    end: View,
    part: str,
    local_sends: bool,
    samples: tuple[Sample, ...],
    sink_samples: tuple[Sample, ...] | None,
    *,
    streams: int,
    omit_s: float,
    serves: bool,
) -> Flow:
    sent, received = end.at(f"sum_sent{part}"), end.at(f"sum_received{part}")
    sent_B, received_B = sent.at("bytes").count(), received.at("bytes").count()
    at: Literal["sender", "receiver"] = "receiver"
    counted, counted_B = received, received_B
    if received_B == 0 and sent_B and serves and local_sends:
        at, counted, counted_B = "sender", sent, sent_B
    elif received_B == 0:
        raise received.at("bytes").bad(
            "the receiver's count is zero or missing", code="E-IMPORT-051"
        )
    window_s = counted.at("seconds").number(1e-6, MAX_SECONDS)
    rate = counted.at("bits_per_second")
    if abs(rate.number() - 8 * counted_B / window_s) > 1e-3 * rate.number() + 1:
        raise rate.bad("bytes, seconds and bits_per_second do not agree", code="E-IMPORT-052")
    local, local_B = (sent, sent_B) if local_sends else (received, received_B)
    total = sum(sample.bytes for sample in samples if sample.in_window)
    if samples and abs(total - local_B) > LOST_SHARE * local_B:
        raise local.at("bytes").bad(
            f"the intervals sum to {total} bytes, the total is {local_B}", code="E-IMPORT-053"
        )
    per_stream = _streams_total(end, part, local_sends)
    if abs(per_stream - local_B) > LOST_SHARE * local_B:
        raise local.at("bytes").bad(
            f"the streams sum to {per_stream} bytes, the total is {local_B}", code="E-IMPORT-054"
        )
    return Flow(
        streams=streams,
        window_s=window_s,
        goodput_MBps=counted_B / window_s / 1e6,
        measured_at=at,
        window_B=counted_B,
        sent_B=sent_B if sent_B and not omit_s else None,
        received_B=None if omit_s else received_B or None,
        samples=sink_samples if sink_samples is not None else samples,
    )


def _streams_total(end: View, part: str, local_sends: bool) -> int:
    """Bytes that the local ends of one direction's streams moved."""
    role = "sender" if local_sends else "receiver"
    total = 0
    for stream in end.at("streams").items():
        one = stream.at(role)
        if "sender" not in one or (one.at("sender").value is True) == local_sends:
            total += one.at("bytes").count()
    return total


# flent's data file: JSON with one series per netperf stream, rates in 10^6 bit/s.
#
# ``TCP upload`` went from the host that ran flent (the sender of the forward direction), ``TCP
# download`` towards it. Series that flent computed from others are left out. Formats before 4 lack
# the time zone of T0, the runner of a series and what netperf counted; latencies over UDP are
# transactions a second.

VERSIONS = (2, 3, 4)
STREAM_RUNNERS = ("NetperfDemoRunner", "IperfCsvRunner")
ZONE_STEP_S = 900
"""Every time zone is a multiple of it from UTC."""


def parse_flent(text: str) -> Runs:
    """The record of a data file."""
    return each_of(documents(text), _record_of_flent)


def _record_of_flent(doc: View) -> Record:
    version = doc.at("version")
    if version.count() not in VERSIONS:
        known = ", ".join(map(str, VERSIONS))
        raise version.bad(
            f"format {version.count()}, this netlab reads {known}", code="E-IMPORT-005"
        )
    metadata = doc.at("metadata")
    series = metadata.at("SERIES_META")
    if not isinstance(series.value, dict):
        raise series.bad("is not an object", code="E-IMPORT-006")
    raw = doc.at("raw_values")
    up = _streams_of_flent(series, raw, "TCP upload")
    down = _streams_of_flent(series, raw, "TCP download")
    if not up and not down:
        raise series.bad("no TCP stream among the series", code="E-IMPORT-007")
    if up and down and len(up) != len(down):
        raise series.bad(f"{len(up)} streams up and {len(down)} down", code="E-IMPORT-008")
    t0_unix_s = _t0(metadata.at("T0"), raw, [*up, *down])
    flows = [
        _flow_of_flent(doc, names, t0_unix_s, way)
        for names, way in ((up, "up"), (down, "down"))
        if names
    ]
    both = [series.at(name) for name in (*up, *down)]
    senders = [series.at(name) for name in up]
    retransmits = [int(v) for v in _texts(both, "TCP_RETRANSMIT") if v.isascii() and v.isdigit()]
    rtts = [one.at("TCPI_RTT").number() for one in senders if "TCPI_RTT" in one]
    congestion = {one.at("CONG_CONTROL").words(40) for one in both if "CONG_CONTROL" in one}
    lengths = [flow.window_s for flow in flows]
    return Record(
        tool="flent",
        version=metadata.at("FLENT_VERSION").words(40),
        line=doc.first_line,
        forward=flows[0],
        reverse=flows[1] if len(flows) > 1 else None,
        client_sends=bool(up),
        streams=flows[0].streams,
        started_unix_s=t0_unix_s,
        wall_s=max(lengths),
        path_mtu_B=_same(both, "TCPI_PMTU"),
        mss_B=_same(both, "TCP_MSS"),
        record_length_B=_same(both, "SEND_SIZE"),
        congestion=congestion.pop() if len(congestion) == 1 else None,
        retransmits=sum(retransmits) if len(retransmits) == len(both) else None,
        rtt_us=sum(rtts) / len(rtts) if rtts and not down else None,
        ping_ms=_pings(raw, version.count()),
        extras={"test": metadata.at("NAME").words()},
    )


def _t0(began: View, raw: View, names: list[str]) -> float:
    """The start; where it lacks a zone, the one that brings it next to the first sample."""
    try:
        moment = datetime.fromisoformat(began.words())
        t0_unix_s = moment.replace(tzinfo=moment.tzinfo or UTC).timestamp()
    except (ValueError, OverflowError, OSError):
        raise began.bad("is not a time", code="E-IMPORT-009") from None
    if moment.tzinfo is None:
        first = [next(raw.at(name).items()) for name in names if raw.at(name).value]
        off_s = t0_unix_s - min((one.at("t").number() for one in first), default=t0_unix_s)
        t0_unix_s -= round(off_s / ZONE_STEP_S) * ZONE_STEP_S
    if not 0 <= t0_unix_s <= MAX_UNIX_S:
        raise began.bad("is not a time of a measurement", code="E-IMPORT-120")
    return t0_unix_s


def _pings(raw: View, version: int) -> dict[str, tuple[float, ...]]:
    """The latencies that were measured beside the streams, by series."""
    found = {}
    for name in raw.value if isinstance(raw.value, dict) else ():
        if name.startswith("Ping (ms)") and raw.at(name).value:
            values = [one.at("val") for one in raw.at(name).items() if "val" in one]
            rates = version < 4 and "UDP" in name
            found[name] = tuple(
                1e3 / max(1e-6, one.number()) if rates else one.number(0, 1e7) for one in values
            )
    return {name: values for name, values in found.items() if values}


def _streams_of_flent(series: View, raw: View, prefix: str) -> list[str]:
    found = []
    names = series.value if isinstance(series.value, dict) else {}
    for name in names:
        if not name.startswith(prefix):
            continue
        meta = series.at(name)
        runs = meta.at("RUNNER").words() in STREAM_RUNNERS if "RUNNER" in meta else name in raw
        if runs and (raw.at(name).value or "RUNNER" in meta):
            units = meta.at("UNITS")
            if units.words() != "Mbits/s":
                raise units.bad("a TCP stream is in Mbits/s", code="E-IMPORT-010")
            found.append(name)
    if len(found) > MAX_STREAMS:
        raise series.bad("too many streams", code="E-IMPORT-011")
    return found


def _texts(series: list[View], key: str) -> list[str]:
    return [str(one.at(key).value) for one in series if key in one]


def _same(series: list[View], key: str) -> int | None:
    """A count that all streams that have it agree on."""
    found = {one.at(key).count() for one in series if key in one}
    return (found.pop() or None) if len(found) == 1 else None


def _total(amounts: list[int | None]) -> int | None:
    """Sum of all streams, None if one is unknown or there is none."""
    known = [amount for amount in amounts if amount is not None]
    return sum(known) or None if len(known) == len(amounts) else None


def _flow_of_flent(doc: View, names: list[str], t0_unix_s: float, way: str) -> Flow:
    rate_Mbps, samples, lengths = 0.0, [], []
    sent: list[int | None] = []
    received: list[int | None] = []
    for stream, name in enumerate(names):
        meta = doc.at("metadata", "SERIES_META", name)
        if "MEAN_VALUE" not in meta:
            raise meta.bad("the stream has no data", code="E-IMPORT-012")
        mean = meta.at("MEAN_VALUE")
        timed = [one for one in doc.at("raw_values", name).items() if "val" in one]
        lengths.append(_length_s(meta, timed))
        for key, into in (("BYTES_SENT", sent), ("BYTES_RECVD", received)):
            into.append(meta.at(key).count() if key in meta else None)
        counted = received[-1] if received[-1] is not None else sent[-1]
        rate = counted * 8e-6 / lengths[-1] if counted else mean.number(0, 1e9)
        # each is rounded to its digits, and an upload's mean is of what its sender counted
        told = Printed.read(str(mean.number(0, 1e9)))
        both = [n * 8e-6 / lengths[-1] for n in (received[-1], sent[-1]) if n]
        if both and not any(told.agrees(one, 5e-3 * one / lengths[-1]) for one in both):
            raise mean.bad("bytes, time and mean rate do not agree", code="E-IMPORT-013")
        rate_Mbps += rate
        last_s = -MAX_SECONDS
        for one in timed:
            t_s = one.at("t").number(0, MAX_UNIX_S) - t0_unix_s
            length_s = one.at("dur").number(1e-6, MAX_SECONDS)
            bytes_ = one.at("val").number(0, 1e9) * length_s * 1e6 / 8
            if t_s <= last_s:
                raise one.bad("the samples are not in order of time", code="E-IMPORT-014")
            last_s = t_s
            samples.append(Sample(stream, t_s, length_s, round(bytes_)))
    received_B = _total(received)
    return Flow(
        streams=len(names),
        window_s=max(lengths),
        goodput_MBps=rate_Mbps / 8,
        measured_at="receiver" if received_B is not None or way == "down" else "sender",
        window_B=received_B,
        sent_B=_total(sent),
        received_B=received_B,
        samples=tuple(samples),
    )


def _length_s(meta: View, timed: list[View]) -> float:
    """Duration of a stream: netperf's, or from its first sample to its last."""
    if "ELAPSED_TIME" in meta:
        return meta.at("ELAPSED_TIME").number(1e-6, MAX_SECONDS)
    if not timed:
        raise meta.bad("the stream has no samples", code="E-IMPORT-121")
    first, last = (one.at("t").number(0, MAX_UNIX_S) for one in (timed[0], timed[-1]))
    length_s = last - first + timed[0].at("dur").number(1e-6, MAX_SECONDS)
    if not 0 < length_s <= MAX_SECONDS:
        raise timed[-1].bad("the samples are not in order of time", code="E-IMPORT-122")
    return length_s
