"""Checks of tunings and congestion controls: unknown, twice, inexact, or without effect."""

from __future__ import annotations

from collections.abc import Iterator

from netlab.errors import BadInput
from netlab.study.base import controls, misplaced
from netlab.study.groups import Group
from netlab.study.model import StudyFields, own_tunings
from netlab.study.several_mistakes import tried
from netlab.study.stacks import KERNEL, KEYS, LINUX
from netlab.study.tunings import TuningLevel
from netlab.tuning.knobs import Knob
from netlab.tuning.profiles import (
    AS_FOUND,
    Place,
    Profile,
    Tuning,
    inexact,
    lineage,
    load_profile,
    nearest,
    profile_names,
)

PLACES = (
    "a study's own stand inline, under profiles, or beside its file (tunings/NAME.yml, NAME.yml)"
)


SIZES_BUFFERS = {f"net.ipv4.tcp_{name}" for name in ("rmem", "wmem", "moderate_rcvbuf")}
"""Knobs of buffers that the kernel sizes; a buffer that a socket asks for ignores them."""
LIMITS_BUFFERS = {"net.core.rmem_max", "net.core.wmem_max"}
"""Limits of what a socket may ask for, which ``force_buffer`` exceeds."""


def check_exact(study: StudyFields) -> Iterator[tuple[Place, str, str]]:
    """Place, name and refusal of each knob of the study's own that needs a risk and has none.

    For a study that is to be measured; results of one that was stay readable.
    """
    own = own_tunings(study)
    for index, level in enumerate(study.tunings):
        if level.is_inline:
            for place, name, refusal in inexact(own[level.name]):
                yield ("tunings", index, *place), name, refusal
    for profile, content in study.profiles.items():
        for place, name, refusal in inexact(content):
            yield ("profiles", profile, *place), name, refusal


def asked_buffers_B(study: StudyFields, group: Group) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Levels of the buffers that a group asks for, of its sender and of its receiver; 0: none."""
    factors = group.factors.over(study.factors)
    sender_B = factors.buffer_B or (group.buffer_B,)
    own_B = () if group.receive_buffer_B is None else (group.receive_buffer_B,)
    return sender_B, factors.receive_buffer_B or own_B or sender_B


def moot_knobs(study: StudyFields, group: Group, profile: Profile) -> tuple[str, ...]:
    """Names of a tuning's knobs that change nothing, as the group fixes all its buffers."""
    if not all(size_B for levels in asked_buffers_B(study, group) for size_B in levels):
        return ()
    moot = SIZES_BUFFERS | (LIMITS_BUFFERS if study.force_buffer else set())
    knobs = [item for item in profile.items if isinstance(item, Knob)]
    return tuple(knob.label for knob in knobs if knob.label in moot)


def is_moot(study: StudyFields, group: Group, profile: Profile) -> bool:
    """True if a tuning has knobs, and all of them are moot."""
    return bool(profile.items) and len(moot_knobs(study, group, profile)) == len(profile.items)


def fixed_buffer_text(study: StudyFields, group: Group, knobs: tuple[str, ...]) -> str:
    """Sentence on a tuning of moot knobs, and the line of the study to take out."""
    size_B = min(asked_buffers_B(study, group)[0])
    factor = "factors." if group.factors.over(study.factors).buffer_B else ""
    return (
        f"sets {', '.join(knobs)}, which change nothing while {group.name!r} fixes its socket "
        f"buffers; take out its `{factor}buffer_B` ({size_B}), and the kernel sizes them"
    )


def check_moot(study: StudyFields) -> Iterator[ValueError]:
    """Tunings of which every knob is moot for every group that takes them."""
    own = own_tunings(study)
    for index, level in enumerate(study.tunings):
        if level.mtus_B is not None:
            continue
        taken = [
            (group, load_profile(study.profile(host, level.name), own=own))
            for group in study.groups
            if group.tunings is None or level.name in group.tunings
            for host in (*study.senders(group), study.receiver(group))
        ]
        if all(is_moot(study, *one) for one in taken):
            group, profile = taken[0]
            text = fixed_buffer_text(study, group, moot_knobs(study, group, profile))
            yield misplaced(text, ("tunings", index), level.name, code="E-STUDY-088")


def check_tunings(study: StudyFields) -> Iterator[ValueError]:
    """Tunings that are unknown or contradict each other."""
    levels = {level.name: level for level in study.tunings}
    if AS_FOUND in study.profiles:
        yield ValueError(
            f"profiles: {AS_FOUND} is the name of netlab's tuning that changes nothing"
        )
    for name, level in levels.items():
        if level.is_inline and name in study.profiles:
            reason = "the tuning is given twice, inline and under profiles"
            yield ValueError(f"tunings.{name}: {reason}")
    own = own_tunings(study)
    for index, level in enumerate(study.tunings):
        if not all(level.name in host.profiles for host in study.hosts.values()):
            named = level.profile or level.name
            yield from tried(_resolves, ("tunings", index), named, own)
    for name in [name for name in study.profiles if name not in levels]:
        yield from tried(_resolves, ("profiles", name), name, own)
    for host_name, host in study.hosts.items():
        for name, profile in host.profiles.items():
            where = f"hosts.{host_name}.profiles.{name}"
            if mistakes := [*tried(_check_profile, where, levels, name, profile)]:
                yield from mistakes
            else:
                place = ("hosts", host_name, "profiles", name)
                yield from tried(_resolves, place, profile, own)


def check_congestions(study: StudyFields) -> Iterator[ValueError]:
    """Congestion controls that neither Linux, netlab nor the study has."""
    laws = {*LINUX, *(law for law in KEYS if law != KERNEL), *study.stacks}
    named: list[tuple[tuple[str | int, ...], str | None]] = [(("congestion",), study.congestion)]
    at = ("factors", "congestion")
    named += [((*at, i), level) for i, level in enumerate(study.factors.congestion or ())]
    for number, group in enumerate(study.groups):
        place = ("groups", number)
        named.append(((*place, "congestion"), group.congestion))
        levels = group.factors.congestion or ()
        named += [((*place, *at, i), level) for i, level in enumerate(levels)]
    for where, congestion in named:
        for _, name in controls(congestion or ""):
            if name not in laws:
                yield misplaced(
                    f"unknown congestion control {name!r}; {nearest(name, laws)}; declare a "
                    f"module of the hosts' own as stacks: {{{name}: {{law: kernel}}}}",
                    where,
                    congestion,
                    code="E-STUDY-083",
                )


def _check_profile(key: str, levels: dict[str, TuningLevel], name: str, profile: str) -> None:
    if name not in levels:
        raise ValueError(f"{key}: unknown tuning of the study; {nearest(name, levels)}")
    if name == AS_FOUND:
        raise ValueError(f"{key}: {AS_FOUND} changes no setting on any host")
    if profile == AS_FOUND and levels[name].mtus_B is not None:
        raise ValueError(
            f"{key}: {AS_FOUND} changes nothing, the MTU included, and tunings.{name} has mtus_B"
        )


def _resolves(place: tuple[str | int, ...], name: str, own: dict[str, Tuning]) -> None:
    try:
        lineage(name, own=own)
    except BadInput as error:
        if error.key in ("tuning", "extends") and "unknown tuning" in str(error):
            hint = nearest(str(error.value), [*own, *profile_names()])
            part = ("extends",) if error.key == "extends" else ()
            sentence = f"unknown tuning {error.value!r}; {hint}"
            sentence += "" if "known:" in hint else f"; {PLACES}"
            raise misplaced(sentence, (*place, *part), code="E-STUDY-086") from None
        raise misplaced(str(error), place, code="E-STUDY-087") from None
