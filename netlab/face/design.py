"""The table of a study: groups, factors, rounds and time."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

import pandas as pd

from netlab.analysis import cell_texts
from netlab.analysis.trust import counted
from netlab.experiment.tally import duration
from netlab.files.tables import Table
from netlab.study import Group as GroupDesign
from netlab.study import Study as Design
from netlab.study import durations, schedule
from netlab.study.factors import level_text


def design_table(design: Design) -> Table:
    """Groups of a study; its factors, rounds and time in the note."""
    rows = [
        (
            *(group.name, group.path, design.bus_MBps(group.path)),
            *(_levels_of(design, group, option) for option in ("record_length_B", "buffer_B")),
        )
        for group in design.groups
    ]
    frame = pd.DataFrame(rows, columns=["group", "path", "bus_MBps", "record_B", "buffer_B"])
    each = schedule.rounds(design)[0]
    todo = [run for visit in each for run in visit.runs]
    levels = "; ".join(
        f"{cell_texts.tuning_label(level)}: "
        + ("MTU as found" if level.mtus_B is None else f"{', '.join(map(str, level.mtus_B))} B")
        for level in design.tunings
    )
    took_s = durations.measuring_s(design, todo)
    time = f"{took_s:.1f} s" if took_s < 10 else duration(took_s)
    rounds, precision = counted(design.max_rounds, "round"), design.precision
    if precision is not None:
        rounds = (
            f"{precision.min_rounds} to {precision.max_rounds} rounds, until a cell is within "
            f"{precision.half_width_percent:g} %,"
        )
    note = (
        f"{levels}. Streams {', '.join(map(str, design.streams))}; {rounds} of "
        f"{counted(len(todo), 'run')} in {counted(len(each), 'block')}, each "
        f"{design.timing.text()}: {time} of measuring a round."
    )
    if further := "; ".join(_further(design)):
        note = f"{further}. {note}"
    caption = f"{design.title} ({design.name})"
    return Table(frame, caption, formats={"bus_MBps": ".0f"}, note=note)


def _levels_of(design: Design, group: GroupDesign, option: str) -> object:
    """The option of a group; a list of its levels where it is a factor."""
    levels = getattr(group.factors.over(design.factors), option)
    return getattr(group, option) if levels is None else ", ".join(map(str, levels))


def _further(design: Design) -> Iterator[str]:
    """The further factors and their levels; those of single groups with the group's name."""
    factors: list[tuple[str, Mapping]] = [
        ("", design.factors.given()),
        (", set by hand", design.outer),
    ]
    for group in design.groups:
        factors.insert(-1, (f" ({group.name})", group.factors.given()))
    for where, levels in factors:
        for name, each in levels.items():
            yield f"{name}{where}: {', '.join(map(level_text, each))}"


LAST = ("round", "seconds")
"""Last columns of a plan."""


def planned_runs(design: Design) -> pd.DataFrame:
    """Every run of a study in the order of measuring; see :meth:`netlab.Study.plan`."""
    rows = [
        {
            "order": run.order,
            "block": visit.block_id,
            "group": run.group.name,
            "path": visit.path,
            "direction": run.group.direction,
            "tuning": visit.tuning,
            "mtu_B": visit.mtu_B,
            "streams": run.streams,
            **dict(run.levels),
            "round": run.round,
            "seconds": math.nan
            if run.group.records is not None
            else durations.measuring_s(design, (run,)),
        }
        for visit in schedule.visits(design)
        for run in visit.runs
    ]
    frame = pd.DataFrame(rows)
    return frame[[*(name for name in frame if name not in LAST), *LAST]]
