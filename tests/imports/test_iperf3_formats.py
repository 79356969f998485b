"""iperf3 by the rows of `docs/imports.md`: what is read, and what is refused and why."""

from __future__ import annotations

import codecs
import json
import re
from copy import deepcopy
from dataclasses import replace

import pytest
from imports.read_formats import DOCUMENT, JSON, one, recorded, refused_for, streamed

from netlab.imports.formats import format_of, parse, text_of
from netlab.outputs.records import Datagrams

WHOLE = one(JSON).forward
LISTEN = {"start": {"connected": [], "version": "iperf 3.12"}, "intervals": [], "end": {}}
STOPPED = LISTEN | {"error": "interrupt - the server has terminated"}


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
    none = deepcopy(DOCUMENT)
    for interval in none["intervals"]:
        for stream in interval["streams"]:
            stream["bytes"] = 0
    assert one(json.dumps(none)).forward.note.startswith("intervals without 100 %")
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
