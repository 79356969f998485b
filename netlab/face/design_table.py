"""The table of a study: groups, factors, rounds and time."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from netlab.analysis import printed
from netlab.analysis.trust import counted
from netlab.experiment.tally import duration
from netlab.files.tables import Table
from netlab.study import Group as GroupDesign
from netlab.study import Study as Design
from netlab.study import schedule
from netlab.study.factors import level_text


def design_table(design: Design) -> Table:
    """Groups of a study; its factors, rounds and time in the note."""
    rows = [
        {
            "group": group.name,
            "path": group.path,
            "bus_MBps": design.bus_MBps(group.path),
            "record_B": _levels_of(design, group, "record_length_B"),
            "buffer_B": _levels_of(design, group, "buffer_B"),
        }
        for group in design.groups
    ]
    each = schedule.rounds(design)[0]
    todo = [run for visit in each for run in visit.runs]
    levels = "; ".join(
        f"{printed.tuning_label(level)}: {_mtus_text(level.mtus_B)}" for level in design.tunings
    )
    timing = design.timing
    note = (
        f"{levels}. Streams {', '.join(map(str, design.streams))}; {_rounds_text(design)} of "
        f"{counted(len(todo), 'run')} in {counted(len(each), 'block')}, each {timing.text()}: "
        f"{_time_text(schedule.measuring_s(design, todo))} of measuring a round."
    )
    if further := _further_text(design):
        note = f"{further}. {note}"
    caption = f"{design.title} ({design.name})"
    return Table(pd.DataFrame(rows), caption, formats={"bus_MBps": ".0f"}, note=note)


def _levels_of(design: Design, group: GroupDesign, option: str) -> object:
    """The option of a group; a list of its levels where it is a factor."""
    levels = getattr(group.factors.over(design.factors), option)
    return getattr(group, option) if levels is None else ", ".join(map(str, levels))


def _further_text(design: Design) -> str:
    """The further factors and their levels; those of single groups with the group's name."""
    parts = [f"{name}: {_listed(levels)}" for name, levels in design.factors.given().items()]
    parts += [
        f"{name} ({group.name}): {_listed(levels)}"
        for group in design.groups
        for name, levels in group.factors.given().items()
    ]
    parts += [f"{name}, set by hand: {_listed(levels)}" for name, levels in design.outer.items()]
    return "; ".join(parts)


def _listed(levels: Sequence) -> str:
    return ", ".join(map(level_text, levels))


def _rounds_text(design: Design) -> str:
    precision = design.precision
    if precision is None:
        return counted(design.max_rounds, "round")
    return (
        f"{precision.min_rounds} to {precision.max_rounds} rounds, until a cell is within "
        f"{precision.half_width_percent:g} %,"
    )


def _time_text(seconds: float) -> str:
    """``0.4 s``, ``45 s``, ``3 min 10 s``."""
    return f"{seconds:.1f} s" if seconds < 10 else duration(seconds)


def _mtus_text(mtus_B: tuple[int, ...] | None) -> str:
    return "MTU as found" if mtus_B is None else f"{', '.join(map(str, mtus_B))} B"
