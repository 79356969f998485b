"""Tunings of a study: levels, its own tunings, and where names resolve."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import BeforeValidator, model_validator

from netlab.study.base import MTU, Model, Name, Several
from netlab.tuning.knobs import RISK, Item, key
from netlab.tuning.profiles import AS_FOUND, Content, Tuning

OWN_SOURCE = "the study"
"""Source of a knob for which the study names none."""


def _with_source(value: object) -> object:
    """Knobs as written, each with a source, those inside choices too."""
    if isinstance(value, list | tuple):
        return [_with_source(part) for part in value]
    if not isinstance(value, dict):
        return value
    if "first_supported" in value:
        return {**value, "first_supported": _with_source(value["first_supported"])}
    if "knobs" in value:
        return {**value, "knobs": _with_source(value["knobs"])}
    return {"source": OWN_SOURCE, **value}


OwnKnobs = Annotated[tuple[Item, ...], BeforeValidator(_with_source)]


class OwnTuning(Content, title="`profiles.NAME`"):
    """A tuning that a study brings; its key under ``profiles`` is its name.

    As a tuning's file, but ``title``, ``source`` and the sources of knobs may be left out.
    """

    knobs: OwnKnobs = key(
        "Settings, in the order they are applied.", [{"kind": "txqueuelen", "value": 10000}], ()
    )

    def named(self, name: str) -> Tuning:
        texts = {"title": self.title or name, "source": self.source or OWN_SOURCE}
        return Tuning(name=name, **{**dict(self), **texts})


class TuningLevel(Model, title="`tunings`"):
    """A tuning as a factor level: its name and the MTUs measured under it."""

    name: Name = key("Name of the level, in runs and results.", "full")
    label: str | None = key("In tables and charts.", "+ Driver Tuning", None)
    mtus_B: Several[MTU] | None = key(
        "MTUs to set. Left out, the MTU stays as found.", [1500, 9000], None
    )
    profile: Name | None = key(
        "Name of the tuning, where it differs from the level's.", "openlab-2003-full", None
    )
    extends: Name | None = key(
        "A tuning whose knobs come first; the others are inline.", "openlab-2003-kernel", None
    )
    knobs: OwnKnobs | None = key(
        "The tuning itself, inline.",
        [{"kind": "sysctl", "name": "net.core.rmem_max", "value": 67108864}],
        None,
        strict=False,
    )
    risk: str | None = key(
        "`risk` of those of the inline knobs that state none.", RISK, None, min_length=1
    )

    @model_validator(mode="after")
    def _one_tuning(self) -> Self:
        if self.risk is not None and self.knobs is None:
            raise ValueError("risk: state it where the knobs are; this level has none inline")
        if self.is_inline and self.profile is not None:
            raise ValueError("give the tuning inline (knobs, extends) or by name (profile)")
        if AS_FOUND in (self.name, self.profile):
            if self.is_inline or self.name != (self.profile or self.name):
                raise ValueError(f"{AS_FOUND} is the name of netlab's tuning that changes nothing")
            if self.mtus_B is not None:
                raise ValueError(
                    f"mtus_B: {AS_FOUND} changes nothing, the MTU included; to set the MTU alone "
                    "name another tuning, with knobs: []"
                )
        return self

    @property
    def is_inline(self) -> bool:
        return self.knobs is not None or self.extends is not None

    @property
    def mtus(self) -> tuple[int | None, ...]:
        """The MTUs in B; None for the one that is found."""
        return (None,) if self.mtus_B is None else self.mtus_B
