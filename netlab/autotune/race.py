"""A race: measure arms in rounds, and drop each one as soon as it is known to be worse.

The method is that of Hoeffding races (O. Maron, A. W. Moore, "Hoeffding Races: Accelerating Model
Selection Search for Classification and Function Approximation", NIPS 6, 1994): after a round, an
arm whose interval lies below the leader's is dropped, which leaves more time for the others.
As in racing by blocks (A. W. Moore, M. S. Lee, "Efficient Algorithms for Minimizing Cross
Validation Error", ICML 1994) and F-Race (M. Birattari et al., "A Racing Algorithm for Configuring
Metaheuristics", GECCO 2002), arms are compared within rounds, so that drift of the machine
cancels. The interval is Student's t of the paired differences to the leader.

Error: a race of K arms has interim analyses after the rounds of :data:`LOOKS`, and one more if time
runs out between two of them: at most L. Every comparison is one-sided at ``error / ((K - 1) * L)``.
The best arm is dropped only if one of its K - 1 comparisons wrongly rejects in one of the L
analyses: by Bonferroni's inequality with probability ``error`` at most, for normal differences.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import numpy as np

from netlab.analysis import student
from netlab.autotune.candidates import Candidate
from netlab.errors import BadInput

ArmT = TypeVar("ArmT", bound=Hashable)

LOOKS = (3, 4, 5, 6, 8, 10, 13, 16, 20, 25, 32, 40, 50, 64)
"""Complete rounds with an interim analysis; sparser later, as each one widens the intervals."""

MIN_ROUNDS, MAX_ROUNDS = LOOKS[0], LOOKS[-1]


@dataclass(frozen=True)
class Rules:
    """Parameters of a race."""

    error: float = 0.05
    max_rounds: int = 8
    margin: float = 0.0

    def __post_init__(self) -> None:
        if not 0 < self.error < 0.5:
            raise BadInput(
                "lies between 0 and 0.5", key="error", value=self.error, code="E-AUTOTUNE-002"
            )
        if not MIN_ROUNDS <= self.max_rounds <= MAX_ROUNDS:
            limits = f"is from {MIN_ROUNDS} to {MAX_ROUNDS}"
            raise BadInput(limits, key="max_rounds", value=self.max_rounds, code="E-AUTOTUNE-003")

    @property
    def looks(self) -> tuple[int, ...]:
        """Rounds with an interim analysis in this race."""
        return tuple(look for look in LOOKS if look <= self.max_rounds)


@dataclass(frozen=True)
class Gap(Generic[ArmT]):
    """Mean difference in score of an arm to another, over their common rounds.

    ``low`` and ``high`` bound it, each at the level of one comparison; infinite with fewer than
    two common rounds.
    """

    arm: ArmT
    against: ArmT
    rounds: int
    mean: float
    low: float
    high: float


class Race(Generic[ArmT]):
    """The state of one race; a higher score is better."""

    def __init__(self, arms: Sequence[ArmT], rules: Rules, *, keep: ArmT | None = None):
        if len(set(arms)) != len(arms) or not arms:
            raise BadInput(
                "a race needs one arm at least, and each only once",
                key="arms",
                code="E-AUTOTUNE-004",
            )
        self.arms, self.rules, self.keep = tuple(arms), rules, keep
        self.alive: list[ArmT] = list(arms)
        self.dropped: dict[ArmT, Gap[ArmT]] = {}
        self.withdrawn: dict[ArmT, str] = {}
        self._scores: dict[ArmT, dict[int, float]] = {arm: {} for arm in arms}
        self.tied = False
        self._looked = 0

    @property
    def running(self) -> list[ArmT]:
        """The arms that the next round measures."""
        kept = self.keep in self.dropped
        return [arm for arm in self.arms if arm in self.alive or (kept and arm == self.keep)]

    @property
    def level(self) -> float:
        """Significance level of one comparison."""
        looks = len(self.rules.looks) + 1
        return self.rules.error / (max(1, len(self.arms) - 1) * looks)

    @property
    def complete_rounds(self) -> list[int]:
        """Rounds in which every running arm has a score."""
        running = self.running
        if not running:
            return []
        return sorted(set.intersection(*(set(self._scores[arm]) for arm in running)))

    @property
    def finished(self) -> bool:
        """True if one arm is left at most, the remaining arms are tied, or all rounds are done."""
        used_up = len(self.complete_rounds) >= self.rules.max_rounds
        return len(self.alive) <= 1 or self.tied or used_up

    @property
    def leader(self) -> ArmT | None:
        """The arm with the highest mean over the complete rounds; None before the first."""
        rounds = self.complete_rounds
        if not self.alive or not rounds:
            return None
        return max(self.alive, key=lambda arm: self._mean(arm, rounds))

    def add(self, round_number: int, arm: ArmT, score: float) -> None:
        """Record the score of an arm in a round."""
        if arm not in self.running or round_number in self._scores[arm]:
            raise BadInput(
                "a running arm has one score per round", key="arm", value=arm, code="E-AUTOTUNE-005"
            )
        if not math.isfinite(score):
            raise BadInput(
                "is not a finite number", key="score", value=score, code="E-AUTOTUNE-006"
            )
        self._scores[arm][round_number] = score

    def withdraw(self, arm: ArmT, reason: str) -> None:
        """Remove an arm that cannot be measured."""
        self.withdrawn[arm] = reason
        self.alive.remove(arm)

    def look(self, *, last: bool = False) -> list[Gap[ArmT]]:
        """Run an interim analysis if one is due: drop the arms below the leader."""
        rounds = len(self.complete_rounds)
        leader = self.leader
        if leader is None:
            return []
        if not last and not any(self._looked < look <= rounds for look in self.rules.looks):
            return []
        self._looked = rounds
        gaps = [self.gap(arm, leader) for arm in self.alive if arm != leader]
        gaps = [gap for gap in gaps if gap.rounds >= MIN_ROUNDS]
        found = [gap for gap in gaps if gap.low > 0]
        for gap in found:
            self.dropped[gap.arm] = gap
            self.alive.remove(gap.arm)
        left = [gap for gap in gaps if gap.low <= 0]
        known = len(left) == len(self.alive) - 1
        self.tied = known and bool(left) and all(gap.high < self.rules.margin for gap in left)
        return found

    def gap(self, arm: ArmT, against: ArmT) -> Gap[ArmT]:
        """The gap of an arm to another, with its interval."""
        rounds = sorted(self._scores[arm].keys() & self._scores[against].keys())
        differences = np.array(
            [self._scores[against][number] - self._scores[arm][number] for number in rounds]
        )
        n = len(differences)
        if n < 2:
            mean = float(differences[0]) if n else math.nan
            return Gap(arm, against, n, mean, -math.inf, math.inf)
        mean = float(differences.mean())
        half = float(
            student.quantile(n - 1, 1 - self.level) * differences.std(ddof=1) / math.sqrt(n)
        )
        return Gap(arm, against, n, mean, mean - half, mean + half)

    def scores(self, arm: ArmT) -> list[float]:
        """Scores of an arm, in the order of the rounds."""
        return [self._scores[arm][number] for number in sorted(self._scores[arm])]

    def _mean(self, arm: ArmT, rounds: list[int]) -> float:
        return float(np.mean([self._scores[arm][number] for number in rounds]))


LAST_RACE = "last race"
DISTURBED = frozenset({"interference", "emulator_late"})
"""Flags of a run disturbed by other work: steal, foreign load, a late emulator."""

BETTER = "better than what you had"
NO_BETTER = "no better than what you had"
NO_START = "what you had gave no valid run"
NO_CONCLUSION = "no conclusion"


@dataclass(frozen=True)
class ArmResult:
    """The result of a candidate in a race."""

    candidate: Candidate
    rounds: int
    score: float | None
    gap: Gap | None
    dropped_after: int | None
    reason: str


@dataclass(frozen=True)
class RaceResult:
    """The result of one race of the search."""

    number: int
    factor: str
    arms: tuple[ArmResult, ...]
    winner: Candidate | None
    ended: str


@dataclass
class SearchResult:
    """The result of a search."""

    verdict: str
    winner: Candidate
    gain: Gap[Candidate] | None
    stages: list[RaceResult] = field(default_factory=list)
    samples: list[dict] = field(default_factory=list)
