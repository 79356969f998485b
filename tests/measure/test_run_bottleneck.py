"""The bottleneck of a run, from the fields of its record."""

import math

import pandas as pd
import pytest

from netlab.measure.bottleneck import NUMBERS, TEXTS, VERDICTS, bottleneck, evidence

IDLE = {
    **{"goodput_MBps": 500.0, "goodput_forward_MBps": 500.0, "goodput_reverse_MBps": math.nan},
    **{"direction": "->", "streams": 1, "mtu_B": 9000, "mss_B": 8948.0, "bus_MBps": 2128.0},
    **{"link_MBps": math.nan, "sent_B": 600_000_000, "retransmits": 0, "rtt_us": 100.0},
    **{"min_rtt_us": 60.0, "sndbuf_B": 4e6, "rcvbuf_B": 6e6, "rwnd_limited_share": 0.0},
    **{"sndbuf_limited_share": 0.0, "busiest_core_percent": 60.0, "sender_softirq_percent": 10.0},
    **{"receiver_softirq_percent": 20.0, "interface_drops": 0, "softnet_drops": 0},
}
FULL_BUS = {"goodput_MBps": 2105.0}
FULL = {"rwnd_limited_share": 0.9, "retransmits": 900, "busiest_core_percent": 100.0}
QUEUED = {"rcvbuf_B": 100_000.0, "min_rtt_us": 10.0}


def ways(forward_MBps: float, reverse_MBps: float, **fields) -> dict:
    """A run in both directions."""
    each = {"goodput_forward_MBps": forward_MBps, "goodput_reverse_MBps": reverse_MBps}
    total_MBps = forward_MBps + reverse_MBps
    return {"direction": "<->", "goodput_MBps": total_MBps, **each, **fields}


LONG = {
    **{"rtt_us": 20_000.0, "min_rtt_us": 20_000.0, "mtu_B": 1500, "mss_B": 1448.0},
    **{"sent_B": 29_000_000, "retransmits": 10, "sndbuf_B": 16e6, "rcvbuf_B": 16e6},
}
OF_BOTH = {"sender_cpu_percent": 60.0, "receiver_cpu_percent": 60.0}
CLOSED, QUIET = {"closed_share": 0.9}, {"idle_share": 0.9}
FILLED = {"busiest_core_percent": 99.0, "foreign_cpu_percent": 40.0} | OF_BOTH
BESIDE = {"busiest_core_percent": 100.0, "foreign_cpu_percent": 29.8} | OF_BOTH
OWN_EACH_WAY = {"bus_MBps": 4256.0, "bus_shared": False}
GROWING = {"rtt_us": 202_000.0, "min_rtt_us": 200_000.0, "window_s": 1.0, "retransmits": 0}
GROWING |= {"goodput_MBps": 0.9, "cwnd_t0_segments": 20.0, "cwnd_segments": 1685.0}
SHAPED = LONG | {"goodput_MBps": 24.1, "rtt_us": 24_805.0, "min_rtt_us": 20_021.0, "retransmits": 0}
SHAPED |= {"rate_variation_percent": 1.15}
# a deep queue before a shaper, as recorded: it overflows, and each overflow stalls the reader
OVERFLOWN = LONG | {"goodput_MBps": 2.38, "rtt_us": 102_990.0, "min_rtt_us": 22.0}
OVERFLOWN |= {"sent_B": 8_676_482, "rate_variation_percent": 14.1, "busiest_core_percent": 65.0}
OVERFLOWN |= {"congestion_in_force": "cubic"}
# a path of 20 ms with jitter of 8 ms each way and 1 % of loss, as recorded
JITTERY = LONG | {"goodput_MBps": 0.541, "rtt_us": 28_397.0, "min_rtt_us": 7_559.0}
JITTERY |= {"sent_B": 3_279_720, "retransmits": 25, "rate_variation_percent": 33.2}
JITTERY |= {"ping_avg_ms": 22.86, "busiest_core_percent": 58.0, "congestion_in_force": "cubic"}
# one that does not overflow: the window grows, and the round trip with it
FILLING = GROWING | {"goodput_MBps": 3.572, "rtt_us": 155_958.0, "min_rtt_us": 20_042.0}
FILLING |= {"cwnd_t0_segments": 110.0, "cwnd_segments": 418.0, "rate_variation_percent": 0.46}
FILLING |= {"window_s": 2.0, "sent_B": 12_000_000, "mss_B": 1448.0, "mtu_B": 1500}
BRIEF = {"rtt_us": 25_000.0, "window_s": 0.4}
POLICED = LONG | {"goodput_MBps": 26.7, "rtt_us": 20_081.0, "congestion_in_force": "cubic"}
POLICED |= {"sent_B": 67_000_000, "retransmits": 32_762, "rate_variation_percent": 6.3}
ZERO = {"rtt_us": 0.0, "min_rtt_us": 0.0, "sent_B": 0, "goodput_MBps": 0.0}


IN_FLIGHT = QUIET | {"rtt_us": 68.0, "min_rtt_us": 4.0, "goodput_MBps": 962.5, "sndbuf_B": 65_536.0}
IN_FLIGHT |= {"rcvbuf_B": 6e6, "rate_variation_percent": 1.1}
OF_SLAVE = {"link_MBps": 125.0, "mtu_B": 1500, "mss_B": 1448.0}
OF_SLAVE |= {"ceiling_source": "one slave of bond0 on left"}


@pytest.mark.parametrize(
    ("word", "fields"),
    [
        # each word by itself has a sentence in tests/analysis/test_conditions.py
        # a full bus outranks losses, windows and busy cores; a reached pacing rate all but it
        ("bus", FULL_BUS | FULL),
        ("bus", FULL_BUS | {"pacing_MBps": 2110.0}),
        ("pacing", FULL | {"pacing_MBps": 520.0}),
        ("CPU", FULL | {"pacing_MBps": 540.0}),
        # a receiver out of CPU is not called a window
        ("CPU", {"rwnd_limited_share": 0.9, "busiest_core_percent": 99.0}),
        # a full window before a queue does not hide loss
        ("window", QUEUED),
        ("loss", QUEUED | {"retransmits": 200}),
        # loss that the window law needs for the rate: 0.05 %, 20 ms, 1448 B allow 4 MB/s
        ("loss", LONG | {"goodput_MBps": 4.0}),
        ("unknown", LONG | {"goodput_MBps": 1.0}),
        ("unknown", LONG | {"goodput_MBps": 4.0, "retransmits": 0}),
        ("loss", LONG | {"goodput_MBps": 16.0, "streams": 4}),
        # a window that doubles in a few round trips, as recorded at 200 ms
        ("slow start", GROWING),
        ("slow start", GROWING | {"busiest_core_percent": 100.0}),
        ("unknown", GROWING | {"window_s": 10.0}),
        ("unknown", GROWING | {"cwnd_t0_segments": 1600.0}),
        # a steady rate behind a queue, as recorded behind tbf, and not that of a busy core
        ("shaped link", SHAPED),
        ("shaped link", SHAPED | {"retransmits": 900}),
        ("unknown", SHAPED | {"rtt_us": 20_100.0}),
        ("unknown", SHAPED | {"rate_variation_percent": 6.0}),
        ("unknown", SHAPED | {"busiest_core_percent": 90.0}),
        ("window", SHAPED | {"rwnd_limited_share": 0.9}),
        # a queue that no fall of the window empties, however its overflows make the rate vary
        ("shaped link", OVERFLOWN),
        ("shaped link", OVERFLOWN | {"ping_avg_ms": 0.3}),
        ("shaped link", OVERFLOWN | {"rate_variation_percent": None}),
        ("shaped link", OVERFLOWN | FILLED | {"sender_waited_share": 0.6}),
        ("foreign CPU", OVERFLOWN | FILLED | {"sender_waited_share": 0.6, "rtt_us": 8_000.0}),
        ("shaped link", OVERFLOWN | {"rtt_us": 8_000.0}),
        # timeouts of a few packets stretch round trips as well, as recorded behind a policer
        ("loss", OVERFLOWN | {"goodput_MBps": 0.005792, "rtt_us": 578_389.0, "retransmits": 23}),
        ("shaped link", OVERFLOWN | {"goodput_MBps": 0.004585, "rtt_us": 2_205_178.0}),
        ("loss", OVERFLOWN | {"rtt_us": 4_000.0}),
        ("loss", OVERFLOWN | {"min_rtt_us": 64_000.0}),
        ("loss", OVERFLOWN | {"busiest_core_percent": 90.0}),
        ("window", OVERFLOWN | {"rwnd_limited_share": 0.9}),
        # round trips that vary without the run's load are not a queue
        ("loss", JITTERY),
        ("shaped link", JITTERY | {"rtt_us": 60_000.0, "goodput_MBps": 0.25}),
        # a window that grows as its queue does, at one rate, is not slow start
        ("shaped link", FILLING),
        ("shaped link", FILLING | {"rate_variation_percent": 8.0}),
        ("slow start", FILLING | BRIEF | {"rate_variation_percent": 30.0}),
        ("shaped link", FILLING | BRIEF),
        # a program that reads or sends too slowly fills windows and stretches round trips
        ("slow receiver", CLOSED),
        ("slow receiver", CLOSED | LONG | {"goodput_MBps": 4.0}),
        ("window", {"closed_share": 0.2, "rwnd_limited_share": 0.9}),
        ("slow receiver", {"closed_share": 0.4, "rwnd_limited_share": 0.5}),
        ("slow sender", QUIET),
        ("slow sender", QUIET | {"rwnd_limited_share": 0.9, "sndbuf_limited_share": 0.9}),
        # a small send buffer is all in flight, as recorded over a cable: nothing waits to be sent
        ("send buffer", IN_FLIGHT),
        ("slow sender", IN_FLIGHT | {"sndbuf_B": 4e6}),
        ("slow sender", IN_FLIGHT | {"rcvbuf_B": 32_768.0}),
        ("pacing", QUIET | {"pacing_MBps": 510.0}),
        ("CPU", QUIET | CLOSED | {"busiest_core_percent": 99.0}),
        ("unknown", QUIET | {"busiest_core_percent": 90.0}),
        # a reader without a CPU closes its window, a small buffer does not
        ("foreign CPU", FILLED | {"rwnd_limited_share": 0.9, "closed_share": 0.3}),
        ("window", FILLED | {"rwnd_limited_share": 0.9, "closed_share": 0.0}),
        # unless other programs had the CPU that it waited for
        *[
            (word, fields | FILLED | {name: waited})
            for slow, fields, name in (
                ("slow receiver", CLOSED, "receiver_waited_share"),
                ("slow sender", QUIET, "sender_waited_share"),
            )
            for word, waited in ((slow, 0.1), ("foreign CPU", 0.6), ("foreign CPU", math.nan))
        ],
        # far more loss than the rate allows, and no queue, as recorded behind a policer
        ("policer", POLICED),
        ("policer", POLICED | {"congestion_in_force": "reno+cubic"}),
        ("loss", POLICED | {"congestion_in_force": "bbr"}),
        ("loss", POLICED | {"congestion_in_force": None}),
        ("loss", POLICED | {"rate_variation_percent": 80.0}),
        ("loss", POLICED | {"rtt_us": 25_000.0}),
        # a sender without a CPU is not explained by what it lost
        ("foreign CPU", POLICED | FILLED | {"sender_waited_share": 0.6}),
        ("policer", POLICED | FILLED | {"sender_waited_share": 0.3}),
        ("loss", POLICED | {"min_rtt_us": None}),
        ("loss", POLICED | {"busiest_core_percent": 90.0}),
        ("loss", POLICED | {"retransmits": 40}),
        # the smaller buffer, where the kernel did not count the time
        ("send buffer", {"sndbuf_B": 80_000.0}),
        # other programs that fill a core are not the run's own work
        ("CPU", {"busiest_core_percent": 99.0, "foreign_cpu_percent": 10.0} | OF_BOTH),
        ("foreign CPU", {"busiest_core_percent": 99.0, "foreign_cpu_percent": 40.0} | OF_BOTH),
        ("window", QUEUED | {"busiest_core_percent": 99.0, "foreign_cpu_percent": 40.0} | OF_BOTH),
        # a program that waits for a CPU beside others, as recorded beside two busy ones a CPU
        ("foreign CPU", BESIDE | {"receiver_waited_share": 0.38}),
        ("CPU", BESIDE | {"receiver_waited_share": 0.2}),
        ("CPU", BESIDE | {"foreign_cpu_percent": 10.0, "receiver_waited_share": 0.9}),
        ("foreign CPU", FILLED | {"rwnd_limited_share": 0.96, "receiver_waited_share": 0.6}),
        ("window", FILLED | {"rwnd_limited_share": 0.96, "receiver_waited_share": 0.2}),
        # bytes in flight that fill a buffer are its limit all the same
        ("window", QUEUED | FILLED | {"rwnd_limited_share": 0.96, "receiver_waited_share": 0.6}),
        ("foreign CPU", LONG | FILLED | {"goodput_MBps": 4.0, "receiver_waited_share": 0.6}),
        ("loss", LONG | FILLED | {"goodput_MBps": 4.0, "receiver_waited_share": 0.2}),
        # a shared bus is full by the sum of both directions, a full-duplex one by the busier
        ("bus", ways(1060.0, 1045.0)),
        ("bus", ways(2100.0, 900.0, **OWN_EACH_WAY)),
        ("unknown", ways(1500.0, 1500.0, **OWN_EACH_WAY)),
        # without word to the contrary both directions share it
        *[("bus", ways(1055.0, 1050.0, bus_shared=shared)) for shared in (True, None, pd.NA)],
        ("unknown", ways(1055.0, 1050.0, **OWN_EACH_WAY)),
        # a link carries each direction by itself
        ("link", ways(119.0, 60.0, link_MBps=125.0, mtu_B=1500, mss_B=1448.0)),
        # so does the slave of a bond that all streams take, whatever it drops
        ("one slave of the bond", ways(119.0, 60.0, **OF_SLAVE)),
        ("one slave of the bond", OF_SLAVE | {"goodput_MBps": 119.0, "retransmits": 900_000}),
        ("loss", OF_SLAVE | {"goodput_MBps": 50.0, "retransmits": 900_000}),
        # a zero RTT and a run without bytes do not divide by zero
        ("unknown", ZERO),
    ],
)
def test_each_word_follows_from_its_evidence(word, fields):
    assert bottleneck(IDLE | fields) == word and word in VERDICTS


def test_small_frames_reach_the_ceiling_at_their_payload_share():
    fields = {"mtu_B": 1500, "mss_B": 1448.0, "bus_MBps": 125.0}
    assert bottleneck(IDLE | fields | {"goodput_MBps": 125.0 * 1448 / 1514}) == "bus"
    assert evidence(IDLE | fields).payload_ceiling_MBps == pytest.approx(119.55, abs=0.01)


def test_the_window_bound_counts_every_stream_and_direction():
    one = evidence(IDLE)
    assert one.window_bound_MBps == pytest.approx(4e6 / 100e-6 / 1e6)
    four = evidence(IDLE | {"streams": 4, "direction": "<->"})
    assert four.window_bound_MBps == pytest.approx(8 * one.window_bound_MBps)


@pytest.mark.parametrize("nothing", [None, pd.NA, math.nan])
def test_missing_fields_are_not_evidence(nothing):
    bare = dict.fromkeys(IDLE, nothing) | {"direction": "->"}
    assert bottleneck(bare) == "unknown"
    assert bottleneck(bare | {"goodput_MBps": 5.0}) == "unknown"
    assert bottleneck({"goodput_MBps": 5.0}) == "unknown"


def test_a_verdict_depends_on_the_columns_that_say_so_and_on_no_other():
    read = set()

    class Noted(dict):
        def get(self, name, default=None):
            read.add(name)
            return super().get(name, default)

    datagrams = {"generator": "netlab-udp", "record_length_B": 8192}
    for fields in ({}, OF_SLAVE, FULL, LONG, ways(400.0, 300.0, **OWN_EACH_WAY), datagrams):
        bottleneck(Noted(IDLE | fields))
    assert read <= {*NUMBERS, *TEXTS}
    windows = {"rwnd_limited_share": 0.9, "buffer_B": 2e6, "receive_buffer_B": 3e6}
    bottleneck(Noted(IDLE | windows))
    assert read == {*NUMBERS, *TEXTS}
