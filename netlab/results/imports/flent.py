"""flent's data file, format 4: JSON with one series per netperf stream, rates in 10^6 bit/s.

``TCP upload`` went from the host that ran flent (the sender of the forward direction),
``TCP download`` towards it. Series that flent computed from others are left out.
"""

from __future__ import annotations

from datetime import datetime

from netlab.results.imports.jsonview import View, documents
from netlab.results.imports.records import (
    MAX_SECONDS,
    MAX_STREAMS,
    MAX_UNIX_S,
    Flow,
    Record,
    Sample,
)

VERSION = 4
STREAM_RUNNERS = ("NetperfDemoRunner", "IperfCsvRunner")


def detect(text: str) -> bool:
    """True if a text looks like flent's JSON, complete or not."""
    head = text.lstrip()[:4096]
    return head.startswith("{") and '"metadata"' in text and '"start"' not in head


def parse(text: str) -> tuple[Record, ...]:
    """The record of a data file."""
    return tuple(_record(document) for document in documents(text))


def _record(doc: View) -> Record:
    version = doc.at("version")
    if version.count() != VERSION:
        raise version.bad(
            f"format {version.count()}, this netlab reads {VERSION}", code="E-IMPORT-005"
        )
    metadata = doc.at("metadata")
    series = metadata.at("SERIES_META")
    if not isinstance(series.value, dict):
        raise series.bad("is not an object", code="E-IMPORT-006")
    up = _streams(series, "TCP upload")
    down = _streams(series, "TCP download")
    if not up and not down:
        raise series.bad("no TCP stream among the series", code="E-IMPORT-007")
    if up and down and len(up) != len(down):
        raise series.bad(f"{len(up)} streams up and {len(down)} down", code="E-IMPORT-008")
    began = metadata.at("T0")
    try:
        moment = datetime.fromisoformat(began.words())
        t0_unix_s = moment.timestamp() if moment.tzinfo else None
    except (ValueError, OverflowError, OSError):
        t0_unix_s = None
    if t0_unix_s is None or not 0 <= t0_unix_s <= MAX_UNIX_S:
        raise began.bad("is not a time with a time zone", code="E-IMPORT-009")
    flows = [
        _flow(doc, names, t0_unix_s, way) for names, way in ((up, "up"), (down, "down")) if names
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
        extras={"test": metadata.at("NAME").words()},
    )


def _streams(series: View, prefix: str) -> list[str]:
    found = []
    names = series.value if isinstance(series.value, dict) else {}
    for name in names:
        if not name.startswith(prefix):
            continue
        meta = series.at(name)
        if meta.at("RUNNER").words() in STREAM_RUNNERS:
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


def _flow(doc: View, names: list[str], t0_unix_s: float, way: str) -> Flow:
    rate_Mbps, samples, lengths = 0.0, [], []
    sent: list[int | None] = []
    received: list[int | None] = []
    for stream, name in enumerate(names):
        meta = doc.at("metadata", "SERIES_META", name)
        if "MEAN_VALUE" not in meta:
            raise meta.bad("the stream has no data", code="E-IMPORT-012")
        rate_Mbps += meta.at("MEAN_VALUE").number(0, 1e9)
        lengths.append(meta.at("ELAPSED_TIME").number(1e-6, MAX_SECONDS))
        for key, into in (("BYTES_SENT", sent), ("BYTES_RECVD", received)):
            into.append(meta.at(key).count() if key in meta else None)
        counted = received[-1] if received[-1] is not None else sent[-1]
        if counted:
            rate = counted * 8e-6 / lengths[-1]
            if abs(rate - meta.at("MEAN_VALUE").number()) > 0.01 * rate:
                raise meta.at("MEAN_VALUE").bad(
                    "bytes, time and mean rate do not agree", code="E-IMPORT-013"
                )
        last_s = 0.0
        for one in doc.at("raw_values", name).items():
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
