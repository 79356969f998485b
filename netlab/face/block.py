"""Measurements on hosts: a block of a study, and a screen of the knobs of a tuning."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pandas as pd

from netlab.analysis import cell_texts, printed
from netlab.analysis.cells import Cells
from netlab.charts.live import live_chart
from netlab.experiment.campaign_record import exclusive, open_visit
from netlab.experiment.progress import Progress
from netlab.experiment.request import VisitRequest
from netlab.experiment.study_hosts import study_lab
from netlab.experiment.visit import VisitResult, run_visit
from netlab.experiment.watcher import RunDone
from netlab.face.changes import Changes, HostChanges
from netlab.files.blocked_loop import interrupts_raise
from netlab.files.recorded_facts import provenance_of
from netlab.files.tables import Preformatted, Sentence, Table
from netlab.notebooks.progress import announce, listening
from netlab.results.columns import INTERVAL_COLUMNS
from netlab.results.frames import frame_of
from netlab.results.store import Store
from netlab.study import Study, durations, schedule
from netlab.units import arrows


@dataclass(frozen=True)
class MeasuredBlock:
    """A measured block; shows its cells."""

    study: Study
    visit: schedule.Visit
    result: VisitResult
    runs: pd.DataFrame
    """Records of the block in all rounds so far, as are the intervals."""
    intervals: pd.DataFrame
    anew: str = ""
    """The reason why records made under other settings do not count; empty if none is left out."""

    @property
    def changes(self) -> Changes:
        """Changes of the tuning on each host; empty if no run had to be measured."""
        visit, diffs = self.visit, self.result.diffs.items()
        of = (visit.path, visit.tuning, visit.mtu_B)
        return Changes(tuple(HostChanges(*of, host, changes) for host, changes in diffs))

    @property
    def notes(self) -> Table | Sentence:
        """Knobs that a host does not have, conflicts, and what knobs changed beside themselves."""
        rows = [{**line, "what": "unsupported"} for line in self.result.unsupported]
        rows += [{**line, "what": "conflict"} for line in self.result.conflicts]
        rows += [{**line, "what": "risk"} for line in self.result.beside]
        if not rows:
            return Sentence("All knobs are supported, and there were no conflicts.")
        frame = pd.DataFrame(rows, columns=["host", "knob", "what", "reason"])
        return Table(frame, "Remarks on knobs")

    @property
    def path(self) -> Sentence:
        """Output of ping and traceroute on the path, and counters of its emulator."""
        runs = self.runs.sort_values("started_at")
        checks = (provenance_of(text)["path_check"] for text in reversed([*runs["provenance"]]))
        printed = next(filter(None, checks), None)
        parts = [printed["ping"], printed["traceroute"]] if printed else []
        emulated = runs[runs["path_packets"].notna()]
        if len(emulated):
            parts.append(_emulated(emulated))
        text = "\n\n".join(parts)
        return Preformatted(text) if text else Sentence("The path was not checked.")

    @property
    def cells(self) -> Table:
        """The cells: groups as rows, stream counts as columns, flagged runs left out."""
        runs, cells = self.runs, self._cells
        rows = {}
        for group in printed.group_names(cells):
            part = cells[cells["group"] == group].sort_values("streams")
            labels = (cell_texts.stream_label(int(streams)) for streams in part["streams"])
            rows[group] = dict(zip(labels, cell_texts.texts(part), strict=True))
        frame = pd.DataFrame.from_dict(rows, orient="index").rename_axis("group")
        flagged = [f"{r.run_id}: {r.flags} ({r.message})" for r in runs.itertuples() if r.flags]
        rounds = runs["round"].nunique()
        note = f"{len(runs)} runs in {rounds} rounds, {len(flagged)} flagged and left out."
        note = f"{note} {'; '.join(flagged)}".rstrip()
        note += f" Records made under other settings do not count: {self.anew}." * bool(self.anew)
        caption = f"{self.visit.block_id}: goodput, MB/s, mean ± half interval"
        return Table(frame, caption, note=note, data=cells.dropna(axis="columns", how="all"))

    def _repr_html_(self) -> str:
        """Chart of the runs, the highest goodput, and the cells; drawn as text, which is fast."""
        runs = self.runs.sort_values("started_at")
        goodputs, cpu = (
            [None if pd.isna(value) else float(value) for value in runs[name]]
            for name in ("goodput_MBps", "busiest_core_percent")
        )
        chart = live_chart(goodputs, cpu, (runs["flags"] != "").tolist())
        return f"{chart}{self.answer._repr_html_()}{self.cells._repr_html_()}"

    @property
    def answer(self) -> Sentence:
        """The highest goodput of the block, in a sentence."""
        known = self._cells.dropna(subset="goodput_MBps")
        if known.empty:
            return Sentence("No run of the block is valid.")
        row = known.loc[known["goodput_MBps"].idxmax()]
        value = cell_texts.with_interval(row["goodput_MBps"], row["low_MBps"], row["high_MBps"])
        streams = cell_texts.stream_label(int(row["streams"])).lower()
        return Sentence(
            f"The highest goodput of the block is {value} MB/s ({arrows(row['group'])}, {streams})."
        )

    @cached_property
    def _cells(self) -> pd.DataFrame:
        return Cells.of(self.study)(self.runs, self.intervals)

    def __repr__(self) -> str:
        return repr(self.cells)


def _emulated(runs: pd.DataFrame) -> str:
    """Counters of the path's emulator over several runs, and how late it sent."""
    return (
        f"netlab's emulator: {runs['path_packets'].sum():,} packets in {len(runs)} runs, "
        f"{runs['path_drops'].sum():,} dropped, of them {runs['path_queue_drops'].sum():,} by a "
        f"full queue; the deepest queue {runs['path_queue_max_B'].max():,} B.\n"
        "All but one in 100 of its writes left at most "
        f"{runs['emulator_late_us'].max():,.0f} us late in the worst run; it took at most "
        f"{runs['emulator_cpu_percent'].max():.0f} % of a core."
    )


def measure(study: Study, request: VisitRequest) -> MeasuredBlock:
    """Measure one visit and show progress; see :meth:`netlab.face.study.Study.measure`."""
    visit, directory, anew = request.visit(study), Path(request.results), ""
    with ExitStack() as stack:
        stack.enter_context(interrupts_raise())
        lab = stack.enter_context(study_lab(study, lab_id=request.lab))
        if not request.part:  # a campaign made the record, and says which runs it lacks
            stack.enter_context(exclusive(directory))
            record, visit = open_visit(study, visit, directory, lab)
            request, anew = record.request(visit, lab=lab, wait_s=request.wait_s), record.anew
        if visit.runs:
            progress = stack.enter_context(_progress(study, visit))
            result = run_visit(study, request, lab=lab, progress=progress)
        else:
            result = VisitResult(frame_of([]), frame_of([], INTERVAL_COLUMNS))
    return MeasuredBlock(study, visit, result, *Store(directory).block(visit.block_id), anew)


@contextmanager
def _progress(study: Study, visit: schedule.Visit) -> Iterator[Callable[[RunDone], None]]:
    """Announce every run to the executor of the notebook; without one, show progress."""
    if listening():
        yield lambda run: announce(run.text)
        return
    each_s = [durations.run_s(study, run) for run in visit.runs]
    with Progress(report=False) as progress:
        progress.start(len(visit.runs), 0, 1, sum(each_s) / len(each_s))
        progress.visit(visit)
        yield progress.run_done
        progress.end()
