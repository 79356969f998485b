"""Calibrated properties of the path emulator: round trips, idle and loaded, and rates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from netlab.qualify.calibrated.cells import Stream, check_levels, study_of
from netlab.qualify.calibrated.rate_cells import KnownRate
from netlab.study import Study

EMULATOR_CONGESTION = "reno"
"""Its slow start ends at a full window; cubic's may end when the delay grows."""

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
