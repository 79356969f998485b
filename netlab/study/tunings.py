"""Tunings of a study: levels, its own tunings, where names resolve; its congestion controls."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any, Self

from pydantic import BeforeValidator, model_validator

from netlab.errors import BadInput
from netlab.files.reading import open_regular
from netlab.study.base import MTU, Model, Name, Several, controls, misplaced, tried
from netlab.tuning.knobs import RISK, Item, Knob, key
from netlab.tuning.profiles import (
    AS_FOUND,
    Content,
    Place,
    Profile,
    Tuning,
    inexact,
    lineage,
    load_profile,
    nearest,
    profile_names,
)

if TYPE_CHECKING:
    from netlab.study.design import Study
    from netlab.study.groups import Group
import ipaddress
import re
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from netlab.files.yaml_file import validated

if TYPE_CHECKING:
    from netlab.study.design import Study

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
    risk: str | None = key(
        "`risk` of those of the inline knobs that state none.", RISK, None, min_length=1
    )

    @model_validator(mode="after")
    def _one_tuning(self) -> Self:
        if self.risk is not None and self.knobs is None:
            raise ValueError("risk: state it where the knobs are; this level has none inline")
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
                title=level.label or "",
                extends=level.extends,
                knobs=level.knobs or (),
                risk=level.risk,
            )
            own[level.name] = tuning.named(level.name)
    return own


def check_exact(study: Study) -> Iterator[tuple[Place, str, str]]:
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
    own = own_tunings(study)
    for index, level in enumerate(study.tunings):
        if level.mtus_B is not None:
            continue
        taken = [
            (group, load_profile(study.profile(host, level.name), own=own))
            for group in study.groups
            if group.tunings is None or level.name in group.tunings
            for host in (group.sender, study.receiver(group))
        ]
        if all(is_moot(study, *one) for one in taken):
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


# Congestion controls that a study defines: a window law of netlab's own, with parameters.


KEYS: dict[str, tuple[str, ...]] = {
    "scalable": ("increase", "decrease", "legacy_window_segments", "max_ssthresh_segments"),
    "highspeed": ("max_ssthresh_segments",),
    "aimd": ("increase", "decrease", "max_ssthresh_segments"),
    "fast": ("alpha_packets", "gamma", "max_ssthresh_segments"),
    "kernel": (),
}
"""Parameters of each law."""

LINUX = (
    *("bbr", "bic", "cdg", "cubic", "dctcp", "highspeed", "htcp", "hybla", "illinois", "lp"),
    *("nv", "reno", "scalable", "vegas", "veno", "westwood", "yeah"),
)
"""Congestion controls in the source of Linux; a host need not have them all."""

KERNEL = "kernel"
"""Law of a declared congestion control that the hosts' kernels bring, from outside of Linux."""

Segments = Annotated[int, Field(ge=0, le=1_000_000)]


class Stack(Model, title="`stacks.NAME`"):
    """A congestion control: one of netlab's window laws, with parameters.

    ``scalable`` (Kelly 2003), ``highspeed`` (RFC 3649), ``aimd`` or ``fast`` (Wei, Jin, Low, Hegde
    2006); or ``kernel`` for a module from outside of Linux, which has no parameters. A parameter
    left out has the value of the law's publication: increase 1 and decrease 0.5 in ``aimd`` as in
    Reno, 0.01, 0.125 and 16 segments in ``scalable``, 200 packets and 0.5 in ``fast``. Limited slow
    start is that of RFC 3742; 0: none.
    """

    law: Literal["scalable", "highspeed", "aimd", "fast", "kernel"] = key(
        "Window law, or `kernel` for a module of the hosts.", "aimd"
    )
    increase: float | None = key(
        "aimd: segments gained in a round trip; scalable: for each acknowledged.",
        1.0,
        None,
        ge=1e-6,
        le=1000,
        allow_inf_nan=False,
    )
    decrease: float | None = key(
        "Share of the window given up at a loss.",
        0.5,
        None,
        ge=1e-6,
        le=0.999999,
        allow_inf_nan=False,
    )
    legacy_window_segments: Segments | None = key("scalable: grows as Reno up to here.", 16, None)
    max_ssthresh_segments: Segments | None = key("Limited slow start above this window.", 100, None)
    alpha_packets: int | None = key(
        "fast: packets that stay queued.", 200, None, ge=1, le=1_000_000
    )
    gamma: float | None = key(
        "fast: share of the way in one round trip.", 0.5, None, ge=1e-6, le=1, allow_inf_nan=False
    )

    @model_validator(mode="after")
    def _keys_fit_law(self) -> Self:
        for name in self.parameters():
            if name not in KEYS[self.law]:
                takes = ", ".join(KEYS[self.law]) or "no parameters"
                raise ValueError(f"{name}: the law {self.law} takes {takes}")
        if self.law == "scalable" and self.increase is not None and self.increase > 1:
            raise ValueError("increase: scalable gains at most 1 segment for each acknowledged")
        return self

    def parameters(self) -> dict[str, float | int]:
        return self.model_dump(exclude={"law"}, exclude_none=True)


def check_congestions(study: Study) -> Iterator[ValueError]:
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


# Parse ``wad.conf``, the configuration of the tuning daemon of 2003, as a study's stacks.
#
# WAD, the Work Around Daemon of the Net100 project, set variables of a Web100 kernel for flows that
# match an entry. An entry is a name in brackets, then ``key: value`` lines, as the SLAC page prints
# one for its HighSpeed TCP tests. The meaning of the keys is from Net100's page on WAD: with
# ``floyd`` the kernel takes increase and decrease from RFC 3649 in place of ``wadai`` and
# ``wadmd``; ``maxssth`` is RFC 3742's limited slow start.
#
# A study names a file beside it: ``stacks: {mine: {wad_conf: wad.conf, entry: GVA}}``.

MAX_BYTES = 1 << 16
_HEAD = re.compile(r"\[([^\[\]]+)\]")
_DECIMAL = re.compile(r"(\d{1,9}(\.\d{0,6})?|\.\d{1,6})")
UNMODELLED = {
    "mode": "overriding a flow's own buffer sizes; netlab sets them for every run",
    "wad_ifq": "reaction to a full interface queue; Linux today does not treat it as a loss",
    "divide": "sharing the buffers among a host's flows; netlab sets them for every stream",
}
"""Keys without a counterpart in today's kernel and netlab: meaning and reason."""

FROM_STUDY = ("src_addr", "src_port", "dst_addr", "dst_port", "sndbuf", "rcvbuf")
"""Keys that a study sets elsewhere: its groups choose the flows and their buffers."""


class WadStack(Model, title="`stacks.NAME`, from a wad.conf"):
    """A congestion control of a study that an entry of a ``wad.conf`` defines."""

    wad_conf: str = key("A wad.conf beside the study.", "wad.conf")
    entry: str | None = key("Its entry, where it has several.", "GVA", None)


def _whole(most: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        if not re.fullmatch(r"[0-9]{1,12}", text) or int(text) > most:
            raise ValueError(f"must be a whole number from 0 to {most}")
        return int(text)

    return parse


def _decimal(most: float) -> Callable[[str], float]:
    def parse(text: str) -> float:
        if not _DECIMAL.fullmatch(text) or float(text) > most:
            raise ValueError(f"must be a decimal number from 0 to {most:g}")
        return float(text)

    return parse


def _address(text: str) -> str:
    try:
        ipaddress.ip_network(text or "::", strict=False)
    except ValueError:
        reason = "must be an address, with or without a prefix length, or empty"
        raise ValueError(reason) from None
    return text


def _key(parse: Callable[[str], Any], default: Any = 0) -> Any:
    """A key of an entry, with the parser of its value."""
    return field(default=default, metadata={"parse": parse})


@dataclass(frozen=True)
class WadEntry:
    """One entry of a ``wad.conf``."""

    name: str
    src_addr: str = _key(_address, "")
    src_port: int = _key(_whole(65535))
    dst_addr: str = _key(_address, "")
    dst_port: int = _key(_whole(65535))
    mode: int = _key(_whole(2))
    sndbuf: int = _key(_whole(2**30))
    rcvbuf: int = _key(_whole(2**30))
    wadai: float = _key(_decimal(1000), 0.0)
    wadmd: float = _key(_decimal(0.999999), 0.0)
    maxssth: int = _key(_whole(1_000_000))
    wad_ifq: int = _key(_whole(2))
    divide: int = _key(_whole(1))
    floyd: int = _key(_whole(2))

    def stack(self) -> Stack:
        """Window law of the entry, as a study defines it."""
        limit: dict[str, Any] = {"max_ssthresh_segments": self.maxssth} if self.maxssth else {}
        if self.floyd:
            return Stack(law="highspeed", **limit)
        return Stack(law="aimd", increase=self.wadai or None, decrease=self.wadmd or None, **limit)

    def overridden(self) -> dict[str, float]:
        """Keys of the entry that ``floyd`` overrides, with their values."""
        own = {"wadai": self.wadai, "wadmd": self.wadmd}
        return {key: value for key, value in own.items() if value} if self.floyd else {}

    def unmodelled(self) -> dict[str, str]:
        """Keys other than 0 without a counterpart, each with the reason."""
        return {key: reason for key, reason in UNMODELLED.items() if getattr(self, key)}

    def notes(self) -> str:
        """Keys of the entry that the stack does not reproduce, in a sentence; may be empty."""
        parts = [f"{key} (overridden by floyd)" for key in self.overridden()]
        parts += [f"{key} ({reason})" for key, reason in self.unmodelled().items()]
        parts += [f"{key} (set by the study)" for key in FROM_STUDY if getattr(self, key)]
        return f"Not taken from wad.conf [{self.name}]: {', '.join(parts)}." if parts else ""


def with_wad_conf(content: dict, study_file: Path) -> dict:
    """Resolve the stacks of a study that refer to a ``wad.conf``."""
    own_stacks = content.get("stacks")
    stacks = own_stacks if isinstance(own_stacks, dict) else {}
    entries = {
        name: _entry(name, stack, study_file)
        for name, stack in stacks.items()
        if isinstance(stack, dict) and "wad_conf" in stack
    }
    if not entries:
        return content
    resolved = {
        name: entry.stack().model_dump(exclude_none=True) for name, entry in entries.items()
    }
    texts = [content.get("description"), *(entry.notes() for entry in entries.values())]
    description = " ".join(text.strip() for text in texts if isinstance(text, str) and text)
    return {**content, "stacks": {**stacks, **resolved}, "description": description}


def _entry(name: str, reference: dict, study_file: Path) -> WadEntry:
    where = str(study_file)
    stack = validated(WadStack, reference, f"{where}: stacks.{name}")
    entries = {entry.name: entry for entry in read_wad(study_file.parent / stack.wad_conf)}
    wanted = stack.entry or (next(iter(entries)) if len(entries) == 1 else None)
    if wanted not in entries:
        problem = f"choose an entry of {stack.wad_conf}: {', '.join(entries)}"
        at = f"stacks.{name}.entry"
        raise BadInput(problem, where=where, key=at, value=wanted, code="E-STUDY-009")
    return entries[wanted]


def parse_wad(text: str, *, where: str = "wad.conf") -> tuple[WadEntry, ...]:
    """Parse the text of a ``wad.conf``."""
    parsers = {each.name: each.metadata["parse"] for each in fields(WadEntry) if each.metadata}
    entries: dict[str, dict[str, Any]] = {}
    name = ""

    def bad(number: int, reason: object, *, code: str, **found: Any) -> BadInput:
        return BadInput(f"line {number}: {reason}", where=where, code=code, **found)

    for number, raw in enumerate(text.split("\n"), start=1):
        line = raw.strip()
        if not line or line.startswith("#"):
            continue
        if head := _HEAD.fullmatch(line):
            name = head[1].strip()
            if not name or name in entries:
                raise bad(number, "an entry needs an unused name", code="E-STUDY-010")
            entries[name] = {}
            continue
        key, colon, value = (part.strip() for part in line.partition(":"))
        if not colon or not entries:
            wanted = "[NAME] or key: value" if entries else "[NAME]"
            raise bad(number, f"must be {wanted}", value=line, code="E-STUDY-011")
        if key not in parsers:
            allowed = f"allowed are {', '.join(parsers)}"
            raise bad(number, f"unknown key; {allowed}", key=key, code="E-STUDY-012")
        if key in entries[name]:
            raise bad(number, f"given twice in [{name}]", key=key, code="E-STUDY-013")
        try:
            entries[name][key] = parsers[key](value)
        except ValueError as problem:
            raise bad(number, problem, key=key, value=value, code="E-STUDY-014") from None
    if not entries:
        raise BadInput("contains no entry [NAME]", where=where, code="E-STUDY-015")
    return tuple(WadEntry(name=name, **values) for name, values in entries.items())


def read_wad(path: Path | str) -> tuple[WadEntry, ...]:
    where = str(path)
    try:
        with open_regular(path) as file:
            raw = file.read(MAX_BYTES + 1)
    except OSError as error:
        reason = f"cannot be read: {error.strerror}"
        raise BadInput(reason, where=where, code="E-STUDY-016") from None
    if len(raw) > MAX_BYTES:
        raise BadInput("is over 64 KiB, the largest size allowed", where=where, code="E-STUDY-017")
    try:
        return parse_wad(raw.decode("utf-8"), where=where)
    except UnicodeDecodeError:
        raise BadInput("is not UTF-8 text", where=where, code="E-STUDY-018") from None
