"""Lab hosts are reached by SSH like any other: keys checked, arguments intact, losses noticed."""

import contextlib
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import line_agent
import pytest
from lab_study import lab_study
from waiting import until

from netlab.errors import BadInput, HostError
from netlab.experiment.campaign import run_study
from netlab.experiment.endpoint import open_endpoints
from netlab.experiment.preflight import Check, route_check
from netlab.experiment.study_hosts import data_address, host_of, open_hosts
from netlab.hosts.agent import push_agent
from netlab.hosts.host_facts import facts_argv, parsed_facts
from netlab.hosts.leftovers import clean_host
from netlab.hosts.opening import close_hosts
from netlab.hosts.ssh import SshHost
from netlab.lab import reaper, task_group
from netlab.lab.lab import Lab
from netlab.results.store import Store
from netlab.study.groups import Timing

AGENT = (sys.executable, str(Path(line_agent.__file__)))
STUDY = lab_study()


@pytest.fixture(scope="module")
def lab():
    with Lab.up(STUDY, owned=True) as lab:
        yield lab


@pytest.fixture(scope="module")
def hosts(lab):
    opened = open_hosts(STUDY, lab.hosts, lab)
    yield opened
    close_hosts(opened)


@pytest.fixture
def host(lab):
    with lab.host("a") as opened:
        yield opened


def _variant(lab, **changes):
    """Host a, reached with something changed."""
    usual = vars(lab.host("a"))
    keys = ("address", "user", "port", "identity_file", "proxy_command", "known_hosts")
    return SshHost("a", **({key: usual[key] for key in keys} | changes))


def test_each_host_has_its_own_name_and_home_and_no_open_port(hosts, lab):
    homes = {host.run(("sh", "-c", "echo $HOME")).stdout.strip() for host in hosts.values()}
    assert len(homes) == 2 and all(Path(home).is_relative_to(lab.state) for home in homes)
    for name, host in hosts.items():
        assert host.run(("uname", "-n")).stdout == f"{name}\n"
        assert host.run(("ss", "-Htulnpx")).stdout == ""


def test_the_hosts_of_a_lab_share_a_task_group(hosts, lab):
    groups = {host.run(("cat", "/proc/self/cgroup")).stdout for host in hosts.values()}
    assert len(groups) == 1
    assert (f"/nlab-{lab.id}\n" in groups.pop()) == (lab.task_group == task_group.OWN_GROUP)
    if task_group.own_task_group().hierarchy is not None:
        assert lab.task_group == task_group.OWN_GROUP
    same = subprocess.run(
        lab.inside("a", ("cat", "/proc/self/cgroup")), capture_output=True, text=True, check=True
    )
    assert same.stdout == hosts["a"].run(("cat", "/proc/self/cgroup")).stdout


def test_hosts_reach_each_other_over_both_ip_versions(hosts):
    for version in (4, 6):
        address = data_address(STUDY, "a-b", "b", version)
        hosts["a"].run(("ping", "-n", "-c", "1", "-W", "10", address))


def test_large_input_and_output_pass_both_ways(hosts):
    text = os.urandom(1 << 20).hex().encode()
    assert hosts["a"].run(("cat",), input=text).stdout.encode() == text


def test_files_arrive_with_their_mode(hosts, tmp_path, lab):
    local = tmp_path / "file"
    local.write_bytes(os.urandom(100_000))
    remote = str(lab.state / "hosts" / "a" / "home" / "it's a file")
    hosts["a"].put(local, remote, 0o640)
    assert hosts["a"].read_bytes(remote) == local.read_bytes()
    assert hosts["a"].run(("stat", "-c", "%a", remote)).stdout == "640\n"
    with pytest.raises(HostError, match="/nosuch/file"):
        hosts["a"].read_bytes("/nosuch/file")
    with pytest.raises(HostError, match="/nosuch/file"):
        hosts["a"].put(local, "/nosuch/file", 0o600)


def test_many_commands_at_once_share_one_connection(hosts):
    def printed(number):
        return hosts["a"].run(("sh", "-c", f"sleep 0.1; echo {number}")).stdout

    with ThreadPoolExecutor(16) as pool:
        assert [*pool.map(printed, range(16))] == [f"{number}\n" for number in range(16)]


def test_a_host_that_falls_silent_counts_as_lost(lab):
    with _variant(lab, keepalive_s=0.2, silence_s=4.0) as host, host.start(AGENT) as agent:
        agent.receive(30)
        stopped = []
        for pid in reaper.processes_in([lab.namespace("a")]):
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # others may end
                if "sshd" in os.readlink(f"/proc/{pid}/exe"):
                    os.kill(pid, signal.SIGSTOP)
                    stopped.append(pid)
        try:
            with pytest.raises(HostError, match="the SSH connection was lost"):
                agent.receive(30)
        finally:
            for pid in stopped:
                os.kill(pid, signal.SIGCONT)


def test_a_changed_host_key_is_refused(lab, tmp_path):
    other = (lab.state / "hosts" / "b" / "host_key.pub").read_text()
    (tmp_path / "known").write_text(f"a {other}")
    with pytest.raises(HostError, match=r"host key of a has changed.*ssh-keygen -R a"):
        _variant(lab, known_hosts=tmp_path / "known").open()


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("sh -c 'echo no way >&2; exit 1'", r"no SSH session with a.*\n\| no way"),
        ("/nosuch/proxy", r"no SSH session with a.*\n\| .*/nosuch/proxy"),
        (
            "sh -c 'echo Exceeded MaxStartups; sleep 0.1'",
            r"no SSH session with a: .*MaxStartups in",
        ),
    ],
)
def test_a_proxy_command_that_fails_is_told_with_its_reason(lab, command, message):
    with pytest.raises(HostError, match=message):
        _variant(lab, proxy_command=command).open()


def _ssh_config(home, text):
    (home / ".ssh").mkdir(mode=0o700)
    (home / ".ssh" / "config").write_text(text)


def test_a_jump_host_with_an_unknown_key_is_refused(lab, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    _ssh_config(
        tmp_path,
        "Host target\n ProxyJump gate\n"
        f"Host gate\n IdentityFile {lab.host('a').identity_file}\n"
        f" User {lab.host('a').user}\n ProxyCommand {lab.host('a').proxy_command}\n",
    )
    before = set(threading.enumerate())
    with pytest.raises(HostError, match="key of gate is not known"):
        SshHost("target", "target").open()
    assert _all_ended(before)


def _all_ended(before):
    """True once no thread is left that was not there before."""
    return until(lambda: not set(threading.enumerate()) - before)


def _served_jump(lab, home, port):
    """A server of host a's keys that forwards: by itself on a port, and behind a proxy command."""
    shown = (lab.state / "hosts" / "a" / "sshd_config").read_text()
    (home / "sshd_config").write_text(
        shown.replace("AllowTcpForwarding no", "AllowTcpForwarding yes")
    )
    _, key = lab.host("a").known_hosts.read_text().splitlines()[0].split(" ", 1)
    (home / "known").write_text(f"gate {key}\n[127.0.0.1]:{port} {key}\n")
    serve = ("/usr/sbin/sshd", "-f", str(home / "sshd_config"))
    _ssh_config(
        home,
        f"Host *\n IdentityFile {lab.host('a').identity_file}\n User {lab.host('a').user}\n"
        f" UserKnownHostsFile {home / 'known'}\n"
        f"Host target\n HostName 127.0.0.1\n Port {port}\n ProxyJump gate\n"
        f"Host gate\n ProxyCommand {shlex.join((*serve, '-i'))}\n",
    )
    return subprocess.Popen((*serve, "-D", "-p", str(port), "-o", "ListenAddress=127.0.0.1"))


def _children(pid):
    return [*map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split())]


def test_a_jump_host_behind_a_proxy_command_that_ends_is_a_lost_host(lab, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    before = set(threading.enumerate())
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    with _served_jump(lab, tmp_path, port) as served:
        try:
            listing = ("ss", "-Htln")
            until(lambda: f"127.0.0.1:{port} " in subprocess.check_output(listing, text=True))
            assert served.poll() is None
            with SshHost("target", "target") as host:
                assert host.run(("echo", "here")).stdout == "here\n"
                (proxy,) = _children(host.connection.pid)
                os.kill(proxy, signal.SIGKILL)
                used_s = time.process_time()
                time.sleep(1)
                assert time.process_time() - used_s < 0.5, "nothing waits in a busy loop"
                with pytest.raises(HostError):
                    host.run(("echo", "here"))
        finally:
            served.terminate()
    assert _all_ended(before)


def test_a_host_that_refuses_or_is_not_there_is_a_clear_error():
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    with pytest.raises(HostError, match=f"127.0.0.1:{port} cannot be reached: Connection refused"):
        SshHost("h", "127.0.0.1", port=port).open()
    with pytest.raises(HostError, match=r"nosuch\.invalid does not resolve"):
        SshHost("h", "nosuch.invalid").open()


def test_hosts_are_opened_all_or_none(lab):
    with pytest.raises(BadInput, match="unknown host"):
        open_hosts(STUDY, ["a", "nosuch"], lab)
    with pytest.raises(BadInput, match="no lab is up"):
        host_of(STUDY, "a")


def test_the_agent_lies_where_programs_run_or_where_the_study_says(host, tmp_path):
    binary = tmp_path / "agent"
    binary.write_text("#!/bin/sh\necho it runs\n")
    noexec = 'mkdir -p "$1" && mount -t tmpfs -o noexec x "$1"'
    home = host.run(("sh", "-c", "echo $HOME/.cache")).stdout.strip()
    for place in (home, "/run/user", "/var/tmp"):
        host.run(("sh", "-c", noexec, "mount", place))
    with pytest.raises(HostError, match="no program can be run from it"):
        push_agent(host, binary)
    host.run(("mount", "-o", "remount,exec", "/var/tmp"))
    assert host.run((push_agent(host, binary),)).stdout == "it runs\n"
    places = f"{home}/netlab and /run/user/0/netlab-cache and /var/tmp/netlab-0"
    assert clean_host(host).startswith(f"removed {places}: ")
    assert host.run(("ls", "-A", "/var/tmp", "/run/user/0")).stdout.split() == [
        *("/run/user/0:", "/var/tmp:")
    ]
    host.agent_directory = str(tmp_path / "a place")  # as a study says
    pushed = push_agent(host, binary)
    assert pushed.startswith(f"{tmp_path}/a place/netlab/gensink-")
    assert host.run((pushed,)).stdout == "it runs\n"
    assert clean_host(host).startswith(f"removed {tmp_path}/a place/netlab: ")
    assert not (tmp_path / "a place/netlab").exists()


def test_facts_know_a_bridge_and_another_name_of_an_interface(host):
    made = "ip link add br0 type bridge && ip link add v8 mtu 1400 type veth peer name v9"
    host.run(("sh", "-c", f"{made} && ip link set v8 master br0 && ip link set br0 mtu 9000"))
    found = parsed_facts(host.run(facts_argv("br0")).stdout, "br0")
    assert (found["mtu_B"], found["bridge_ports"]) == (9000, "v8 1400 B")
    host.run(("ip", "link", "property", "add", "dev", "data0", "altname", "the-data-card"))
    named = host.facts("the-data-card")
    assert (named["interface_exists"], named["interface"]) == (True, "data0")
    assert named == host.facts("data0")


def test_a_limit_of_sessions_is_named(lab, tmp_path):
    shown = (lab.state / "hosts" / "a" / "sshd_config").read_text()
    (tmp_path / "sshd_config").write_text(f"MaxSessions 1\n{shown}")
    serve = f"/usr/sbin/sshd -i -f {tmp_path}/sshd_config"
    with (
        _variant(lab, proxy_command=serve) as host,
        host.start(("cat",)),
        pytest.raises(HostError, match="MaxSessions"),
    ):
        host.run(("true",))


def test_a_path_whose_packets_leave_by_another_card_is_refused(lab, host):
    def checked() -> Check:
        with open_endpoints(STUDY, "a-b", lab=lab) as ends:
            return route_check(ends["a"], ends["b"])

    assert checked().status == "ok"
    peer = data_address(STUDY, "a-b", "b")
    host.run(("ip", "link", "add", "other0", "type", "bridge"))
    host.run(("ip", "link", "set", "other0", "up"))
    host.run(("ip", "route", "add", peer, "dev", "other0", "table", "77"))
    host.run(("ip", "rule", "add", "to", peer, "lookup", "77"))
    try:
        check = checked()
    finally:
        host.run(("ip", "rule", "del", "to", peer, "lookup", "77"))
        host.run(("ip", "link", "del", "other0"))
    assert check.status == "fail"
    assert f"to {peer} leave by other0, not by data0" in check.text


NAT = """table ip nat {
  chain inwards {
    type nat hook prerouting priority dstnat;
    ip daddr %(address)s tcp dport %(port)s counter dnat to %(own)s
  }
  chain outwards {
    type nat hook postrouting priority srcnat;
    ip saddr %(own)s counter snat to %(address)s
  }
}"""


def test_a_host_behind_nat_and_a_firewall_sends_and_receives_by_its_own_address(tmp_path):
    own, port = "10.99.0.2", "5301-5302"
    ends = [{"host": "a"}, {"host": "b", "bind_address": own, "port": port}]
    study = lab_study(paths={"a-b": {"ends": ends, "link": {}}}, name="nat")
    both = study.groups[0].model_copy(update={"direction": "<->"})
    timing = Timing(rounds=1, seconds=0.3, warmup_s=0.1, interval_ms=50)
    study = study.model_copy(update={"groups": (both,), "timing": timing})
    with Lab.up(study) as lab, lab.host("b") as host:  # without an owner, the study uses it
        host.run(("ip", "address", "add", f"{own}/32", "dev", "lo"))
        address = data_address(study, "a-b", "b")
        rules = NAT % {"address": address, "port": port, "own": own}
        host.run(("nft", "-f", "-"), input=rules.encode())
        with open_endpoints(study, "a-b", lab=lab) as opened:
            check = route_check(opened["b"], opened["a"])
        run_study(study, directory=tmp_path / "results")
        seen = host.run(("nft", "list", "ruleset")).stdout
    assert check.text == f"data0 carries {own}, which receives at TCP ports 5301 to 5302"
    (row,) = Store(tmp_path / "results").runs().to_dict("records")
    assert row["goodput_forward_MBps"] > 0 and row["goodput_reverse_MBps"] > 0, row["message"]
    counts = [int(count) for count in re.findall(r"counter packets (\d+)", seen)]
    assert len(counts) == 2 and all(counts), seen
