"""A host ready to measure: its agent runs, its card is known, and it can be tuned."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from netlab import core
from netlab.errors import BadInput, HostError
from netlab.hosts import lab as labs
from netlab.hosts.host import Host
from netlab.hosts.inventory import close_hosts, data_address, interface, open_hosts
from netlab.hosts.lines import LineProcess
from netlab.hosts.push import cache_directory, push_agent
from netlab.hosts.reaper import base as lab_base
from netlab.plan import Block
from netlab.study import Study
from netlab.tuning.profiles import Profile, load_profile
from netlab.tuning.session import TuningSession

READY_S = 10.0
PROTOCOL = 1


class Station:
    """One end of a path while it is open; made by :func:`open_stations`.

    Attributes
    ----------
    host : Host
        How it is reached.
    agent : LineProcess
        Its agent, which has said it is ready.
    address, interface : str
        Of the data path.
    facts : dict
        What the host is, see :mod:`netlab.hosts.facts`.
    link : dict
        How its end of a lab link is set, read back; empty elsewhere.
    """

    def __init__(self, name: str, host: Host, study: Study, path: str):
        self.name, self.host = name, host
        self.software_deferral = study.hosts[name].kind == "lab"
        self.address = data_address(study, path, name)
        self.interface = interface(study, path, name)
        self.facts = host.facts(self.interface)
        self.link: dict = {}
        self.binary = push_agent(host, core.gensink_path(), source_dir=core.source_dir())
        self.agent = self._started("agent")
        self.session: TuningSession | None = None
        self._profile: Profile | None = None

    def _started(self, *words: str, sudo: bool = False) -> LineProcess:
        process = self.host.start((self.binary, *words), sudo=sudo)
        try:
            ready = process.receive(READY_S)
            if ready.get("event") == "error":
                raise HostError(self.name, str(ready.get("message")))
            if ready.get("event") != "ready" or ready.get("protocol") != PROTOCOL:
                raise HostError(self.name, f"speaks another protocol: {ready}")
            if ready.get("digest") != core.source_digest():
                raise HostError(self.name, "runs an agent of other sources than this netlab")
        except BaseException:
            process.close()
            raise
        return process

    def close(self) -> None:
        """End the agent."""
        self.agent.close()

    def open_files(self) -> int | None:
        """The hard limit of open files of a process on the host; None if it has none."""
        text = self.host.run(("sh", "-c", "ulimit -Hn")).stdout.strip()
        return int(text) if text.isdigit() else None

    @contextmanager
    def tuning(self, profile: Profile, mtu_B: int | None) -> Iterator[TuningSession]:
        """Hold the host tuned; everything is reverted at the end."""
        journal = f"{cache_directory(self.host)}/journal"
        process = self._started("tune", "--journal", journal, sudo=True)
        try:
            with TuningSession(
                process,
                profile,
                self.interface,
                mtu_B,
                software_deferral=self.software_deferral,
                host=self.name,
            ) as session:
                self.session, self._profile = session, profile
                yield session
        finally:
            process.close()

    @contextmanager
    def tuned(self, study: Study, block: Block) -> Iterator[TuningSession]:
        """Hold the host tuned as a block of the study asks."""
        profile = load_profile(study.profile(self.name, block.tuning))
        with self.tuning(profile, block.mtu_B) as session:
            yield session

    @contextmanager
    def with_mtu(self, mtu_B: int) -> Iterator[TuningSession]:
        """Hold the interface at an MTU and change nothing else."""
        with self.tuning(Profile.empty("mtu-probe"), mtu_B) as session:
            yield session

    def buffer_clamps(self) -> tuple[int | None, int | None]:
        """What the tuning's wmem_max and rmem_max would clip a socket's buffers to, in B.

        None where the host took the sysctl itself (then its kernel clips) or the tuning sets none.
        """
        if self.session is None or self._profile is None:
            return None, None
        send_max, receive_max = self._profile.buffer_clamp_B()
        refused = {change.knob.name for change in self.session.unsupported}
        return (
            send_max if "net.core.wmem_max" in refused else None,
            receive_max if "net.core.rmem_max" in refused else None,
        )

    def drift(self) -> list[str]:
        """Knobs that are no longer what was applied, one sentence each."""
        if self.session is None:
            return []
        return [f"{self.name}: {line}" for line in self.session.drift()]

    def unsupported(self) -> list[dict]:
        """``host``, ``knob`` and ``reason`` of what this host does not have."""
        if self.session is None:
            return []
        return [
            {"host": self.name, "knob": change.knob.label, "reason": change.reason}
            for change in self.session.unsupported
        ]

    def conflicts(self) -> list[dict]:
        """``host``, ``knob`` and ``reason`` of what somebody else changed meanwhile."""
        if self.session is None:
            return []
        return [{"host": self.name, **line} for line in self.session.conflicts]

    def knobs(self) -> dict[str, str]:
        """Every knob of the tuning as read back."""
        return dict(self.session.readback) if self.session is not None else {}

    @property
    def plan(self) -> object | None:
        """The tuning's plan, which shows itself as a diff; None before tuning."""
        return self.session.plan if self.session is not None else None


@contextmanager
def open_stations(
    study: Study, path: str, *, lab: labs.Lab | None = None
) -> Iterator[dict[str, Station]]:
    """Open both ends of a path: reached, agent pushed and ready.

    Agents start in the sorted order of host names, so that two controllers that want the same
    hosts cannot each hold one and wait for the other.

    Raises
    ------
    HostError
        A host cannot be reached, or another netlab is using it.
    """
    names = [end.host for end in study.paths[path].ends]
    hosts = open_hosts(study, names, lab)
    try:
        with ExitStack() as stack:
            stations = {}
            for name in sorted(names):
                station = Station(name, hosts[name], study, path)
                stack.callback(station.close)
                stations[name] = station
            if lab is not None:
                described = lab.describe()[path]
                for name, station in stations.items():
                    station.link = described[name]
            yield {name: stations[name] for name in names}
    finally:
        close_hosts(hosts)


@contextmanager
def study_lab(study: Study, *, lab_id: str = "") -> Iterator[labs.Lab | None]:
    """The lab a study needs: the one of that id, one that is up and fits, or one of its own.

    Yields
    ------
    Lab or None
        None for a study without lab hosts. A lab made here is removed at the end, also when this
        process is killed.

    Raises
    ------
    BadInput
        There is no lab of that id, or it is not what this study would make.
    """
    if all(host.kind != "lab" for host in study.hosts.values()):
        yield None
        return
    if lab_id:
        if not labs.LAB_ID.fullmatch(lab_id):
            raise BadInput("is no lab id", key="lab", value=lab_id)
        given = labs.Lab(Path(lab_base()) / lab_id)
        if not given.fits(study):
            raise BadInput("no lab of this id fits the study", key="lab", value=lab_id)
        yield given
        return
    standing = labs.find(study)
    if standing is not None:
        yield standing
        return
    with labs.Lab.up(study, owned=True) as own:
        yield own


def host_facts(study: Study, *, lab: labs.Lab | None = None) -> dict[str, dict[str, dict]]:
    """Facts of the ends of every path that a group uses: path -> host -> facts.

    Raises
    ------
    HostError
        A host cannot be reached.
    """
    used = [path for path in study.paths if any(group.path == path for group in study.groups)]
    names = sorted({end.host for path in used for end in study.paths[path].ends})
    hosts = open_hosts(study, names, lab)
    try:
        return {
            path: {
                end.host: hosts[end.host].facts(interface(study, path, end.host))
                for end in study.paths[path].ends
            }
            for path in used
        }
    finally:
        close_hosts(hosts)
