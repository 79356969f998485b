"""Window laws of TCP congestion avoidance: window that a path needs, recovery time after a loss.

A law gives, for a congestion window of ``w`` segments, the growth in a round trip without loss
and the window after a loss. Each is the published law alone: no slow start, no timeout, one loss
event, and a window that just fills the path before it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from netlab.bus import is_number
from netlab.errors import check

# IPv4 and TCP headers without options, and the timestamp option as Linux pads it.
IP_TCP_HEADER_B = 40
TIMESTAMP_OPTION_B = 12
# Ethernet around an IP packet: header 14, check sequence 4, preamble 8, gap 12.
ETHERNET_FRAME_B = 38
_MAX_ROUND_TRIPS = 1_000_000


def bdp_B(rate_Mbps: float, rtt_ms: float) -> float:
    """Bandwidth-delay product: bytes in flight that keep a path full."""
    return _positive("rate_Mbps", rate_Mbps) * _positive("rtt_ms", rtt_ms) * 1000 / 8


def window_limit_Mbps(window_B: float, rtt_ms: float) -> float:
    """Rate that a window allows: one window each round trip."""
    return _positive("window_B", window_B) * 8 / _positive("rtt_ms", rtt_ms) / 1000


def mss_B(mtu_B: int, *, timestamps: bool = True) -> int:
    """Payload of one TCP segment over IPv4."""
    mss = int(_positive("mtu_B", mtu_B)) - IP_TCP_HEADER_B - TIMESTAMP_OPTION_B * timestamps
    check(mss > 0, "mtu_B", mtu_B, "must be larger than the headers", "E-CONGESTION-002")
    return mss


def ethernet_goodput_Mbps(rate_Mbps: float, mtu_B: int) -> float:
    """Most payload TCP over IPv4 can carry on an Ethernet link."""
    return _positive("rate_Mbps", rate_Mbps) * mss_B(mtu_B) / (mtu_B + ETHERNET_FRAME_B)


@dataclass(frozen=True)
class WindowLaw:
    name: str
    source: str
    growth: Callable[[float], float]
    kept: Callable[[float], float]

    def trajectory(self, window_segments: float) -> np.ndarray:
        """Windows from just after a loss until the old window is reached again."""
        full = _positive("window_segments", window_segments)
        check(full >= 2, "window_segments", full, "must be at least 2", "E-CONGESTION-003")
        windows = [full * self.kept(full)]
        text = "does not recover within a million round trips"
        while windows[-1] < full:
            few = len(windows) <= _MAX_ROUND_TRIPS
            check(few, "window_segments", full, text, "E-CONGESTION-004")
            windows.append(min(full, windows[-1] + self.growth(windows[-1])))
        return np.asarray(windows)

    def recovery_round_trips(self, window_segments: float) -> float:
        """Round trips from a loss back to the old window, the last one in part."""
        windows = self.trajectory(window_segments)
        before = windows[-2]
        part = (windows[-1] - before) / self.growth(before)
        return float(len(windows) - 2 + part)

    def recovery_s(self, window_segments: float, rtt_ms: float) -> float:
        """Seconds from a loss back to the old window; see `recovery_round_trips`."""
        return self.recovery_round_trips(window_segments) * _positive("rtt_ms", rtt_ms) / 1000


# RFC 3649, section 5: below Low_Window the law is Reno's.
_LOW_WINDOW, _HIGH_WINDOW, _HIGH_P, _LOW_P, _HIGH_DECREASE = 38, 83_000, 1e-7, 1e-3, 0.1


def _highspeed_position(w: float) -> float:
    """Place of a window between the low and the high one, on a scale of logarithms."""
    return math.log(w / _LOW_WINDOW) / math.log(_HIGH_WINDOW / _LOW_WINDOW)


def _highspeed_decrease(w: float) -> float:
    """b(w) of RFC 3649, section 5."""
    return 0.5 if w <= _LOW_WINDOW else (_HIGH_DECREASE - 0.5) * _highspeed_position(w) + 0.5


def _highspeed_growth(w: float) -> float:
    """a(w) of RFC 3649, section 5."""
    if w <= _LOW_WINDOW:
        return 1.0
    position = _highspeed_position(w)
    loss_rate = math.exp(position * math.log(_HIGH_P / _LOW_P) + math.log(_LOW_P))
    decrease = _highspeed_decrease(w)
    return max(1.0, w * w * loss_rate * 2 * decrease / (2 - decrease))


RENO = WindowLaw(
    "Reno",
    "RFC 5681, section 3.1 and 3.2: one segment a round trip, half after a loss",
    lambda w: 1.0,
    lambda w: 0.5,
)
HIGHSPEED = WindowLaw(
    "HighSpeed",
    "RFC 3649, section 5: a(w) and b(w) from Low_Window 38 and High_Window 83000",
    _highspeed_growth,
    lambda w: 1 - _highspeed_decrease(w),
)
_SCALABLE_LEGACY_WINDOW = 16


SCALABLE = WindowLaw(
    "Scalable",
    "T. Kelly, Scalable TCP, Computer Communication Review 33(2), 2003: "
    "1 per cent a round trip, seven eighths after a loss, as Reno up to 16 segments",
    lambda w: 1.0 if w <= _SCALABLE_LEGACY_WINDOW else 0.01 * w,
    lambda w: 0.5 if w <= _SCALABLE_LEGACY_WINDOW else 0.875,
)
LAWS = (RENO, HIGHSPEED, SCALABLE)


def _positive(key: str, value: float) -> float:
    fine = is_number(value) and value > 0
    check(fine, key, value, "must be a number above 0", "E-CONGESTION-005")
    return float(value)
