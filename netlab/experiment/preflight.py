"""Preflight: check that a study can run on its hosts, before anything is changed."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path

from netlab.errors import HostError, NetlabError, RunError, Unsupported
from netlab.experiment.endpoint import Endpoint, open_endpoints
from netlab.experiment.path_bus import contradiction, host_bus
from netlab.experiment.study_hosts import study_lab
from netlab.experiment.trial import link_MBps, probe_request, request_of, side_of
from netlab.files import paths
from netlab.files.recorded_facts import EndFacts
from netlab.generators import missing
from netlab.hosts.host_facts import whole_number
from netlab.hosts.path import ping
from netlab.measure.exchange import Request, RunEnd, datagrams, measure
from netlab.measure.link_local import scoped
from netlab.measure.probe_columns import probe_fault
from netlab.measure.segment import PacketSize, packet_size, tcp_rtt_s
from netlab.measure.shared_machines import one_machine
from netlab.measure.steadiness import longer, rate_text
from netlab.study import OWN, UDP, Group, Study, Timing, Udp, flows
from netlab.study.base import controls
from netlab.study.factors import link_name, path_of_link
from netlab.study.groups import sends_datagrams
from netlab.study.model import study_at
from netlab.study.schedule import visits
from netlab.study.tool_limits import group_at
from netlab.study.tuning_checks import asked_buffers_B, fixed_buffer_text, moot_knobs
from netlab.units import HEADERS_B, TCP_OPTIONS_MOST_B, listed, payload_share, plain, udp_headers_B

RESULT_B_PER_RUN = 400_000
"""Upper estimate of the Parquet rows and the executed notebook of one run."""

FILES_SPARE, THREAD_FILES = 96, 4
"""Open files that an agent has or reserves besides its streams and threads; those of a thread."""
GREETING_MOST = 128
"""Connections at once that a sender has not established; their receiver keeps room for two each."""
BLOCKING_MOST = 32
"""Most streams that ``engine: auto`` gives a thread each."""

OUTLASTING = 0.05
"""Least part of the streams in a burst of losses that does not end in time, of a warning."""

ECN, ASKS_ECN, REFUSES_ECN = "net.ipv4.tcp_ecn", ("1", "3", "4"), "0"
"""The sysctl by which new connections ask for marks of congestion, its values that do, and the one
with which a host does not accept them either."""
CONTROL = "net.ipv4.tcp_congestion_control"

DATAGRAM_TIMING = Timing(rounds=1, seconds=0.2, warmup_s=0.0, interval_ms=50)
DATAGRAMS_PER_S = 100
MTU_TIMING = Timing(rounds=1, seconds=0.1, warmup_s=0.0, interval_ms=50)


@dataclass(frozen=True)
class Check:
    """One check: its status (``ok``, ``warn`` or ``fail``), its subject and its result."""

    status: str
    subject: str
    text: str

    def line(self) -> str:
        return f"{self.status:4}  {self.subject}: {self.text}"


def preflight(study: Study, directory: Path | None = None) -> Iterator[Check]:
    """Check everything a study needs, and revert every change.

    The MTU probe sets each MTU on both ends, sends full-size packets with don't-fragment set each
    way, and reverts.
    """
    results = directory or paths.results_dir(study.name)
    yield from _space(study, results)
    yield from _steadiness(results)
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
    text = f"{free_B / 1e9:.1f} GB free for results, {need_B / 1e9:.2f} GB may be needed"
    yield _check("space", text, fails=free_B <= need_B)


def _steadiness(results: Path) -> Iterator[Check]:
    """Warn of bursts that earlier runs of the study had, with times that leave them out."""
    if not (results / "runs").is_dir():
        return
    from netlab.results.store import Store  # loads pandas, which no other check needs

    try:
        runs = Store(results).runs()
    except NetlabError:  # a run of the study says so, and what to do
        return
    for path, of_path in runs[runs["sustained_MBps"].notna()].groupby("path"):
        ends_s = float((of_path["warmup_s"] + of_path["burst_s"]).max())
        count = f"{len(of_path)} of {(runs['path'] == path).sum()}"
        burst, after = (
            rate_text(of_path[f"{name}_MBps"].median()) for name in ("burst", "sustained")
        )
        yield Check(
            "warn",
            f"path {path}",
            f"{count} earlier runs began with a burst, {burst} and then {after} MB/s; "
            f"{longer(ends_s)}",
        )


def _check(subject: str, text: str, *, fails: bool = False) -> Check:
    return Check("fail" if fails else "ok", subject, text)


def _path(study: Study, path: str, endpoints: dict[str, Endpoint]) -> Iterator[Check]:
    groups = [group for group in study.groups if group.path == path_of_link(path)]
    first, second, *also = endpoints
    peers = {**dict.fromkeys((first, *also), endpoints[second]), second: endpoints[first]}
    if one_machine({name: endpoint.facts for name, endpoint in endpoints.items()}):
        ends = "all hosts" if also else "both ends"
        yield _check(f"path {path}", f"{ends} are one machine: its CPUs count once")
    for name, endpoint in endpoints.items():
        facts = endpoint.facts
        machine = f"{facts['cpus']} x {facts['cpu_model']}"
        yield _check(name, f"reached, {facts['kernel']}, {machine}")
        if _is_root(endpoint):
            yield _check(name, "may be tuned")
        elif _stays_as_found(study, name):
            yield _check(name, "is not tuned, and neither root nor sudo -n is needed")
        else:
            text = f"cannot be tuned: the user is not root, and {endpoint.host.sudo_fault}"
            yield _check(name, text, fails=True)
        if layered := endpoint.stack.text():
            yield _check(name, "; ".join(filter(None, (layered, endpoint.stack.settings_text()))))
        if one_slave := endpoint.stack.slave_text():
            yield Check("warn", name, one_slave)
        yield route_check(endpoint, peers[name])
        if name == second:
            yield from _ways_back(endpoint, [endpoints[sender] for sender in also])
        limit, needed = endpoint.open_files(), most_files(study, groups, facts["cpus"] or 1)
        text = f"{'unknown' if limit is None else limit} open files allowed, {needed} used"
        fails = limit is not None and limit < needed and not endpoint.may_open(needed)
        yield _check(name, text, fails=fails)
        for generator, version in facts["generators"].items():
            text = missing(generator) if version is None else f"{generator}: {version}"
            yield _check(name, text, fails=version is None)
        yield _bus(study, name, facts)
        if names := study.congestions(study.run_groups(groups)):
            yield _controls(study, names, endpoint)
        yield from _permissions(study, groups, endpoint)
    yield from bursts(study, path)
    yield from unmarked(study, path)
    yield from _datagrams(study, path, groups, endpoints)
    yield from _latency_probes(study, path, groups, endpoints)
    yield from _buffers(study, path, groups, endpoints)
    mtus = {mtu for level in study.tunings for mtu in level.mtus}
    for mtu_B in sorted(mtus, key=lambda mtu_B: mtu_B or 0):
        yield _mtu(study, path, groups, endpoints, mtu_B)


def bursts(study: Study, path: str) -> Iterator[Check]:
    """Warn of groups whose runs may end before a burst of losses that stopped a stream."""
    link = study.path(path).link
    if link is None or link.emulator is None:
        return
    for group in study.groups:
        if group.path != path_of_link(path) or sends_datagrams(group.generator):
            continue
        timing = study_at(study, group, ()).timing
        wait_s = timing.drain_at(
            min(group.streams or study.streams),
            study.longest_rtt_s(group, path),
            buffer_B=group.buffer_B,
            link_MBps=link_MBps(study, path, group) or 0.0,
        )
        chance = max(way.burst_outlasts(wait_s) for way in link.emulator.ways)
        if chance >= OUTLASTING:
            text = (
                f"a burst of losses ends with packets, not with time: {100 * chance:.0f} % of the "
                "streams that have one packet left in a burst do not bring it through in the "
                f"{wait_s:.0f} s that a run waits for its rest (drain_s), and the run fails; "
                "lower loss_in_burst, or shorten loss_burst_packets"
            )
            yield Check("warn", f"group {group.name}", text)


def unmarked(study: Study, path: str) -> Iterator[Check]:
    """Warn of groups on a link that marks (ECN) whose flows take no marks."""
    link = study.path(path).link
    if link is None or link.emulator is None:
        return
    ways = chain.from_iterable(each.ways for each in link.emulator.links)
    # of a discipline that marks by itself nothing was asked
    if not any(way.queue_ecn or way.mark_above_B for way in ways):
        return
    for group in study.groups:
        of_group = {link_name(group.path, one.of_link) for one in study.combinations(group)}
        if path not in of_group or sends_datagrams(group.generator):
            continue
        opened = _opened(study, group)
        without = [pair for pair in opened if not _negotiates_ecn(study, group, *pair)]
        if without:
            hosts = listed(host for host, _ in without)
            says = "no flow negotiates ECN, so that it drops them"
            if without != opened:
                says = f"no flow of {hosts} negotiates ECN, so that packets of {hosts} are dropped"
            remedies = "; ".join(_remedies(study, group, without))
            text = f"the emulator marks packets, and {says}: {remedies}, or take dctcp"
            yield Check("warn", f"group {group.name}", text)


def _opened(study: Study, group: Group) -> list[tuple[str, str]]:
    """Host that opens connections of a group, and host that accepts them, of each sender."""
    sender, receiver = group.sender, study.receiver(group)
    back = [(receiver, sender)] if group.direction == "<->" else []
    return [*((host, receiver) for host in study.senders(group)), *back]


def _remedies(study: Study, group: Group, without: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Settings of the tunings that let these hosts negotiate ECN."""
    silent = [host for host, _ in without if not _asking(study, group, host)]
    if silent:
        yield f"set the sysctl {ECN} to 1 in a tuning of {listed(silent)}"
    asked = {peer for host, peer in without if host not in silent}
    if refusing := sorted(asked):
        yield f"set the sysctl {ECN} to 2 in place of 0 in a tuning of {listed(refusing)}"


def _asking(study: Study, group: Group, host: str) -> set[str]:
    """Tunings of a group with which new connections of a host ask for ECN."""
    return {name for name, value in _ecn_of(study, group, host).items() if value in ASKS_ECN}


def _ecn_of(study: Study, group: Group, host: str) -> dict[str, str | None]:
    """Value of the sysctl that each tuning of a group sets on a host; None where it sets none."""
    levels = dict.fromkeys(tuning for tuning, _, _ in study.levels(group))
    return {level: study.tuning_profile(host, level).value_of("sysctl", ECN) for level in levels}


def _negotiates_ecn(study: Study, group: Group, host: str, peer: str) -> bool:
    """True if connections that a host opens to its peer have ECN: as found hosts only answer."""
    of_peer = _ecn_of(study, group, peer)
    if any(of_peer[tuning] != REFUSES_ECN for tuning in _asking(study, group, host)):
        return True
    named: set[str] = set()
    for each in study.run_groups([group]):
        of_host = flows.has_hosts(each.flows)
        own = flows.sent_by(each.flows, group.sender, host) if of_host else each.flows
        default = each.congestion or study.congestion or ""
        of_flows = [flow.congestion or default for flow in own] or [default]
        named.update(name for text in of_flows for _, name in controls(text))
        if "" in of_flows:
            profiles = (study.tuning_profile(host, tuning) for tuning in of_peer)
            named.update(profile.value_of("sysctl", CONTROL) or "" for profile in profiles)
    return "dctcp" in named


def most_files(study: Study, groups: Iterable[Group], cpus: int) -> int:
    """Open files that an agent needs for any run of the groups, on a host with that many CPUs."""
    return FILES_SPARE + max(
        _files(study_at(study, group, one.of_run), group_at(group, one.of_run), one.streams, cpus)
        for group in groups
        for one in study.combinations(group)
    )


def _files(study: Study, group: Group, streams: int, cpus: int) -> int:
    """Files of the streams and threads of a run, whose agent has one end of each direction."""
    threads = min(streams, study.threads or cpus)
    own = {"blocking", "plain", *(("auto",) if streams <= BLOCKING_MOST else ())}
    if study.engine in own:
        threads = streams
    a_stream = 2 if group.generator == UDP else 1
    ways = 2 if group.direction == "<->" else 1
    greeting = 2 * min(streams, GREETING_MOST)
    return ways * (streams * a_stream + threads * THREAD_FILES) + greeting


def _is_root(endpoint: Endpoint) -> bool:
    return endpoint.host.is_root or endpoint.host.can_sudo


def route_check(endpoint: Endpoint, peer: Endpoint) -> Check:
    """Check that packets to the other end leave by the interface that the ledger reads."""
    route, own, ports = endpoint.route_to(peer.address), endpoint.own_address, endpoint.ports
    if route.fault:
        return _check(endpoint.name, route.fault, fails=True)
    if route.doubt:
        return Check("warn", endpoint.name, route.doubt)
    at = f", which receives at TCP ports {ports[0]} to {ports[-1]}" if ports else ""
    return _check(endpoint.name, f"{endpoint.interface} carries {own}{at}")


def _ways_back(receiver: Endpoint, also: Iterable[Endpoint]) -> Iterator[Check]:
    """Check the routes to further senders; those that are right need no line of their own."""
    checks = (route_check(receiver, sender) for sender in also)
    yield from (check for check in checks if check.status != "ok")


def _permissions(study: Study, groups: list[Group], endpoint: Endpoint) -> Iterator[Check]:
    studies = [
        study_at(study, group, one.of_run) for group in groups for one in study.combinations(group)
    ]
    most_B = [max(max(asked_buffers_B(study, group)[side]) for group in groups) for side in (0, 1)]
    if any(each.socket.busy_poll_us for each in studies):
        yield _right("busy polling", endpoint, endpoint.is_privileged)
    if any(most_B) and any(each.force_buffer for each in studies):
        what = f"buffers of {max(most_B)} B whatever its limits"
        yield _right(what, endpoint, endpoint.is_privileged or endpoint.software_deferral)
        return
    for name, asked_B in zip(("wmem_max", "rmem_max"), most_B, strict=True):
        argv = ("cat", f"/proc/sys/net/core/{name}")
        limit_B = whole_number(endpoint.host.run(argv, check=False).stdout) if any(most_B) else None
        if limit_B is not None and asked_B > limit_B:
            text = f"grants {limit_B} B of buffer_B {asked_B} (net.core.{name})"
            yield Check("warn", endpoint.name, text)


def _right(what: str, endpoint: Endpoint, may: bool) -> Check:
    """Check of a right that an agent has only as root, or with CAP_NET_ADMIN."""
    text = f"may use {what}" if may else f"may not use {what}: log in as root, or leave it out"
    return _check(endpoint.name, text, fails=not may)


def _buffers(
    study: Study, path: str, groups: list[Group], endpoints: dict[str, Endpoint]
) -> Iterator[Check]:
    """Check that no buffer that the study fixes limits a stream below the rate of the path.

    Linux doubles what a socket asks for; the whole of it in flight is the most that can be.
    """
    groups = [group for group in groups if any(asked_buffers_B(study, group)[0])]
    if not groups:
        return
    for level in study.tunings:
        profile = study.tuning_profile(groups[0].sender, level.name)
        if moot := moot_knobs(study, groups[0], profile):
            text = fixed_buffer_text(study, groups[0], moot)
            yield Check("warn", f"tuning {level.name}", text)
    one, other, *_ = endpoints.values()
    source = one.vrf_card or one.own_address
    address = scoped(other.address, one.interface)
    rtt_ms = ping(one.host, source, address, count=3, interval_s=0.2).avg_ms
    if rtt_ms is None:
        with suppress(RunError):  # the check of packets fails for the same reason
            request = probe_request(study, MTU_TIMING)
            rtt_ms = 1e3 * tcp_rtt_s(side_of(one), side_of(other), request)
    card_MBps = min(end.facts["link_speed_Mbps"] or 0 for end in endpoints.values()) / 8
    mtu_B = min(end.mtu_B() for end in endpoints.values())
    for group in groups:
        rate_MBps = link_MBps(study, path, group) or card_MBps
        if not rtt_ms or not rate_MBps:
            continue
        payload_MBps = rate_MBps * payload_share(mtu_B, mtu_B - HEADERS_B)
        size_B = min(filter(None, chain(*asked_buffers_B(study, group))))
        bound_MBps = 2 * size_B / rtt_ms / 1e3
        if bound_MBps < payload_MBps:
            text = f"buffer_B {size_B} limits one stream to {bound_MBps:.1f} MB/s of "
            text += f"{payload_MBps:.1f} at {plain(rtt_ms, '.3g')} ms"
            yield Check("warn", f"group {group.name}", text)


def _datagrams(
    study: Study, path: str, groups: list[Group], endpoints: dict[str, Endpoint]
) -> Iterator[Check]:
    """Send datagrams of each size that a study has, from each of its senders."""
    most_B = min(end.mtu_B() for end in endpoints.values())
    most_B -= max(udp_headers_B(end.address) for end in endpoints.values())
    sizes: dict[tuple[str, bool], set[int]] = {}
    for group in study.run_groups(groups):
        if group.generator == UDP:
            senders = [group.sender]
            senders += [study.receiver(group)] if group.direction == "<->" else []
            for sender in senders:
                at = (sender, group.record_length_B > most_B)
                sizes.setdefault(at, set()).add(group.record_length_B or min(most_B, 65507))
    for (sender, fragments), of in sizes.items():
        receiver = _other_end(endpoints, sender)
        where = f"from {sender} to {receiver}"
        try:
            lost = [
                size_B for size_B in sorted(of) if not _arrives(study, endpoints, sender, size_B)
            ]
            passes = not lost or _arrives(study, endpoints, sender, most_B)
        except RunError as error:
            yield _check(f"path {path}, datagrams", str(error), fails=True)
            continue
        text = f"datagrams of {' and '.join(map(str, sorted(of)))} B arrive {where}"
        if lost:
            text = f"datagrams of {lost[0]} B do not arrive {where}: UDP to the port is filtered"
        if lost and fragments and passes:
            text = (
                f"datagrams of {lost[0]} B do not arrive {where}, those of {most_B} B do: a filter "
                f"drops fragments; `record_length_B: {most_B}` sends none, as does a group without "
                "it (and `udp: {fragment: true}` is then not needed)"
            )
        yield _check(f"path {path}, datagrams", text, fails=bool(lost))


def _latency_probes(
    study: Study, path: str, groups: list[Group], endpoints: dict[str, Endpoint]
) -> Iterator[Check]:
    """Send the datagrams of the study's latency probe from each sender of streams."""
    if study.latency.probe not in ("udp", "both"):
        return
    senders: dict[str, None] = {}
    for group in study.run_groups(groups):
        if group.generator == OWN:
            ends = (group.sender, study.receiver(group))
            senders |= dict.fromkeys(ends[: 2 if group.direction == "<->" else 1])
    for sender in senders:
        receiver = _other_end(endpoints, sender)
        one, other = (side_of(endpoints[name]) for name in (sender, receiver))
        probe = study.latency.model_copy(update={"probe": "udp"})
        request = replace(probe_request(study, DATAGRAM_TIMING), latency=probe)
        with suppress(RunError):  # the check of packets fails for the same reason
            fault = probe_fault(measure(one, other, request).flows)
            text = fault or f"latency probes of {sender} are answered by {receiver}"
            yield Check("warn" if fault else "ok", f"path {path}, {sender} to {receiver}", text)


def _other_end(endpoints: Iterable[str], end: str) -> str:
    first, second, *_ = endpoints
    return first if end == second else second


def _arrives(study: Study, endpoints: dict[str, Endpoint], sender: str, size_B: int) -> bool:
    """True if any of some twenty datagrams arrives."""
    receiver = _other_end(endpoints, sender)
    one, other = (side_of(endpoints[name]) for name in (sender, receiver))
    pacing = study.socket.model_copy(update={"pacing_MBps": DATAGRAMS_PER_S * size_B / 1e6})
    request = request_of(
        study,
        DATAGRAM_TIMING,
        streams=1,
        record_length_B=size_B,
        congestion="reno",  # of the TCP connection beside them
        force_buffer=False,
        socket=pacing,
        udp=Udp(fragment=True),
    )
    (flow,) = measure(one, other, request).flows
    return datagrams("received", flow.sink) > 0


def _controls(study: Study, names: tuple[str, ...], endpoint: Endpoint) -> Check:
    try:
        with endpoint.congestion_controls(study, names) as session:
            texts = [f"{name}: {control.text()}" for name, control in session.controls.items()]
            if session.knobs and not _is_root(endpoint):
                needed = ", ".join(f"{knob.label} = {knob.value}" for knob in session.knobs)
                text = f"its user may not choose {', '.join(names)}"
                return _check(
                    endpoint.name, f"{text}: that needs {needed}, set as root", fails=True
                )
    except Unsupported as error:
        text = str(error).removeprefix(f"{endpoint.name}: ")
        return _check(endpoint.name, text, fails=True)
    return _check(endpoint.name, "congestion control " + "; ".join(texts))


def _bus(study: Study, name: str, facts: EndFacts) -> Check:
    """Check that the bus of the host's card is known, and that study and host agree on it."""
    bus, wrong = host_bus(study, name, facts), contradiction(study, name, facts)
    if bus is None:
        text = "unknown; set it in the study to get results in per cent of it"
        return Check("warn", name, f"bus: {text}")
    if wrong:
        return Check("warn", name, f"bus: {wrong}")
    source = ", as the host reports" if bus.source == "sysfs" else ""
    return Check("ok", name, f"bus: {bus.label}, {bus.bandwidth_MBps:.0f} MB/s{source}")


def _stays_as_found(study: Study, host: str) -> bool:
    """True if no tuning of the study sets a knob on a host."""
    return all(
        level.mtus_B is None and not study.tuning_profile(host, level.name).items
        for level in study.tunings
    )


def _mtu(
    study: Study, path: str, groups: list[Group], endpoints: dict[str, Endpoint], set_B: int | None
) -> Check:
    """Send full-size packets of one MTU each way; None leaves the MTU as found."""
    found_B = {name: endpoint.mtu_B() for name, endpoint in endpoints.items()}
    mtu_B = set_B or min(found_B.values())
    subject = f"path {path}, MTU {mtu_B}" + (" as found" if set_B is None else "")
    if set_B is None and len(set(found_B.values())) > 1:
        ends = " and ".join(f"{name} {size_B} B" for name, size_B in found_B.items())
        return Check("warn", subject, f"the ends differ: {ends}")
    cpus = {}
    for group in groups[:1]:
        cpus = {
            **dict.fromkeys(study.senders(group), study.socket.cpus_sender),
            study.receiver(group): study.socket.cpus_receiver,
        }
    one, other, *also = (
        side_of(endpoint, cpus=cpus.get(name)) for name, endpoint in endpoints.items()
    )
    request = probe_request(study, MTU_TIMING)
    try:
        with ExitStack() as stack:
            for endpoint in endpoints.values():
                stack.enter_context(endpoint.with_mtu(set_B))
            for endpoint in endpoints.values():
                endpoint.wait_for_carrier()
            ways = [way for side in (one, *also) for way in ((side, other), (other, side))]
            sizes, refused = _packet_sizes(ways, request, _directions(study, groups))
    except HostError:
        raise
    except NetlabError as error:
        return _check(subject, str(error), fails=True)
    lost = [size.text() for size in sizes if not size.passes]
    if lost:
        bridges = [
            f"{end.interface} of {name} is a bridge, which passes what its ports carry: {ports}"
            for name, end in endpoints.items()
            if (ports := end.facts["bridge_ports"])
        ]
        return _check(subject, "; ".join((*lost, *bridges)), fails=True)
    least_B = min(size.full_B for size in sizes)
    if least_B < mtu_B - TCP_OPTIONS_MOST_B:
        text = (
            f"the path carries packets of {least_B} B: a router or a setting of a host limits them"
        )
        if set_B is None:
            return Check("warn", subject, f"{text}; TCP uses these")
        return _check(subject, f"{text}; `mtus_B: [{least_B}]` fits it", fails=True)
    if refused:
        ways_text = " and ".join(f"from {size.sender} to {size.receiver}" for size in sizes)
        text = f"packets of {least_B} B pass {ways_text}, not fragmented; no group sends the other"
        return Check("warn", subject, f"{text} way, which fails: {'; '.join(refused)}")
    return _check(subject, f"packets of {least_B} B pass both ways, not fragmented")


def _directions(study: Study, groups: list[Group]) -> set[tuple[str, str]]:
    """Sender and receiver of each way in which the groups of a path send."""
    ways: set[tuple[str, str]] = set()
    for group in study.run_groups(groups):
        receiver = study.receiver(group)
        for sender in study.senders(group):
            ways |= {(sender, receiver)}
            ways |= {(receiver, sender)} if group.direction == "<->" else set()
    return ways


def _packet_sizes(
    ways: Iterable[tuple[RunEnd, RunEnd]], request: Request, used: set[tuple[str, str]]
) -> tuple[list[PacketSize], list[str]]:
    """Packets that pass each way, and why none does in a way that is not used."""
    sizes, refused = [], []
    for sender, receiver in ways:
        try:
            sizes.append(packet_size(sender, receiver, request))
        except RunError as error:
            if not used or (sender.host, receiver.host) in used:
                raise
            refused.append(str(error))
    return sizes, refused
