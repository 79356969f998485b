"""The model of a study: consistency of its parts, levels, and its digest."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable
from itertools import chain
from typing import Literal, Self

from pydantic import field_validator, model_validator

from netlab.errors import BadInput
from netlab.study import flows
from netlab.study.base import (
    MAX_NAME,
    MAX_RUNS,
    QUICK,
    ROUNDS,
    Congestion,
    Listed,
    Model,
    Name,
    Noise,
    Precision,
    StackName,
    Streams,
    controls,
    is_default,
    refuse,
    slug,
    tried,
)
from netlab.study.factors import (
    Combination,
    Engine,
    Excluded,
    Factors,
    Latency,
    Levels,
    OuterLevel,
    Policy,
    Receive,
    Send,
    Several,
    Socket,
    Threads,
    Udp,
    link_levels,
    link_name,
    path_at,
    path_of_link,
)
from netlab.study.groups import (
    DRAIN_S,
    OWN,
    UDP,
    Group,
    Timing,
    check_factors,
    combinations,
    group_at,
    limits_of,
    refusal,
    sends_datagrams,
    study_at,
)
from netlab.study.hosts import Path, StudyHost
from netlab.study.published import Published, ReportPages
from netlab.study.tunings import (
    OwnTuning,
    Stack,
    TuningLevel,
    check_congestions,
    check_moot,
    check_tunings,
    contents,
    own_tunings,
)
from netlab.tuning.knobs import HostSetting, key
from netlab.tuning.profiles import AS_FOUND, Profile, load_profile
from netlab.units import IPV4_HEADER_B, UDP_HEADER_B


def _check_once(label: str, values: tuple) -> None:
    if len(set(values)) < len(values):
        twice = next(value for at, value in enumerate(values) if value in values[:at])
        raise ValueError(f"{label}: the level {twice!r} is given twice")


class Study(Model, title="A study"):
    """A whole study. Load one with :func:`load`."""

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
        "Paths by name: two hosts, and what joins them.",
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

    @model_validator(mode="after")
    def _is_consistent(self) -> Self:
        each = self.groups
        named: tuple[tuple[str, tuple], ...] = (
            ("streams", self.streams),
            ("tunings", tuple(level.name for level in self.tunings)),
            *((f"tunings.{level.name}.mtus_B", level.mtus) for level in self.tunings),
        )
        refuse(
            (
                *chain.from_iterable(tried(self._check_path, name) for name in self.paths),
                *chain.from_iterable(tried(self._check_names_of, group) for group in each),
                *chain.from_iterable(tried(_check_once, *one) for one in named),
                *tried(self._check_quick_name),
                *check_tunings(self),
                *check_congestions(self),
            )
        )
        # the checks below look names up
        refuse(chain.from_iterable(tried(self._check_levels, group) for group in each))
        moot = [*check_moot(self)]
        check_factors(self)
        runs = chain.from_iterable(tried(self._check_runs, group) for group in each)
        refuse([*moot, *runs, *tried(self._check_size)])
        return self

    def _check_path(self, name: str) -> None:
        path, where = self.paths[name], f"paths.{name}"
        for end in path.ends:
            host = self.hosts.get(end.host)
            if host is None:
                raise ValueError(f"{where}: no host is called {end.host!r}")
            if host.kind == "ssh" and (end.address is None or end.interface is None):
                needed = "needs an address and an interface"
                raise ValueError(f"{where}: the end on ssh host {end.host!r} {needed}")
        kinds = {self.hosts[end.host].kind for end in path.ends}
        if len(kinds) == 2:
            raise ValueError(f"{where}: a lab host and an ssh host cannot be joined")
        if path.link is not None and path.link.emulator is not None and kinds != {"lab"}:
            reason = "netlab emulates nothing between ssh hosts, whose path is what it is"
            raise ValueError(f"{where}.link.emulator: {reason}; leave it out, or use lab hosts")
        if path.link is not None and kinds != {"lab"}:
            raise ValueError(f"{where}: only a lab path has a link")
        self.check_link(name)

    def _check_names_of(self, group: Group) -> None:
        first = next(each for each in self.groups if slug(each.name) == slug(group.name))
        if first is not group:
            raise ValueError(f"groups: the name {group.name!r} is too similar to another's")
        if group.path not in self.paths:
            raise ValueError(f"groups: {group.name}: no path is called {group.path!r}")
        ends = {end.host for end in self.paths[group.path].ends}
        if ends <= self.hosts.keys() and group.sender not in ends:
            problem = f"{group.sender!r} is not an end of path {group.path!r}"
            raise ValueError(f"groups: {group.name}: {problem}")

    def _check_quick_name(self) -> None:
        most = MAX_NAME - len(QUICK)
        if self.quick is not None and len(self.name) > most:
            raise ValueError(
                f"name: {self.name!r} is over {most} characters, and the quick form adds {QUICK!r}"
            )

    def _check_levels(self, group: Group) -> None:
        for label, chosen, levels in (
            ("tunings", group.tunings, {level.name for level in self.tunings}),
            ("mtus_B", group.mtus_B, {mtu_B for level in self.tunings for mtu_B in level.mtus}),
            ("streams", group.streams, set(self.streams)),
        ):
            where = f"groups: {group.name}: {label}"
            for value in chosen or ():
                if value not in levels:
                    text = f"the study has no level {value!r}; add it to those of the study"
                    raise ValueError(f"{where}: {text}")
            if chosen is not None and len(set(chosen)) < len(chosen):
                raise ValueError(f"{where}: a level is given twice")
        if not self.levels(group):
            raise ValueError(f"groups: {group.name}: none of its tunings has any of its MTUs")

    def _check_runs(self, group: Group) -> None:
        combined = self.combinations(group)
        if not any(one.of_run for one in combined):
            study_at(self, group, ()).check_run(group)
        if not any(one.of_link for one in combined):
            self.check_forced_loss(group)

    def _check_size(self) -> None:
        cells = sum(len(self.combinations(group)) for group in self.groups)
        label = "timing.rounds"
        if self.precision is not None:
            label = "precision.max_rounds"
            if self.timing.rounds is not None:
                reason = "leave it out; precision says how many rounds there are"
                raise ValueError(f"timing.rounds: {reason}")
        quick = ROUNDS if self.quick is None else self.quick.rounds or ROUNDS
        for name, rounds in ((label, self.max_rounds), ("quick.rounds", quick)):
            if cells * rounds > MAX_RUNS:
                many = f"{rounds} rounds of {cells} cells"
                raise ValueError(f"{name}: {many} are over {MAX_RUNS} runs")

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

    def check_link(self, path: str) -> None:
        """Refuse a link that contradicts the buses of its path."""
        link = self.paths[path].link
        if link is None:
            return
        where, bus_MBps = f"paths.{path}.link", self.bus_MBps(path)
        if link.read_burst_B is not None and bus_MBps is None:
            raise ValueError(f"{where}.read_burst_B: both hosts need a bus, whose share it is")
        # One token bucket before several queues stalls when one of them is full (Linux 6.18).
        if link.queues > 1 and (link.rate_Mbps is not None or bus_MBps is not None):
            raise ValueError(f"{where}.queues: a link with a rate or a bus has one pair of queues")

    def check_forced_loss(self, group: Group) -> None:
        """Refuse a forced loss that the path or the duration of the runs does not allow."""
        if group.force_loss_at_s is None:
            return
        where = f"groups: {group.name}: force_loss_at_s"
        link = self.paths[group.path].link
        if link is None or link.emulator is None:
            raise ValueError(f"{where}: path {group.path!r} has no emulator to force a loss")
        if link.emulator.with_ == "netem":
            raise ValueError(f"{where}: netem of path {group.path!r} cannot force a loss")
        if group.records is not None:
            return
        quick = group.quick.over(self.quick or self.timing) if group.quick else self.quick
        for timing in filter(None, (study_at(self, group, ()).timing, quick)):
            over_s = timing.warmup_at(self.rtt_s(group.path)) + timing.seconds
            if group.force_loss_at_s >= over_s:
                raise ValueError(f"{where}: a run is over after {over_s:g} s")

    def check_run(self, group: Group) -> None:
        """Refuse options that the engine or the group's generator does not support."""
        where = f"groups: {group.name}"
        if self.engine == "plain" and (self.send, self.receive) != ("copy", "copy"):
            raise ValueError("engine: plain supports send copy and receive copy only")
        if self.engine == "plain" and self.policy != Policy():
            raise ValueError("policy: the plain engine has none; leave it out")
        if self.engine == "epoll" and self.policy.read_delay is True:
            raise ValueError("policy.read_delay: the epoll engine has none")
        pinned = self.socket.cpus_sender or self.socket.cpus_receiver
        if self.policy.spread is True and (pinned or self.socket.follow_incoming_cpu):
            raise ValueError("policy.spread: excludes CPU lists and follow_incoming_cpu")
        if group.records is not None and self.latency.probe != "none":
            raise ValueError(f"latency: a probe needs a window, and {where} has records")
        least_ms = self.timing.seconds * 1e3 / self.latency.most
        if self.latency.probe != "none" and self.latency.interval_ms < least_ms:
            reason = f"a window of {self.timing.seconds:g} s needs {math.ceil(least_ms)} or more"
            raise ValueError(f"latency.interval_ms: {reason}")
        if self.engine in ("plain", "blocking") and self.threads:
            raise ValueError(f"threads: the {self.engine} engine always has one per stream")
        if why := refusal(group, group.streams or self.streams, self.congestion_of(group)):
            raise ValueError(f"{where}: {why}")
        if sends_datagrams(group.generator):
            self._check_datagrams(group)
            return
        if not is_default(self, "udp"):
            reason = f"is for the generator udp, and {where} takes {group.generator}"
            raise ValueError(f"udp: {reason}")
        if group.generator == OWN:
            self._check_flows(group)
            self._check_cross(group)
            return
        for name in ("engine", "threads", "send", "socket", "policy", "latency"):
            fits = name == "send" and self.send in limits_of(group.generator).sends
            if not (fits or is_default(self, name)):
                reason = f"is for netlab's own generator, and {where} takes {group.generator}"
                raise ValueError(f"{name}: {reason}")

    def _check_flows(self, group: Group) -> None:
        """Refuse flows that do not fit the streams, the congestion controls or the times."""
        if not group.flows:
            return
        timed = flows.together_s(group.flows) is not None
        reason = ""
        if timed and (group.records is not None or self.engine == "plain"):
            reason = "have times, which runs of records and the plain engine lack"
        quick = group.quick.over(self.quick or self.timing) if group.quick else self.quick
        for timing in filter(None, (self.timing, quick)):
            warmup_s = timing.warmup_at(self.rtt_s(group.path))
            reason = reason or flows.refusal(
                group.flows,
                streams=group.streams or self.streams,
                congestion=group.congestion or self.congestion or "",
                of_group=group.congestion or "",
                warmup_s=warmup_s,
                over_s=warmup_s + timing.seconds,
                interval_s=timing.interval_ms / 1e3,
            )
        if reason:
            raise ValueError(f"groups: {group.name}: flows: {reason}")

    def _check_cross(self, group: Group) -> None:
        """Refuse UDP beside the streams that exceeds the MTU, or has no port at the receiver."""
        if not group.cross_udp_Mbps:
            return
        where = f"groups: {group.name}: "
        self._check_packet(group, group.cross_udp_B, f"{where}cross_udp_B", "give less")
        for end in self.paths[group.path].ends:
            if end.host != group.sender and end.ports and len(end.ports) < 2:
                reason = f"{end.host} needs a second port for it, such as `port: 5201-5202`"
                raise ValueError(f"{where}cross_udp_Mbps: {reason}")

    def _check_packet(self, group: Group, datagram_B: int | None, where: str, hint: str) -> None:
        """Refuse datagrams whose packets exceed an MTU of the group."""
        if not datagram_B:
            return
        packet_B = datagram_B + UDP_HEADER_B + IPV4_HEADER_B
        least_B = min((mtu_B for _, mtu_B, _ in self.levels(group) if mtu_B), default=packet_B)
        if packet_B > least_B:
            reason = f"a packet of {packet_B} B exceeds the MTU of {least_B} B"
            raise ValueError(f"{where}: {reason}; {hint}")

    def _check_datagrams(self, group: Group) -> None:
        """Refuse options that datagrams do not have, a missing rate, and what exceeds the MTU."""
        where = f"groups: {group.name}"
        for name in ("engine", "send", "receive", "policy", "trace"):
            if not is_default(self, name):
                raise ValueError(f"{name}: is for TCP, and {where} takes udp")
        if self.socket.mss_B or self.socket.nodelay:
            raise ValueError(f"socket: mss_B and nodelay are for TCP, and {where} takes udp")
        if self.socket.pacing_MBps is None:
            raise ValueError(
                f"socket.pacing_MBps: {where} takes udp, which needs a rate: MB/s of payload of "
                "each stream, such as `socket: {pacing_MBps: 50}`"
            )
        pacing = Socket(pacing_MBps=self.socket.pacing_MBps)
        both = self.udp.gso and group.generator == "iperf3-udp"
        joined = Udp(gso=both, gro=both)
        if group.generator != UDP and (self.socket != pacing or self.udp != joined):
            raise ValueError(
                f"{where} takes {group.generator}, which has a rate alone, and iperf3 gso with gro"
            )
        if group.generator != UDP and self.latency.probe != "none":
            raise ValueError(f"latency: {where} takes {group.generator}, which has no probe")
        if self.udp.gso and self.udp.fragment:
            raise ValueError("udp: gso and fragment exclude each other")
        if not self.udp.fragment:
            size_B, hint = group.record_length_B, "see `udp.fragment`"
            self._check_packet(group, size_B, f"{where}: record_length_B", hint)

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
        return all(self.hosts[end.host].kind == "lab" for end in self.path(path).ends)

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

    def digest(self) -> str:
        """SHA-256 of the study's content, independent of layout and comments of the file.

        It covers the knobs and values of every tuning the hosts take, wherever it is defined. The
        copy beside results, :func:`netlab.study.file.freeze`, has the digest of its study.
        """
        content = self.model_dump(mode="json", exclude={"profiles", "published", "report"})
        content["quick"] = None  # another study, named for this one
        content["timing"]["drain_s"] = self.timing.drain_s or DRAIN_S  # as in the key of a run
        # Studies that have none of these keep the digests they had before there were such keys.
        for name in ("factors", "exclude", "outer", "policy", "latency", "udp"):
            if not content[name]:
                del content[name]
        for host in content["hosts"].values():
            del host["agent_directory"]  # no figure depends on it
        for group in content["groups"]:
            for name in (
                *("factors", "exclude", "timing", "quick", "target_Gbps", "flows"),
                *("cross_udp_Mbps", "cross_udp_B"),
            ):
                if not group[name]:
                    del group[name]
        for level in content["tunings"]:
            del level["knobs"], level["extends"], level["risk"]
        content["knobs"] = contents(self)
        text = json.dumps(content, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()
