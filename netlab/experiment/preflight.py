"""What can be known before anything is changed: will this study run on these hosts?"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from netlab.errors import HostError, NetlabError, RunError, Unsupported
from netlab.experiment.endpoint import Station, open_stations, study_lab
from netlab.files import paths
from netlab.generators import missing
from netlab.measure.exchange import Request, Side, measure
from netlab.study import Study
from netlab.study.schedule import blocks

RESULT_B_PER_RUN = 400_000
"""Parquet and executed notebook of a run, generously."""

FILES_SPARE = 64


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at: ``ok``, ``warn`` or ``fail``, and what was found."""

    status: str
    subject: str
    text: str

    def line(self) -> str:
        """The finding as one line."""
        return f"{self.status:4}  {self.subject}: {self.text}"


def preflight(study: Study) -> Iterator[Finding]:
    """Look at everything a study needs; nothing stays changed.

    The MTU probe sets each MTU on both ends, sends full segments with don't-fragment set (as TCP
    does), and reverts.

    Yields
    ------
    Finding
        As they are found; a host that cannot be reached ends the findings of its paths only.
    """
    yield from _space(study)
    try:
        with study_lab(study) as lab:
            for path in study.paths:
                try:
                    with open_stations(study, path, lab=lab) as stations:
                        yield from _path(study, path, stations)
                except NetlabError as error:
                    yield Finding("fail", f"path {path}", str(error))
    except NetlabError as error:
        yield Finding("fail", "lab", str(error))


def _space(study: Study) -> Iterator[Finding]:
    runs = sum(len(block.runs) for block in blocks(study))
    need_B = runs * RESULT_B_PER_RUN
    where: Path = paths.results_dir(study.name)
    while not where.exists():
        where = where.parent
    free_B = shutil.disk_usage(where).free
    status = "ok" if free_B > need_B else "fail"
    text = f"{free_B / 1e9:.1f} GB free for results, {need_B / 1e9:.2f} GB may be needed"
    yield Finding(status, "space", text)


def _path(study: Study, path: str, stations: dict[str, Station]) -> Iterator[Finding]:
    most = max(study.streams) * 2
    for name, station in stations.items():
        facts = station.facts
        yield Finding(
            "ok",
            name,
            f"reached, {facts.get('kernel')}, {facts.get('cpus')} x {facts.get('cpu_model')}",
        )
        if station.host.is_root or station.host.can_sudo:
            yield Finding("ok", name, "may be tuned")
        elif _stays_as_found(study, name):
            yield Finding("ok", name, "is not tuned, and neither root nor sudo -n is needed")
        else:
            yield Finding("fail", name, "is neither root nor may use sudo -n, so cannot be tuned")
        if facts.get("interface_exists") is False:
            yield Finding("fail", name, f"has no interface {station.interface}")
            continue
        yield Finding("ok", name, f"{station.interface} carries {station.address}")
        limit = station.open_files()
        short = limit is not None and limit < most + FILES_SPARE
        yield Finding(
            "fail" if short else "ok",
            name,
            f"{limit if limit is not None else 'unknown'} open files allowed, {most} streams asked",
        )
        for generator, version in facts["generators"].items():
            text = missing(generator) if version is None else f"{generator}: {version}"
            yield Finding("fail" if version is None else "ok", name, text)
        bus = study.hosts[name].bus
        text = f"{bus.label}, {bus.bandwidth_MBps:.0f} MB/s" if bus else _bus_found(facts)
        yield Finding("ok" if bus else "warn", name, f"bus: {text}")
        names = study.congestions(group for group in study.groups if group.path == path)
        if names:
            yield _stacks(study, names, station)
    for mtu_B in sorted(
        {mtu for level in study.tunings for mtu in level.mtus},
        key=lambda mtu_B: mtu_B or 0,
    ):
        yield _mtu(study, path, stations, mtu_B)


def _stacks(study: Study, names: tuple[str, ...], station: Station) -> Finding:
    """Whether the host can have every congestion control."""
    try:
        with station.stacks(study, names) as stacks:
            texts = [f"{name}: {held.text()}" for name, held in stacks.held.items()]
    except Unsupported as error:
        return Finding("fail", station.name, str(error))
    return Finding("ok", station.name, "congestion control " + "; ".join(texts))


def _bus_found(facts: dict) -> str:
    if facts.get("bus_speed"):
        return (
            f"{facts['bus_speed']} x{facts['bus_width']} in sysfs; name its bandwidth in the "
            "study to see per cent of it"
        )
    return "unknown; name it in the study to see per cent of it"


def _cpus(study: Study, path: str) -> dict[str, str | None]:
    """CPUs of each end's threads in the runs of the path's first group."""
    for group in study.groups:
        if group.path == path:
            socket = study.socket
            return {
                group.sender: socket.cpus_sender,
                study.receiver(group): socket.cpus_receiver,
            }
    return {}


def _stays_as_found(study: Study, host: str) -> bool:
    """Whether no tuning of the study sets anything on a host."""
    return all(
        level.mtus_B is None and not study.tuning_profile(host, level.name).items
        for level in study.tunings
    )


def _mtu(study: Study, path: str, stations: dict[str, Station], set_B: int | None) -> Finding:
    """Send full segments of one MTU each way; None leaves the MTU as found."""
    found_B = [station.mtu_B() for station in stations.values()]
    mtu_B = set_B or min(found_B)
    subject = f"path {path}, MTU {mtu_B}"
    if set_B is None:
        subject += " as found"
        if len(set(found_B)) > 1:
            ends = " and ".join(f"{name} {station.mtu_B()} B" for name, station in stations.items())
            return Finding("warn", subject, f"the ends differ: {ends}")
    request = Request(
        streams=1,
        record_length_B=65536,
        congestion="reno",  # every kernel has it, and any user may choose it
        force_buffer=False,
        receive=study.receive,
        warmup_ms=0,
        window_ms=100,
        interval_ms=50,
        both=True,
        engine=study.engine,
        threads=study.threads,
        send=study.send,
        # full segments, at full speed; the rest is tried, so that what is refused is known now
        socket=study.socket.model_copy(update={"mss_B": None, "pacing_MBps": None}),
    )
    cpus = _cpus(study, path)
    sides = [
        Side(name, station.agent, station.address, station.interface, 0, 0, cpus=cpus.get(name))
        for name, station in stations.items()
    ]
    try:
        with stations[sides[0].host].with_mtu(set_B), stations[sides[1].host].with_mtu(set_B):
            outcome = measure(sides[0], sides[1], request)
    except HostError:
        raise
    except (RunError, NetlabError) as error:
        return Finding("fail", subject, str(error))
    sizes = {s["tcp"]["mss_B"] for flow in outcome.flows for s in flow.gen["per_stream"]}
    stuck = [flow for flow in outcome.flows if flow.sink["total_bytes"] < mtu_B]
    mss_B = min(sizes)
    if stuck or mss_B < mtu_B - 80:
        return Finding("fail", subject, f"full segments do not pass; TCP fell back to {mss_B} B")
    return Finding("ok", subject, f"segments of {mss_B} B pass both ways, not fragmented")
