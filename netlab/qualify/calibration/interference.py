"""Interference: foreign load and traffic in runs, their cost, and whether the run was flagged."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import pandas as pd

from netlab.errors import BadInput
from netlab.files.tables import Table
from netlab.qualify.calibration.aa import wilson
from netlab.qualify.calibration.one_table import OneTable
from netlab.qualify.calibration.verdicts import NOT_MEASURED, OUTSIDE, WITHIN

MOVED_PERCENT = 5.0
"""A burst that costs a larger share of the window's goodput must be flagged."""

FLAGGED_OF_MOVED_PERCENT = 95.0
FLAGGED_OF_UNTOUCHED_PERCENT = 2.0

UNTOUCHED = 3
"""Runs without a burst, times those of each kind of burst."""

ONE, ALL = "one CPU", "all CPUs"
NOTHING = "nothing"
TRAFFIC = "foreign traffic"
NO_TRAFFIC = "nothing, on the shaped link"
ALL_BURSTS = "all bursts"

COLUMNS = (
    *("injected", "runs", "cost_percent", "flagged"),
    *("moved", "moved_flagged", "percent", "low_percent", "high_percent", "verdict"),
)
HEADS = {
    "injected": "injected",
    "cost_percent": "median cost, %",
    "moved": f"cost over {MOVED_PERCENT:g} %",
    "moved_flagged": "of these flagged",
    "percent": "%",
    "low_percent": "95 % from",
    "high_percent": "to",
}


@dataclass(frozen=True)
class Burst:
    """A burst of foreign load in a run.

    Parameters
    ----------
    length_ms : int
        0: none.
    where : str
        ``one CPU`` or ``all CPUs``.
    """

    length_ms: int = 0
    where: str = ONE

    @property
    def text(self) -> str:
        """Its name in tables."""
        return f"{self.length_ms} ms on {self.where}" if self.length_ms else NOTHING


@dataclass(frozen=True)
class Traffic:
    """Foreign datagrams on the data interface during a run.

    Parameters
    ----------
    length_ms : float
        0: none.
    rate_MBps : float
        Of frames, 10^6 B/s.
    """

    length_ms: float = 0.0
    rate_MBps: float = 0.0

    @property
    def text(self) -> str:
        """Its name in tables."""
        return TRAFFIC if self.length_ms else NO_TRAFFIC


@dataclass(frozen=True)
class InterferencePlan:
    """Runs with and without interference at a random moment of their window.

    Parameters
    ----------
    lengths_ms : tuple of int
        Lengths of bursts, each on one CPU and on all.
    runs : int
        Of each kind of burst; :data:`UNTOUCHED` times as many have none.
    traffic_runs : int
        With foreign traffic, on a link of a known rate; as many have none.
    link_MBps : float
        Rate of that link, 10^6 B/s of frames. Traffic has a random rate up to it.
    seconds, warmup_s : float
        Window and warm-up of a run.
    seed : int
        Of the order and of the moments.
    """

    lengths_ms: tuple[int, ...] = (50, 100, 200, 300)
    runs: int = 30
    traffic_runs: int = 60
    link_MBps: float = 50.0
    seconds: float = 0.6
    warmup_s: float = 0.1
    seed: int = 2003

    def __post_init__(self) -> None:
        for key in ("runs", "traffic_runs"):
            if not 1 <= getattr(self, key) <= 1000:
                raise BadInput(
                    "is from 1 to 1000",
                    key=key,
                    value=getattr(self, key),
                    code="E-CALIBRATION-006",
                )
        longest_s = max(self.lengths_ms, default=0) / 1000
        if longest_s > 0.6 * self.seconds:
            raise BadInput(
                "a burst takes at most 60 % of the window: its cost is measured by the rest",
                key="lengths_ms",
                value=self.lengths_ms,
                code="E-CALIBRATION-007",
            )

    @property
    def kinds(self) -> tuple[Burst, ...]:
        """All kinds of runs, the untouched ones first."""
        bursts = [Burst(length_ms, where) for where in (ONE, ALL) for length_ms in self.lengths_ms]
        return (Burst(), *bursts)

    def order(self) -> list[tuple[Burst, float]]:
        """The burst of every run and its moment in the window, 0 to 1, in random order."""
        chance = random.Random(self.seed)
        planned = [
            kind
            for kind in self.kinds
            for _ in range(self.runs * (1 if kind.length_ms else UNTOUCHED))
        ]
        chance.shuffle(planned)
        return [(kind, chance.random()) for kind in planned]

    def traffic_order(self) -> list[tuple[Traffic, float]]:
        """The traffic of every run on the shaped link, and its moment in the window, 0 to 1.

        Lengths are uniform between the least and the greatest of the bursts, rates between a tenth
        of the link's rate and all of it.
        """
        chance = random.Random(f"{self.seed}/traffic")
        low_ms, high_ms = min(self.lengths_ms), max(self.lengths_ms)
        planned = [
            Traffic(chance.uniform(low_ms, high_ms), self.link_MBps * chance.uniform(0.1, 1.0))
            for _ in range(self.traffic_runs)
        ]
        planned += [Traffic()] * self.traffic_runs
        chance.shuffle(planned)
        return [(one, chance.random()) for one in planned]


QUICK_INTERFERENCE = InterferencePlan(lengths_ms=(50, 200), runs=6, traffic_runs=12)


def cost_percent(
    intervals: pd.DataFrame, bursts_s: Sequence[tuple[float, float]], settle_s: float = 0.02
) -> float:
    """Share of the window's goodput that bursts cost.

    The run's own samples outside the bursts say what it would have moved: the goodput of another
    run differs by more than a burst costs.

    Parameters
    ----------
    intervals : DataFrame
        The run's interval samples.
    bursts_s : sequence of (float, float)
        Start and end of each burst on the axis ``t_s``.
    settle_s : float
        Time after a burst that counts as part of it.

    Returns
    -------
    float
        Per cent; negative where the run moved more during the bursts. NaN without samples outside.
    """
    window = intervals[intervals["in_window"] & (intervals["interval_s"] > 0)]
    samples = window.groupby("t_s").agg(moved=("bytes", "sum"), length_s=("interval_s", "max"))
    ends = samples.index.to_numpy(dtype=float)
    starts = ends - samples["length_s"].to_numpy(dtype=float)
    inside = pd.Series(False, index=samples.index)
    for begin_s, end_s in bursts_s:
        inside |= (ends > begin_s) & (starts < end_s + settle_s)
    outside = samples[~inside]
    if outside.empty or not outside["moved"].sum():
        return math.nan
    usual_Bps = outside["moved"].sum() / outside["length_s"].sum()
    lost_B = usual_Bps * samples.loc[inside, "length_s"].sum() - samples.loc[inside, "moved"].sum()
    return 100 * float(lost_B / (usual_Bps * samples["length_s"].sum()))


@dataclass(frozen=True, eq=False)
class InterferenceResult(OneTable):
    """Injected interference, its cost, and the flags of the runs.

    Attributes
    ----------
    plan : InterferencePlan
    cells : DataFrame
        :data:`COLUMNS`, one row a kind of run and one for all bursts; foreign traffic last.
    samples : list of dict
        Every run.
    machine : dict
    """

    plan: InterferencePlan

    NAME: ClassVar = "calibration-interference"
    ROWS: ClassVar = "kinds"

    @classmethod
    def of(
        cls, plan: InterferencePlan, samples: Sequence[dict], machine: dict
    ) -> InterferenceResult:
        """Count flags by kind of run."""
        columns = ["injected", "goodput_MBps", "cost_percent", "flagged"]
        runs = pd.DataFrame.from_records(list(samples), columns=columns)
        runs = runs[runs["goodput_MBps"].notna()]
        rows = [_row(kind.text, runs[runs["injected"] == kind.text]) for kind in plan.kinds]
        bursts = runs[~runs["injected"].isin((NOTHING, NO_TRAFFIC, TRAFFIC))]
        rows.append(_row(ALL_BURSTS, bursts) | _judged(bursts, untouched=False))
        rows[0] |= _judged(runs[runs["injected"] == NOTHING], untouched=True)
        for name in (NO_TRAFFIC, TRAFFIC):
            part = runs[runs["injected"] == name]
            rows.append(_row(name, part) | _judged(part, untouched=name == NO_TRAFFIC))
        return cls(plan, pd.DataFrame(rows, columns=list(COLUMNS)), list(samples), machine)

    @property
    def verdicts(self) -> list[str]:
        """The verdicts on untouched runs, on all bursts and on foreign traffic."""
        return [verdict for verdict in self.cells["verdict"] if verdict]

    @property
    def note(self) -> str:
        """The method of counting."""
        return (
            f"Runs of {self.plan.seconds:g} s of one stream that fills the CPUs; a burst is a busy "
            "process on a CPU at a random moment of the window. Foreign traffic: datagrams through "
            f"the interface of a run on a link of {self.plan.link_MBps:g} MB/s, at a random rate "
            "for a random time; there only flags for foreign traffic count. The cost is estimated "
            "from the run's own samples outside them. "
            f"Bounds: at least {FLAGGED_OF_MOVED_PERCENT:g} % of the "
            f"runs that lost over {MOVED_PERCENT:g} % are flagged, and at most "
            f"{FLAGGED_OF_UNTOUCHED_PERCENT:g} % of the untouched ones. Wilson's interval; "
            "outside: the whole interval is off the bound."
        )

    def table(self) -> Table:
        """The kinds of runs as a table."""
        names = ("cost_percent", "percent", "low_percent", "high_percent")
        return Table(
            self.cells.set_index("injected"),
            "Foreign load and traffic, their cost, and the runs flagged for it",
            HEADS,
            dict.fromkeys(names, ".1f"),
            self.note,
        )


def _row(name: str, runs: pd.DataFrame) -> dict:
    moved = runs[runs["cost_percent"].astype(float) > MOVED_PERCENT]
    burst = name not in (NOTHING, NO_TRAFFIC)
    return {
        "injected": name,
        "runs": len(runs),
        "cost_percent": float(runs["cost_percent"].astype(float).median()) if burst else math.nan,
        "flagged": int(runs["flagged"].sum()),
        "moved": len(moved) if burst else 0,
        "moved_flagged": int(moved["flagged"].sum()) if burst else 0,
        "verdict": "",
    }


def _judged(runs: pd.DataFrame, *, untouched: bool) -> dict:
    """Share of flagged runs with its interval, and the verdict: of all, or of those moved."""
    if not untouched:
        runs = runs[runs["cost_percent"].astype(float) > MOVED_PERCENT]
    flagged = int(runs["flagged"].sum())
    low, high = wilson(flagged, len(runs))
    if not len(runs):
        verdict = NOT_MEASURED
    elif untouched:
        verdict = OUTSIDE if 100 * low > FLAGGED_OF_UNTOUCHED_PERCENT else WITHIN
    else:
        verdict = OUTSIDE if 100 * high < FLAGGED_OF_MOVED_PERCENT else WITHIN
    return {
        "percent": 100 * flagged / len(runs) if len(runs) else math.nan,
        "low_percent": 100 * low,
        "high_percent": 100 * high,
        "verdict": verdict,
    }
