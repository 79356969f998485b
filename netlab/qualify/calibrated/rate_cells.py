"""Calibrated rates and MTUs, and the goodput that TCP can reach with them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

from netlab.congestion import mss_B
from netlab.qualify.calibrated.cells import Stream, check_levels, study_of
from netlab.study import Study
from netlab.units import ETHERNET_HEADER_B

RATES_CONGESTION = "cubic"
WITHIN_PERCENT = 0.5
FAST_Mbps, FAST_WITHIN_PERCENT = 10_000.0, 1.0
"""Wider bound from this rate on: two cores cannot do better."""

WINDOW_FRAMES = 1000
"""Minimum window in frames, so that one frame is 0.1 %."""

UNAIDED_FRAMES_PER_S = 250_000.0
"""Above this frame rate the offloads are on: a small machine cannot send single frames so fast.
The token bucket counts the headers of all frames of a large segment."""

RATE_BUFFER_B, RATE_BUFFER_S = 262_144, 0.002
"""Socket buffers in time at the rate, and their minimum, which drains fast at the lowest rate."""


class KnownRate:
    """A known goodput; ``rate_Mbps`` counts frames without preamble and check sequence, as tbf."""

    rate_Mbps: float
    mtu_B: int

    @property
    def key(self) -> dict:
        return dict(vars(self))

    @property
    def expected_MBps(self) -> float:
        """Maximum payload of TCP over IPv4 with timestamps: MSS of every MTU + 14 bytes."""
        return self.rate_Mbps / 8 * mss_B(self.mtu_B) / (self.mtu_B + ETHERNET_HEADER_B)

    @property
    def within_percent(self) -> float:
        return RATE_WITHIN_PERCENT

    def excess(self, sample: dict) -> float | None:
        """Error of a sample in units of the bound: positive as other load makes it."""
        if sample["goodput_MBps"] is None:
            return None
        return 100 * (1 - sample["goodput_MBps"] / self.expected_MBps) / self.within_percent


@dataclass(frozen=True)
class RateCell(KnownRate):
    rate_Mbps: float
    mtu_B: int

    @property
    def within_percent(self) -> float:
        return FAST_WITHIN_PERCENT if self.rate_Mbps >= FAST_Mbps else WITHIN_PERCENT

    @property
    def frames_per_s(self) -> float:
        return self.rate_Mbps * 1e6 / 8 / (self.mtu_B + ETHERNET_HEADER_B)

    @property
    def offloads(self) -> bool:
        return self.frames_per_s > UNAIDED_FRAMES_PER_S

    @property
    def path(self) -> str:
        return f"{round(self.rate_Mbps * 1e6)}bps" + ("-offloads" if self.offloads else "")

    @property
    def link(self) -> dict:
        offloads = dict.fromkeys(("segmentation_offload", "checksum_offload"), self.offloads)
        return {"rate_Mbps": self.rate_Mbps, "interrupt_delay_us": 0.0, **offloads}

    def stream(self, plan: RatePlan) -> Stream:
        """The stream that fills the path; records of a quarter of the buffers."""
        buffer_B = max(RATE_BUFFER_B, round(self.rate_Mbps * 1e6 / 8 * RATE_BUFFER_S))
        window_s = max(plan.seconds, WINDOW_FRAMES / self.frames_per_s)
        times, record_length_B = (plan.warmup_s, window_s), buffer_B // 4
        return Stream(
            self.mtu_B, buffer_B, *times, RATES_CONGESTION, record_length_B=record_length_B
        )


@dataclass(frozen=True)
class RatePlan:
    rates_Mbps: Sequence[float] = (10.0, 100.0, 1000.0, 10_000.0)
    mtus_B: Sequence[int] = (576, 1500, 9000, 16114)
    seconds: float = 2.0
    repeats: int = 5
    warmup_s: float = 0.5

    def __post_init__(self) -> None:
        check_levels(
            ("rate", 1.0, 1e6, self.rates_Mbps),
            ("mtu", 576, 65535, self.mtus_B),
            ("seconds", 0.1, 600.0, (self.seconds,)),
            ("repeats", 1, 1000, (self.repeats,)),
        )

    @property
    def cells(self) -> tuple[RateCell, ...]:
        levels = product(sorted(set(self.rates_Mbps)), sorted(set(self.mtus_B)))
        return tuple(RateCell(*level) for level in levels)

    @property
    def tries(self) -> int:
        return self.repeats

    @property
    def study(self) -> Study:
        return study_of(self.cells, self.mtus_B, "Paths of known rates", RATES_CONGESTION)


QUICK = RatePlan((100.0, 1000.0), (576, 1500, 16114), seconds=0.8, repeats=3, warmup_s=0.3)

RATE_WITHIN_PERCENT = 1.0
