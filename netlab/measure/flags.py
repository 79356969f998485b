"""Flags of invalid runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pandas as pd

from netlab.measure.emulated import Emulated
from netlab.measure.exchange import RunOutcome
from netlab.measure.plausible import most_percent
from netlab.study import Noise, Timing

INTERFERENCE = "interference"
"""Flag of a run that other programs disturbed."""

LIMITS = Noise()
"""Of all cores, in the window: above it, other processes affect the figure."""

DRIFT_PPM = 1000.0
"""Twice the maximum slew of NTP (500): above it, the clock is not reliable."""

STALL_S = 0.2
"""TCP's minimum retransmission timeout: a silence longer than it and a round trip is a stall."""

LATE_CLOSE = "sink: the streams ended before the window did"
"""Reason of a run whose sink got no CPU until its sender had stopped, 60 ms after the window."""

LATE_WATCH = "watch thread was late by"
LATE_WATCH_S = 0.05
"""A sender goes on for 60 ms after the window: a later sink may miss its end."""

EMULATOR_LATE_US = 1000.0
EMULATOR_LATE_SHARE_OF_RTT = 0.005
"""Tolerance of the round trip, the larger of the two. More than one late write in 100 breaks it;
occasional scheduling pauses of some ms delay fewer."""

EMULATOR_WAITED_PERCENT = 5.0
"""An emulator that waited for a CPU longer than this share of the run lacked CPU time."""


def flags_of(
    row: dict,
    outcome: RunOutcome,
    ledger_problems: list[str],
    drift: list[str],
    intervals: pd.DataFrame,
    timing: Timing,
    emulated: Emulated | None = None,
    noise: Noise = LIMITS,
    largest: str = "",
    surplus: Sequence[str] = (),
) -> dict[str, str]:
    """Flags of a run, each with its reason in one sentence; empty when the run is valid."""
    flags: dict[str, str] = {}
    for flow in outcome.flows:
        for name, result in (("sender", flow.gen), ("sink", flow.sink)):
            if result.get("status") != "ok":
                flags["failed"] = f"{name}: {result.get('message') or result.get('status')}"
    late = _late_watch(outcome)
    if late and "failed" in flags:
        flags["failed"] += f", {late}"
    missing_B = (row.get("sent_B") or 0) - (row.get("received_B") or 0)
    if missing_B > 0 and any(flow.sink.get("status") == "timeout" for flow in outcome.flows):
        flags["failed"] += f", {missing_B} B had not arrived: give them more time, timing.drain_s"
    stall = _stall(intervals, STALL_S + (row.get("min_rtt_us") or 0.0) / 1e6)
    if stall:
        flags["stalled"] = stall
    elif row["window_s"] is None or (
        row.get("records") is None and row["window_s"] < 0.9 * timing.seconds
    ):
        flags["stalled"] = "the streams ended before the window did"
    percent = row["percent_of_ceiling"]
    most = most_percent(row)
    if percent is not None and percent > most.percent:
        flags["implausible"] = (
            f"{percent:.1f} % of the {row['ceiling_kind']} ceiling, where its window and queue "
            f"allow {most.percent:.1f} %"
        )
    if ledger_problems:
        flags["ledger_mismatch"] = "; ".join(ledger_problems)
    disturbed = [interference(row, noise, largest), *surplus]
    if any(disturbed):
        flags["interference"] = ", ".join(filter(None, disturbed))
    if drift:
        flags["tuning_drift"] = "; ".join(drift)
    meters = list(_meters(outcome))
    reset = sorted({why for meter in meters if (why := _reset(*meter)) is not None})
    if reset:
        flags["counter_reset"] = "; ".join(reset)
    stepped = sorted({why for meter in meters if (why := _stepped(*meter)) is not None})
    if stepped:
        flags["clock_step"] = "; ".join(stepped)
    fault = None if emulated is None else _emulator_fault(emulated)
    if fault:
        flags["emulator_late"] = fault
    return flags


def interference(row: dict, noise: Noise = LIMITS, largest: str = "") -> str | None:
    """Describe steal, foreign load, foreign traffic and throttling above the limits.

    None if there are none.
    """
    found = []
    if (row["steal_percent"] or 0) > noise.steal_percent:
        found.append(f"steal {row['steal_percent']:.1f} %")
    if (row["foreign_cpu_percent"] or 0) > noise.foreign_cpu_percent:
        mostly = f", most of it by {largest}" if largest else ""
        found.append(f"foreign CPU load {row['foreign_cpu_percent']:.1f} %{mostly}")
    if (row.get("foreign_traffic_percent") or 0) > noise.foreign_traffic_percent:
        share = row["foreign_traffic_percent"]
        found.append(f"foreign traffic on an interface, {share:.1f} % of the run's own")
    if row.get("throttle_events"):
        found.append(f"thermal throttling of a CPU, {row['throttle_events']} events")
    change = row.get("cpu_frequency_percent")
    if change is not None and -change > noise.frequency_drop_percent:
        found.append(f"the frequency of a busy CPU changed by {change:+.1f} % within the window")
    return ", ".join(found) or None


def _emulator_fault(emulated: Emulated) -> str | None:
    """Describe how an emulated path differed from its settings; None if it did not."""
    late_us = emulated.late_us
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


def _meters(outcome: RunOutcome) -> Iterator[tuple[str, dict]]:
    """Yield every metered interval with the end it belongs to."""
    for flow in outcome.flows:
        for name, result in (("sender", flow.gen), ("sink", flow.sink)):
            for meter in (result.get("meter") or {}).values():
                if meter:
                    yield name, meter


def _reset(name: str, meter: dict) -> str | None:
    interface = meter.get("interface") or {}
    if not interface.get("reset"):
        return None
    return f"{name}: the counters of {interface['name']} went back, or it was replaced"


def _stepped(name: str, meter: dict) -> str | None:
    """Describe a disagreement of the clocks over an interval; None if they agree."""
    clock = meter.get("clock") or {}
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
    """Name the ends whose watch thread was late; empty if none was."""
    late_s = {"sender": 0.0, "sink": 0.0}
    for flow in outcome.flows:
        for name, result in (("sender", flow.gen), ("sink", flow.sink)):
            late_s[name] = max(late_s[name], (result.get("watch_late_us") or 0) / 1e6)
    return ", ".join(
        f"the {name}'s {LATE_WATCH} {seconds:.2f} s"
        for name, seconds in late_s.items()
        if seconds > LATE_WATCH_S
    )


def _stall(intervals: pd.DataFrame, limit_s: float) -> str | None:
    """Describe the longest silence within the window; None if it is below the limit."""
    window = intervals[intervals["in_window"]]
    for direction, samples in window.groupby("direction"):
        sums = samples.groupby("t_s").agg(moved=("bytes", "sum"), length_s=("interval_s", "max"))
        silent_s = longest_s = 0.0
        for moved, length_s in zip(sums["moved"], sums["length_s"], strict=True):
            silent_s = 0.0 if moved else silent_s + length_s
            longest_s = max(longest_s, silent_s)
        if longest_s >= limit_s:
            return f"{direction}: no byte for {longest_s:.2f} s"
    return None
