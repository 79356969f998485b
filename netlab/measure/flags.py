"""Flags of invalid runs."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

from netlab.files.run_results import HostClock, InterfaceCounts, Meter
from netlab.measure.cross import cross_fault
from netlab.measure.emulator_report import Emulated
from netlab.measure.exchange import METERS, RunOutcome, meter_of
from netlab.measure.fairness import STALL_S, TIMEOUTS, loaded_rtt_s, starved
from netlab.measure.most_goodput import most_percent
from netlab.measure.steadiness import Unsteady, in_window
from netlab.results.flags import Flag
from netlab.study import Noise, Timing

DEFAULT_NOISE = Noise()
"""Of all cores, in the window: above it, other processes affect the figure."""

DRIFT_PPM = 1000.0
"""Twice the maximum slew of NTP (500): above it, the clock is not reliable."""

LATE_CLOSE = "sink: the streams ended before the window did"
"""Reason of a run whose sink got no CPU until its sender had stopped, 60 ms after the window."""

LATE_WATCH = "watch thread was late by"
LATE_WATCH_S = 0.05
"""A sender goes on for 60 ms after the window: a later sink may miss its end."""

EMULATOR_LATE_US = 1000.0
EMULATOR_LATE_SHARE_OF_RTT = 0.005
"""Tolerance of the round trip, the larger of the two. More than one late write in 100 breaks it;
occasional scheduling pauses of some ms delay fewer. A slow run has few writes, and chance alone
makes two in 100 of them late: their number must be beyond that."""

EMULATOR_WAITED_PERCENT = 5.0
"""An emulator that waited for a CPU longer than this share of the run lacked CPU time."""


def flags_of(
    row: dict,
    outcome: RunOutcome,
    ledger_problems: list[str],
    drift: list[str],
    intervals: Sequence[Mapping],
    timing: Timing,
    emulated: Emulated | None = None,
    noise: Noise = DEFAULT_NOISE,
    largest: str = "",
    surplus: Sequence[str] = (),
    step: Unsteady | None = None,
) -> dict[Flag, str]:
    """Flags of a run, each with its reason in one sentence; empty when the run is valid."""
    flags: dict[Flag, str] = {}
    for name, result in outcome.ends():
        if result.get("status") != "ok":
            flags[Flag.FAILED] = f"{name}: {result.get('message') or result.get('status')}"
    if Flag.FAILED not in flags and (fault := cross_fault(outcome)):
        flags[Flag.FAILED] = fault
    late = _late_watch(outcome)
    if late and Flag.FAILED in flags:
        flags[Flag.FAILED] += f", {late}"
    missing_B = (row.get("sent_B") or 0) - (row.get("received_B") or 0)
    if missing_B > 0 and any(flow.sink.get("status") == "timeout" for flow in outcome.flows):
        advice = "give them more time, timing.drain_s"
        if emulated is not None and emulated.has_bursts:
            advice = (
                "a burst of losses ends with packets, not with time, and dropped each retry; "
                "lower loss_in_burst, or shorten loss_burst_packets"
            )
        flags[Flag.FAILED] += f", {missing_B} B had not arrived: {advice}"
    stall = _stall(intervals, STALL_S + loaded_rtt_s(row))
    window_s, timed = row["window_s"], row.get("records") is None
    if stall:
        flags[Flag.STALLED] = stall
    elif window_s is None or (timed and window_s < 0.9 * timing.seconds):
        flags[Flag.STALLED] = "the streams ended before the window did"
    if unfair := starved(row, outcome.flows, outcome.together_s):
        flags[Flag.STARVED] = unfair
    percent = row["percent_of_ceiling"]
    most = most_percent(row)
    if percent is not None and percent > most.percent:
        flags[Flag.IMPLAUSIBLE] = (
            f"{percent:.1f} % of the {row['ceiling_kind']} ceiling, where its window and queue "
            f"allow {most.percent:.1f} %"
        )
    if ledger_problems:
        flags[Flag.LEDGER_MISMATCH] = "; ".join(ledger_problems)
    disturbed = [interference(row, noise, largest), *surplus]
    if any(disturbed):
        flags[Flag.INTERFERENCE] = ", ".join(filter(None, disturbed))
    elif step:  # a load on a host explains a step, and the run is measured again
        flags[Flag.UNSTEADY] = f"{step.direction}: {step.step.text()}"
    if drift:
        flags[Flag.TUNING_DRIFT] = "; ".join(drift)
    meters = [
        (name, meter)
        for name, result in outcome.ends()
        for part in METERS
        if (meter := meter_of(result, part))
    ]
    if reset := sorted(set(filter(None, itertools.starmap(_reset, meters)))):
        flags[Flag.COUNTER_RESET] = "; ".join(reset)
    if stepped := sorted(set(filter(None, itertools.starmap(_stepped, meters)))):
        flags[Flag.CLOCK_STEP] = "; ".join(stepped)
    if emulated is not None and (fault := _emulator_fault(emulated)):
        flags[Flag.EMULATOR_LATE] = fault
    return flags


def interference(row: dict, noise: Noise = DEFAULT_NOISE, largest: str = "") -> str | None:
    """Describe steal, foreign load, foreign traffic and throttling above the limits, if any."""
    reasons = []
    if (row["steal_percent"] or 0) > noise.steal_percent:
        reasons.append(f"steal {row['steal_percent']:.1f} %")
    if (row["foreign_cpu_percent"] or 0) > noise.foreign_cpu_percent:
        mostly = f", most of it by {largest}" if largest else ""
        reasons.append(f"foreign CPU load {row['foreign_cpu_percent']:.1f} %{mostly}")
    if (row.get("foreign_traffic_percent") or 0) > noise.foreign_traffic_percent:
        share = row["foreign_traffic_percent"]
        reasons.append(f"foreign traffic on an interface, {share:.1f} % of the run's own")
    if row.get("throttle_events"):
        reasons.append(f"thermal throttling of a CPU, {row['throttle_events']} events")
    change = row.get("cpu_frequency_percent")
    if change is not None and -change > noise.frequency_drop_percent:
        reasons.append(f"the frequency of a busy CPU changed by {change:+.1f} % within the window")
    return ", ".join(reasons) or None


def _emulator_fault(emulated: Emulated) -> str | None:
    late_us = emulated.surely_late_us
    bound_us = max(EMULATOR_LATE_US, EMULATOR_LATE_SHARE_OF_RTT * emulated.rtt_us)
    faults = []
    if late_us is not None and late_us > bound_us:
        faults.append(f"more than one write in 100 was over {bound_us:g} us late")
    if emulated.waited_percent > EMULATOR_WAITED_PERCENT:
        faults.append(f"it waited for a CPU {emulated.waited_percent:.1f} % of the run")
    lost = emulated.dropped("memory")
    if lost:
        faults.append(f"it had no memory for {lost} packets")
    return "the emulator: " + ", ".join(faults) if faults else None


def _reset(name: str, meter: Meter) -> str | None:
    interface = meter.get("interface") or InterfaceCounts()
    if not interface.get("reset"):
        return None
    return f"{name}: the counters of {interface['name']} went back, or it was replaced"


def _stepped(name: str, meter: Meter) -> str | None:
    clock = meter.get("clock") or HostClock()
    if clock.get("steps"):
        return f"{name}: the clock was set by {clock['step_ns'] / 1e9:+.3f} s"
    duration_ns = meter.get("t1_ns", 0) - meter.get("t0_ns", 0)
    if duration_ns <= 0 or not clock:
        return None
    if abs(clock["drift_ns"]) - clock["unsure_ns"] <= DRIFT_PPM * 1e-6 * duration_ns:
        return None
    ppm = clock["drift_ns"] / duration_ns * 1e6
    return f"{name}: CLOCK_MONOTONIC ran {ppm:+.0f} ppm off CLOCK_MONOTONIC_RAW"


def _late_watch(outcome: RunOutcome) -> str:
    late_s: dict[str, float] = {}
    for name, result in outcome.ends():
        late_s[name] = max(late_s.get(name, 0.0), (result.get("watch_late_us") or 0) / 1e6)
    late = [name for name in late_s if late_s[name] > LATE_WATCH_S]
    return ", ".join(f"the {name}'s {LATE_WATCH} {late_s[name]:.2f} s" for name in late)


TIMEOUT_SHARE = 0.6
"""Share of a stall's limit that a timeout seems to last: the intervals at its ends have bytes."""

PACED_BY_TIMEOUTS = 4
"""Fewest silences of a window that timeouts pace."""


def _stall(intervals: Sequence[Mapping], limit_s: float) -> str | None:
    """Describe the longest silence within the window; None if it is below the limit.

    A path that drops whole bursts, as a policer does, makes TCP wait for its timeout again and
    again: silences of its pace are no stall, as long as a lost retransmission explains them.
    """
    for part in intervals:
        silences_s = [0.0]
        for moved_B, length_s in zip(*in_window(part), strict=True):
            if moved_B:
                silences_s.append(0.0)
            else:
                silences_s[-1] += length_s
        waits = sum(silent_s >= TIMEOUT_SHARE * limit_s for silent_s in silences_s)
        allowed_s = limit_s * (TIMEOUTS if waits >= PACED_BY_TIMEOUTS else 1)
        if (longest_s := max(silences_s)) >= allowed_s:
            return f"{part['direction']}: no byte for {longest_s:.2f} s"
    return None
