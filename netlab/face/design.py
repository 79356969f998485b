"""A study's design: made of two hosts and a path, and shown as a table."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from netlab.analysis import printed
from netlab.analysis.trust import counted
from netlab.errors import check
from netlab.experiment.progress import duration
from netlab.files.tables import Table
from netlab.study import Group as GroupDesign
from netlab.study import Study as Design
from netlab.study import schedule
from netlab.study.factors import OF_EMULATOR, level_text, listed
from netlab.tuning.profiles import AS_FOUND

# The table of a study: groups, factors, rounds and time.


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
        f"{printed.tuning_label(level)}: "
        + ("MTU as found" if level.mtus_B is None else f"{', '.join(map(str, level.mtus_B))} B")
        for level in design.tunings
    )
    took_s = schedule.measuring_s(design, todo)
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
            else schedule.measuring_s(design, (run,)),
        }
        for visit in schedule.visits(design)
        for run in visit.runs
    ]
    frame = pd.DataFrame(rows)
    return frame[[*(name for name in frame if name not in LAST), *LAST]]


# A study of the path between two hosts, from what a person says of it.

TIMING = {"rounds": 5, "seconds": 2.0}
OFFLOADED = {
    "segmentation_offload": True,
    "checksum_offload": True,
    "interrupt_delay_us": 0.0,
}
"""A lab link as a card of today, in place of the one of 2003."""


def between(
    hosts: tuple[str, str],
    *,
    ssh: bool,
    data: tuple[str, str] | None,
    rate_Mbps: Any,
    rtt_ms: Any,
    streams: Any,
    mtu_B: Any,
    tuning: str | Sequence[str],
    both_ways: bool,
    name: str,
    timing: Mapping[str, object] | None,
    more: Mapping[str, object],
) -> dict[str, Any]:
    """The content of a study with one path and one group; see :meth:`netlab.Study.between`."""
    given = {"rate_Mbps": rate_Mbps, "rtt_ms": rtt_ms, **more}
    asked = {key: [*listed(levels)] for key, levels in given.items() if levels is not None}
    text = "a path between SSH hosts has the RTT that it has; leave it out"
    check(not (ssh and "rtt_ms" in asked), "rtt_ms", rtt_ms, text, "E-FACE-014")
    make = _between_logins if ssh else _in_the_lab
    declared, path = make(hosts, data, asked)
    left, right = declared
    group = {"name": f"{left} {'<->' if both_ways else '->'} {right}", "path": "data"}
    return {
        "netlab": 1,
        "name": name or f"{left}-{right}",
        "title": f"Goodput between {left} and {right}",
        "hosts": declared,
        "paths": {"data": path},
        "groups": [group | {"sender": left, "direction": "<->" if both_ways else "->"}],
        "tunings": [_tuned(each, mtu_B) for each in listed(tuning)],
        "streams": [*listed(streams)],
        "factors": asked,
        "timing": {**TIMING, **(timing or {})},
    }


def _tuned(name: str, mtu_B: Any) -> dict[str, Any]:
    """A level of tuning; as found with an MTU is one that sets the MTU alone."""
    if mtu_B is None:
        return {"name": name}
    level = {"name": "untuned", "knobs": []} if name == AS_FOUND else {"name": name}
    return {**level, "mtus_B": [*listed(mtu_B)]}


def _in_the_lab(
    hosts: tuple[str, str], data: object, asked: dict[str, list]
) -> tuple[dict[str, dict], dict[str, Any]]:
    """Two lab hosts; a link or an emulator has what has one level, which is no factor then."""
    text = "the lab chooses its own data addresses; leave them out"
    check(data is None, "data", data, text, "E-FACE-015")
    of_path = [key for key in (*OF_EMULATOR, "rate_Mbps") if key in asked]
    emulated = any(key in OF_EMULATOR for key in of_path)
    single = {key: asked.pop(key)[0] for key in of_path if len(asked[key]) == 1}
    link: dict[str, Any] = {"emulator": single} if emulated else {**OFFLOADED, **single}
    path = {"ends": [{"host": host} for host in hosts], "link": link}
    return {host: {"kind": "lab"} for host in hosts}, path


def _between_logins(
    hosts: tuple[str, str], data: tuple[str, str] | None, asked: dict[str, list]
) -> tuple[dict[str, dict], dict[str, Any]]:
    """Two SSH hosts and the first path that joins them, found by a look at both."""
    from netlab.survey.init import login_of, logins, surveyed

    rates = asked.pop("rate_Mbps", [])
    text = "is one number, the rate of the real link"
    check(len(rates) < 2, "rate_Mbps", rates, text, "E-FACE-016")
    reached = logins([login_of(host) for host in hosts])
    first = surveyed(reached, data)[0]
    ends = [
        {"host": end.host.name, "address": end.address, "interface": end.interface.name}
        for end in first.ends
    ]
    path = {"ends": ends, **({"link_MBps": rates[0] / 8} if rates else {})}
    declared = {
        name: login.model_dump(exclude_none=True, exclude_defaults=True) | {"kind": "ssh"}
        for name, login in reached.items()
    }
    return declared, path
