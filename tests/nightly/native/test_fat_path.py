"""The SLAC path of 2003, 183 ms long: one stream at MTU 9000 gets the rate without a loss.

It needs a machine that does little else to reach 5 Gb/s: ``NETLAB_FAT_BPS=5e9`` asks for that.
"""

from __future__ import annotations

import os
import statistics

import pytest
from emulated import OVERHEAD_B, emulated, transfer

RATE_BPS = round(float(os.environ.get("NETLAB_FAT_BPS", "5e8")))
WINDOWS = 3
MTU_B = 9000
RTT_S = 0.183
LEAST_RTT_US = RTT_S * 1e6 - 500
"""However busy the machine is, no packet comes before its time."""


@pytest.mark.timeout(300)
def test_a_stream_gets_the_rate_over_183_ms(gensink):
    """Of every packet MTU + 14 bytes count, of which 52 are headers of IP and TCP.

    The stream is paced 2 % above the rate, so that it fills the link and a slow start does not
    overflow what the path's memory holds.
    """
    carried_bps = RATE_BPS * (MTU_B - 52) / (MTU_B + OVERHEAD_B)
    window_B = round(RATE_BPS / 8 * RTT_S * 1.3)
    shares = []
    with emulated(gensink) as path:
        path.both(delay_us=round(RTT_S / 2 * 1e6), rate_bps=RATE_BPS)
        path.open(MTU_B)
        with path.agents() as agents:
            for _ in range(WINDOWS):
                result = transfer(
                    path, agents, warmup_ms=3500, window_ms=2000, drain_ms=9000,
                    record_B=1 << 18, buffer_B=window_B, pacing_Bps=round(RATE_BPS / 8 * 1.02),
                )  # fmt: skip
                window = result["sink"]["window"]
                goodput_bps = window["bytes"] * 8e9 / (window["t1_ns"] - window["t0_ns"])
                shares.append(goodput_bps / carried_bps)
                least_us = result["gen"]["per_stream"][0]["tcp"]["min_rtt_us"]
                assert least_us >= LEAST_RTT_US
        directions = path.report()["directions"]
    print(f"{RATE_BPS / 1e9:g} Gb/s: {', '.join(f'{x:.4f}' for x in shares)} of the rate")
    assert statistics.median(shares) == pytest.approx(1, abs=0.01), shares
    assert all(sum(direction["dropped"].values()) == 0 for direction in directions)
