"""The meters of both hosts around a tool's run: snapshots of their agents, differenced."""

from __future__ import annotations

import time
from dataclasses import dataclass

from netlab.errors import HostError, RunError
from netlab.measure.exchange import Side

ANSWER_S = 5.0


def snapshot(side: Side) -> dict:
    """What the agent of a host reads of it now, see ``meter`` in native/PROTOCOL.md.

    Raises
    ------
    HostError
        The host is lost, or its agent does not answer.
    RunError
        It cannot read what was asked for.
    """
    side.channel.send("meter", interface=side.interface)
    deadline = time.monotonic() + ANSWER_S
    while (left := deadline - time.monotonic()) > 0:
        answer = side.channel.poll(left)
        if answer is None:
            continue
        if answer.get("event") == "meter":
            return answer
        if answer.get("event") == "error" and answer.get("run") is None:
            raise RunError(f"{side.host}: {answer.get('message')}", reason="internal")
    raise HostError(side.host, f"its agent read no meter within {ANSWER_S:g} s")


def difference(before: dict, after: dict) -> dict:
    """Two snapshots of one host as the meter object of a run's result; see native/PROTOCOL.md."""
    old, new = before.get("interface"), after.get("interface")
    interface = None
    if old and new:
        counts = {name: new[name] - old[name] for name in new if name != "name"}
        # of what happened between two snapshots they tell no more than this
        reset = min(counts.values()) < 0
        interface = {"name": new["name"], **counts, "wraps": None, "reset": reset}
    return {
        "t0_ns": before["t_ns"],
        "t1_ns": after["t_ns"],
        "interface": interface,
        "cpu": [
            {"cpu": late["cpu"], **_each(early, late, but=("cpu",))}
            for early, late in zip(before["cpu"], after["cpu"], strict=True)
        ],
        **{name: after[name] - before[name] for name in ("interrupts", "context_switches")},
        **{name: _each(before[name], after[name]) for name in ("softnet", "process")},
    }


def _each(before: dict, after: dict, but: tuple[str, ...] = ()) -> dict:
    return {name: after[name] - before[name] for name in after if name not in but}


@dataclass(frozen=True)
class Readings:
    """Snapshots of one host: around the run, and around its window."""

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
    """Bytes that an interface received between two snapshots; 0 where it has no counters."""
    old, new = before.get("interface"), now.get("interface")
    return new["rx_bytes"] - old["rx_bytes"] if old and new else 0
