"""pScheduler's throughput test: JSON of the tool that it ran, at the end that it asked."""

from __future__ import annotations

from collections.abc import Iterator

from netlab.imports.totals import total_record
from netlab.outputs.json_access import View
from netlab.outputs.records import MAX_SECONDS, MAX_STREAMS, Record, Sample
from netlab.outputs.rounded import Printed


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
    return total_record(
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
