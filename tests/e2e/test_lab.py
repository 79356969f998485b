"""A lab comes up whole or not at all, and is gone afterwards however its owner ended."""

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from e2e import lab_owner
from e2e.conftest import assert_machine_is, dump, run_netlab
from lab_study import bus, lab_study
from waiting import until

from netlab.errors import BadInput, HostError, Unsupported
from netlab.lab import lab as labs
from netlab.lab import reaper, requirements
from netlab.lab.lab import Lab

STUDY = lab_study({"a": bus(2128.0), "b": bus(1600.0)})
ROOT = Path(lab_owner.__file__).parents[1]


def _lab_id(word):
    """An id that no other test on this machine has."""
    return f"{word}{os.getpid() % 46656:x}"[:8]


def _left_of(lab_id):
    """Everything there is of a lab: namespaces, task groups, state, guards."""
    left = [*reaper.namespaces_of(lab_id), *map(str, reaper.task_groups_of(lab_id))]
    left += [str(state) for state in [reaper.base() / lab_id] if state.exists()]
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            words = entry.read_bytes().split(b"\0")
            if lab_id.encode() in words and any(word.endswith(b"reaper.py") for word in words):
                left.append(str(entry))
    return left


def _wait_gone(lab_id):
    until(lambda: not _left_of(lab_id))


def _stands_whole(lab_id):
    """True if a lab was complete before its creator was killed, and no guard removes it any more.

    On a fast machine that is what the signal finds; a lab without owner stays then.
    """
    seen = [None, None]

    def settled():
        seen[:] = [_left_of(lab_id), seen[0]]
        # The lists are read one after the other, so they count when equal twice.
        return not seen[0] or (
            seen[0] == seen[1] and not any(entry.startswith("/proc") for entry in seen[0])
        )

    until(settled, every_s=0.2)
    if not seen[0]:
        return False
    status = Lab(reaper.base() / lab_id).status()
    assert status["complete"], (seen, status)
    return True


@pytest.fixture
def owner():
    """Start a process that owns a lab; it is ended at the end of the test."""
    started = []

    def start(lab_id, *words, up=True):
        process = subprocess.Popen(
            (sys.executable, lab_owner.__file__, lab_id, *words),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'tests'}"},
        )
        started.append((process, lab_id))
        assert process.stdout.readline() == b"start\n"
        assert not up or process.stdout.readline() == b"up\n"
        return process

    yield start
    for process, lab_id in started:
        process.kill()
        process.wait()
        process.stdout.close()
        reaper.remove(lab_id)


def test_up_and_down_leave_the_machine_as_it_was():
    before = dump()
    others = labs.labs()
    directories = (reaper.PRIVILEGE_SEPARATION, reaper.NAMESPACES, reaper.base())
    if not others:
        with contextlib.suppress(OSError):  # not there, or it has locks
            reaper.base().rmdir()  # empty: the last of other labs is just gone
    found = [path.exists() for path in directories]
    lab = Lab.up(STUDY, lab_id=_lab_id("u"))
    try:
        status = lab.status()
        assert status["complete"] is True
        assert [host["up"] for host in status["hosts"].values()] == [True, True]
        json.dumps(status)
        with lab.host("a") as host:
            host.run(("true",))
            assert_machine_is(before)
    finally:
        lab.down()
    assert _left_of(lab.id) == []
    assert_machine_is(before)
    if not others and not labs.labs():
        assert [path.exists() for path in directories] == found
    lab.down()


SAYS = """echo '{"event":"started"}'"""
"""A shell's answer, as that of a script which has started a tool."""


def test_down_ends_the_processes_inside():
    with Lab.up(STUDY, lab_id=_lab_id("p"), owned=True) as lab, lab.host("a") as host:
        stubborn = host.start(("sh", "-c", f"trap '' TERM HUP INT; sleep 600 & {SAYS}; wait"))
        assert stubborn.receive(30)["event"] == "started"
        inside = reaper.processes_in([lab.namespace("a")])
        assert len(inside) >= 2 and lab.status()["hosts"]["a"]["processes"] == len(inside)
        lab.down()
        assert reaper.processes_in(reaper.namespaces_of(lab.id)) == []
        assert not any(Path(f"/proc/{pid}/ns/net").exists() for pid in inside)
        with pytest.raises(HostError, match="the SSH connection was lost"):
            stubborn.receive(30)


@pytest.mark.parametrize("delay_s", [0.0, 0.06, 0.13])
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_an_end_in_the_middle_of_up_leaves_nothing(owner, delay_s, number):
    lab_id = _lab_id(f"m{number:d}")
    process = owner(lab_id, "persist", up=False)
    time.sleep(delay_s)
    process.send_signal(number)
    assert process.wait(60) != 0
    if _stands_whole(lab_id):
        labs.down(lab_id)
    _wait_gone(lab_id)


def test_ctrl_c_takes_the_lab_down(owner):
    lab_id = _lab_id("c")
    process = owner(lab_id, "persist")
    process.send_signal(signal.SIGINT)
    assert process.wait(60) != 0
    _wait_gone(lab_id)


def test_a_killed_owner_takes_the_lab_and_its_emulator_with_it(owner):
    before = dump()
    lab_id = _lab_id("k")
    process = owner(lab_id, "emulated")
    (emulator,) = reaper.processes_in(reaper.namespaces_of(lab_id))
    with Lab(reaper.base() / lab_id).host("b") as host:
        worker = host.start(("sh", "-c", f"{SAYS}; exec sleep 60"))
        worker.receive(30)
        process.kill()
        process.wait()
        _wait_gone(lab_id)
        until(lambda: not os.path.isdir(f"/proc/{emulator}"))
        worker.close(timeout_s=1)
    assert_machine_is(before)


def test_a_lab_without_owner_stays_until_it_is_taken_down(owner):
    lab_id = _lab_id("s")
    process = owner(lab_id, "persist")
    process.kill()
    process.wait()
    time.sleep(0.3)
    (lab,) = [lab for lab in labs.labs() if lab.id == lab_id]
    assert lab.fits(STUDY) and not lab.fits(lab_study())
    with lab.host("a") as host:
        assert host.run(("uname", "-n")).stdout == "a\n"
    assert labs.down(lab_id) == [lab_id]
    assert _left_of(lab_id) == []
    with pytest.raises(BadInput, match="no lab has this id"):
        labs.down(lab_id)


def test_two_labs_do_not_disturb_each_other():
    first_id, second_id = _lab_id("x"), _lab_id("xx")
    with Lab.up(STUDY, lab_id=first_id, owned=True) as first:
        with (
            first.host("a") as host,
            Lab.up(STUDY, lab_id=second_id, owned=True) as second,
            second.host("a") as other,
        ):
            agent = host.start(("sh", "-c", f"while read x; do {SAYS}; done"))
            assert other.run(("uname", "-n")).stdout == host.run(("uname", "-n")).stdout == "a\n"
            second.down()
            agent.send("ping")
            assert agent.receive(30)["event"] == "started"
            agent.close()
        assert first.status()["complete"] and _left_of(second_id) == []
        with pytest.raises(BadInput, match="already"):
            Lab.up(STUDY, lab_id=first_id)
        for none in ("", "UP", "a-b", "../x", "toolongid"):
            with pytest.raises(BadInput, match="one to eight"):
                Lab.up(STUDY, lab_id=none)
        assert first.status()["complete"]


@pytest.mark.parametrize("missing", ["state", "description", "content", "namespace"])
def test_a_damaged_lab_can_be_taken_down(missing):
    lab = Lab.up(STUDY, lab_id=_lab_id("d"))
    try:
        match missing:
            case "state":
                shutil.rmtree(lab.state)
            case "description":
                (lab.state / labs.STATE_FILE).write_text("{")
            case "content":
                (lab.state / labs.STATE_FILE).write_text('{"complete": true, "topology": [1]}')
            case "namespace":
                subprocess.run(("ip", "netns", "delete", lab.namespace("a")), check=True)
        (seen,) = [other for other in labs.labs() if other.id == lab.id]
        assert seen.status()["complete"] is False
        assert labs.down(lab.id) == [lab.id]
        assert _left_of(lab.id) == []
    finally:
        reaper.remove(lab.id)


def test_the_removal_of_a_lab_leaves_the_journals_of_other_hosts():
    lab = Lab.up(STUDY, lab_id=_lab_id("j"))
    try:
        inode = os.stat(reaper.NAMESPACES / lab.namespace("a")).st_ino
        reaper.HOST_FILES.mkdir(mode=0o700, exist_ok=True)
        own, other = (reaper.HOST_FILES / f"tune-{number}-1.journal" for number in (inode, 1))
        own.touch()
        other.touch()
    finally:
        lab.down()
    assert other.exists() and not own.exists()
    other.unlink()
    with contextlib.suppress(OSError):  # it has locks
        reaper.HOST_FILES.rmdir()


def test_a_failure_half_way_removes_what_was_made():
    lab_id = _lab_id("f")
    ends = [{"host": "a"}, {"host": "b"}]
    study = lab_study(paths={"p": {"ends": ends, "link": {"rate_Mbps": 1e-6}}})
    with pytest.raises(HostError, match=r"tbf rate 1bit"):
        Lab.up(study, lab_id=lab_id)
    assert _left_of(lab_id) == []


def test_a_missing_package_is_reported_with_its_install_command(tmp_path):
    for name in requirements.PACKAGES.keys() - {"ethtool", "sshd"}:
        (tmp_path / name).symlink_to(shutil.which(name, path=reaper.SEARCH_PATH))
    with pytest.raises(
        Unsupported,
        match=r"needs ethtool, sshd, not .*: apt-get install -y ethtool openssh-server$",
    ):
        requirements.check(shaped=True, search_path=str(tmp_path))


REFUSED = {
    "tc": (
        'case "$*" in *tbf*) echo no tbf here >&2; exit 2;; esac',
        r"token bucket .*_TBF\), .*refused: no tbf here",
    ),
    "ip": (
        'case "$*" in *numtxqueues*) exit 2;; esac',
        r"needs several queues of veth .*CONFIG_XPS",
    ),
    "unshare": (
        "echo 'unshare: not permitted' >&2; exit 1",
        r"cannot be made here .*unshare: not permitted",
    ),
}


@pytest.mark.parametrize("program", REFUSED)
def test_a_part_the_kernel_refuses_is_named(tmp_path, program):
    script, message = REFUSED[program]
    real = shutil.which(program, path=reaper.SEARCH_PATH)
    (tmp_path / program).write_text(f'#!/bin/sh\n{script}\nexec {real} "$@"\n')
    (tmp_path / program).chmod(0o755)
    search_path = f"{tmp_path}:{reaper.SEARCH_PATH}"
    with pytest.raises(Unsupported, match=message):
        requirements.check(shaped=True, queues=2, search_path=search_path)
    if program != "unshare":  # what a lab does not need may be refused
        requirements.check(shaped=False, search_path=search_path)


def test_without_root_labs_of_root_are_seen_but_not_taken_down():
    with Lab.up(STUDY, lab_id=_lab_id("n"), owned=True) as lab:
        program = (
            "import os\nfrom netlab.lab import lab\nos.setuid(65534)\n"
            "print([one.id for one in lab.labs() if one.foreign])\n"
            f"lab.down()\nlab.down('{lab.id}')"
        )
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        argv = (sys.executable, "-c", program)
        done = subprocess.run(argv, capture_output=True, text=True, env=environment)
        assert repr(lab.id) in done.stdout
        assert f"lab {lab.id} was made by root: remove it with sudo" in done.stderr
        assert lab.status()["complete"]


@pytest.mark.parametrize("delay_s", [0.04, 0.12])
def test_a_lab_taken_down_while_it_is_made_is_gone(owner, delay_s):
    lab_id = _lab_id("w")
    process = owner(lab_id, up=False)
    time.sleep(delay_s)
    reaper.remove(lab_id)
    if process.stdout.readline() == b"up\n":
        # The removal came before the lab had a name, or after it was whole.
        reaper.remove(lab_id)
        process.kill()
    assert process.wait(60) != 0
    _wait_gone(lab_id)


def test_a_lab_abandoned_before_its_name_is_removed():
    with Lab.up(STUDY, lab_id=_lab_id("z"), owned=True):
        stale = reaper.base() / ".0123456789abcdef"
        stale.mkdir()
    assert not stale.exists()


def emulators_of(lab: Lab) -> list[Path]:
    """Processes of the C core that have a file of the lab open."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            opened = {os.readlink(file) for file in (process / "fd").iterdir()}
            if "emulate" in (process / "cmdline").read_text() and any(
                one.startswith(f"{lab.state}/") for one in opened
            ):
                found.append(process)
    return found


def test_a_switch_is_a_part_of_its_lab_that_is_listed_and_missed():
    """Without it no further sender reaches the receiver, so that no study takes the lab again."""
    ends = {"ends": [{"host": "a"}, {"host": "b"}], "also": [{"host": "c"}]}
    paths = {"a-b": {**ends, "link": {"emulator": {"rtt_ms": 2.0}}}}
    # a name of its own keeps it apart from labs of other tests
    study = lab_study({name: {"kind": "lab"} for name in "abc"}, paths, name=_lab_id("sw"))
    lab_id = _lab_id("s")
    lab = Lab.up(study, lab_id=lab_id)
    try:
        shown = run_netlab("lab", "status").stdout.partition(f"lab {lab_id}: ")[2]
        shown = shown.partition("\nlab ")[0].splitlines()
        (name,) = (n for n in reaper.namespaces_of(lab_id) if n not in map(lab.namespace, "abc"))
        assert "complete" in shown[0] and "NOT" not in shown[0]
        assert f"  switch of path a-b: up, namespace {name}" in shown
        (path,) = (line for line in shown if line.startswith("  path a-b: "))
        assert re.match(r"  path a-b: a data0 .*, c data0 .* -- switch -- b data0 ", path)
        assert path.endswith(", emulated with netlab")
        assert lab.fits(study)
        (emulator,) = emulators_of(lab)
        subprocess.run(("ip", "netns", "delete", name), check=True)
        shown = run_netlab("lab", "status").stdout.partition(f"lab {lab_id}: ")[2].splitlines()
        assert "NOT complete" in shown[0]
        assert f"  switch of path a-b: gone, namespace {name}" in shown
        assert not lab.fits(study)
    finally:
        lab.down()
    assert _left_of(lab_id) == []
    until(lambda: not emulator.exists(), 10)  # its namespace had no name any more
