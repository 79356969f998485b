"""Outcome of a tuning session: knobs applied, found, recovered, in conflict."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True)
class Drift:
    """A knob whose value differs from the applied one; ``found`` is None where it is gone."""

    knob: str
    name: str | None
    interface: str | None
    expected: str
    found: str | None


Entries = list[dict[str, Any]]


@dataclass
class TuningResult:
    """Knobs of a session by what became of them; it fills as the session goes on."""

    profile: str
    applied: Entries = field(default_factory=list)
    unchanged: Entries = field(default_factory=list)
    unsupported: Entries = field(default_factory=list)
    found: Entries = field(default_factory=list)
    recovered: Entries = field(default_factory=list)
    conflicts: Entries = field(default_factory=list)
    failed: Entries = field(default_factory=list)
    beside: Entries = field(default_factory=list)
    """Changes by knobs with a risk beside their own; a revert puts them back, or reports them."""

    def record(self) -> dict[str, Any]:
        return asdict(self)
