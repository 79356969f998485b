"""iperf3 ``-J``: exact counts of the end that wrote it, and the other end's totals."""

from __future__ import annotations

from functools import partial
from statistics import fmean
from typing import Any

from netlab.errors import BadInput
from netlab.outputs.json_access import View, documents
from netlab.outputs.records import (
    MAX_SECONDS,
    MAX_STREAMS,
    MAX_UNIX_S,
    Datagrams,
    Flow,
    Record,
    Sample,
    sum_of,
)
from netlab.units import plain

LOST_SHARE = 0.01
"""Share of the bytes that intervals may lack: iperf3 omits a short last one.

Intervals that lack more are left out. Since 3.16 one thread resets a count that another adds to.
"""


def tests_of_iperf3(text: str) -> list[View | BadInput]:
    """Every test of a text: of a client, of a server's log, or streamed as it went."""
    tests = _tests(documents(text))
    return [d for d in tests if isinstance(d, BadInput) or not _never_started(d)] or tests


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


def of_iperf3(doc: View) -> Record:
    never = "the test never started" if _never_started(doc) else ""
    if "error" in doc:
        why = f"the run failed: {doc.at('error').words()}"
        raise doc.at("error").bad(f"{never}; {why}" if never else why, code="E-IMPORT-045")
    doc.expect(not never, never, "E-IMPORT-112")
    ended = "end" in doc and doc.at("end").value != {}
    doc.expect(ended, "the test did not end: it has no totals", "E-IMPORT-145")
    start, end = doc.at("start"), doc.at("end")
    test = start.at("test_start")
    protocol = test.at("protocol")
    reason = f"{protocol.words()} run; results are of TCP and UDP only"
    protocol.expect(protocol.value in ("TCP", "UDP"), reason, "E-IMPORT-046")
    streams = test.at("num_streams").count(1, MAX_STREAMS)
    both = "sum_sent_bidir_reverse" in end
    is_server = "accepted_connection" in start
    local_sends = bool(test.at("reverse").count(0, 1)) == is_server
    connected = start.at("connected")
    sockets = [one.at("socket").count() for one in connected.items()]
    whole = len(sockets) == len(set(sockets)) == streams * (2 if both else 1)
    connected.expect(whole, f"{len(sockets)} connections for {streams} streams", "E-IMPORT-047")
    omit_s = test.at("omit").number(0, MAX_SECONDS)

    samples = _samples_of_iperf3(doc, sockets, omit_s, local_sends, both)
    sink_samples = None
    if "server_output_json" in doc and local_sends and not is_server and not both:
        answer = doc.at("server_output_json")
        theirs = [one.at("socket").count() for one in answer.at("start", "connected").items()]
        sink_samples = _samples_of_iperf3(answer, theirs, omit_s, False, False)[0]
    # a server that sends does not learn what the client received
    of_all = partial(_flow_of_iperf3, end, streams=streams, omit_s=omit_s, serves=is_server)
    flows = [of_all("", local_sends, samples[0], sink_samples)]
    flows += [of_all("_bidir_reverse", not local_sends, samples[1], None)] if both else []
    mss_B, buffer_B = start.known("tcp_mss_default"), start.known("sock_bufsize")
    rtts, least = (_of_senders(end, key) for key in ("mean_rtt", "min_rtt"))
    cwnds = _last_cwnds(doc)
    sums = [end.at(f"sum_sent{part}") for part in ("", "_bidir_reverse")[: len(flows)]]
    again = [one.at("retransmits").count() if "retransmits" in one else None for one in sums]
    paced = [test.known(key) for key in ("target_bitrate", "fqrate")]
    cpu = end.at("cpu_utilization_percent") if "cpu_utilization_percent" in end else None
    names = [key for key in ("host_total", "remote_total") if cpu and key in cpu]
    spent = {key: cpu.at(key).number() for key in names} if cpu else {}
    return Record.of(
        *("iperf3", doc.first_line, flows),
        version=start.at("version").words().removeprefix("iperf "),
        client_sends=local_sends != is_server,
        started_unix_s=start.at("timestamp", "timesecs").number(0, MAX_UNIX_S),
        warmup_s=omit_s,
        path_mtu_B=_path_mtu(doc),
        mss_B=mss_B,
        record_length_B=test.at("blksize").count(1),
        buffer_B=buffer_B or 0,
        congestion=_congestion(end),
        pacing_MBps=min((rate / 8e6 for rate in paced if rate), default=None),
        retransmits=sum_of(again),
        rtt_us=fmean(rtts) if rtts else None,
        min_rtt_us=min(least) if least else None,
        cwnd_segments=fmean(cwnds) / mss_B if cwnds and mss_B else None,
        sndbuf_B=start.known("sndbuf_actual") if buffer_B and (local_sends or both) else None,
        rcvbuf_B=start.known("rcvbuf_actual") if buffer_B and not local_sends else None,
        extras={"cpu_percent_of_one_core": spent} if cpu else {},
        test_id=start.at("cookie").words() if "cookie" in start else None,
    )


def _congestion(end: View) -> str | None:
    keys = ("sender_tcp_congestion", "receiver_tcp_congestion")
    return next((end.at(key).words(40) for key in keys if key in end), None)


def _of_senders(end: View, key: str) -> list[float]:
    senders = [stream.at("sender") for stream in end.each("streams") if "sender" in stream]
    return [n for one in senders if key in one and (n := one.at(key).number()) > 0]


def _last_cwnds(doc: View) -> list[float]:
    streams = [stream for one in [*doc.each("intervals")][-1:] for stream in one.each("streams")]
    return [s.at("snd_cwnd").number() for s in streams if "snd_cwnd" in s]


def _path_mtu(doc: View) -> int | None:
    """The path MTU of the last interval; None for a socket that only received."""
    mtus_B = [stream.known("pmtu", 65536) for stream in doc.each("intervals", "streams")]
    return next(filter(None, reversed(mtus_B)), None)


def _samples_of_iperf3(
    doc: View, sockets: list[int], omit_s: float, local_sends: bool, both: bool
) -> tuple[tuple[Sample, ...], tuple[Sample, ...]]:
    samples: tuple[list[Sample], list[Sample]] = ([], [])
    numbers: tuple[dict[int, int], dict[int, int]] = ({}, {})
    last_s: dict[int, float] = {}
    for stream in doc.each("intervals", "streams"):
        socket = stream.at("socket").count()
        reason = f"socket {socket} was never connected"
        stream.at("socket").expect(socket in sockets, reason, "E-IMPORT-048")
        omitted = stream.at("omitted").value is True
        sends = stream.at("sender").value is True if "sender" in stream else local_sends
        way = 1 if sends != local_sends else 0
        stream.expect(both or not way, "the direction differs from the run's", "E-IMPORT-049")
        number = numbers[way].setdefault(socket, len(numbers[way]))
        length_s = stream.at("seconds").number(0, MAX_SECONDS)
        t_s = stream.at("end").number(0, MAX_SECONDS) + (0.0 if omitted else omit_s)
        bytes_ = stream.at("bytes").count()
        if length_s <= 0 and not bytes_:
            continue
        follows = length_s > 0 and t_s > last_s.get(socket, 0.0)
        stream.expect(follows, "the interval does not follow the one before it", "E-IMPORT-050")
        last_s[socket] = t_s
        samples[way].append(Sample(number, t_s, length_s, bytes_, not omitted))
    return tuple(samples[0]), tuple(samples[1])


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
    sender_only = received_B == 0 and sent_B and serves and local_sends
    reason = "the receiver's count is zero or missing"
    received.at("bytes").expect(received_B or sender_only, reason, "E-IMPORT-051")
    counted, counted_B = (sent, sent_B) if sender_only else (received, received_B)
    window_s = counted.at("seconds").number(1e-6, MAX_SECONDS)
    rate = counted.at("bits_per_second")
    agrees = abs(rate.number() - 8 * counted_B / window_s) <= 1e-3 * rate.number() + 1
    rate.expect(agrees, "bytes, seconds and bits_per_second do not agree", "E-IMPORT-052")
    local, local_B = (sent, sent_B) if local_sends else (received, received_B)
    datagrams = _datagrams(end, sent, received, local_sends) if "packets" in received else None
    lost, end_s = _lost_share(samples, local_B), max((s.t_s for s in samples), default=0.0)
    all_s = omit_s + window_s
    ends = not samples or end_s > all_s - max(s.interval_s for s in samples) / 2
    after = f"{plain(end_s, '.3g')} of {plain(all_s, '.3g')} s"
    reason = f"the intervals end after {after}, or have more than the total"
    fits = lost >= -LOST_SHARE and (ends or lost <= LOST_SHARE)
    local.at("bytes").expect(fits, reason, "E-IMPORT-053")
    if sink_samples and abs(_lost_share(sink_samples, received_B)) <= LOST_SHARE:
        samples, lost = sink_samples, 0.0
    elif datagrams and local_sends and not sender_only:
        samples, lost = (), 0.0  # with datagrams that were not received
    note = f"intervals without {plain(100 * lost, '.2g')} % of the bytes are left out"
    note = note if lost > LOST_SHARE else ""
    per_stream = _streams_total(end, part, local_sends)
    # of UDP each stream has the sender's bytes, also at the receiver
    total_B = sent_B if datagrams else local_B
    fits = abs(per_stream - total_B) <= LOST_SHARE * total_B
    reason = f"the streams sum to {per_stream} bytes, the total is {total_B}"
    local.at("bytes").expect(fits, reason, "E-IMPORT-054")
    return Flow(
        streams=streams,
        window_s=window_s,
        goodput_MBps=counted_B / window_s / 1e6,
        measured_at="sender" if sender_only else "receiver",
        window_B=counted_B,
        sent_B=sent_B if sent_B and not omit_s else None,
        received_B=None if omit_s else received_B or None,
        samples=() if note else samples,
        note=note,
        datagrams=datagrams,
    )


def _datagrams(end: View, sent: View, received: View, local_sends: bool) -> Datagrams:
    """The datagrams of a direction; an end has 0 bytes where it does not know the other's."""
    if not received.at("bytes").value:
        return Datagrams(sent.at("packets").count())
    most = received.at("packets").count()
    count = sent.at("packets").count() if sent.at("bytes").value else most
    lost = received.at("lost_packets").count(0, most)
    streams = [] if local_sends else [one.at("udp") for one in end.each("streams")]
    late = [s.at("out_of_order").count() for s in streams if s.at("sender").value is False]
    jitter_us = 1e3 * received.at("jitter_ms").number()
    return Datagrams(count, most - lost, lost, jitter_us, sum_of(late))


def _lost_share(samples: tuple[Sample, ...], total_B: int) -> float:
    """Share of a total that its intervals lack; 0 without any."""
    summed_B = sum(sample.bytes for sample in samples if sample.in_window)
    return (total_B - summed_B) / max(1, total_B) if samples else 0.0


def _streams_total(end: View, part: str, local_sends: bool) -> int:
    name = "sender" if local_sends else "receiver"
    ends = [s.at("udp" if "udp" in s else name) for s in end.each("streams")]
    own = [e for e in ends if "sender" not in e or (e.at("sender").value is True) == local_sends]
    return sum(one.at("bytes").count() for one in own)
