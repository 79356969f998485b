"""Groups, studies and paths at one combination of the levels of their factors."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from netlab.errors import BadInput
from netlab.study.base import MAX_RUNS, Model, misplaced
from netlab.study.factors import (
    ALWAYS,
    OF_GROUP,
    OF_LINK,
    OF_POLICY,
    OF_SOCKET,
    OF_STUDY,
    RESERVED,
    Combination,
    Factors,
    Level,
    Levels,
    crossed,
    left_out,
    level_text,
    levels_text,
    listed,
    path_at,
    same,
)

if TYPE_CHECKING:
    from netlab.study.design import Study
    from netlab.study.groups import Group


def factors_of(study: Study, group: Group) -> dict[str, tuple[Level, ...]]:
    """Factors of a group with their levels: its own, the study's, then the outer ones."""
    given = group.factors.over(study.factors).given()
    return {**given, **{name: tuple(study.outer[name]) for name in sorted(study.outer)}}


def combinations(study: Study, group: Group) -> Iterator[Combination]:
    """Every combination of levels that a group measures, in the study's order."""
    factors, excluded = factors_of(study, group), (*study.exclude, *group.exclude)
    for tuning, mtu_B, streams in study.levels(group):
        always = {"group": group.name, "tuning": tuning, "mtu_B": mtu_B, "streams": streams}
        for levels in crossed(factors):
            known = {**always, **dict(levels)} if excluded else always
            if not any(left_out(entry, known) for entry in excluded):
                yield Combination(tuning, mtu_B, streams, levels)


def group_at(group: Group, of_run: Levels) -> Group:
    """A group without factors, with these levels in place of its options."""
    if not of_run and group.factors == Factors() and not group.exclude:
        return group
    given = {name: level for name, level in of_run if name in OF_GROUP}
    return group.model_copy(update={**given, "factors": Factors(), "exclude": ()})


def study_at(study: Study, group: Group, of_run: Levels) -> Study:
    """The study whose options and timing are those of a run of a group at some levels."""
    update: dict[str, Any] = {name: level for name, level in of_run if name in OF_STUDY}
    of_socket = {name: level for name, level in of_run if name in OF_SOCKET}
    if of_socket:
        update["socket"] = study.socket.model_copy(update=of_socket)
    of_policy = {name: level for name, level in of_run if name in OF_POLICY}
    if of_policy:
        update["policy"] = study.policy.model_copy(update=of_policy)
    if group.timing is not None:
        update["timing"] = group.timing.over(study.timing)
    return study.model_copy(update=update) if update else study


def check_factors(study: Study) -> None:
    """Refuse factors that contradict each other, an option or a path."""
    _check_outer(study)
    _check_published(study)
    _check_options(study)
    for number, group in enumerate(study.groups):
        sizes = [len(levels) for levels in factors_of(study, group).values()]
        cells = math.prod(sizes) * len(study.levels(group))
        if cells > MAX_RUNS:
            raise misplaced(
                f"{group.name}: its factors cross to {cells} combinations, and {MAX_RUNS} is the "
                "limit; use fewer levels",
                ("groups", number, "factors") if group.factors.given() else ("factors",),
                code="E-STUDY-061",
            )
    _check_excluded(study, study.groups, study.exclude, ("exclude",))
    for number, group in enumerate(study.groups):
        _check_excluded(study, (group,), group.exclude, ("groups", number, "exclude"))
        _check_combinations(study, group, ("groups", number))


def _check_outer(study: Study) -> None:
    for name, levels in study.outer.items():
        if name in RESERVED or "=" in name:
            raise misplaced(
                "is the name of something else; choose another for a factor that a person sets",
                ("outer", name),
                code="E-STUDY-062",
            )
        texts = [level_text(level) for level in levels]
        if len(set(texts)) < len(texts):
            raise misplaced("a level is given twice", ("outer", name), code="E-STUDY-063")


def _check_published(study: Study) -> None:
    """Every column of a published table is a factor of a group."""
    if study.published is None:
        return
    further = [name for group in study.groups for name in factors_of(study, group)]
    known = dict.fromkeys(("group", *ALWAYS, *further))
    for name in study.published.factors:
        if name not in known:
            raise misplaced(
                f"its column {name} is not a factor of the study; factors are {', '.join(known)}; "
                "rename it under `columns`",
                ("published",),
                code="E-STUDY-082",
            )


def _check_options(study: Study) -> None:
    """A factor and an option of the same name."""
    for number, group in enumerate(study.groups):
        for name in group.factors.over(study.factors).given():
            if name in OF_GROUP and getattr(group, name) != type(group).model_fields[name].default:
                raise misplaced(
                    f"is a factor too, of {group.name}; give it in one place",
                    ("groups", number, name),
                    getattr(group, name),
                    code="E-STUDY-064",
                )
    given = {name for group in study.groups for name in group.factors.given()}
    for name in sorted(given | set(study.factors.given())):
        place: tuple[str, ...] = (name,)
        options: Model = study
        if name in OF_SOCKET:
            place, options = ("socket", name), study.socket
        elif name in OF_POLICY:
            place, options = ("policy", name), study.policy
        elif name not in OF_STUDY:
            continue  # a congestion control of the study is for groups without the factor
        if getattr(options, name) != type(options).model_fields[name].default:
            raise misplaced(
                "is a factor too; give it in one place",
                place,
                getattr(options, name),
                code="E-STUDY-065",
            )


def _check_excluded(
    study: Study, groups: tuple[Group, ...], excluded: tuple, place: tuple[str | int, ...]
) -> None:
    """Every name is a factor of a group, and every level is one of its levels."""
    levels: dict[str, list] = {"group": [group.name for group in groups]}
    for group in groups:
        for name, given in factors_of(study, group).items():
            levels.setdefault(name, []).extend(given)
        for triple in study.levels(group):
            for name, level in zip(ALWAYS, triple, strict=True):
                levels.setdefault(name, []).append(level)
    for number, entry in enumerate(excluded):
        at = (*place, number)
        if not entry:
            raise misplaced("leaves out everything; name a level", at, code="E-STUDY-066")
        for name, wanted in entry.items():
            if name not in levels:
                raise misplaced(
                    f"is not a factor here; factors are {', '.join(levels)}",
                    (*at, name),
                    code="E-STUDY-067",
                )
            for level in listed(wanted):
                if not any(same(level, known) for known in levels[name]):
                    texts = dict.fromkeys(level_text(k) for k in levels[name] if k is not None)
                    raise misplaced(
                        f"is not a level of {name}; there are {', '.join(texts)}",
                        (*at, name),
                        level,
                        code="E-STUDY-068",
                    )


def _check_combinations(study: Study, group: Group, place: tuple[str | int, ...]) -> None:
    """Refuse a combination whose group, options or link cannot be."""
    found = list(combinations(study, group))
    if not found:
        raise misplaced(
            f"{group.name}: nothing is left to measure",
            (*place, "exclude") if group.exclude else ("exclude",),
            code="E-STUDY-069",
        )
    if any(one.of_link for one in found) and not study.in_lab(group.path):
        names = [name for name in factors_of(study, group) if name in OF_LINK]
        raise misplaced(
            f"{group.name}: {', '.join(names)}: only a path between lab hosts has a link to set",
            (*place, "path"),
            group.path,
            code="E-STUDY-070",
        )
    links = dict.fromkeys(one.of_link for one in found)
    given = any(end.address or end.interface for end in study.paths[group.path].ends)
    if len(links) > 1 and given:
        raise misplaced(
            f"{group.name}: a path that is set up as {len(links)} links takes the lab's own "
            "addresses and interfaces; leave them out",
            ("paths", group.path, "ends"),
            code="E-STUDY-075",
        )
    for levels in dict.fromkeys(one.of_run for one in found):
        if levels:
            _tried(lambda at=levels: _whole(study, group, at), group, levels, place)
    for levels in links:
        if levels:
            _tried(lambda at=levels: _linked(study, group, at), group, levels, place)


def _whole(study: Study, group: Group, levels: Levels) -> None:
    """Build everything that a run takes from some levels, checks included."""
    made = group_at(group, levels)
    type(group).model_validate(made.model_dump())
    taken = study_at(study, made, levels)
    type(taken.socket).model_validate(taken.socket.model_dump())
    taken.check_run(made)


def _linked(study: Study, group: Group, levels: Levels) -> None:
    """Build the link of some levels, and check what a group wants of it."""
    path = path_at(study.paths[group.path], levels)
    at = study.model_copy(update={"paths": {**study.paths, group.path: path}})
    at.check_link(group.path)
    at.check_forced_loss(group)


def _tried(work: Any, group: Group, levels: Levels, place: tuple[str | int, ...]) -> None:
    try:
        work()
    except (ValidationError, ValueError) as error:
        said = str(error)
        if isinstance(error, ValidationError):
            first = error.errors(include_url=False)[0]
            said = first["msg"].removeprefix("Value error, ")
        raise misplaced(
            f"{group.name} with {levels_text(levels)}: {said}; leave it out with `exclude`",
            (*place, "name"),
            group.name,
            code="E-STUDY-071",
        ) from None


def chosen_outer(study: Study, given: Mapping[str, object]) -> Levels:
    """Levels of the study's outer factors as a person gives them, checked."""
    for name, level in given.items():
        if name not in study.outer:
            known = ", ".join(sorted(study.outer)) or "none"
            raise BadInput(
                f"is not an outer factor of {study.name}; there are: {known}",
                key=f"outer.{name}",
                value=level,
                code="E-STUDY-072",
            )
    chosen = []
    for name in sorted(study.outer):
        texts = {level_text(level): level for level in study.outer[name]}
        if name not in given:
            raise BadInput(
                f"a person sets this factor: say which of {', '.join(texts)} the hosts have now, "
                f"as --outer {name}={next(iter(texts))} or outer={{{name!r}: ...}}",
                where=study.name,
                key=f"outer.{name}",
                code="E-STUDY-073",
            )
        text = str(given[name])
        if text not in texts:
            raise BadInput(
                f"is not a level of this factor; there are {', '.join(texts)}",
                where=study.name,
                key=f"outer.{name}",
                value=given[name],
                code="E-STUDY-074",
            )
        chosen.append((name, texts[text]))
    return tuple(chosen)
