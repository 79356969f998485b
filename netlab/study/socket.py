"""Options of the sockets and threads of a study's runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Literal, Self

from pydantic import (
    BeforeValidator,
    Field,
    SerializerFunctionWrapHandler,
    model_serializer,
    model_validator,
)

from netlab.study.base import Megabytes, Model

Engine = Literal["auto", "blocking", "epoll", "plain"]
Send = Literal["copy", "zerocopy", "sendfile", "splice"]
Receive = Literal["copy", "discard", "splice", "zerocopy"]
Threads = Annotated[int, Field(ge=0, le=1024)]


def _text(value: object) -> object:
    """Convert a single CPU, which YAML reads as a number, to text."""
    return str(value) if type(value) is int else value


Cpus = Annotated[
    str,
    BeforeValidator(_text),
    Field(pattern=r"^\d{1,4}(-\d{1,4})?(,\d{1,4}(-\d{1,4})?)*$", max_length=255),
]
"""CPU numbers as the kernel writes them, ``0,2-3``."""


Dscp = Annotated[int, Field(ge=0, le=63)]
Segment = Annotated[int, Field(ge=88, le=32767)]
BusyPoll = Annotated[int, Field(ge=0, le=1_000_000)]


class Socket(Model):
    """Options of every socket and thread of a study's runs; the kernel's default where left out.

    The agents set them, read them back and refuse a run whose option the kernel does not accept.

    Parameters
    ----------
    pacing_MBps : float, optional
        Pacing rate of each stream, 10^6 B/s (SO_MAX_PACING_RATE).
    dscp : int
        DSCP code point of the packets of both ends, IPv4 and IPv6.
    mss_B : int, optional
        Maximum segment size, TCP options included (TCP_MAXSEG).
    nodelay : bool
        TCP_NODELAY.
    busy_poll_us : int
        SO_BUSY_POLL.
    cpus_sender, cpus_receiver : str, optional
        CPU affinity of the threads on the group's sending and receiving host: one CPU each, in
        turn, of ``0,2-3``.
    follow_incoming_cpu : bool
        Pin each thread to the CPU that receives its packets; excludes the CPU lists.
    """

    pacing_MBps: Megabytes | None = None
    dscp: Dscp = 0
    mss_B: Segment | None = None
    nodelay: bool = False
    busy_poll_us: BusyPoll = 0
    cpus_sender: Cpus | None = None
    cpus_receiver: Cpus | None = None
    follow_incoming_cpu: bool = False

    @model_validator(mode="after")
    def _one_placement(self) -> Self:
        if self.follow_incoming_cpu and (self.cpus_sender or self.cpus_receiver):
            raise ValueError("follow_incoming_cpu and CPUs exclude each other")
        return self


MOST_B = 2**40


def _bytes_or(word: str) -> Callable[[object], object]:
    """A check of a number of bytes, ``auto``, or a word for no limit."""

    def check(value: object) -> object:
        if value in ("auto", word) or (type(value) is int and 1 <= value <= MOST_B):
            return value
        raise ValueError(f"Input should be auto, {word} or 1 to {MOST_B} bytes")

    return check


Batch = Annotated[int | str, BeforeValidator(_bytes_or("none"))]
Yield = Annotated[int | str, BeforeValidator(_bytes_or("never"))]
Switch = Literal["auto"] | bool


class Policy(Model):
    """Processor sharing of the agents; a key left out follows the rules of the agents.

    The rules are in ``native/PROTOCOL.md``. Each run records what was in force at both ends, in
    the column ``policy``.

    Parameters
    ----------
    batch_B : int or str
        Bytes that a stream moves before the next one of its thread: ``auto``, ``none`` (no limit)
        or a number.
    yield_B : int or str
        Bytes after which a sending thread yields its CPU: ``auto``, ``never`` or a number.
    read_delay : bool or str
        Whether a receiver sleeps after a small read.
    sched_batch : bool or str
        Whether the threads run as SCHED_BATCH.
    spread : bool or str
        Whether each thread is pinned to a CPU of its own.
    """

    batch_B: Batch = "auto"
    yield_B: Yield = "auto"
    read_delay: Switch = "auto"
    sched_batch: Switch = "auto"
    spread: Switch = "auto"

    @model_serializer(mode="wrap")
    def _only_given(self, serialize: SerializerFunctionWrapHandler) -> dict:
        return {name: value for name, value in serialize(self).items() if value != "auto"}
