"""Which transfers a benchmark makes, and in what order."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import product
from typing import Literal

from netlab.bench.installed import Installed
from netlab.errors import BadInput

GENSINK = "gensink"
"""The name under which netlab's own core takes part."""

RECORD_LENGTH_B = 128 << 10
"""Of every tool, where they are to be alike: iperf3's and iperf's own."""

BEST_RECORD_LENGTH_B = 1 << 20
Mode = Literal["same", "best"]
"""``same``: one record length, every byte copied out. ``best``: whatever suits each tool."""

MAX_STREAMS = 10_000


@dataclass(frozen=True)
class Environment:
    """What a path is set to while its rounds are run."""

    offloads: Literal["on", "off"]
    mtu_B: int


@dataclass(frozen=True)
class Cell:
    """What contenders are compared in."""

    offloads: Literal["on", "off"]
    mtu_B: int
    streams: int
    mode: Mode

    @property
    def environment(self) -> Environment:
        """The part that the path has to be set up for."""
        return Environment(self.offloads, self.mtu_B)

    def as_dict(self) -> dict:
        """The cell's columns."""
        return asdict(self)


@dataclass(frozen=True)
class Matrix:
    """The cells of a benchmark and how often and how long each is measured."""

    offloads: tuple[Literal["on", "off"], ...] = ("on", "off")
    mtus_B: tuple[int, ...] = (1500, 9000)
    streams: tuple[int, ...] = (1, 4, 20, 200)
    modes: tuple[Mode, ...] = ("same", "best")
    rounds: int = 7
    seconds: int = 2
    seed: int = 2003

    def __post_init__(self) -> None:
        for key, low, high in (
            ("streams", 1, MAX_STREAMS),
            ("mtus_B", 576, 65535),
        ):
            for value in getattr(self, key):
                if not low <= value <= high:
                    raise BadInput(f"is from {low} to {high}", key=key, value=value)
        for key in ("offloads", "mtus_B", "streams", "modes"):
            if not getattr(self, key):
                raise BadInput("has no level", key=key)
        for key, high in (("rounds", 1000), ("seconds", 600)):
            if not 1 <= getattr(self, key) <= high:
                raise BadInput(f"is from 1 to {high}", key=key, value=getattr(self, key))

    @property
    def cells(self) -> tuple[Cell, ...]:
        """Every combination of levels."""
        levels = product(self.offloads, self.mtus_B, self.streams, self.modes)
        return tuple(Cell(*level) for level in dict.fromkeys(levels))


QUICK = Matrix(mtus_B=(1500,), streams=(4,), rounds=3, seconds=1)


@dataclass(frozen=True)
class Turn:
    """One transfer: which contender in which cell, in which round from 1; `order` from 0."""

    order: int
    round: int
    cell: Cell
    contender: str


@dataclass(frozen=True)
class LeftOut:
    """A contender that cannot take part in a cell."""

    cell: Cell
    contender: str
    reason: str


def schedule(
    matrix: Matrix, peers: Sequence[Installed]
) -> tuple[tuple[Turn, ...], tuple[LeftOut, ...]]:
    """Order the transfers of a benchmark; the same seed gives the same order.

    Environments come in shuffled order. Within one, each round holds every contender in every cell
    once, shuffled anew: whatever the machine does meanwhile meets all contenders alike.

    Returns
    -------
    turns, left_out
        Left out are the cells of more streams than a tool can run.
    """
    generator = random.Random(matrix.seed)
    contenders = [GENSINK, *(peer.tool.name for peer in peers)]
    limits = {peer.tool.name: peer.tool.max_streams for peer in peers}
    left_out = tuple(
        LeftOut(cell, name, f"at most {limits[name]} streams")
        for cell in matrix.cells
        for name in contenders
        if limits.get(name) is not None and cell.streams > limits[name]
    )
    cannot = {(out.cell, out.contender) for out in left_out}
    environments = list(dict.fromkeys(cell.environment for cell in matrix.cells))
    generator.shuffle(environments)
    turns: list[Turn] = []
    for environment in environments:
        pairs = [
            (cell, name)
            for cell in matrix.cells
            if cell.environment == environment
            for name in contenders
            if (cell, name) not in cannot
        ]
        for number in range(1, matrix.rounds + 1):
            generator.shuffle(pairs)
            turns += [
                Turn(len(turns) + index, number, cell, name)
                for index, (cell, name) in enumerate(pairs)
            ]
    return tuple(turns), left_out
