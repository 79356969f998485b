"""Changes that a profile makes on a host, from the profile and the host's answers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from netlab.errors import TuningError
from netlab.tuning.knobs import HOSTWIDE, RESOLVED, Choice, Knob, KnobOption
from netlab.tuning.profiles import Profile
from netlab.tuning.values import IRQ_WORDS

NO_INTERFACE = "no such interface"
_NO_PRIVILEGE = "no privilege"

ReadKnob = Callable[[Knob], Mapping[str, Any]]
"""Reads one knob of the host; the ``value`` answer of the tune protocol."""

ResolveKnob = Callable[[Knob], Mapping[str, Any]]
"""The value of a knob as the host would read it back, or ``supported`` false and a ``reason``."""


@dataclass(frozen=True)
class Change:
    """One knob of a plan."""

    knob: Knob
    interface: str | None
    old: str | None
    supported: bool
    reason: str | None = None
    parameter: str | None = None

    @property
    def new(self) -> str:
        """The new value."""
        return self.knob.value

    @property
    def source(self) -> str:
        """Document and section of the value."""
        return self.knob.source

    @property
    def changes(self) -> bool:
        """True if applying the plan writes this knob."""
        return self.supported and self.old != self.new

    @property
    def key(self) -> tuple[str, str | None]:
        """Kind and name."""
        return (self.knob.kind, self.knob.name)

    def record(self) -> dict[str, Any]:
        """Plain data for a run's record."""
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
        }


def _resolved(resolve: ResolveKnob | None, knob: Knob) -> tuple[Knob, str | None]:
    """The knob with the value that the host would read back, or the reason why it has none."""
    if resolve is None or knob.kind not in RESOLVED:
        return knob, None
    answer = resolve(knob)
    if not answer["supported"]:
        return knob, str(answer["reason"])
    if answer["value"] == knob.value:
        return knob, None
    note = f"{knob.value} on this host" if knob.value in IRQ_WORDS else knob.note
    return knob.model_copy(update={"value": str(answer["value"]), "note": note}), None


def _change(
    read: ReadKnob,
    resolve: ResolveKnob | None,
    knob: Knob,
    interface: str,
    parameter: str | None,
) -> Change:
    answer = read(knob)
    old, why = answer["value"], str(answer["reason"] or "")
    if why.startswith(NO_INTERFACE):
        raise TuningError(f"{interface} {knob.label}: {why}", code="E-TUNING-004")
    # Missing rights are not a property of the host: setting the knob is refused later, an error.
    allowed = answer["writable"] or why.startswith(_NO_PRIVILEGE)
    reached = False
    if answer["supported"]:
        knob, lacking = _resolved(resolve, knob)
        reached = lacking is None and (allowed or old == knob.value)
        if lacking:
            answer = {**answer, "reason": lacking}
    reason = None if reached else answer["reason"]
    if not answer["supported"] and knob.when_missing:
        reason = f"{reason}; {knob.when_missing}" if reason else knob.when_missing
    return Change(
        knob=knob,
        interface=None if knob.kind in HOSTWIDE else interface,
        old=old,
        supported=reached,
        reason=reason,
        parameter=parameter,
    )


def _instead(change: Change, option: KnobOption) -> Change:
    used = " and ".join(knob.label for knob in option.knobs)
    return Change(
        knob=change.knob,
        interface=change.interface,
        old=change.old,
        supported=False,
        reason=f"{change.reason or 'the other knob of this option is missing'}; {used} instead",
        parameter=change.parameter,
    )


def _choose(
    read: ReadKnob,
    resolve: ResolveKnob | None,
    options: tuple[KnobOption, ...],
    interface: str,
    parameter: str | None,
) -> list[Change]:
    passed: list[Change] = []
    for option in options:
        tried = [_change(read, resolve, knob, interface, parameter) for knob in option.knobs]
        if all(change.supported for change in tried):
            return [_instead(change, option) for change in passed] + tried
        passed.extend(tried)
    # The knobs of an option are set together or not at all.
    return [
        change
        if not change.supported
        else Change(
            knob=change.knob,
            interface=change.interface,
            old=change.old,
            supported=False,
            reason="the other knob of this option is missing",
            parameter=change.parameter,
        )
        for change in passed
    ]


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
    """Read every knob of a profile and list the changes."""
    extra = tuple(extra_knobs)
    replaced = {(knob.kind, knob.name) for knob in extra}
    ways: list[tuple[str | None, tuple[KnobOption, ...]]] = []
    if mtu_B is not None and ("mtu", None) not in replaced:
        mtu = Knob(kind="mtu", value=str(mtu_B), source="the study's MTU")
        ways.append((None, (KnobOption(knobs=(mtu,)),)))
        replaced.add(("mtu", None))
    for item, options in zip(
        profile.items, profile.options(software_deferral=software_deferral), strict=True
    ):
        if isinstance(item, Choice):
            ways.append((item.parameter, options))
        elif (item.kind, item.name) not in replaced:
            ways.append((None, options))
    ways.extend((None, (KnobOption(knobs=(knob,)),)) for knob in extra)
    return tuple(
        change
        for parameter, options in ways
        for change in _choose(read, resolve, options, interface, parameter)
    )
