"""Meters of a tool's run: snapshots of the agents' counters, and their differences."""

from __future__ import annotations

import time
from typing import cast

from netlab.errors import HostError, RunError
from netlab.files.run_results import ToolMeter
from netlab.measure.exchange import RunEnd

ANSWER_S = 5.0
MAX_GROWTH = 1 << 60
"""Sums of such counts fit the 64 bits of a column."""


def snapshot(side: RunEnd, *, others: bool = False) -> dict:
    """Counters of a host, see ``meter`` in native/PROTOCOL.md; `others`: CPU time by process."""
    side.channel.send("meter", interface=side.interface, **({"others": 1} if others else {}))
    deadline = time.monotonic() + ANSWER_S
    while (left := deadline - time.monotonic()) > 0:
        answer = side.channel.poll(left)
        if answer is None:
            continue
        if answer.get("event") == "meter":
            return answer
        if answer.get("event") == "error" and answer.get("run") is None:
            message = f"{side.host}: {answer.get('message')}"
            raise RunError(message, reason="internal", code="E-TOOL-009")
    message = f"its agent did not answer meter within {ANSWER_S:g} s"
    raise HostError(side.host, message, code="E-TOOL-010")


def difference(before: dict, after: dict) -> ToolMeter:
    """Difference of two snapshots, as the meter of a run's result; see native/PROTOCOL.md."""
    old, new = before.get("interface"), after.get("interface")
    backlogs = (before["softnet"], after["softnet"])
    interface = None
    if old and new:
        counts = {name: new[name] - old[name] for name in new if name != "name"}
        # Two snapshots show a reset only by a count that decreased, or grew beyond any run's.
        reset = min(counts.values()) < 0 or max(counts.values()) > MAX_GROWTH
        counts = {n: max(-MAX_GROWTH, min(grown, MAX_GROWTH)) for n, grown in counts.items()}
        interface = {"name": new["name"], **counts, "wraps": None, "reset": reset}
    meter = {
        "t0_ns": before["t_ns"],
        "t1_ns": after["t_ns"],
        "interface": interface,
        "cpu": list(map(_of_cpu, before["cpu"], after["cpu"])),
        **{name: after[name] - before[name] for name in ("interrupts", "context_switches")},
        "softnet": _each(*backlogs) if all(backlogs) else None,
        "process": _each(before["process"], after["process"]),
    }
    return cast(ToolMeter, meter)


def _of_cpu(before: dict, after: dict) -> dict:
    """Difference of one CPU: times and events are counts, a frequency is a state, not a count."""
    states = ("cpu", "frequency_kHz", "first_frequency_kHz", "throttled")
    early, late = before.get("throttled"), after.get("throttled")
    return {
        "cpu": after["cpu"],
        **_each(before, after, but=states),
        "frequency_kHz": after.get("frequency_kHz"),
        "first_frequency_kHz": before.get("frequency_kHz"),
        "throttled": None if early is None or late is None else late - early,
    }


def _each(before: dict, after: dict, but: tuple[str, ...] = ()) -> dict:
    return {name: after[name] - before[name] for name in after if name not in but}
