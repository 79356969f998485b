"""The link between two hosts: a lab's cable and card, an emulated long path, or a real one."""

from __future__ import annotations

import ipaddress
from typing import Annotated, Literal, Self

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer, model_validator

from netlab.study.base import Megabytes, Model
from netlab.study.hosts import End

Probability = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
MOST_QUEUES = 256
Milliseconds = Annotated[float, Field(ge=0, le=10_000, allow_inf_nan=False)]
RoundTrip = Annotated[float, Field(ge=0, le=20_000, allow_inf_nan=False)]
Jitter = Annotated[float, Field(ge=0, le=2000, allow_inf_nan=False)]
Rate = Annotated[float, Field(gt=0, le=1_000_000, allow_inf_nan=False)]
QueueBytes = Annotated[int, Field(ge=1, le=2**30)]
QueuePackets = Annotated[int, Field(ge=1, le=1_000_000)]
Queues = Annotated[int, Field(ge=1, le=MOST_QUEUES)]
InterruptDelay = Annotated[float, Field(ge=0, le=100_000, allow_inf_nan=False)]
ReadBurst = Literal[512, 1024, 2048, 4096]
"""Maximum memory read byte count (MMRBC) of a PCI-X card."""


class Emulator(Model):
    """A long path between two lab hosts: the kernel's netem, or netlab's own emulator.

    Parameters
    ----------
    with : str, optional
        ``netem`` or ``netlab``. Default: netem where the kernel has it and it supports every
        parameter given, else netlab's own.
    rtt_ms : float, optional
        Round-trip time without queueing, half of it each way.
    delay_ms : tuple of float, optional
        Delay from the first end to the second, and back; in place of ``rtt_ms``.
    rate_Mbps : float, optional
        Rate of each direction in 10^6 bit/s of frames: the IP bytes of every packet and 14 of an
        Ethernet header. Without it the path has no queue and is as fast as the processor that
        emulates it; a burst then adds its processing time to the round trip.
    queue_B, queue_packets : int, optional
        Length of the queue before the rate, each way (tail drop). Default: limited by memory.
    loss, reorder : float
        Probability that a packet is lost, or delayed by a further `reorder_ms` (netem sends it
        at once instead, and takes no `reorder` with a rate or without a delay).
    jitter_ms : float
        Uniform variation of the delay, either way; packets stay in order (with netem they do not).
    seed : int
        Seed of loss, jitter and reordering.
    """

    with_: Annotated[Literal["netlab", "netem"] | None, Field(alias="with")] = None
    rtt_ms: RoundTrip | None = None
    delay_ms: Annotated[tuple[Milliseconds, Milliseconds], Field(strict=False)] | None = None
    rate_Mbps: Rate | None = None
    queue_B: QueueBytes | None = None
    queue_packets: QueuePackets | None = None
    loss: Probability = 0.0
    jitter_ms: Jitter = 0.0
    reorder: Probability = 0.0
    reorder_ms: Milliseconds = 1.0
    seed: Annotated[int, Field(ge=0, le=2**62)] = 0

    @model_validator(mode="after")
    def _is_one_path(self) -> Self:
        if self.rtt_ms is not None and self.delay_ms is not None:
            raise ValueError("rtt_ms and delay_ms set the same delay: give one")
        if (self.queue_B or self.queue_packets) and self.rate_Mbps is None:
            raise ValueError("a queue needs a rate_Mbps to wait for")
        if self.with_ == "netem" and self.queue_B and self.queue_packets:
            raise ValueError("netem bounds a queue in bytes or in packets: give one")
        return self

    @model_serializer(mode="wrap")
    def _as_in_a_file(self, serialize: SerializerFunctionWrapHandler) -> dict:
        content = serialize(self)
        # Python keeps the word for itself
        return {"with" if key == "with_" else key: value for key, value in content.items()}

    @property
    def each_way_ms(self) -> tuple[float, float]:
        """Delay from the first end to the second, and back."""
        return self.delay_ms or ((self.rtt_ms or 0.0) / 2,) * 2


class LabLink(Model):
    """The link of two lab hosts: a veth pair with real kernel parts that model a card.

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
    queues : int
        Pairs of a receive and a transmit queue. XPS assigns processors to transmit queues, as
        drivers of present cards do with one queue for each processor. Default 1, as on the card
        of 2003. A link with a rate or a bus has one.
    read_burst_B : int, optional
        Maximum memory read byte count of a PCI-X card, 512 to 4096. The link then has that share
        of the slower host's bus which such reads leave for data
        (:func:`netlab.bus.pci_x_efficiency`); without it, all of the bus.
    emulator : Emulator, optional
        A long path in place of the cable; the link then models no card.
    """

    rate_Mbps: Rate | None = None
    interrupt_delay_us: InterruptDelay = 52.4288
    segmentation_offload: bool = False
    checksum_offload: bool = False
    queues: Queues = 1
    read_burst_B: ReadBurst | None = None
    emulator: Emulator | None = None

    @model_validator(mode="after")
    def _one_model(self) -> Self:
        if self.read_burst_B is not None and self.rate_Mbps is not None:
            raise ValueError(
                "read_burst_B is a share of the bus, which rate_Mbps replaces: give one"
            )
        if self.emulator is not None:
            for key, field in type(self).model_fields.items():
                if key != "emulator" and getattr(self, key) != field.default:
                    raise ValueError(f"a link with an emulator models no card: it takes no {key}")
        return self

    @model_serializer(mode="wrap")
    def _without_a_missing_burst(self, serialize: SerializerFunctionWrapHandler) -> dict:
        content = serialize(self)
        # Files and keys of links without it are as before there was such a parameter.
        return {k: v for k, v in content.items() if k != "read_burst_B" or v is not None}

    @property
    def shaped_Mbps(self) -> float | None:
        """The rate that the link itself is given, 10^6 bit/s; None if it is given none."""
        return self.rate_Mbps if self.emulator is None else self.emulator.rate_Mbps


class Path(Model):
    """An ordered pair of ends and their link."""

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
