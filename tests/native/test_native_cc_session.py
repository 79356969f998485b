"""`gensink stacks`: each law passes the verifier, is held, and is gone however its holder ends."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import platform
import shutil
import socket
import struct
import subprocess
import time
from pathlib import Path

import pytest
from law_runs import load, stacks
from spoken_agent import Agent, request

from netlab import core

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="the kernel takes BPF only from root")

LIST = {
    name: Path(f"/proc/sys/net/ipv4/tcp_{name}_congestion_control")
    for name in ("available", "allowed")
}
LAWS = ("scalable", "highspeed", "aimd", "fast")
GONE_S = 10.0
BPF_SYSCALL = {"x86_64": 321, "aarch64": 280}[platform.machine()]
BPF_PROG_GET_FD_BY_ID = 13


def listed(name: str = "available") -> list[str]:
    return LIST[name].read_text().split()


def programs(holder: Agent) -> set[int]:
    """Ids of the BPF programs that a holder has open."""
    found = set()
    for file in Path(f"/proc/{holder.process.pid}/fdinfo").iterdir():
        # a descriptor of the moment may be gone again
        with contextlib.suppress(FileNotFoundError):
            words = dict(line.split(":", 1) for line in file.read_text().splitlines())
            if "prog_type" in words:
                found.add(int(words["prog_id"]))
    return found


def is_there(program: int) -> bool:
    """Whether the kernel still has a BPF program of that id."""
    attributes = struct.pack("=III52x", program, 0, 0)
    libc = ctypes.CDLL(None, use_errno=True)
    opened = libc.syscall(BPF_SYSCALL, BPF_PROG_GET_FD_BY_ID, attributes, len(attributes))
    if opened < 0:
        assert ctypes.get_errno() == errno.ENOENT, os.strerror(ctypes.get_errno())
        return False
    os.close(opened)
    return True


def wait_gone(names: list[str], ids: set[int]) -> None:
    """Until no list names them and their programs are freed, which comes a grace period later."""
    until = time.monotonic() + GONE_S
    while set(names) & {*listed(), *listed("allowed")} or any(map(is_there, ids)):
        assert time.monotonic() < until, (listed(), ids)
        time.sleep(0.02)


@pytest.mark.parametrize("law", LAWS)
def test_this_kernel_takes_each_law_for_any_user(gensink, law):
    """The verifier has said yes; the machine's list of what any user may choose is not written."""
    before = listed()
    with stacks(gensink) as holder:
        assert holder.ready["supported"], holder.ready
        name = load(holder, law)
        assert name.startswith(f"nl_{law}_") and len(name) <= 15
        assert name in listed() and name in listed("allowed")
        ids = programs(holder)
        assert len(ids) >= 4 and all(map(is_there, ids))
        with socket.socket() as stream:
            stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, name.encode())
            chosen = stream.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16)
        assert chosen.rstrip(b"\0").decode() == name
        assert holder.ask(f"unload name={name}") == {"event": "unloaded", "name": name}
        assert name not in listed()
        assert holder.ask("ping") == {"event": "pong"}
    assert holder.process.returncode == 0
    wait_gone([name], ids)
    assert {name for name in before if not name.startswith("nl_")} <= set(listed())


def test_what_it_says_of_a_law_is_what_it_was_told(gensink):
    with stacks(gensink) as holder:
        digests = {law["law"]: law["sha256"] for law in holder.ready["laws"]}
        assert list(digests) == list(LAWS)
        event = holder.ask(
            "load law=aimd increase_millionths=6000000 decrease_millionths=300000 "
            "max_ssthresh_segments=100"
        )
        assert event.pop("name").startswith("nl_aimd_")
        assert event == {
            "event": "loaded",
            "law": "aimd",
            "revision": 1,
            "sha256": digests["aimd"],
            "increase_millionths": 6_000_000,
            "decrease_millionths": 300_000,
            "max_ssthresh_segments": 100,
        }


@pytest.mark.parametrize(
    ("line", "key"),
    [
        ("load", "law"),
        ("load law=vegas", "law"),
        ("load law=fast alpha_packets=0", "alpha_packets"),
        ("load law=fast gamma_millionths=1000001", "gamma_millionths"),
        ("load law=aimd decrease_millionths=1000000", "decrease_millionths"),
        ("load law=highspeed increase_millionths=1", "increase_millionths"),
        ("load law=scalable legacy_window_segments=x", "legacy_window_segments"),
        ("unload name=cubic", "name"),
        ("ping loud=1", "loud"),
        ("sing", None),
    ],
)
def test_a_bad_request_changes_nothing(gensink, line, key):
    with stacks(gensink) as holder:
        event = holder.ask(line)
        assert (event["event"], event["code"], event["key"]) == ("error", "bad_request", key)
        assert programs(holder) == set()


def test_holders_on_one_machine_take_names_of_their_own(gensink):
    with stacks(gensink) as one, stacks(gensink) as other:
        names = [load(holder, "scalable") for holder in (one, one, other, other)]
        assert len(set(names)) == 4
        assert set(names) <= set(listed())


def test_a_holder_takes_32_and_says_so_of_the_33rd(gensink):
    with stacks(gensink) as holder:
        names = [load(holder, "aimd") for _ in range(32)]
        ids = programs(holder)
        assert len(set(names)) == 32
        assert holder.ask("load law=aimd")["code"] == "limit"
    wait_gone(names, ids)


@pytest.mark.parametrize("how", ["kill", "terminate", "input", "output"])
def test_they_are_gone_however_the_holder_ends(gensink, how):
    before, allowed = listed(), listed("allowed")
    with stacks(gensink) as holder:
        names = [load(holder, law) for law in LAWS]
        ids = programs(holder)
        if how == "input":
            assert holder.close() == 0
        elif how == "output":
            holder.process.stdout.close()
            holder.say("ping")
            holder.process.wait(10)
        else:
            getattr(holder.process, how)()
            holder.process.wait(10)
        wait_gone(names, ids)
    assert [name for name in before if not name.startswith("nl_")] == [
        name for name in listed() if not name.startswith("nl_")
    ]
    assert [name for name in allowed if not name.startswith("nl_")] == [
        name for name in listed("allowed") if not name.startswith("nl_")
    ]


def test_a_connection_outlives_the_name_it_was_made_under(gensink, start_agent):
    """The holder is killed under a run, which ends well; then all of it is gone."""
    agent = start_agent()
    with stacks(gensink) as holder:
        name = load(holder, "scalable")
        port, token = agent.sink(congestion=name, window_ms=600)
        agent.gen(port, token, congestion=name, window_ms=600)
        time.sleep(0.2)
        ids = programs(holder)
        holder.process.kill()
        holder.process.wait(10)
    assert name not in listed()
    results = agent.hear_results()
    assert {event["status"] for event in results.values()} == {"ok"}
    sent = results["gen_result", 1]["per_stream"][0]
    assert sent["congestion"] == name
    wait_gone([name], ids)


def test_a_kernel_without_its_types_is_told_from_one_that_refuses(gensink):
    hide = 'mount -t tmpfs none /sys/kernel/btf && exec "$1" stacks'
    holder = Agent("unshare", "-m", "sh", "-c", hide, "hide", gensink)
    try:
        ready = holder.hear()
        assert ready["supported"] is False
        assert ready["reason"].startswith("unsupported: the kernel describes no types (BTF)")
        event = holder.ask("load law=scalable")
        assert (event["code"], event["message"]) == ("refused", ready["reason"])
    finally:
        holder.close()


def test_a_user_without_privilege_is_told_so(gensink):
    with stacks(gensink, "setpriv", "--bounding-set", "-all", "--inh-caps", "-all") as holder:
        event = holder.ask("load law=scalable")
        assert event["code"] == "refused"
        assert "only from root (CAP_BPF, CAP_PERFMON, CAP_NET_ADMIN)" in event["message"]


@pytest.fixture(scope="module")
def without_bpf(tmp_path_factory) -> Path:
    """What a host of another architecture compiles: the installed sources, with one command."""
    where = tmp_path_factory.mktemp("sources") / "src"
    shutil.copytree(core.source_dir(), where)
    subprocess.run(("sh", "BUILD"), cwd=where, check=True, capture_output=True)
    return where / "gensink"


def test_a_build_without_bpf_says_so(without_bpf):
    with stacks(without_bpf) as holder:
        assert holder.ready["supported"] is False
        assert holder.ready["reason"] == "unsupported: built without BPF"
        assert {law["sha256"] for law in holder.ready["laws"]} == {None}
        for law in LAWS:
            event = holder.ask(request("load", {"law": law}))
            assert event["message"] == "unsupported: built without BPF"


def test_a_sanitized_holder_loads_and_frees_every_law(build):
    binary = build("address", "-DNL_TESTS=ON", "-DNL_SANITIZE=address,undefined") / "gensink"
    with stacks(binary) as holder:
        names = [load(holder, law) for law in LAWS]
        holder.ask("load law=none")
        holder.ask(f"unload name={names[1]}")
        holder.process.stdin.close()
        said = holder.process.stderr.read().decode()
        assert holder.process.wait(20) == 0, said
        assert said == ""
