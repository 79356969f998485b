"""Each stack against its published window law, on a path without loss and with one.

The window is compared with acknowledged segments, not with time: a law is a gain per
acknowledgement, and a busy machine only delays these. The sink's arrivals are known; the sender had
acknowledgements of fewer, by the segments in flight, a window at most. Bounds:
slow start, by that window; growth in avoidance, 5 per cent and 3 segments of the law's; a loss,
1 per cent and a segment of the law's decrease of the window, which may have grown by the arrivals
between two samples.

A law bounds growth from above, whatever else happens. From below it does so only while the sender
fills its window. A busy machine may prevent that, and then the kernel raises the threshold too
(RFC 2861). So growth and loss are tested on the run of three whose growth is the median.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from native.cc_runs import Trace, cc_session, grown, load, trace_of

from netlab import core
from netlab.congestion import HIGHSPEED, RENO, SCALABLE, WindowLaw

pytestmark = pytest.mark.usefixtures("awake")
PATH = {"rate_bps": 400_000_000, "rtt_ms": 40}
INITIAL_WINDOW = 10
MEASURED_S, LOSS_MS = 3.0, 2500
RUNS = 3


def slow_start_growth(window: float, max_ssthresh: float) -> float:
    """Segments gained in a round trip of limited slow start (RFC 3742, section 2)."""
    return window if window <= max_ssthresh else window / math.floor(2 * window / max_ssthresh)


AVAILABLE = Path("/proc/sys/net/ipv4/tcp_available_congestion_control").read_text().split()


@dataclass(frozen=True)
class Case:
    """A law as netlab loads it, and where its slow start ends."""

    law: WindowLaw
    name: str
    ssthresh: int
    parameters: tuple[tuple[str, int], ...] = ()


CASES = {
    "scalable": Case(SCALABLE, "scalable", 300),
    "highspeed": Case(HIGHSPEED, "highspeed", 800),
    "wad": Case(
        WindowLaw("AIMD(6, 0.3)", "RFC 5681", lambda w: 6.0, lambda w: 0.7),
        "aimd",
        300,
        (("increase_millionths", 6_000_000), ("decrease_millionths", 300_000)),
    ),
    "reno": Case(RENO, "aimd", 200),
}


@pytest.fixture(scope="module")
def core_gensink() -> Path:
    return core.gensink_path()


def middle(run: Callable[[], Trace], figure: Callable[[Trace], float]) -> Trace:
    """The run of three whose figure is the median."""
    return sorted((run() for _ in range(RUNS)), key=figure)[RUNS // 2]


@pytest.fixture(scope="module")
def measured(core_gensink: Path) -> Callable[..., Trace]:
    """A run of a case, by netlab's law or by the kernel's algorithm of a name; each once."""
    done: dict[tuple[str, str], Trace] = {}

    def run(case: Case, kernel: str) -> Trace:
        with cc_session(core_gensink) as holder:
            name = kernel or load(holder, case.name, **dict(case.parameters))
            settings = {"ssthresh": case.ssthresh, "drop_at_ms": LOSS_MS, **PATH}
            return trace_of(core_gensink, name, seconds=MEASURED_S, **settings)

    def gained(trace: Trace, case: Case) -> float:
        grown_by, expected = growth(trace, case)
        assert grown_by <= expected * 1.05 + 3
        return grown_by / expected

    def trace(name: str, kernel: str = "") -> Trace:
        if (name, kernel) not in done:
            case = CASES[name]
            done[name, kernel] = middle(lambda: run(case, kernel), lambda t: gained(t, case))
        return done[name, kernel]

    return trace


def growth(trace: Trace, case: Case) -> tuple[float, float]:
    """Segments gained between slow start and the loss: measured, and by the law."""
    first, last = avoidance(trace, case.ssthresh)
    window = trace.window[first]
    acked = trace.acked[last] - trace.acked[first]
    expected = grown(window, acked, lambda w: case.law.growth(w) / w) - window
    return trace.window[last] - window, expected


def threshold(trace: Trace, case: Case) -> tuple[float, float]:
    """Bounds of the threshold after the loss, from the window before it and the arrivals since."""
    before = trace.before_loss()
    window = trace.window[before]
    acked = np.interp(trace.t_s[before] - PATH["rtt_ms"] / 1e3, trace.t_s, trace.acked)
    most = grown(window, trace.acked[before + 1] - acked, lambda w: case.law.growth(w) / w)
    kept = case.law.kept
    return window * kept(window) * 0.99 - 1, most * kept(most) * 1.01 + 1


def lost(trace: Trace) -> dict[str, int]:
    """Packets that the path dropped from a to b, by reason."""
    dropped = trace.emulation["directions"][0]["dropped"]
    return {why: count for why, count in dropped.items() if count}


def avoidance(trace: Trace, ssthresh: int) -> tuple[int, int]:
    """First and last sample between the end of slow start and the loss."""
    first = int(np.flatnonzero(trace.window > ssthresh)[0]) + 8
    last = trace.before_loss()
    assert last - first > 50, "there was no time to grow in"
    return first, last


@pytest.mark.parametrize("name", CASES)
def test_slow_start_adds_each_acknowledged_segment_and_ends_at_its_threshold(measured, name):
    trace, ssthresh = measured(name), CASES[name].ssthresh
    end = int(np.flatnonzero(trace.window >= ssthresh)[0])
    assert end > 3
    window, acked = trace.window[:end], trace.acked[:end]
    assert (window <= INITIAL_WINDOW + acked + 2).all()
    assert (window >= INITIAL_WINDOW + acked - window - 2).all()
    # two round trips of avoidance lie between the crossing and this sample at most
    most = ssthresh + 3 * max(1.0, CASES[name].law.growth(ssthresh)) + 2
    assert trace.window[end] <= most


@pytest.mark.parametrize("name", CASES)
def test_the_window_grows_by_its_law(measured, name):
    gained, expected = growth(measured(name), CASES[name])
    assert gained == pytest.approx(expected, rel=0.05, abs=3)
    assert expected > 10


@pytest.mark.parametrize("name", CASES)
def test_one_loss_decreases_the_window_by_its_law(measured, name):
    trace, case = measured(name), CASES[name]
    assert lost(trace) == {"forced": 1}
    least, most = threshold(trace, case)
    assert least <= trace.ssthresh <= most
    assert most < least * 1.15 + 5, "the samples are too far apart to tell"
    before = trace.before_loss()
    acked = np.interp(trace.t_s[before] - PATH["rtt_ms"] / 1e3, trace.t_s, trace.acked)
    # from there it goes on
    later = grown(trace.ssthresh, trace.acked[-1] - acked, lambda w: case.law.growth(w) / w)
    assert 0.98 * trace.ssthresh <= trace.window[-1] <= later * 1.01 + 1


TWINS = {"reno": "reno", "scalable": "scalable", "highspeed": "highspeed"}


@pytest.mark.parametrize("case", [case for case, name in TWINS.items() if name in AVAILABLE])
def test_a_law_agrees_with_the_kernels_own_where_it_has_one(measured, case):
    """Every kernel has Reno. Bounds: growth of an acknowledgement 10 per cent, decrease 3.

    The kernel's HighSpeed TCP goes up its table in whole segments: 1 segment a round trip more.
    """
    ours, theirs = measured(case), measured(case, TWINS[case])
    gains, shares = [], []
    for trace in (ours, theirs):
        first, last = avoidance(trace, CASES[case].ssthresh)
        window = trace.window[first : last + 1].mean()
        acked = trace.acked[last] - trace.acked[first]
        gains.append((trace.window[last] - trace.window[first]) / acked * window)
        shares.append(trace.ssthresh / trace.window[last])
    whole = 1.0 if case == "highspeed" else 0.0
    assert gains[0] == pytest.approx(gains[1], rel=0.10, abs=0.1 + whole)
    assert shares[0] == pytest.approx(shares[1], rel=0.03)


def test_a_loss_in_slow_start_ends_it(core_gensink):
    """The 1000th packet is missed when the 999 before it have each added 1, at most: a sender that
    does not fill its window does not grow it."""
    with cc_session(core_gensink) as holder:
        name = load(holder, "scalable")
        trace = trace_of(core_gensink, name, seconds=1.5, drop_at=1000, **PATH)
    assert lost(trace) == {"forced": 1}
    before = trace.before_loss()
    assert trace.ssthresh >= 0.875 * trace.window[before] * 0.99 - 1
    assert trace.ssthresh <= 0.875 * (INITIAL_WINDOW + 999) * 1.01 + 1
    assert trace.window[before] > 300
    assert trace.window[-1] > trace.ssthresh


def test_limited_slow_start_adds_at_most_half_its_threshold_a_round_trip(core_gensink):
    """RFC 3742 with max_ssthresh 100, for 2 s without loss; bounds as for avoidance."""
    limit = 100

    def run() -> Trace:
        with cc_session(core_gensink) as holder:
            name = load(holder, "highspeed", max_ssthresh_segments=limit)
            return trace_of(core_gensink, name, seconds=2.0, **PATH)

    def reached(trace: Trace) -> float:
        """The last window, as a share of the law's window for all arrivals."""
        first = int(np.flatnonzero(trace.window > limit + 20)[0])
        begin, arrived = trace.window[first], trace.acked[first:] - trace.acked[first]
        assert grown(begin, arrived[-1], gain) > 500
        most = [grown(begin, acked + begin, gain) for acked in arrived[::10]]
        assert (trace.window[first::10] <= np.array(most) + 2).all()
        return trace.window[-1] / grown(begin, arrived[-1], gain)

    def gain(window: float) -> float:
        return slow_start_growth(window, limit) / window

    trace = middle(run, reached)
    assert lost(trace) == {}
    assert reached(trace) == pytest.approx(1, abs=0.05)


ALPHA_PATH = {"rate_bps": 100_000_000, "rtt_ms": 20}


@pytest.mark.parametrize(("alpha", "gamma"), [(40, 0.5), (120, 0.2)])
def test_fast_settles_with_alpha_packets_queued_and_halves_at_a_loss(core_gensink, alpha, gamma):
    """Bounds: the median queue within 15 per cent and 4 packets of alpha.

    A super-packet leaves and a burst of acknowledgements refills the queue, so a single look at it
    finds more or less by a burst; the median does not. A delay of the machine is a queue to a law
    that goes by delay, so CPUs are kept awake, and the run of three with the median queue counts.
    """
    parameters = {"alpha_packets": alpha, "gamma_millionths": round(gamma * 1e6)}

    def run() -> Trace:
        with cc_session(core_gensink) as holder:
            name = load(holder, "fast", **parameters)
            return trace_of(core_gensink, name, seconds=3.5, drop_at_ms=2500, **ALPHA_PATH)

    def waiting(trace: Trace) -> float:
        return float(np.median(queue(trace, resting(trace))))

    trace = middle(run, waiting)
    assert waiting(trace) == pytest.approx(alpha, rel=0.15, abs=4)
    assert lost(trace) == {"forced": 1}
    rest = np.median(trace.window[resting(trace)])
    bdp = 100e6 / 8 / 1514 * 0.020
    assert rest == pytest.approx(bdp + alpha, rel=0.05, abs=4)
    before = trace.before_loss()
    around = trace.window[before - 5 : before + 2]
    assert around.min() / 2 - 2 <= trace.ssthresh <= around.max() / 2 + 2
    assert np.median(trace.window[-20:]) == pytest.approx(rest, rel=0.1)


def resting(trace: Trace) -> slice:
    """Samples from the equilibrium until the loss."""
    return trace.between(1.2, trace.t_s[trace.before_loss()] - 0.05)


def queue(trace: Trace, when: slice) -> np.ndarray:
    """Packets that waited for the link at the samples of a time.

    The emulator's samples are on the same clock as the sender's.
    """
    samples = trace.emulation["samples"]
    t_s = (np.array(samples["t_ns"]) - trace.t0_ns) / 1e9
    chosen = (t_s >= trace.t_s[when][0]) & (t_s <= trace.t_s[when][-1])
    return np.array(samples["ab_queue_packets"])[chosen]
