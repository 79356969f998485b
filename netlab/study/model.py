"""The fields of a study, and what follows from them: levels, links and tunings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any, Literal, TypeVar

from pydantic import field_validator

from netlab.errors import BadInput
from netlab.study import flows
from netlab.study.base import ROUNDS, Congestion, Listed, Model, Name, StackName, Streams, controls
from netlab.study.factors import (
    OF_POLICY,
    OF_SOCKET,
    OF_STUDY,
    OF_UDP,
    Combination,
    Excluded,
    Factors,
    Level,
    Levels,
    OuterLevel,
    Several,
    crossed,
    left_out,
    link_levels,
    link_name,
    path_at,
    path_of_link,
)
from netlab.study.groups import UDP, Group, Timing
from netlab.study.hosts import StudyHost
from netlab.study.links import Path
from netlab.study.noise import Noise
from netlab.study.precision import Precision
from netlab.study.published import Published
from netlab.study.report_pages import ReportPages
from netlab.study.run_options import Engine, Latency, Policy, Receive, Send, Socket, Threads, Udp
from netlab.study.stacks import Stack
from netlab.study.tool_limits import OWN, group_at
from netlab.study.tunings import OwnTuning, TuningLevel
from netlab.tuning.knobs import HostSetting, key
from netlab.tuning.profiles import AS_FOUND, Profile, Tuning, lineage, load_profile

AnyStudy = TypeVar("AnyStudy", bound="StudyFields")


class StudyFields(Model, title="A study"):
    """The keys of a study and what follows from them, not checked against each other."""

    netlab: Literal[1] = key("Version of the format.", 1)
    name: Name = key("Name of the study, and of the directory of its results.", "mine")
    title: str = key("Title of its report.", "My two machines", min_length=1, max_length=200)
    description: str = key(
        "A few sentences for the report.", "Goodput before and after tuning.", ""
    )
    hosts: dict[Name, StudyHost] = key(
        "Hosts by name.", {"left": {"kind": "lab"}, "right": {"kind": "lab"}}, min_length=2
    )
    paths: dict[Name, Path] = key(
        "Paths by name: two hosts or more, and what joins them.",
        {"cable": {"ends": [{"host": "left"}, {"host": "right"}]}},
        min_length=1,
    )
    groups: Several[Group] = key(
        "Groups of cells; each is one table of the report.",
        [{"name": "left -> right", "path": "cable", "sender": "left"}],
    )
    tunings: Several[TuningLevel] = key(
        "Tuning levels. Left out, the hosts are measured as found.",
        [{"name": "as-found"}, {"name": "openlab-2003-full", "mtus_B": [1500, 9000]}],
        (TuningLevel(name=AS_FOUND),),
    )
    profiles: dict[Name, OwnTuning] = key(
        "Tunings of the study's own, by name.",
        {"big": {"knobs": [{"kind": "sysctl", "name": "net.core.rmem_max", "value": 67108864}]}},
        default_factory=dict,
    )
    factors: Factors = key(
        "Further factors, each with its levels.", {"record_length_B": [1024, 65536]}, Factors()
    )
    exclude: Listed[Excluded] = key(
        "Combinations of levels that are left out.",
        [{"record_length_B": 1024, "streams": [12, 20]}],
        (),
    )
    outer: dict[Name, Several[OuterLevel]] = key(
        "Factors that a person sets on the hosts, with their levels; see `--outer`.",
        {"kernel": ["smp", "up"]},
        default_factory=dict,
    )
    published: Published | None = key(
        "A published table beside the results: a YAML file beside the study's, or its content.",
        "theirs.yml",
        None,
    )
    report: ReportPages | None = key(
        "Further pages of the report.", {"notebooks": ["mine.ipynb"]}, None
    )
    streams: Several[Streams] = key("Numbers of TCP streams.", [1, 4, 12])
    congestion: Congestion | None = key(
        "Congestion control, the host's own if left out; several joined by `+` are dealt "
        "to the streams in turn, `bbr+16*cubic` to one and to 16.",
        "cubic",
        None,
    )
    stacks: dict[StackName, Stack] = key(
        "Congestion controls of the study's own, by name; `wad_conf` reads one from a wad.conf.",
        {"mine": {"law": "aimd", "increase": 6.0, "decrease": 0.3}},
        default_factory=dict,
    )
    force_buffer: bool = key(
        "Request socket buffers beyond the host's limits, as root.", True, False
    )
    engine: Engine = key(
        "Method of sending and receiving; `auto` depends on the streams.", "auto", "auto"
    )
    threads: Threads = key("Threads of the epoll engine; 0: one for each CPU.", 0, 0)
    send: Send = key("System call of the sender.", "copy", "copy")
    receive: Receive = key("System call of the receiver.", "copy", "copy")
    socket: Socket = key("Options of sockets and threads.", {"nodelay": True}, Socket())
    policy: Policy = key("Batches, yields and placement of the agents.", {"spread": True}, Policy())
    trace: bool = key(
        "Record RTT, window and retransmits of each stream at every interval.", True, False
    )
    latency: Latency = key(
        "A probe of the round trips beside the streams.", {"probe": "udp"}, Latency()
    )
    udp: Udp = key("Options of the generator `udp`.", {"gso": True, "gro": True}, Udp())
    timing: Timing = key("Duration and number of runs.", {"rounds": 5, "seconds": 2.0}, Timing())
    precision: Precision | None = key(
        "Measure each cell until its interval is this narrow, in place of `timing.rounds`.",
        {"half_width_percent": 5, "budget": "20min"},
        None,
    )
    noise: Noise = key(
        "Limits of the disturbance of hosts.", {"steal_percent": 5.0, "retries": 1}, Noise()
    )
    quick: Timing | None = key(
        "Timing of the short form (`--quick`).", {"rounds": 3, "seconds": 0.5}, None
    )
    seed: int = key("Seed of the randomised order.", 2003, 2003, ge=0, le=2**63 - 1)
    confidence: float = key("Level of the intervals.", 0.95, 0.95, gt=0.5, lt=1)

    @field_validator("netlab", mode="before")
    @classmethod
    def _version(cls, value: object) -> object:
        if type(value) is not int:  # True and 1.0 equal 1
            raise ValueError("expected 1")
        return value

    @property
    def min_rounds(self) -> int:
        """Rounds in which every cell is measured."""
        return self.max_rounds if self.precision is None else self.precision.min_rounds

    @property
    def max_rounds(self) -> int:
        """Most rounds in which a cell is measured."""
        if self.precision is not None:
            return self.precision.max_rounds
        return self.timing.rounds or ROUNDS

    def combinations(self, group: Group) -> tuple[Combination, ...]:
        """Every combination of levels that a group measures, one a cell, in the study's order."""
        return tuple(combinations(self, group))

    def run_groups(self, groups: Iterable[Group] | None = None) -> tuple[Group, ...]:
        """Groups as their runs take them: without factors, one for each combination of options."""
        return tuple(
            group_at(group, levels)
            for group in (self.groups if groups is None else groups)
            for levels in dict.fromkeys(one.of_run for one in self.combinations(group))
        )

    def path(self, link: str) -> Path:
        """A path by its name, or by the name of one of its links."""
        if link in self.paths:
            return self.paths[link]
        name = path_of_link(link)
        by_name: dict[str, tuple] = {}
        for group in (group for group in self.groups if group.path == name):
            for factor, each in group.factors.over(self.factors).given().items():
                by_name[factor] = (*by_name.get(factor, ()), *each)
        levels = link_levels(link, by_name)
        if levels is None:
            raise BadInput(
                f"unknown link; there are {', '.join(self.links)}",
                where="paths",
                value=link,
                code="E-STUDY-076",
            )
        return path_at(self.paths[name], levels)

    @property
    def links(self) -> tuple[str, ...]:
        """Names of all links: one a path, or one for each combination of their factors' levels."""
        levels: dict[str, list[Levels]] = {name: [] for name in self.paths}
        for group in self.groups:
            levels[group.path] += [one.of_link for one in self.combinations(group)]
        each = (link_name(path, one) for path, of in levels.items() for one in of or ((),))
        return tuple(dict.fromkeys(each))

    def first_link(self, path: str) -> str:
        """Name of the first link of a path; the path's own unless it has factors of the link."""
        return next(link for link in self.links if path_of_link(link) == path)

    def levels(self, group: Group) -> tuple[tuple[str, int | None, int], ...]:
        """Tuning, MTU in B and stream count of every cell of a group, in the study's order.

        The MTU is None where it stays as found.
        """
        return tuple(
            (level.name, mtu_B, streams)
            for level in self.tunings
            if group.tunings is None or level.name in group.tunings
            for mtu_B in level.mtus
            if group.mtus_B is None or mtu_B in group.mtus_B
            for streams in self.streams
            if group.streams is None or streams in group.streams
        )

    def rtt_s(self, path: str) -> float:
        """RTT that a path's emulator adds, s; 0 without one."""
        link = self.path(path).link
        return sum(link.emulator.each_way_ms) / 1e3 if link and link.emulator else 0.0

    def longest_rtt_s(self, group: Group, link: str = "") -> float:
        """Longest RTT of a group's flows that emulators add on a link of its path, s."""
        return flows.longest_rtt_s(group.flows, self.rtt_s(link or group.path))

    def congestion_of(self, group: Group) -> str:
        """Congestion control of a group's runs, as the study names it; empty: the host's own."""
        return flows.congestion(group.flows, group.congestion or self.congestion or "")

    def congestions(self, groups: Iterable[Group] | None = None) -> tuple[str, ...]:
        """Every congestion control that groups of runs name, sorted; of all runs unless given.

        Empty where the hosts use their own.
        """
        groups = self.run_groups() if groups is None else groups
        named = {self.congestion_of(group) for group in groups}
        return tuple(sorted({name for names in named for _, name in controls(names)}))

    def generators(self, path: str) -> tuple[str, ...]:
        """Tools besides netlab that the groups of a path send with, in their order."""
        groups = [group for group in self.groups if group.path == path_of_link(path)]
        used = [group.generator for group in self.run_groups(groups)]
        return tuple(name for name in dict.fromkeys(used) if name not in (OWN, UDP))

    def senders(self, group: Group) -> tuple[str, ...]:
        """Names of the hosts that send the streams of a group, its sender first."""
        return flows.hosts(group.flows, group.sender)

    def receiver(self, group: Group) -> str:
        """Name of the host at the other end of a group's path."""
        first, second = (end.host for end in self.paths[group.path].ends)
        return second if group.sender == first else first

    def profile(self, host: str, tuning: str) -> str:
        """Name of the tuning that a host takes for a tuning level of the study."""
        named = next((level.profile for level in self.tunings if level.name == tuning), None)
        return self.hosts[host].profiles.get(tuning, named or tuning)

    def tuning_profile(self, host: str, tuning: str) -> Profile:
        """The tuning that a host takes for a tuning level: the study's own, or netlab's.

        It records the settings that any level records, so that levels can be compared.
        """
        own = own_tunings(self)
        names = (*(level.name for level in self.tunings), tuning)
        *levels, chosen = (load_profile(self.profile(host, name), own=own) for name in names)
        records = dict.fromkeys(chain.from_iterable(level.records for level in levels))
        return chosen.model_copy(update={"records": tuple(records)})

    def settings_read(self, host: str) -> tuple[HostSetting, ...]:
        """The settings of a host that are read before it is measured, whatever its tuning."""
        levels = (self.tuning_profile(host, level.name).records for level in self.tunings[:1])
        return tuple(dict.fromkeys(chain(load_profile(AS_FOUND).records, *levels)))

    def in_lab(self, path: str) -> bool:
        """True if both ends of a path are hosts of the lab, whose link netlab makes."""
        return all(self.hosts[name].kind == "lab" for name in self.path(path).hosts)

    def bus_shared(self, path: str) -> bool:
        """True if any bus of a path carries both directions over the same wires."""
        buses = [self.hosts[end.host].bus for end in self.path(path).ends]
        return any(bus is not None and bus.shared for bus in buses)

    def bus_MBps(self, path: str) -> float | None:
        """Bandwidth of the slower of the two hosts' buses, MB/s; None if one is unknown."""
        buses = [self.hosts[end.host].bus for end in self.path(path).ends]
        rates = [bus.bandwidth_MBps for bus in buses if bus is not None]
        return min(rates) if len(rates) == len(buses) else None

    def bus_of_group_MBps(self, group: Group) -> float | None:
        """Bandwidth of the bus of a group's runs; twice it where each direction has it whole."""
        bus_MBps = self.bus_MBps(group.path)
        if bus_MBps is None:
            return None
        return bus_MBps * (2 if group.direction == "<->" and not self.bus_shared(group.path) else 1)


def factors_of(study: StudyFields, group: Group) -> dict[str, tuple[Level, ...]]:
    """Factors of a group with their levels: its own, the study's, then the outer ones."""
    stated = group.factors.over(study.factors).given()
    return {**stated, **{name: tuple(study.outer[name]) for name in sorted(study.outer)}}


def combinations(study: StudyFields, group: Group) -> Iterator[Combination]:
    """Every combination of levels that a group measures, in the study's order."""
    factors, excluded = factors_of(study, group), (*study.exclude, *group.exclude)
    for tuning, mtu_B, streams in study.levels(group):
        always = {"group": group.name, "tuning": tuning, "mtu_B": mtu_B, "streams": streams}
        for levels in crossed(factors):
            fixed = {**always, **dict(levels)} if excluded else always
            if not any(left_out(entry, fixed) for entry in excluded):
                yield Combination(tuning, mtu_B, streams, levels)


def study_at(study: AnyStudy, group: Group, of_run: Levels) -> AnyStudy:
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


def own_tunings(study: StudyFields) -> dict[str, Tuning]:
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


def used_names(study: StudyFields) -> list[str]:
    names = [study.profile(host, level.name) for level in study.tunings for host in study.hosts]
    return list(dict.fromkeys(names))


def contents(study: StudyFields) -> dict[str, Any]:
    """Knobs and values of every tuning that the study's hosts take, for its digest."""
    own = own_tunings(study)
    return {name: load_profile(name, own=own).content() for name in used_names(study)}


def resolved(study: StudyFields, name: str) -> Profile:
    """A tuning by name: the study's own, or one that netlab brings."""
    return load_profile(name, own=own_tunings(study))


def complete(study: StudyFields) -> dict[str, dict[str, Any]]:
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
