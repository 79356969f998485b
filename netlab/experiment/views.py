"""What the measuring notebooks show: a call, a table, what it means."""

from __future__ import annotations

import html
import json
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
from tqdm import tqdm

from netlab import study as studies
from netlab.analysis import printed
from netlab.analysis.cells import Cells
from netlab.core import Report
from netlab.experiment.block import BlockResult, run_block
from netlab.experiment.endpoint import study_lab
from netlab.files import paths
from netlab.files.tables import Table
from netlab.results import Store
from netlab.study import Study
from netlab.study import schedule as plan


@dataclass(frozen=True)
class Html:
    """A piece of HTML with a plain-text twin."""

    markup: str
    text: str

    def _repr_html_(self) -> str:
        return self.markup

    def __repr__(self) -> str:
        return self.text


@dataclass(frozen=True)
class MeasuredBlock:
    """A measured block, ready to be shown."""

    study: Study
    block: plan.Block
    result: BlockResult

    @property
    def measured(self) -> int:
        """Runs measured now."""
        return self.result.measured

    @property
    def kept(self) -> int:
        """Runs that had a valid record."""
        return self.result.kept

    def shown_diffs(self) -> list[Html]:
        """The tuning's diff of each host."""
        shown = []
        for host, changes in self.result.diffs.items():
            heading = f"<h4>{html.escape(host)}</h4>"
            shown.append(Html(heading + changes.to_html(), f"{host}\n{changes.to_text()}"))
        return shown or [Html("<p>Nothing was measured now.</p>", "Nothing was measured now.")]


def measure_block(
    study: str,
    block_id: str,
    *,
    results: str = "",
    lab: str = "",
    progress_file: str = "",
) -> MeasuredBlock:
    """Measure one block, with a progress bar.

    Parameters
    ----------
    study : str
        Study file or name, see :func:`netlab.files.paths.study_file`.
    block_id : str
        ``path@tuning@MTU``.
    results : str
        Directory for the results; empty for ``data/results/<name>``.
    lab : str
        Id of a lab that is up; empty for one of its own, if the study has lab hosts.
    progress_file : str
        A line is added for every run that is done; empty for none.
    """
    loaded = studies.load(paths.study_file(study))
    block = plan.block(loaded, block_id)
    store = Store(Path(results) if results else paths.results_dir(loaded.name))
    with study_lab(loaded, lab_id=lab) as up, _progress(block, progress_file) as progress:
        result = run_block(loaded, block, store, lab=up, progress=progress)
    return MeasuredBlock(loaded, block, result)


@contextmanager
def _progress(block: plan.Block, progress_file: str):
    """A bar in the notebook and a line in the file for every run."""
    with tqdm(total=len(block.runs), desc=block.block_id, unit="run", mininterval=1.0) as bar:

        def done(run_id: str) -> None:
            bar.update(1)
            if progress_file:
                with open(progress_file, "a", encoding="utf-8") as lines:
                    lines.write(f"{run_id}\n")

        progress: Callable[[str], None] = done
        yield progress


def block_cells(shown: MeasuredBlock) -> Table:
    """The block's cells: groups as rows, stream counts as columns."""
    runs = shown.result.runs
    cells = Cells(confidence=shown.study.confidence)(runs, shown.result.intervals)
    rows = {}
    for group in printed.group_names(cells):
        part = cells[cells["group"] == group].sort_values("streams")
        rows[group] = {
            printed.stream_label(int(row["streams"])): printed.with_interval(
                row["goodput_MBps"], row["half_width_MBps"]
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
    return Table(frame, f"{shown.block.block_id}: goodput, MB/s, mean ± half interval", note=note)


def block_path(shown: MeasuredBlock) -> Html:
    """ping and traceroute of the block's path as printed, and what an emulator of it did."""
    runs = shown.result.runs.sort_values("started_at")
    checks = [json.loads(text).get("path_check") for text in runs["provenance"]]
    parts = [*next(filter(None, reversed(checks)), {}).values()]
    emulated = runs[runs["path_packets"].notna()]
    if len(emulated):
        parts.append(_emulated(emulated))
    printed = "\n\n".join(parts)
    if not printed:
        return Html("<p>The path was not looked at.</p>", "The path was not looked at.")
    return Html(f"<pre>{html.escape(printed)}</pre>", printed)


def _emulated(runs: pd.DataFrame) -> str:
    """What the path's emulator did in runs that had one, and how well it kept time."""
    return (
        f"netlab's emulator: {runs['path_packets'].sum():,} packets in {len(runs)} runs, "
        f"{runs['path_drops'].sum():,} dropped, of them {runs['path_queue_drops'].sum():,} by a "
        f"full queue; the deepest queue {runs['path_queue_max_B'].max():,} B.\n"
        "All but one in 100 of its writes left at most "
        f"{runs['emulator_late_us'].max():,.0f} us late in the worst run; it took at most "
        f"{runs['emulator_cpu_percent'].max():.0f} % of a core."
    )


def block_notes(shown: MeasuredBlock) -> Table | Html:
    """Unsupported knobs and conflicts of the block."""
    rows = [{**line, "what": "unsupported"} for line in shown.result.unsupported]
    rows += [{**line, "what": "conflict"} for line in shown.result.conflicts]
    if not rows:
        return Html("<p>Everything was supported, nothing conflicted.</p>", "Nothing to report.")
    frame = pd.DataFrame(rows, columns=["host", "knob", "what", "reason"])
    return Table(frame, "Knobs that were not applied, and why")


def study_design(study: Study) -> Table:
    """The study's groups, factors and size."""
    rows = [
        {
            "group": group.name,
            "path": group.path,
            "bus_MBps": study.bus_MBps(group.path),
            "record_B": group.record_length_B,
            "buffer_B": group.buffer_B,
        }
        for group in study.groups
    ]
    planned = plan.blocks(study)
    runs = sum(len(block.runs) for block in planned)
    levels = "; ".join(
        f"{level.label or level.name}: {_mtus_text(level.mtus_B)}" for level in study.tunings
    )
    timing = study.timing
    note = (
        f"{levels}. Streams {', '.join(map(str, study.streams))}; {timing.repeats} repeats of "
        f"{timing.seconds:g} s after {timing.warmup_s:g} s of warm-up: {runs} runs in "
        f"{len(planned)} blocks, {plan.measuring_s(study, runs) / 60:.1f} minutes of measuring."
    )
    return Table(pd.DataFrame(rows), study.title, formats={"bus_MBps": ".0f"}, note=note)


def _mtus_text(mtus_B: tuple[int, ...] | None) -> str:
    return "MTU as found" if mtus_B is None else f"{', '.join(map(str, mtus_B))} B"


def shown_transfer(sink: Report, gen: Report) -> Table:
    """One in-process transfer: its rate, its ledger and what TCP said."""
    goodput_MBps = sink.window_bytes / (sink.window_t1_ns - sink.window_t0_ns) * 1e3
    counts = {
        "given to send()": gen.total_bytes,
        "read by the sink": sink.total_bytes,
        "sum of the sink's intervals": sink.interval_sum_bytes,
        "sum of the sender's intervals": gen.interval_sum_bytes,
    }
    closes = len(set(counts.values())) == 1
    rtts_us = [stream["tcp"]["rtt_us"] for stream in gen.per_stream]
    rows = [
        ("goodput at the sink", f"{goodput_MBps:,.0f} MB/s"),
        *((what, f"{count:,} B") for what, count in counts.items()),
        ("ledger", "closes to the byte" if closes else "does not close"),
        ("RTT, mean of streams", f"{sum(rtts_us) / len(rtts_us):,.0f} us"),
    ]
    frame = pd.DataFrame(rows, columns=["what", "value"])
    return Table(frame, f"A transfer over loopback, {sink.streams} streams")


def link(path: Path) -> Html:
    """A link to a file on this machine."""
    address = path.resolve().as_uri()
    return Html(f'<a href="{html.escape(address)}">{html.escape(str(path))}</a>', str(path))
