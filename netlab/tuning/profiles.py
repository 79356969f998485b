"""Tunings as data: YAML files of knobs, each with its source, resolved to profiles."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import model_validator

from netlab.errors import BadInput
from netlab.files import paths
from netlab.files.yaml_file import read_yaml, validated
from netlab.tuning.exact import refusal
from netlab.tuning.knobs import (
    RISK,
    Choice,
    Frozen,
    HostSetting,
    Item,
    Knob,
    KnobOption,
    item_key,
    key,
)

AS_FOUND = "as-found"
"""The tuning that changes nothing, the MTU included. No other tuning may take its name."""

_PROFILE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_REMARKS = {"source", "note", "when_missing", "published", "risk"}


class Content(Frozen):
    """Content of a tuning besides its name; its knobs replace those of the same name below."""

    title: Annotated[str, key("What it is.", "Large buffers")] = ""
    source: Annotated[str, key("Where its values are from.", "our operations handbook")] = ""
    notes: Annotated[tuple[str, ...], key("Remarks for readers.", ["Set on both hosts."])] = ()
    extends: Annotated[
        str | None, key("A tuning whose knobs come first.", "openlab-2003-kernel")
    ] = None
    risk: Annotated[
        str | None,
        key("`risk` of those of its own knobs that state none.", RISK, min_length=1),
    ] = None
    knobs: tuple[Item, ...] = ()
    records: Annotated[
        tuple[HostSetting, ...], key("Settings that are read and recorded only.", [{"kind": "mtu"}])
    ] = ()

    @model_validator(mode="after")
    def _once(self) -> Self:
        seen = set()
        for item in self.knobs:
            if item_key(item) in seen:
                raise ValueError(f"the knob {' '.join(map(str, item_key(item)))} is given twice")
            seen.add(item_key(item))
        return self


class Tuning(Content):
    """A tuning as its file defines it, before ``extends`` is followed."""

    name: str
    title: str
    source: str
    knobs: tuple[Item, ...]


class Profile(Frozen):
    """A named set of knob values, complete: the tunings it extends are merged in."""

    name: str
    title: str
    source: str
    lineage: tuple[str, ...]
    notes: tuple[str, ...]
    items: tuple[Item, ...]
    records: tuple[HostSetting, ...] = ()

    def content(self) -> list[dict[str, Any]]:
        """Knobs and values as plain data, without sources and notes; for a digest."""
        return [_without_remarks(item.model_dump(mode="json")) for item in self.items]

    def options(self, *, software_deferral: bool = False) -> tuple[tuple[KnobOption, ...], ...]:
        ways: list[tuple[KnobOption, ...]] = []
        for item in self.items:
            if isinstance(item, Knob):
                ways.append((KnobOption(knobs=(item,)),))
                continue
            ways.append(tuple(o for o in item.first_supported if software_deferral or not o.needs))
        return tuple(ways)

    def value_of(self, kind: str, name: str | None = None) -> str | None:
        for item in self.items:
            if isinstance(item, Knob) and (item.kind, item.name) == (kind, name):
                return item.value
        return None

    def surely_sets(self) -> frozenset[str]:
        """Labels of the settings whose value before the tuning cannot matter.

        Without those that a host may lack: there the value found stays in force.
        """
        plain = (item for item in self.items if isinstance(item, Knob) and not item.when_missing)
        return frozenset(knob.label for knob in plain)

    def values(self) -> dict[str, str]:
        """Value of each knob by its label, those of choices left out."""
        return {item.label: item.value for item in self.items if isinstance(item, Knob)}

    def buffer_clamp_B(self) -> tuple[int | None, int | None]:
        """Largest socket buffers this tuning lets a program request, in bytes.

        ``net.core.wmem_max`` and ``net.core.rmem_max`` clip the value that a program passes to
        SO_SNDBUF and SO_RCVBUF. Both belong to the whole machine: a network namespace cannot set
        them, and an agent that may force its buffers is not clipped either. There the measuring
        code clips the request itself to these figures, with the same effect on its one socket,
        and records that it did.
        """
        limits = (self.value_of("sysctl", f"net.core.{name}") for name in ("wmem_max", "rmem_max"))
        send, receive = (int(limit) if limit is not None else None for limit in limits)
        return send, receive


def _without_remarks(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _without_remarks(v) for k, v in value.items() if k not in _REMARKS}
    return [_without_remarks(part) for part in value] if isinstance(value, list) else value


def profile_names() -> list[str]:
    return sorted(path.stem for path in (paths.data_dir() / "tunings").glob("*.yml"))


MOST_NAMED = 12
"""Most names of a message that has none near to the one given."""


def nearest(name: str, known: Iterable[str]) -> str:
    """The known names nearest to an unknown one, or the first of them, as a clause of a message."""
    names = sorted(set(known))
    near = [k for k in names if k.endswith(f"-{name}")]
    near += [k for k in difflib.get_close_matches(name, names, n=3, cutoff=0.6) if k not in near]
    if near:
        return f"the nearest: {', '.join(near[:3])}"
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return f"known: {', '.join(names[:MOST_NAMED]) or 'none'}{more}"


def read_tuning(path: Path) -> Tuning:
    tuning = validated(Tuning, read_yaml(path), str(path))
    if tuning.name != path.stem:
        message = "differs from the file's name"
        raise BadInput(message, where=str(path), key="name", value=tuning.name, code="E-TUNING-006")
    return tuning


@lru_cache(maxsize=64)
def _unchanged(path: Path, mtime_ns: int, size_B: int) -> Tuning:
    """Parsed file; read anew when its time or size changes."""
    return read_tuning(path)


def lineage(name: str, *, own: Mapping[str, Tuning] | None = None) -> tuple[Tuning, ...]:
    own = own or {}
    directory = paths.data_dir() / "tunings"
    chain: list[Tuning] = []
    wanted: str | None = name
    while wanted is not None:
        where = str(directory)
        if chain:
            where = "" if chain[-1].name in own else str(directory / f"{chain[-1].name}.yml")
        key = "extends" if chain else "tuning"
        if any(tuning.name == wanted for tuning in chain):
            message = "tunings extend each other"
            raise BadInput(message, where=where, key=key, value=wanted, code="E-TUNING-007")
        path = directory / f"{wanted}.yml"
        if wanted != AS_FOUND and wanted in own:
            chain.append(own[wanted])
        elif _PROFILE_NAME.fullmatch(wanted) and path.is_file():
            stat = path.stat()
            chain.append(_unchanged(path, stat.st_mtime_ns, stat.st_size))
        else:
            hint = nearest(wanted, [*own, *profile_names()])
            message = f"unknown tuning; {hint}"
            raise BadInput(message, where=where, key=key, value=wanted, code="E-TUNING-008")
        wanted = chain[-1].extends
    return tuple(reversed(chain))


def _with_risk(item: Knob | Choice, risk: str | None) -> Knob | Choice:
    """The item, its knobs with the risk of their tuning where they need one and state none."""
    if isinstance(item, Choice):
        options = (
            option.model_copy(
                update={"knobs": tuple(_with_risk(knob, risk) for knob in option.knobs)}
            )
            for option in item.first_supported
        )
        return item.model_copy(update={"first_supported": tuple(options)})
    return item.model_copy(update={"risk": risk}) if item.needs_risk else item


Place = tuple[str | int, ...]


def inexact(content: Content) -> Iterator[tuple[Place, str, str]]:
    """Place, name and refusal of each own knob that needs a risk and has none."""
    if content.risk is not None:
        return
    for place, knob in each_knob(content.knobs, ("knobs",)):
        if knob.needs_risk:
            yield place, knob.label, refusal(knob.label)


def each_knob(items: Iterable[Item], at: Place = ()) -> Iterator[tuple[Place, Knob]]:
    """Every knob with its place, those of choices too."""
    for index, item in enumerate(items):
        if isinstance(item, Knob):
            yield (*at, index), item
            continue
        for number, option in enumerate(item.first_supported):
            yield from each_knob(option.knobs, (*at, index, "first_supported", number, "knobs"))


def load_profile(name: str, *, own: Mapping[str, Tuning] | None = None) -> Profile:
    chain = lineage(name, own=own)
    items: dict[tuple[str, str | None], Knob | Choice] = {}
    for tuning in chain:
        for item in tuning.knobs:
            items[item_key(item)] = _with_risk(item, tuning.risk)
    top = chain[-1]
    return Profile(
        name=top.name,
        title=top.title,
        source=top.source,
        lineage=tuple(tuning.name for tuning in chain),
        notes=tuple(note for tuning in chain for note in tuning.notes),
        items=tuple(items.values()),
        records=tuple(dict.fromkeys(setting for tuning in chain for setting in tuning.records)),
    )
