"""A race: arms are measured in rounds, and losers leave as soon as they are known to lose.

The method is that of Hoeffding races (O. Maron, A. W. Moore, "Hoeffding Races: Accelerating Model
Selection Search for Classification and Function Approximation", NIPS 6, 1994): after a round, an
arm whose interval lies below the leader's is dropped, and the time goes to those that are left.
As in racing by blocks (A. W. Moore, M. S. Lee, "Efficient Algorithms for Minimizing Cross
Validation Error", ICML 1994) and F-Race (M. Birattari et al., "A Racing Algorithm for Configuring
Metaheuristics", GECCO 2002), arms are compared within rounds, so that what the machine does
meanwhile cancels. The interval is Student's t of the paired differences to the leader.

Error: a race of K arms looks at its rounds at the times of :data:`LOOKS`, and once more where time
ends it between two of them: L looks at most. Every comparison of every look is one-sided at
``error / ((K - 1) * L)``. The best arm is dropped only when one of its K - 1 comparisons rejects
wrongly in one of L looks, so by Bonferroni's inequality with probability ``error`` at most, where
differences are normal.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.special import stdtrit

from netlab.autotune.candidates import Candidate
from netlab.errors import BadInput

LOOKS = (3, 4, 5, 6, 8, 10, 13, 16, 20, 25, 32, 40, 50, 64)
"""Complete rounds after which arms may be dropped; sparser later, as every look has its price."""

MIN_ROUNDS, MAX_ROUNDS = LOOKS[0], LOOKS[-1]


@dataclass(frozen=True)
class Rules:
    """How a race is run.

    Parameters
    ----------
    error : float
        Probability, at most, that the best arm is dropped.
    max_rounds : int
        Complete rounds after which the arms that are left count as tied.
    margin : float
        A race ends as tied before that where the intervals of all that are left lie less than
        this below the leader, in units of score; 0 for never.

    Raises
    ------
    BadInput
        The error is no probability below one half, or there are too few or too many rounds.
    """

    error: float = 0.05
    max_rounds: int = 8
    margin: float = 0.0

    def __post_init__(self) -> None:
        if not 0 < self.error < 0.5:
            raise BadInput("lies between 0 and 0.5", key="error", value=self.error)
        if not MIN_ROUNDS <= self.max_rounds <= MAX_ROUNDS:
            limits = f"is from {MIN_ROUNDS} to {MAX_ROUNDS}"
            raise BadInput(limits, key="max_rounds", value=self.max_rounds)

    @property
    def looks(self) -> tuple[int, ...]:
        """The times of looking before the race ends."""
        return tuple(look for look in LOOKS if look <= self.max_rounds)


@dataclass(frozen=True)
class Gap:
    """How far an arm lies below another, in units of score, over the rounds both have.

    ``low`` and ``high`` bound it, each at the level of one comparison of the race; infinite
    where fewer than two rounds are in common.
    """

    arm: Hashable
    against: Hashable
    rounds: int
    mean: float
    low: float
    high: float


class Race:
    """The state of one race; a higher score is better.

    Parameters
    ----------
    arms : sequence of hashable
        Who takes part, each once.
    rules : Rules
        How.
    keep : hashable, optional
        An arm that is measured to the end also when it is beaten: what others are held against.

    Attributes
    ----------
    alive : list
        Arms not yet dropped, in the order given.
    dropped : dict of hashable to Gap
        Arms found below a leader, with what showed it; the kept arm among them when it is beaten.
    withdrawn : dict of hashable to str
        Arms that could not be measured, with the reason.
    tied : bool
        Whether all that are left were found within the margin of the leader.
    """

    def __init__(self, arms: Sequence[Hashable], rules: Rules, *, keep: Hashable | None = None):
        if len(set(arms)) != len(arms) or not arms:
            raise BadInput("each arm takes part once, and there is one at least", key="arms")
        self.arms, self.rules, self.keep = tuple(arms), rules, keep
        self.alive: list[Hashable] = list(arms)
        self.dropped: dict[Hashable, Gap] = {}
        self.withdrawn: dict[Hashable, str] = {}
        self._scores: dict[Hashable, dict[int, float]] = {arm: {} for arm in arms}
        self.tied = False
        self._looked = 0

    @property
    def running(self) -> list[Hashable]:
        """The arms that the next round measures."""
        kept = self.keep in self.dropped
        return [arm for arm in self.arms if arm in self.alive or (kept and arm == self.keep)]

    @property
    def level(self) -> float:
        """Probability of a wrong rejection that one comparison is given."""
        looks = len(self.rules.looks) + 1
        return self.rules.error / (max(1, len(self.arms) - 1) * looks)

    @property
    def complete_rounds(self) -> list[int]:
        """Rounds in which every arm that still runs has a score."""
        running = self.running
        if not running:
            return []
        return sorted(set.intersection(*(set(self._scores[arm]) for arm in running)))

    @property
    def finished(self) -> bool:
        """Whether one arm is left at most, all that are left tie, or the rounds are used up."""
        used_up = len(self.complete_rounds) >= self.rules.max_rounds
        return len(self.alive) <= 1 or self.tied or used_up

    @property
    def leader(self) -> Hashable | None:
        """The arm with the highest mean over the complete rounds; None before there is one."""
        rounds = self.complete_rounds
        if not self.alive or not rounds:
            return None
        return max(self.alive, key=lambda arm: self._mean(arm, rounds))

    def add(self, round_number: int, arm: Hashable, score: float) -> None:
        """Note what an arm reached in a round.

        Raises
        ------
        BadInput
            The arm has a score of this round, does not run, or the score is no number.
        """
        if arm not in self.running or round_number in self._scores[arm]:
            raise BadInput("an arm that runs has one score a round", key="arm", value=arm)
        if not math.isfinite(score):
            raise BadInput("is no number", key="score", value=score)
        self._scores[arm][round_number] = score

    def withdraw(self, arm: Hashable, reason: str) -> None:
        """Take out an arm that cannot be measured."""
        self.withdrawn[arm] = reason
        self.alive.remove(arm)

    def look(self, *, last: bool = False) -> list[Gap]:
        """Drop the arms that lie below the leader, if this is a time of looking.

        Parameters
        ----------
        last : bool
            Look whatever the time, as the race is over; each pair is judged by the rounds it has.

        Returns
        -------
        list of Gap
            One for each arm dropped now.
        """
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

    def gap(self, arm: Hashable, against: Hashable) -> Gap:
        """How far an arm lies below another, with its interval."""
        rounds = sorted(self._scores[arm].keys() & self._scores[against].keys())
        differences = np.array(
            [self._scores[against][number] - self._scores[arm][number] for number in rounds]
        )
        n = len(differences)
        if n < 2:
            mean = float(differences[0]) if n else math.nan
            return Gap(arm, against, n, mean, -math.inf, math.inf)
        mean = float(differences.mean())
        half = float(stdtrit(n - 1, 1 - self.level) * differences.std(ddof=1) / math.sqrt(n))
        return Gap(arm, against, n, mean, mean - half, mean + half)

    def scores(self, arm: Hashable) -> list[float]:
        """What an arm reached, in the order of the rounds."""
        return [self._scores[arm][number] for number in sorted(self._scores[arm])]

    def _mean(self, arm: Hashable, rounds: list[int]) -> float:
        return float(np.mean([self._scores[arm][number] for number in rounds]))


LAST_RACE = "last race"
DISTURBED = frozenset({"interference", "emulator_late"})
"""Flags of a run that other work was in: steal, foreign load, an emulator kept waiting."""

BETTER = "better than what you had"
NO_BETTER = "no better than what you had"
NO_START = "what you had gave no valid run"
NO_CONCLUSION = "no conclusion"


@dataclass(frozen=True)
class ArmResult:
    """What became of a candidate in a race.

    Parameters
    ----------
    candidate : Candidate
    rounds : int
        In which it has a valid figure.
    score : float or None
        Mean over them.
    gap : Gap or None
        To the arm that the race went to, as known at its end; for one dropped, what dropped it.
    dropped_after : int or None
        Rounds it took to drop it.
    reason : str
        Why it could not be measured; empty if it could.
    """

    candidate: Candidate
    rounds: int
    score: float | None
    gap: Gap | None
    dropped_after: int | None
    reason: str


@dataclass(frozen=True)
class RaceResult:
    """One race of the search, as it ended.

    Parameters
    ----------
    number : int
        From 1.
    factor : str
        What was raced; ``last race`` for the last.
    arms : tuple of ArmResult
    winner : Candidate or None
        Where the search went on from; None where the race told nothing.
    ended : str
        ``one left``, ``tied``, ``rounds``, ``time`` or ``flagged runs``.
    """

    number: int
    factor: str
    arms: tuple[ArmResult, ...]
    winner: Candidate | None
    ended: str


@dataclass
class Outcome:
    """What a search found.

    Attributes
    ----------
    verdict : str
        :data:`BETTER`, :data:`NO_BETTER`, :data:`NO_START` or :data:`NO_CONCLUSION`.
    winner : Candidate
        What to use: the present setting unless another is known to be better.
    gain : Gap or None
        How far the present setting lies below the last race's leader, on that race's samples.
    stages : list of RaceResult
    samples : list of dict
        Every run in the order made, with ``stage``, ``factor``, ``round`` and ``counted``.
    """

    verdict: str
    winner: Candidate
    gain: Gap | None
    stages: list[RaceResult] = field(default_factory=list)
    samples: list[dict] = field(default_factory=list)
