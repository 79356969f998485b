"""Figures come out of the recorded files as the tools printed them."""

import gzip
import json
from dataclasses import asdict
from operator import attrgetter

import pytest
from imports.samples import ACCEPTED, IPERF2_2010, RAPID, RECORDED, REFUSED
from refusals import refused

from netlab.errors import BadInput
from netlab.imports.formats import parse, read_file, text_of
from netlab.outputs.records import Datagrams, Record


def one(name: str) -> Record:
    (record,) = read_file(RECORDED / name).records
    return record


@pytest.mark.parametrize("name", ACCEPTED)
def test_a_recorded_file_is_read_by_the_parser_of_its_tool(name):
    record = one(name)
    assert record.tool == name.split("-")[0]
    assert record.forward.goodput_MBps > 0
    for flow in record.flows:
        if flow.window_B is not None and flow.streams == 1:
            mean = flow.window_B / flow.window_s / 1e6
            # nuttcp prints the time with two digits: 0.04 s is within 12 %
            assert mean == pytest.approx(flow.goodput_MBps, rel=0.13 if flow.window_s < 1 else 0.01)


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_a_failed_run_is_refused_with_its_line(name):
    with pytest.raises(BadInput, match=r": line \d+: .*(failed|no data|never started)"):
        read_file(RECORDED / name)


FIGURES = {
    "iperf3-parallel.json": {"streams": 4, "record_length_B": 65536, "buffer_B": 262144},
    "iperf3-bidir.json": {"streams": 2, "forward.streams": 2, "reverse.streams": 2},
    "iperf3-reverse.json": {"client_sends": False},
    "iperf3-omit.json": {"warmup_s": 1, "forward.received_B": None},
    "iperf3-server.json": {"forward.sent_B": None, "client_sends": True},
    # megabytes a second are binary too
    "iperf2-megabytes.txt": {"forward.goodput_MBps": 2837 * 2**20 / 1e6},
    "iperf2-parallel.txt": {
        **{"streams": 3, "buffer_B": 262144, "congestion": "cubic", "sndbuf_B": 512 * 2**10},
        "forward.goodput_MBps": 65.2e9 / 8e6,
    },
    # its last sums are left out: the streams are taken
    "iperf2-study-server.txt": {
        "forward.received_B": 2352480316 + 1708523580,
        "forward.goodput_MBps": (20915281873 + 15177702189) / 8e6,
    },
    "iperf2-study-client.txt": {"forward.sent_B": 2352480316 + 1708523580},
    "iperf2-tcp.txt": {"forward.measured_at": "sender", "retransmits": None},
    "iperf2-server.txt": {"forward.measured_at": "receiver"},
    "iperf2-reverse.txt": {"forward.measured_at": "receiver"},
    "iperf2-full-duplex.txt": {
        **{"forward.measured_at": "sender", "reverse.measured_at": "receiver"},
        **{"forward.goodput_MBps": 9.35e3 / 8, "reverse.goodput_MBps": 19.3e3 / 8},
    },
    "iperf2-enhanced.txt": {
        **{"started_unix_s": 1795228184, "record_length_B": 131072},
        "retransmits": 6,  # of the total, which is not the sum of the intervals that were printed
    },
    "iperf2-server-enhanced.txt": {"retransmits": None},
    "gensink-sink4.txt": {
        **{"forward.window_B": 6373550000, "forward.goodput_MBps": 1865.31},
        "forward.measured_at": None,
    },
    # amounts of nuttcp are binary and rates decimal
    "nuttcp-tcp.txt": {
        "forward.received_B": round(3827.4847 * 2**20),
        **{"forward.goodput_MBps": 16040.4333 / 8, "streams": None, "retransmits": 0},
    },
    "nuttcp-verbose.txt": {
        "forward.goodput_MBps": 20052.0284 / 8,
        "forward.sent_B": round(4785.0406 * 2**20),
        "forward.received_B": round(4785.0406 * 2**20),
        **{"version": "6.1.2", "streams": 1, "mss_B": 8948},
    },
    "nuttcp-bytes.txt": {"forward.received_B": 4096 * 65536},
    "ttcp-t.txt": {
        **{"forward.sent_B": 536870912, "record_length_B": 8192},
        "forward.measured_at": "sender",
    },
    "ttcp-verbose-r.txt": {
        "forward.received_B": 536870912,
        "forward.goodput_MBps": 2527895.24 * 1024 / 1e6,
    },
}


@pytest.mark.parametrize("name", FIGURES)
def test_the_figures_of_a_recorded_file_are_the_printed_ones(name):
    record = one(name)
    figures = {figure: attrgetter(figure)(record) for figure in FIGURES[name]}
    assert figures == {
        figure: pytest.approx(value) if isinstance(value, float) else value
        for figure, value in FIGURES[name].items()
    }


# A proxy dropped every fiftieth datagram and swapped every tenth with the next.
DATAGRAMS = {
    "iperf3-udp.json": Datagrams(140, 140, 0, 6.1, None),
    "iperf3-udp-server.json": Datagrams(893, 876, 17, 314.3, 72),
    "iperf3-udp-threads.json": Datagrams(112459, 44770, 67689, 174.1, None),
    "iperf3-text-udp.txt": Datagrams(4, 4, 0, 89, None),
    "iperf3-text-udp-threads.txt": Datagrams(896, 879, 17, 219, None),
    "iperf3-text-udp-server.txt": Datagrams(893, 876, 17, 231, 72),
    "iperf3-text-udp-bidir.txt": Datagrams(1786, 1786, 0, 7, None),
    "iperf2-csv-udp.txt": Datagrams(178334, 176148, 2186, 1.0, 7),
    "iperf2-dual-udp.txt": Datagrams(20420, 20417, 1, 0.75, 1),
    "iperf2-dual-udp-server.txt": Datagrams(20420, 20417, 1, 0.75, 1),
    "iperf2-udp-report.txt": Datagrams(1792, 1756, 34, 234, 144),
    "iperf2-udp-server.txt": Datagrams(1790, 1755, 35, 242.5, 144),
    "nuttcp-udp.txt": Datagrams(153, 153, 0, None, None),
    "nuttcp-udp-verbose.txt": Datagrams(47987, 27789, 20198, None, None),
    "nuttcp-udp-parse.txt": Datagrams(306, 306, 0, None, None),
}


def test_every_recorded_udp_run_has_its_datagrams():
    assert {name for name in ACCEPTED if "-udp" in name} == DATAGRAMS.keys()


@pytest.mark.parametrize("name", DATAGRAMS)
def test_datagrams_are_counted_as_printed_and_the_goodput_is_the_receivers(name):
    record = one(name)
    assert asdict(record.datagrams) == pytest.approx(asdict(DATAGRAMS[name]), abs=0.05)
    size_B = (
        record.record_length_B or {"iperf2": 1470, "nuttcp": 8192, "iperf3": 32768}[record.tool]
    )
    payload_B = size_B * record.datagrams.received
    moved_B = sum(flow.received_B for flow in record.flows)
    assert payload_B == pytest.approx(moved_B, rel=0.01)
    assert all(flow.measured_at == "receiver" for flow in record.flows)
    assert (record.retransmits, record.mss_B, record.congestion) == (None, None, None)
    for flow in record.flows:
        total_B = sum(sample.bytes for sample in flow.samples)
        # nuttcp prints no interval of the rest
        assert not flow.samples or 0.49 * flow.received_B < total_B < 1.01 * flow.received_B


SAMPLES = {
    "iperf3-parallel.json": ("sent_B", {0, 1, 2, 3}, None),
    "iperf3-bidir.json": ("sent_B", {0, 1}, None),
    "iperf3-reverse.json": ("received_B", {0}, None),
    "iperf3-server-json.json": ("received_B", {0, 1}, None),
    "iperf2-megabytes.txt": (None, {0}, [n * 2**20 for n in (1449, 1674, 1970, 607)]),
    "iperf2-parallel.txt": (None, {0, 1, 2}, 6),
    "gensink-sink4.txt": ("window_B", {0}, None),
}


@pytest.mark.parametrize("name", SAMPLES)
def test_streams_stay_separate_and_intervals_sum_to_the_bytes_of_the_end_that_printed(name):
    amount, streams, expected = SAMPLES[name]
    forward = one(name).forward
    bytes_ = [sample.bytes for sample in forward.samples]
    assert {sample.stream for sample in forward.samples} == streams
    assert amount is None or sum(bytes_) == getattr(forward, amount)
    assert expected in (None, len(bytes_), bytes_)


@pytest.mark.parametrize(
    ("name", "part"), [("iperf3-tcp.json", ""), ("iperf3-bidir.json", "_bidir_reverse")]
)
def test_iperf3_gives_its_exact_bytes(name, part):
    end = json.loads((RECORDED / name).read_text())["end"]
    record = one(name)
    flow = record.reverse if part else record.forward
    assert flow.received_B == end[f"sum_received{part}"]["bytes"]
    assert flow.sent_B == end[f"sum_sent{part}"]["bytes"]
    assert flow.goodput_MBps * 8e6 == pytest.approx(end[f"sum_received{part}"]["bits_per_second"])
    assert (record.version, record.congestion, record.mss_B) == ("3.12", "cubic", 8948)


def test_iperf3_samples_are_of_both_directions_of_the_receiver_and_in_the_window():
    assert {sample.stream for sample in one("iperf3-bidir.json").reverse.samples} == {0, 1}
    forward = one("iperf3-omit.json").forward
    assert [sample.in_window for sample in forward.samples] == [False, True, True]
    assert [round(sample.t_s) for sample in forward.samples] == [1, 2, 3]
    assert forward.window_B > 0
    client, server = one("iperf3-server-json.json"), one("iperf3-server.json")
    assert client.forward.samples == server.forward.samples
    assert client.forward.received_B == server.forward.received_B


def test_several_documents_or_lines_of_one_file_are_several_runs():
    text = (RECORDED / "iperf3-tcp.json").read_text()
    lines = text.count("\n")
    assert [record.line for record in parse(text + text)] == [1, lines + 1]
    names = ("nuttcp-tcp.txt", "nuttcp-bytes.txt", "nuttcp-intervals.txt")
    text, verbose, intervals = ((RECORDED / name).read_text() for name in names)
    found = parse(text + verbose + verbose + text + verbose + intervals)
    assert [len(record.forward.samples) for record in found] == [0, 0, 0, 0, 0, 4]


def test_iperf2_bytes_are_binary_and_bits_are_decimal():
    before, after = parse(IPERF2_2010)
    assert before.forward.sent_B == after.forward.sent_B == 900 * 2**20
    assert before.forward.goodput_MBps == pytest.approx(390 / 8)
    assert after.forward.goodput_MBps == pytest.approx(955 / 8)
    assert (before.mss_B, before.streams, after.forward.window_s) == (8948, 1, 7.9)


def test_of_an_iperf2_sum_that_is_not_that_of_its_streams_the_streams_are_taken():
    text = (RECORDED / "iperf2-parallel.txt").read_text()
    wrong = text.replace("15.2 GBytes  65.2 Gbits", "14.2 GBytes  60.9 Gbits")
    assert wrong != text
    (record,) = parse(wrong)
    assert record.forward.goodput_MBps == pytest.approx((31.2e9 + 16.7e9 + 17.3e9) / 8e6)
    assert "is not that of the streams" in record.forward.note


IPERF2_LATE = """\
Server listening on TCP port 5001
[  1] local 198.18.0.2 port 5001 connected with 198.18.0.1 port 40001 (icwnd/mss/irtt=14/1448/9)
[  2] local 198.18.0.2 port 5001 connected with 198.18.0.1 port 40002 (icwnd/mss/irtt=14/1448/9)
[  1] 0.0000-1.0000 sec  100 MBytes  100 MBytes/sec
[  3] local 198.18.0.2 port 5001 connected with 198.18.0.1 port 40003 (icwnd/mss/irtt=14/1448/9)
[  2] 0.0000-1.0000 sec  100 MBytes  100 MBytes/sec
[  3] 0.0000-0.5000 sec  50.0 MBytes  100 MBytes/sec
[SUM] 0.0000-1.2500 sec  250 MBytes  200 MBytes/sec
"""


def test_an_iperf2_stream_that_connects_after_another_has_ended_is_of_the_same_run():
    (record,) = parse(IPERF2_LATE)
    assert record.streams == 3
    assert record.forward.goodput_MBps == pytest.approx(200 * 1.048576)


@pytest.mark.parametrize("first", [1, 4])
def test_an_iperf2_server_that_served_two_clients_has_two_runs(first):
    later = IPERF2_LATE.partition("\n")[2]
    for stream in (3, 2, 1):
        later = later.replace(f"[  {stream}]", f"[  {stream + first - 1}]")
    assert [run.streams for run in parse(IPERF2_LATE + later)] == [3, 3]


@pytest.mark.parametrize("text", [RAPID, " ".join(RAPID.split())], ids=["lines", "folded"])
def test_rapid_is_read_with_its_lines_or_without(text):
    (record,) = parse(text)
    assert record.forward.received_B == 16388608000
    assert record.forward.goodput_MBps == pytest.approx(2185.476 / 8)
    assert record.started_unix_s == 1046671178.446
    assert (record.record_length_B, record.buffer_B, record.streams) == (16388608, 154217728, 1)


def test_rapid_adds_its_processes_up():
    first, rest = RAPID.split("statistics for process: 0\n")
    process, totals = rest.split("\ntotals:")
    totals = totals.replace("16388608000.0", "32777216000.0").replace("2185.476", "4370.951")
    text = f"{first}statistics for process: 0\n{process}\nstatistics for process: 1\n{process}"
    (record,) = parse(f"{text}\ntotals:{totals}")
    assert (record.streams, record.forward.received_B) == (2, 32777216000)
    reason = "line 24: the total is not the sum of the processes"
    with refused(BadInput, "E-IMPORT-089", match=reason):
        parse(f"{text}\ntotals:{totals}".replace("32777216000.0", "32777226000.0"))


def test_nuttcp_rates_refine_the_time_of_an_interval_beyond_its_two_digits():
    samples = one("nuttcp-verbose-parallel.txt").forward.samples
    rates = [sample.bytes * 8 / sample.interval_s / 1e6 for sample in samples]
    assert rates == pytest.approx([19316.5801, 11147.9204], rel=1e-6)
    assert samples[1].t_s == pytest.approx(2.0, abs=0.01)


@pytest.mark.parametrize(
    ("name", "streams", "both"),
    [("upload", 2, False), ("both", 1, True), ("down", 1, False), ("rrul", 4, True)],
)
def test_flent_streams_are_counted_by_direction(name, streams, both):
    path = RECORDED / f"flent-{name}.flent.gz"
    record = one(path.name)
    series = json.loads(gzip.decompress(path.read_bytes()))["metadata"]["SERIES_META"]
    means = [
        s["MEAN_VALUE"]
        for s in series.values()
        if s["RUNNER"] == "NetperfDemoRunner" and s["UNITS"] == "Mbits/s"
    ]
    assert (record.streams, record.reverse is not None) == (streams, both)
    total_MBps = sum(flow.goodput_MBps for flow in record.flows)
    assert total_MBps == pytest.approx(sum(means) / 8, rel=2e-3)
    assert (record.path_mtu_B, record.congestion, record.version) == (9000, "reno", "2.1.1")
    assert all(flow.samples for flow in record.flows)


def test_text_beyond_its_limit_or_of_an_unknown_format_is_refused(monkeypatch):
    monkeypatch.setattr("netlab.imports.formats.MAX_TEXT_B", 1000)
    with refused(BadInput, "E-IMPORT-018", match="more than 1000 bytes"):
        text_of(gzip.compress(b"0" * 10**6))
    with refused(BadInput, "E-IMPORT-021", match=r"line 1: .*iperf3 JSON"):
        parse("hello\n")
