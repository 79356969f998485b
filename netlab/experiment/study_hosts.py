"""The hosts of a study, over SSH or in a lab, and their addresses on a path."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

from netlab import core
from netlab.errors import BadInput
from netlab.experiment.cc_session import check_lab_controls
from netlab.hosts.host import Host
from netlab.hosts.opening import open_all
from netlab.hosts.ssh import SshHost
from netlab.lab import lab as labs
from netlab.lab.lab import Lab
from netlab.lab.reaper import base as lab_base
from netlab.lab.topology import addresses, interfaces
from netlab.study import Study


def open_hosts(study: Study, names: Iterable[str], lab: Lab | None = None) -> dict[str, Host]:
    hosts = {name: host_of(study, name, lab) for name in names}
    open_all(hosts)
    return hosts


def host_of(study: Study, name: str, lab: Lab | None = None) -> Host:
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
    reached = SshHost(
        name, host.address, user=host.user, port=host.port, identity_file=host.identity_file
    )
    reached.agent_directory = host.agent_directory or ""
    return reached


def data_address(study: Study, link: str, host: str, version: int = 4) -> str:
    _check_end(study, link, host)
    end = next(end for end in study.path(link).every_end if end.host == host)
    if end.address is not None:
        return end.address
    return addresses(study, link, version)[host]


def interface(study: Study, link: str, host: str) -> str:
    _check_end(study, link, host)
    return interfaces(study)[link, host]


def _check_end(study: Study, link: str, host: str) -> None:
    if link not in study.links:
        raise BadInput("unknown path", where="paths", value=link, code="E-RUN-014")
    if host not in study.path(link).hosts:
        raise BadInput(
            "is not an end of this path", where=f"paths.{link}", value=host, code="E-RUN-015"
        )


@contextmanager
def study_lab(study: Study, *, lab_id: str = "") -> Iterator[labs.Lab | None]:
    """The lab of a study: the one with an id, a matching one that is up, or a new one."""
    if all(host.kind != "lab" for host in study.hosts.values()):
        yield None
        return
    check_lab_controls(study, core.bpf_missing())
    lab = None if lab_id else labs.find(study)
    if lab_id:
        if not labs.LAB_ID.fullmatch(lab_id):
            raise BadInput("is not a lab id", key="lab", value=lab_id, code="E-RUN-010")
        lab = labs.Lab(Path(lab_base()) / lab_id)
        if not lab.fits(study):
            raise BadInput(
                "no lab of this id fits the study", key="lab", value=lab_id, code="E-RUN-011"
            )
    with nullcontext(lab) if lab else labs.Lab.up(study, owned=True) as open_lab:
        yield open_lab
