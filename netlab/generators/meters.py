"""Meters of a tool's run: snapshots of the agents' counters, and their differences."""

from __future__ import annotations

import time
from dataclasses import dataclass

from netlab.errors import HostError, RunError
from netlab.measure.exchange import RunEnd

ANSWER_S = 5.0


def snapshot(side: RunEnd, *, others: bool = False) -> dict:
    """Read a host's counters through its agent, see ``meter`` in native/PROTOCOL.md.

    With `others` also the CPU time of each other process since the last such reading.
    """
    side.channel.send("meter", interface=side.interface, **({"others": 1} if others else {}))
    deadline = time.monotonic() + ANSWER_S
    while (left := deadline - time.monotonic()) > 0:
        answer = side.channel.poll(left)
        if answer is None:
            continue
        if answer.get("event") == "meter":
            return answer
        if answer.get("event") == "error" and answer.get("run") is None:
            raise RunError(
                f"{side.host}: {answer.get('message')}", reason="internal", code="E-TOOL-009"
            )
    raise HostError(
        side.host, f"its agent did not answer meter within {ANSWER_S:g} s", code="E-TOOL-010"
    )


def difference(before: dict, after: dict) -> dict:
    """Difference of two snapshots, as the meter of a run's result; see native/PROTOCOL.md."""
    old, new = before.get("interface"), after.get("interface")
    interface = None
    if old and new:
        counts = {name: new[name] - old[name] for name in new if name != "name"}
        # Two snapshots show a reset only by a count that decreased.
        reset = min(counts.values()) < 0
        interface = {"name": new["name"], **counts, "wraps": None, "reset": reset}
    return {
        "t0_ns": before["t_ns"],
        "t1_ns": after["t_ns"],
        "interface": interface,
        "cpu": [
            _of_cpu(early, late) for early, late in zip(before["cpu"], after["cpu"], strict=True)
        ],
        **{name: after[name] - before[name] for name in ("interrupts", "context_switches")},
        **{name: _each(before[name], after[name]) for name in ("softnet", "process")},
    }


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


@dataclass(frozen=True)
class Readings:
    """Four snapshots of one host: before and after the run and its window."""

    before: dict
    opens: dict
    closes: dict
    after: dict

    def meter(self) -> dict[str, dict]:
        """``window`` and ``total``, as a result of an agent has them."""
        return {
            "window": difference(self.opens, self.closes),
            "total": difference(self.before, self.after),
        }


def received_B(before: dict, now: dict) -> int:
    """Bytes that an interface received between two snapshots; 0 without counters."""
    old, new = before.get("interface"), now.get("interface")
    return new["rx_bytes"] - old["rx_bytes"] if old and new else 0
