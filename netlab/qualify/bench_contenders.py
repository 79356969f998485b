"""Contenders of a benchmark, the rounds that they are measured in, and the physical limit."""

from __future__ import annotations

import itertools
import os
import random
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from threading import Barrier
from typing import Literal

from netlab import core
from netlab.errors import BadInput
from netlab.generators.tools import TOOLS, Tool, Variant
from netlab.hosts.path import together
from netlab.lab.link import queue_a_cpu
from netlab.study.factors import Engine, Receive, Send
from netlab.study.hosts import MOST_QUEUES
from netlab.units import KIB, MIB, size

# Find the external tools installed on this machine.

VERSION_TIMEOUT_S = 5.0


@dataclass(frozen=True)
class Installed:
    tool: Tool
    program: str
    version: str


def find_tools(
    wanted: tuple[str, ...] = (), environment: Mapping[str, str] | None = None
) -> tuple[Installed, ...]:
    environment = os.environ if environment is None else environment
    names = [tool.name for tool in TOOLS]
    for name in wanted:
        if name not in names:
            message = f"there are {', '.join(names)}"
            raise BadInput(message, key="peer", value=name, code="E-BENCH-002")
    found = []
    for tool in TOOLS:
        if wanted and tool.name not in wanted:
            continue
        given = environment.get(tool.variable)
        program = shutil.which(given or tool.program, path=environment.get("PATH"))
        if program is not None:
            found.append(Installed(tool, os.path.abspath(program), _version(tool, program)))
        elif given:
            raise BadInput("is not a program", where=tool.variable, value=given, code="E-BENCH-003")
        elif wanted:
            message = f"{tool.program} is not on PATH, and {tool.variable} does not name it"
            raise BadInput(message, key="peer", value=tool.name, code="E-BENCH-004")
    return tuple(found)


def _version(tool: Tool, program: str) -> str:
    try:
        # neper writes a log file to its working directory.
        with tempfile.TemporaryDirectory() as directory:
            done = subprocess.run(
                (os.path.abspath(program), *tool.version),
                cwd=directory,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=VERSION_TIMEOUT_S,
                check=False,
            )
    except (OSError, subprocess.TimeoutExpired) as error:
        message = f"its version option failed: {error}"
        raise BadInput(message, where=program, code="E-BENCH-005") from None
    lines = (done.stdout + done.stderr).strip().splitlines()
    return lines[0].strip()[:120] if lines else "unknown"


# The contenders of a benchmark, and the variants of each.

GENSINK, PLAIN = "gensink", "plain"
"""Contender names of netlab's own core: as it sends by itself, and its engine of that name."""

OWN = (GENSINK, PLAIN)
"""Contenders that are not peers: gensink is compared with plain, but plain is never the best peer.
It shows how much of a ratio comes from gensink's options rather than from the sockets and threads
that both have in common."""

RECORD_LENGTH_B = 128 * KIB
"""Record length of all tools in mode ``same``: the default of iperf3 and iperf."""

Mode = Literal["same", "best"]
"""``same``: one record length, every byte copied out. ``best``: the best variant of each tool."""


@dataclass(frozen=True)
class OwnVariant(Variant):
    """One way to run netlab's own core, with the options of a study."""

    send: Send = "copy"
    receive: Receive = "discard"
    engine: Engine = "auto"

    @property
    def label(self) -> str:
        engine = "" if self.engine == "auto" else f"{self.engine} "
        return f"{engine}{self.send}/{self.receive} {size(self.record_length_B)}"

    @property
    def copies(self) -> bool:
        return "copy" in (self.send, self.receive)


OWN_SAME = OwnVariant(RECORD_LENGTH_B, receive="copy")
OWN_VARIANTS = tuple(
    OwnVariant(length_B, send=send) for length_B in (MIB, 256 * KIB) for send in ("copy", "splice")
)
"""The most likely best one first, as in :class:`~netlab.generators.tools.Tool`."""

PLAIN_SAME = OwnVariant(RECORD_LENGTH_B, receive="copy", engine="plain")
PLAIN_VARIANTS = (OwnVariant(MIB, receive="copy", engine="plain"), PLAIN_SAME)
"""send() and recv() in a loop have one choice: the record length."""


@dataclass(frozen=True)
class Contender:
    name: str
    same: Variant
    best: tuple[Variant, ...]
    max_streams: int | None = None


def contenders(peers: Sequence[Installed]) -> tuple[Contender, ...]:
    alike, tools = Variant(RECORD_LENGTH_B), [peer.tool for peer in peers]
    return (
        Contender(GENSINK, OWN_SAME, OWN_VARIANTS),
        Contender(PLAIN, PLAIN_SAME, PLAIN_VARIANTS),
        *(Contender(t.name, alike, t.variants, t.max_streams) for t in tools),
    )


# The schedule of a benchmark: its transfers and their order.

MAX_STREAMS = 10_000
MOST = {"rounds": 1000, "seconds": 600, "heats": 100, "heat_s": 600, "most_variants": 100}
MOST |= {"queues": MOST_QUEUES}


@dataclass(frozen=True)
class Environment:
    offloads: Literal["on", "off"]
    mtu_B: int


@dataclass(frozen=True)
class BenchCell:
    offloads: Literal["on", "off"]
    mtu_B: int
    streams: int
    mode: Mode


@dataclass(frozen=True)
class Matrix:
    offloads: tuple[Literal["on", "off"], ...] = ("on", "off")
    mtus_B: tuple[int, ...] = (1500, 9000)
    streams: tuple[int, ...] = (1, 4, 20, 200)
    modes: tuple[Mode, ...] = ("same", "best")
    rounds: int = 7
    seconds: int = 2
    heats: int = 2
    heat_s: int = 1
    most_variants: int = 100
    queues: int = field(default_factory=queue_a_cpu)
    seed: int = 2003

    def __post_init__(self) -> None:
        for key, low, high in (("streams", 1, MAX_STREAMS), ("mtus_B", 576, 65535)):
            for value in getattr(self, key):
                if not low <= value <= high:
                    limits = f"is from {low} to {high}"
                    raise BadInput(limits, key=key, value=value, code="E-BENCH-013")
        for key in ("offloads", "mtus_B", "streams", "modes"):
            if not getattr(self, key):
                raise BadInput("has no level", key=key, code="E-BENCH-014")
        for key, most in MOST.items():
            if not 1 <= (count := getattr(self, key)) <= most:
                raise BadInput(f"is from 1 to {most}", key=key, value=count, code="E-BENCH-015")

    @property
    def cells(self) -> tuple[BenchCell, ...]:
        levels = itertools.product(self.offloads, self.mtus_B, self.streams, self.modes)
        return tuple(BenchCell(*level) for level in dict.fromkeys(levels))


QUICK = Matrix(mtus_B=(1500,), streams=(4,), rounds=3, seconds=1, heats=1, most_variants=2)


@dataclass(frozen=True)
class BenchTransfer:
    """One transfer; `number` is that of its round, or of its heat if it has a variant, from 1."""

    order: int
    number: int
    cell: BenchCell
    contender: str
    variant: Variant | None = None

    def as_dict(self) -> dict:
        kind = "heat" if self.variant else "round"
        own = {"order": self.order, kind: self.number}
        return {**own, **asdict(self.cell), "contender": self.contender}


@dataclass(frozen=True)
class EnvironmentSchedule:
    """First the heats, then the rounds; `variants` are those of each contender in each cell."""

    environment: Environment
    variants: Mapping[tuple[BenchCell, str], tuple[Variant, ...]]
    heats: tuple[BenchTransfer, ...]
    turns: tuple[BenchTransfer, ...]


@dataclass(frozen=True)
class LeftOut:
    cell: BenchCell
    contender: str
    reason: str


def schedule(
    matrix: Matrix, taking_part: Sequence[Contender]
) -> tuple[tuple[EnvironmentSchedule, ...], tuple[LeftOut, ...]]:
    """Order the transfers of a benchmark; equal seeds give equal orders.

    Environments are shuffled. Within one, each heat runs every variant of contenders with several
    once in every cell; then each round runs every contender once in every cell. Each is shuffled
    anew, so that drift of the machine affects all alike.
    """
    generator = random.Random(matrix.seed)
    left_out: list[LeftOut] = []
    of: dict[Environment, dict[tuple[BenchCell, str], tuple[Variant, ...]]] = {}
    for cell, one in itertools.product(matrix.cells, taking_part):
        if one.max_streams is not None and cell.streams > one.max_streams:
            left_out.append(LeftOut(cell, one.name, f"at most {one.max_streams} streams"))
            continue
        some = one.best if cell.mode == "best" else (one.same,)
        known = of.setdefault(Environment(cell.offloads, cell.mtu_B), {})
        known[cell, one.name] = some[: matrix.most_variants]
    environments = list(of)
    generator.shuffle(environments)
    stages: list[EnvironmentSchedule] = []
    order = itertools.count()
    for environment in environments:
        variants = of[environment]
        tried = [
            (*pair, variant) for pair, some in variants.items() if len(some) > 1 for variant in some
        ]
        heats = [
            BenchTransfer(next(order), number, *which)
            for number in range(1, matrix.heats + 1)
            for which in generator.sample(tried, len(tried))
        ]
        turns = [
            BenchTransfer(next(order), number, *pair)
            for number in range(1, matrix.rounds + 1)
            for pair in generator.sample(list(variants), len(variants))
        ]
        stages.append(EnvironmentSchedule(environment, variants, tuple(heats), tuple(turns)))
    return tuple(stages), tuple(left_out)


# The physical limit of a transfer within one machine: its memory copy rate.

BUDGET_MS = 200
TRIES = 3
START_S = 30.0


@dataclass(frozen=True)
class CopyLimits:
    """Memory copy rates, within the cache (hot) and beyond it (cold). On a lab path the same cores
    copy every byte twice, into the kernel and out of it."""

    cores: int
    one_hot_MBps: float
    one_cold_MBps: float
    all_hot_MBps: float
    all_cold_MBps: float


def copy_limits(budget_ms: int = BUDGET_MS) -> CopyLimits:
    """Copy rates of one core and of all together: the highest, least disturbed, of several."""
    ones = [core.memory_copy_MBps(budget_ms) for _ in range(TRIES)]
    alls = [_together(budget_ms) for _ in range(TRIES)]
    names = ("hot_MBps", "cold_MBps")
    return CopyLimits(
        len(alls[0]),
        *(max(getattr(rate, name) for rate in ones) for name in names),
        *(max(sum(getattr(rate, name) for rate in rates) for rates in alls) for name in names),
    )


def _together(budget_ms: int) -> list[core.CopyRate]:
    cores = sorted(os.sched_getaffinity(0))
    begin = Barrier(len(cores))

    def copy_on(cpu: int) -> core.CopyRate:
        os.sched_setaffinity(0, {cpu})  # Applies to this thread only.
        begin.wait(START_S)
        return core.memory_copy_MBps(budget_ms)

    copies = together([partial(copy_on, cpu) for cpu in cores], at_once=len(cores))
    return [copy.result() for copy in copies]
