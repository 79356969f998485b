"""The bottleneck of a run, from the fields of its record."""

import math

import pandas as pd
import pytest

from netlab.measure.bottleneck import VERDICTS, bottleneck, evidence

IDLE = {
    "goodput_MBps": 500.0,
    "goodput_forward_MBps": 500.0,
    "goodput_reverse_MBps": math.nan,
    "direction": "->",
    "streams": 1,
    "mtu_B": 9000,
    "mss_B": 8948.0,
    "bus_MBps": 2128.0,
    "link_MBps": math.nan,
    "sent_B": 600_000_000,
    "retransmits": 0,
    "rtt_us": 100.0,
    "min_rtt_us": 60.0,
    "sndbuf_B": 4e6,
    "rcvbuf_B": 6e6,
    "rwnd_limited_share": 0.0,
    "sndbuf_limited_share": 0.0,
    "busiest_core_percent": 60.0,
    "sender_softirq_percent": 10.0,
    "receiver_softirq_percent": 20.0,
    "interface_drops": 0,
    "softnet_drops": 0,
}


def _word(**fields):
    row = IDLE | fields
    word = bottleneck(row)
    assert word in VERDICTS
    return word


@pytest.mark.parametrize(
    ("word", "fields"),
    [
        ("unknown", {}),
        ("bus", {"goodput_MBps": 2105.0}),
        ("link", {"goodput_MBps": 124.0, "link_MBps": 125.0}),
        ("pacing", {"pacing_MBps": 500.0}),
        ("CPU", {"busiest_core_percent": 99.0}),
        ("window", {"rwnd_limited_share": 0.8}),
        ("send buffer", {"sndbuf_limited_share": 0.7}),
        ("window", {"rcvbuf_B": 100_000.0}),
        ("loss", {"retransmits": 200}),
    ],
)
def test_each_word_follows_from_its_evidence(word, fields):
    assert _word(**fields) == word


def test_a_full_bus_outranks_losses_windows_and_busy_cores():
    fields = {"retransmits": 900, "rwnd_limited_share": 0.9, "busiest_core_percent": 100.0}
    assert _word(goodput_MBps=2105.0, **fields) == "bus"


def test_a_reached_pacing_rate_outranks_all_but_bus_and_link():
    full = {"rwnd_limited_share": 0.9, "retransmits": 900, "busiest_core_percent": 100.0}
    assert _word(pacing_MBps=520.0, **full) == "pacing"
    assert _word(pacing_MBps=540.0, **full) == "CPU"
    assert _word(goodput_MBps=2105.0, pacing_MBps=2110.0) == "bus"


def test_small_frames_reach_the_ceiling_at_their_payload_share():
    fields = {"mtu_B": 1500, "mss_B": 1448.0, "bus_MBps": 125.0}
    assert _word(goodput_MBps=125.0 * 1448 / 1514, **fields) == "bus"
    assert evidence(IDLE | fields).payload_ceiling_MBps == pytest.approx(119.55, abs=0.01)


def test_a_receiver_out_of_cpu_is_not_called_a_window():
    assert _word(rwnd_limited_share=0.9, busiest_core_percent=99.0) == "CPU"


def test_the_window_bound_counts_every_stream_and_direction():
    one = evidence(IDLE)
    assert one.window_bound_MBps == pytest.approx(4e6 / 100e-6 / 1e6)
    four = evidence(IDLE | {"streams": 4, "direction": "<->"})
    assert four.window_bound_MBps == pytest.approx(8 * one.window_bound_MBps)


def test_a_full_window_before_a_queue_does_not_hide_loss():
    queued = {"rcvbuf_B": 100_000.0, "min_rtt_us": 10.0}
    assert _word(**queued) == "window"
    assert _word(**queued, retransmits=200) == "loss"


def test_a_shared_bus_is_full_by_the_sum_of_both_directions():
    fields = {"goodput_forward_MBps": 1060.0, "goodput_reverse_MBps": 1045.0}
    assert _word(direction="<->", goodput_MBps=2105.0, **fields) == "bus"


def test_a_full_duplex_bus_is_full_by_its_busier_direction():
    both = {"direction": "<->", "goodput_MBps": 3000.0, "bus_MBps": 4256.0, "bus_shared": False}
    busy = {"goodput_forward_MBps": 2100.0, "goodput_reverse_MBps": 900.0}
    assert _word(**both, **busy) == "bus"
    slack = {"goodput_forward_MBps": 1500.0, "goodput_reverse_MBps": 1500.0}
    assert _word(**both, **slack) == "unknown"


@pytest.mark.parametrize("shared", [True, None, pd.NA])
def test_without_word_to_the_contrary_both_directions_share_the_bus(shared):
    half = {"goodput_forward_MBps": 1055.0, "goodput_reverse_MBps": 1050.0}
    row = {"direction": "<->", "goodput_MBps": 2105.0, **half}
    assert _word(**row, bus_shared=shared) == "bus"
    assert _word(**row, bus_shared=False, bus_MBps=4256.0) == "unknown"


def test_a_link_carries_each_direction_by_itself():
    half = {"goodput_forward_MBps": 119.0, "goodput_reverse_MBps": 60.0}
    row = {"direction": "<->", "goodput_MBps": 179.0, "link_MBps": 125.0, "mtu_B": 1500}
    assert _word(**row, **half, mss_B=1448.0) == "link"


@pytest.mark.parametrize("nothing", [None, pd.NA, math.nan])
def test_missing_fields_are_not_evidence(nothing):
    bare = dict.fromkeys(IDLE, nothing) | {"direction": "->"}
    assert bottleneck(bare) == "unknown"
    assert bottleneck(bare | {"goodput_MBps": 5.0}) == "unknown"
    assert bottleneck({"goodput_MBps": 5.0}) == "unknown"


def test_a_zero_rtt_and_a_run_without_bytes_do_not_divide_by_zero():
    assert _word(rtt_us=0.0, min_rtt_us=0.0, sent_B=0, goodput_MBps=0.0) == "unknown"
