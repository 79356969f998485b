"""The path emulator keeps times and rates to a fraction of a per cent, on a machine of its own."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise

import pytest
from native.emulated import ADDRESS, OVERHEAD_B, Emulated, transfer

from netlab import core

FAT_BPS = round(float(os.environ.get("NETLAB_FAT_BPS", "5e8")))
WINDOWS = 5
PINGS, PING_S = 15, 0.02
EARLY_MS = 0.05
"""The compensation for the wake-up latency may exceed the latency by this much."""
SCALE_SHARE = 0.4


def tolerance_ms(rtt_ms: float) -> float:
    return max(0.2, 0.005 * rtt_ms)


@pytest.mark.parametrize("rtt_ms", [2, 40])
def test_a_round_trip_is_as_long_under_load(path, rtt_ms):
    """A stream of 500 Mb/s passes through the emulator meanwhile."""
    path.both(delay_us=rtt_ms * 500)
    path.open(9000)
    load = {"warmup_ms": 300, "window_ms": 3000, "buffer_B": 8_000_000}
    with beside(path, load, pacing_Bps=62_500_000) as result:
        means_ms = [path.pings_ms(PINGS, PING_S)[1] for _ in range(WINDOWS)]
    assert statistics.median(means_ms) == pytest.approx(rtt_ms, abs=tolerance_ms(rtt_ms))
    assert result["window"]["bytes"] * 8 / 3 == pytest.approx(500e6, rel=0.05)


def test_a_round_trip_between_bursts_is_no_longer(path):
    """A window of some MB over 40 ms arrives as one burst: only packets within it wait."""
    path.both(delay_us=20_000)
    path.open(9000)
    load = {"warmup_ms": 700, "window_ms": 1500, "buffer_B": 4_000_000}
    with beside(path, load) as result:
        least_ms = min(path.pings_ms(5, 0.01)[0] for _ in range(4))
    assert result["window"]["bytes"] * 8 / 1.5 > 50e6
    assert least_ms == pytest.approx(40, abs=tolerance_ms(40))


@contextmanager
def beside(path: Emulated, load: dict, **gen_settings: int) -> Iterator[dict]:
    """A stream from a to b during the block, from its window on; the sink's result comes after."""
    settings = {**load, "congestion": "reno", "force_buffer": 1}
    result: dict = {}
    with path.agents() as (gen, sink):
        port, token = sink.sink(bind=ADDRESS["b"], **settings)
        gen.gen(port, token, to=ADDRESS["b"], **gen_settings, **settings)
        time.sleep(load["warmup_ms"] / 1e3 + 0.3)
        yield result
        result |= sink.receive(30)
    assert result["status"] == "ok"


@pytest.mark.parametrize(("rate_bps", "mtu_B"), [(100_000_000, 1500), (1_000_000_000, 9000)])
def test_a_stream_gets_the_rate(path, rate_bps, mtu_B):
    path.both(rate_bps=rate_bps, delay_us=1000, queue_B=rate_bps // 8 // 50)
    shares_of_rate(path, rate_bps, mtu_B, window_ms=700, warmup_ms=300, buffer_B=8_000_000)


@pytest.mark.timeout(300)
def test_a_stream_gets_the_rate_over_183_ms_without_a_loss(path):
    """The SLAC path of 2003. ``NETLAB_FAT_BPS=5e9`` needs a machine that does little else.

    The stream is paced 2 % above the rate, so that it fills the link and a slow start does not
    overflow what the path's memory holds.
    """
    path.both(delay_us=91_500, rate_bps=FAT_BPS)
    buffer_B = round(FAT_BPS / 8 * 0.183 * 1.3)
    settings = {"warmup_ms": 3500, "window_ms": 2000, "drain_ms": 9000, "record_B": 1 << 18}
    pacing_Bps = round(FAT_BPS / 8 * 1.02)
    shares_of_rate(path, FAT_BPS, 9000, buffer_B=buffer_B, pacing_Bps=pacing_Bps, **settings)
    assert all(sum(way["dropped"].values()) == 0 for way in path.report()["directions"])


def shares_of_rate(path: Emulated, rate_bps: int, mtu_B: int, **settings: int) -> None:
    """Of every packet MTU + 14 bytes count, of which 52 are headers of IP and TCP."""
    path.open(mtu_B)
    least_us = path.report()["directions"][0]["delay_us"] * 2 - 500
    carried_bps, shares = rate_bps * (mtu_B - 52) / (mtu_B + OVERHEAD_B), []
    with path.agents() as agents:
        for _ in range(WINDOWS):
            result = transfer(path, agents, **settings)
            window = result["sink"]["window"]
            shares.append(window["bytes"] * 8e9 / (window["t1_ns"] - window["t0_ns"]) / carried_bps)
            # however busy the machine is, no packet comes before its time
            assert result["gen"]["per_stream"][0]["tcp"]["min_rtt_us"] >= least_us
    print(f"{rate_bps / 1e9:g} Gb/s: {', '.join(f'{x:.4f}' for x in shares)} of the rate")
    assert statistics.median(shares) == pytest.approx(1, abs=0.01), shares


def goodput_MBps(streams: int) -> float:
    """Goodput of the best 200 ms of a run on this machine."""
    sink, gen = core.transfer(
        streams=streams, congestion="cubic", window_ms=800, tail_ms=800, interval_ms=200,
        accept_ms=20_000, connect_ms=20_000, drain_ms=20_000,
    )  # fmt: skip
    assert (sink.status, gen.status) == ("ok", "ok"), (sink.message, gen.message)
    assert sink.total_bytes == gen.total_bytes == sink.interval_sum_bytes
    rows = zip(sink.sample_bytes.sum(axis=0), sink.sample_t_ns, strict=True)
    samples = [(int(total), int(t_ns)) for total, t_ns in rows]
    return max((b[0] - a[0]) * 1e3 / (b[1] - a[1]) for a, b in pairwise(samples))


def test_1000_streams_keep_most_of_the_goodput_of_20():
    shares = [goodput_MBps(1000) / goodput_MBps(20) for _ in range(WINDOWS)]
    print(f"of the goodput of 20 streams 1,000 have {', '.join(f'{x:.2f}' for x in shares)}")
    assert statistics.median(shares) >= SCALE_SHARE, shares


def test_a_sender_keeps_its_buffer_full(path):
    """Where the kernel wakes it a third of the buffer is empty, and acknowledgements are bursts."""
    path.both(delay_us=50_000)
    path.open(1500)
    with path.agents() as agents:
        result = transfer(path, agents, window_ms=1000, warmup_ms=2000)
    window, stream = result["sink"]["window"], result["gen"]["per_stream"][0]
    per_rtt_B = window["bytes"] * 0.1e9 / (window["t1_ns"] - window["t0_ns"])
    assert 0.87 < per_rtt_B / stream["sndbuf_B"] < 1.05


# Last: the loops that keep processors awake take from those of the rates.
@pytest.mark.parametrize(
    ("there_us", "back_us"),
    [(0, 0), (250, 250), (500, 1500), (5000, 5000), (20_000, 20_000), (60_000, 123_200)],
)
def test_an_idle_round_trip_takes_the_requested_time(path, awake, there_us, back_us):
    path.set("ab", delay_us=there_us)
    path.set("ba", delay_us=back_us)
    path.open()
    rtt_ms = (there_us + back_us) / 1000
    means_ms = [path.pings_ms(PINGS, PING_S)[1] for _ in range(WINDOWS)]
    assert statistics.median(means_ms) == pytest.approx(rtt_ms, abs=tolerance_ms(rtt_ms))
    assert min(means_ms) > rtt_ms - EARLY_MS
