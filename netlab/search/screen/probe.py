"""Probe of a tuning: find its knobs that change anything on two hosts; nothing is changed there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from netlab.experiment.endpoint import open_endpoints
from netlab.experiment.study_hosts import study_lab
from netlab.search.screen.record import reasons_of
from netlab.search.screen.request import ScreenRequest
from netlab.tuning.knobs import Choice, Knob
from netlab.tuning.plan import Change

CLIPPED = ("net.core.wmem_max", "net.core.rmem_max")
"""Limits of a program's request, which netlab itself observes where a host lacks the sysctl."""


@dataclass(frozen=True)
class Probed:
    """Knobs of a tuning on the hosts of a path."""

    factors: tuple[str, ...]
    unsupported: tuple[dict, ...] = ()
    unchanged: tuple[dict, ...] = ()

    @property
    def left_out(self) -> dict[str, str]:
        return reasons_of(self.unsupported, self.unchanged, self.factors)


def probed(items: Mapping[str, Knob | Choice], planned: Mapping[str, Iterable[Change]]) -> Probed:
    factors, unsupported, unchanged = [], [], []
    for name, item in items.items():
        changing = False
        for host, plan in planned.items():
            changes = [change for change in plan if _of(item, change)]
            supported = [change for change in changes if change.supported]
            if not supported:
                reasons = dict.fromkeys(change.reason or "not supported" for change in changes)
                unsupported.append({"host": host, "knob": name, "reason": "; ".join(reasons)})
                changing |= name in CLIPPED
            elif any(change.changes for change in supported):
                changing = True
            else:
                value = ", ".join(change.new for change in supported)
                unchanged.append({"host": host, "knob": name, "value": value})
        factors += [name] * changing
    return Probed(tuple(factors), tuple(unsupported), tuple(unchanged))


def _of(item: Knob | Choice, change: Change) -> bool:
    if isinstance(item, Choice):
        return change.parameter == item.parameter
    return change.parameter is None and change.key == (item.kind, item.name)


def probe(ask: ScreenRequest) -> Probed:
    """Plan the whole tuning on both hosts of the path."""
    study, path, mtus_B = ask.study, ask.group.path, ask.mtus_B
    with (
        study_lab(study) as lab,
        open_endpoints(study, study.first_link(path), lab=lab) as endpoints,
    ):
        plans = {
            name: endpoint.planned(ask.profile, mtus_B[0] if mtus_B else None)
            for name, endpoint in endpoints.items()
        }
    return probed(ask.items, plans)
