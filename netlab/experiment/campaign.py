"""Measure a study: round after round, a notebook for each visit, until its cells are precise."""

from __future__ import annotations

import math
import re
import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

import pandas as pd

from netlab.analysis.cells import valid
from netlab.errors import PathLost
from netlab.experiment.adaptive import Look, look
from netlab.experiment.campaign_record import CampaignRecord, check_study, exclusive, open_record
from netlab.experiment.found_facts import host_facts
from netlab.experiment.remeasured import disturbed, failed, held_up, next_lot
from netlab.experiment.request import VisitRequest
from netlab.experiment.study_hosts import study_lab
from netlab.experiment.watcher import RunDone, Watcher
from netlab.files import paths
from netlab.files.blocked_loop import interrupts_raise
from netlab.lab.lab import Lab
from netlab.notebooks.progress import NOTE, WAITED
from netlab.notebooks.silence import SilentNotebook
from netlab.results.conditions import left_out
from netlab.results.flags import counted_flags
from netlab.study import Study
from netlab.study.durations import run_s
from netlab.study.factor_checks import chosen_outer
from netlab.study.factors import Levels
from netlab.study.schedule import Visit, cell_of, rounds

if TYPE_CHECKING:
    from netlab.notebooks.kernel import Kernel


class Stopped(KeyboardInterrupt):
    """A campaign was interrupted: its results are stored, its hosts reverted."""

    def __init__(self, text: str, interrupt: KeyboardInterrupt):
        super().__init__(*interrupt.args)
        self.text = text

    def __str__(self) -> str:
        return self.text

    def _render_traceback_(self) -> list[str]:
        return [self.text]


VISIT_NOTEBOOK = "02-measure-block.ipynb"

FIGURES = re.compile(r"[\d.]+ (?:%|s\b)")
"""Shares and times in a visit's notes: notes that differ in these alone have one cause."""

SILENCE_S = 240.0
"""Longest time in s without a finished run, beside the run's own: every wait below is shorter."""


@dataclass(frozen=True)
class CampaignOutcome:
    study: Study
    directory: Path
    visits: int
    measured: int
    kept: int
    disturbed: int = 0
    failed: int = 0
    flagged: int = 0
    flags: str = ""
    """Number of runs with each flag, in words."""
    first_failed: str = ""
    empty_cells: tuple[str, ...] = ()
    looks: tuple[Look, ...] = ()
    out_of_time: bool = False
    waited_s: float = 0.0


def run_study(
    study: Study,
    *,
    directory: Path | None = None,
    outer: Mapping[str, object] | None = None,
    watcher: Watcher | None = None,
    kernel: Kernel | None = None,
) -> CampaignOutcome:
    """Measure every run of a study that has no valid record yet."""
    levels = chosen_outer(study, outer or {})
    directory = (directory or paths.results_dir(study.name)).absolute()
    campaign: NotebookRounds | None = None
    try:
        with ExitStack() as stack:
            stack.enter_context(interrupts_raise())
            stack.enter_context(exclusive(directory))
            check_study(study, directory)
            if kernel is None:
                # Jupyter's client: 0.2 s, unless the caller has begun to start a kernel
                from netlab.notebooks.kernel import Kernel

                kernel = stack.enter_context(Kernel())
            lab = stack.enter_context(study_lab(study))
            stack.push(kernel)  # an interrupted notebook reverts its hosts before a lab is removed
            record = open_record(study, directory, host_facts(study, lab=lab), lab, outer=levels)
            campaign = NotebookRounds(record, lab, kernel, watcher or Watcher(), outer=levels)
            return campaign.measure()
    except KeyboardInterrupt as interrupt:
        # the stack has reverted the hosts, stored the runs and removed a lab of its own
        raise _stopped(campaign, interrupt) from None


def _stopped(campaign: NotebookRounds | None, interrupt: KeyboardInterrupt) -> Stopped:
    if campaign is None:
        return Stopped("Stopped before the first run; run again to start.", interrupt)
    put_back = "hosts put back"
    if campaign.lab is not None:
        put_back = "lab left up" if campaign.lab.state.exists() else "lab removed"
    measured = len(campaign.record.store.runs())
    return Stopped(
        f"Stopped: {measured} of {max(campaign.planned, measured)} runs measured, {put_back}; "
        "run again to go on.",
        interrupt,
    )


def empty_cells(runs: pd.DataFrame, first: Sequence[Visit]) -> tuple[str, ...]:
    """Cells of a study without a valid run, each with the first reason."""
    cell = runs["run_id"].map(cell_of)
    good = set(cell[valid(runs).index])
    reasons = dict(zip(cell[::-1], runs["message"][::-1], strict=True))
    return tuple(
        f"{run.cell_id}: {reasons.get(run.cell_id) or 'not measured'}"
        for visit in first
        for run in visit.runs
        if run.cell_id not in good
    )


def first_reason(runs: pd.DataFrame) -> str:
    if runs.empty:
        return ""
    first = runs.iloc[0]
    return f"{first['run_id']}: {first['message'] or first['flags']}"


class Rounds(ABC):
    """The rounds of a campaign, and the cells that go on in them."""

    lab: Lab | None = None

    def __init__(
        self,
        record: CampaignRecord,
        watcher: Watcher,
        clock: Callable[[], float] = time.monotonic,
        outer: Levels = (),
    ):
        self.record, self.watcher, self.clock, self.outer = record, watcher, clock, outer
        self.study = record.study
        precision = self.study.precision
        budget_s = math.inf if precision is None else precision.budget or math.inf
        self.looks_after = (self.study.min_rounds,) if precision is None else precision.looks
        self.rounds = [
            tuple(visit for visit in each if visit.outer == outer) for each in rounds(self.study)
        ]
        self.until = clock() + budget_s
        self.going: frozenset[str] | None = None  # all
        self.looks: list[Look] = []
        self.visits = self.measured = self.planned = 0
        self.begun: set[str] = set()
        self.lost: dict[str, PathLost] = {}  # links whose hosts failed: their other visits are left
        self.tried: Counter[str] = Counter()
        self.retrying = True
        self.out_of_time = False
        self.waited_s = 0.0

    def measure(self) -> CampaignOutcome:
        """Make all rounds; looks in between decide how long to go on."""
        study, planned, at = self.study, self.rounds, self.looks_after
        kept = len(self.record.kept)
        todo = self._todo(planned[: at[0]])
        self.planned = sum(len(visit.runs) for visit in chain.from_iterable(planned[: at[0]]))
        self.watcher.start(
            self.planned,
            self.planned - sum(len(visit.runs) for visit in todo),
            len(todo),
            fmean(run_s(study, run) for visit in planned[0] for run in visit.runs),
            _until(study, at[0], at[1:]),
            again=study.noise.retries > 0,
        )
        for host, text in self.record.log.contradictions.items():
            self.watcher.note(f"{host}: bus: {text}")
        if self.record.anew:
            self.watcher.note(f"records made under other settings do not count: {self.record.anew}")
        for other in left_out(self.record.store, self.record.log.campaign):
            if other.is_gone:
                self.watcher.note(str(other))
        for before, last in zip((0, *at), at, strict=False):
            for round in planned[before:last]:
                self._round(round, bounded=before > 0)
            self._again(planned[:last])
            if study.precision is None or self.out_of_time:
                break
            self._look(last)
            if not self.looks[-1].going:
                break
        self.watcher.end()
        self._raise_lost()
        campaign = self.record.log.campaign
        for other in left_out(self.record.store, campaign):
            if other.campaign == campaign:
                count = f"{other.runs} of its runs do not count"
                self.watcher.note(
                    f"settings of a host changed while the study was measured: {count}; run again"
                )
        runs = self.record.store.runs()
        without = runs["goodput_MBps"].isna() | failed(runs)
        return CampaignOutcome(
            study,
            self.record.directory,
            self.visits,
            self.measured,
            kept,
            disturbed=int(disturbed(runs).sum()),
            failed=int(without.sum()),
            flagged=int(((runs["flags"] != "") & ~without).sum()),
            flags=counted_flags(runs["flags"]),
            first_failed=first_reason(runs[without]),
            empty_cells=empty_cells(runs, planned[0]),
            looks=tuple(self.looks),
            out_of_time=self.out_of_time,
            waited_s=self.waited_s,
        )

    def measure_one(self, visit: Visit) -> None:
        """Make one visit of a round: of the cells that went on after the test before it."""
        if before := [round for round in self.looks_after if round < visit.round]:
            self._look(before[-1])
        for todo in self._todo(((visit,),)):
            self._visit(todo)
        self._again(((visit,),))
        self._raise_lost()

    def _raise_lost(self) -> None:
        for error in self.lost.values():
            raise error

    def _round(self, planned: Sequence[Visit], *, bounded: bool) -> None:
        """Make a round, while the budget lasts if it is bounded."""
        for visit in self._todo((planned,)):
            if visit.link in self.lost:
                continue
            if bounded and self.clock() > self.until:
                self.out_of_time = True
                return
            waits = visit.link not in self.begun
            self.begun.add(visit.link)
            self._visit(visit, waits=waits)

    def _again(self, planned: Sequence[Sequence[Visit]]) -> None:
        """Measure disturbed runs again, lot by lot, the cells with fewest valid runs first.

        A lot that is disturbed like the runs before it is the last: more would be, too.
        """
        runs = self.record.store.runs()
        before = (disturbed(runs) | held_up(runs)).mean() if len(runs) else 0.0
        while self.retrying and self.clock() <= self.until:
            runs = self.record.store.runs()
            chosen = next_lot(runs, planned, self.tried, self.study, self.going)
            visits = (visit.only(chosen) for visit in chain.from_iterable(planned))
            lot = [visit for visit in visits if visit.runs and visit.link not in self.lost]
            if not lot:
                return
            self.tried.update(chosen)
            self.watcher.again(len(chosen), len(lot))
            for visit in lot:
                if visit.link not in self.lost:
                    self._visit(visit, waits=visit is lot[0])
            runs = self.record.store.runs()
            of_lot = runs[runs["run_id"].isin(chosen)]
            self.retrying = (disturbed(of_lot) | held_up(of_lot)).mean() < before

    def _todo(self, planned: Sequence[Sequence[Visit]]) -> list[Visit]:
        """Visits with runs that go on and have no valid record, in the order of measuring."""
        kept = self.record.kept
        todo = []
        for visit in chain.from_iterable(planned):
            if visit.link in self.lost:
                continue
            left = [run for run in visit.runs if run.run_id not in kept]
            wanted = {r.run_id for r in left if self.going is None or r.cell_id in self.going}
            if wanted:
                todo.append(visit.only(wanted))
        return todo

    def _visit(self, visit: Visit, *, waits: bool = False) -> None:
        """Make a visit, after a wait for quiet of what is left of it."""
        self.watcher.visit(visit)
        wait_s = max(self.study.noise.wait - self.waited_s, 0.0) if waits else 0.0
        try:
            self.make_visit(self.record.request(visit, lab=self.lab, wait_s=wait_s))
        except PathLost as error:
            self.lost[visit.link] = error
            if self.lost.keys() >= {one.link for one in chain.from_iterable(self.rounds)}:
                raise
            self.watcher.note(f"{error}; the visits of the other paths go on")
        else:
            self.visits += 1

    @abstractmethod
    def make_visit(self, request: VisitRequest) -> None:
        """Measure the runs of a visit."""

    def _look(self, last: int) -> None:
        """Test the cells after round `last`, and choose those that go on."""
        later = [round for round in self.looks_after if round > last]
        following = self.rounds[last : later[0]] if later else ()
        runs, left_s = self.record.store.runs(), self.until - self.clock()
        after = look(self.study, runs, last, self.rounds[0], len(following), left_s)
        if not later:
            after = replace(after, going=frozenset(), left_out=0)
        self.looks.append(after)
        self.going = after.going
        self.record.note_look(after.record())
        todo = self._todo(following)
        count = sum(len(visit.runs) for visit in todo)
        self.planned += count
        until = _until(self.study, later[0], later[1:]) if later else ""
        self.watcher.look(after, count, len(todo), until)


class NotebookRounds(Rounds):
    """The rounds of a campaign whose visits are notebooks in a kernel."""

    def __init__(
        self, record: CampaignRecord, lab: Lab | None, kernel: Kernel, *rest: Any, **options: Any
    ):
        super().__init__(record, *rest, **options)
        self.lab, self.kernel = lab, kernel
        self.silent = 0
        self.noted: set[str] = set()

    def make_visit(self, request: VisitRequest) -> None:
        """Execute a notebook; if it falls silent, measure what is missing in a new kernel."""
        try:
            self._execute(request)
            self.silent = 0
        except SilentNotebook as error:
            self.kernel.restart()
            self.silent += 1
            if self.silent > 1:
                raise
            self.watcher.note(f"{error}; what is missing is measured again")
            # of this visit: a run that is measured again has an older record
            done = self.record.store.part("runs", request.part)["run_id"]
            visit = request.visit(self.study)
            missing = visit.only({run.run_id for run in visit.runs} - set(done))
            if missing.runs:
                self.make_visit(self.record.request(missing, lab=self.lab))

    def _execute(self, request: VisitRequest) -> None:
        # papermill: loaded while the kernel still imports; the kernel itself does not need it
        from netlab.notebooks.execution import execute

        runs = request.visit(self.study).runs

        def progressed(message: str) -> None:
            if message.startswith(NOTE):
                text = message.removeprefix(NOTE)
                if (cause := FIGURES.sub("", text)) not in self.noted:
                    self.noted.add(cause)
                    self.watcher.note(text)
            elif message.startswith(WAITED):
                self.waited_s += float(message.removeprefix(WAITED))
            else:
                self.measured += 1
                self.watcher.run_done(RunDone.parsed(message))

        execute(
            paths.notebook(VISIT_NOTEBOOK),
            self.record.directory / "notebooks" / f"{request.part}.ipynb",
            request.parameters(),
            kernel=self.kernel,
            on_progress=progressed,
            silence_s=SILENCE_S + request.wait_s + 4 * max(run_s(self.study, run) for run in runs),
        )


def _until(study: Study, round: int, later: Sequence[int]) -> str:
    """The event that the rounds up to `round` lead to; empty if no more rounds can follow."""
    return f"the test of precision after round {round}" if study.precision and later else ""
