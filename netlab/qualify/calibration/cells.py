"""What is calibrated: known rates and MTUs, and the goodput that TCP can have there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from netlab.congestion.window_laws import mss_B
from netlab.errors import BadInput
from netlab.study import Study
from netlab.units import ETHERNET_HEADER_B

SENDER, RECEIVER = "gen", "sink"
CONGESTION = "cubic"
WITHIN_PERCENT = 0.5
FAST_Mbps, FAST_WITHIN_PERCENT = 10_000.0, 1.0
"""From this rate on two cores cannot be held to more."""

WINDOW_FRAMES = 1000
"""A window is at least so many frames long: one frame more or less is then 0.1 %."""

UNAIDED_FRAMES_PER_S = 250_000.0
"""Beyond it the offloads are on: the kernel of a small machine cannot send every frame by itself.
The token bucket counts the headers of the frames that a large segment stands for."""

MIN_BUFFER_B, BUFFER_S = 262_144, 0.002
"""Socket buffers hold this much of the rate, and little enough to drain soon at the lowest."""


@dataclass(frozen=True)
class RateCell:
    """One known rate with one MTU.

    ``rate_Mbps`` is of Ethernet frames without preamble and check sequence, as tbf counts them.
    """

    rate_Mbps: float
    mtu_B: int

    @property
    def expected_MBps(self) -> float:
        """Most payload TCP over IPv4 with timestamps can carry: MSS of every MTU + 14 bytes."""
        return self.rate_Mbps / 8 * mss_B(self.mtu_B) / (self.mtu_B + ETHERNET_HEADER_B)

    @property
    def within_percent(self) -> float:
        """How far from it a figure may be."""
        return FAST_WITHIN_PERCENT if self.rate_Mbps >= FAST_Mbps else WITHIN_PERCENT

    @property
    def frames_per_s(self) -> float:
        """Full frames that the rate amounts to."""
        return self.rate_Mbps * 1e6 / 8 / (self.mtu_B + ETHERNET_HEADER_B)

    @property
    def offloads(self) -> bool:
        """Whether large segments and checksums are left to the device."""
        return self.frames_per_s > UNAIDED_FRAMES_PER_S

    @property
    def path(self) -> str:
        """Name of the lab path with this cell's rate and offloads."""
        return f"{round(self.rate_Mbps * 1e6)}bps" + ("-offloads" if self.offloads else "")

    @property
    def buffer_B(self) -> int:
        """Socket buffers to ask for."""
        return max(MIN_BUFFER_B, round(self.rate_Mbps * 1e6 / 8 * BUFFER_S))

    @property
    def record_length_B(self) -> int:
        """Bytes of a record: a quarter of the buffers, of which a slow rate makes 64 KiB."""
        return self.buffer_B // 4

    def deviation_percent(self, goodput_MBps: float) -> float:
        """How far a goodput is from what TCP can carry, in per cent of it."""
        return 100 * (goodput_MBps / self.expected_MBps - 1)

    def window_s(self, seconds: float) -> float:
        """The window, lengthened where `seconds` hold too few frames."""
        return max(seconds, WINDOW_FRAMES / self.frames_per_s)


@dataclass(frozen=True)
class Plan:
    """Which cells are measured, how long and how often.

    Parameters
    ----------
    rates_Mbps, mtus_B : sequence
        Every rate is measured with every MTU.
    seconds, warmup_s : float
        Window and warm-up of a run, s.
    repeats : int
        Runs of which a cell's figure is the median.
    tries : int
        A cell whose figure is too low, as other work on the machine can make it, is measured
        again, up to so many times in all.
    """

    rates_Mbps: Sequence[float] = (10.0, 100.0, 1000.0, 10_000.0)
    mtus_B: Sequence[int] = (576, 1500, 9000, 16114)
    seconds: float = 2.0
    repeats: int = 3
    warmup_s: float = 0.5
    tries: int = 5

    def __post_init__(self) -> None:
        for key, low, high, values in (
            ("rate", 1.0, 1e6, self.rates_Mbps),
            ("mtu", 576, 65535, self.mtus_B),
            ("seconds", 0.1, 600.0, (self.seconds,)),
            ("repeats", 1, 1000, (self.repeats,)),
            ("tries", 1, 100, (self.tries,)),
        ):
            for value in values:
                if not low <= value <= high:
                    raise BadInput(f"is from {low:g} to {high:g}", key=key, value=value)
            if not values:
                raise BadInput("has no level", key=key)

    @property
    def cells(self) -> tuple[RateCell, ...]:
        """Every rate with every MTU, lowest first."""
        levels = product(sorted(set(self.rates_Mbps)), sorted(set(self.mtus_B)))
        return tuple(RateCell(*level) for level in levels)


QUICK = Plan(
    rates_Mbps=(100.0, 1000.0),
    mtus_B=(576, 1500, 16114),
    seconds=0.8,
    repeats=1,
    warmup_s=0.3,
    tries=3,
)


def calibration_study(plan: Plan) -> Study:
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
    """A study of the two lab hosts of a calibration.

    Parameters
    ----------
    links : mapping of str to dict
        Name of each path to its link, as a study has it.
    mtus_B : iterable of int
        MTUs that they are used with.
    title, congestion : str
        Of the study.
    """
    ends = [{"host": SENDER}, {"host": RECEIVER}]
    return Study.model_validate(
        {
            "netlab": 1,
            "name": "calibration",
            "title": title,
            "hosts": {name: {"kind": "lab"} for name in (SENDER, RECEIVER)},
            "paths": {name: {"ends": ends, "link": link} for name, link in links.items()},
            "groups": [
                {"name": name, "path": name, "sender": SENDER, "record_length_B": 65536}
                for name in links
            ],
            "tunings": [{"name": "mtu-only", "knobs": [], "mtus_B": sorted(set(mtus_B))}],
            "streams": [1],
            "congestion": congestion,
            "force_buffer": True,
        }
    )
