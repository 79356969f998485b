"""What the path emulator is held to: round trips, idle and loaded, and rates of long paths."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from netlab.errors import BadInput
from netlab.qualify.calibration.rate_cells import RateCell, study_of_links
from netlab.qualify.calibration.stream import Stream
from netlab.study import Study

CONGESTION = "reno"
"""Its slow start ends when the window is full, not, as cubic's may, when the delay has grown."""

BOUND_US, BOUND_PERCENT = 200.0, 0.5
"""A mean round trip may be off by the larger of the two."""

RATE_WITHIN_PERCENT = 1.0

LOAD_SHORT_PERCENT, LOAD_SHORT = 5.0, "load_short"
"""A try whose load fell short by more than so much has this flag."""

PATH_MTU_B = 9000
PING_INTERVAL_S = 0.02
LEAST_PINGS = 2

WARMUP_S, WARMUP_RTTS = 0.5, 16
"""A window of 60 MB is open after 13 round trips, of which two are the handshake."""

SPARE_S = 0.5
"""A stream goes on so much longer than the pings that it loads, their program's start included."""

MIN_BUFFER_B = 1_000_000
BUFFER_BDPS = 1.25
LOAD_BUFFER_B, LOAD_BUFFER_BDPS = 8_000_000, 2
"""A load's buffers outlast an end that waits for a processor, for 0.1 s."""

QUEUE_BUFFERS = 2
"""The kernel may let a window be twice the buffer asked for; the queue takes all of it."""


@dataclass(frozen=True)
class Load:
    """What passes beside the pings: nothing, or one stream of a pace; ``rate_Mbps`` is the path's.

    On a path with a rate a ping may wait for what is on the link before it, as it would on a real
    one; where the stream is paced well below the rate that is little.
    """

    name: str
    paced_Mbps: float = 0.0
    rate_Mbps: float | None = None


IDLE = Load("idle")
LOADED = Load("loaded", 500.0)
LOADED_LINK = Load("loaded link", 1000.0, 2500.0)


@dataclass(frozen=True)
class RoundTrip:
    """A path that is pinged under a load."""

    rtt_ms: float
    load: Load

    @property
    def bound_us(self) -> float:
        """How far from what was asked the mean may be, us."""
        return max(BOUND_US, 1e3 * self.rtt_ms * BOUND_PERCENT / 100)

    @property
    def path(self) -> str:
        """Name of the lab path."""
        return f"{round(1e3 * self.rtt_ms)}us" + ("-link" if self.load.rate_Mbps else "")

    @property
    def link(self) -> dict:
        """The lab path's link, as a study has it."""
        emulator = {"with": "netlab", "rtt_ms": self.rtt_ms}
        if self.load.rate_Mbps:
            queue_B = QUEUE_BUFFERS * self.buffer_B
            emulator |= {"rate_Mbps": self.load.rate_Mbps, "queue_B": queue_B}
        return {"emulator": emulator}

    @property
    def mtu_B(self) -> int:
        """MTU of the path."""
        return PATH_MTU_B

    @property
    def key(self) -> dict:
        """What names the cell in a sample."""
        return {"rtt_ms": self.rtt_ms, "load": self.load.name}

    @property
    def buffer_B(self) -> int:
        """Socket buffers of the load."""
        on_its_way_B = self.load.paced_Mbps / 8 * 1e3 * self.rtt_ms
        return max(LOAD_BUFFER_B, round(LOAD_BUFFER_BDPS * on_its_way_B))

    def stream(self, pinged_s: float) -> Stream:
        """The load: a stream whose window holds so many seconds of pings."""
        rtt_s = self.rtt_ms / 1e3
        return Stream(
            mtu_B=self.mtu_B,
            buffer_B=self.buffer_B,
            warmup_s=WARMUP_S + WARMUP_RTTS * rtt_s,
            window_s=pinged_s + 2 * rtt_s + SPARE_S,
            congestion=CONGESTION,
            pacing_MBps=self.load.paced_Mbps / 8,
        )

    def excess(self, sample: dict) -> float | None:
        """By how many bounds a mean is too long; less than 0: too short, None: there is none."""
        if sample["mean_ms"] is None:
            return None
        return 1e3 * (sample["mean_ms"] - self.rtt_ms) / self.bound_us


@dataclass(frozen=True)
class EmulatedRate:
    """A path with a rate, filled by one stream; ``rate_Mbps`` as in :class:`RateCell`."""

    rate_Mbps: float
    rtt_ms: float
    mtu_B: int

    @property
    def expected_MBps(self) -> float:
        """Most payload TCP can carry at the rate, as on a short path."""
        return RateCell(self.rate_Mbps, self.mtu_B).expected_MBps

    @property
    def buffer_B(self) -> int:
        """Socket buffers: a little more than is on its way at the rate."""
        return max(MIN_BUFFER_B, round(BUFFER_BDPS * self.rate_Mbps / 8 * 1e3 * self.rtt_ms))

    @property
    def path(self) -> str:
        """Name of the lab path."""
        return f"{round(1e6 * self.rate_Mbps)}bps-{round(1e3 * self.rtt_ms)}us"

    @property
    def link(self) -> dict:
        """The lab path's link, as a study has it."""
        return {
            "emulator": {
                "with": "netlab",
                "rtt_ms": self.rtt_ms,
                "rate_Mbps": self.rate_Mbps,
                "queue_B": QUEUE_BUFFERS * self.buffer_B,
            }
        }

    @property
    def key(self) -> dict:
        """What names the cell in a sample."""
        return {"rate_Mbps": self.rate_Mbps, "rtt_ms": self.rtt_ms, "mtu_B": self.mtu_B}

    def stream(self, window_s: float) -> Stream:
        """The stream that fills the path."""
        return Stream(
            mtu_B=self.mtu_B,
            buffer_B=self.buffer_B,
            warmup_s=WARMUP_S + WARMUP_RTTS * self.rtt_ms / 1e3,
            window_s=window_s,
            congestion=CONGESTION,
        )

    def excess(self, sample: dict) -> float | None:
        """By how many bounds a goodput is too low; less than 0: too high, None: there is none."""
        if sample["goodput_MBps"] is None:
            return None
        percent = 100 * (1 - sample["goodput_MBps"] / self.expected_MBps)
        return percent / RATE_WITHIN_PERCENT


EmulatorCell = RoundTrip | EmulatedRate


def as_asked(sample: dict) -> bool:
    """Whether a try met the load that it should have."""
    return LOAD_SHORT not in sample["flags"].split(",")


@dataclass(frozen=True)
class EmulatorPlan:
    """Which of the emulator's promises are examined, and how closely.

    Parameters
    ----------
    rtts_ms : sequence of float
        Round-trip times asked for, each under every load.
    rates : sequence of EmulatedRate
        Rates of long paths.
    loads : sequence of Load
        What passes beside the pings.
    pings : int
        Of a round trip's mean.
    seconds : float
        Window of a rate, s.
    tries : int
        A figure that other work on the machine can have put off its bound, or whose load fell
        short, is measured again, up to so many times in all.
    """

    rtts_ms: Sequence[float] = (0.5, 1.0, 2.0, 10.0, 40.0, 183.2)
    rates: Sequence[EmulatedRate] = (
        EmulatedRate(100.0, 20.0, 1500),
        EmulatedRate(2500.0, 183.2, PATH_MTU_B),
    )
    loads: Sequence[Load] = (IDLE, LOADED, LOADED_LINK)
    pings: int = 100
    seconds: float = 2.0
    tries: int = 5

    def __post_init__(self) -> None:
        if not self.rtts_ms:
            raise BadInput("has no level", key="rtt")
        for key, low, high, values in (
            ("rtt", 0.0, 2000.0, self.rtts_ms),
            ("pings", LEAST_PINGS, 100_000, (self.pings,)),
            ("seconds", 0.1, 600.0, (self.seconds,)),
            ("tries", 1, 100, (self.tries,)),
        ):
            for value in values:
                if not low <= value <= high:
                    raise BadInput(f"is from {low:g} to {high:g}", key=key, value=value)

    @property
    def round_trips(self) -> tuple[RoundTrip, ...]:
        """Every round-trip time under every load, shortest first."""
        known = sorted({round(rtt_ms, 3) for rtt_ms in self.rtts_ms})
        return tuple(RoundTrip(rtt_ms, load) for rtt_ms in known for load in self.loads)

    @property
    def cells(self) -> tuple[EmulatorCell, ...]:
        """Round trips, then rates."""
        return (*self.round_trips, *self.rates)


QUICK_EMULATOR = EmulatorPlan(
    rtts_ms=(2.0, 40.0),
    rates=(EmulatedRate(100.0, 20.0, 1500),),
    loads=(IDLE, LOADED),
    pings=40,
    seconds=1.0,
    tries=3,
)


def emulator_study(plan: EmulatorPlan) -> Study:
    """Two lab hosts joined by an emulated path of each kind."""
    links = {cell.path: cell.link for cell in plan.cells}
    mtus_B = {cell.mtu_B for cell in plan.cells}
    return study_of_links(links, mtus_B, title="Emulated paths", congestion=CONGESTION)
