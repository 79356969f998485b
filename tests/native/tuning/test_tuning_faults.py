"""A system call that fails at the wrong moment: the knob is restored, or the journal keeps it."""

from __future__ import annotations

import errno
import resource
from pathlib import Path

import pytest
from native.tuning.conftest import MTU, RUN, SACK, applied, begun, recorded, statuses
from native.tuning.faults import Faults, missing

TIMEOUT = "knob=defer name=gro_flush_timeout interface=v0"
CHECKSUM = "knob=feature name=tx-checksum interface=v0"


@pytest.fixture
def faults(namespace, tune_build, tmp_path):
    faults = Faults(tmp_path / "faults")
    namespace.program, namespace.prefix = [tune_build / "tune_faulty"], faults.environment
    return faults


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
    assert statuses(answers) == ["restored"] and code == 0
    assert namespace.sysctl("net.ipv4.tcp_sack") == "1" and namespace.journals() == []


@pytest.mark.parametrize("call", ["open", "read", "write", "ioctl", "socket", "malloc"])
def test_the_guard_reverts_although_calls_fail_at_first(host, faults, call):
    values = {SACK: "0", MTU: "9000", TIMEOUT: "52429", CHECKSUM: "off"}
    channel = begun(host, *(f"{knob} value={value}" for knob, value in values.items()))
    faults.arm(call, count=2, error=errno.ENFILE)
    channel.kill()
    host.settled()
    faults.disarm()


@pytest.mark.parametrize("limit", [3, 5, 8])
def test_reserved_descriptors_revert_under_a_lower_limit(host, limit):
    channel = begun(host, f"{SACK} value=0", f"{MTU} value=9000", f"{TIMEOUT} value=1")
    for pid in (channel.pid, channel.guard_pid()):
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (limit, limit))
    code, left = channel.close(), missing(host.journals())
    assert code == (1 if left else 0)
    assert len(left) <= {3: 3, 5: 1}.get(limit, 0)  # a knob in sysfs takes three
    if left:
        assert recovered(host)[1] == 0


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
    faults.arm("read", skip=1)  # the value before, then the readback
    assert channel.ask(f"set {SACK} value=0")["readback"] is None
    faults.disarm()
    assert channel.ask(f"set {SACK} value=0")["event"] == "set"
    assert channel.close() == 0
    assert namespace.sysctl("net.ipv4.tcp_sack") == "1"


def test_a_failed_readback_restores_at_once_where_it_can(namespace, faults):
    channel = begun(namespace)
    recorded(channel)
    faults.arm("read", skip=1, count=1)
    answer = channel.ask(f"set {SACK} value=0")
    assert answer["status"] == "refused" and answer["readback"] is None
    assert namespace.sysctl("net.ipv4.tcp_sack") == "1"
    assert missing(namespace.journals()) == set()


def test_a_value_that_cannot_be_written_back_is_not_changed(namespace, faults):
    channel = begun(namespace)
    recorded(channel)
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
    assert statuses(answers) == ["restored", "restored"]
    assert channel.close() == 0
    assert namespace.link("mtu", interface="other") == 1500


def test_an_interface_that_comes_back_is_reverted_by_recover(namespace, make_namespace):
    other = make_namespace()
    other.sh("ip link del v0")
    channel = begun(namespace, f"{MTU} value=9000", f"{SACK} value=0")
    namespace.sh(f"ip link set v0 netns {other.name}")
    assert statuses(channel.ask_all("revert", "reverted_all")) == ["restored", "absent"]
    assert channel.close() == 1
    assert missing(namespace.journals()) == {("mtu", "", "v0")}
    answers, code = recovered(namespace)
    assert statuses(answers) == ["absent"] and code == 1
    assert answers[-1] == {"event": "reverted_all", "conflicts": 0, "absent": 1, "failed": 0}
    other.sh(f"ip link set v0 netns {namespace.name}")
    answers, code = recovered(namespace)
    assert statuses(answers) == ["restored"] and code == 0
    assert namespace.link("mtu") == 1500 and namespace.journals() == []


def deleted_while_tuned(namespace):
    """A dead session changed v0, which is deleted since; its entry is the journal's only one."""
    begun(namespace, f"{MTU} value=9000").kill_both()
    namespace.sh("ip link del v0")
    answers, code = recovered(namespace)
    assert statuses(answers) == ["absent"] and code == 1


@pytest.mark.parametrize(
    ("made", "status"),
    [("mtu 1500", "restored"), ("mtu 1400", "conflict"), ("mtu 9000", "restored")],
)
def test_an_interface_that_is_made_again_ends_the_entry(namespace, made, status):
    """With the old value, another one, and netlab's, which is that of the same card come back."""
    deleted_while_tuned(namespace)
    namespace.sh(f"ip link add v0 {made} type veth peer name v1")
    answers, code = recovered(namespace)
    assert statuses(answers) == [status] and code == 0
    assert namespace.link("mtu") == (1400 if status == "conflict" else 1500)
    assert namespace.journals() == []
    assert begun(namespace, f"{MTU} value=8000").close() == 0


def test_an_interface_made_again_without_the_setting_ends_the_entry(namespace):
    channel = begun(namespace, "knob=channels name=rx interface=v0 value=2")
    namespace.sh("ip link del v0; ip link add v0 type ifb")
    (answer, total) = channel.ask_all("revert", "reverted_all")
    assert answer["status"] == "conflict" and "another one has its name" in answer["reason"]
    assert (total["absent"], total["failed"]) == (0, 0) and namespace.journals() == []


@pytest.mark.parametrize("verb", ["recover", "begin"])
def test_a_journal_of_another_boot_claims_nothing(namespace, verb, tmp_path):
    """Its directory may be on a disk; a value that equals the one set is of this boot."""
    disk, boot = tmp_path / "run", tmp_path / "boot_id"
    disk.mkdir(mode=0o700)
    mount = f"mkdir -p {RUN} && mount --bind {disk} {RUN}"
    namespace.prefix = ("unshare", "--mount", "sh", "-c", f'{mount} && exec "$@"', "sh")
    begun(namespace, f"{SACK} value=0", f"{MTU} value=9000").kill_both()
    assert {path.suffix for path in disk.glob("tune-*-*-*")} == {".journal", ".state"}

    others = [disk / name for name in ("tune-1.lock", "tune-1-1.journal", "tune-1-1-b.other", "x")]
    for other in others:
        other.touch()

    boot.write_text("01234567-89ab-4cde-8f01-23456789abcd\n")
    mount += f" && mount --bind {boot} /proc/sys/kernel/random/boot_id"
    namespace.prefix = ("unshare", "--mount", "sh", "-c", f'{mount} && exec "$@"', "sh")
    channel = namespace.tune()
    assert channel.ready["stale"] == 0
    if verb == "begin":
        assert channel.ask("begin")["event"] == "begun"
        applied(channel, f"{SACK} value=1")
        (journal,) = disk.glob("tune-*-*-*.journal")
        assert journal.stem.endswith("-01234567")
        channel.ask_all("revert", "reverted_all")
        channel.ask_all("end", "ended")
    else:
        assert len(channel.ask_all("recover", "reverted_all")) == 1
    assert namespace.sysctl("net.ipv4.tcp_sack") == "0" and namespace.link("mtu") == 9000
    assert {*disk.glob("*-*-*")} == {*others[1:3]} and all(map(Path.exists, others))


@pytest.mark.parametrize("how", ["a line of another version", "directory"])
def test_a_journal_that_cannot_be_parsed_is_named_and_stays(namespace, how):
    begun(namespace, f"{MTU} value=9000").kill_both()
    (journal,) = namespace.journals()
    if how == "directory":
        journal.unlink()
        journal.mkdir()
    else:
        journal.write_text(journal.read_text() + "set knob=later\n")
    for verb in ("recover", "begin"):
        channel = namespace.tune()
        assert channel.ready["stale"] >= 1
        answer = channel.ask(verb)
        assert answer["code"] == "refused" and str(journal) in answer["message"]
        assert channel.close() == 1
    assert namespace.journals() == [journal]
    if how == "directory":
        journal.rmdir()


def test_a_knob_that_a_dead_session_left_changed_is_not_set_before_recover(namespace):
    begun(namespace, f"{MTU} value=9000").kill_both()
    channel = begun(namespace, f"{SACK} value=0")
    answer = channel.ask(f"set {MTU} value=5000")
    assert answer["status"] == "refused" and "recover first" in answer["reason"]
    assert channel.close() == 0
    assert recovered(namespace)[1] == 0
    assert namespace.link("mtu") == 1500
