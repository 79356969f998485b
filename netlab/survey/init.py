"""Survey two hosts, find their path, and write a study of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from netlab.errors import BadInput
from netlab.files.yaml_file import validated
from netlab.hosts.opening import close_hosts, open_all
from netlab.hosts.ssh import SshHost
from netlab.hosts.together import together
from netlab.study import StudyHost, is_name, load
from netlab.survey.findings import Finding, findings
from netlab.survey.pairing import find_paths
from netlab.survey.probe import survey
from netlab.survey.study_text import Reached, file_name, name_of, study_text
from netlab.survey.surveyed import FoundPath


@dataclass(frozen=True)
class Written:
    """A study that was written."""

    file: Path
    paths: tuple[FoundPath, ...]
    findings: tuple[Finding, ...]

    @property
    def path(self) -> str:
        """The measured path in words."""
        one, other = self.paths[0].ends
        return (
            f"{one.host.name} {one.interface.name} ({one.address}) and {other.host.name} "
            f"{other.interface.name} ({other.address}), RTT {self.paths[0].rtt_ms:g} ms"
        )


def init_study(
    hosts: Sequence[Mapping[str, Any]],
    *,
    output: Path | None = None,
    data: tuple[str, str] | None = None,
    force: bool = False,
) -> Written:
    """Survey two hosts and write a study; nothing is changed on them."""
    reached = _named(hosts)
    opened = {each.name: _ssh(each) for each in reached}
    file = output or Path(file_name(reached))
    if file.exists() and not force:
        raise BadInput(
            "exists; --force writes over it, -o FILE another one",
            where=str(file),
            code="E-SURVEY-003",
        )
    open_all(opened)
    try:
        left, right = opened.values()
        looks = [partial(survey, host) for host in (left, right)]
        there, other = (done.result() for done in together(looks, at_once=2))
        paths = find_paths((left, right), (there, other), data)
    finally:
        close_hosts(opened)
    found = findings(paths)
    name = file.stem if is_name(file.stem) else "-".join(opened)
    text = study_text(name, reached, paths, found)
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise BadInput(
            f"cannot be written: {error.strerror}", where=str(file), code="E-SURVEY-005"
        ) from None
    load(file)
    return Written(file, paths, found)


def _named(hosts: Sequence[Mapping[str, Any]]) -> list[Reached]:
    """The hosts with names for the study; each value is checked as in a study."""
    reached: list[Reached] = []
    for given, side in zip(hosts, ("LEFT", "RIGHT"), strict=True):
        keys = {key: value for key, value in given.items() if value is not None}
        host = validated(StudyHost, {"kind": "ssh", **keys}, side)
        assert host.address is not None  # the model refuses an ssh host without one
        reached.append(
            Reached(
                name_of(host.address, [each.name for each in reached]),
                host.address,
                host.user,
                host.port,
                host.identity_file,
            )
        )
    left, right = reached
    if (left.address, left.port) == (right.address, right.port):
        raise BadInput(
            "are the same host: a path has two ends",
            where="LEFT and RIGHT",
            value=left.address,
            code="E-SURVEY-004",
        )
    return reached


def _ssh(host: Reached) -> SshHost:
    return SshHost(
        host.name,
        host.address,
        user=host.user,
        port=host.port,
        identity_file=host.identity_file,
    )
