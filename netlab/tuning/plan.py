"""Changes that a profile makes on a host, from the profile and the host's answers."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from html import escape
from typing import Any

from netlab.errors import TuningError
from netlab.tuning.exact import refusal
from netlab.tuning.knobs import (
    HOSTWIDE,
    IRQ_WORDS,
    MOST,
    RESOLVED,
    Choice,
    Knob,
    KnobOption,
    cpu_list,
    cpus,
    governors_text,
    irq_lists,
    irq_text,
)
from netlab.tuning.profiles import Profile, each_knob

NO_INTERFACE = "no such interface"
_NO_PRIVILEGE = "no privilege"

ReadKnob = Callable[[Knob], Mapping[str, Any]]
"""Reads one knob of the host; the ``value`` answer of the tune protocol."""

ResolveKnob = Callable[[Knob], Mapping[str, Any]]
"""The value of a knob as the host would read it back, or ``supported`` false and a ``reason``."""


@dataclass(frozen=True)
class Change:
    knob: Knob
    interface: str | None
    old: str | None
    supported: bool
    reason: str | None = None
    parameter: str | None = None

    @property
    def new(self) -> str:
        return self.knob.value

    @property
    def source(self) -> str:
        return self.knob.source

    @property
    def changes(self) -> bool:
        return self.supported and self.old != self.new

    @property
    def key(self) -> tuple[str, str | None]:
        return (self.knob.kind, self.knob.name)

    def record(self) -> dict[str, Any]:
        return {
            "knob": self.knob.kind,
            "name": self.knob.name,
            "interface": self.interface,
            "parameter": self.parameter,
            "old": self.old,
            "value": self.new,
            "supported": self.supported,
            "reason": self.reason,
            "source": self.source,
            "risk": self.knob.risk,
        }


def _resolved(resolve: ResolveKnob | None, knob: Knob) -> tuple[Knob, str | None]:
    """The knob with the value that the host would read back, or the reason why it has none."""
    if resolve is None or (knob.kind not in RESOLVED and knob.value != MOST):
        return knob, None
    answer = resolve(knob)
    if not answer["supported"]:
        return knob, str(answer["reason"])
    if answer["value"] == knob.value:
        return knob, None
    note = f"{knob.value} on this host" if knob.value in (*IRQ_WORDS, MOST) else knob.note
    return knob.model_copy(update={"value": str(answer["value"]), "note": note}), None


def may_change(answer: Mapping[str, Any]) -> bool:
    """True if a host can change a setting that was read.

    Missing rights are not a property of the host: setting the knob is refused later, an error.
    """
    return bool(answer["writable"]) or str(answer["reason"] or "").startswith(_NO_PRIVILEGE)


def _change(
    read: ReadKnob, resolve: ResolveKnob | None, knob: Knob, interface: str, parameter: str | None
) -> Change:
    answer = read(knob)
    old, why = answer["value"], str(answer["reason"] or "")
    if why.startswith(NO_INTERFACE):
        raise TuningError(f"{interface} {knob.label}: {why}", code="E-TUNING-004")
    allowed = may_change(answer)
    reached = False
    if answer["supported"]:
        knob, lacking = _resolved(resolve, knob)
        reached = lacking is None and (allowed or old == knob.value)
        if lacking:
            answer = {**answer, "reason": lacking}
    reason = None if reached else answer["reason"]
    if not answer["supported"] and knob.when_missing:
        reason = f"{reason}; {knob.when_missing}" if reason else knob.when_missing
    where = None if knob.kind in HOSTWIDE else interface
    return Change(knob, where, old, reached, reason, parameter)


def _choose(
    read: ReadKnob,
    resolve: ResolveKnob | None,
    options: tuple[KnobOption, ...],
    interface: str,
    parameter: str | None,
) -> list[Change]:
    passed: list[Change] = []
    other = "the other knob of this option is missing"
    for option in options:
        tried = [_change(read, resolve, knob, interface, parameter) for knob in option.knobs]
        if all(change.supported for change in tried):
            used = " and ".join(knob.label for knob in option.knobs)
            instead = (
                replace(one, supported=False, reason=f"{one.reason or other}; {used} instead")
                for one in passed
            )
            return [*instead, *tried]
        passed.extend(tried)
    # The knobs of an option are set together or not at all.
    return [replace(c, supported=False, reason=other) if c.supported else c for c in passed]


def make_plan(
    read: ReadKnob,
    profile: Profile,
    interface: str,
    *,
    mtu_B: int | None = None,
    extra_knobs: Iterable[Knob] = (),
    software_deferral: bool = False,
    resolve: ResolveKnob | None = None,
) -> tuple[Change, ...]:
    extra = tuple(extra_knobs)
    for _, knob in each_knob((*profile.items, *extra)):
        if knob.needs_risk:
            raise TuningError(refusal(knob.label), code="E-TUNING-031")
    replaced = {(knob.kind, knob.name) for knob in extra}
    ways: list[tuple[str | None, tuple[KnobOption, ...]]] = []
    if mtu_B is not None and ("mtu", None) not in replaced:
        mtu = Knob(kind="mtu", value=str(mtu_B), source="the study's MTU")
        ways.append((None, (KnobOption(knobs=(mtu,)),)))
        replaced.add(("mtu", None))
    options = profile.options(software_deferral=software_deferral)
    for item, option in zip(profile.items, options, strict=True):
        if isinstance(item, Choice) or (item.kind, item.name) not in replaced:
            ways.append((item.parameter if isinstance(item, Choice) else None, option))
    ways += [(None, (KnobOption(knobs=(knob,)),)) for knob in extra]
    changes = (_choose(read, resolve, way, interface, parameter) for parameter, way in ways)
    return tuple(itertools.chain.from_iterable(changes))


# Plans as diffs, in text and in HTML.


def _lines(changes: Iterable[Change]) -> list[tuple[str, str]]:
    """(class, text) of each line; the class is `old`, `new`, `same` or `unsupported`."""
    lines = []
    for change in changes:
        label = f"{change.interface or ''} {change.knob.label}".strip()
        remark = f"   # {change.source}" + (f", {change.parameter}" if change.parameter else "")
        if not change.supported:
            text = f"! {label} = {change.new}   # unsupported: {change.reason} ({change.source})"
            lines.append(("unsupported", text))
        elif change.changes:
            lines.append(("old", f"- {label} = {change.old}"))
            remark += f"; risk: {change.knob.risk}" if change.knob.risk else ""
            lines.append(("new", f"+ {label} = {change.new}{remark}"))
        else:
            lines.append(("same", f"  {label} = {change.new}{remark}"))
    return lines or [("same", "  no setting is changed")]


def plan_text(changes: Iterable[Change]) -> str:
    """The plan as a diff, one or two lines a knob, each ended by a newline."""
    return "".join(f"{text}\n" for _, text in _lines(changes))


_COLOUR = {"old": "#8b1a1a", "new": "#14601f", "same": "#555", "unsupported": "#7a5200"}


def plan_html(changes: Iterable[Change]) -> str:
    spans = (
        f'<span style="color:{_COLOUR[k]}">{escape(text)}</span>' for k, text in _lines(changes)
    )
    return (
        '<pre class="netlab-tuning-plan" style="word-break:normal">' + "\n".join(spans) + "</pre>"
    )


# Settings of which a host has many: the governor of a CPU, the CPUs of an interrupt of a card.
#
# `gensink tune` reads and sets one of them at a time; here they are one value of a knob.

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
