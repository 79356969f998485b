"""Groups of runs on a path: their levels, options and timing."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Self

from pydantic import Field, ValidationError, field_validator, model_validator

from netlab import wings
from netlab.errors import BadInput
from netlab.study.base import (
    MAX_ROUNDS,
    MAX_RUNS,
    MTU,
    Buffer,
    Congestion,
    CrossLength,
    CrossRate,
    Direction,
    Generator,
    Listed,
    Model,
    Name,
    RecordLength,
    Several,
    Streams,
    is_default,
    misplaced,
    slug,
)
from netlab.study.factors import (
    ALWAYS,
    OF_GROUP,
    OF_LINK,
    OF_POLICY,
    OF_SOCKET,
    OF_STUDY,
    OF_UDP,
    RESERVED,
    Combination,
    Excluded,
    Factors,
    Level,
    Levels,
    Udp,
    crossed,
    left_out,
    level_text,
    levels_text,
    listed,
    path_at,
    same,
)
from netlab.study.flows import PlannedFlow
from netlab.tuning.knobs import key

if TYPE_CHECKING:
    from netlab.study.design import Study


MAX_TRANSFER_B = 2**44
"""Largest amount that one stream may send, in bytes: two hours at 20 Gb/s."""


Rounds = Annotated[int, Field(ge=1, le=MAX_ROUNDS)]
Seconds = Annotated[float, Field(ge=0.05, le=3600, allow_inf_nan=False)]
WarmUp = Annotated[float, Field(ge=0, le=600, allow_inf_nan=False)]
Interval = Annotated[int, Field(ge=10, le=60_000)]
Drain = Annotated[float, Field(ge=1, le=600, allow_inf_nan=False)]
LEAST_WARMUP_S = 0.3
WARMUP_RTTS = 20
"""Slow start doubles the congestion window each round trip: 20 of them fill any path."""
DRAIN_S, DRAIN_MOST_S = 5.0, 120.0
"""Timeout for data in flight where few streams have little, and where TCP itself waits as long."""
SEND_BUFFER_B = 87_040
"""Send buffer that Linux gives a stream with an initial window of ten segments."""
UNKNOWN_LINK_MBps = 12.5
"""Rate of the slowest card in use, 100 Mb/s."""


class Timing(Model, title="`timing`, `quick`"):
    """Duration and number of runs.

    Data in flight at the end drain slowly from many full buffers over a slow path, hence
    ``drain_s``: a limit, no wait. A run ends as soon as its streams have.
    """

    rounds: Rounds | None = key(
        "Rounds; each measures every cell once. Default 3, or as `precision` needs.", 5, None
    )
    seconds: Seconds = key("Measured window of a run, s.", 1.0, 1.0)
    warmup_s: WarmUp | None = key(
        "Warm-up before the window, s. Default 0.3, or 20 RTTs if that is more.", 0.3, None
    )
    interval_ms: Interval = key("Length of the interval samples, ms.", 100, 100)
    drain_s: Drain | None = key(
        "Timeout for data in flight after the window, s. Default 5, or as the time before, the "
        "streams' buffers and the link's rate need, at most 120.",
        20.0,
        None,
    )

    @model_validator(mode="before")
    @classmethod
    def _repeats_are_rounds(cls, content: object) -> object:
        if isinstance(content, dict) and "repeats" in content:
            raise ValueError("repeats: is called `rounds` now: every round measures each cell once")
        return content

    def warmup_at(self, rtt_s: float = 0.0) -> float:
        """Warm-up on a path of that RTT, s: as stated, else :data:`WARMUP_RTTS` round trips."""
        if self.warmup_s is not None:
            return self.warmup_s
        return max(LEAST_WARMUP_S, round(WARMUP_RTTS * rtt_s, 3))

    def drain_at(
        self, streams: int = 1, rtt_s: float = 0.0, *, buffer_B: int = 0, link_MBps: float = 0.0
    ) -> float:
        """Timeout for data in flight at the end of the window, s: as stated, else derived.

        All send buffers may be full. A stream that has lost all it had in flight since the start
        tries again after as long once more, as its timeouts double.
        """
        if self.drain_s is not None:
            return self.drain_s
        buffered_MB = streams * (buffer_B or SEND_BUFFER_B) / 1e6
        needed_s = buffered_MB / (link_MBps or UNKNOWN_LINK_MBps)
        needed_s += self.warmup_at(rtt_s) + self.seconds
        return min(DRAIN_MOST_S, max(DRAIN_S, needed_s))

    def text(self) -> str:
        """Window and warm-up of a run, for tables."""
        warmup_s = self.warmup_at()
        longer = f", {WARMUP_RTTS} RTTs where that is more" if self.warmup_s is None else ""
        return f"{self.seconds:g} s after {warmup_s:g} s of warm-up{longer}"


class GroupTiming(Model, title="`timing`, `quick` of a group"):
    """Duration of a group's runs; what is left out is as in the study's timing.

    The number of rounds is the study's: every round makes each cell of all groups once.
    """

    seconds: Seconds | None = None
    warmup_s: WarmUp | None = None
    interval_ms: Interval | None = None
    drain_s: Drain | None = None

    @model_validator(mode="before")
    @classmethod
    def _rounds_are_the_studys(cls, content: object) -> object:
        if isinstance(content, dict) and "rounds" in content:
            raise ValueError("rounds: are the study's, not a group's")
        return content

    def over(self, timing: Timing) -> Timing:
        """The study's timing with what is given here."""
        return timing.model_copy(update=self.model_dump(exclude_none=True))


class Group(Model, title="`groups`"):
    """One table of the report: a direction over a path, all tunings, MTUs and stream counts.

    A buffer of 0 is not requested: the kernel sizes it. ``factors`` come before the study's of the
    same name. A forced loss is timed from the start of the run, its warm-up included.
    """

    name: str = key(
        "Name of the group, the heading of its table.", "left -> right", min_length=1, max_length=60
    )
    path: Name = key("Name of its path.", "cable")
    sender: Name = key("Host that sends (in the forward direction).", "left")
    direction: Direction = key("One way or both at once.", "<->", "->")
    table: int | None = key("Number of the table in a source document.", 2, None, ge=1, le=9999)
    record_length_B: RecordLength = key(
        "Bytes of one send() or recv(), or of a datagram; 0, and of datagrams left out: those that "
        "fill the path's packet.",
        65536,
        65536,
    )
    buffer_B: Buffer = key("Socket buffer requested; left out, the kernel sizes it.", 262144, 0)
    receive_buffer_B: Buffer | None = key(
        "Socket buffer of the receiver, where it differs.", 134217728, None
    )
    congestion: Congestion | None = key(
        "Congestion control, in place of the study's.", "reno", None
    )
    flows: Listed[PlannedFlow] = key(
        "Flows that are unequal, dealt to the streams in turn.",
        [{"congestion": "bbr"}, {"congestion": "cubic", "count": 16, "start_s": 2.0}],
        (),
    )
    generator: Generator = key("Program that sends and receives.", "iperf3", "netlab")
    cross_udp_Mbps: CrossRate = key(
        "UDP beside the streams, from the sender to the receiver, 10⁶ bit/s of payload; 0: none.",
        20.0,
        0.0,
    )
    cross_udp_B: CrossLength | None = key(
        "Bytes of each of its datagrams; left out: those that fill the path's packet.", 1200, None
    )
    force_loss_at_s: float | None = key(
        "Drop one packet this long after the start; needs an emulator.",
        4.0,
        None,
        ge=0,
        le=3600,
        allow_inf_nan=False,
    )
    tunings: Several[Name] | None = key("Only these tuning levels.", ["as-found"], None)
    mtus_B: Several[MTU] | None = key("Only these MTUs.", [9000], None)
    streams: Several[Streams] | None = key("Only these numbers of streams.", [1], None)
    factors: Factors = key(
        "Factors of the group, before the study's.", {"send": ["copy", "zerocopy"]}, Factors()
    )
    exclude: Listed[Excluded] = key(
        "Combinations left out, besides the study's.", [{"send": "zerocopy", "streams": 1}], ()
    )
    timing: GroupTiming | None = key("Timing in place of the study's.", {"seconds": 30.0}, None)
    quick: GroupTiming | None = key("Timing in the short form.", {"seconds": 3.0}, None)
    target_percent_of_bus: float | None = key(
        "Goal of the best cell, per cent of the bus.", 80.0, None, gt=0, le=100
    )
    target_Gbps: float | None = key(
        "Goal of the best cell, 10⁹ bit/s of payload.",
        9.0,
        None,
        gt=0,
        le=100_000,
        allow_inf_nan=False,
    )
    records: int | None = key(
        "Send this many records a stream, in place of a time.", 1000, None, ge=1, le=1_000_000_000
    )
    quick_records: int | None = key(
        "The same in the short form.", 100, None, ge=1, le=1_000_000_000
    )
    short: bool = key("The short form has this group.", False, True)
    part: str = key("Part of the study that the group belongs to.", "recovery", "", max_length=60)

    @field_validator("name")
    @classmethod
    def _has_a_slug(cls, value: str) -> str:
        if not slug(value):
            raise ValueError("needs a letter or digit of ASCII, to name its runs")
        return value

    @model_validator(mode="before")
    @classmethod
    def _datagrams_fill_a_packet(cls, content: object) -> object:
        # TCP's default is larger than any datagram
        if isinstance(content, dict) and sends_datagrams(str(content.get("generator"))):
            return {"record_length_B": FILL_PACKET, **content}
        return content

    @model_validator(mode="after")
    def _only_datagrams_fill_a_packet(self) -> Self:
        takes = self.factors.generator or (self.generator,)
        if self.record_length_B == FILL_PACKET and not any(map(sends_datagrams, takes)):
            text = "0 is for datagrams; a record has 1 byte or more"
            raise misplaced(text, ("record_length_B",), 0, code="E-STUDY-091")
        return self

    @model_validator(mode="after")
    def _sends_a_time_or_an_amount(self) -> Self:
        if self.quick_records is not None and self.records is None:
            raise ValueError("quick_records: a group that sends for a time has no records")
        if self.records is None:
            return self
        if self.records * self.record_length_B > MAX_TRANSFER_B:
            raise ValueError(
                f"records: {self.records} of {self.record_length_B} B are over {MAX_TRANSFER_B} B"
            )
        if self.direction == "<->" or self.generator != "netlab":
            raise ValueError("records: only netlab sends an amount, and in one direction")
        return self


CROSS_S = 3.5
"""Time that UDP beside the streams outlasts their window; a SYN lost twice goes again after 3."""

# Limits of the other generators, checked when a study is loaded.

OWN = "netlab"
"""netlab's own generator over TCP."""

UDP = "udp"
"""netlab's own generator of datagrams; every further one is a tool installed on the hosts."""


FILL_PACKET = 0
"""As `record_length_B` of datagrams: as much as a packet of the path carries."""


def sends_datagrams(generator: str) -> bool:
    """True for netlab's own generator of datagrams, and a tool's, as iperf3-udp."""
    return generator.endswith(UDP)


@dataclass(frozen=True)
class Limits:
    """Limits of one tool."""

    streams: int | None = None
    record_length_B: int | None = None
    buffer_at_each_end: bool = True
    sets_buffers: bool = True
    sends: tuple[str, ...] = ("copy",)
    overhead_s: float = 1.0
    """Time of a run besides warm-up and window on a path without RTT: to start and end the tool,
    its margin, and half a second where it measures whole seconds only; measured on two CPUs."""


LIMITS = {
    "iperf3": Limits(
        streams=128, record_length_B=1 << 20, buffer_at_each_end=False, sends=("copy", "sendfile")
    ),
    "iperf2": Limits(overhead_s=1.4),
    "nuttcp": Limits(streams=128, overhead_s=0.5),
    "neper": Limits(sets_buffers=False),
    "iperf3-udp": Limits(streams=128, buffer_at_each_end=False),
    "iperf2-udp": Limits(overhead_s=1.4),
}


def limits_of(generator: str) -> Limits:
    """Limits of a tool of netlab's, or of a wing's."""
    if generator in LIMITS:
        return LIMITS[generator]
    limits: Limits = wings.load(wings.generators()[generator]).limits
    return limits


def refusal(group: Group, streams: Iterable[int], congestion: str) -> str:
    """Reason why a group's generator cannot make its runs; empty when it can."""
    if group.record_length_B == FILL_PACKET and not sends_datagrams(group.generator):
        return "record_length_B: 0 is for datagrams; give 1 or more"
    if group.flows and group.generator != OWN:
        return f"flows: {group.generator} has none that are unequal; only netlab has"
    if group.cross_udp_Mbps and group.generator != OWN:
        return f"cross_udp_Mbps: {group.generator} has none beside it; only netlab has"
    if group.cross_udp_Mbps and group.records is not None:
        return "cross_udp_Mbps: is beside streams of a time; leave out records"
    if group.cross_udp_Mbps and group.force_loss_at_s is not None:
        return "cross_udp_Mbps: the forced loss could be one of its datagrams; give one of the two"
    if group.generator == OWN:
        return ""
    if sends_datagrams(group.generator):
        if group.record_length_B not in Udp.sizes_B and group.record_length_B != FILL_PACKET:
            least_B, most_B = Udp.sizes_B[0], Udp.sizes_B[-1]
            return (
                f"record_length_B: a datagram has {least_B} to {most_B} bytes, not "
                f"{group.record_length_B}; leave it out to fill the path's packet"
            )
        if congestion:
            return "congestion: udp has none"
    if group.generator == UDP:
        return ""
    name, limits = group.generator, limits_of(group.generator)
    if limits.streams is not None and max(streams) > limits.streams:
        return f"{name} runs at most {limits.streams} streams, not {max(streams)}"
    if limits.record_length_B is not None and group.record_length_B > limits.record_length_B:
        most = limits.record_length_B
        return f"{name} takes records of at most {most} B, not {group.record_length_B}"
    if not limits.buffer_at_each_end and group.receive_buffer_B not in (None, group.buffer_B):
        return f"{name} gives both ends one buffer; it takes no receive_buffer_B"
    if not limits.sets_buffers and (group.buffer_B or group.receive_buffer_B):
        return f"{name} takes no size of a buffer"
    if group.force_loss_at_s is not None:
        return f"{name} does not report when its streams start, so no loss can be timed"
    if "+" in congestion:
        return f"{name} gives all streams one congestion control, not {congestion!r}"
    return ""


# Groups, studies and paths at one combination of the levels of their factors.


def factors_of(study: Study, group: Group) -> dict[str, tuple[Level, ...]]:
    """Factors of a group with their levels: its own, the study's, then the outer ones."""
    stated = group.factors.over(study.factors).given()
    return {**stated, **{name: tuple(study.outer[name]) for name in sorted(study.outer)}}


def combinations(study: Study, group: Group) -> Iterator[Combination]:
    """Every combination of levels that a group measures, in the study's order."""
    factors, excluded = factors_of(study, group), (*study.exclude, *group.exclude)
    for tuning, mtu_B, streams in study.levels(group):
        always = {"group": group.name, "tuning": tuning, "mtu_B": mtu_B, "streams": streams}
        for levels in crossed(factors):
            fixed = {**always, **dict(levels)} if excluded else always
            if not any(left_out(entry, fixed) for entry in excluded):
                yield Combination(tuning, mtu_B, streams, levels)


def group_at(group: Group, of_run: Levels) -> Group:
    """A group without factors, with these levels in place of its options."""
    if not of_run and group.factors == Factors() and not group.exclude:
        return group
    own = {name: level for name, level in of_run if name in OF_GROUP}
    if sends_datagrams(str(own.get("generator", ""))) and is_default(group, "record_length_B"):
        own = {"record_length_B": FILL_PACKET, **own}
    return group.model_copy(update={**own, "factors": Factors(), "exclude": ()})


def study_at(study: Study, group: Group, of_run: Levels) -> Study:
    """The study whose options and timing are those of a run of a group at some levels."""
    update: dict[str, Any] = {name: level for name, level in of_run if name in OF_STUDY}
    for part, names in (("socket", OF_SOCKET), ("policy", OF_POLICY), ("udp", OF_UDP)):
        options: dict[str, Any] = {name: level for name, level in of_run if name in names}
        if options.get("pacing_MBps") == 0:
            options["pacing_MBps"] = None
        if options:
            update[part] = getattr(study, part).model_copy(update=options)
    if group.timing is not None:
        update["timing"] = group.timing.over(study.timing)
    return study.model_copy(update=update) if update else study


def check_factors(study: Study) -> None:
    """Refuse factors that contradict each other, an option or a path."""
    _check_outer(study)
    _check_published(study)
    _check_options(study)
    _check_cross(study)
    for number, group in enumerate(study.groups):
        sizes = [len(levels) for levels in factors_of(study, group).values()]
        cells = math.prod(sizes) * len(study.levels(group))
        if cells > MAX_RUNS:
            own = ("groups", number) if group.factors.given() else ()
            many = f"{cells} combinations, and {MAX_RUNS} is the limit; use fewer levels"
            text = f"{group.name}: its factors cross to {many}"
            raise misplaced(text, (*own, "factors"), code="E-STUDY-061")
    _check_excluded(study, study.groups, study.exclude, ("exclude",))
    for number, group in enumerate(study.groups):
        _check_excluded(study, (group,), group.exclude, ("groups", number, "exclude"))
        _check_combinations(study, group, ("groups", number))


def _check_outer(study: Study) -> None:
    for name, levels in study.outer.items():
        if name in RESERVED or "=" in name:
            text = "is the name of something else; choose another for a factor that a person sets"
            raise misplaced(text, ("outer", name), code="E-STUDY-062")
        if len({level_text(level) for level in levels}) < len(levels):
            raise misplaced("a level is given twice", ("outer", name), code="E-STUDY-063")


def _check_published(study: Study) -> None:
    """Every column of a published table is a factor of a group."""
    further = [name for group in study.groups for name in factors_of(study, group)]
    names = dict.fromkeys(("group", *ALWAYS, *further))
    for name in study.published.names if study.published else ():
        if name not in names:
            allowed = f"factors are {', '.join(names)}; rename it under `columns`"
            text = f"its column {name} is not a factor of the study; {allowed}"
            raise misplaced(text, ("published",), code="E-STUDY-082")


def _check_options(study: Study) -> None:
    """A factor and an option of the same name."""
    for number, group in enumerate(study.groups):
        for name in group.factors.over(study.factors).given():
            if name not in OF_GROUP or is_default(group, name):
                continue
            if name != "record_length_B" or group.record_length_B != FILL_PACKET:
                text = f"is a factor too, of {group.name}; give it in one place"
                place = ("groups", number, name)
                raise misplaced(text, place, getattr(group, name), code="E-STUDY-064")
    stated = {name for group in study.groups for name in group.factors.given()}
    options: dict[str, tuple[Model, tuple[str, ...]]] = {
        # a congestion control of the study is for groups without the factor
        **{name: (study, (name,)) for name in OF_STUDY},
        **{name: (study.socket, ("socket", name)) for name in OF_SOCKET},
        **{name: (study.policy, ("policy", name)) for name in OF_POLICY},
        **{name: (study.udp, ("udp", name)) for name in OF_UDP},
    }
    for name in sorted((stated | study.factors.given().keys()) & options.keys()):
        model, at = options[name]
        if not is_default(model, name):
            text = "is a factor too; give it in one place"
            raise misplaced(text, at, getattr(model, name), code="E-STUDY-065")


def _check_cross(study: Study) -> None:
    """A size of datagrams is of some that are sent."""
    for number, group in enumerate(study.groups):
        factors = factors_of(study, group)
        given = group.cross_udp_B is not None or "cross_udp_B" in group.factors.given()
        if given and not any(factors.get("cross_udp_Mbps", (group.cross_udp_Mbps,))):
            text = "is of UDP beside the streams, and there is none; give cross_udp_Mbps"
            place = ("groups", number, "cross_udp_B")
            raise misplaced(text, place, group.cross_udp_B, code="E-STUDY-121")


def _check_excluded(
    study: Study, groups: tuple[Group, ...], excluded: tuple, place: tuple[str | int, ...]
) -> None:
    """Every name is a factor of a group, and every level is one of its levels."""
    levels: dict[str, list] = {"group": [group.name for group in groups]}
    for group in groups:
        for name, unwanted in factors_of(study, group).items():
            levels.setdefault(name, []).extend(unwanted)
        for triple in study.levels(group):
            for name, level in zip(ALWAYS, triple, strict=True):
                levels.setdefault(name, []).append(level)
    for number, entry in enumerate(excluded):
        at = (*place, number)
        if not entry:
            raise misplaced("leaves out everything; name a level", at, code="E-STUDY-066")
        for name, wanted in entry.items():
            if name not in levels:
                text = f"is not a factor here; factors are {', '.join(levels)}"
                raise misplaced(text, (*at, name), code="E-STUDY-067")
            for level in listed(wanted):
                if not any(same(level, allowed) for allowed in levels[name]):
                    texts = dict.fromkeys(level_text(k) for k in levels[name] if k is not None)
                    text = f"is not a level of {name}; there are {', '.join(texts)}"
                    raise misplaced(text, (*at, name), level, code="E-STUDY-068")


def _check_combinations(study: Study, group: Group, place: tuple[str | int, ...]) -> None:
    """Refuse a combination whose group, options or link cannot be."""
    combined = list(combinations(study, group))
    if not combined:
        at = (*place, "exclude") if group.exclude else ("exclude",)
        raise misplaced(f"{group.name}: nothing is left to measure", at, code="E-STUDY-069")
    if any(one.of_link for one in combined) and not study.in_lab(group.path):
        names = ", ".join(name for name in factors_of(study, group) if name in OF_LINK)
        text = f"{group.name}: {names}: only a path between lab hosts has a link to set"
        raise misplaced(text, (*place, "path"), group.path, code="E-STUDY-070")
    links = dict.fromkeys(one.of_link for one in combined)
    if len(links) > 1 and any(e.address or e.interface for e in study.paths[group.path].ends):
        own = "takes the lab's own addresses and interfaces; leave them out"
        text = f"{group.name}: a path that is set up as {len(links)} links {own}"
        raise misplaced(text, ("paths", group.path, "ends"), code="E-STUDY-075")
    runs = dict.fromkeys(one.of_run for one in combined)
    for check, each in ((_check_run, runs), (_check_link, links)):
        for levels in filter(None, each):
            try:
                check(study, group, levels)
            except ValueError as error:
                reason = str(error)
                if isinstance(error, ValidationError):
                    first = error.errors(include_url=False)[0]
                    reason = first["msg"].removeprefix("Value error, ")
                text = f"{group.name} with {levels_text(levels)}: {reason}"
                text = f"{text}; leave it out with `exclude`"
                at = (*place, "name")
                raise misplaced(text, at, group.name, code="E-STUDY-071") from None


def _check_run(study: Study, group: Group, levels: Levels) -> None:
    """Build everything that a run takes from some levels, checks included."""
    varied = group_at(group, levels)
    type(group).model_validate(varied.model_dump())
    taken = study_at(study, varied, levels)
    type(taken.socket).model_validate(taken.socket.model_dump())
    taken.check_run(varied)


def _check_link(study: Study, group: Group, levels: Levels) -> None:
    """Build the link of some levels, and check what a group wants of it."""
    path = path_at(study.paths[group.path], levels)
    at = study.model_copy(update={"paths": {**study.paths, group.path: path}})
    at.check_link(group.path)
    at.check_forced_loss(group)


def chosen_outer(study: Study, given: Mapping[str, object]) -> Levels:
    """Levels of the study's outer factors as a person gives them, checked."""
    for name, level in given.items():
        if name not in study.outer:
            allowed = ", ".join(sorted(study.outer)) or "none"
            reason = f"is not an outer factor of {study.name}; there are: {allowed}"
            raise BadInput(reason, key=f"outer.{name}", value=level, code="E-STUDY-072")
    chosen = []
    for name in sorted(study.outer):
        key, texts = f"outer.{name}", {level_text(level): level for level in study.outer[name]}
        allowed, first = ", ".join(texts), next(iter(texts))
        if name not in given:
            options = f"--outer {name}={first} or outer={{{name!r}: ...}}"
            reason = f"a person sets this factor: say which of {allowed} the hosts have now, as "
            raise BadInput(reason + options, where=study.name, key=key, code="E-STUDY-073")
        if (text := str(given[name])) not in texts:
            reason = f"is not a level of this factor; there are {allowed}"
            where, value = study.name, given[name]
            raise BadInput(reason, where=where, key=key, value=value, code="E-STUDY-074")
        chosen.append((name, texts[text]))
    return tuple(chosen)
