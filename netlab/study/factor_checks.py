"""Checks of factors: against options, paths, exclusions, and the levels that a person gives."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from pydantic import ValidationError

from netlab.errors import BadInput
from netlab.files.model_mistakes import Place
from netlab.study.base import MAX_RUNS, Model, is_default, misplaced
from netlab.study.factors import (
    ALWAYS,
    OF_GROUP,
    OF_LINK,
    OF_POLICY,
    OF_SOCKET,
    OF_STUDY,
    OF_UDP,
    RESERVED,
    Levels,
    level_text,
    levels_text,
    listed,
    path_at,
    same,
)
from netlab.study.flows import has_rtt
from netlab.study.frame_columns import COLUMNS
from netlab.study.groups import FILL_PACKET, Group
from netlab.study.model import StudyFields, combinations, factors_of, study_at
from netlab.study.run_checks import check_forced_loss, check_link, check_run
from netlab.study.tool_limits import group_at


def check_factors(study: StudyFields) -> None:
    """Refuse factors that contradict each other, an option or a path."""
    _check_outer(study)
    _check_published(study)
    _check_options(study)
    _check_cross(study)
    _check_flow_rtts(study)
    for number, group in enumerate(study.groups):
        sizes = [len(levels) for levels in factors_of(study, group).values()]
        cells = math.prod(sizes) * len(study.levels(group))
        if cells > MAX_RUNS:
            own = ("groups", number) if group.factors.given() else ()
            many = f"{cells} combinations, and {MAX_RUNS} is the limit; use fewer levels"
            text = f"{group.name}: its factors cross to {many}"
            raise misplaced(text, (*own, "factors"), code="E-STUDY-061")
    _check_excluded(study, study.groups, study.exclude, ("exclude",))
    for number, group in enumerate(study.groups):
        _check_excluded(study, (group,), group.exclude, ("groups", number, "exclude"))
        _check_combinations(study, group, ("groups", number))


def _check_outer(study: StudyFields) -> None:
    for name, levels in study.outer.items():
        if name in RESERVED or "=" in name:
            text = "is the name of something else; choose another for a factor that a person sets"
            raise misplaced(text, ("outer", name), code="E-STUDY-062")
        if len({level_text(level) for level in levels}) < len(levels):
            raise misplaced("a level is given twice", ("outer", name), code="E-STUDY-063")


def outer_columns(study: StudyFields) -> Iterator[tuple[Place, str, str]]:
    """Place, name and refusal of each outer factor that is named like a column of the results.

    For a study that is to be measured; results of one that was stay readable.
    """
    for name in study.outer:
        if name in COLUMNS:
            text = "is a column of the results, and a factor has one of its own"
            yield ("outer", name), name, f"{text}; choose another name, such as my_{name}"


def _check_published(study: StudyFields) -> None:
    """Every column of a published table is a factor of a group."""
    further = [name for group in study.groups for name in factors_of(study, group)]
    names = dict.fromkeys(("group", *ALWAYS, *further))
    for name in study.published.names if study.published else ():
        if name not in names:
            allowed = f"factors are {', '.join(names)}; rename it under `columns`"
            text = f"its column {name} is not a factor of the study; {allowed}"
            raise misplaced(text, ("published",), code="E-STUDY-082")


def _check_options(study: StudyFields) -> None:
    """A factor and an option of the same name."""
    for number, group in enumerate(study.groups):
        for name in group.factors.over(study.factors).given():
            if name not in OF_GROUP or is_default(group, name):
                continue
            if name != "record_length_B" or group.record_length_B != FILL_PACKET:
                text = f"is a factor too, of {group.name}; give it in one place"
                place = ("groups", number, name)
                raise misplaced(text, place, getattr(group, name), code="E-STUDY-064")
    stated = {name for group in study.groups for name in group.factors.given()}
    options: dict[str, tuple[Model, tuple[str, ...]]] = {
        # a congestion control of the study is for groups without the factor
        **{name: (study, (name,)) for name in OF_STUDY},
        **{name: (study.socket, ("socket", name)) for name in OF_SOCKET},
        **{name: (study.policy, ("policy", name)) for name in OF_POLICY},
        **{name: (study.udp, ("udp", name)) for name in OF_UDP},
    }
    for name in sorted((stated | study.factors.given().keys()) & options.keys()):
        model, at = options[name]
        if not is_default(model, name):
            text = "is a factor too; give it in one place"
            raise misplaced(text, at, getattr(model, name), code="E-STUDY-065")


def _check_flow_rtts(study: StudyFields) -> None:
    """A factor of the path's round trip is of some flows."""
    for number, group in enumerate(study.groups):
        if has_rtt(group.flows) and "rtt_ms" in factors_of(study, group):
            text = "have their own rtt_ms, so that the factor rtt_ms is of none; leave out one"
            raise misplaced(text, ("groups", number, "flows"), code="E-STUDY-141")


def _check_cross(study: StudyFields) -> None:
    """A size of datagrams is of some that are sent."""
    for number, group in enumerate(study.groups):
        factors = factors_of(study, group)
        given = group.cross_udp_B is not None or "cross_udp_B" in group.factors.given()
        if given and not any(factors.get("cross_udp_Mbps", (group.cross_udp_Mbps,))):
            text = "is of UDP beside the streams, and there is none; give cross_udp_Mbps"
            place = ("groups", number, "cross_udp_B")
            raise misplaced(text, place, group.cross_udp_B, code="E-STUDY-121")


def _check_excluded(
    study: StudyFields, groups: tuple[Group, ...], excluded: tuple, place: tuple[str | int, ...]
) -> None:
    """Every name is a factor of a group, and every level is one of its levels."""
    levels: dict[str, list] = {"group": [group.name for group in groups]}
    for group in groups:
        for name, unwanted in factors_of(study, group).items():
            levels.setdefault(name, []).extend(unwanted)
        for triple in study.levels(group):
            for name, level in zip(ALWAYS, triple, strict=True):
                levels.setdefault(name, []).append(level)
    for number, entry in enumerate(excluded):
        at = (*place, number)
        if not entry:
            raise misplaced("leaves out everything; name a level", at, code="E-STUDY-066")
        for name, wanted in entry.items():
            if name not in levels:
                text = f"is not a factor here; factors are {', '.join(levels)}"
                raise misplaced(text, (*at, name), code="E-STUDY-067")
            for level in listed(wanted):
                if not any(same(level, allowed) for allowed in levels[name]):
                    texts = dict.fromkeys(level_text(k) for k in levels[name] if k is not None)
                    text = f"is not a level of {name}; there are {', '.join(texts)}"
                    raise misplaced(text, (*at, name), level, code="E-STUDY-068")


def _check_combinations(study: StudyFields, group: Group, place: tuple[str | int, ...]) -> None:
    """Refuse a combination whose group, options or link cannot be."""
    combined = list(combinations(study, group))
    if not combined:
        at = (*place, "exclude") if group.exclude else ("exclude",)
        raise misplaced(f"{group.name}: nothing is left to measure", at, code="E-STUDY-069")
    if any(one.of_link for one in combined) and not study.in_lab(group.path):
        names = ", ".join(name for name in factors_of(study, group) if name in OF_LINK)
        text = f"{group.name}: {names}: only a path between lab hosts has a link to set"
        raise misplaced(text, (*place, "path"), group.path, code="E-STUDY-070")
    links = dict.fromkeys(one.of_link for one in combined)
    path = study.paths[group.path]
    stated = [
        place
        for place, ends in (("ends", path.ends), ("also", path.also))
        if any(end.address or end.interface for end in ends)
    ]
    if len(links) > 1 and stated:
        own = "takes the lab's own addresses and interfaces; leave them out"
        text = f"{group.name}: a path that is set up as {len(links)} links {own}"
        raise misplaced(text, ("paths", group.path, stated[0]), code="E-STUDY-075")
    runs = dict.fromkeys(one.of_run for one in combined)
    for check, each in ((_check_run, runs), (_check_link, links)):
        for levels in filter(None, each):
            try:
                check(study, group, levels)
            except ValueError as error:
                reason = str(error)
                if isinstance(error, ValidationError):
                    first = error.errors(include_url=False)[0]
                    reason = first["msg"].removeprefix("Value error, ")
                text = f"{group.name} with {levels_text(levels)}: {reason}"
                text = f"{text}; leave it out with `exclude`"
                at = (*place, "name")
                raise misplaced(text, at, group.name, code="E-STUDY-071") from None


def _check_run(study: StudyFields, group: Group, levels: Levels) -> None:
    """Build everything that a run takes from some levels, checks included."""
    varied = group_at(group, levels)
    type(group).model_validate(varied.model_dump())
    taken = study_at(study, varied, levels)
    type(taken.socket).model_validate(taken.socket.model_dump())
    check_run(taken, varied)


def _check_link(study: StudyFields, group: Group, levels: Levels) -> None:
    """Build the link of some levels, and check what a group wants of it."""
    path = path_at(study.paths[group.path], levels)
    at = study.model_copy(update={"paths": {**study.paths, group.path: path}})
    check_link(at, group.path)
    check_forced_loss(at, group)


def chosen_outer(study: StudyFields, given: Mapping[str, object]) -> Levels:
    """Levels of the study's outer factors as a person gives them, checked."""
    for name, level in given.items():
        if name not in study.outer:
            allowed = ", ".join(sorted(study.outer)) or "none"
            reason = f"is not an outer factor of {study.name}; there are: {allowed}"
            raise BadInput(reason, key=f"outer.{name}", value=level, code="E-STUDY-072")
    chosen = []
    for name in sorted(study.outer):
        key, texts = f"outer.{name}", {level_text(level): level for level in study.outer[name]}
        allowed, first = ", ".join(texts), next(iter(texts))
        if name not in given:
            options = f"--outer {name}={first} or outer={{{name!r}: ...}}"
            reason = f"a person sets this factor: say which of {allowed} the hosts have now, as "
            raise BadInput(reason + options, where=study.name, key=key, code="E-STUDY-073")
        if (text := str(given[name])) not in texts:
            reason = f"is not a level of this factor; there are {allowed}"
            where, value = study.name, given[name]
            raise BadInput(reason, where=where, key=key, value=value, code="E-STUDY-074")
        chosen.append((name, texts[text]))
    return tuple(chosen)
