"""Checks of a study: paths, names, levels, and what its runs cannot have together."""

from __future__ import annotations

from itertools import chain

from netlab.study.base import MAX_NAME, MAX_RUNS, QUICK, ROUNDS, slug
from netlab.study.factor_checks import check_factors
from netlab.study.groups import Group
from netlab.study.links import Path
from netlab.study.model import StudyFields, study_at
from netlab.study.run_checks import check_forced_loss, check_link, check_run
from netlab.study.several_mistakes import refuse, tried
from netlab.study.tuning_checks import check_congestions, check_moot, check_tunings


def _check_once(label: str, values: tuple) -> None:
    if len(set(values)) < len(values):
        twice = next(value for at, value in enumerate(values) if value in values[:at])
        raise ValueError(f"{label}: the level {twice!r} is given twice")


def check(study: StudyFields) -> None:
    """Refuse a study whose parts contradict each other."""
    each = study.groups
    named: tuple[tuple[str, tuple], ...] = (
        ("streams", study.streams),
        ("tunings", tuple(level.name for level in study.tunings)),
        *((f"tunings.{level.name}.mtus_B", level.mtus) for level in study.tunings),
    )
    refuse(
        (
            *chain.from_iterable(tried(_check_path, study, name) for name in study.paths),
            *chain.from_iterable(tried(_check_names_of, study, group) for group in each),
            *chain.from_iterable(tried(_check_once, *one) for one in named),
            *tried(_check_quick_name, study),
            *check_tunings(study),
            *check_congestions(study),
        )
    )
    # the checks below look names up
    refuse(chain.from_iterable(tried(_check_levels, study, group) for group in each))
    moot = [*check_moot(study)]
    check_factors(study)
    runs = chain.from_iterable(tried(_check_runs, study, group) for group in each)
    refuse([*moot, *runs, *tried(_check_size, study)])


def _check_path(study: StudyFields, name: str) -> None:
    path, where = study.paths[name], f"paths.{name}"
    for end in path.every_end:
        host = study.hosts.get(end.host)
        if host is None:
            raise ValueError(f"{where}: no host is called {end.host!r}")
        if host.kind == "ssh" and (end.address is None or end.interface is None):
            needed = "needs an address and an interface"
            raise ValueError(f"{where}: the end on ssh host {end.host!r} {needed}")
    kinds = {study.hosts[name].kind for name in path.hosts}
    if len(kinds) == 2:
        raise ValueError(f"{where}: a lab host and an ssh host cannot be joined")
    if path.link is not None and path.link.emulator is not None and kinds != {"lab"}:
        reason = "netlab emulates nothing between ssh hosts, whose path is what it is"
        raise ValueError(f"{where}.link.emulator: {reason}; leave it out, or use lab hosts")
    if path.link is not None and kinds != {"lab"}:
        raise ValueError(f"{where}: only a lab path has a link")
    if path.also and kinds == {"lab"}:
        _check_shared_link(study, path, where)
    check_link(study, name)


def _check_shared_link(study: StudyFields, path: Path, where: str) -> None:
    """Refuse further senders on a lab path without an emulator of netlab's to share.

    The lab models a bus where a host sends: it would not bound what several send to one.
    """
    if path.link is None or path.link.emulator is None:
        reason = "on a lab the hosts share an emulated link; give link an emulator"
        raise ValueError(f"{where}.also: {reason}, such as {{rtt_ms: 10, rate_Mbps: 100}}")
    if path.link.emulator.with_ == "netem":
        raise ValueError(f"{where}.also: netem joins two hosts; leave out `with` of the emulator")
    if with_bus := [name for name in path.hosts if study.hosts[name].bus is not None]:
        reason = "the lab has no bus that several senders share; rate_Mbps of the emulator bounds"
        raise ValueError(f"{where}.also: {reason} them; leave out bus of {', '.join(with_bus)}")


def _check_names_of(study: StudyFields, group: Group) -> None:
    first = next(each for each in study.groups if slug(each.name) == slug(group.name))
    if first is not group:
        raise ValueError(f"groups: the name {group.name!r} is too similar to another's")
    if group.path not in study.paths:
        raise ValueError(f"groups: {group.name}: no path is called {group.path!r}")
    ends = {end.host for end in study.paths[group.path].ends}
    if ends <= study.hosts.keys() and group.sender not in ends:
        problem = f"{group.sender!r} is not an end of path {group.path!r}"
        raise ValueError(f"groups: {group.name}: {problem}")
    also = [end.host for end in study.paths[group.path].also]
    for flow in group.flows:
        if flow.from_ not in (None, group.sender, *also):
            there = f"there are {', '.join(also)}" if also else "it has no `also`"
            problem = f"{flow.from_!r} is not a further host of path {group.path!r}; {there}"
            raise ValueError(f"groups: {group.name}: flows: from: {problem}")


def _check_quick_name(study: StudyFields) -> None:
    most = MAX_NAME - len(QUICK)
    if study.quick is not None and len(study.name) > most:
        raise ValueError(
            f"name: {study.name!r} is over {most} characters, and the quick form adds {QUICK!r}"
        )


def _check_levels(study: StudyFields, group: Group) -> None:
    for label, chosen, levels in (
        ("tunings", group.tunings, {level.name for level in study.tunings}),
        ("mtus_B", group.mtus_B, {mtu_B for level in study.tunings for mtu_B in level.mtus}),
        ("streams", group.streams, set(study.streams)),
    ):
        where = f"groups: {group.name}: {label}"
        for value in chosen or ():
            if value not in levels:
                text = f"the study has no level {value!r}; add it to those of the study"
                raise ValueError(f"{where}: {text}")
        if chosen is not None and len(set(chosen)) < len(chosen):
            raise ValueError(f"{where}: a level is given twice")
    if not study.levels(group):
        raise ValueError(f"groups: {group.name}: none of its tunings has any of its MTUs")


def _check_runs(study: StudyFields, group: Group) -> None:
    combined = study.combinations(group)
    if not any(one.of_run for one in combined):
        check_run(study_at(study, group, ()), group)
    if not any(one.of_link for one in combined):
        check_forced_loss(study, group)


def _check_size(study: StudyFields) -> None:
    cells = sum(len(study.combinations(group)) for group in study.groups)
    label = "timing.rounds"
    if study.precision is not None:
        label = "precision.max_rounds"
        if study.timing.rounds is not None:
            reason = "leave it out; precision says how many rounds there are"
            raise ValueError(f"timing.rounds: {reason}")
    quick = ROUNDS if study.quick is None else study.quick.rounds or ROUNDS
    for name, rounds in ((label, study.max_rounds), ("quick.rounds", quick)):
        if cells * rounds > MAX_RUNS:
            many = f"{rounds} rounds of {cells} cells"
            raise ValueError(f"{name}: {many} are over {MAX_RUNS} runs")
