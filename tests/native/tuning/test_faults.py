"""A system call that fails at the wrong moment: the knob is restored, or the journal keeps it."""

from __future__ import annotations

import errno
import os
import resource
import signal

import pytest

from .faults import Faults, missing

SACK = "knob=sysctl name=net.ipv4.tcp_sack"
RMEM = "knob=sysctl name=net.ipv4.tcp_rmem"
MTU = "knob=mtu interface=v0"
TIMEOUT = "knob=defer name=gro_flush_timeout interface=v0"
CHECKSUM = "knob=feature name=tx-checksum interface=v0"


@pytest.fixture
def faults(namespace, faulty_program, tmp_path):
    faults = Faults(tmp_path / "faults")
    namespace.program, namespace.prefix = faulty_program, faults.environment
    return faults


def begun(namespace, *requests, options=()):
    channel = namespace.tune(*options)
    assert channel.ask("begin owner=test") == {"event": "begun"}
    for request in requests:
        answer = channel.ask(f"set {request}")
        assert (answer["event"], answer["status"]) == ("set", "applied"), answer
    return channel


def recovered(namespace):
    """The answers of `recover` and the exit code."""
    channel = namespace.tune()
    answers = channel.ask_all("recover", "reverted_all")
    return answers, channel.close()


def test_a_knob_that_cannot_be_read_at_revert_fails_and_stays_in_the_journal(namespace, faults):
    channel = begun(namespace, f"{SACK} value=0")
    faults.arm("open")
    (answer, total) = channel.ask_all("revert", "reverted_all")
    assert answer["status"] == "failed" and "Too many open files" in answer["reason"]
    assert total["failed"] == 1
    assert channel.close() == 1
    assert missing(namespace.journals()) == {("sysctl", "net.ipv4.tcp_sack", "")}
    assert namespace.sysctl("net.ipv4.tcp_sack") == "0"
    faults.disarm()
    answers, code = recovered(namespace)
    assert [a.get("status") for a in answers[:-1]] == ["restored"] and code == 0
    assert namespace.sysctl("net.ipv4.tcp_sack") == "1" and namespace.journals() == []


@pytest.mark.parametrize("knob", [SACK, MTU])
def test_a_change_whose_record_is_not_durable_is_not_made(namespace, faults, knob):
    before = namespace.dump()
    channel = begun(namespace)
    faults.arm("fsync", error=errno.EIO)
    answer = channel.ask(f"set {knob} value={'0' if knob == SACK else '9000'}")
    assert answer["status"] == "refused" and "nothing was changed" in answer["reason"]
    assert faults.failures > 0
    assert namespace.dump() == before
    faults.disarm()
    assert channel.close() == 0 and namespace.journals() == []


@pytest.mark.parametrize("knob", [SACK, MTU, TIMEOUT, CHECKSUM])
@pytest.mark.parametrize("call", ["open", "read", "write", "ioctl", "socket", "malloc"])
def test_the_guard_tries_again_after_a_shortage(namespace, faults, knob, call):
    before = namespace.dump()
    value = {SACK: "0", MTU: "9000", TIMEOUT: "52429", CHECKSUM: "off"}[knob]
    channel = begun(namespace, f"{knob} value={value}")
    faults.arm(call, count=2, error=errno.ENFILE)
    channel.kill()
    namespace.settled()
    faults.disarm()
    assert namespace.dump() == before
    assert namespace.journals() == []


def test_the_guard_leaves_the_journal_of_what_it_cannot_revert(namespace, faults):
    channel = begun(namespace, f"{SACK} value=0", f"{MTU} value=9000")
    faults.arm("open")
    channel.kill()
    namespace.settled()
    faults.disarm()
    assert missing(namespace.journals()) == {("sysctl", "net.ipv4.tcp_sack", "")}
    assert namespace.link("mtu") == 1500
    answers, code = recovered(namespace)
    assert [a.get("status") for a in answers[:-1]] == ["restored"] and code == 0
    assert namespace.sysctl("net.ipv4.tcp_sack") == "1" and namespace.journals() == []


def test_the_guard_leaves_the_journal_of_an_absent_interface(namespace, make_namespace):
    other = make_namespace()
    other.sh("ip link del v0")
    channel = begun(namespace, f"{MTU} value=9000", f"{SACK} value=0")
    namespace.sh(f"ip link set v0 netns {other.name}")
    channel.kill()
    namespace.settled()
    assert missing(namespace.journals()) == {("mtu", "", "v0")}
    assert namespace.sysctl("net.ipv4.tcp_sack") == "1"
    other.sh(f"ip link set v0 netns {namespace.name}")
    assert recovered(namespace)[1] == 0
    assert namespace.link("mtu") == 1500 and namespace.journals() == []


@pytest.mark.parametrize("limit", [3, 5, 6, 8])
def test_reserved_descriptors_revert_under_a_lower_limit(namespace, limit):
    before = namespace.dump()
    channel = begun(namespace, f"{SACK} value=0", f"{MTU} value=9000", f"{TIMEOUT} value=1")
    for pid in (channel.pid, channel.guard_pid()):
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (limit, limit))
    code, left = channel.close(), missing(namespace.journals())
    assert code == (1 if left else 0)
    assert len(left) <= {3: 3, 5: 1}.get(limit, 0)  # a knob in sysfs takes three
    if left:
        assert recovered(namespace)[1] == 0
    assert namespace.dump() == before
    assert namespace.journals() == []


def test_a_shortage_is_not_an_unsupported_knob(namespace, faults):
    channel = begun(namespace)
    faults.arm("open", count=1)
    answer = channel.ask(f"set {SACK} value=0")
    assert answer["status"] == "refused" and "Too many open files" in answer["reason"]
    faults.arm("open", count=1)
    answer = channel.ask(f"read {SACK}")
    assert (answer["event"], answer["code"]) == ("error", "limit")


def test_a_failed_readback_keeps_the_original(namespace, faults):
    """The second set finds netlab's own value, which is not an original."""
    channel = begun(namespace)
    faults.arm("read", skip=2)  # the value before, the end of the journal, the readback
    assert channel.ask(f"set {SACK} value=0")["readback"] is None
    faults.disarm()
    assert channel.ask(f"set {SACK} value=0")["event"] == "set"
    assert channel.close() == 0
    assert namespace.sysctl("net.ipv4.tcp_sack") == "1"


def test_a_failed_readback_restores_at_once_where_it_can(namespace, faults):
    channel = begun(namespace)
    faults.arm("read", skip=2, count=1)
    answer = channel.ask(f"set {SACK} value=0")
    assert answer["status"] == "refused" and answer["readback"] is None
    assert namespace.sysctl("net.ipv4.tcp_sack") == "1"
    assert missing(namespace.journals()) == set()


def test_a_value_that_cannot_be_written_back_is_not_changed(namespace, faults):
    channel = begun(namespace)
    faults.arm("write", skip=1, count=1, error=errno.EINVAL)  # the first is the journal's
    answer = channel.ask(f"set {SACK} value=0")
    assert answer["status"] == "refused"
    assert "does not accept its present value, 1" in answer["reason"]
    assert namespace.sysctl("net.ipv4.tcp_sack") == "1"
    assert channel.close() == 0


def test_an_mtu_below_that_of_ipv6_is_restored(namespace):
    namespace.sh("ip link set v0 mtu 1200")
    before = namespace.dump()
    channel = begun(namespace, f"{MTU} value=9000")
    (answer, _total) = channel.ask_all("revert", "reverted_all")
    assert answer["status"] == "restored", answer
    assert channel.close() == 0
    assert namespace.link("mtu") == 1200
    assert namespace.dump() == before


def test_an_interface_that_was_renamed_is_reverted_under_its_new_name(namespace):
    channel = begun(namespace, f"{MTU} value=9000", f"{TIMEOUT} value=7")
    namespace.sh("ip link set v0 down; ip link set v0 name other; ip link set other up")
    answer = channel.ask("set knob=mtu interface=other value=8000")
    assert answer["status"] == "applied"
    answers = channel.ask_all("revert", "reverted_all")
    assert [a["status"] for a in answers[:-1]] == ["restored", "restored"]
    assert channel.close() == 0
    assert namespace.link("mtu", interface="other") == 1500


def test_an_interface_that_comes_back_is_reverted_by_recover(namespace, make_namespace):
    other = make_namespace()
    other.sh("ip link del v0")
    channel = begun(namespace, f"{MTU} value=9000", f"{SACK} value=0")
    namespace.sh(f"ip link set v0 netns {other.name}")
    assert [a["status"] for a in channel.ask_all("revert", "reverted_all")[:-1]] == [
        "restored",
        "absent",
    ]
    assert channel.close() == 1
    assert missing(namespace.journals()) == {("mtu", "", "v0")}
    answers, code = recovered(namespace)
    assert [a.get("status") for a in answers[:-1]] == ["absent"] and code == 1
    assert answers[-1] == {
        **{"event": "reverted_all", "conflicts": 0},
        **{"absent": 1, "failed": 0, "damaged": 0},
    }
    namespace.sh("ip link add v0 type veth peer name v9")  # another interface of the name
    assert recovered(namespace)[0][0]["status"] == "absent"
    namespace.sh("ip link del v0")
    other.sh(f"ip link set v0 netns {namespace.name}")
    answers, code = recovered(namespace)
    assert [a.get("status") for a in answers[:-1]] == ["restored"] and code == 0
    assert namespace.link("mtu") == 1500 and namespace.journals() == []


def test_reading_counts_as_a_sign_of_life(namespace):
    channel = begun(namespace, f"{SACK} value=0", options=("--hold-s", "2"))
    for _ in range(12):
        signal.sigtimedwait([], 0.25)
        assert channel.ask(f"read {SACK}")["value"] == "0"


def test_recover_fails_on_a_damaged_journal_and_keeps_it(namespace):
    begun(namespace, f"{SACK} value=0", f"{MTU} value=9000").kill_both()
    (journal,) = namespace.journals()
    lines = journal.read_bytes().split(b"\n")
    lines[1] = lines[1].replace(b"tcp_sack", b"tcp_sock")
    journal.write_bytes(b"\n".join(lines))
    answers, code = recovered(namespace)
    assert code == 1
    assert [a["event"] for a in answers] == ["reverted", "damaged", "reverted_all"]
    assert answers[1]["journal"] == journal.name and "damaged" in answers[1]["reason"]
    assert answers[-1]["damaged"] == 1
    assert namespace.link("mtu") == 1500 and namespace.journals() == [journal]
    namespace.sysctl("net.ipv4.tcp_sack", "1")


@pytest.mark.parametrize("how", ["empty", "directory", "hard link", "no permission to read"])
def test_recover_fails_on_an_unreadable_journal_and_keeps_it(namespace, how, tmp_path):
    namespace.journal.mkdir(mode=0o700)
    netns = os.stat(f"/run/netns/{namespace.name}").st_ino
    journal = namespace.journal / f"{netns}-1-0.journal"
    if how == "directory":
        journal.mkdir()
    else:
        journal.write_bytes(b"")
    if how == "hard link":
        (tmp_path / "other").hardlink_to(journal)
    if how == "no permission to read":
        os.chown(journal, 65534, 65534)
    channel = namespace.tune()
    assert channel.ready["stale"] == 1
    answers = channel.ask_all("recover", "reverted_all")
    assert [a["event"] for a in answers] == ["damaged", "reverted_all"]
    assert answers[0]["journal"] == journal.name
    assert channel.close() == 1
    assert namespace.journals() == [journal]


def test_an_unreadable_journal_of_another_namespace_is_left_alone(namespace):
    namespace.journal.mkdir(mode=0o700)
    (namespace.journal / "1-1-0.journal").write_bytes(b"")
    assert namespace.tune().ready["stale"] == 0


def test_a_failed_append_does_not_spoil_the_next_record(namespace, faults):
    """A record that was cut stays in the file where truncating fails, too."""
    channel = begun(namespace)
    (journal,) = namespace.journals()
    with journal.open("ab") as file:
        file.write(b"deadbeef set n=0 knob=mtu")
    assert channel.ask(f"set {SACK} value=0")["status"] == "applied"
    assert missing([journal]) == {("sysctl", "net.ipv4.tcp_sack", "")}
    assert b"deadbeef" not in journal.read_bytes()


def test_a_knob_that_a_dead_session_left_changed_is_not_set_before_recover(namespace):
    begun(namespace, f"{MTU} value=9000").kill_both()
    channel = begun(namespace, f"{SACK} value=0")
    answer = channel.ask(f"set {MTU} value=5000")
    assert answer["status"] == "refused" and "recover first" in answer["reason"]
    assert channel.close() == 0
    assert recovered(namespace)[1] == 0
    assert namespace.link("mtu") == 1500


def test_no_session_begins_beside_a_damaged_journal(namespace):
    begun(namespace, f"{MTU} value=9000").kill_both()
    (journal,) = namespace.journals()
    journal.write_bytes(journal.read_bytes().replace(b"open version=1", b"open version=7"))
    answer = namespace.tune().ask("begin owner=test")
    assert answer["code"] == "refused" and journal.name in answer["message"]
