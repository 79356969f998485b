"""Preflight: check that a study can run on its hosts, before anything is changed."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from netlab.errors import HostError, NetlabError, Unsupported
from netlab.experiment.endpoint import Endpoint, open_endpoints, study_lab
from netlab.experiment.measurement import probe_request, side_of
from netlab.experiment.packet_size import packet_size
from netlab.experiment.path_bus import contradiction, host_bus
from netlab.files import paths
from netlab.generators import missing
from netlab.study import Group, Study, Timing
from netlab.study.factors import path_of_link
from netlab.study.schedule import visits

RESULT_B_PER_RUN = 400_000
"""Upper estimate of the Parquet rows and the executed notebook of one run."""

FILES_SPARE = 64
"""Open files that an agent needs besides its streams."""

OPTIONS_B = 40
"""Options of TCP that a host may reserve in each packet besides timestamps."""

MTU_TIMING = Timing(rounds=1, seconds=0.1, warmup_s=0.0, interval_ms=50)


@dataclass(frozen=True)
class Check:
    """One check: its status (``ok``, ``warn`` or ``fail``), its subject and its result."""

    status: str
    subject: str
    text: str

    def line(self) -> str:
        """The check as one line."""
        return f"{self.status:4}  {self.subject}: {self.text}"


def preflight(study: Study, directory: Path | None = None) -> Iterator[Check]:
    """Check everything a study needs, and revert every change.

    The MTU probe sets each MTU on both ends, sends full-size packets with don't-fragment set each
    way, and reverts.

    Parameters
    ----------
    study : Study
        What is to be measured.
    directory : Path, optional
        Where its results will go; the study's own place when left out.

    Yields
    ------
    Check
        In the order made; a host that cannot be reached ends the checks of its paths only.
    """
    yield from _space(study, directory or paths.results_dir(study.name))
    try:
        with study_lab(study) as lab:
            for path in study.links:
                try:
                    with open_endpoints(study, path, lab=lab) as endpoints:
                        yield from _path(study, path, endpoints)
                except NetlabError as error:
                    yield Check("fail", f"path {path}", str(error))
    except NetlabError as error:
        yield Check("fail", "lab", str(error))


def _space(study: Study, where: Path) -> Iterator[Check]:
    runs = sum(len(visit.runs) for visit in visits(study))
    need_B = runs * RESULT_B_PER_RUN
    while not where.exists():
        where = where.parent
    free_B = shutil.disk_usage(where).free
    status = "ok" if free_B > need_B else "fail"
    text = f"{free_B / 1e9:.1f} GB free for results, {need_B / 1e9:.2f} GB may be needed"
    yield Check(status, "space", text)


def _path(study: Study, path: str, endpoints: dict[str, Endpoint]) -> Iterator[Check]:
    most = max(study.streams) * 2
    for name, endpoint in endpoints.items():
        facts = endpoint.facts
        yield Check(
            "ok",
            name,
            f"reached, {facts.get('kernel')}, {facts.get('cpus')} x {facts.get('cpu_model')}",
        )
        if endpoint.host.is_root or endpoint.host.can_sudo:
            yield Check("ok", name, "may be tuned")
        elif _stays_as_found(study, name):
            yield Check("ok", name, "is not tuned, and neither root nor sudo -n is needed")
        else:
            yield Check("fail", name, "cannot be tuned: the user is not root, and sudo -n fails")
        if facts.get("interface_exists") is False:
            yield Check("fail", name, f"has no interface {endpoint.interface}")
            continue
        yield Check("ok", name, f"{endpoint.interface} carries {endpoint.address}")
        limit = endpoint.open_files()
        short = limit is not None and limit < most + FILES_SPARE
        yield Check(
            "fail" if short else "ok",
            name,
            f"{limit if limit is not None else 'unknown'} open files allowed, {most} streams used",
        )
        for generator, version in facts["generators"].items():
            text = missing(generator) if version is None else f"{generator}: {version}"
            yield Check("fail" if version is None else "ok", name, text)
        yield _bus(study, name, facts)
        names = study.congestions(study.run_groups(_groups(study, path)))
        if names:
            yield _controls(study, names, endpoint)
    for mtu_B in sorted(
        {mtu for level in study.tunings for mtu in level.mtus},
        key=lambda mtu_B: mtu_B or 0,
    ):
        yield _mtu(study, path, endpoints, mtu_B)


def _controls(study: Study, names: tuple[str, ...], endpoint: Endpoint) -> Check:
    """Check that the host has every congestion control."""
    try:
        with endpoint.congestion_controls(study, names) as session:
            texts = [f"{name}: {control.text()}" for name, control in session.controls.items()]
    except Unsupported as error:
        return Check("fail", endpoint.name, str(error))
    return Check("ok", endpoint.name, "congestion control " + "; ".join(texts))


def _bus(study: Study, name: str, facts: dict) -> Check:
    """Check that the bus of the host's card is known, and that study and host agree on it."""
    bus, wrong = host_bus(study, name, facts), contradiction(study, name, facts)
    if bus is None:
        text = "unknown; set it in the study to get results in per cent of it"
        return Check("warn", name, f"bus: {text}")
    if wrong:
        return Check("warn", name, f"bus: {wrong}")
    source = ", as the host reports" if bus.source == "sysfs" else ""
    return Check("ok", name, f"bus: {bus.label}, {bus.bandwidth_MBps:.0f} MB/s{source}")


def _cpus(study: Study, path: str) -> dict[str, str | None]:
    """CPU list of each end's threads, from the path's first group."""
    for group in _groups(study, path):
        socket = study.socket
        return {
            group.sender: socket.cpus_sender,
            study.receiver(group): socket.cpus_receiver,
        }
    return {}


def _groups(study: Study, path: str) -> list[Group]:
    """Groups of the path that a link belongs to."""
    return [group for group in study.groups if group.path == path_of_link(path)]


def _stays_as_found(study: Study, host: str) -> bool:
    """True if no tuning of the study sets a knob on a host."""
    return all(
        level.mtus_B is None and not study.tuning_profile(host, level.name).items
        for level in study.tunings
    )


def _mtu(study: Study, path: str, endpoints: dict[str, Endpoint], set_B: int | None) -> Check:
    """Send full-size packets of one MTU each way; None leaves the MTU as found."""
    found_B = [endpoint.mtu_B() for endpoint in endpoints.values()]
    mtu_B = set_B or min(found_B)
    subject = f"path {path}, MTU {mtu_B}"
    if set_B is None:
        subject += " as found"
        if len(set(found_B)) > 1:
            ends = " and ".join(f"{name} {end.mtu_B()} B" for name, end in endpoints.items())
            return Check("warn", subject, f"the ends differ: {ends}")
    cpus = _cpus(study, path)
    one, other = (side_of(endpoint, cpus=cpus.get(name)) for name, endpoint in endpoints.items())
    request = probe_request(study, MTU_TIMING)
    try:
        with endpoints[one.host].with_mtu(set_B), endpoints[other.host].with_mtu(set_B):
            for endpoint in endpoints.values():
                endpoint.wait_for_carrier()
            found = [packet_size(one, other, request), packet_size(other, one, request)]
    except HostError:
        raise
    except NetlabError as error:
        return Check("fail", subject, str(error))
    lost = [size.text() for size in found if not size.passes]
    if lost:
        return Check("fail", subject, "; ".join(lost))
    least_B = min(size.full_B for size in found)
    if least_B < mtu_B - OPTIONS_B:
        text = f"TCP uses packets of {least_B} B only: a router or a setting of a host limits them"
        return Check("fail", subject, text)
    return Check("ok", subject, f"packets of {least_B} B pass both ways, not fragmented")
