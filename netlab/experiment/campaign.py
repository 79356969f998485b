"""Measure a study: round after round, a notebook for each visit, until its cells are precise."""

from __future__ import annotations

import hashlib
import json
import math
import re
import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

import pandas as pd

import netlab.version
from netlab import core
from netlab.analysis.cells import valid
from netlab.errors import BadInput, NetlabError, PathLost
from netlab.experiment.adaptive import Look, disturbed, failed, held_up, look, next_lot
from netlab.experiment.conditions import conditions_of
from netlab.experiment.endpoint import host_facts, study_lab
from netlab.experiment.path_bus import contradiction
from netlab.experiment.request import VisitRequest
from netlab.experiment.watcher import RunDone, Watcher
from netlab.files import paths
from netlab.files.reading import open_regular
from netlab.files.writing import take
from netlab.lab.lab import Lab
from netlab.notebooks.progress import NOTE, WAITED, SilentNotebook
from netlab.results import store as results_store
from netlab.results.conditions import changes, left_out
from netlab.results.store import CampaignLog, Conditions, Store
from netlab.study import Study
from netlab.study.factor_checks import chosen_outer
from netlab.study.factors import Levels
from netlab.study.file import freeze, frozen_text
from netlab.study.schedule import Visit, cell_of, rounds, run_s, visits
from netlab.version import version

if TYPE_CHECKING:
    from netlab.notebooks.kernel import Kernel

# The record of a campaign in a directory of results: its study, its log and its valid runs.


@dataclass
class CampaignRecord:
    study: Study
    directory: Path
    log: CampaignLog
    kept: frozenset[str]
    conditions: Conditions = field(default_factory=Conditions)
    anew: str = ""
    """The reason why records of the campaign before do not count; empty if none is left out."""
    _parts: set[str] = field(default_factory=set)

    @property
    def store(self) -> Store:
        return Store(self.directory)

    @property
    def study_file(self) -> Path:
        return results_store.folder(self.directory, self.log.campaign) / "study.yml"

    def new_part(self, visit: Visit) -> str:
        name = results_store.part_name(self.log.campaign, visit.visit_id, self._parts)
        self._parts.add(name)
        return name

    def request(self, visit: Visit, *, lab: Lab | None = None, wait_s: float = 0.0) -> VisitRequest:
        """The request of a visit of this campaign, with a new part of the store."""
        return VisitRequest(
            study=str(self.study_file),
            block_id=visit.block_id,
            round_number=visit.round,
            results=str(self.directory),
            runs=[run.run_id for run in visit.runs],
            part=self.new_part(visit),
            lab=lab.id if lab is not None else "",
            wait_s=wait_s,
        )

    def expect(self, run_id: str, key: str, *, cell_key: str) -> None:
        """Plan a run that the schedule does not have: records of it count if they have the key.

        It stands while its cell, whose key is given, is measured under these conditions.
        """
        trials = self.conditions.trials.get(cell_key, {})
        if trials.get(run_id) != key:
            changed = {**self.conditions.trials, cell_key: {**trials, run_id: key}}
            self.conditions = replace(self.conditions, trials=changed)
            results_store.write_conditions(self.directory, self.log.campaign, self.conditions)

    def note_look(self, look: dict[str, int]) -> None:
        """Add a look to the log; one after the same round takes its place."""
        before = tuple(one for one in self.log.looks if one["round"] != look["round"])
        self.log = replace(self.log, looks=(*before, look))
        results_store.write_log(self.directory, self.log)


@contextmanager
def exclusive(directory: Path) -> Iterator[None]:
    directory.mkdir(parents=True, exist_ok=True)
    with open_regular(directory / ".lock", "a+b") as lock:
        holder = take(lock.fileno())
        if holder is not None:
            raise NetlabError(
                f"another netlab is measuring into {directory}: {holder}", code="E-RUN-002"
            )
        yield


def check_study(study: Study, directory: Path) -> None:
    """Refuse a directory with results of another study, such as the short form of this one."""
    last = results_store.latest(directory)
    if last is None:
        return
    stored = results_store.read_log(directory, last).study
    if stored != study.name:
        raise BadInput(
            f"holds results of {stored!r}; choose another directory for those of {study.name!r}",
            where=str(directory),
            key="results",
            code="E-RUN-016",
        )


def open_record(
    study: Study,
    directory: Path,
    facts: dict[str, dict[str, dict]],
    lab: Lab | None,
    *,
    outer: Levels = (),
    now: datetime | None = None,
) -> CampaignRecord:
    """Go on with the latest campaign if it measures the same study under the same conditions.

    Otherwise begin a new one. Every record whose key is that of its run now counts in it, whichever
    campaign made it. Links that are not in `facts` stay under the conditions last found. Nothing in
    the directory is changed or removed.
    """
    store = Store(directory)
    key = _digest([frozen_text(study), netlab.version.RELEASE, core.source_digest()])
    last = results_store.latest(directory)
    log = results_store.read_log(directory, last) if last is not None else None
    before = results_store.read_conditions(directory, last)
    records = store.every_record()  # before anything is written: some may be of a newer netlab
    conditions = conditions_of(study, facts, lab, outer, before or Conditions())
    changed = before is None or any(
        before.keys.get(cell, now_key) != now_key for cell, now_key in conditions.keys.items()
    )
    anew = ""
    if log is None or log.key != key or changed:
        if before is not None and changed:
            anew = changes(before, conditions) or "another study file"
        now = now or datetime.now(UTC)
        log = CampaignLog(
            campaign=results_store.new_id(directory, now),
            key=key,
            started_at=now.isoformat(timespec="seconds"),
            study=study.name,
            study_digest=study.digest(),
            version=version(),
            rule="conditions",
        )
        freeze(study, results_store.folder(directory, log.campaign))
    # first, since a campaign without conditions is read as one of an older netlab
    results_store.write_conditions(directory, log.campaign, conditions)
    # hosts that are not measured now stay as before; of several links of a host one may tell
    texts = dict(log.contradictions)
    for host in {host: None for path in facts.values() for host in path}:
        found = (contradiction(study, host, path[host]) for path in facts.values() if host in path)
        texts[host] = next(filter(None, found), "")
    log = replace(log, contradictions={host: text for host, text in texts.items() if text})
    results_store.write_log(directory, log)
    asked = (v for v in visits(study) if v.outer == outer and v.link in facts)
    kept = store.valid_runs(log.campaign, records) & {
        run.run_id for visit in asked for run in visit.runs
    }
    if last is not None and before is None and left_out(store, log.campaign):
        anew = "an older netlab measured them"
    return CampaignRecord(study, directory, log, kept, conditions, anew, set(store.parts()))


def open_visit(
    study: Study, visit: Visit, directory: Path, lab: Lab | None = None
) -> tuple[CampaignRecord, Visit]:
    """The record of a campaign, opened for one visit, and the visit with its missing runs.

    The caller has the lock of the directory, :func:`netlab.experiment.campaign.exclusive`.
    """
    check_study(study, directory)
    facts = host_facts(study, lab=lab, only=visit.link)
    record = open_record(study, directory, facts, lab, outer=visit.outer)
    return record, visit.only({run.run_id for run in visit.runs} - record.kept)


def _digest(content: object) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


# The interrupt of a campaign, for its user: one sentence in place of a traceback.


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
class Campaign:
    study: Study
    directory: Path
    visits: int
    measured: int
    kept: int
    disturbed: int = 0
    failed: int = 0
    flagged: int = 0
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
) -> Campaign:
    """Measure every run of a study that has no valid record yet."""
    levels = chosen_outer(study, outer or {})
    directory = (directory or paths.results_dir(study.name)).absolute()
    campaign: NotebookRounds | None = None
    try:
        with ExitStack() as stack:
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

    def measure(self) -> Campaign:
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
        return Campaign(
            study,
            self.record.directory,
            self.visits,
            self.measured,
            kept,
            disturbed=int(disturbed(runs).sum()),
            failed=int(without.sum()),
            flagged=int(((runs["flags"] != "") & ~without).sum()),
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
