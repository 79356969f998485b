"""The highest rates of datagrams without loss, or with little: MLRsearch over recorded runs.

MLRsearch (draft-ietf-bmwg-mlrsearch, and the library of FD.io that this takes) chooses the load
and the length of each trial from the results of those before. A trial is a run of a cell at one
level of the factor ``pacing_MBps``. The choice depends on results alone, so that a search over
stored trials asks for the same ones: it goes on where it was interrupted.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from netlab.errors import BadInput, NetlabError
from netlab.search.mlrsearch.bounds import RATES
from netlab.study import Study
from netlab.study.factors import id_part
from netlab.study.groups import GroupTiming
from netlab.study.schedule import Run

SHORT_S, LEAST_SHARE, MOST_S = 1.0, 1e-3, 1e9
"""Length of the first trials; lowest load, as a share of the highest, which the study gives; and a
time limit that no search reaches, as an interrupted one goes on."""

COUNTS = ("sent_datagrams", "skipped_datagrams", "socket_drops")
PATH, RECEIVER, SENDER, HIGHEST = "path", "receiver", "sender", "highest rate"


@dataclass(frozen=True)
class Goals:
    """Search goals, one for each loss ratio; the words are MLRsearch's."""

    loss_percent: tuple[float, ...] = (0.0, 0.5)
    width_percent: float = 0.5
    trial_s: float = 1.0
    duration_sum_s: float = 21.0
    exceed_percent: float = 50.0

    def config(self, most_per_s: float) -> Any:
        """The library's configuration; it validates what a goal of it can be."""
        from MLRsearch import Config, SearchGoal  # optional: netlab[mlrsearch]

        shares = {"exceed_ratio": self.exceed_percent, "relative_width": self.width_percent}
        config = Config()
        config.min_load, config.max_load = LEAST_SHARE * most_per_s, most_per_s
        config.search_duration_max, config.warmup_duration = MOST_S, None
        try:
            config.goals = [
                SearchGoal(
                    loss_ratio=percent / 100,
                    initial_trial_duration=min(SHORT_S, self.trial_s),
                    final_trial_duration=self.trial_s,
                    duration_sum=self.duration_sum_s,
                    fail_fast=False,
                    **{name: percent / 100 for name, percent in shares.items()},
                )
                for percent in dict.fromkeys(self.loss_percent)
            ]
        except ValueError as error:
            reason, _, _ = str(error).partition(": ")
            raise BadInput(f"not a goal of MLRsearch: {reason}", code="E-AUTOTUNE-018") from None
        return config


@dataclass(frozen=True)
class Trial:
    """A valid trial: its load in datagrams a second of one direction, and its counts."""

    per_s: float
    seconds: float
    sent: int
    lost: int
    of_socket: int


def limit_of(trials: Sequence[Trial], goal: Any) -> str:
    """The cause that made a load an upper bound: the path, or else an end that did not keep up.

    A load that the sender did not offer says nothing of the path, nor does what the receiver's
    socket dropped.
    """
    most_s = goal.exceed_ratio * sum(trial.seconds for trial in trials)
    for limit, less in ((PATH, 1), (RECEIVER, 0)):
        bad = (t for t in trials if t.lost - less * t.of_socket > goal.loss_ratio * t.sent)
        if sum(trial.seconds for trial in bad) > most_s:
            return limit
    return SENDER


class Disturbed(NetlabError):
    """A trial is flagged as often as it may be measured again."""


class CellSearch:
    """The search of one cell: measures what MLRsearch asks for, and rates its bounds."""

    def __init__(self, study: Study, run: Run, goals: Goals, take: Callable[[Run], dict]):
        self.study, self.run, self.goals, self.take = study, run, goals, take
        self.trials: list[Trial] = []
        self._times: Counter[float] = Counter()

    def measure(self, intended_duration: float, intended_load: float) -> Any:
        """Measure a trial; the name and the words are those of the library."""
        from MLRsearch import MeasurementResult  # optional

        run = self._trial(intended_duration, intended_load)
        record: dict = {}
        for _ in range(1 + self.study.noise.retries):
            last = self.take(run)
            record = record if last["flags"] else last
            # a sender that lacked a CPU for a moment is a disturbance too, one that does so each
            # time is the sender's limit
            if record and not record["skipped_datagrams"]:
                break
        if not record:
            text = f"{run.run_id} is flagged {last['flags']}: {last['message']}"
            remedy = "search again, which repeats no valid trial, or give a lower highest rate"
            raise Disturbed(f"{text}; {remedy}", code="E-AUTOTUNE-022")
        counts = (record.get(name) for name in COUNTS)
        sent, unsent, of_socket = (0 if n is None or pd.isna(n) else int(n) for n in counts)
        # another tool's sender may count a last one that its receiver does not take for one
        received = round(sent * (1 - record["lost_percent"] / 100))
        trial = Trial(intended_load, intended_duration, sent, sent - received, of_socket)
        self.trials.append(trial)
        return MeasurementResult(
            intended_duration=intended_duration,
            intended_load=intended_load,
            offered_count=sent,
            forwarding_count=received,
            intended_count=sent + unsent,
        )

    def _trial(self, seconds: float, per_s: float) -> Run:
        """The run of a trial: without a warm-up, as the datagrams of the whole run count."""
        run = self.run
        each_MBps = float(f"{per_s * run.group.record_length_B / run.streams / 1e6:.6g}")
        self._times[each_MBps] += 1
        number, level = self._times[each_MBps], (("pacing_MBps", each_MBps),)
        times = {"seconds": round(seconds, 3), "warmup_s": 0.0}
        timing = (run.group.timing or GroupTiming()).model_copy(update=times)
        return replace(
            run,
            run_id=f"{run.cell_id}{id_part(level, '@')}@{number}",
            order=run.order * 1000 + len(self.trials),
            group=run.group.model_copy(update={"timing": timing}),
            round=number,
            levels=(*run.levels, *level),
        )

    def rows(self) -> Iterator[dict]:
        """Search, and return a row for each goal; without bounds if the search is disturbed."""
        from MLRsearch import MultipleLossRatioSearch  # optional

        run, goals, message = self.run, self.goals, ""
        each_MBps, size_B = (
            run.study(self.study).socket.pacing_MBps or 0.0,
            run.group.record_length_B,
        )
        config = goals.config(each_MBps * run.streams * 1e6 / size_B)
        try:
            results = MultipleLossRatioSearch(config=config).search(measurer=self)
        except Disturbed as error:
            results, message = {}, str(error)
        for goal in config.goals:
            limit, per_s = self._bounds(goal, results[goal]) if results else ("", {})
            rates = {name: per_s.get(name, math.nan) for name in RATES}
            yield {
                "group": run.group.name,
                "cell": run.cell_id,
                "streams": run.streams,
                "record_length_B": size_B,
                "loss_percent": 100 * goal.loss_ratio,
                **{f"{name}_MBps": rate * size_B / 1e6 for name, rate in rates.items()},
                **{f"{name}_per_s": rate for name, rate in rates.items()},
                "limit": limit,
                "trials": len(self.trials),
                "trials_s": sum(trial.seconds for trial in self.trials),
                **{name: value for name, value in vars(goals).items() if name != "loss_percent"},
                "message": message,
            }

    def _bounds(self, goal: Any, result: Any) -> tuple[str, dict[str, float]]:
        """The limit of a goal's rate, and its bounds without those that are not the path's."""
        each = (result.relevant_lower_bound, result.relevant_upper_bound)
        loads = zip(RATES, (*each, result.conditional_throughput), strict=True)
        rates = {name: float(load) for name, load in loads if load is not None}
        of_upper = [t for t in self.trials if math.isclose(t.per_s, rates.get("upper", 0.0))]
        limit = limit_of(of_upper, goal) if of_upper else HIGHEST
        return limit, {n: rate for n, rate in rates.items() if limit == PATH or n == "lower"}
