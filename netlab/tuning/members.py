"""Settings of which a host has many: the governor of a CPU, the CPUs of an interrupt of a card.

`gensink tune` reads and sets one of them at a time; here they are one value of a knob.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from netlab.tuning.forms import IRQ_WORDS, cpu_list, cpus, governors_text, irq_lists, irq_text

MEMBERED = ("governor", "irq")
"""Kinds with many members on a host."""

_QUEUE = re.compile(r"rx|tx|comp|input|output|queue|ntfy-|fp-", re.IGNORECASE)
"""In a driver's name of an interrupt: a queue's, not that of link changes or commands."""

_WORST_LAST = ("unchanged", "applied", "differs", "unsupported", "refused")


def value_text(listed: Mapping[str, Any]) -> str:
    """All members as one value, from the ``listed`` answer of the tune protocol."""
    if listed["knob"] == "irq":
        return irq_text(listed["values"].values())
    return governors_text({int(cpu): word for cpu, word in listed["values"].items()})


def wanted(listed: Mapping[str, Any], text: str) -> dict[str, str]:
    values: dict[str, str] = listed["values"]
    if listed["knob"] == "governor":
        return dict.fromkeys(values, text)
    if text in IRQ_WORDS:
        return _spread(listed, near=text == "local")
    lists = irq_lists(text)
    if len(lists) == 1:
        lists *= len(values)
    if len(lists) != len(values):
        raise ValueError(
            f"{listed['interface']} has {len(values)} interrupts, and the value has CPUs for "
            f"{len(lists)}"
        )
    return dict(zip(values, lists, strict=True))


def _spread(listed: Mapping[str, Any], *, near: bool) -> dict[str, str]:
    """Queue i to the i-th CPU; an interrupt that is not a queue's keeps its CPUs."""
    online = cpus(listed["online"]) if listed["online"] else []
    if not online:
        raise ValueError("the CPUs that are online cannot be read")
    local = cpus(listed["near"]) if near and listed["near"] else []
    targets = [cpu for cpu in local if cpu in online] or online
    spread = dict(listed["values"])
    names = {number: name.split("@")[0] for number, name in listed["handlers"].items()}
    queues = {number: name for number, name in names.items() if _QUEUE.search(name)}
    for seen, (number, name) in enumerate((queues or names).items()):
        last = re.search(r"\d+$", name) if queues else None
        spread[number] = cpu_list([targets[(int(last[0]) if last else seen) % len(targets)]])
    return spread


def one_answer(answers: list[dict[str, Any]]) -> dict[str, Any]:
    """Status and reason of a change of several members: those of the worst."""
    none = {"status": "unchanged", "reason": None}
    worst = max(answers, key=lambda answer: _WORST_LAST.index(answer["status"]), default=none)
    return {"status": worst["status"], "reason": worst["reason"]}
