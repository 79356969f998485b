"""A race: measure arms in rounds, and drop each one as soon as it is known to be worse.

The method is that of Hoeffding races (O. Maron, A. W. Moore, "Hoeffding Races: Accelerating Model
Selection Search for Classification and Function Approximation", NIPS 6, 1994): after a round, an
arm whose interval lies below the leader's is dropped, which leaves more time for the others. As
in racing by blocks (A. W. Moore, M. S. Lee, "Efficient Algorithms for Minimizing Cross Validation
Error", ICML 1994) and F-Race (M. Birattari et al., "A Racing Algorithm for Configuring
Metaheuristics", GECCO 2002), arms are compared within rounds, so that drift of the machine
cancels. The interval is Student's t of the paired differences to the leader.

Error: a race of K arms has interim analyses after the rounds of :data:`LOOKS`, and one more if
time runs out between two of them: at most L. Every comparison is one-sided at ``error / ((K - 1)
* L)``. The best arm is dropped only if one of its K - 1 comparisons wrongly rejects in one of the
L analyses: by Bonferroni's inequality with probability ``error`` at most, for normal differences.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from netlab.analysis import t_distribution
from netlab.search.autotune.candidates import Candidate

LOOKS = (3, 4, 5, 6, 8, 10, 13, 16, 20, 25, 32, 40, 50, 64)
"""Complete rounds with an interim analysis; sparser later, as each one widens the intervals."""

MIN_ROUNDS, MAX_ROUNDS = LOOKS[0], LOOKS[-1]


@dataclass(frozen=True)
class Gap:
    """Mean difference in score of an arm to another, over their common rounds.

    ``low`` and ``high`` bound it, each at the level of one comparison; infinite with fewer than
    two common rounds.
    """

    arm: Candidate
    against: Candidate
    rounds: int
    mean: float
    low: float
    high: float


class Race:
    def __init__(
        self,
        arms: Sequence[Candidate],
        *,
        error: float = 0.05,
        max_rounds: int = 8,
        margin: float = 0.0,
        keep: Candidate | None = None,
    ):
        self.arms, self.max_rounds, self.margin, self.keep = tuple(arms), max_rounds, margin, keep
        self.looks = tuple(look for look in LOOKS if look <= max_rounds)
        # significance level of one comparison
        self.level = error / (max(1, len(arms) - 1) * (len(self.looks) + 1))
        self.alive = list(arms)
        self.dropped: dict[Candidate, Gap] = {}
        self.withdrawn: dict[Candidate, str] = {}
        self._scores: dict[Candidate, dict[int, float]] = {arm: {} for arm in arms}
        self.tied = False
        self._looked = 0

    @property
    def running(self) -> list[Candidate]:
        return [
            arm
            for arm in self.arms
            if arm in self.alive or (arm == self.keep and arm in self.dropped)
        ]

    @property
    def complete_rounds(self) -> list[int]:
        """Rounds in which every running arm has a score."""
        rounds = [self._scores[arm].keys() for arm in self.running]
        return sorted(set(rounds[0]).intersection(*rounds)) if rounds else []

    @property
    def finished(self) -> bool:
        """True if one arm is left at most, the remaining arms are tied, or all rounds are done."""
        used_up = len(self.complete_rounds) >= self.max_rounds
        return len(self.alive) <= 1 or self.tied or used_up

    @property
    def leader(self) -> Candidate | None:
        """The arm with the highest mean over the complete rounds; None before the first."""
        rounds = self.complete_rounds
        if not self.alive or not rounds:
            return None
        return max(self.alive, key=lambda arm: np.mean([self._scores[arm][n] for n in rounds]))

    def add(self, round_number: int, arm: Candidate, score: float) -> None:
        self._scores[arm][round_number] = score

    def withdraw(self, arm: Candidate, reason: str) -> None:
        self.withdrawn[arm] = reason
        self.alive.remove(arm)

    def look(self, *, last: bool = False) -> list[Gap]:
        """Run an interim analysis if one is due: drop the arms below the leader."""
        rounds, leader = len(self.complete_rounds), self.leader
        due = last or any(self._looked < look <= rounds for look in self.looks)
        if leader is None or not due:
            return []
        self._looked = rounds
        gaps = [self.gap(arm, leader) for arm in self.alive if arm != leader]
        gaps = [gap for gap in gaps if gap.rounds >= MIN_ROUNDS]
        behind = [gap for gap in gaps if gap.low > 0]
        for gap in behind:
            self.dropped[gap.arm] = gap
            self.alive.remove(gap.arm)
        left = [gap for gap in gaps if gap.low <= 0]
        decided = len(left) == len(self.alive) - 1
        self.tied = decided and bool(left) and all(gap.high < self.margin for gap in left)
        return behind

    def gap(self, arm: Candidate, against: Candidate) -> Gap:
        ours, theirs = self._scores[arm], self._scores[against]
        differences = np.array([theirs[number] - ours[number] for number in ours.keys() & theirs])
        n = len(differences)
        mean, half = float(differences.mean()) if n else math.nan, math.inf
        if n < 2:
            return Gap(arm, against, n, mean, -half, half)
        quantile = float(t_distribution.t_quantile(n - 1, 1 - self.level))
        half = quantile * float(differences.std(ddof=1)) / math.sqrt(n)
        return Gap(arm, against, n, mean, mean - half, mean + half)

    def scores(self, arm: Candidate) -> list[float]:
        return list(self._scores[arm].values())
