"""A/A: identical cells, and the number of pairs of them that are found different."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import NormalDist
from typing import ClassVar

import pandas as pd

from netlab.analysis.calibrated import APART_PERCENT
from netlab.analysis.cells import valid
from netlab.analysis.effects import COMMON_ROUNDS, paired_ratio, within_rounds
from netlab.errors import BadInput
from netlab.experiment.lab_pair import lab_pair
from netlab.files.tables import Table
from netlab.qualify.calibration.burner import CpuLoad
from netlab.qualify.calibration.one_table import OneTable
from netlab.qualify.calibration.verdicts import NOT_MEASURED, OUTSIDE, WITHIN
from netlab.study import Study

LEVEL = 1 - APART_PERCENT / 100
ALIKE = 0.12
"""Correlation of the verdicts on two pairs that share a cell, of identical cells. Simulated (4,000
sets of normal values): 0.07 with 4 rounds, 0.09 with 6, and 0.11 to 0.12 with 12."""

LINK = {"interrupt_delay_us": 0.0, "segmentation_offload": False, "checksum_offload": False}
"""As fast as the processors, so that what else takes CPU time moves the goodput. With offloads a
frame costs so little that goodput comes near the rate of memory copies, and is implausible."""

CELL = ("path", "tuning", "group")
COLUMNS = (
    *("load", "injected", "runs", "flagged", "pairs", "apart", "percent"),
    *("low_percent", "high_percent", "all_pairs", "all_apart", "all_percent", "verdict"),
)
HEADS = {
    "load": "load",
    "injected": "injected",
    "apart": "found different",
    "percent": "%",
    "low_percent": "95 % from",
    "high_percent": "to",
    "all_pairs": "with flagged runs: pairs",
    "all_apart": "found different",
    "all_percent": "%",
}

QUIET = CpuLoad("none")
LOADS = (
    QUIET,
    CpuLoad("spells", 70.0, 70.0),
    CpuLoad("slower", 200.0, 200.0),
    CpuLoad("faster", 5.0, 5.0),
)


@dataclass(frozen=True)
class AaPlan:
    """Cells of an A/A calibration, and the loads they are measured under.

    Parameters
    ----------
    paths, tunings, groups : int
        Levels of each; all levels are alike. A path and a tuning together are a block.
    rounds : int
    seconds, warmup_s : float
        Window and warm-up of a run.
    loads : tuple of CpuLoad
        Each gets all rounds.
    seed : int
        Of the order.
    """

    paths: int = 2
    tunings: int = 3
    groups: int = 2
    rounds: int = 12
    seconds: float = 0.5
    warmup_s: float = 0.2
    loads: tuple[CpuLoad, ...] = LOADS
    seed: int = 2003

    def __post_init__(self) -> None:
        for key, low, high in (
            ("paths", 1, 16),
            ("tunings", 1, 16),
            ("groups", 1, 16),
            ("rounds", COMMON_ROUNDS, 100),
        ):
            if not low <= getattr(self, key) <= high:
                raise BadInput(
                    f"is from {low} to {high}",
                    key=key,
                    value=getattr(self, key),
                    code="E-CALIBRATION-005",
                )

    @property
    def visits(self) -> int:
        """Visits of blocks, under all loads."""
        return self.paths * self.tunings * self.rounds * len(self.loads)

    def study(self, order: int = 0) -> Study:
        """The study of one load; each has another order of its runs."""
        names = [f"p{number}" for number in range(1, self.paths + 1)]
        groups = [
            {"name": f"{path} g{number}", "path": path, "buffer_B": 0}
            for path in names
            for number in range(1, self.groups + 1)
        ]
        # every tuning is applied and reverted, and sets what it finds
        knob = {"kind": "sysctl", "name": "net.ipv4.tcp_slow_start_after_idle", "value": 1}
        tunings = [
            {"name": f"t{number}", "knobs": [knob], "mtus_B": [1500]}
            for number in range(1, self.tunings + 1)
        ]
        return lab_pair(
            "calibration-aa",
            "Identical cells",
            dict.fromkeys(names, LINK),
            groups,
            tunings=tunings,
            congestion="cubic",
            seed=self.seed + order,
            timing={"rounds": self.rounds, "seconds": self.seconds, "warmup_s": self.warmup_s},
        )


QUICK_AA = AaPlan(
    tunings=2,
    rounds=4,
    seconds=0.2,
    warmup_s=0.1,
    loads=(QUIET, CpuLoad("faster", 5.0, 5.0)),
)


def pairs(runs: pd.DataFrame) -> Iterator[tuple[int, int, bool]]:
    """Test each pair of cells with enough common rounds for a difference at 5 %.

    Yields
    ------
    int, int, bool
        Numbers of the cells; True if the interval of the mean ratio within a round does not hold 1.
    """
    cells = [
        part["goodput_MBps"].astype(float)
        for _, part in runs.set_index("round")[[*CELL, "goodput_MBps"]].groupby(list(CELL))
    ]
    for (a, before), (b, after) in combinations(enumerate(cells), 2):
        if len(within_rounds(before, after)) >= COMMON_ROUNDS:
            yield a, b, paired_ratio(before, after, LEVEL).verdict != "open"


def independent(tested: Sequence[tuple[int, int, bool]]) -> float:
    """Number of independent pairs whose count would vary as much as that of these pairs.

    Two pairs with a cell in common are found different together more often than by chance.
    """
    uses = Counter(cell for a, b, _ in tested for cell in (a, b))
    sharing = sum(uses[a] + uses[b] - 2 for a, b, _ in tested)
    return len(tested) / (1 + ALIKE * sharing / len(tested)) if tested else 0.0


def wilson(count: float, of: float, level: float = LEVEL) -> tuple[float, float]:
    """Wilson's score interval of a proportion.

    Examples
    --------
    >>> low, high = wilson(105, 240)
    >>> round(low, 3), round(high, 3)
    (0.376, 0.501)
    """
    if not of:
        return math.nan, math.nan
    z = NormalDist().inv_cdf(0.5 + level / 2)
    share = count / of
    centre = (share + z**2 / (2 * of)) / (1 + z**2 / of)
    half = z / (1 + z**2 / of) * math.sqrt(share * (1 - share) / of + z**2 / (4 * of**2))
    return max(0.0, centre - half), min(1.0, centre + half)


@dataclass(frozen=True, eq=False)
class AaResult(OneTable):
    """Pairs found different under each load.

    Attributes
    ----------
    plan : AaPlan
    cells : DataFrame
        :data:`COLUMNS`, one row a load. Flagged runs are left out, except of ``all_pairs``,
        ``all_apart`` and ``all_percent``.
    samples : list of dict
        Every run.
    machine : dict
    """

    plan: AaPlan

    NAME: ClassVar = "calibration-aa"
    ROWS: ClassVar = "loads"

    @classmethod
    def of(cls, plan: AaPlan, samples: Sequence[dict], machine: dict) -> AaResult:
        """Compare all pairs of cells under each load."""
        runs = pd.DataFrame.from_records(
            list(samples), columns=["load", *CELL, "round", "goodput_MBps", "flags"]
        )
        rows = [_row(load, runs[runs["load"] == load.name]) for load in plan.loads]
        return cls(plan, pd.DataFrame(rows, columns=list(COLUMNS)), list(samples), machine)

    @property
    def verdicts(self) -> list[str]:
        """The verdict of every load."""
        return list(self.cells["verdict"])

    @property
    def note(self) -> str:
        """The method of counting."""
        plan = self.plan
        return (
            f"{plan.paths} paths, {plan.tunings} tunings, {plan.groups} groups, all alike; "
            f"{plan.rounds} rounds, runs of {plan.seconds:g} s. Every pair of cells is compared by "
            f"its mean ratio within a round at {100 * LEVEL:g} %. Wilson's interval, widened "
            "since pairs share cells. Outside: the whole interval lies above "
            f"{APART_PERCENT:g} %."
        )

    def table(self) -> Table:
        """The loads as a table."""
        formats = dict.fromkeys(("percent", "low_percent", "high_percent", "all_percent"), ".1f")
        caption = "Pairs of identical cells found different"
        return Table(self.cells.set_index("load"), caption, HEADS, formats, self.note)


def _row(load: CpuLoad, runs: pd.DataFrame) -> dict:
    measured = runs[runs["goodput_MBps"].astype(float) > 0]
    good = valid(measured)
    tested = list(pairs(good))
    apart, every = ([found for *_, found in some] for some in (tested, pairs(measured)))
    count = independent(tested)
    low, high = wilson(sum(apart) / max(1, len(apart)) * count, count)
    return {
        "load": load.name,
        "injected": load.text,
        "runs": len(runs),
        "flagged": len(runs) - len(good),
        "pairs": len(apart),
        "apart": sum(apart),
        "percent": _percent(apart),
        "low_percent": 100 * low,
        "high_percent": 100 * high,
        "all_pairs": len(every),
        "all_apart": sum(every),
        "all_percent": _percent(every),
        "verdict": _verdict(low),
    }


def _percent(apart: list[bool]) -> float:
    return 100 * sum(apart) / len(apart) if apart else math.nan


def _verdict(low: float) -> str:
    if math.isnan(low):
        return NOT_MEASURED
    return OUTSIDE if 100 * low > APART_PERCENT + 1e-9 else WITHIN
