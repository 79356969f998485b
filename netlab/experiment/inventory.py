"""The hosts of a study, over SSH or in a lab, and their addresses on a path."""

from __future__ import annotations

from collections.abc import Iterable

from netlab.errors import BadInput
from netlab.hosts.host import Host
from netlab.hosts.opening import open_all
from netlab.hosts.ssh import SshHost
from netlab.lab.lab import Lab
from netlab.lab.topology import addresses, interfaces
from netlab.study import Study


def open_hosts(study: Study, names: Iterable[str], lab: Lab | None = None) -> dict[str, Host]:
    """Connect to hosts of a study, several at a time."""
    hosts = {name: host_of(study, name, lab) for name in names}
    open_all(hosts)
    return hosts


def host_of(study: Study, name: str, lab: Lab | None = None) -> Host:
    """One host of a study, not yet open."""
    if name not in study.hosts:
        raise BadInput("unknown host", where="hosts", value=name, code="E-RUN-012")
    host = study.hosts[name]
    if host.kind == "lab":
        if lab is None:
            raise BadInput(
                "is a lab host, but no lab is up", where=f"hosts.{name}", code="E-RUN-013"
            )
        return lab.host(name)
    assert host.address is not None  # the model refuses an ssh host without one
    return SshHost(
        name,
        host.address,
        user=host.user,
        port=host.port,
        identity_file=host.identity_file,
    )


def data_address(study: Study, path: str, host: str, version: int = 4) -> str:
    """Address of a host on a path."""
    _check_end(study, path, host)
    end = next(end for end in study.path(path).ends if end.host == host)
    if end.address is not None:
        return end.address
    return addresses(study, path, version)[host]


def interface(study: Study, path: str, host: str) -> str:
    """Name of a host's interface on a path."""
    _check_end(study, path, host)
    return interfaces(study)[path, host]


def _check_end(study: Study, path: str, host: str) -> None:
    if path not in study.links:
        raise BadInput("unknown path", where="paths", value=path, code="E-RUN-014")
    if host not in {end.host for end in study.path(path).ends}:
        raise BadInput(
            "is not an end of this path", where=f"paths.{path}", value=host, code="E-RUN-015"
        )
