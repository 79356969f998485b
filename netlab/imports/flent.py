"""flent's data file: JSON with one series per netperf stream, rates in 10^6 bit/s.

``TCP upload`` went from the host that ran flent (the sender of the forward direction), ``TCP
download`` towards it. Series that flent computed from others are left out. Formats before 4 lack
the time zone of T0, the runner of a series and what netperf counted; latencies over UDP are
transactions a second.
"""

from __future__ import annotations

from datetime import UTC, datetime
from statistics import fmean

from netlab.outputs.json_access import View
from netlab.outputs.records import (
    MAX_SECONDS,
    MAX_STREAMS,
    MAX_UNIX_S,
    Flow,
    Record,
    Sample,
    sum_of,
)
from netlab.outputs.rounded import Printed

VERSIONS = (2, 3, 4)
STREAM_RUNNERS = ("NetperfDemoRunner", "IperfCsvRunner")
ZONE_STEP_S = 900
"""Every time zone is a multiple of it from UTC."""


def of_flent(doc: View) -> Record:
    version = doc.at("version")
    versions = ", ".join(map(str, VERSIONS))
    reason = f"format {version.count()}, this netlab reads {versions}"
    version.expect(version.count() in VERSIONS, reason, "E-IMPORT-005")
    metadata = doc.at("metadata")
    series = metadata.at("SERIES_META")
    series.expect(isinstance(series.value, dict), "is not an object", "E-IMPORT-006")
    raw = doc.at("raw_values")
    up = _streams_of_flent(series, raw, "TCP upload")
    down = _streams_of_flent(series, raw, "TCP download")
    series.expect(up or down, "no TCP stream among the series", "E-IMPORT-007")
    reason = f"{len(up)} streams up and {len(down)} down"
    series.expect(len(up) == len(down) or not (up and down), reason, "E-IMPORT-008")
    t0_unix_s = _t0(metadata.at("T0"), raw, [*up, *down])
    ways = ((up, "up"), (down, "down"))
    flows = [_flow_of_flent(doc, names, t0_unix_s, way) for names, way in ways if names]
    both = [series.at(name) for name in (*up, *down)]
    again = [str(one.at("TCP_RETRANSMIT").value) for one in both if "TCP_RETRANSMIT" in one]
    retransmits = [int(text) for text in again if text.isascii() and text.isdigit()]
    senders = [series.at(name) for name in up]
    rtts = [one.at("TCPI_RTT").number() for one in senders if "TCPI_RTT" in one]
    congestion = {one.at("CONG_CONTROL").words(40) for one in both if "CONG_CONTROL" in one}
    return Record.of(
        *("flent", doc.first_line, flows),
        version=metadata.at("FLENT_VERSION").words(40),
        client_sends=bool(up),
        started_unix_s=t0_unix_s,
        path_mtu_B=_same(both, "TCPI_PMTU"),
        mss_B=_same(both, "TCP_MSS"),
        record_length_B=_same(both, "SEND_SIZE"),
        congestion=congestion.pop() if len(congestion) == 1 else None,
        retransmits=sum(retransmits) if len(retransmits) == len(both) else None,
        rtt_us=fmean(rtts) if rtts and not down else None,
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
    began.expect(0 <= t0_unix_s <= MAX_UNIX_S, "is not a time of a measurement", "E-IMPORT-120")
    return t0_unix_s


def _pings(raw: View, version: int) -> dict[str, tuple[float, ...]]:
    pings = {}
    for name in raw.value if isinstance(raw.value, dict) else ():
        if name.startswith("Ping (ms)") and raw.at(name).value:
            values = [one.at("val") for one in raw.at(name).items() if "val" in one]
            rates = version < 4 and "UDP" in name
            pings[name] = tuple(
                1e3 / max(1e-6, one.number()) if rates else one.number(0, 1e7) for one in values
            )
    return {name: values for name, values in pings.items() if values}


def _streams_of_flent(series: View, raw: View, prefix: str) -> list[str]:
    names = []
    for name in series.value if isinstance(series.value, dict) else ():
        if not name.startswith(prefix):
            continue
        meta = series.at(name)
        runs = meta.at("RUNNER").words() in STREAM_RUNNERS if "RUNNER" in meta else name in raw
        if runs and (raw.at(name).value or "RUNNER" in meta):
            units = meta.at("UNITS")
            units.expect(units.words() == "Mbits/s", "a TCP stream is in Mbits/s", "E-IMPORT-010")
            names.append(name)
    series.expect(len(names) <= MAX_STREAMS, "too many streams", "E-IMPORT-011")
    return names


def _same(series: list[View], key: str) -> int | None:
    """A count that all streams that have it agree on."""
    counts = {one.at(key).count() for one in series if key in one}
    return (counts.pop() or None) if len(counts) == 1 else None


def _flow_of_flent(doc: View, names: list[str], t0_unix_s: float, way: str) -> Flow:
    rate_Mbps, samples, lengths = 0.0, [], []
    sent: list[int | None] = []
    received: list[int | None] = []
    for stream, name in enumerate(names):
        meta = doc.at("metadata", "SERIES_META", name)
        meta.expect("MEAN_VALUE" in meta, "the stream has no data", "E-IMPORT-012")
        mean = meta.at("MEAN_VALUE")
        timed = [one for one in doc.at("raw_values", name).items() if "val" in one]
        lengths.append(_length_s(meta, timed))
        for key, amounts in (("BYTES_SENT", sent), ("BYTES_RECVD", received)):
            amounts.append(meta.at(key).count() if key in meta else None)
        counted = received[-1] if received[-1] is not None else sent[-1]
        rate_Mbps += counted * 8e-6 / lengths[-1] if counted else mean.number(0, 1e9)
        # each is rounded to its digits, and an upload's mean is of what its sender counted
        shown = Printed.read(str(mean.number(0, 1e9)))
        both = [n * 8e-6 / lengths[-1] for n in (received[-1], sent[-1]) if n]
        agrees = not both or any(shown.agrees(one, 5e-3 * one / lengths[-1]) for one in both)
        mean.expect(agrees, "bytes, time and mean rate do not agree", "E-IMPORT-013")
        last_s = -MAX_SECONDS
        for one in timed:
            t_s = one.at("t").number(0, MAX_UNIX_S) - t0_unix_s
            length_s = one.at("dur").number(1e-6, MAX_SECONDS)
            bytes_ = one.at("val").number(0, 1e9) * length_s * 1e6 / 8
            one.expect(t_s > last_s, "the samples are not in order of time", "E-IMPORT-014")
            last_s = t_s
            samples.append(Sample(stream, t_s, length_s, round(bytes_)))
    received_B = sum_of(received) or None
    return Flow(
        streams=len(names),
        window_s=max(lengths),
        goodput_MBps=rate_Mbps / 8,
        measured_at="receiver" if received_B is not None or way == "down" else "sender",
        window_B=received_B,
        sent_B=sum_of(sent) or None,
        received_B=received_B,
        samples=tuple(samples),
    )


def _length_s(meta: View, timed: list[View]) -> float:
    """Duration of a stream: netperf's, or from its first sample to its last."""
    if "ELAPSED_TIME" in meta:
        return meta.at("ELAPSED_TIME").number(1e-6, MAX_SECONDS)
    meta.expect(timed, "the stream has no samples", "E-IMPORT-121")
    first, last = (one.at("t").number(0, MAX_UNIX_S) for one in (timed[0], timed[-1]))
    length_s = last - first + timed[0].at("dur").number(1e-6, MAX_SECONDS)
    ordered = 0 < length_s <= MAX_SECONDS
    timed[-1].expect(ordered, "the samples are not in order of time", "E-IMPORT-122")
    return length_s
