"""Figures come out of the recorded files as the tools printed them."""

import gzip
import json

import pytest
from refusals import refused
from results.imports.samples import ACCEPTED, IPERF2_2010, RAPID, RECORDED, REFUSED

from netlab.errors import BadInput
from netlab.results.imports import iperf2
from netlab.results.imports.formats import parse, read_file, text_of
from netlab.results.imports.records import Record


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
def test_a_failed_or_udp_run_is_refused_with_its_line(name):
    with pytest.raises(BadInput, match=r": line \d+: .*(failed|UDP|no data|never started)"):
        read_file(RECORDED / name)


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


def test_iperf3_streams_stay_separate_and_their_intervals_sum_to_the_bytes_sent():
    record = one("iperf3-parallel.json")
    assert record.streams == 4
    assert {sample.stream for sample in record.forward.samples} == {0, 1, 2, 3}
    assert sum(sample.bytes for sample in record.forward.samples) == record.forward.sent_B
    assert (record.record_length_B, record.buffer_B) == (65536, 262144)


def test_iperf3_bidir_has_samples_of_both_directions():
    record = one("iperf3-bidir.json")
    assert record.streams == record.forward.streams == record.reverse.streams == 2
    for flow in record.flows:
        assert {sample.stream for sample in flow.samples} == {0, 1}
    assert sum(s.bytes for s in record.forward.samples) == record.forward.sent_B


def test_iperf3_reverse_knows_that_the_server_sent():
    record = one("iperf3-reverse.json")
    assert record.client_sends is False
    assert sum(s.bytes for s in record.forward.samples) == record.forward.received_B


def test_iperf3_omitted_seconds_are_warm_up_and_out_of_the_window():
    record = one("iperf3-omit.json")
    assert record.warmup_s == 1
    assert [sample.in_window for sample in record.forward.samples] == [False, True, True]
    assert [round(sample.t_s) for sample in record.forward.samples] == [1, 2, 3]
    assert record.forward.received_B is None and record.forward.window_B > 0


def test_iperf3_server_output_as_json_gives_the_receivers_intervals():
    client, server = one("iperf3-server-json.json"), one("iperf3-server.json")
    assert client.forward.samples == server.forward.samples
    assert client.forward.received_B == server.forward.received_B
    assert sum(s.bytes for s in client.forward.samples) == client.forward.received_B
    assert server.forward.sent_B is None and server.client_sends is True


def test_several_iperf3_documents_in_one_file_are_several_runs():
    text = (RECORDED / "iperf3-tcp.json").read_text()
    lines = text.count("\n")
    assert [record.line for record in parse(text + text)] == [1, lines + 1]


def test_iperf2_bytes_are_binary_and_bits_are_decimal():
    before, after = parse(IPERF2_2010)
    assert before.forward.sent_B == after.forward.sent_B == 900 * 2**20
    assert before.forward.goodput_MBps == pytest.approx(390 / 8)
    assert after.forward.goodput_MBps == pytest.approx(955 / 8)
    assert (before.mss_B, before.streams, after.forward.window_s) == (8948, 1, 7.9)


def test_iperf2_megabytes_a_second_are_binary_too():
    record = one("iperf2-megabytes.txt")
    assert record.forward.goodput_MBps == pytest.approx(2837 * 2**20 / 1e6)
    assert [sample.bytes for sample in record.forward.samples] == [
        n * 2**20 for n in (1449, 1674, 1970, 607)
    ]


def test_iperf2_takes_the_sum_of_parallel_streams():
    record = one("iperf2-parallel.txt")
    assert (record.streams, record.buffer_B, record.congestion) == (3, 262144, "cubic")
    assert record.forward.goodput_MBps == pytest.approx(65.2e9 / 8e6)
    assert len(record.forward.samples) == 6
    assert record.sndbuf_B == 512 * 2**10


def test_of_an_iperf2_sum_that_is_not_that_of_its_streams_the_streams_are_taken():
    text = (RECORDED / "iperf2-parallel.txt").read_text()
    wrong = text.replace("15.2 GBytes  65.2 Gbits", "14.2 GBytes  60.9 Gbits")
    assert wrong != text
    (record,) = parse(wrong)
    assert record.forward.goodput_MBps == pytest.approx((31.2e9 + 16.7e9 + 17.3e9) / 8e6)
    assert "is not that of the streams" in record.extras["sum"]


def test_an_iperf2_server_that_left_its_last_sums_out_is_taken_by_its_streams():
    record = one("iperf2-study-server.txt")
    assert record.forward.received_B == 2352480316 + 1708523580
    assert record.forward.goodput_MBps == pytest.approx((20915281873 + 15177702189) / 8e6)
    assert one("iperf2-study-client.txt").forward.sent_B == record.forward.received_B


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
    (record,) = iperf2.parse_iperf2(IPERF2_LATE)
    assert record.streams == 3
    assert record.forward.goodput_MBps == pytest.approx(200 * 1.048576)


@pytest.mark.parametrize("first", [1, 4])
def test_an_iperf2_server_that_served_two_clients_has_two_runs(first):
    later = IPERF2_LATE.partition("\n")[2]
    for stream in (3, 2, 1):
        later = later.replace(f"[  {stream}]", f"[  {stream + first - 1}]")
    assert [run.streams for run in iperf2.parse_iperf2(IPERF2_LATE + later)] == [3, 3]


def test_iperf2_says_at_which_end_it_counted():
    assert one("iperf2-tcp.txt").forward.measured_at == "sender"
    assert one("iperf2-server.txt").forward.measured_at == "receiver"
    assert one("iperf2-reverse.txt").forward.measured_at == "receiver"
    both = one("iperf2-full-duplex.txt")
    assert [flow.measured_at for flow in both.flows] == ["sender", "receiver"]
    assert [flow.goodput_MBps for flow in both.flows] == [9.35e3 / 8, 19.3e3 / 8]


def test_iperf2_enhanced_reports_have_the_time_and_the_record_length():
    record = one("iperf2-enhanced.txt")
    assert record.started_unix_s == 1795228184
    assert record.record_length_B == 131072
    # of the total, which is not the sum of the intervals that were printed
    assert record.retransmits == 6
    assert one("iperf2-server-enhanced.txt").retransmits is None
    assert one("iperf2-tcp.txt").retransmits is None


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
    with refused(
        BadInput, "E-IMPORT-089", match="line 24: the total is not the sum of the processes"
    ):
        parse(f"{text}\ntotals:{totals}".replace("32777216000.0", "32777226000.0"))


def test_gensink_amounts_are_decimal_and_steps_become_intervals():
    record = one("gensink-sink4.txt")
    assert record.forward.window_B == 6373550000
    assert record.forward.goodput_MBps == pytest.approx(1865.31)
    assert sum(sample.bytes for sample in record.forward.samples) == 6373550000
    assert record.forward.measured_at is None


def test_nuttcp_amounts_are_binary_and_rates_decimal():
    brief, verbose = one("nuttcp-tcp.txt"), one("nuttcp-verbose.txt")
    assert brief.forward.received_B == round(3827.4847 * 2**20)
    assert brief.forward.goodput_MBps == pytest.approx(16040.4333 / 8)
    assert (brief.streams, brief.retransmits) == (None, 0)
    assert verbose.forward.goodput_MBps == pytest.approx(20052.0284 / 8)
    assert verbose.forward.sent_B == verbose.forward.received_B == round(4785.0406 * 2**20)
    assert (verbose.version, verbose.streams, verbose.mss_B) == ("6.1.2", 1, 8948)


def test_nuttcp_rates_refine_the_time_of_an_interval_beyond_its_two_digits():
    samples = one("nuttcp-verbose-parallel.txt").forward.samples
    rates = [sample.bytes * 8 / sample.interval_s / 1e6 for sample in samples]
    assert rates == pytest.approx([19316.5801, 11147.9204], rel=1e-6)
    assert samples[1].t_s == pytest.approx(2.0, abs=0.01)


def test_nuttcp_exact_buffers_are_exact_bytes():
    assert one("nuttcp-bytes.txt").forward.received_B == 4096 * 65536


def test_several_nuttcp_lines_are_several_runs():
    text = (RECORDED / "nuttcp-tcp.txt").read_text()
    verbose = (RECORDED / "nuttcp-bytes.txt").read_text()
    intervals = (RECORDED / "nuttcp-intervals.txt").read_text()
    found = parse(text + verbose + verbose + text + verbose + intervals)
    assert [len(record.forward.samples) for record in found] == [0, 0, 0, 0, 0, 4]


def test_ttcp_says_its_exact_bytes_at_either_end():
    sent, received = one("ttcp-t.txt"), one("ttcp-verbose-r.txt")
    assert sent.forward.sent_B == received.forward.received_B == 536870912
    assert received.forward.goodput_MBps == pytest.approx(2527895.24 * 1024 / 1e6)
    assert (sent.record_length_B, sent.forward.measured_at) == (8192, "sender")


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
    assert sum(flow.goodput_MBps for flow in record.flows) == pytest.approx(
        sum(means) / 8, rel=2e-3
    )
    assert (record.path_mtu_B, record.congestion, record.version) == (9000, "reno", "2.1.1")
    assert all(flow.samples for flow in record.flows)


def test_text_beyond_its_limit_is_refused_before_it_is_read(monkeypatch):
    monkeypatch.setattr("netlab.results.imports.formats.MAX_TEXT_B", 1000)
    with refused(BadInput, "E-IMPORT-018", match="more than 1000 bytes"):
        text_of(gzip.compress(b"0" * 10**6))


def test_an_unknown_format_is_named_with_the_known_ones():
    with refused(BadInput, "E-IMPORT-021", match=r"line 1: .*iperf3 JSON"):
        parse("hello\n")
