"""An open end of a path: host, agent, interface and tuning."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial
from itertools import combinations

import netlab.version
from netlab import core
from netlab.errors import HostError, TuningError
from netlab.experiment.cc_session import CcSession, open_cc_session
from netlab.experiment.found_facts import agent_on, facts_of, settings_found
from netlab.experiment.study_hosts import data_address, interface, open_hosts
from netlab.files.recorded_facts import EndFacts
from netlab.hosts.at_once import together
from netlab.hosts.carrier import NO_CARRIER, wait_for_carrier
from netlab.hosts.host import Host
from netlab.hosts.host_facts import ONE_HOST, is_one_host, whole_number
from netlab.hosts.lease import HostLease
from netlab.hosts.line_process import SILENCE_S, LineProcess
from netlab.hosts.opening import close_hosts
from netlab.hosts.route import Route, route_of
from netlab.hosts.stack import InterfaceStack
from netlab.lab import lab as labs
from netlab.lab.rootless_limits import lab_limits
from netlab.measure.link_local import is_link_local, scoped
from netlab.notebooks.progress import note
from netlab.study import Group, Study
from netlab.tuning.knobs import is_driver_set
from netlab.tuning.plan import Change
from netlab.tuning.profiles import Profile
from netlab.tuning.requests import AFTERWARDS, beside_text
from netlab.tuning.session import TuningSession

READY_S = 10.0
PROTOCOL = 1
LEAST_MTU_B, MOST_MTU_B = 68, 1 << 24
"""68: RFC 791, section 3.2. A loopback has 65536, and may have more."""
HOLD_S = 15
"""Dead-man timeout: the host reverts its tuning after this time without the controller."""

NO_KNOBS = Profile(
    name="mtu-only", title="MTU only", source="preflight", lineage=("mtu-only",), notes=(), items=()
)


class _Lines:
    """Adapter of a LineProcess to the tuning session: whole lines, standard exceptions."""

    def __init__(self, process: LineProcess):
        self._process = process

    def send(self, line: str) -> None:
        try:
            self._process.send_line(line)
        except HostError as error:
            raise ConnectionError(str(error)) from error

    def receive(self, timeout_s: float) -> dict:
        try:
            answer = self._process.poll(timeout_s)
        except HostError as error:
            raise EOFError(str(error)) from error
        if answer is None:
            raise TimeoutError
        return answer


class Endpoint:
    """One open end of a link; made by :func:`open_endpoints`."""

    def __init__(
        self,
        name: str,
        host: Host,
        study: Study,
        link: str,
        facts: EndFacts,
        binary: str,
        lease: HostLease | None = None,
    ):
        self.name, self.host = name, host
        self.software_deferral = study.hosts[name].kind == "lab"
        self.address = data_address(study, link, name)
        end = next(end for end in study.path(link).every_end if end.host == name)
        self.facts, self.binary = facts, binary
        self.interface = str(self.facts["interface"])  # the study may use another name of it
        self.own_address = scoped(end.bind_address or self.address, self.interface)
        self.ports = end.ports
        self.stack = InterfaceStack.of(self.facts.get("layers"))
        self.link_settings: dict = {}
        self.may_force = self.is_privileged = True
        groups = study.run_groups(study.groups) if study.force_buffer else ()
        self._forced_B = max((max(g.buffer_B, g.receive_buffer_B or 0) for g in groups), default=0)
        silence = ("--silence-s", str(SILENCE_S))
        self.agent = self.host.start((self.binary, "agent", *silence)).keep_alive()
        try:
            self._greeted(self.agent.receive(READY_S))
            if lease is not None:
                lease.take(self.agent, self.binary, READY_S)
        except BaseException:
            self.agent.close()
            raise
        self.session: TuningSession | None = None
        self._clamps_B: tuple[int | None, int | None] = (None, None)
        self._knobs: dict[str, str] = {}
        self._unsupported: list[dict] = []
        self._controls: CcSession | None = None

    def _greeted(self, ready: dict) -> None:
        if ready.get("event") == "error":
            raise HostError(
                self.name, f"{ready.get('message')} ({ready.get('code')})", code="E-RUN-006"
            )
        if ready.get("event") != "ready" or ready.get("protocol") != PROTOCOL:
            raise HostError(
                self.name, f"its agent has another protocol version: {ready}", code="E-RUN-007"
            )
        self.pid: int | None = ready.get("pid")
        self.is_privileged = bool(ready.get("may_force_buffers"))
        self.may_force = self.is_privileged or not self.software_deferral
        if ready.get("digest") != core.source_digest():
            raise HostError(
                self.name,
                "its agent was built from other sources than this netlab",
                code="E-RUN-008",
            )

    def close(self) -> None:
        self.agent.close()

    @property
    def vrf_card(self) -> str:
        """The interface that pings must name, which is in a VRF; else empty."""
        return self.interface if self.stack.vrf else ""

    def route_to(self, peer: str) -> Route:
        """Way of packets to an address."""
        if is_link_local(peer):  # by its scope
            return Route(self.own_address, peer, self.interface, self.interface, self.interface)
        return route_of(self.host, self.own_address, peer, self.interface, self.stack.vrf)

    def open_files(self) -> int | None:
        """Hard limit of open files of a process on the host; None if unlimited."""
        return whole_number(self.host.run(("sh", "-c", "ulimit -Hn")).stdout)

    def may_open(self, files: int) -> bool:
        """True if the host lets an agent open as many files: root may raise its own limit."""
        argv = ("sh", "-c", 'ulimit -n "$1"', "limit", str(files))
        return self.host.run(argv, check=False).exit_status == 0

    @contextmanager
    def tune_process(self, *, sudo: bool = True) -> Iterator[_Lines]:
        """A ``gensink tune`` on the host, as root unless it only reads."""
        times = ("--hold-s", str(HOLD_S), "--silence-s", str(SILENCE_S))
        argv = (self.binary, "tune", *times)
        process = self.host.start(argv, sudo=sudo).keep_alive()
        try:
            yield _Lines(process)
        finally:
            process.close()

    def planned(self, profile: Profile, mtu_B: int | None) -> tuple[Change, ...]:
        """Changes that a tuning would make."""
        with self.tune_process(sudo=self._needs_root(profile, mtu_B)) as lines:
            return self._session(lines, profile, mtu_B).plan()

    def _needs_root(self, profile: Profile, mtu_B: int | None) -> bool:
        """True if a tuning runs as root: always, except for reading where root is unavailable."""
        extra = self._controls.knobs if self._controls is not None else ()
        return bool(profile.items or mtu_B or extra) or self.host.can_sudo

    def recover(self) -> tuple[dict, ...]:
        """Revert the journal of a netlab that died with its dead-man timer; return the knobs."""
        with self.tune_process() as lines:
            session = self._session(lines, NO_KNOBS, None)
            return session.recover() if session.ready["stale"] else ()

    def _session(self, lines: _Lines, profile: Profile, mtu_B: int | None) -> TuningSession:
        return TuningSession(
            lines,
            profile,
            self.interface,
            mtu_B,
            extra_knobs=self._controls.knobs if self._controls is not None else (),
            software_deferral=self.software_deferral,
            hold_s=HOLD_S,
            host=self.name,
            on_wait=note,
        )

    @contextmanager
    def congestion_controls(self, study: Study, names: Iterable[str]) -> Iterator[CcSession]:
        """Provide congestion controls on the host; unload netlab's own at the end.

        A tuning entered inside loads the kernel's modules and permits their names.
        """
        version = netlab.version.RELEASE
        with open_cc_session(
            self.host, self.binary, names, study.stacks, version=version
        ) as self._controls:
            try:
                yield self._controls
            finally:
                self._controls = None

    def kernel_names(self, congestion: str) -> str:
        """The kernel's name of a congestion control, or of several joined by ``+``."""
        return congestion if self._controls is None else self._controls.kernel_names(congestion)

    @contextmanager
    def tuning(self, profile: Profile, mtu_B: int | None) -> Iterator[TuningSession]:
        if mtu_B and (refusal := self.stack.mtu_refusal(mtu_B)):
            raise TuningError(f"{self.name}: {refusal}", code="E-RUN-032")
        with self.tune_process(sudo=self._needs_root(profile, mtu_B)) as lines:
            self.session = self._session(lines, profile, mtu_B)
            with self.session:
                done = self.session.result
                values = {_label(entry): entry["value"] for entry in done.found}
                self._knobs = values | {
                    _label(entry): entry.get("readback") or entry.get("old")
                    for entry in (*done.applied, *done.unchanged)
                }
                self._unsupported = [
                    {
                        "host": self.name,
                        "knob": _label(entry),
                        "reason": "; ".join(filter(None, (entry["reason"], self._where(entry)))),
                    }
                    for entry in done.unsupported
                ]
                # the kernel clips where the host has the sysctl
                refused = {line["knob"] for line in self._unsupported}
                send_B, receive_B = profile.buffer_clamp_B()
                self._clamps_B = (
                    send_B if "net.core.wmem_max" in refused else None,
                    receive_B if "net.core.rmem_max" in refused else None,
                )
                yield self.session

    def _where(self, entry: dict) -> str:
        """Interfaces at which a knob of a card applies, for one that the interface lacks."""
        return self.stack.settings_text() if entry["knob"] in OF_CARDS else ""

    def with_mtu(self, mtu_B: int | None) -> AbstractContextManager[TuningSession]:
        """Set the interface's MTU (None leaves it) and no other knob; revert at the end."""
        return self.tuning(NO_KNOBS, mtu_B)

    def wait_for_carrier(self) -> None:
        """Wait until the interface has a link again; call it when both ends are tuned."""
        if self.software_deferral:  # the lab's interfaces are never reset
            return
        try:
            wait_for_carrier(self.host, self.interface)
        except HostError as error:
            if error.code == NO_CARRIER:
                raise
            raise HostError(
                self.host.name,
                f"{str(error).removeprefix(f'{self.host.name}: ')}; {AFTERWARDS}",
                code=error.code,
            ) from None

    def buffer_clamps(self) -> tuple[int | None, int | None]:
        """The tuning's wmem_max and rmem_max, where netlab must clip socket buffers itself, in B.

        None if the host has the sysctl, or if the tuning does not set it.
        """
        return self._clamps_B

    def drift(self) -> list[str]:
        """Knobs that changed since they were applied, one sentence each."""
        if self.session is None:
            return []
        return [
            f"{self.name}: {_label(vars(drift))} was {drift.expected}, is {drift.found}"
            for drift in self.session.drift()
        ]

    def changed_since_opened(self, study: Study) -> list[str]:
        """Settings found that have another value now, one sentence each; call it untuned."""
        before = self.facts["found"]
        now = settings_found(self.host, study, self.interface, self.binary).values
        return [
            f"{self.name}: {label} was {value}, is {now.get(label, 'missing')}"
            for label, value in before.items()
            if now.get(label) != value and not is_driver_set(label, before)
        ]

    def unsupported(self) -> list[dict]:
        """``host``, ``knob`` and ``reason`` of unsupported knobs, and of limits of its lab."""
        forced_B = 0 if self.may_force else self._forced_B
        send_B, receive_B = (min(forced_B, clamp or forced_B) for clamp in self.buffer_clamps())
        limits = lab_limits(self.name, self.link_settings, sndbuf_B=send_B, rcvbuf_B=receive_B)
        return [*limits, *self._unsupported]

    def beside(self) -> list[dict]:
        """``host``, ``knob`` and ``reason`` of what knobs with a risk changed beside themselves."""
        entries = self.session.result.beside if self.session is not None else []
        return [
            {"host": self.name, "knob": one["knob"], "reason": beside_text(one["changes"])}
            for one in entries
        ]

    def conflicts(self) -> list[dict]:
        """``host``, ``knob`` and ``reason`` of what another program changed, or is not restored."""
        if self.session is None:
            return []
        return [
            {
                "host": self.name,
                "knob": _label(entry),
                "reason": entry["reason"]
                if entry["knob"] == "host"
                else f"another program set it to {entry['found']} meanwhile; left as found",
            }
            for entry in self.session.result.conflicts
        ]

    def knobs(self) -> dict[str, str]:
        """Every knob of the tuning as read back, and every setting that it records as found."""
        return self._knobs

    def mtu_B(self) -> int:
        """MTU of the interface: as tuned, else as found."""
        mtu_B = whole_number(str(self._knobs.get("mtu") or self.facts["mtu_B"]))
        if not mtu_B or not LEAST_MTU_B <= mtu_B <= MOST_MTU_B:
            raise HostError(
                self.name, f"does not report the MTU of {self.interface}", code="E-RUN-009"
            )
        return mtu_B


OF_CARDS = ("ring", "channels", "coalesce", "adaptive", "irq", "pause", "feature")


def _label(entry: dict) -> str:
    """A knob's display name: ``net.ipv4.tcp_sack``, ``mtu``, ``ring rx``."""
    if entry["knob"] == "sysctl":
        return str(entry["name"])
    return f"{entry['knob']} {entry['name']}" if entry.get("name") else str(entry["knob"])


@contextmanager
def open_endpoints(
    study: Study, link: str, *, lab: labs.Lab | None = None, lease: HostLease | None = None
) -> Iterator[dict[str, Endpoint]]:
    """Open all ends of a link: connect, push the agent, start it, and take the lease if any.

    Agents start in sorted order of host names, so that two controllers cannot deadlock.
    """

    def prepared(host: Host) -> tuple[EndFacts, str]:
        binary = agent_on(host)
        return facts_of(host, interface(study, link, host.name), study, link, binary), binary

    names = study.path(link).hosts
    hosts = open_hosts(study, names, lab)
    try:
        with ExitStack() as stack:
            endpoints = {}
            ready = together([partial(prepared, hosts[name]) for name in names], at_once=len(names))
            opened = dict(zip(names, ready, strict=True))
            for one, other in combinations(names, 2):
                if is_one_host(opened[one].result()[0], opened[other].result()[0]):
                    raise HostError(f"{one} and {other}", ONE_HOST, code="E-RUN-031")
            for name in sorted(names):
                endpoint = Endpoint(name, hosts[name], study, link, *opened[name].result(), lease)
                stack.callback(endpoint.close)
                endpoints[name] = endpoint
            if lab is not None:
                described = lab.describe_path(link)
                for name, endpoint in endpoints.items():
                    endpoint.link_settings = described[name]
            yield {name: endpoints[name] for name in names}
    finally:
        close_hosts(hosts)


@contextmanager
def tuned_ends(
    study: Study,
    endpoints: dict[str, Endpoint],
    groups: Iterable[Group],
    tuning: str | None,
    mtu_B: int | None,
) -> Iterator[dict[str, CcSession]]:
    """Provide the congestion controls of groups and a tuning on all ends; revert at the end."""
    names = study.congestions(groups)
    with ExitStack() as stack:
        controls = {}
        for name, endpoint in endpoints.items():
            controls[name] = stack.enter_context(endpoint.congestion_controls(study, names))
            profile = study.tuning_profile(name, tuning) if tuning is not None else NO_KNOBS
            stack.enter_context(endpoint.tuning(profile, mtu_B))
        for endpoint in endpoints.values():
            endpoint.wait_for_carrier()
        yield controls
