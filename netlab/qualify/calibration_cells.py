"""Cells of a calibration: known rates, known round trips, their bounds, and how to measure them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from netlab.congestion import mss_B
from netlab.errors import check
from netlab.lab.topology import lab_pair
from netlab.study import Study
from netlab.units import ETHERNET_HEADER_B

RECORD_LENGTH_B = 65536
INTERVAL_MS = 50


@dataclass(frozen=True)
class Stream:
    mtu_B: int
    buffer_B: int
    warmup_s: float
    window_s: float
    congestion: str
    pacing_MBps: float | None = None
    record_length_B: int = RECORD_LENGTH_B


def study_of(cells: Sequence[Any], mtus_B: Iterable[int], title: str, congestion: str) -> Study:
    links = {cell.path: cell.link for cell in cells}
    return lab_pair(
        "calibration",
        title,
        links,
        [{"name": name, "path": name, "record_length_B": RECORD_LENGTH_B} for name in links],
        mtus_B=sorted(set(mtus_B)),
        congestion=congestion,
        force_buffer=True,
    )


def check_levels(*limits: tuple[str, float, float, Sequence[float]]) -> None:
    for key, low, high, levels in limits:
        check(levels, key, None, "has no level", "E-CALIBRATION-001")
        text = f"is from {low:g} to {high:g}"
        for value in levels:
            check(low <= value <= high, key, value, text, "E-CALIBRATION-002")


# Calibrated rates and MTUs, and the goodput that TCP can reach with them.

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
        """How far a sample is off in units of the bound: positive as other load makes it."""
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

# Calibrated properties of the path emulator: round trips, idle and loaded, and rates.

EMULATOR_CONGESTION = "reno"
"""Its slow start ends at a full window; cubic's may end when the delay grows."""

RATE_WITHIN_PERCENT = 1.0
BOUND_US, BOUND_PERCENT = 200.0, 0.5
"""Permitted error of a mean round trip: the larger of the two."""

PATH_MTU_B = 9000
LEAST_PINGS = 2

WARMUP_S, WARMUP_RTTS = 0.5, 16
"""A window of 60 MB is open after 13 round trips, including two for the handshake."""

SPARE_S = 0.5
"""Margin of a load's window beyond the pings, for the start of ping."""

MIN_BUFFER_B = 1_000_000
BUFFER_BDPS = 1.25
LOAD_BUFFER_B, LOAD_BUFFER_BDPS = 8_000_000, 2
"""Buffers of a load: enough for an end that waits 0.1 s for a CPU."""

QUEUE_BUFFERS = 2
"""The kernel may permit a window of twice the requested buffer; the queue takes all of it."""


@dataclass(frozen=True)
class PathLoad:
    """Traffic besides the pings: none, or one paced stream; ``rate_Mbps`` is the path's.

    On a path with a rate a ping waits for the packets before it, as on a real link; little if the
    stream is paced well below the rate.
    """

    name: str
    paced_Mbps: float = 0.0
    rate_Mbps: float | None = None


IDLE = PathLoad("idle")
LOADED = PathLoad("loaded", 500.0)
LOADED_LINK = PathLoad("loaded link", 1000.0, 2500.0)


def _emulator(rtt_ms: float, rate_Mbps: float | None, buffer_B: int) -> dict:
    link: dict = {"with": "netlab", "rtt_ms": rtt_ms}
    if rate_Mbps:
        link |= {"rate_Mbps": rate_Mbps, "queue_B": QUEUE_BUFFERS * buffer_B}
    return {"emulator": link}


@dataclass(frozen=True)
class RoundTrip:
    rtt_ms: float
    load: PathLoad
    mtu_B: int = PATH_MTU_B

    @property
    def bound_us(self) -> float:
        return max(BOUND_US, 1e3 * self.rtt_ms * BOUND_PERCENT / 100)

    @property
    def path(self) -> str:
        return f"{round(1e3 * self.rtt_ms)}us" + ("-link" if self.load.rate_Mbps else "")

    @property
    def link(self) -> dict:
        return _emulator(self.rtt_ms, self.load.rate_Mbps, self.buffer_B)

    @property
    def key(self) -> dict:
        return {"rtt_ms": self.rtt_ms, "load": self.load.name}

    @property
    def buffer_B(self) -> int:
        on_its_way_B = self.load.paced_Mbps / 8 * 1e3 * self.rtt_ms
        return max(LOAD_BUFFER_B, round(LOAD_BUFFER_BDPS * on_its_way_B))

    def stream(self, pinged_s: float) -> Stream:
        """The load: a stream whose window contains `pinged_s` of pings."""
        rtt_s = self.rtt_ms / 1e3
        return Stream(
            self.mtu_B,
            self.buffer_B,
            WARMUP_S + WARMUP_RTTS * rtt_s,
            pinged_s + 2 * rtt_s + SPARE_S,
            EMULATOR_CONGESTION,
            self.load.paced_Mbps / 8,
        )

    def excess(self, sample: dict) -> float | None:
        if sample["mean_ms"] is None:
            return None
        return 1e3 * (sample["mean_ms"] - self.rtt_ms) / self.bound_us


@dataclass(frozen=True)
class EmulatedRate(KnownRate):
    """An emulated path with a rate under one stream; it can carry what a short path can."""

    rate_Mbps: float
    rtt_ms: float
    mtu_B: int

    @property
    def buffer_B(self) -> int:
        """Socket buffers: somewhat more than the bandwidth-delay product."""
        return max(MIN_BUFFER_B, round(BUFFER_BDPS * self.rate_Mbps / 8 * 1e3 * self.rtt_ms))

    @property
    def path(self) -> str:
        return f"{round(1e6 * self.rate_Mbps)}bps-{round(1e3 * self.rtt_ms)}us"

    @property
    def link(self) -> dict:
        return _emulator(self.rtt_ms, self.rate_Mbps, self.buffer_B)

    def stream(self, window_s: float) -> Stream:
        warmup_s = WARMUP_S + WARMUP_RTTS * self.rtt_ms / 1e3
        return Stream(self.mtu_B, self.buffer_B, warmup_s, window_s, EMULATOR_CONGESTION)


@dataclass(frozen=True)
class EmulatorPlan:
    rtts_ms: Sequence[float] = (0.5, 1.0, 2.0, 10.0, 40.0, 183.2)
    rates: Sequence[EmulatedRate] = (
        EmulatedRate(100.0, 20.0, 1500),
        EmulatedRate(2500.0, 183.2, PATH_MTU_B),
    )
    loads: Sequence[PathLoad] = (IDLE, LOADED, LOADED_LINK)
    pings: int = 100
    seconds: float = 2.0
    tries: int = 3

    def __post_init__(self) -> None:
        check_levels(
            ("rtt", 0.0, 2000.0, self.rtts_ms),
            ("pings", LEAST_PINGS, 100_000, (self.pings,)),
            ("seconds", 0.1, 600.0, (self.seconds,)),
            ("tries", 1, 100, (self.tries,)),
        )

    @property
    def round_trips(self) -> tuple[RoundTrip, ...]:
        known = sorted({round(rtt_ms, 3) for rtt_ms in self.rtts_ms})
        return tuple(RoundTrip(rtt_ms, load) for rtt_ms in known for load in self.loads)

    @property
    def cells(self) -> tuple[RoundTrip | EmulatedRate, ...]:
        return (*self.round_trips, *self.rates)

    @property
    def study(self) -> Study:
        mtus_B = {cell.mtu_B for cell in self.cells}
        return study_of(self.cells, mtus_B, "Emulated paths", EMULATOR_CONGESTION)


QUICK_EMULATOR = EmulatorPlan(
    (2.0, 40.0), (EmulatedRate(100.0, 20.0, 1500),), (IDLE, LOADED), pings=40, seconds=1.0
)
