"""A measured block: what was changed, what a host lacks, the path, and the measured table."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
from tqdm import tqdm

from netlab.analysis import printed
from netlab.analysis.cells import Cells
from netlab.experiment.block import BlockResult, run_block
from netlab.experiment.endpoint import study_lab
from netlab.face.changes import Changes, HostChanges
from netlab.face.shown import Html
from netlab.files.tables import Table
from netlab.results import Store
from netlab.study import Study, schedule


@dataclass(frozen=True)
class MeasuredBlock:
    """A measured block; shows its cells.

    Parameters
    ----------
    study : Study
        The design it belongs to.
    block : Block
        Its runs as planned.
    result : BlockResult
        Its runs as measured, and what the tuning met.
    """

    study: Study
    block: schedule.Block
    result: BlockResult

    @property
    def changes(self) -> Changes:
        """What the tuning changed on each host; empty if no run had to be measured."""
        block = self.block
        return Changes(
            tuple(
                HostChanges(block.path, block.tuning, block.mtu_B, host, plan.changes)
                for host, plan in self.result.diffs.items()
            )
        )

    @property
    def notes(self) -> Table | Html:
        """Knobs that a host does not have, and conflicts with other programs."""
        rows = [{**line, "what": "unsupported"} for line in self.result.unsupported]
        rows += [{**line, "what": "conflict"} for line in self.result.conflicts]
        if not rows:
            return Html.sentence("All knobs are supported, and there were no conflicts.")
        frame = pd.DataFrame(rows, columns=["host", "knob", "what", "reason"])
        return Table(frame, "Knobs that were not applied, and why")

    @property
    def path(self) -> Html:
        """Output of ping and traceroute on the path, and counters of its emulator."""
        runs = self.result.runs.sort_values("started_at")
        checks = [json.loads(text).get("path_check") for text in runs["provenance"]]
        parts = [*next(filter(None, reversed(checks)), {}).values()]
        emulated = runs[runs["path_packets"].notna()]
        if len(emulated):
            parts.append(_emulated(emulated))
        text = "\n\n".join(parts)
        return Html.printed(text) if text else Html.sentence("The path was not checked.")

    @property
    def cells(self) -> Table:
        """The cells: groups as rows, stream counts as columns, flagged runs left out."""
        runs = self.result.runs
        cells = Cells(confidence=self.study.confidence)(runs, self.result.intervals)
        rows = {}
        for group in printed.group_names(cells):
            part = cells[cells["group"] == group].sort_values("streams")
            rows[group] = {
                printed.stream_label(int(row["streams"])): printed.with_interval(
                    row["goodput_MBps"], row["low_MBps"], row["high_MBps"]
                )
                for row in part.to_dict("records")
            }
        frame = pd.DataFrame.from_dict(rows, orient="index").rename_axis("group")
        flagged = runs[runs["flags"] != ""]
        note = f"{len(runs)} runs, {len(flagged)} flagged and left out."
        if len(flagged):
            note += " " + "; ".join(
                f"{row.run_id}: {row.flags} ({row.message})" for row in flagged.itertuples()
            )
        caption = f"{self.block.block_id}: goodput, MB/s, mean ± half interval"
        return Table(frame, caption, note=note)

    def _repr_html_(self) -> str:
        return self.cells._repr_html_()

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


def measure(
    study: Study, block_id: str, directory: Path, lab: str, progress_file: str | Path
) -> MeasuredBlock:
    """Measure one block with a progress bar; see :meth:`netlab.face.study.Study.measure`."""
    block = schedule.block(study, block_id)
    with study_lab(study, lab_id=lab) as up, _progress(block, progress_file) as progress:
        result = run_block(study, block, Store(directory), lab=up, progress=progress)
    return MeasuredBlock(study, block, result)


@contextmanager
def _progress(block: schedule.Block, progress_file: str | Path) -> Iterator[Callable[[str], None]]:
    """Draw a bar, and add a line to the file for every run."""
    with tqdm(total=len(block.runs), desc=block.block_id, unit="run", mininterval=1.0) as bar:

        def done(run_id: str) -> None:
            bar.update(1)
            if str(progress_file):
                with open(progress_file, "a", encoding="utf-8") as lines:
                    lines.write(f"{run_id}\n")

        yield done
