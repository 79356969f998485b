"""Changes that a profile makes on a host, from the profile and the host's answers."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from netlab.errors import TuningError
from netlab.tuning.exact import refusal
from netlab.tuning.forms import IRQ_WORDS
from netlab.tuning.knobs import HOSTWIDE, MOST, RESOLVED, Choice, Knob, KnobOption
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
