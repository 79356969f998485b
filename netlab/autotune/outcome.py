"""What became of a search: its races, its samples and the verdict."""

from __future__ import annotations

from dataclasses import dataclass, field

from netlab.autotune.candidate import Candidate
from netlab.autotune.race import Gap

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
class Stage:
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
    stages : list of Stage
    samples : list of dict
        Every run in the order made, with ``stage``, ``factor``, ``round`` and ``counted``.
    """

    verdict: str
    winner: Candidate
    gain: Gap | None
    stages: list[Stage] = field(default_factory=list)
    samples: list[dict] = field(default_factory=list)
