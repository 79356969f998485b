"""The rows of `docs/imports.md`: what of each format is read, and what is refused and why."""

from __future__ import annotations

import codecs
import json
import re
from copy import deepcopy
from dataclasses import replace
from pathlib import Path

import pytest
from imports.samples import (
    BANNER,
    CLASSIC,
    INTERIM,
    KEYS,
    KPERF,
    NEPER,
    NTTTCP,
    OMNI,
    RAPID,
    RECORDED,
    RUNNING,
    flent,
    pscheduler,
)

from netlab.errors import BadInput
from netlab.imports.formats import FORMATS, format_of, parse, text_of
from netlab.outputs.records import Datagrams, Record


def recorded(name: str) -> str:
    return (RECORDED / name).read_text()


def test_the_table_of_formats_has_all_of_them():
    page = (Path(__file__).parents[2] / "docs" / "imports.md").read_text()
    rows = page.partition("## Formats")[2].split("\n| ")[2:]
    assert {row.partition(" |")[0] for row in rows} == {form.name for form in FORMATS}


def one(text: str) -> Record:
    (record,) = parse(text)
    return record


ETHR = """\
[ ID]   Protocol    Interval      Bits/s
[  5]     TCP      000-001 sec    9.41G
[  5]     TCP      001-002 sec    9.39G
"""


def refused_for(text: str, words: str) -> None:
    with pytest.raises(BadInput, match=rf"line \d+: .*{words}"):
        parse(text)


# iperf3

JSON = recorded("iperf3-tcp.json")
DOCUMENT = json.loads(JSON)
WHOLE = one(JSON).forward
LISTEN = {"start": {"connected": [], "version": "iperf 3.12"}, "intervals": [], "end": {}}
STOPPED = LISTEN | {"error": "interrupt - the server has terminated"}


def streamed(*kinds: str) -> str:
    events = [{"event": "start", "data": DOCUMENT["start"]}]
    events += [{"event": "interval", "data": one} for one in DOCUMENT["intervals"]]
    events += [{"event": "end", "data": DOCUMENT["end"]}]
    return "".join(json.dumps(event) + "\n" for event in events)


@pytest.mark.parametrize(
    "text",
    [
        streamed(),
        streamed() + JSON,
        f"me@left:~$ iperf3 -c right -J\n{JSON}me@left:~$ \n",
        f'C:\\> iperf3 "a" [b]\n{JSON}\nC:\\>',
        JSON.replace('"mean_rtt":\t27', '"mean_rtt":\t-nan'),
        f"---\nServer listening on 5201 (test #1)\n---\n{JSON}---\n{json.dumps(STOPPED)}\n",
    ],
    ids=["stream", "full stream", "echo", "other echo", "nan", "log"],
)
def test_iperf3_json_in_other_forms_is_the_same_run(text):
    assert format_of(text).name == "iperf3 JSON"
    assert one(text).forward == WHOLE


@pytest.mark.parametrize(
    "content",
    [
        codecs.BOM_UTF8 + JSON.encode(),
        JSON.encode("utf-16"),
        b"\xfe\xff" + JSON.encode("utf-16-be"),
    ],
    ids=["mark", "UTF-16", "big endian"],
)
def test_a_text_with_a_byte_order_mark(content):
    assert one(text_of(content)).forward == WHOLE


def test_an_iperf3_test_that_never_started_says_so():
    for document in (LISTEN, STOPPED):
        refused_for(json.dumps(document), "never started")
    refused_for(json.dumps(DOCUMENT | {"end": {}}), "did not end")
    refused_for(recorded("iperf3-text-refused.txt"), "never started: unable to connect")
    refused_for("Server listening on 5201\niperf3: interrupt - the server has terminated", "never")
    nothing = "[  5]   0.00-0.00   sec  0.00 Bytes  -nan bits/sec                  receiver"
    refused_for(f"Accepted connection from 10.0.0.1, port 1\n{nothing}\n", "never started")


def lacking(document: dict, share: float) -> dict:
    """A test of iperf3 whose first interval lacks a share of its bytes, as of 3.16 and later."""
    document = deepcopy(document)
    for stream in document["intervals"][0]["streams"]:
        stream["bytes"] = round((1 - share) * stream["bytes"])
    return document


def test_iperf3_intervals_that_lack_bytes_are_left_out_and_the_totals_stay():
    flow = one(json.dumps(lacking(DOCUMENT, 0.4))).forward
    assert re.fullmatch(r"intervals without (19|2\d) % of the bytes are left out", flow.note)
    assert replace(flow, samples=WHOLE.samples, note="") == WHOLE and not flow.samples
    refused_for(json.dumps(lacking(DOCUMENT, -0.4)), "more than the total")
    cut = {**DOCUMENT, "intervals": DOCUMENT["intervals"][:-1]}
    refused_for(json.dumps(cut), "the intervals end after")


def test_iperf3_intervals_are_of_the_receiver_if_its_own_sum_to_its_total():
    both = json.loads(recorded("iperf3-server-json.json"))
    received = one(json.dumps(both)).forward
    assert one(json.dumps(lacking(both, 0.4))).forward == received
    both["server_output_json"] = lacking(both["server_output_json"], 0.4)
    sent = one(json.dumps(both)).forward
    assert sent.samples and sent.samples != received.samples and not sent.note
    assert not one(json.dumps(lacking(both, 0.4))).forward.samples


def test_iperf3_text_has_the_receivers_total_and_the_intervals_after_those_omitted():
    record = one(recorded("iperf3-text-omit.txt"))
    assert (record.streams, record.warmup_s, record.retransmits) == (2, 1.01, 2)
    assert record.forward.measured_at == "receiver"
    assert (record.forward.goodput_MBps, record.forward.window_s) == (806 / 8, 1.99)
    in_window = [sample for sample in record.forward.samples if sample.in_window]
    assert len(in_window) == 4 and len(record.forward.samples) == 6
    total_B = sum(sample.bytes for sample in in_window)
    assert total_B == pytest.approx(record.forward.window_B, rel=1e-3)


def test_iperf3_text_of_both_directions_and_of_the_reverse():
    both = one(recorded("iperf3-text-bidir.txt"))
    assert [flow.goodput_MBps for flow in both.flows] == [4960 / 8, 13500 / 8]
    assert (both.version, both.congestion, both.mss_B) == ("3.12", "reno", 8948)
    assert both.record_length_B == 131072 and both.started_unix_s > 1795764000
    assert one(recorded("iperf3-text-reverse.txt")).client_sends is False


def test_an_iperf3_servers_log_has_a_run_for_each_client_and_one_that_sent_its_own_count():
    log = recorded("iperf3-text-server.txt")
    stop = "iperf3: interrupt - the server has terminated\n"
    found = parse(log + log + stop)
    assert [record.line for record in found] == [1, len(log.splitlines()) + 4]
    assert all(record.client_sends for record in found)
    record = one(recorded("iperf3-server-reverse.json"))
    assert record.client_sends is False
    assert (record.forward.measured_at, record.forward.received_B) == ("sender", None)
    assert record.forward.sent_B == 674496512


def test_pacing_is_read_from_json_and_from_the_command():
    assert one(recorded("iperf3-paced.json")).pacing_MBps == 125
    text = "$ iperf3 -c right -P 2 -b 400M\n" + recorded("iperf3-text-omit.txt")
    assert one(text).pacing_MBps == 50


def test_iperf3_udp_of_a_sender_alone_and_of_a_damaged_receiver():
    udp = recorded("iperf3-udp-server.json")
    for key in ("packets", "lost_packets", "jitter_ms"):
        total = udp.rindex(f'"{key}"', 0, udp.index('"cpu_utilization'))
        refused_for(udp[:total] + udp[total:].replace(":\t", ":\t-", 1), "out of bounds")
    refused_for(udp.replace('"lost_packets":\t17', '"lost_packets":\t894'), "out of bounds")
    alone = recorded("iperf3-text-udp.txt").replace(" receiver", " late")
    record = one("\n".join(line for line in alone.splitlines() if not line.endswith("late")))
    assert (record.forward.measured_at, record.datagrams) == ("sender", Datagrams(sent=4))
    refused_for(recorded("iperf3-text-udp.txt").replace(" 0/4 (0%)", ""), "without its datagrams")


def test_an_iperf3_text_with_the_servers_output_is_one_run():
    text = recorded("iperf3-text-udp-threads.txt")
    assert "Accepted connection" in text and one(text).datagrams.lost == 17
    assert len(parse(text + text)) == 2


@pytest.mark.parametrize(
    ("name", "old", "new", "words"),
    [
        ("omit", "0.00-1.99   sec   191", "0.00-1.99   sec   190", "not the sum|do not"),
        ("omit", "0.00-1.99   sec  95.5", "0.00-1.99   sec  85.5", "do not agree|more than"),
        ("reverse", "Gbits/sec                  receiver", "Xbits", "not a line"),
    ],
)
def test_iperf3_text_whose_figures_contradict_each_other_is_refused(name, old, new, words):
    refused_for(recorded(f"iperf3-text-{name}.txt").replace(old, new), words)


# iperf 2


def test_iperf2_csv_has_its_streams_by_their_times():
    text = recorded("iperf2-csv.txt")
    record = one(text)
    assert (record.streams, record.forward.window_B) == (2, 257426056 + 1053032508)
    assert record.forward.goodput_MBps == pytest.approx((945988064 + 3048971714) / 8e6)
    assert record.forward.measured_at is None  # no row says at which end
    summed = "20261127072540,127.0.0.1,0,127.0.0.1,5001,-1,0.0-2.8,1310458564,3744167326\n"
    assert one(text + summed) == record
    wrong = one(text + summed.replace("58564", "58560"))
    assert replace(wrong.forward, note="") == record.forward
    assert wrong.forward.note.startswith("the sum in line 8 is not that of the streams")
    later = text.replace("20261127", "20261128")
    assert [run.line for run in parse(text + later)] == [1, 8]
    refused_for(text.replace("20261127", "19700101"), "1970")
    refused_for(
        text.replace("1053032508,3048971714", "953032508,2759430000"), "more than the total"
    )


def test_iperf2_csv_of_udp_has_the_datagrams_of_its_server():
    text = recorded("iperf2-csv-udp.txt")
    assert one(text).forward.measured_at == "receiver"
    client = (
        "20261128063612,10.0.0.1,45940,10.0.0.2,5009,1,0.0-2.0,1314180,5250996,0.000,0,-1,-0.000,0"
    )
    refused_for(client, "without its datagrams")
    refused_for(text.replace(",1840,89163,", ",1840,839,"), "1840 datagrams lost of 839")
    refused_for(text.replace(",2.064,0", ""), "not a row")


DUPLEX = """\
Client connecting to 127.0.0.1, UDP port 5400
Sending 1470 byte datagrams, IPG target: 1121.52 us (kalman adjust)
[  1] local 127.0.0.1 port 42165 connected with 127.0.0.1 port 5400 (full-duplex) (no-udp-fin)
[ *1] 0.0000-1.0016 sec  1.25 MBytes  10.5 Mbits/sec   0.002 ms 0/894 (0%)
[  1] 0.0000-1.0016 sec  1.25 MBytes  10.5 Mbits/sec
[  1] Sent 896 datagrams
[SUM] 0.0000-1.0016 sec  2.51 MBytes  21.0 Mbits/sec 1790    1787 pps
"""


def test_iperf2_datagrams_that_no_receiver_reported_are_the_senders():
    both = one(DUPLEX)
    assert [flow.measured_at for flow in both.flows] == ["sender", "receiver"]
    assert both.forward.datagrams == Datagrams(sent=896)
    assert both.reverse.datagrams == Datagrams(894, 894, 0, 2, 0)
    assert both.pacing_MBps == pytest.approx(1470 / 1121.52)
    report = recorded("iperf2-udp-report.txt")
    part = one(report.partition("[  1] Server Report")[0])  # the other one's came too late
    assert (part.forward.measured_at, part.datagrams) == ("sender", Datagrams(sent=1792))
    refused_for(report.replace("17/895", "896/895"), "896 datagrams lost of 895")
    refused_for(re.sub(r"\[  2\] 0.*/0 .*\n", "", report), "stream 2 has no result line")
    refused_for(DUPLEX.replace(" 0/894 (0%)", ""), "without its datagrams")


def test_iperf2_sums_full_duplex_and_server_logs_are_of_the_end_that_counted():
    record = one(recorded("iperf2-sum-only.txt") + "me@left:~$ \n")
    assert (record.streams, record.retransmits) == (2, 306)
    assert record.forward.goodput_MBps == 11400 / 8 and len(record.forward.samples) == 2
    record = one(recorded("iperf2-full-duplex-enhanced.txt"))
    assert [flow.goodput_MBps for flow in record.flows] == [6610 / 8, 4690 / 8]
    assert [flow.measured_at for flow in record.flows] == ["sender", "receiver"]
    text = recorded("iperf2-server-enhanced.txt")
    again = text[text.index("[  1] local") :].replace("[  1]", "[  9]")
    assert [run.forward.measured_at for run in parse(text + again)] == ["receiver"] * 2


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("Bounce-back test (size= 100 Byte) (server hold req=0 usecs)", "bounceback"),
        ("Isochronous: 60.00 frames/sec mean=10.0 Mbit/s, stddev=1.00 Mbit/s", "isochronous"),
    ],
)
def test_iperf2_tests_without_goodput_are_named(line, words):
    refused_for(f"Client connecting to 10.0.0.2, TCP port 5001\n{line}\n", words)


# flent


@pytest.mark.parametrize("version", [2, 3])
def test_older_files_of_flent_have_neither_zone_nor_counts(version):
    record = one(flent(version, mean=0.2))
    assert record.started_unix_s == 1795766400
    assert [sample.t_s for sample in record.forward.samples] == [0, 0.5, 1, 1.5]
    assert (record.forward.window_s, record.forward.goodput_MBps) == (2, 0.025)
    assert record.forward.measured_at == "sender"
    assert record.ping_ms == {"Ping (ms) ICMP": (20, 24), "Ping (ms) UDP BE1": (20,)}
    refused_for(flent(version, mean=0.2, t0="yesterday"), "not a time")


def test_a_slow_stream_of_flent_agrees_within_the_digits_of_its_mean():
    counts = {"RUNNER": "NetperfDemoRunner", "ELAPSED_TIME": 2.0}
    zone = {"t0": "2026-11-27T08:00:00Z"}
    slow = flent(4, mean=0.2, BYTES_SENT=51000, BYTES_RECVD=50900, **counts, **zone)
    record = one(slow)
    assert record.forward.goodput_MBps == pytest.approx(50900 / 2 / 1e6)
    assert record.forward.measured_at == "receiver"
    assert record.ping_ms["Ping (ms) UDP BE1"] == (50,)
    refused_for(slow.replace("509", "809").replace("51000", "81000"), "do not agree")
    refused_for(flent(5, mean=0.2), "format 5")
    refused_for(flent(2, mean=0.2).replace("TCP upload", "HTTP upload"), "no TCP stream")


# netperf, neper, ntttcp, kperf, pScheduler and nuttcp's running totals

TOTALS = (
    ("netperf", CLASSIC, 100, "sender", 1),
    ("netperf", CLASSIC.replace("STREAM", "MAERTS"), 100, "receiver", 1),
    ("netperf", CLASSIC.replace("10^6bits/sec", "MBytes  /sec"), 838.8608, "sender", 1),
    ("netperf", OMNI.replace("999000000", ""), 100, "sender", 1),
    ("netperf", OMNI, 99.9, "receiver", 1),
    ("netperf", KEYS, 100, "receiver", 1),
    ("neper", NEPER, 100, "sender", 4),
    ("neper", NEPER.replace("client=1", "client=0"), 100, "receiver", 4),
    ("ntttcp", NTTTCP, 100, "receiver", None),
    ("ntttcp", NTTTCP.replace("17 threads created", "16 connections tested"), 100, "sender", 16),
    ("kperf", KPERF, 99.99, "receiver", 1),
    ("kperf", KPERF[: KPERF.index("kperf: == T")], 100, "sender", 1),
    ("pscheduler", pscheduler(), 100, None, 1),
    ("pscheduler", pscheduler(**{"receiver-throughput-bits": 792e6}), 99, "receiver", 1),
    ("nuttcp", RUNNING, 104.8576, "receiver", None),
)


@pytest.mark.parametrize(("tool", "text", "goodput_MBps", "at", "streams"), TOTALS)
def test_a_total_is_of_the_end_that_counted_it(tool, text, goodput_MBps, at, streams):
    record = one(text)
    assert (record.tool, record.streams) == (tool, streams)
    assert record.forward.goodput_MBps == pytest.approx(goodput_MBps)
    assert (record.forward.window_s, record.forward.measured_at) == (10, at)


def test_runs_of_one_file_are_told_apart():
    assert [run.line for run in parse(CLASSIC + CLASSIC)] == [1, 8]
    assert len(parse(KEYS + KEYS)) == len(parse(NTTTCP + NTTTCP)) == 2
    assert len(parse(pscheduler() + "\n" + pscheduler())) == 2
    (record,) = parse(CLASSIC.replace("Recv   Send", INTERIM * 2 + "Recv   Send"))
    assert [sample.t_s for sample in record.forward.samples] == [1, 2]
    assert len(one(pscheduler()).forward.samples) == len(one(RUNNING).forward.samples) == 2


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (CLASSIC.replace("TCP STREAM", "UDP UNIDIRECTIONAL SEND"), "UDP"),
        (CLASSIC.replace("TCP STREAM", "TCP REQUEST/RESPONSE"), "no goodput"),
        (KEYS.replace("=TCP", "=UDP"), "UDP"),
        (KEYS.replace("=Receive", "=Send|Recv"), "no goodput"),
        (KEYS.replace("=1000000000", "=1100000000"), "do not agree"),
        (KEYS.replace("10^6bits/s", "Trans/s"), "not a rate"),
        (f"MIGRATED TCP STREAM {BANNER}\n", "no result"),
        (NEPER.replace("throughput_units", "unit"), "no goodput"),
        (NEPER.replace("=800000000", "=900000000"), "do not agree"),
        (NTTTCP.replace("1000000000", "1100000000"), "do not agree"),
        (NTTTCP.partition("Totals")[0], "no totals"),
        (KPERF.replace("999900000", "899900000"), "do not agree"),
        ("tcp,,,,,,,data,tcp,,,,,,,data\nretrans,reord,ce,rtt,rttvar,swnd,cwnd,tx\n", "no time"),
        (pscheduler().replace('"succeeded": true', '"succeeded": false'), "failed"),
        (pscheduler().replace('"dest"', '"udp": true, "dest"'), "UDP"),
        (
            RUNNING.replace("1000.0000 MB /  10.00 sec =", "1100.0000 MB /  10.00 sec =", 1),
            "running",
        ),
        ("sockperf: == version #3.10 ==\nsockperf: Summary: Latency is 20 usec\n", "sockperf"),
        ("10:00:00 | Client version 0.3.2 running\n", "crusader"),
        ("tcp_bw:\n    bw  =  1.15 GB/sec\n", "qperf prints a rate"),
        (ETHR, "ethr prints a rate without the bytes"),
        (
            "Submitting task...\nTask URL:\nhttps://a/pscheduler/tasks/1\n"
            "Running with tool 'iperf3'\n* Stream ID 5\n"
            "Interval       Throughput     Retransmits    Current Window\n"
            "0.0 - 1.0      9.39 Gbps      0              1.46 MBytes\n",
            "--format json",
        ),
        (text_of(NEPER.encode()).replace("num_flows=4", "num_flows=x"), "missing"),
    ],
)
def test_what_is_no_goodput_of_tcp_is_refused_in_one_sentence(text, words):
    refused_for(text, words)


LOG = recorded("iperf3-text-server.txt")
CSV = recorded("iperf2-csv.txt")
SHORT = recorded("nuttcp-tcp.txt")
MIXED = {
    "failed JSON": (JSON, recorded("iperf3-killed.json"), "run failed"),
    "refused JSON": (JSON, JSON.replace('"protocol":\t"TCP"', '"protocol":\t"SCTP"'), "SCTP"),
    "cut JSON": (JSON, JSON[: len(JSON) // 2] + "\n", "not JSON"),
    "stream": (streamed(), streamed().replace('{"event": "end"', '{"event" "end"'), "not JSON"),
    "failed log": (
        LOG,
        "Accepted connection from 10.0.0.1, port 1\niperf3: error - no route\n",
        "failed: no route|never started: no route",
    ),
    "scanned log": (LOG, "iperf3: error - unable to receive cookie\n", "cookie"),
    "cut log": (LOG, LOG.partition("[  5]   0.00-2")[0].rpartition("- -")[0], "no total"),
    "unheard iperf 2": (recorded("iperf2-tcp.txt"), recorded("iperf2-udp.txt"), "failed"),
    "failed iperf 2": (recorded("iperf2-tcp.txt"), recorded("iperf2-refused.txt"), "failed"),
    "CSV": (CSV, CSV.replace("1053032508,3048971714", "1053032508,3048971714,0,0,9,0,0"), "UDP"),
    "wrong UDP": (
        SHORT,
        recorded("nuttcp-udp.txt").replace("0 / 153", "154 / 153"),
        "154 datagrams",
    ),
    "failed nuttcp": (SHORT, recorded("nuttcp-refused.txt"), "failed"),
    "wrong nuttcp": (SHORT, re.sub(r"=( +)\d+", r"=\g<1>1", SHORT), "do not agree"),
    "UDP netperf": (CLASSIC, CLASSIC.replace("TCP STREAM", "UDP STREAM"), "UDP"),
    "no netperf": (CLASSIC, f"MIGRATED TCP STREAM {BANNER}\n", "no result"),
    "netperf keys": (KEYS, KEYS.replace("=TCP", "=UDP"), "UDP"),
    "ntttcp": (NTTTCP, NTTTCP.replace("#####  Totals", "interrupted: Totals"), "interrupted"),
    "pScheduler": (pscheduler(), pscheduler().replace("true", "false", 1), "failed"),
    "rapid": (RAPID, RAPID.replace("Done!", "Segmentation fault\nDone!"), "not output"),
}


@pytest.mark.parametrize("name", MIXED)
def test_a_run_that_cannot_be_read_costs_only_itself(name):
    good, bad, words = MIXED[name]
    text = good.rstrip("\n") + "\n" + bad.rstrip("\n") + "\n"
    if name == "CSV":
        text = CSV + bad.replace("20261127", "20261128")
        good = good.replace("20261127", "20261129")
    runs = format_of(text).parse(text + good)
    assert [isinstance(run, Record) for run in runs] == [True, False, True]
    assert re.search(words, str(runs[1]))
    assert runs[0].forward == runs[2].forward and runs[2].line > text.count("\n")


@pytest.mark.parametrize(
    ("name", "runs"),
    [
        ("dual", [(True, [("sender", 43620762), ("receiver", 42047898)])]),
        ("tradeoff", [(True, [("sender", 48549069)]), (False, [("receiver", 50121933)])]),
        ("dual-parallel", [(True, [("sender", 51694797), ("receiver", 50541363)])]),
        (
            "dual-server",  # of the three above
            [
                (True, [("receiver", 43620762), ("sender", 42047898)]),
                (True, [("receiver", 48549069)]),
                (False, [("sender", 50121933)]),
                (True, [("receiver", 51694797), ("sender", 50541363)]),
            ],
        ),
    ],
)
def test_iperf2_both_ways_by_a_connection_back_has_each_with_its_end(name, runs):
    records = parse(recorded(f"iperf2-{name}.txt"))
    assert runs == [
        (record.client_sends, [(flow.measured_at, flow.window_B) for flow in record.flows])
        for record in records
    ]


@pytest.mark.parametrize("end", ["", "-server"])
def test_iperf2_both_ways_over_udp_has_the_datagrams_of_each(end):
    (record,) = parse(recorded(f"iperf2-dual-udp{end}.txt"))
    assert record.client_sends and [flow.streams for flow in record.flows] == [2, 2]
    counted = [flow.datagrams for flow in record.flows]
    assert [(one.received, one.lost) for one in counted] == [(10209, 1), (10208, 0)]
    assert [one.reordered for one in counted] == [1, 0]


def test_a_client_after_a_servers_log_is_a_run_of_its_own():
    server, client = recorded("iperf2-server.txt"), recorded("iperf2-tcp.txt")
    runs = [*parse(server), *parse(client)]
    assert [run.client_sends for run in runs] == [
        run.client_sends for run in parse(server + client)
    ]
    assert len(parse(client + server)) == len(runs)


def test_nuttcp_8_prints_a_window_behind_the_retransmissions():
    text = recorded("nuttcp-intervals.txt")
    later = re.sub(r"(?m)(Mbps +0 retrans)$", r"\1    206 KB-cwnd", text)
    assert later.count("KB-cwnd") == 4
    (run,), (plain,) = parse(later), parse(text)
    assert run.flows == plain.flows


def test_raw_data_of_crusader_are_named():
    with pytest.raises(BadInput, match="crusader"):
        text_of(bytes.fromhex("cb597cae82ab72530000"))
