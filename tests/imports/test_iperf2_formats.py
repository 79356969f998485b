"""iperf 2 by the rows of `docs/imports.md`: what is read, and what is refused and why."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from imports.read_formats import one, recorded, refused_for

from netlab.imports.formats import parse
from netlab.outputs.records import Datagrams


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
