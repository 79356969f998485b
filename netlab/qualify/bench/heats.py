"""Choose the variant of a contender in a cell: the one with the highest median of its heats."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from netlab.generators.tools import Variant
from netlab.qualify.bench.contenders import OwnVariant
from netlab.qualify.bench.rounds import BenchCell, EnvironmentSchedule


@dataclass(frozen=True)
class Standing:
    """The result of one variant's heats."""

    cell: BenchCell
    contender: str
    variant: str
    heats: int
    failed: int
    goodput_MBps: float
    chosen: bool
    reason: str

    def as_dict(self) -> dict:
        """Its columns, including those of the cell."""
        own = {name: value for name, value in vars(self).items() if name != "cell"}
        return {**self.cell.as_dict(), **own}


def choose(
    stage: EnvironmentSchedule, heats: Sequence[Mapping]
) -> dict[tuple[BenchCell, str], OwnVariant | Variant]:
    """Choose the variant of each contender in each cell of an environment.

    Of equal variants the first wins; so it does if every heat failed.
    """
    chosen = {}
    for pair, some in stage.variants.items():
        own = _of(pair, heats)
        reached = [_goodput_MBps(one, own, none=-math.inf) for one in some]
        chosen[pair] = some[reached.index(max(reached))]
    return chosen


def standings(
    stage: EnvironmentSchedule,
    heats: Sequence[Mapping],
    chosen: Mapping[tuple[BenchCell, str], OwnVariant | Variant],
) -> tuple[Standing, ...]:
    """The heats of each variant, where :func:`choose` had several."""
    return tuple(
        _standing(pair, one, _of(pair, heats), one is chosen[pair])
        for pair, some in stage.variants.items()
        if len(some) > 1
        for one in some
    )


def _standing(
    pair: tuple[BenchCell, str], one: OwnVariant | Variant, heats: Sequence[Mapping], chosen: bool
) -> Standing:
    errors = [heat["error"] for heat in heats if heat["variant"] == one.label]
    failed = [error for error in errors if error]
    goodput_MBps = _goodput_MBps(one, heats, math.nan)
    reason = failed[-1] if failed else ""
    return Standing(*pair, one.label, len(errors), len(failed), goodput_MBps, chosen, reason)


def _of(pair: tuple[BenchCell, str], heats: Sequence[Mapping]) -> list[Mapping]:
    cell, contender = pair
    whose = {**cell.as_dict(), "contender": contender}
    return [heat for heat in heats if whose.items() <= heat.items()]


def _goodput_MBps(one: OwnVariant | Variant, heats: Sequence[Mapping], none: float) -> float:
    goodputs = [heat["goodput_MBps"] for heat in heats if heat["variant"] == one.label]
    known = [goodput for goodput in goodputs if goodput is not None]
    return median(known) if known else none
