"""The search: race each factor in turn until no factor improves, then a last race.

Coordinate passes start from the current settings. Each factor is raced with the others fixed, and
the search continues from the race's leader. The first pass spreads levels over the whole range, as
time permits; later passes race neighbours. The passes end when no factor improves, or when only the
time of the last race is left. The last race compares the best few with the current settings on new
samples, since the samples that selected a winner are biased in its favour. One finalist changes
only factors whose current level a race dropped. Of finalists within 1 % of the leader, the one
with the fewest changes wins.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from statistics import fmean

from netlab.results.flags import Flag, Validity, split_flags
from netlab.search.autotune.candidates import LAST_RACE, Candidate, named, neighbours, thinned
from netlab.search.autotune.race import MAX_ROUNDS, MIN_ROUNDS, Gap, Race
from netlab.search.autotune.request import Objective
from netlab.units import plain

DISTURBED = frozenset({Flag.INTERFERENCE, Flag.EMULATOR_LATE})
"""Flags of a run disturbed by other work: steal, foreign load, a late emulator."""

BETTER = "better than what you had"
NO_BETTER = "no better than what you had"
NO_START = "what you had gave no valid run"
NO_CONCLUSION = "no conclusion"


@dataclass(frozen=True)
class ArmResult:
    candidate: Candidate
    rounds: int
    score: float | None
    gap: Gap | None
    dropped_after: int | None
    reason: str


@dataclass(frozen=True)
class RaceResult:
    number: int
    factor: str
    arms: tuple[ArmResult, ...]
    winner: Candidate | None
    ended: str


@dataclass
class SearchResult:
    verdict: str
    winner: Candidate
    gain: Gap | None = None
    stages: list[RaceResult] = field(default_factory=list)
    samples: list[dict] = field(default_factory=list)


LAST_RACE_SHARE = 0.35
"""Share of the measuring time reserved for the last race."""

FINALISTS = 3
"""Finalists of the last race, besides the current settings."""

SPARE_ROUNDS = 2
"""Reduce the finalists until the last race has time for this many times the minimum of rounds,
since runs may be flagged."""

STAGE_ROUNDS = 6
RETRIES = 2
"""Repeats of a flagged run within its round."""

STRIKES = 3
"""Withdraw a candidate after this many consecutive failures of its own."""

ROUNDS_FACTOR = 2
"""Limit of a race, in multiples of its rounds, when flagged runs leave rounds incomplete."""

LEAST_GAIN = 0.01
"""Smallest relevant gain, in log units: the search moves only for more than 1 %."""

OUTSIDE = frozenset(flag for flag in Flag if flag.validity is Validity.DISTURBED)
"""Flags caused by the machine, not by the candidate."""

REFUSED = frozenset({"bad_request", "refused", "limit"})
"""Error codes of an agent that a retry cannot fix."""


@dataclass
class Search:
    start: Candidate
    levels: Mapping[str, tuple]
    take: Callable[[Candidate], dict]
    objective: Objective
    end_s: float
    run_s: float
    now: Callable[[], float]
    generator: random.Random
    error: float = 0.05
    count_disturbed: bool = False
    say: Callable[[str], None] = lambda line: None

    def __post_init__(self) -> None:
        self._walls = [self.run_s]
        self._sure = self.start
        self.result = SearchResult(NO_CONCLUSION, self.start)
        self.stages, self.samples = self.result.stages, self.result.samples

    def run(self) -> SearchResult:
        passes_end_s = self.end_s - LAST_RACE_SHARE * (self.end_s - self.now())
        best, raced = self.start, set()
        while True:
            before, conclusive = best, True
            factors = [name for name, levels in self.levels.items() if len(levels) > 1]
            for at, name in enumerate(factors):
                share_s = (passes_end_s - self.now()) / (len(factors) - at)
                arms = self._arms(best, name, share_s)
                new = {arm for arm in arms if (name, arm) not in raced} - {best}
                if not new or self._rounds(share_s, len(arms)) < MIN_ROUNDS:
                    continue
                stage = self._race(name, arms, best, self.now() + share_s, STAGE_ROUNDS)
                if stage.winner is None:
                    # All runs were flagged: retry in a later pass.
                    conclusive = conclusive and all(arm.reason for arm in stage.arms)
                    continue
                raced |= {(name, arm) for arm in arms}
                best = stage.winner
            left_s = passes_end_s - self.now()
            if (best == before and conclusive) or left_s < 2 * MIN_ROUNDS * self.run_s:
                break
        return self._last_race(best)

    def _arms(self, best: Candidate, name: str, share_s: float) -> list[Candidate]:
        """The candidates of a race: as many levels as time permits."""
        levels, here = self.levels[name], best.level(name)
        most = int(share_s / self.run_s / (MIN_ROUNDS + 1))
        chosen = (neighbours if name in self._raced() else thinned)(levels, here, most)
        return [best.at(name, level) for level in chosen]

    def _raced(self) -> set[str]:
        return {stage.factor for stage in self.stages if stage.winner is not None}

    def _rounds(self, time_s: float, arms: int) -> int:
        return int(time_s / (arms * self.run_s))

    def _last_race(self, best: Candidate) -> SearchResult:
        """Race the best few against the current settings."""
        finalists = [self.start]
        for candidate in (best, self._sure, *self._runners_up(best)):
            if candidate not in finalists and len(finalists) <= FINALISTS:
                finalists.append(candidate)
        if len(finalists) == 1:
            # Every other candidate was dropped or failed in a race against the start.
            raced = self._raced()
            tried = all(stage.factor in raced for stage in self.stages)
            return replace(self.result, verdict=NO_BETTER if raced and tried else NO_CONCLUSION)
        rounds = self._rounds(self.end_s - self.now(), len(finalists))
        while rounds < SPARE_ROUNDS * MIN_ROUNDS and len(finalists) > 2:
            finalists.pop()
            rounds = self._rounds(self.end_s - self.now(), len(finalists))
        rounds = max(MIN_ROUNDS, min(rounds, MAX_ROUNDS))
        stage = self._race(LAST_RACE, finalists, None, self.end_s, rounds)
        (start,) = (arm for arm in stage.arms if arm.candidate == self.start)
        if start.reason and stage.winner is not None:
            return replace(self.result, verdict=NO_START, winner=stage.winner)
        if start.dropped_after is not None and stage.winner is not None:
            return replace(self.result, verdict=BETTER, winner=stage.winner, gain=start.gap)
        rivals = [arm.gap for arm in stage.arms if arm.candidate != self.start and arm.gap]
        gain = start.gap or min(rivals, key=lambda gap: gap.mean, default=None)
        judged = gain is not None and gain.rounds >= MIN_ROUNDS
        return replace(self.result, verdict=NO_BETTER if judged else NO_CONCLUSION, gain=gain)

    def _runners_up(self, best: Candidate) -> list[Candidate]:
        """Arms tied with the winner of their race, smallest gap first; later races take precedence.

        An arm of an earlier race counts only if it differs from `best` in that race's factor alone:
        otherwise its gap belongs to other levels.
        """
        gaps: dict[Candidate, float] = {}
        for stage in self.stages:
            for arm in stage.arms:
                near = arm.candidate == best.at(stage.factor, arm.candidate.level(stage.factor))
                if near and arm.gap and not arm.reason and arm.dropped_after is None:
                    gaps[arm.candidate] = arm.gap.mean
        gaps.pop(best, None)
        return sorted(gaps, key=gaps.__getitem__)

    def _race(
        self,
        name: str,
        arms: list[Candidate],
        here: Candidate | None,
        end_s: float,
        most_rounds: int,
    ) -> RaceResult:
        """Run a race; `here` is the search's current position, None in the last race."""
        end_s = min(end_s, self.end_s)
        last = name == LAST_RACE
        rounds = max(MIN_ROUNDS, min(most_rounds, self._rounds(end_s - self.now(), len(arms))))
        race = Race(
            arms,
            error=self.error,
            max_rounds=rounds,
            margin=LEAST_GAIN,
            keep=self.start if last else None,
        )
        self.say(
            f"{name}: {'; '.join(named(name, arm) for arm in arms)}: "
            f"{rounds} rounds at most, {max(0.0, end_s - self.now()):.0f} s"
        )
        number, strikes, ended = 0, dict.fromkeys(arms, 0), ""
        while not race.finished and not ended:
            number += 1
            if not self._round(race, name, number, strikes, end_s):
                ended = "time"
            elif number >= ROUNDS_FACTOR * rounds:
                ended = "flagged runs"
            for gap in race.look(last=bool(ended)):
                self.say(f"  out: {self._dropped(name, gap)}")
            self.say(f"  round {number}: {self._standing(race, name)}")
        winner = self._simplest(race) if here is None else self._onward(race, name, here)
        alone = "tied" if race.tied else "rounds"
        ended = ended or ("one left" if len(race.alive) <= 1 else alone)
        results = tuple(self._result(race, arm, winner) for arm in arms)
        stage = RaceResult(len(self.stages) + 1, name, results, winner, ended)
        self.stages.append(stage)
        if winner is not None:
            self.say(f"  ended ({ended}): {named(name, winner)}")
        return stage

    def _onward(self, race: Race, name: str, here: Candidate) -> Candidate | None:
        """The next position of the search: the race's leader, unless its lead is too small."""
        winner = race.leader
        if winner is None or winner == here:
            return winner
        measured = here not in race.withdrawn
        if measured and race.gap(here, winner).mean < LEAST_GAIN:
            return here
        if here not in race.alive:
            self._sure = self._sure.at(name, winner.level(name))
        return winner

    def _simplest(self, race: Race) -> Candidate | None:
        """Of the arms equal to the leader of a last race, the one with the fewest changes."""
        leader = race.leader
        if leader is None or self.start in race.alive:
            return leader

        def changes(arm: Candidate) -> int:
            return len(set(asdict(arm).items()) - set(asdict(self.start).items()))

        good = [
            arm
            for arm in race.arms
            if arm not in (self.start, *race.withdrawn) and race.gap(arm, leader).mean < LEAST_GAIN
        ]
        if self.start in race.dropped:
            good = [arm for arm in good if race.gap(self.start, arm).low > 0]
        return min(good, key=lambda arm: (changes(arm), race.gap(arm, leader).mean), default=leader)

    def _round(
        self, race: Race, name: str, number: int, strikes: dict[Candidate, int], end_s: float
    ) -> bool:
        """Measure every running arm once, repeat flagged runs; False when time is up."""
        waiting = race.running
        for _ in range(1 + RETRIES):
            self.generator.shuffle(waiting)
            flagged = []
            for arm in waiting:
                if self.now() + self.run_s > end_s:
                    return False
                sample = self._sample(arm, name, number)
                score = self.objective.score(sample)
                if sample["counted"] and score is not None:
                    strikes[arm] = 0
                    race.add(number, arm, score)
                    continue
                own = not set(sample["flags"].split(",")) <= OUTSIDE
                strikes[arm] += own
                refused = sample.get("code") in REFUSED
                if (refused or strikes[arm] >= STRIKES) and arm in race.alive:
                    race.withdraw(arm, sample["message"] or sample["flags"])
                    self.say(f"  out: {named(name, arm)}: {race.withdrawn[arm]}")
                else:
                    flagged.append(arm)
            waiting = flagged
            if not waiting or race.finished:
                break
        return True

    def _sample(self, arm: Candidate, name: str, number: int) -> dict:
        started_s = self.now()
        sample = self.take(arm)
        self._walls.append(self.now() - started_s)
        self.run_s = fmean(self._walls)  # expected of the next: those so far, and the estimate
        flags = set(split_flags(sample["flags"]))
        valid = not flags or (self.count_disturbed and flags <= DISTURBED)
        sample = {
            "order": len(self.samples),
            "stage": len(self.stages) + 1,
            "factor": name,
            "round": number,
            **arm.as_dict(),
            **sample,
            "counted": valid and self.objective.score(sample) is not None,
        }
        self.samples.append(sample)
        return sample

    def _result(self, race: Race, arm: Candidate, winner: Candidate | None) -> ArmResult:
        scores = race.scores(arm)
        dropped = race.dropped.get(arm)
        gap = dropped
        if winner is not None and arm != winner and (gap is None or arm == race.keep):
            gap = race.gap(arm, winner)
        return ArmResult(
            candidate=arm,
            rounds=len(scores),
            score=fmean(scores) if scores else None,
            gap=gap,
            dropped_after=dropped.rounds if dropped else None,
            reason=race.withdrawn.get(arm, ""),
        )

    def _standing(self, race: Race, name: str) -> str:
        left = f"{len(race.alive)} left, {len(race.complete_rounds)} complete"
        if (leader := race.leader) is None:
            return left
        value = self.objective.value(fmean(race.scores(leader)))
        unit = self.objective.unit
        return f"{left}; {named(name, leader)} leads with {plain(value, '.4g')} {unit}"

    def _dropped(self, name: str, gap: Gap) -> str:
        low, mean, high = map(self.objective.lag_percent, (gap.low, gap.mean, gap.high))
        return (
            f"{named(name, gap.arm)}, {mean:.1f} % worse than "
            f"{named(name, gap.against)} ({low:.1f} % to {high:.1f} %) "
            f"in {gap.rounds} rounds"
        )
