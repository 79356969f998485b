"""Options of the sockets and threads of a study's runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, ClassVar, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from netlab.files.model_mistakes import pattern
from netlab.study.base import Megabytes, Model, Sparse
from netlab.tuning.knobs import key

Engine = Literal["auto", "blocking", "epoll", "plain"]
Send = Literal["copy", "zerocopy", "sendfile", "splice"]
Receive = Literal["copy", "discard", "splice", "zerocopy"]
Threads = Annotated[int, Field(ge=0, le=1024)]


def _text(value: object) -> object:
    """Convert a single CPU, which YAML reads as a number, to text."""
    return str(value) if type(value) is int else value


_CPUS = pattern(r"^\d{1,4}(-\d{1,4})?(,\d{1,4}(-\d{1,4})?)*$", "CPUs, such as 0-3,6")
_CpuList = Annotated[str, Field(pattern=_CPUS, max_length=255)]
Cpus = Annotated[
    _CpuList, BeforeValidator(_text, json_schema_input_type=_CpuList | Annotated[int, Field(ge=0)])
]
"""CPU numbers as the kernel writes them, ``0,2-3``."""


Dscp = Annotated[int, Field(ge=0, le=63)]
Segment = Annotated[int, Field(ge=88, le=32767)]
BusyPoll = Annotated[int, Field(ge=0, le=1_000_000)]


class Socket(Model, title="`socket`"):
    """Options of every socket and thread of a study's runs; the kernel's default where left out.

    The agents set them, read them back and refuse a run whose option the kernel does not accept.
    """

    pacing_MBps: Megabytes | None = key("Pacing rate of each stream, 10⁶ B/s.", 100.0, None)
    dscp: Dscp = key("DSCP code point of the packets.", 46, 0)
    mss_B: Segment | None = key("Maximum segment size, TCP options included.", 1448, None)
    nodelay: bool = key("TCP_NODELAY.", True, False)
    busy_poll_us: BusyPoll = key("SO_BUSY_POLL, µs.", 50, 0)
    cpus_sender: Cpus | None = key("CPUs of the sender's threads, in turn.", "0,2-3", None)
    cpus_receiver: Cpus | None = key("CPUs of the receiver's threads, in turn.", "1", None)
    follow_incoming_cpu: bool = key(
        "Pin each thread to the CPU that receives its packets.", True, False
    )

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
        raise ValueError(f"expected auto, {word} or 1 to {MOST_B} bytes")

    return check


_Bytes = Annotated[int, Field(ge=1)]
Batch = Annotated[
    int | str,
    BeforeValidator(_bytes_or("none"), json_schema_input_type=Literal["auto", "none"] | _Bytes),
]
Yield = Annotated[
    int | str,
    BeforeValidator(_bytes_or("never"), json_schema_input_type=Literal["auto", "never"] | _Bytes),
]
Switch = Literal["auto"] | bool


class Policy(Sparse, title="`policy`"):
    """Processor sharing of the agents; a key left out follows the rules of the agents.

    The rules are in ``native/PROTOCOL.md``. Each run records what was in force at both ends, in
    the column ``policy``.
    """

    batch_B: Batch = key(
        "Bytes that a stream moves before the next one: `auto`, `none` or a number.", 65536, "auto"
    )
    yield_B: Yield = key(
        "Bytes after which a sender yields its CPU: `auto`, `never` or a number.", "never", "auto"
    )
    read_delay: Switch = key("A receiver sleeps after a small read.", False, "auto")
    sched_batch: Switch = key("Threads run as SCHED_BATCH.", True, "auto")
    spread: Switch = key("Each thread is pinned to a CPU of its own.", True, "auto")


class Latency(Sparse, title="`latency`"):
    """A probe of the round trips beside the streams of netlab's own runs with a window.

    It sends for a second before the streams connect, and for one after they ended.
    """

    around_s: ClassVar[float] = 1.0
    """Time of probing before the streams, and again after them, s."""

    probe: Literal["udp", "tcp", "both", "none"] = key(
        "`udp`: datagrams to the UDP port of the receiver's TCP port; `tcp`: over a connection of "
        "its own, with the streams' congestion control; or `both`.",
        "udp",
        "none",
    )
    interval_ms: int = key("Mean time between two probes, ms.", 10, 10, ge=1, le=1000)
    dscp: Dscp = key("DSCP code point of the probes.", 46, 0)

    most: ClassVar[int] = 200_000
    """Probes of a window; an agent stores 262,144 of a run."""

    @property
    def extra_s(self) -> float:
        """Time of a run that the probe takes beside the streams, s."""
        return 2 * self.around_s if self.probe != "none" else 0.0


class Udp(Sparse, title="`udp`"):
    """Datagrams of the generator `udp`: of `record_length_B` each, at `socket.pacing_MBps`."""

    gso: bool = key("The sender's kernel cuts datagrams from larger sends.", True, False)
    gro: bool = key("The receiver's kernel joins datagrams.", True, False)
    kernel_pacing: bool = key(
        "The kernel spaces the datagrams; the sender's interface needs the qdisc `fq`.", True, False
    )
    fragment: bool = key("Datagrams may exceed the MTU.", True, False)

    sizes_B: ClassVar[range] = range(18, 65_508)
    """Sizes of a datagram's payload; the least is that of the smallest Ethernet frame."""
