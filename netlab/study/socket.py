"""Options of the sockets and threads of a study's runs."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

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
    dscp: Annotated[int, Field(ge=0, le=63)] = 0
    mss_B: Annotated[int, Field(ge=88, le=32767)] | None = None
    nodelay: bool = False
    busy_poll_us: Annotated[int, Field(ge=0, le=1_000_000)] = 0
    cpus_sender: Cpus | None = None
    cpus_receiver: Cpus | None = None
    follow_incoming_cpu: bool = False

    @model_validator(mode="after")
    def _one_placement(self) -> Self:
        if self.follow_incoming_cpu and (self.cpus_sender or self.cpus_receiver):
            raise ValueError("follow_incoming_cpu and CPUs exclude each other")
        return self
