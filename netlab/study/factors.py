"""Factors that a study crosses beside tuning, MTU and streams, and what is left out of that."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from netlab.study.base import (
    Buffer,
    Congestion,
    CrossLength,
    CrossRate,
    Generator,
    Name,
    RecordLength,
    Several,
    Sparse,
)
from netlab.study.links import (
    Burst,
    Discipline,
    Emulator,
    InterruptDelay,
    Jitter,
    LabLink,
    Milliseconds,
    Path,
    Probability,
    QueueBytes,
    QueuePackets,
    Queues,
    Rate,
    ReadBurst,
    RoundTrip,
)
from netlab.study.run_options import (
    Batch,
    BusyPoll,
    Cpus,
    Dscp,
    Engine,
    Policy,
    Receive,
    Segment,
    Send,
    Socket,
    Switch,
    Threads,
    Udp,
    Yield,
)
from netlab.tuning.knobs import key

Level = bool | int | float | str
Levels = tuple[tuple[str, Level], ...]
"""Names of factors with one level of each, in the order of :class:`Factors`, outer ones last."""

OuterLevel = Annotated[int, Field(ge=-(2**53), le=2**53)] | Name

PacingLevel = Annotated[float, Field(ge=0, le=1_000_000, allow_inf_nan=False)]
"""A pacing rate of each stream, 10⁶ B/s; 0: not paced."""

Offloads = Literal["none", "segmentation", "checksum", "all"]
"""Offloads of a lab link: TSO, GSO and GRO merging, checksums by the device, or both."""


class Factors(Sparse, title="`factors`"):
    """Levels of factors, each a list; every one is crossed with all the others.

    The factors of a run are set anew for each run of a block. Those of a link (:data:`OF_LINK`) are
    set between blocks: each combination of them is a link of its own in the lab. A factor of an
    emulator adds one to a link without.
    """

    record_length_B: Several[RecordLength] | None = None
    buffer_B: Several[Buffer] | None = None
    receive_buffer_B: Several[Buffer] | None = None
    congestion: Several[Congestion] | None = None
    generator: Several[Generator] | None = None
    cross_udp_Mbps: Several[CrossRate] | None = key(
        "Levels of `cross_udp_Mbps` of a group; 0: none.", [0, 20.0], None
    )
    cross_udp_B: Several[CrossLength] | None = None
    engine: Several[Engine] | None = None
    threads: Several[Threads] | None = None
    send: Several[Send] | None = None
    receive: Several[Receive] | None = None
    force_buffer: Several[bool] | None = None
    pacing_MBps: Several[PacingLevel] | None = key(
        "Levels of `socket.pacing_MBps`; 0: not paced.", [0, 100.0], None
    )
    dscp: Several[Dscp] | None = None
    mss_B: Several[Segment] | None = None
    nodelay: Several[bool] | None = None
    busy_poll_us: Several[BusyPoll] | None = None
    cpus_sender: Several[Cpus] | None = None
    cpus_receiver: Several[Cpus] | None = None
    follow_incoming_cpu: Several[bool] | None = None
    batch_B: Several[Batch] | None = None
    yield_B: Several[Yield] | None = None
    read_delay: Several[Switch] | None = None
    sched_batch: Several[Switch] | None = None
    spread: Several[Switch] | None = None
    gso: Several[bool] | None = None
    gro: Several[bool] | None = None
    kernel_pacing: Several[bool] | None = None
    fragment: Several[bool] | None = None
    rtt_ms: Several[RoundTrip] | None = None
    rate_Mbps: Several[Rate] | None = key(
        "Levels of the rate of the path's emulator, else of its link.", [1000.0], None
    )
    queue_B: Several[QueueBytes] | None = None
    queue_packets: Several[QueuePackets] | None = None
    mark_above_B: Several[QueueBytes] | None = None
    loss: Several[Probability] | None = None
    jitter_ms: Several[Jitter] | None = None
    queue_discipline: Several[Discipline] | None = None
    queue_ecn: Several[bool] | None = None
    loss_burst_packets: Several[Burst] | None = None
    burst_B: Several[QueueBytes] | None = None
    policer: Several[bool] | None = None
    reverse_delay_ms: Several[Milliseconds] | None = None
    reverse_rate_Mbps: Several[Rate] | None = None
    reverse_queue_B: Several[QueueBytes] | None = None
    reverse_queue_packets: Several[QueuePackets] | None = None
    reverse_loss: Several[Probability] | None = None
    queues: Several[Queues] | None = None
    offloads: Several[Offloads] | None = key("Offloads of the path's link.", ["none", "all"], None)
    interrupt_delay_us: Several[InterruptDelay] | None = None
    read_burst_B: Several[ReadBurst] | None = None

    @model_validator(mode="after")
    def _each_level_once(self) -> Factors:
        for name, levels in self.given().items():
            twice = [level for index, level in enumerate(levels) if level in levels[:index]]
            if twice:
                raise ValueError(f"{name}: the level {twice[0]!r} is given twice")
        return self

    def given(self) -> dict[str, tuple[Level, ...]]:
        """The factors that have levels, in the order of the class."""
        values = ((name, getattr(self, name)) for name in type(self).model_fields)
        return {name: levels for name, levels in values if levels is not None}

    def over(self, others: Factors) -> Factors:
        """These factors, and those of others that are not among them."""
        return self.model_copy(update={**others.given(), **self.given()})


OF_GROUP = (
    *("record_length_B", "buffer_B", "receive_buffer_B", "congestion", "generator"),
    *("cross_udp_Mbps", "cross_udp_B"),
)
OF_STUDY = ("engine", "threads", "send", "receive", "force_buffer")
OF_SOCKET = tuple(Socket.model_fields)
OF_POLICY = tuple(Policy.model_fields)
OF_UDP = tuple(Udp.model_fields)
OF_REVERSE = tuple(
    f"reverse_{n}" for n in ("delay_ms", "rate_Mbps", "queue_B", "queue_packets", "loss")
)
"""Factors of one direction of an emulator: `reverse.loss` of it is `reverse_loss`."""
OF_EMULATOR = (
    *("rtt_ms", "queue_B", "queue_packets", "mark_above_B", "loss", "jitter_ms"),
    *("queue_discipline", "queue_ecn", "burst_B", "policer", "loss_burst_packets"),
    *OF_REVERSE,
)
OF_LINK = (*OF_EMULATOR, *("rate_Mbps", "queues", "offloads", "interrupt_delay_us", "read_burst_B"))
"""Factors that are set between blocks."""

NAMES = tuple(Factors.model_fields)
ALWAYS = ("tuning", "mtu_B", "streams")
"""Factors that every study has."""
RESERVED = {*NAMES, *ALWAYS, "group", "path", "direction", "sender", "receiver", "round", "order"}
"""Names that an outer factor may not have."""


@dataclass(frozen=True)
class Combination:
    """One level of every factor of a group: what its runs in all rounds share.

    ``mtu_B`` is None where the MTU stays as found. ``levels`` has all factors besides tuning, MTU
    and streams.
    """

    tuning: str
    mtu_B: int | None
    streams: int
    levels: Levels = ()

    @property
    def of_link(self) -> Levels:
        """Factors that make another link."""
        return tuple(pair for pair in self.levels if pair[0] in OF_LINK)

    @property
    def of_run(self) -> Levels:
        """Factors that are set for each run."""
        return tuple(pair for pair in self.levels if pair[0] in NAMES and pair[0] not in OF_LINK)

    @property
    def outer(self) -> Levels:
        """Factors that a person sets."""
        return tuple(pair for pair in self.levels if pair[0] not in NAMES)


Excluded = dict[str, Several[Level] | Level]
"""Factors with a level or several of each: every combination of them is left out."""


def same(one: object, other: object) -> bool:
    """True if two levels are the same: numbers by value, truth values apart from numbers."""
    return one == other and isinstance(one, bool) == isinstance(other, bool)


def left_out(excluded: Mapping[str, Any], levels: Mapping[str, object]) -> bool:
    """True if an entry of ``exclude`` leaves out a combination; not if that lacks a factor."""
    return all(
        name in levels and any(same(level, levels[name]) for level in listed(wanted))
        for name, wanted in excluded.items()
    )


def listed(wanted: object) -> tuple:
    """A level as a tuple of one; several as they are."""
    return tuple(wanted) if isinstance(wanted, list | tuple) else (wanted,)


def crossed(factors: Mapping[str, tuple[Level, ...]]) -> Iterator[Levels]:
    """Every combination of levels, the last factor changing first; one empty without factors."""
    for levels in product(*factors.values()):
        yield tuple(zip(factors, levels, strict=True))


def level_text(level: object) -> str:
    """A level in ids and labels: ``1024``, ``183.022``, ``zerocopy``, ``true``."""
    if isinstance(level, bool):
        return str(level).lower()
    return f"{level:.12g}" if isinstance(level, float) else str(level)


def levels_text(levels: Levels) -> str:
    """``send zerocopy, rtt_ms 10``."""
    return ", ".join(f"{name} {level_text(level)}" for name, level in levels)


def id_part(levels: Levels, mark: str) -> str:
    """The part of an id that levels add, each after a mark: ``@send=zerocopy``."""
    return "".join(f"{mark}{name}={level_text(level)}" for name, level in levels)


def levels_json(levels: Levels) -> str:
    """Levels as the column ``factors`` of results has them; empty without any."""
    return json.dumps(dict(levels), separators=(",", ":")) if levels else ""


def link_name(path: str, levels: Levels) -> str:
    """Name of a path's link at some levels: ``wan+rtt_ms=10``; the path's own without any."""
    return path + id_part(levels, "+")


def path_of_link(link: str) -> str:
    """Name of the path that a link belongs to."""
    return link.partition("+")[0]


def link_levels(link: str, known: Mapping[str, tuple[Level, ...]]) -> Levels | None:
    """Levels in the name of a link, among those known; None if it names another."""
    factors = []
    for part in link.split("+")[1:]:
        name, _, text = part.partition("=")
        fitting = [level for level in known.get(name, ()) if level_text(level) == text]
        if name not in OF_LINK or not fitting:
            return None
        factors.append((name, fitting[0]))
    return tuple(factors)


def with_levels(emulator: dict[str, Any], levels: Mapping[str, object]) -> dict[str, Any]:
    """Content of an emulator with some levels of its factors."""
    back = {k.removeprefix("reverse_"): v for k, v in levels.items() if k in OF_REVERSE}
    there = {name: level for name, level in levels.items() if name not in OF_REVERSE}
    reverse = {**(emulator.get("reverse") or {}), **back}
    return {**emulator, **there, **({"reverse": reverse} if back else {})}


def path_at(path: Path, levels: Levels) -> Path:
    """A path whose link has some levels of its factors."""
    if not levels:
        return path
    link, wanted = path.link or LabLink(), dict(levels)
    content = link.model_dump()
    emulates = link.emulator is not None or any(name in wanted for name in OF_EMULATOR)
    if emulates:
        own = {name: wanted.pop(name) for name in (*OF_EMULATOR, "rate_Mbps") if name in wanted}
        emulator = with_levels((link.emulator or Emulator()).model_dump(), own)
        if "rtt_ms" in own:
            emulator["delay_ms"] = None
        content["emulator"] = emulator
    if (offloads := wanted.pop("offloads", None)) is not None:
        content["segmentation_offload"] = offloads in ("segmentation", "all")
        content["checksum_offload"] = offloads in ("checksum", "all")
    return Path.model_validate({**path.model_dump(), "link": {**content, **wanted}})
