"""netperf, neper, ntttcp, kperf, pScheduler and nuttcp's running totals; mixed files."""

from __future__ import annotations

import re

import pytest
from imports.read_formats import ETHR, JSON, one, recorded, refused_for, streamed
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
    RUNNING,
    pscheduler,
)

from netlab.errors import BadInput
from netlab.imports.formats import format_of, parse, text_of
from netlab.outputs.records import Record

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
