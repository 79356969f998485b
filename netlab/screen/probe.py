"""Probe of a tuning: find its knobs that change anything on two hosts; nothing is changed there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from netlab.analysis.screened import reasons_of
from netlab.experiment.endpoint import open_endpoints, study_lab
from netlab.screen.request import ScreenRequest
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
        """Knobs that are not factors -> reason."""
        reasons = reasons_of(self.unsupported, self.unchanged)
        return {knob: why for knob, why in reasons.items() if knob not in self.factors}


def probed(items: Mapping[str, Knob | Choice], planned: Mapping[str, Iterable[Change]]) -> Probed:
    """Sort the knobs of a tuning by its plans."""
    factors, unsupported, unchanged = [], [], []
    for name, item in items.items():
        changing = False
        for host, plan in planned.items():
            found = [change for change in plan if _of(item, change)]
            there = [change for change in found if change.supported]
            changing = changing or any(change.changes for change in there)
            if not there:
                reasons = dict.fromkeys(change.reason or "not supported" for change in found)
                unsupported.append({"host": host, "knob": name, "reason": "; ".join(reasons)})
                changing = changing or name in CLIPPED
            elif not any(change.changes for change in there):
                value = ", ".join(change.new for change in there)
                unchanged.append({"host": host, "knob": name, "value": value})
        if changing:
            factors.append(name)
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
            name: endpoint.planned(ask.profile, mtus_B[0] if mtus_B else None).changes
            for name, endpoint in endpoints.items()
        }
    return probed(ask.items, plans)
