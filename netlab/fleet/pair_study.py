"""The study of a fleet: a study of one path, whose two hosts stand for those of any pair."""

from __future__ import annotations

from netlab.errors import BadInput
from netlab.files.yaml_file import validated
from netlab.fleet.inventory import FleetHost
from netlab.fleet.pairs import Pair
from netlab.study import Study

PairEnds = tuple[tuple[str, str], tuple[str, str]]
"""Data address and interface of the first and the second host of a pair."""


def check_template(study: Study) -> None:
    """Refuse a study that cannot be measured on other hosts than its own."""
    if len(study.paths) != 1 or len(study.hosts) != 2:
        raise BadInput(
            "a fleet takes a study of one path and two hosts, which stand for those of each pair",
            where=study.name,
            key="paths",
            value=len(study.paths),
            code="E-FLEET-023",
        )
    (path,) = study.paths.values()
    if path.link is not None or any("+" in link for link in study.links):
        text = "only a lab has links that netlab makes; leave the link out"
        raise BadInput(text, where=study.name, key="paths", code="E-FLEET-024")
    if study.outer:
        text = "a fleet has no factors that a person sets between runs"
        raise BadInput(text, where=study.name, key="outer", code="E-FLEET-025")
    if study.precision is not None and study.precision.budget is not None:
        text = "a fleet has no budget of time; give max_rounds"
        raise BadInput(text, where=study.name, key="precision.budget", code="E-FLEET-026")


def pair_study(
    study: Study, pair: Pair, hosts: tuple[FleetHost, FleetHost], ends: PairEnds
) -> Study:
    ((name, path),) = study.paths.items()
    roles = [end.host for end in path.ends]
    named = dict(zip(roles, pair, strict=True))
    content = study.model_dump(mode="python")
    content["hosts"] = {
        named[role]: host.ssh(named[role]).model_dump()
        | {key: content["hosts"][role][key] for key in ("profiles", "bus")}
        for role, host in zip(roles, hosts, strict=True)
    }
    content["paths"][name]["ends"] = tuple(
        {"host": host, "address": address, "interface": interface}
        for host, (address, interface) in zip(pair, ends, strict=True)
    )
    for group in content["groups"]:
        group["sender"] = named[group["sender"]]
    return validated(Study, content, f"{study.name} for {pair[0]} and {pair[1]}")
