"""A study as a YAML file: hosts, paths, factors and what is to be reported.

Frozen models; every mistake in a file is a :class:`~netlab.errors.BadInput` that names the
file, the key and the value.
"""

from __future__ import annotations

import hashlib
import ipaddress
import json
import re
from pathlib import Path as FilePath
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from netlab.errors import BadInput
from netlab.yamlfile import read_yaml, validated

MAX_NAME = 48
QUICK = "-quick"
Name = Annotated[str, Field(pattern=rf"^[A-Za-z0-9][A-Za-z0-9._-]{{0,{MAX_NAME - 1}}}$")]
Direction = Literal["->", "<->"]
MTU = Annotated[int, Field(ge=576, le=65535)]
Megabytes = Annotated[float, Field(gt=0, le=1_000_000, allow_inf_nan=False)]
INTERFACE = re.compile(r"^(?!\.{1,2}$)[!-.0-9;-~]{1,15}$")
MAX_RUNS = 100_000


def slug(text: str) -> str:
    """A name for files and run ids: letters, digits, ``-``; arrows become ``to`` and ``both``."""
    text = text.replace("<->", " both ").replace("->", " to ")
    return re.sub(r"[^A-Za-z0-9]+", "-", text).strip("-").lower()


class Model(BaseModel):
    """What all models of a study share: frozen, strict, no unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Bus(Model):
    """The bus a host's card sits on.

    ``bandwidth_MBps`` is the theoretical bandwidth, MB/s = 10^6 B/s; ``label`` says what it is;
    ``shared`` whether both directions share it (PCI, PCI-X) or each has it whole (PCIe, the lab).
    """

    bandwidth_MBps: Megabytes
    label: Annotated[str, Field(min_length=1, max_length=120)]
    shared: bool = False


class Host(Model):
    """A machine that can send or receive.

    ``kind`` ``lab`` is a network namespace that netlab makes; ``ssh`` is a machine reached at
    ``address`` with the user's own SSH configuration. ``profiles`` maps a tuning of the study to
    the profile this host takes for it, where that differs by name.
    """

    kind: Literal["lab", "ssh"]
    address: Annotated[str, Field(min_length=1, max_length=253)] | None = None
    user: Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_.-]{0,31}$")] | None = None
    port: Annotated[int, Field(ge=1, le=65535)] | None = None
    identity_file: str | None = None
    bus: Bus | None = None
    profiles: dict[Name, Name] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _address_fits_kind(self) -> Self:
        if self.kind == "lab" and (self.address or self.user or self.port or self.identity_file):
            raise ValueError("a lab host takes no address, user, port or identity_file")
        if self.kind == "ssh" and not self.address:
            raise ValueError("an ssh host needs an address")
        if self.address and not re.fullmatch(r"[A-Za-z0-9_.:%][A-Za-z0-9_.:%-]*", self.address):
            raise ValueError(
                "address is a host name, an address or an alias of ~/.ssh/config, "
                f"not {self.address!r}"
            )
        return self


class End(Model):
    """One end of a path: a host, its data address and the interface that carries it.

    In the lab both may be left out: addresses come from 198.18.0.0/15 (RFC 2544).
    """

    host: Name
    address: str | None = None
    interface: str | None = None

    @field_validator("address")
    @classmethod
    def _numeric(cls, value: str | None) -> str | None:
        if value is not None:
            address = ipaddress.ip_address(value)
            if address.is_unspecified or address.is_multicast or value == "255.255.255.255":
                raise ValueError("is no address that one host can have")
        return value

    @field_validator("interface")
    @classmethod
    def _interface(cls, value: str | None) -> str | None:
        if value is not None and not INTERFACE.fullmatch(value):
            raise ValueError("no kernel takes this as an interface name")
        return value


Probability = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Milliseconds = Annotated[float, Field(ge=0, le=10_000, allow_inf_nan=False)]


class Emulator(Model):
    """A long path between two lab hosts, which netlab's own emulator forwards over.

    Parameters
    ----------
    rtt_ms : float, optional
        Round-trip time without queueing, half of it each way.
    delay_ms : tuple of float, optional
        In place of it the delay from the first end to the second, and back.
    rate_Mbps : float, optional
        Rate of each direction in 10^6 bit/s of frames: of every packet its IP bytes and 14 of an
        Ethernet header. Without it the path has no rate and no queue.
    queue_B, queue_packets : int, optional
        What may wait for the rate, each way; what is more is dropped (tail drop). Without either
        the queue has no limit but memory.
    loss, reorder : float
        Probability that a packet is lost, or comes `reorder_ms` later than its turn.
    jitter_ms : float
        The delay varies uniformly by this much either way; the order is kept.
    seed : int
        Of loss, jitter and reordering.
    """

    rtt_ms: Annotated[float, Field(ge=0, le=20_000, allow_inf_nan=False)] | None = None
    delay_ms: Annotated[tuple[Milliseconds, Milliseconds], Field(strict=False)] | None = None
    rate_Mbps: Annotated[float, Field(gt=0, le=1_000_000, allow_inf_nan=False)] | None = None
    queue_B: Annotated[int, Field(ge=1, le=2**30)] | None = None
    queue_packets: Annotated[int, Field(ge=1, le=1_000_000)] | None = None
    loss: Probability = 0.0
    jitter_ms: Annotated[float, Field(ge=0, le=2000, allow_inf_nan=False)] = 0.0
    reorder: Probability = 0.0
    reorder_ms: Milliseconds = 1.0
    seed: Annotated[int, Field(ge=0, le=2**62)] = 0

    @model_validator(mode="after")
    def _is_one_path(self) -> Self:
        if self.rtt_ms is not None and self.delay_ms is not None:
            raise ValueError("rtt_ms and delay_ms say the same in two ways: give one")
        if (self.queue_B or self.queue_packets) and self.rate_Mbps is None:
            raise ValueError("a queue needs a rate_Mbps to wait for")
        return self

    @property
    def each_way_ms(self) -> tuple[float, float]:
        """Delay from the first end to the second, and back."""
        return self.delay_ms or ((self.rtt_ms or 0.0) / 2,) * 2


class LabLink(Model):
    """What joins two lab hosts: a veth pair with real kernel parts that model a card.

    Parameters
    ----------
    rate_Mbps : float, optional
        Shape both directions to this many 10^6 bit/s of frames (tbf). Without it the slower of
        the two hosts' buses is the rate.
    interrupt_delay_us : float
        Software interrupt deferral (``gro_flush_timeout``); the 2003 default RxIntDelay of 64
        units of 0.8192 us is 52.4288 us (preliminary notes, appendix).
    segmentation_offload, checksum_offload : bool
        TSO, GSO and GRO merging; checksums by the device. The 2003 card had neither untuned.
    emulator : Emulator, optional
        A long path in place of the cable; the link then models no card.
    """

    rate_Mbps: Annotated[float, Field(gt=0, le=1_000_000, allow_inf_nan=False)] | None = None
    interrupt_delay_us: Annotated[float, Field(ge=0, le=100_000, allow_inf_nan=False)] = 52.4288
    segmentation_offload: bool = False
    checksum_offload: bool = False
    emulator: Emulator | None = None

    @model_validator(mode="after")
    def _one_model(self) -> Self:
        if self.emulator is not None:
            for key, field in type(self).model_fields.items():
                if key != "emulator" and getattr(self, key) != field.default:
                    raise ValueError(f"a link with an emulator models no card: it takes no {key}")
        return self

    @property
    def shaped_Mbps(self) -> float | None:
        """The rate that the link itself is given, 10^6 bit/s; None if it is given none."""
        return self.rate_Mbps if self.emulator is None else self.emulator.rate_Mbps


class Path(Model):
    """An ordered pair of ends and what joins them."""

    ends: Annotated[tuple[End, End], Field(strict=False)]
    link: LabLink | None = None
    link_MBps: Megabytes | None = None

    @model_validator(mode="after")
    def _two_hosts(self) -> Self:
        if self.ends[0].host == self.ends[1].host:
            raise ValueError(
                f"the two ends of a path are different hosts, not {self.ends[0].host!r} twice"
            )
        given = [ipaddress.ip_address(end.address) for end in self.ends if end.address]
        if len(given) == 2 and (given[0] == given[1] or given[0].version != given[1].version):
            raise ValueError(
                "the data addresses of a path differ and are both IPv4 or both IPv6, "
                f"not {given[0]} and {given[1]}"
            )
        return self


class Group(Model):
    """One table of the report: a direction over a path, all tunings, MTUs and stream counts."""

    name: Annotated[str, Field(min_length=1, max_length=60)]
    path: Name
    sender: Name
    direction: Direction = "->"
    table: Annotated[int, Field(ge=1, le=9999)] | None = None
    record_length_B: Annotated[int, Field(ge=1, le=64 * 1024 * 1024)] = 65536
    buffer_B: Annotated[int, Field(ge=0, le=2**30)] = 262144
    target_percent_of_bus: Annotated[float, Field(gt=0, le=100)] | None = None

    @field_validator("name")
    @classmethod
    def _has_a_slug(cls, value: str) -> str:
        if not slug(value):
            raise ValueError("holds no letter or digit of ASCII to name its runs by")
        return value


class TuningLevel(Model):
    """A tuning as a factor level: its name and the MTUs measured under it."""

    name: Name
    label: str | None = None
    mtus_B: Annotated[tuple[MTU, ...], Field(strict=False, min_length=1)]


class Timing(Model):
    """How long and how often. ``seconds`` is the measured window; warm-up comes before it."""

    repeats: Annotated[int, Field(ge=1, le=1000)] = 3
    seconds: Annotated[float, Field(ge=0.05, le=3600, allow_inf_nan=False)] = 1.0
    warmup_s: Annotated[float, Field(ge=0, le=600, allow_inf_nan=False)] = 0.3
    interval_ms: Annotated[int, Field(ge=10, le=60_000)] = 100


class Study(Model):
    """A whole study. Load one with :func:`load`."""

    netlab: Literal[1]
    name: Name
    title: Annotated[str, Field(min_length=1, max_length=200)]
    description: str = ""
    hosts: Annotated[dict[Name, Host], Field(min_length=2)]
    paths: Annotated[dict[Name, Path], Field(min_length=1)]
    groups: Annotated[tuple[Group, ...], Field(strict=False, min_length=1)]
    tunings: Annotated[tuple[TuningLevel, ...], Field(strict=False, min_length=1)]
    streams: Annotated[
        tuple[Annotated[int, Field(ge=1, le=10_000)], ...], Field(strict=False, min_length=1)
    ]
    congestion: Annotated[str, Field(pattern=r"^[a-z0-9_-]{1,15}$")] = "cubic"
    force_buffer: bool = False
    receive: Literal["copy", "discard"] = "copy"
    timing: Timing = Timing()
    quick: Timing | None = None
    seed: Annotated[int, Field(ge=0, le=2**63 - 1)] = 2003
    confidence: Annotated[float, Field(gt=0.5, lt=1)] = 0.95

    @field_validator("netlab", mode="before")
    @classmethod
    def _version(cls, value: object) -> object:
        if type(value) is not int:  # True and 1.0 equal 1
            raise ValueError("Input should be 1")
        return value

    @model_validator(mode="after")
    def _names_resolve(self) -> Self:
        for path_name, path in self.paths.items():
            for end in path.ends:
                host = self.hosts.get(end.host)
                if host is None:
                    raise ValueError(f"paths.{path_name}: no host is called {end.host!r}")
                if host.kind == "ssh" and (end.address is None or end.interface is None):
                    raise ValueError(
                        f"paths.{path_name}: the end on ssh host {end.host!r} needs "
                        "an address and an interface"
                    )
            kinds = {self.hosts[end.host].kind for end in path.ends}
            if len(kinds) == 2:
                raise ValueError(f"paths.{path_name}: a lab host and an ssh host cannot be joined")
            if path.link is not None and kinds != {"lab"}:
                raise ValueError(f"paths.{path_name}: only a lab path has a link")
        seen: set[str] = set()
        for group in self.groups:
            if slug(group.name) in seen:
                raise ValueError(f"groups: the name {group.name!r} is not unlike another's")
            seen.add(slug(group.name))
            if group.path not in self.paths:
                raise ValueError(f"groups: {group.name}: no path is called {group.path!r}")
            if group.sender not in {end.host for end in self.paths[group.path].ends}:
                raise ValueError(
                    f"groups: {group.name}: {group.sender!r} is no end of path {group.path!r}"
                )
        for label, values in (
            ("streams", self.streams),
            ("tunings", tuple(level.name for level in self.tunings)),
            *((f"tunings.{level.name}.mtus_B", level.mtus_B) for level in self.tunings),
        ):
            twice = [value for index, value in enumerate(values) if value in values[:index]]
            if twice:
                raise ValueError(f"{label}: the level {twice[0]!r} is given twice")
        if self.quick is not None and len(self.name) > MAX_NAME - len(QUICK):
            raise ValueError(
                f"name: {self.name!r} is over {MAX_NAME - len(QUICK)} characters, "
                f"and the quick form adds {QUICK!r}"
            )
        cells = sum(len(level.mtus_B) for level in self.tunings)
        cells *= len(self.streams) * len(self.groups)
        for label, timing in (("timing", self.timing), ("quick", self.quick)):
            if timing is not None and cells * timing.repeats > MAX_RUNS:
                raise ValueError(
                    f"{label}.repeats: {timing.repeats} repeats of {cells} cells are over "
                    f"{MAX_RUNS} runs"
                )
        return self

    def receiver(self, group: Group) -> str:
        """Name of the host at the other end of a group's path."""
        first, second = (end.host for end in self.paths[group.path].ends)
        return second if group.sender == first else first

    def profile(self, host: str, tuning: str) -> str:
        """Name of the tuning profile a host takes for a tuning of the study."""
        return self.hosts[host].profiles.get(tuning, tuning)

    def bus_shared(self, path: str) -> bool:
        """Whether any bus of a path carries both directions over the same wires."""
        buses = [self.hosts[end.host].bus for end in self.paths[path].ends]
        return any(bus is not None and bus.shared for bus in buses)

    def bus_MBps(self, path: str) -> float | None:
        """Bandwidth of the slower of the two hosts' buses, MB/s; None if one is unknown."""
        buses = [self.hosts[end.host].bus for end in self.paths[path].ends]
        known = [bus.bandwidth_MBps for bus in buses if bus is not None]
        return min(known) if len(known) == len(buses) else None

    def bus_of_group_MBps(self, group: Group) -> float | None:
        """Bandwidth of the bus of a group's runs; twice it where each direction has it whole."""
        bus_MBps = self.bus_MBps(group.path)
        if bus_MBps is None:
            return None
        return bus_MBps * (2 if group.direction == "<->" and not self.bus_shared(group.path) else 1)

    def digest(self) -> str:
        """SHA-256 of the study's content, independent of layout and comments of the file."""
        text = json.dumps(self.model_dump(mode="json"), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()


def load(path: FilePath | str, *, quick: bool = False, **timing: float | int | None) -> Study:
    """Load a study from YAML.

    Parameters
    ----------
    path : path-like
        The YAML file.
    quick : bool
        Take the study's ``quick`` timing; its name then ends in ``-quick``.
    **timing
        ``repeats``, ``seconds``, ``warmup_s``, ``interval_ms`` or ``seed`` in place of the file's;
        None leaves the file's value.

    Raises
    ------
    BadInput
        Anything in the file or in ``timing`` that cannot be used.
    """
    where = str(path)
    study = validated(Study, read_yaml(path), where)
    if quick:
        if study.quick is None:
            raise BadInput("has no quick timing", where=where, key="quick")
        changed = {"timing": study.quick, "quick": None, "name": f"{study.name}{QUICK}"}
        study = study.model_copy(update=changed)
    given = {key: value for key, value in timing.items() if value is not None}
    known = {"repeats", "seconds", "warmup_s", "interval_ms", "seed"}
    for key in given:
        if key not in known:
            raise BadInput(f"no such timing; there are {', '.join(sorted(known))}", key=key)
    if given:
        content = study.model_dump(mode="python")
        if "seed" in given:
            content["seed"] = given.pop("seed")
        content["timing"] = {**content["timing"], **given}
        study = validated(Study, content, where)
    return study
