"""`gensink tune`: its answers, and the revert of every change."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from native.tuning.conftest import MTU, RMEM, SACK, applied, begun, statuses
from waiting import until

NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]


def test_a_session_sets_verifies_and_reverts_without_a_trace(host):
    channel = begun(host)
    assert applied(channel, f"{SACK} value=0")["old"] == "1"
    applied(channel, f"{MTU} value=9000")
    applied(channel, "knob=txqueuelen interface=v0 value=10000")
    applied(channel, "knob=feature name=tx-checksum interface=v0 value=off")
    applied(channel, "knob=defer name=gro_flush_timeout interface=v0 value=52429")
    assert host.sysctl("net.ipv4.tcp_sack") == "0"
    assert host.link("mtu") == 9000
    assert channel.ask("verify") == {"event": "verified", "drifted": 0}
    answers = channel.ask_all("revert", "reverted_all")
    assert [a["knob"] for a in answers[:-1]] == ["defer", "feature", "txqueuelen", "mtu", "sysctl"]
    assert set(statuses(answers)) == {"restored"}
    assert channel.ask_all("end", "ended")[-1]["failed"] == 0
    assert host.journals() == []
    assert channel.close() == 0


def test_what_another_program_set_meanwhile_is_restored_after_a_second_change(host):
    channel = begun(host)
    applied(channel, f"{MTU} value=9000")
    host.sh("ip link set v0 mtu 4000")
    assert applied(channel, f"{MTU} value=8000")["old"] == "4000"
    assert statuses(channel.ask_all("revert", "reverted_all")) == ["restored"]
    assert host.link("mtu") == 4000
    host.sh("ip link set v0 mtu 1500")
    channel.close()


def test_queues_and_threads_of_an_interface(host):
    """A veth pair has both; its ethtool reads them by other means."""
    channel = begun(host)
    for ring in ("rx", "tx"):
        assert applied(channel, f"knob=channels name={ring} interface=v0 value=2")["old"] == "1"
        shown = host.sh("ethtool -l v0").split("Current")[1]
        assert f"{ring.upper()}:\t\t2\n" in shown
    answer = channel.ask("set knob=channels name=rx interface=v0 value=5000")
    assert answer["status"] == "unsupported" and "at most" in answer["reason"]
    answer = channel.ask("set knob=channels name=combined interface=v0 value=1")
    assert answer["status"] == "unsupported"
    assert answer["reason"] == "the device has no such queues to set"
    host.sh("ethtool -K v0 gro on")
    applied(channel, "knob=napi name=threaded interface=v0 value=1")
    assert host.sh("cat /sys/class/net/v0/threaded") == "1\n"
    assert channel.ask_all("end", "ended")[-1]["failed"] == 0
    host.sh("ethtool -K v0 gro off")
    assert channel.close() == 0


@pytest.mark.parametrize(
    ("knob", "reason"),
    [
        ("adaptive name=rx", "the device has no interrupt coalescing to set"),
        ("pause name=rx", "the device has no pause frames to set"),
    ],
)
def test_what_a_virtual_card_lacks_is_said(namespace, knob, reason):
    channel = begun(namespace)
    answer = channel.ask(f"read knob={knob} interface=v0")
    assert answer["supported"] is False and answer["reason"] == reason
    bad = channel.ask(f"set knob={knob} interface=v0 value=1")
    assert bad["event"] == "error" and "on or off" in str(bad)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_means_end_and_failure(namespace, number):
    channel = begun(namespace, f"{SACK} value=0")
    channel.process.send_signal(number)
    assert channel.process.wait(timeout=30) == 1
    assert namespace.sysctl("net.ipv4.tcp_sack") == "1"
    assert namespace.journals() == []


def test_a_proc_that_is_mounted_read_only_is_the_reason(namespace):
    at = "mount --bind /proc/sys /proc/sys && mount -o remount,bind,ro /proc/sys"
    namespace.prefix = ("unshare", "-m", "sh", "-c", f'{at} && exec "$@"', "sh")
    found = begun(namespace).ask(f"read {SACK}")
    assert (found["supported"], found["writable"]) == (True, False)
    assert found["reason"] == "/proc/sys is mounted read-only here"


def test_unsupported_knobs_are_reported_with_the_reason(namespace):
    channel = begun(namespace)
    gone = channel.ask("read knob=sysctl name=net.ipv4.tcp_tw_recycle")
    assert not gone["supported"] and gone["value"] is None
    assert gone["reason"].startswith("no such setting in this kernel")
    reason = "belongs to the whole machine; read-only in this network namespace"
    for name in ("net.core.rmem_max", "vm.stat_interval"):
        whole = channel.ask(f"read knob=sysctl name={name}")
        assert whole["supported"] and not whole["writable"] and whole["value"].isdigit()
        assert whole["reason"] == reason
        answer = channel.ask(f"set knob=sysctl name={name} value=7")
        assert (answer["status"], answer["reason"]) == ("unsupported", reason)
    for knob in ("knob=ring name=rx", "knob=coalesce name=rx-usecs"):
        answer = channel.ask(f"set {knob} interface=v0 value=64")
        assert answer["status"] == "unsupported" and "device has no" in answer["reason"]
    answer = channel.ask("set knob=ring name=rx interface=nosuch0 value=64")
    assert answer["status"] == "refused" and "no such interface" in answer["reason"]


def test_a_refusal_by_the_kernel_has_its_reason(namespace):
    channel = begun(namespace)
    answer = channel.ask(f"set {MTU} value=99999")
    assert answer["status"] == "refused" and "Invalid argument" in answer["reason"]
    assert answer["readback"] == "1500"
    # IPv6 is on v0, and would not come back
    answer = channel.ask(f"set {MTU} value=1000")
    assert answer["status"] == "refused" and "IPv6" in answer["reason"]
    assert namespace.link("mtu") == 1500
    assert channel.ask_all("revert", "reverted_all") == [
        {"event": "reverted_all", "conflicts": 0, "absent": 0, "failed": 0}
    ]


def test_a_triple_written_in_part_is_put_back(namespace):
    before = namespace.sysctl("net.ipv4.tcp_rmem")
    channel = begun(namespace)
    answer = channel.ask(f"set {RMEM} value=8192%20%20999999%20oops")
    assert answer["status"] == "refused"
    assert answer["readback"] == namespace.sysctl("net.ipv4.tcp_rmem") != before
    answers = channel.ask_all("revert", "reverted_all")
    assert answers[0]["status"] == "restored"
    assert namespace.sysctl("net.ipv4.tcp_rmem") == before


def test_without_privilege_a_change_is_refused(namespace):
    with tempfile.TemporaryDirectory(prefix="nlt-", dir="/tmp") as directory:
        os.chown(directory, 65534, 65534)
        namespace.program = (shutil.copy(namespace.program[0], directory), "tune")
        argv = namespace.argv()
        argv[2:2] = NOBODY
        script = f"read {MTU}\nbegin\nset {MTU} value=1400\nset {SACK} value=0\n"
        run = subprocess.run(argv, input=script, capture_output=True, text=True, timeout=30)
    assert '"may_write":false' in run.stdout, run
    assert run.stdout.count('"status":"refused"') == 2
    assert run.stdout.count("no privilege") == 3
    assert not Path("/tmp/netlab-65534").exists()


def test_the_lock_is_gone_after_the_session(namespace):
    channel = begun(namespace)
    assert namespace.lock.exists() and not namespace.lock_is_free()
    channel.ask_all("end", "ended")
    assert not namespace.lock.exists()
    begun(namespace).kill()
    until(lambda: not namespace.lock.exists())  # the guard removes it last


SQUAT = """
import fcntl, os, socket, sys
for name in ("netlab-tune", "netlab-agent"):
    squat = socket.socket(socket.AF_UNIX)
    squat.bind("\\0" + name)
    squat.listen()
    globals()[name] = squat
for directory in ("/run/netlab", "/tmp/netlab-0"):
    for path in (directory, sys.argv[1]):
        try:
            os.makedirs(directory, exist_ok=True)
            held = open(path, "a")
            fcntl.flock(held, fcntl.LOCK_EX)
            globals()[path] = held
        except OSError:
            pass
print("ready", flush=True)
sys.stdin.read()
"""


def test_no_other_user_can_take_the_lock(namespace):
    """Another user binds the abstract names and takes every file that the user may open."""
    command = [*namespace.argv()[:2], *NOBODY, sys.executable, "-c", SQUAT, str(namespace.lock)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as squatter:
        assert squatter.stdout.readline() == b"ready\n"
        channel = begun(namespace)
        applied(channel, f"{SACK} value=0")
        assert channel.close() == 0
        squatter.stdin.close()
    shutil.rmtree("/tmp/netlab-0", ignore_errors=True)


@pytest.mark.parametrize(
    ("line", "key"),
    [
        ("read knob=sysctl", "name"),
        ("read knob=sysctl name=kernel.hostname", "name"),
        ("read knob=sysctl name=vm.drop_caches", "name"),
        ("read knob=sysctl name=kernel.sched_/../core_pattern", "name"),
        ("read knob=sysctl name=net..ipv4.tcp_sack", "name"),
        ("read knob=sysctl name=net.//.//.kernel.hostname", "name"),
        ("read knob=sysctl name=net.ipv4.tcp%20sack", "name"),
        ("read knob=sysctl name=net.ipv4.tcp_sack interface=v0", "interface"),
        ("read knob=mtu", "interface"),
        ("read knob=mtu interface=..", "interface"),
        ("read knob=mtu interface=a/b", "interface"),
        ("read knob=mtu interface=%20", "interface"),
        ("read knob=mtu interface=sixteen-letters0", "interface"),
        ("read knob=ring name=both interface=v0", "name"),
        ("read knob=mtu interface=v0 value=3", "value"),
        ("set knob=mtu interface=v0 value=-1", "value"),
        ("set knob=mtu interface=v0 value=0", "value"),
        ("set knob=feature name=tso interface=v0 value=maybe", "value"),
        ("set knob=sysctl name=net.ipv4.tcp_sack value=" + "1" * 801, "value"),
        ("set knob=sysctl name=net.ipv4.tcp_sack value=0", None),
        ("read knob=governor name=x", None),
        ("read knob=governor", None),
        ("read knob=governor name=0 interface=v0", None),
        ("read knob=irq interface=v0", None),
        ("read knob=irq name=24", None),
        ("list knob=mtu interface=v0", None),
        ("list knob=governor name=0", None),
        ("set knob=pci name=max-read-request interface=v0 value=5000", None),
        ("set knob=governor name=0 value=%C3%A4", None),
        ("read knob=module", None),
        ("read knob=module name=nf_tables", None),
        ("read knob=module name=tcp_../x", None),
        ("read knob=module name=tcp_scalable interface=v0", None),
        ("set knob=module name=tcp_scalable value=yes", None),
    ],
)
def test_nonsense_is_a_bad_request_and_changes_nothing(namespace, line, key):
    channel = namespace.tune()
    answer = channel.ask(line)
    assert (answer["event"], answer["code"]) == ("error", "bad_request"), answer
    assert list(answer) == ["event", "run", "code", "key", "message"]
    assert key is None or answer["key"] == key
    assert channel.ask("keepalive") == {"event": "alive"}
    assert namespace.sysctl("net.ipv4.tcp_sack") == "1"
    assert channel.close() == 0


def test_an_output_without_a_reader_ends_it(namespace):
    channel = begun(namespace, f"{SACK} value=0")
    flood = b"read knob=sysctl name=net.ipv4.tcp_rmem\n" * 600
    channel.send_bytes(flood)
    channel.process.wait(timeout=30)
    assert namespace.sysctl("net.ipv4.tcp_sack") == "1"


SIZES = ("gso_max_size", "gro_max_size", "gso_ipv4_max_size", "gro_ipv4_max_size")


def size_words(name, value):
    return f"knob=offload name={name} interface=v0 value={value}"


def test_the_largest_packets_of_an_interface(host):
    """Sizes of BIG TCP; each knob changes one of them, which the kernel by itself does not."""
    start = host.sizes()
    assert set(start) == set(SIZES)
    channel = begun(host)
    wanted = dict(zip(SIZES, (185000, 150000, 40000, 30000), strict=True))
    for name, value in wanted.items():
        assert applied(channel, size_words(name, value))["old"] == str(start[name])
        assert host.sizes()[name] == value
    assert host.sizes() == wanted
    assert channel.ask("verify") == {"event": "verified", "drifted": 0}
    for name in SIZES:
        answer = channel.ask(f"read knob=offload name={name} interface=v0")
        assert (answer["value"], answer["writable"]) == (str(wanted[name]), True)
    assert channel.ask_all("end", "ended")[-1]["failed"] == 0
    assert host.sizes() == start
    assert channel.close() == 0


@pytest.mark.parametrize("name", ["gso_max_size", "gro_max_size"])
def test_a_size_is_set_and_reverted_alone(namespace, name):
    """The kernel sets the size of IPv4 as well where the other is 65536 or less."""
    of_ipv4 = name.replace("max", "ipv4_max")
    namespace.set_size(of_ipv4, 20000)
    channel = begun(namespace)
    applied(channel, size_words(name, 30000))
    assert namespace.sizes()[of_ipv4] == 20000
    applied(channel, size_words(name, 150000))
    assert channel.ask_all("revert", "reverted_all")[-1]["failed"] == 0
    assert (namespace.sizes()[name], namespace.sizes()[of_ipv4]) == (65536, 20000)
    channel.close()
    namespace.set_size(of_ipv4, 65536)


def test_a_size_beyond_the_device_is_refused_with_its_limit(namespace):
    channel = begun(namespace)
    answer = channel.ask(f"set {size_words('gso_max_size', 600000)}")
    assert answer["status"] == "refused"
    assert answer["reason"] == "the device takes at most 524280 B (tso_max_size)"
    assert answer["readback"] == "65536"
    answer = channel.ask(f"set {size_words('gro_max_size', 600000)}")
    assert answer["status"] == "refused" and "RTM_SETLINK" in answer["reason"]
    assert channel.ask("read knob=offload name=gso_max_size interface=none0")["supported"] is False
    bad = channel.ask("set knob=offload name=gso_max_size interface=v0 value=64k")
    assert bad["event"] == "error" and "decimal number from 0" in str(bad)
    assert (
        channel.ask("set knob=offload name=tso_max_size interface=v0 value=1")["event"] == "error"
    )


QDISC = "knob=qdisc interface=v0"


def root_qdisc(namespace) -> str:
    return namespace.sh("tc qdisc show dev v0").strip()


def test_the_queueing_discipline_of_an_interface(namespace):
    before, first = namespace.dump(), root_qdisc(namespace)
    assert first.startswith("qdisc noqueue 0: root")
    channel = begun(namespace)
    assert applied(channel, f"{QDISC} value=pfifo_fast")["old"] == "noqueue"
    assert root_qdisc(namespace).startswith("qdisc pfifo_fast 6e6c: root")
    assert applied(channel, f"{QDISC} value=pfifo")["old"] == "pfifo_fast"
    assert root_qdisc(namespace).startswith("qdisc pfifo 6e6c: root")
    assert channel.ask(f"set {QDISC} value=pfifo")["status"] == "unchanged"
    assert channel.ask("verify") == {"event": "verified", "drifted": 0}
    assert channel.ask_all("end", "ended")[-1]["failed"] == 0
    assert root_qdisc(namespace) == first
    assert channel.close() == 0
    assert namespace.dump() == before


def test_one_that_another_program_has_set_is_left_alone(namespace):
    namespace.sh("tc qdisc add dev v0 root pfifo limit 77")
    channel = begun(namespace)
    answer = channel.ask(f"set {QDISC} value=pfifo_fast")
    assert answer["status"] == "unsupported" and "its parameters" in answer["reason"]
    assert channel.ask(f"set {QDISC} value=pfifo")["status"] == "unchanged"
    assert channel.ask_all("end", "ended")[-1]["failed"] == 0
    assert "limit 77p" in root_qdisc(namespace)
    channel.close()
    namespace.sh("tc qdisc del dev v0 root")


def test_one_that_another_program_sets_meanwhile_stays(namespace):
    """Its handle tells it from netlab's, although it is of the same kind."""
    channel = begun(namespace)
    applied(channel, f"{QDISC} value=pfifo")
    namespace.sh("tc qdisc del dev v0 root; tc qdisc add dev v0 root handle 7: pfifo limit 78")
    (answer, last) = channel.ask_all("revert", "reverted_all")
    assert answer["status"] == "conflict" and last["conflicts"] == 1
    assert "limit 78p" in root_qdisc(namespace)
    channel.close()
    namespace.sh("tc qdisc del dev v0 root")


def test_a_queueing_discipline_that_is_not_there_or_needs_parameters(namespace):
    channel = begun(namespace)
    added = "tc qdisc add dev v1 root cake && tc qdisc del dev v1 root"
    here = namespace.sh(f"{{ {added}; }} >/dev/null 2>&1 && echo yes || echo no").strip()
    answer = channel.ask(f"set {QDISC} value=cake")
    if here == "yes":
        assert answer["status"] == "applied"
    else:
        assert (answer["status"], answer["readback"]) == ("unsupported", "noqueue")
        assert answer["reason"] == "this kernel has no queueing discipline cake"
    namespace.sh("ip link add never-up type veth peer name other")
    answer = channel.ask(f"read {QDISC.replace('v0', 'never-up')}")
    assert answer["supported"] is False and "while it is down" in answer["reason"]
    namespace.sh("ip link del never-up")
    assert channel.ask(f"read {QDISC.replace('v0', 'none0')}")["supported"] is False
    assert channel.ask_all("end", "ended")[-1]["failed"] == 0


def test_a_wrong_command_line_is_bad_input(gensink):
    argv = (gensink, "tune", "--hold-s=0")
    done = subprocess.run(argv, capture_output=True, text=True, timeout=30)
    assert done.returncode == 2
    answer = json.loads(done.stdout)
    assert (answer["event"], answer["code"]) == ("error", "bad_request")
    assert answer["message"] == "--hold-s: expected an integer from 1 to 86400"


def test_root_of_a_user_namespace_may_set_a_link_but_not_its_deferral(namespace):
    place = ("unshare", "--user", "--map-root-user", "--net", "--mount", "sh", "-c")
    devices = "mount -t sysfs s /sys && ip link add v0 type veth peer name v1"
    defer = "knob=defer name=gro_flush_timeout interface=v0"
    script = f"read {defer}\nbegin\nset {defer} value=7\nset {MTU} value=1400\nend\n"
    tune = f"{devices} && exec {shlex.join(map(str, namespace.program))}"
    run = subprocess.run((*place, tune), input=script, capture_output=True, text=True, timeout=30)
    assert "only root of the machine may change it; this is root of a user" in run.stdout, run
    assert run.stdout.count('"status":"unsupported"') == 1
    assert run.stdout.count('"status":"applied"') == 1
    assert run.stdout.count('"status":"restored"') == 1
