"""`gensink cc`: each control passes the verifier, works, and is gone however the session ends."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import platform
import socket
import struct
import subprocess
import sys
from pathlib import Path

import pytest
from native.cc_runs import cc_session, load
from native.spoken_agent import Agent, wait_for_data
from waiting import until

LIST = {
    name: Path(f"/proc/sys/net/ipv4/tcp_{name}_congestion_control")
    for name in ("available", "allowed")
}
ROOT = Path(__file__).parents[2]
CONTROLS = ("scalable", "highspeed", "aimd", "fast")
BPF_SYSCALL = {"x86_64": 321, "aarch64": 280}[platform.machine()]
BPF_PROG_GET_FD_BY_ID = 13


def listed(name: str = "available") -> list[str]:
    return LIST[name].read_text().split()


def lasting() -> list[list[str]]:
    """Both lists without what netlab's sessions, also those of other tests, have loaded."""
    return [[cc for cc in listed(name) if not cc.startswith("nl_")] for name in LIST]


def programs(holder: Agent) -> set[int]:
    """Ids of the BPF programs that a session has open."""
    found = set()
    for file in Path(f"/proc/{holder.process.pid}/fdinfo").iterdir():
        # a descriptor of the moment may be gone again
        with contextlib.suppress(FileNotFoundError):
            words = dict(line.split(":", 1) for line in file.read_text().splitlines())
            if "prog_type" in words:
                found.add(int(words["prog_id"]))
    return found


def is_there(program: int) -> bool:
    """True if the kernel still has a BPF program of that id."""
    attributes = struct.pack("=III52x", program, 0, 0)
    libc = ctypes.CDLL(None, use_errno=True)
    opened = libc.syscall(BPF_SYSCALL, BPF_PROG_GET_FD_BY_ID, attributes, len(attributes))
    if opened < 0:
        assert ctypes.get_errno() == errno.ENOENT, os.strerror(ctypes.get_errno())
        return False
    os.close(opened)
    return True


def wait_gone(names: list[str], ids: set[int]) -> None:
    """Wait until no list names them and their programs are freed, a grace period later."""
    until(lambda: not set(names) & {*listed(), *listed("allowed")} and not any(map(is_there, ids)))


@pytest.mark.parametrize("cc", CONTROLS)
def test_this_kernel_accepts_each_control_for_any_user(gensink, cc):
    """The verifier accepts it; the machine's list of allowed controls is not written."""
    before = lasting()
    with cc_session(gensink) as holder:
        assert holder.ready["supported"], holder.ready
        name = load(holder, cc)
        assert name.startswith(f"nl_{cc}_") and len(name) <= 15
        assert name in listed() and name in listed("allowed")
        ids = programs(holder)
        assert len(ids) >= 4 and all(map(is_there, ids))
        with socket.socket() as stream:
            stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, name.encode())
            chosen = stream.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16)
        assert chosen.rstrip(b"\0").decode() == name
        assert holder.ask(f"unload name={name}") == {"event": "unloaded", "name": name}
        assert name not in listed()
        assert holder.ask("ping")["event"] == "pong"
    assert holder.process.returncode == 0
    wait_gone([name], ids)
    assert lasting() == before


def test_an_answer_repeats_the_parameters_of_the_request(gensink):
    with cc_session(gensink) as holder:
        digests = {cc["cc"]: cc["sha256"] for cc in holder.ready["controls"]}
        assert list(digests) == list(CONTROLS)
        event = holder.ask(
            "load cc=aimd increase_millionths=6000000 decrease_millionths=300000 "
            "max_ssthresh_segments=100"
        )
        assert event.pop("name").startswith("nl_aimd_")
        assert event == {
            "event": "loaded",
            "cc": "aimd",
            "revision": 1,
            "sha256": digests["aimd"],
            "increase_millionths": 6_000_000,
            "decrease_millionths": 300_000,
            "max_ssthresh_segments": 100,
        }


@pytest.mark.parametrize(
    ("line", "key"),
    [
        ("load cc=vegas", "cc"),
        ("load cc=aimd decrease_millionths=1000000", "decrease_millionths"),
        ("unload name=cubic", "name"),
        ("ping loud=1", "loud"),
    ],
)
def test_a_bad_request_changes_nothing(gensink, line, key):
    with cc_session(gensink) as holder:
        event = holder.ask(line)
        assert (event["event"], event["code"], event["key"]) == ("error", "bad_request", key)
        assert programs(holder) == set()


def test_sessions_on_one_machine_use_distinct_names(gensink):
    with cc_session(gensink) as one, cc_session(gensink) as other:
        names = [load(holder, "scalable") for holder in (one, one, other, other)]
        assert len(set(names)) == 4
        assert set(names) <= set(listed())


def test_a_session_loads_32_and_refuses_the_33rd(gensink):
    with cc_session(gensink) as holder:
        names = [load(holder, "aimd") for _ in range(32)]
        ids = programs(holder)
        assert len(set(names)) == 32
        assert holder.ask("load cc=aimd")["code"] == "limit"
    wait_gone(names, ids)


@pytest.mark.parametrize("how", ["kill", "terminate", "input", "output"])
def test_they_are_gone_however_the_session_ends(gensink, how):
    before = lasting()
    with cc_session(gensink) as holder:
        names = [load(holder, cc) for cc in CONTROLS]
        ids = programs(holder)
        if how == "input":
            assert holder.close() == 0
        elif how == "output":
            holder.process.stdout.close()
            holder.say("ping")
            holder.process.wait(30)
        else:
            getattr(holder.process, how)()
            holder.process.wait(30)
        wait_gone(names, ids)
    assert lasting() == before


def test_a_connection_outlives_the_name_it_was_made_under(gensink, start_agent):
    """The session is killed during a run, which ends well; then all of it is gone."""
    agent = start_agent()
    with cc_session(gensink) as holder:
        name = load(holder, "scalable")
        port, token = agent.sink(congestion=name, window_ms=600)
        agent.gen(port, token, congestion=name, window_ms=600)
        wait_for_data()
        ids = programs(holder)
        holder.process.kill()
        holder.process.wait(30)
    assert name not in listed()
    results = agent.receive_results()
    assert {event["status"] for event in results.values()} == {"ok"}
    sent = results["gen_result", 1]["per_stream"][0]
    assert sent["congestion"] == name
    wait_gone([name], ids)


def test_a_kernel_without_btf_is_distinguished_from_one_that_refuses(gensink):
    hide = 'mount -t tmpfs none /sys/kernel/btf && exec "$1" cc'
    holder = Agent("unshare", "-m", "sh", "-c", hide, "hide", gensink)
    try:
        ready = holder.receive()
        assert ready["supported"] is False
        assert ready["reason"].startswith("unsupported: the kernel describes no types (BTF)")
        event = holder.ask("load cc=scalable")
        assert (event["code"], event["message"]) == ("refused", ready["reason"])
    finally:
        holder.close()


def test_a_user_without_privilege_gets_the_reason(gensink):
    with cc_session(gensink, "setpriv", "--bounding-set", "-all", "--inh-caps", "-all") as holder:
        event = holder.ask("load cc=scalable")
        assert event["code"] == "refused"
        assert "only from root (CAP_BPF, CAP_PERFMON, CAP_NET_ADMIN)" in event["message"]


def test_root_of_a_user_namespace_gets_the_reason(gensink):
    with cc_session(gensink, "unshare", "--user", "--map-root-user") as holder:
        assert holder.ready["supported"] is False
        assert holder.ready["reason"] == (
            "unsupported: only root of the machine may load a BPF congestion control; "
            "this is root of a user namespace"
        )


HIDE = """
set -eu
for part in clang libbpf. libelf.; do
  find -L /usr/bin /usr/lib /usr/local -xdev -type f -name "$part*" 2>/dev/null
done | while read -r file; do
  mount --bind /dev/null "$file"
done
cmake -S "$1" -B "$2" -DNL_PYTHON=OFF -DPython_EXECUTABLE="$3"
cmake --build "$2" -j 2 --target gensink
"""


def test_without_clang_libbpf_and_libelf_it_builds_and_names_the_packages(tmp_path):
    argv = ("sh", "-c", HIDE, "hide", str(ROOT / "native"), str(tmp_path), sys.executable)
    built = subprocess.run(("unshare", "--mount", "--", *argv), capture_output=True, text=True)
    assert built.returncode == 0, built.stderr[-4000:]
    assert "built without BPF congestion controls: the build found no clang" in built.stderr
    with cc_session(tmp_path / "gensink") as holder:
        assert holder.ready["supported"] is False
        for words in ("no clang", "libbpf-dev libelf-dev", "clang libbpf elfutils zlib (conda)"):
            assert words in holder.ready["reason"]


def test_a_sanitized_session_loads_and_frees_every_control(address_build):
    binary = address_build / "gensink"
    with cc_session(binary) as holder:
        names = [load(holder, cc) for cc in CONTROLS]
        holder.ask("load cc=none")
        holder.ask(f"unload name={names[1]}")
        holder.process.stdin.close()
        said = holder.process.stderr.read().decode()
        assert holder.process.wait(30) == 0, said
        assert said == ""
