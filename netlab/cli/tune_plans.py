"""Plans of a study's tunings as text, and recovery of what a dead netlab left."""

from __future__ import annotations

from collections.abc import Iterator

from netlab.errors import BadInput
from netlab.experiment.endpoint import open_stations, study_lab
from netlab.study import Study


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
    _known("tuning", tuning, [level.name for level in study.tunings])
    _known("path", path, list(study.paths))
    with study_lab(study) as lab:
        for name in study.paths if path is None else (path,):
            with open_stations(study, name, lab=lab) as stations:
                for level in study.tunings:
                    if tuning not in (None, level.name):
                        continue
                    for mtu_B in level.mtus:
                        mtu = "as found" if mtu_B is None else mtu_B
                        for host, station in stations.items():
                            profile = study.tuning_profile(host, level.name)
                            heading = f"{name}, {level.name}, MTU {mtu}: {host}"
                            yield heading, station.planned(profile, mtu_B).to_text()


def _known(kind: str, given: str | None, names: list[str]) -> None:
    if given is not None and given not in names:
        raise BadInput(f"the study has the {kind}s {', '.join(names)}", key=kind, value=given)


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
