"""The dead-man timer: whichever process dies, and however, the knobs are reverted, once."""

from __future__ import annotations

import os
import signal
import subprocess
import time

import pytest

SACK = "knob=sysctl name=net.ipv4.tcp_sack"
REQUESTS = [
    "begin owner=test",
    f"set {SACK} value=0",
    "set knob=sysctl name=net.ipv4.tcp_rmem value=4096%2087380%20174760",
    "set knob=sysctl name=net.ipv4.tcp_wmem value=409600%20163840%20oops",
    "set knob=mtu interface=v0 value=9000",
    "set knob=txqueuelen interface=v0 value=3000",
    "set knob=feature name=tx-checksum interface=v0 value=off",
    "set knob=feature name=rx-checksum interface=v0 value=off",
    "set knob=defer name=napi_defer_hard_irqs interface=v0 value=1",
    "set knob=defer name=gro_flush_timeout interface=v0 value=52429",
    "set knob=mtu interface=v0 value=4000",
]


def begun(namespace, count, *options):
    channel = namespace.tune(*options)
    for request in REQUESTS[: count + 1]:
        assert channel.ask(request)["event"] in ("begun", "set")
    return channel


@pytest.mark.parametrize("count", [0, 1, 3, len(REQUESTS) - 1])
def test_the_guard_reverts_when_the_process_is_killed(namespace, count):
    before = namespace.dump()
    begun(namespace, count).kill()
    namespace.settled()
    assert namespace.dump() == before
    assert namespace.journals() == []


@pytest.mark.parametrize("delay_ms", [0, 1, 2, 3, 5, 8])
def test_a_kill_in_the_middle_of_many_requests_reverts_them_all(namespace, delay_ms):
    before = namespace.dump()
    channel = begun(namespace, 0)
    channel.send_bytes("\n".join([*REQUESTS[1:], "verify", "revert", ""]).encode())
    time.sleep(delay_ms / 1000)
    channel.kill()
    namespace.settled()
    assert namespace.dump() == before
    assert namespace.journals() == []


def test_the_guard_outlives_its_parents_process_group(namespace):
    before = namespace.dump()
    channel = begun(namespace, 6)
    os.killpg(channel.pid, signal.SIGKILL)
    channel.process.wait(timeout=20)
    namespace.settled()
    assert namespace.dump() == before


def test_the_guard_has_none_of_its_parents_streams_open(namespace):
    channel = begun(namespace, 1)
    guard = channel.guard_pid()
    held = {os.readlink(f"/proc/{guard}/fd/{fd}") for fd in os.listdir(f"/proc/{guard}/fd")}
    streams = {os.readlink(f"/proc/{channel.pid}/fd/{fd}") for fd in (0, 1)}
    assert not held & streams
    assert os.getsid(guard) == guard
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        os.kill(guard, number)
    assert channel.ask("keepalive") == {"event": "alive"}
    assert channel.guard_pid() == guard


def test_silence_longer_than_the_hold_time_reverts_and_the_process_detects_it(namespace):
    before = namespace.dump()
    channel = begun(namespace, 6, "--hold-s", "2")
    namespace.settled_journals(0)
    assert namespace.dump() == before
    answer = channel.ask(f"set {SACK} value=0")
    assert (answer["event"], answer["code"]) == ("error", "timeout")
    assert namespace.dump() == before
    assert channel.ask("begin owner=again")["event"] == "begun"
    assert channel.ask_all("end", "ended")[-1]["event"] == "ended"
    assert channel.close() == 1


def test_keepalives_hold_the_tuning(namespace):
    channel = begun(namespace, 1, "--hold-s", "4")
    for _ in range(20):
        time.sleep(0.25)
        assert channel.ask("keepalive") == {"event": "alive"}
    assert namespace.sysctl("net.ipv4.tcp_sack") == "0"


def test_a_stopped_process_loses_its_tuning_and_detects_it_when_continued(namespace):
    channel = begun(namespace, 1, "--hold-s", "2")
    channel.kill(signal.SIGSTOP)
    namespace.settled_journals(0)
    assert namespace.sysctl("net.ipv4.tcp_sack") == "1"
    channel.kill(signal.SIGCONT)
    assert channel.ask("verify")["code"] == "timeout"


def test_a_killed_guard_is_replaced(namespace):
    before = namespace.dump()
    channel = begun(namespace, 3)
    first = channel.kill_guard()
    assert channel.ask("keepalive") == {"event": "alive"}
    assert channel.guard_pid() != first
    channel.kill()
    namespace.settled()
    assert namespace.dump() == before


def test_when_both_are_killed_the_next_session_recovers(namespace):
    before = namespace.dump()
    begun(namespace, len(REQUESTS) - 1).kill_both()
    assert namespace.dump() != before
    assert len(namespace.journals()) == 1
    channel = namespace.tune()
    assert channel.ready["stale"] == 1
    answers = channel.ask_all("recover", "reverted_all")
    counts = {"conflicts": 0, "absent": 0, "failed": 0, "damaged": 0}
    assert answers[-1] == {"event": "reverted_all", **counts}
    assert {a["status"] for a in answers[:-1]} == {"restored"}
    assert namespace.dump() == before
    assert namespace.journals() == []
    assert channel.close() == 0


def test_recovery_leaves_foreign_changes(namespace):
    begun(namespace, 4).kill_both()
    namespace.link("mtu", 3000)
    channel = namespace.tune()
    answers = channel.ask_all("recover", "reverted_all")
    assert [a["status"] for a in answers[:-1]].count("conflict") == 1
    assert namespace.link("mtu") == 3000
    assert namespace.sysctl("net.ipv4.tcp_sack") == "1"


def test_a_living_session_is_not_stale_even_under_another_pid(namespace):
    begun(namespace, 1)
    (journal,) = namespace.journals()
    copy = journal.with_name("1-1-0.journal")
    copy.write_bytes(journal.read_bytes())
    channel = namespace.tune()
    assert channel.ready["stale"] == 1  # the copy, which no process has locked
    assert channel.ask("recover")["code"] == "in_use"
    assert namespace.sysctl("net.ipv4.tcp_sack") == "0"


def test_a_journal_of_another_namespace_is_left_alone(make_namespace):
    here, there = make_namespace(), make_namespace()
    begun(there, 1).kill_both()
    (journal,) = there.journals()
    here.sysctl("net.ipv4.tcp_sack", "0")
    here.journal.mkdir(mode=0o700)
    (here.journal / journal.name).write_bytes(journal.read_bytes())
    channel = here.tune()
    assert channel.ready["stale"] == 0
    assert len(channel.ask_all("recover", "reverted_all")) == 1
    assert here.sysctl("net.ipv4.tcp_sack") == "0"
    assert len(here.journals()) == 1
    recovering = there.tune()
    assert recovering.ask_all("recover", "reverted_all")[0]["status"] == "restored"


def test_a_torn_last_line_is_tolerated(namespace):
    before = namespace.dump()
    begun(namespace, 6).kill_both()
    (journal,) = namespace.journals()
    journal.write_bytes(journal.read_bytes()[:-7])
    channel = namespace.tune()
    assert channel.ask_all("recover", "reverted_all")[-1]["conflicts"] == 0
    assert namespace.dump() == before


def test_an_unsafe_journal_directory_is_refused(namespace, tmp_path):
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    foreign = tmp_path / "foreign"
    foreign.mkdir(mode=0o700)
    os.chown(foreign, 65534, 65534)
    link = tmp_path / "link"
    link.symlink_to(tmp_path)
    for directory in (shared, foreign, link, tmp_path / "a" / "b"):
        channel = namespace.tune(journal=directory, ready=False)
        assert channel.receive()["code"] == "refused"
        assert channel.process.wait(timeout=20) == 1


def test_a_full_disk_refuses_before_a_knob_is_touched(namespace, tmp_path):
    """A tmpfs of one page for the journal, in a mount namespace that dies with the process."""
    disk = tmp_path / "disk"
    disk.mkdir()
    requests = "".join(f"set knob=mtu interface=v0 value={3000 + i}\n" for i in range(80))
    script = (
        'mount -t tmpfs -o size=4k,mode=700 tmpfs "$1" || exit 9; shift;'
        ' (echo begin owner=x; cat) | "$@"'
    )
    argv = namespace.argv(journal=disk)
    run = subprocess.run(
        [*argv[:2], "unshare", "--mount", "sh", "-c", script, "sh", disk, *argv[2:]],
        input=requests,
        capture_output=True,
        text=True,
        timeout=60,
    )
    answers = run.stdout.splitlines()
    refused = [line for line in answers if '"status":"refused"' in line]
    assert refused and all("No space left on device" in line for line in refused), run
    assert any('"status":"applied"' in line for line in answers)
    assert '"event":"ended"' in answers[-1] and '"failed":0' in answers[-1]
    namespace.settled()
    assert namespace.link("mtu") == 1500


def test_a_process_without_input_ends_and_reverts(namespace):
    """A controller that lost power never closes its end: `tune` ends by itself."""
    before = namespace.dump()
    channel = begun(namespace, 6, "--silence-s", "2")
    for _ in range(6):
        time.sleep(0.5)
        channel.send("")  # no answer
    assert channel.ask("keepalive") == {"event": "alive"}
    assert channel.process.wait(timeout=10) == 1
    namespace.settled()
    assert namespace.dump() == before and namespace.journals() == []
