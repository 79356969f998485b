"""Calibrated rates and MTUs, and the goodput that TCP can reach with them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from netlab.congestion.window_laws import mss_B
from netlab.errors import BadInput
from netlab.experiment.lab_pair import lab_pair
from netlab.study import Study
from netlab.units import ETHERNET_HEADER_B

CONGESTION = "cubic"
WITHIN_PERCENT = 0.5
FAST_Mbps, FAST_WITHIN_PERCENT = 10_000.0, 1.0
"""Wider bound from this rate on: two cores cannot do better."""

WINDOW_FRAMES = 1000
"""Minimum window in frames, so that one frame is 0.1 %."""

UNAIDED_FRAMES_PER_S = 250_000.0
"""Above this frame rate the offloads are on: a small machine cannot send single frames so fast.
The token bucket counts the headers of all frames of a large segment."""

MIN_BUFFER_B, BUFFER_S = 262_144, 0.002
"""Socket buffers in time at the rate, and their minimum, which drains fast at the lowest rate."""


@dataclass(frozen=True)
class RateCell:
    """One known rate with one MTU.

    ``rate_Mbps`` counts Ethernet frames without preamble and check sequence, as tbf does.
    """

    rate_Mbps: float
    mtu_B: int

    @property
    def expected_MBps(self) -> float:
        """Maximum payload of TCP over IPv4 with timestamps: MSS of every MTU + 14 bytes."""
        return self.rate_Mbps / 8 * mss_B(self.mtu_B) / (self.mtu_B + ETHERNET_HEADER_B)

    @property
    def within_percent(self) -> float:
        """Permitted error."""
        return FAST_WITHIN_PERCENT if self.rate_Mbps >= FAST_Mbps else WITHIN_PERCENT

    @property
    def frames_per_s(self) -> float:
        """The rate in full frames."""
        return self.rate_Mbps * 1e6 / 8 / (self.mtu_B + ETHERNET_HEADER_B)

    @property
    def offloads(self) -> bool:
        """True if segmentation and checksum offload are on."""
        return self.frames_per_s > UNAIDED_FRAMES_PER_S

    @property
    def path(self) -> str:
        """Name of the lab path with this cell's rate and offloads."""
        return f"{round(self.rate_Mbps * 1e6)}bps" + ("-offloads" if self.offloads else "")

    @property
    def buffer_B(self) -> int:
        """Requested socket buffers."""
        return max(MIN_BUFFER_B, round(self.rate_Mbps * 1e6 / 8 * BUFFER_S))

    @property
    def record_length_B(self) -> int:
        """Record length: a quarter of the buffers, so 64 KiB at a low rate."""
        return self.buffer_B // 4

    def deviation_percent(self, goodput_MBps: float) -> float:
        """Error of a goodput, in per cent of the expected one."""
        return 100 * (goodput_MBps / self.expected_MBps - 1)

    def window_s(self, seconds: float) -> float:
        """The window, lengthened if `seconds` contain too few frames."""
        return max(seconds, WINDOW_FRAMES / self.frames_per_s)


@dataclass(frozen=True)
class RatePlan:
    """The cells of a rate calibration, and the number and duration of runs."""

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
        """Every rate with every MTU, lowest first."""
        levels = product(sorted(set(self.rates_Mbps)), sorted(set(self.mtus_B)))
        return tuple(RateCell(*level) for level in levels)


def check_levels(*limits: tuple[str, float, float, Sequence[float]]) -> None:
    """Refuse an option without a level, or with a level out of range."""
    for key, low, high, levels in limits:
        if not levels:
            raise BadInput("has no level", key=key, code="E-CALIBRATION-001")
        for value in levels:
            if not low <= value <= high:
                limit = f"is from {low:g} to {high:g}"
                raise BadInput(limit, key=key, value=value, code="E-CALIBRATION-002")


QUICK = RatePlan(
    rates_Mbps=(100.0, 1000.0),
    mtus_B=(576, 1500, 16114),
    seconds=0.8,
    repeats=3,
    warmup_s=0.3,
)


def calibration_study(plan: RatePlan) -> Study:
    """Two lab hosts joined by one path of each rate."""
    links = {
        cell.path: {
            "rate_Mbps": cell.rate_Mbps,
            "interrupt_delay_us": 0.0,
            "segmentation_offload": cell.offloads,
            "checksum_offload": cell.offloads,
        }
        for cell in plan.cells
    }
    return study_of_links(links, plan.mtus_B, title="Paths of known rates", congestion=CONGESTION)


def study_of_links(
    links: Mapping[str, dict], mtus_B: Iterable[int], *, title: str, congestion: str
) -> Study:
    """A study with one group for each path between the two lab hosts."""
    groups = [{"name": name, "path": name, "record_length_B": 65536} for name in links]
    return lab_pair(
        "calibration",
        title,
        links,
        groups,
        mtus_B=sorted(set(mtus_B)),
        congestion=congestion,
        force_buffer=True,
    )
