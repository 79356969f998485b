"""Changes that a study's tunings make on its hosts, as a diff."""

from __future__ import annotations

import html
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

import pandas as pd

from netlab.errors import check
from netlab.study import Study
from netlab.tuning.plan_text import plan_html, plan_text

if TYPE_CHECKING:
    from netlab.hosts.host import Host
    from netlab.tuning.plan import Change

COLUMNS = ("path", "tuning", "mtu_B", "host", "knob", "old", "new", "supported", "reason", "source")


@dataclass(frozen=True)
class HostChanges:
    """Changes of a tuning on one host of a path, one a knob in the order they are applied."""

    path: str
    tuning: str
    mtu_B: int | None
    host: str
    changes: tuple[Change, ...]

    @property
    def heading(self) -> str:
        """``path, tuning, MTU: host``."""
        mtu = "as found" if self.mtu_B is None else self.mtu_B
        return f"{self.path}, {self.tuning}, MTU {mtu}: {self.host}"


@dataclass(frozen=True)
class Changes:
    """Changes of settings, host by host; shows itself as a diff.

    ``-`` is the value found, ``+`` the value applied, ``!`` a knob that the host does not have.
    """

    hosts: tuple[HostChanges, ...]

    @property
    def frame(self) -> pd.DataFrame:
        """One row a knob, with :data:`COLUMNS`; ``old`` is missing where it cannot be read."""
        rows = [
            (
                *(part.path, part.tuning, part.mtu_B, part.host),
                " ".join(filter(None, (change.interface, change.knob.label))),
                *(change.old, change.new, change.supported, change.reason, change.source),
            )
            for part in self.hosts
            for change in part.changes
        ]
        return pd.DataFrame.from_records(rows, columns=list(COLUMNS))

    def commands(self) -> str:
        """Shell commands that make the changes by hand, under a comment for each host."""
        lines = []
        for part in self.hosts:
            lines.append(f"# {part.heading}")
            made = (change for change in part.changes if change.changes)
            lines.extend(change.knob.command(change.interface or "") for change in made)
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        parts = [
            f"<h4>{html.escape(part.heading)}</h4>{plan_html(part.changes)}" for part in self.hosts
        ]
        return "".join(parts) or "<p>No tuning is applied.</p>"

    def __repr__(self) -> str:
        parts = [f"# {part.heading}\n{plan_text(part.changes)}" for part in self.hosts]
        return "\n".join(parts) or "No tuning is applied."


def planned_changes(
    study: Study, tuning: str | None = None, path: str | None = None
) -> Iterator[HostChanges]:
    """Read every knob of a study's tunings on its hosts; see :meth:`netlab.Study.changes`.

    Its lab is made, and removed again, if it has lab hosts and none is up.
    """
    from netlab.experiment.endpoint import open_endpoints
    from netlab.experiment.study_hosts import study_lab

    tunings = [level.name for level in study.tunings]
    for kind, only, names in (("tuning", tuning, tunings), ("path", path, list(study.paths))):
        text = f"the study has the {kind}s {', '.join(names)}"
        check(only is None or only in names, kind, only, text, "E-FACE-001")
    with study_lab(study) as lab:
        for name in study.paths if path is None else (path,):
            with open_endpoints(study, study.first_link(name), lab=lab) as endpoints:
                for endpoint in endpoints.values():
                    _require_congestions(study, name, endpoint.host)
                chosen = [level for level in study.tunings if tuning in (None, level.name)]
                levels = [(level.name, mtu_B) for level in chosen for mtu_B in level.mtus]
                for (level, mtu_B), (host, endpoint) in product(levels, endpoints.items()):
                    found = endpoint.planned(study.tuning_profile(host, level), mtu_B)
                    yield HostChanges(name, level, mtu_B, host, found)


def _require_congestions(study: Study, path: str, host: Host) -> None:
    """Refuse a congestion control that a host cannot have; loads nothing."""
    from netlab.congestion import choose
    from netlab.experiment.cc_session import AVAILABLE, can_load, words_of

    groups = (group for group in study.groups if group.path == path)
    names = study.congestions(study.run_groups(groups))
    there = words_of(host, AVAILABLE) if names else ()
    choose(host.name, names, study.stacks, there, lambda module: can_load(host, module))
