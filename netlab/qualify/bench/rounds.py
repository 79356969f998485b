"""The schedule of a benchmark: its transfers and their order."""

from __future__ import annotations

import itertools
import random
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Literal

from netlab.errors import BadInput
from netlab.generators.tools import Variant
from netlab.lab.queues import queue_a_cpu
from netlab.qualify.bench.contenders import Contender, Mode, OwnVariant
from netlab.study.link import MOST_QUEUES

MAX_STREAMS = 10_000


@dataclass(frozen=True)
class Environment:
    """Settings of a path during its rounds."""

    offloads: Literal["on", "off"]
    mtu_B: int


@dataclass(frozen=True)
class BenchCell:
    """The factor levels of one comparison."""

    offloads: Literal["on", "off"]
    mtu_B: int
    streams: int
    mode: Mode

    @property
    def environment(self) -> Environment:
        """Settings of the path for this cell."""
        return Environment(self.offloads, self.mtu_B)

    def as_dict(self) -> dict:
        """The cell's columns."""
        return asdict(self)


_COUNTS = (
    ("rounds", 1000),
    ("seconds", 600),
    ("heats", 100),
    ("heat_s", 600),
    ("most_variants", 100),
    ("queues", MOST_QUEUES),
)
"""Counts of a benchmark, and their maxima."""


@dataclass(frozen=True)
class Matrix:
    """The cells of a benchmark, and the number and duration of transfers."""

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
        for key, low, high in (
            ("streams", 1, MAX_STREAMS),
            ("mtus_B", 576, 65535),
        ):
            for value in getattr(self, key):
                if not low <= value <= high:
                    raise BadInput(
                        f"is from {low} to {high}", key=key, value=value, code="E-BENCH-013"
                    )
        for key in ("offloads", "mtus_B", "streams", "modes"):
            if not getattr(self, key):
                raise BadInput("has no level", key=key, code="E-BENCH-014")
        for key, high in _COUNTS:
            if not 1 <= getattr(self, key) <= high:
                raise BadInput(
                    f"is from 1 to {high}", key=key, value=getattr(self, key), code="E-BENCH-015"
                )

    @property
    def cells(self) -> tuple[BenchCell, ...]:
        """Every combination of levels."""
        levels = itertools.product(self.offloads, self.mtus_B, self.streams, self.modes)
        return tuple(BenchCell(*level) for level in dict.fromkeys(levels))


QUICK = Matrix(mtus_B=(1500,), streams=(4,), rounds=3, seconds=1, heats=1, most_variants=2)


@dataclass(frozen=True)
class Turn:
    """One transfer of a contender in a cell and a round (from 1); `order` counts from 0."""

    order: int
    round: int
    cell: BenchCell
    contender: str

    def as_dict(self) -> dict:
        """The columns that identify the transfer."""
        which = {"order": self.order, "round": self.round}
        return {**which, **self.cell.as_dict(), "contender": self.contender}


@dataclass(frozen=True)
class Heat:
    """One short transfer of a variant in a heat (from 1); `order` as of a turn."""

    order: int
    heat: int
    cell: BenchCell
    contender: str
    variant: OwnVariant | Variant

    def as_dict(self) -> dict:
        """The columns that identify the transfer."""
        which = {"order": self.order, "heat": self.heat}
        return {**which, **self.cell.as_dict(), "contender": self.contender}


@dataclass(frozen=True)
class EnvironmentSchedule:
    """The schedule of one environment: first the heats, then the rounds.

    `variants` has those of each contender in each cell.
    """

    environment: Environment
    variants: Mapping[tuple[BenchCell, str], tuple[OwnVariant | Variant, ...]]
    heats: tuple[Heat, ...]
    turns: tuple[Turn, ...]


@dataclass(frozen=True)
class LeftOut:
    """A contender excluded from a cell."""

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
    left_out = tuple(
        LeftOut(cell, one.name, f"at most {one.max_streams} streams")
        for cell in matrix.cells
        for one in taking_part
        if one.max_streams is not None and cell.streams > one.max_streams
    )
    cannot = {(out.cell, out.contender) for out in left_out}
    environments = list(dict.fromkeys(cell.environment for cell in matrix.cells))
    generator.shuffle(environments)
    stages: list[EnvironmentSchedule] = []
    order = itertools.count()
    for environment in environments:
        variants = {
            (cell, one.name): one.variants(cell.mode)[: matrix.most_variants]
            for cell in matrix.cells
            if cell.environment == environment
            for one in taking_part
            if (cell, one.name) not in cannot
        }
        tried = [
            (*pair, variant) for pair, some in variants.items() if len(some) > 1 for variant in some
        ]
        heats = [
            Heat(next(order), number, *which)
            for number in range(1, matrix.heats + 1)
            for which in generator.sample(tried, len(tried))
        ]
        turns = [
            Turn(next(order), number, *pair)
            for number in range(1, matrix.rounds + 1)
            for pair in generator.sample(list(variants), len(variants))
        ]
        stages.append(EnvironmentSchedule(environment, variants, tuple(heats), tuple(turns)))
    return tuple(stages), left_out
