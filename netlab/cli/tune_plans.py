"""Plans of a study's tunings as text, and recovery of what a dead netlab left."""

from __future__ import annotations

from collections.abc import Iterator

from netlab.experiment.endpoint import open_stations, study_lab
from netlab.face.changes import planned_changes
from netlab.study import Study
from netlab.tuning.diff import plan_text


def plans(
    study: Study, tuning: str | None = None, path: str | None = None
) -> Iterator[tuple[str, str]]:
    """What each tuning would change on each host of each path; changes nothing.

    Yields
    ------
    heading, diff : str
        One for each path, tuning, MTU and host.

    Raises
    ------
    BadInput
        The study has no such tuning or path.
    """
    for part in planned_changes(study, tuning, path):
        yield part.heading, plan_text(part.changes)


def recover(study: Study) -> Iterator[str]:
    """Revert on every host what a netlab that was killed together with its guard left behind.

    Yields
    ------
    str
        One line for each knob that was looked at, or for a host that has nothing to recover.
    """
    with study_lab(study) as lab:
        for path in study.paths:
            with open_stations(study, path, lab=lab) as stations:
                for host, station in stations.items():
                    answers = station.recover()
                    for answer in answers:
                        words = (answer.get("knob"), answer.get("name"), answer.get("status"))
                        yield f"{host}: {' '.join(str(word) for word in words if word)}"
                    if not answers:
                        yield f"{host}: nothing to recover"
