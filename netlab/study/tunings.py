"""Tunings of a study: its factor levels, the tunings it brings, and where names resolve."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any, Self

from pydantic import BeforeValidator, model_validator

from netlab.errors import BadInput
from netlab.study.base import MTU, Model, Name, Several, misplaced, tried
from netlab.tuning.knobs import Item, Knob, key
from netlab.tuning.profiles import (
    AS_FOUND,
    Content,
    Profile,
    Tuning,
    lineage,
    load_profile,
    nearest,
    profile_names,
)

if TYPE_CHECKING:
    from netlab.study.design import Study
    from netlab.study.groups import Group

OWN_SOURCE = "the study"
"""Source of a knob for which the study names none."""

PLACES = (
    "a study's own stand inline, under profiles, or beside its file (tunings/NAME.yml, NAME.yml)"
)


def _with_source(value: object) -> object:
    """Knobs as written, each with a source, those inside choices too."""
    if isinstance(value, list | tuple):
        return [_with_source(part) for part in value]
    if not isinstance(value, dict):
        return value
    if "first_supported" in value:
        return {**value, "first_supported": _with_source(value["first_supported"])}
    if "knobs" in value:
        return {**value, "knobs": _with_source(value["knobs"])}
    return {"source": OWN_SOURCE, **value}


OwnKnobs = Annotated[tuple[Item, ...], BeforeValidator(_with_source)]


class OwnTuning(Content, title="`profiles.NAME`"):
    """A tuning that a study brings; its key under ``profiles`` is its name.

    As a tuning's file, but ``title``, ``source`` and the sources of knobs may be left out.
    """

    knobs: OwnKnobs = key(
        "Settings, in the order they are applied.", [{"kind": "txqueuelen", "value": 10000}], ()
    )

    def named(self, name: str) -> Tuning:
        texts = {"title": self.title or name, "source": self.source or OWN_SOURCE}
        return Tuning(name=name, **{**dict(self), **texts})


class TuningLevel(Model, title="`tunings`"):
    """A tuning as a factor level: its name and the MTUs measured under it."""

    name: Name = key("Name of the level, in runs and results.", "full")
    label: str | None = key("In tables and charts.", "+ Driver Tuning", None)
    mtus_B: Several[MTU] | None = key(
        "MTUs to set. Left out, the MTU stays as found.", [1500, 9000], None
    )
    profile: Name | None = key(
        "Name of the tuning, where it differs from the level's.", "openlab-2003-full", None
    )
    extends: Name | None = key(
        "A tuning whose knobs come first; the others are inline.", "openlab-2003-kernel", None
    )
    knobs: OwnKnobs | None = key(
        "The tuning itself, inline.",
        [{"kind": "sysctl", "name": "net.core.rmem_max", "value": 67108864}],
        None,
        strict=False,
    )

    @model_validator(mode="after")
    def _one_tuning(self) -> Self:
        if self.is_inline and self.profile is not None:
            raise ValueError("give the tuning inline (knobs, extends) or by name (profile)")
        if AS_FOUND in (self.name, self.profile):
            if self.is_inline or self.name != (self.profile or self.name):
                raise ValueError(f"{AS_FOUND} is the name of netlab's tuning that changes nothing")
            if self.mtus_B is not None:
                raise ValueError(
                    f"mtus_B: {AS_FOUND} changes nothing, the MTU included; to set the MTU alone "
                    "name another tuning, with knobs: []"
                )
        return self

    @property
    def is_inline(self) -> bool:
        return self.knobs is not None or self.extends is not None

    @property
    def mtus(self) -> tuple[int | None, ...]:
        """The MTUs in B; None for the one that is found."""
        return (None,) if self.mtus_B is None else self.mtus_B


def own_tunings(study: Study) -> dict[str, Tuning]:
    own = {name: tuning.named(name) for name, tuning in study.profiles.items()}
    for level in study.tunings:
        if level.is_inline:
            tuning = OwnTuning(
                title=level.label or "", extends=level.extends, knobs=level.knobs or ()
            )
            own[level.name] = tuning.named(level.name)
    return own


def used_names(study: Study) -> list[str]:
    names = [study.profile(host, level.name) for level in study.tunings for host in study.hosts]
    return list(dict.fromkeys(names))


def contents(study: Study) -> dict[str, Any]:
    """Knobs and values of every tuning that the study's hosts take, for its digest."""
    own = own_tunings(study)
    return {name: load_profile(name, own=own).content() for name in used_names(study)}


def resolved(study: Study, name: str) -> Profile:
    """A tuning by name: the study's own, or one that netlab brings."""
    return load_profile(name, own=own_tunings(study))


def complete(study: Study) -> dict[str, dict[str, Any]]:
    """The study's ``profiles`` with every tuning it needs, so that they stand alone.

    Left out are ``as-found``, which has no content, and tunings that are inline.
    """
    own = own_tunings(study)
    inline = {level.name for level in study.tunings if level.is_inline}
    needed: dict[str, dict[str, Any]] = {}
    for name in [*used_names(study), *own]:
        for tuning in lineage(name, own=own):
            if tuning.name != AS_FOUND and tuning.name not in inline:
                content = tuning.model_dump(mode="json", exclude={"name"}, exclude_none=True)
                needed[tuning.name] = content
    return needed


SIZES_BUFFERS = {f"net.ipv4.tcp_{name}" for name in ("rmem", "wmem", "moderate_rcvbuf")}
"""Knobs of buffers that the kernel sizes; a buffer that a socket asks for ignores them."""
LIMITS_BUFFERS = {"net.core.rmem_max", "net.core.wmem_max"}
"""Limits of what a socket may ask for, which ``force_buffer`` exceeds."""


def asked_buffers_B(study: Study, group: Group) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Levels of the buffers that a group asks for, of its sender and of its receiver; 0: none."""
    factors = group.factors.over(study.factors)
    sender_B = factors.buffer_B or (group.buffer_B,)
    own_B = () if group.receive_buffer_B is None else (group.receive_buffer_B,)
    return sender_B, factors.receive_buffer_B or own_B or sender_B


def moot_knobs(study: Study, group: Group, profile: Profile) -> tuple[str, ...]:
    """Names of a tuning's knobs that change nothing, as the group fixes all its buffers."""
    if not all(size_B for levels in asked_buffers_B(study, group) for size_B in levels):
        return ()
    moot = SIZES_BUFFERS | (LIMITS_BUFFERS if study.force_buffer else set())
    knobs = [item for item in profile.items if isinstance(item, Knob)]
    return tuple(knob.label for knob in knobs if knob.label in moot)


def is_moot(study: Study, group: Group, profile: Profile) -> bool:
    """True if a tuning has knobs, and all of them are moot."""
    return bool(profile.items) and len(moot_knobs(study, group, profile)) == len(profile.items)


def fixed_buffer_text(study: Study, group: Group, knobs: tuple[str, ...]) -> str:
    """Sentence on a tuning of moot knobs, and the line of the study to take out."""
    size_B = min(asked_buffers_B(study, group)[0])
    factor = "factors." if group.factors.over(study.factors).buffer_B else ""
    return (
        f"sets {', '.join(knobs)}, which change nothing while {group.name!r} fixes its socket "
        f"buffers; take out its `{factor}buffer_B` ({size_B}), and the kernel sizes them"
    )


def check_moot(study: Study) -> Iterator[ValueError]:
    """Tunings of which every knob is moot for every group that takes them."""
    for index, level in enumerate(study.tunings):
        taken = [
            (group, study.tuning_profile(host, level.name))
            for group in study.groups
            if group.tunings is None or level.name in group.tunings
            for host in (group.sender, study.receiver(group))
        ]
        if level.mtus_B is None and all(is_moot(study, *one) for one in taken):
            group, profile = taken[0]
            text = fixed_buffer_text(study, group, moot_knobs(study, group, profile))
            yield misplaced(text, ("tunings", index), level.name, code="E-STUDY-088")


def check_tunings(study: Study) -> Iterator[ValueError]:
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
