"""Outcome of a tuning session: knobs applied, found, recovered, in conflict."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Drift:
    """A knob whose value differs from the applied one; ``found`` is None where it is gone."""

    knob: str
    name: str | None
    interface: str | None
    expected: str
    found: str | None


@dataclass(frozen=True)
class TuningResult:
    """Outcome of a session, as data for every run's record."""

    profile: str
    applied: tuple[dict[str, Any], ...] = ()
    unchanged: tuple[dict[str, Any], ...] = ()
    unsupported: tuple[dict[str, Any], ...] = ()
    found: tuple[dict[str, Any], ...] = ()
    recovered: tuple[dict[str, Any], ...] = ()
    conflicts: tuple[dict[str, Any], ...] = ()
    failed: tuple[dict[str, Any], ...] = ()

    def record(self) -> dict[str, Any]:
        """Plain data, ready for JSON."""
        return {
            "profile": self.profile,
            **{
                name: [dict(entry) for entry in getattr(self, name)]
                for name in (
                    "applied",
                    "unchanged",
                    "unsupported",
                    "found",
                    "recovered",
                    "conflicts",
                    "failed",
                )
            },
        }


@dataclass
class Collected:
    """Lists behind a :class:`TuningResult` while the session runs."""

    applied: list[dict[str, Any]] = field(default_factory=list)
    unchanged: list[dict[str, Any]] = field(default_factory=list)
    unsupported: list[dict[str, Any]] = field(default_factory=list)
    found: list[dict[str, Any]] = field(default_factory=list)
    recovered: list[dict[str, Any]] = field(default_factory=list)
    conflicts: list[dict[str, Any]] = field(default_factory=list)
    failed: list[dict[str, Any]] = field(default_factory=list)
