"""A session applies a profile, maintains it, and reverts it in any case."""

from __future__ import annotations

import json
import re
import shlex
import time

import pytest
from tuning.openlab_profiles import OPENLAB

from netlab import core
from netlab.errors import BadInput, HostError, TuningError
from netlab.tuning.knobs import HostSetting, Knob
from netlab.tuning.profiles import load_profile
from netlab.tuning.requests import Requests, TuneFault, reading, request_line, settings_read
from netlab.tuning.session import TuningSession

QUEUE = Knob(kind="txqueuelen", value=10000, source="SLAC")


def session(channel, name="openlab-2003-full", mtu_B=9000, **options):
    options.setdefault("hold_s", 30)
    return TuningSession(
        channel, load_profile(name), "v0", mtu_B, software_deferral=True, **options
    )


def ungreeted(namespace, *options):
    """The session reads the greeting itself."""
    return namespace.tune(*options, ready=False)


@pytest.mark.parametrize("name", OPENLAB)
def test_every_tuning_applies_and_leaves_no_trace(namespace, name):
    before = namespace.dump()
    with session(ungreeted(namespace), name, extra_knobs=[QUEUE]) as tuned:
        assert tuned.drift() == ()
        profile = tuned.profile
        during = namespace.dump()
        for knob in ("net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem", "net.ipv4.tcp_sack"):
            assert namespace.sysctl(knob) == profile.value_of("sysctl", knob)
        assert namespace.link("mtu") == 9000 and namespace.link("txqueuelen") == 10000
    assert during != before
    assert namespace.dump() == before
    result = tuned.result
    record = json.loads(json.dumps(result.record()))
    assert record["profile"] == name and not record["conflicts"] and not record["failed"]
    missing = {entry["name"]: entry["reason"] for entry in record["unsupported"]}
    assert "left Linux in 4.12" in missing["net.ipv4.tcp_tw_recycle"]
    assert "whole machine" in missing["net.core.rmem_max"]
    assert "no ring sizes" in missing["rx"] and "instead" in missing["rx-usecs"]
    written = {(e["knob"], e["name"]) for e in record["applied"]}
    assert ("mtu", None) in written and all(e["status"] == "applied" for e in record["applied"])
    both = written | {(e["knob"], e["name"]) for e in record["unchanged"]}
    assert not both & {(e["knob"], e["name"]) for e in record["unsupported"]}


def test_a_plan_alone_neither_changes_a_knob_nor_takes_the_lock(host):
    channel = ungreeted(host)
    changes = session(channel).plan()
    assert any(change.changes for change in changes)
    host.settled()
    assert channel.close() == 0


def test_a_refused_mtu_is_an_error_that_names_it_and_undoes_the_rest(host):
    wide = Knob(kind="mtu", value=99999, source="my study")
    with pytest.raises(TuningError, match=r"v0 mtu = 99999 \(my study\): refused: .*Invalid"):
        session(ungreeted(host), extra_knobs=[wide]).__enter__()


@pytest.mark.parametrize(("name", "mtu_B"), [("openlab-2003-normal", 1500), ("as-found", None)])
def test_a_missing_interface_is_an_error(namespace, name, mtu_B):
    channel, profile = ungreeted(namespace), load_profile(name)
    with pytest.raises(TuningError, match="no such interface: nosuch0"):
        TuningSession(channel, profile, "nosuch0", mtu_B, hold_s=0).__enter__()
    with pytest.raises(BadInput, match="interface"):
        TuningSession(channel, profile, "a/b", mtu_B)


@pytest.mark.parametrize("error", [RuntimeError("run failed"), KeyboardInterrupt()])
def test_a_failure_inside_reverts_and_is_raised_as_it_was(host, error):
    with pytest.raises(type(error)), session(ungreeted(host)):
        raise error


class Watched:
    """A channel that lists requests; Ctrl-C comes at the n-th receive, its answer still unread."""

    def __init__(self, channel, interrupted_at=0):
        self.channel, self.left, self.verbs = channel, interrupted_at, []

    def send(self, line):
        self.verbs.append(line.split()[0])
        self.channel.send(line)

    def receive(self, timeout_s):
        self.left -= 1
        if self.left == 0:
            raise KeyboardInterrupt
        return self.channel.receive(timeout_s)


@pytest.mark.parametrize("at", [1, 25, 40])
def test_ctrl_c_in_the_middle_of_a_request_reverts(host, at):
    channel = ungreeted(host)
    with pytest.raises(KeyboardInterrupt), session(Watched(channel, at)):
        raise AssertionError("not interrupted")
    assert channel.close() == 0


def test_drift_and_conflicts_are_data(namespace):
    with session(ungreeted(namespace)) as tuned:
        namespace.link("mtu", 3000)
        (drift,) = tuned.drift()
        assert (drift.knob, drift.expected, drift.found) == ("mtu", "9000", "3000")
    (conflict,) = tuned.result.conflicts
    assert (conflict["knob"], conflict["found"]) == ("mtu", "3000")
    assert namespace.link("mtu") == 3000
    assert namespace.sysctl("net.ipv4.tcp_sack") == "1"


def test_a_session_sends_keepalives_between_runs(namespace):
    with session(ungreeted(namespace, "--hold-s", "5"), hold_s=5.0) as tuned:
        time.sleep(6)
        assert tuned.drift() == ()


def test_a_host_that_reverted_after_silence_reports_it(host):
    with (
        pytest.raises(TuningError, match="no request arrived"),
        session(ungreeted(host, "--hold-s", "3"), hold_s=0) as tuned,
    ):
        host.settled_journal()
        tuned.drift()


def test_a_session_that_waits_says_once_for_whom_and_since_when(namespace):
    other = namespace.tune()
    assert other.ask("begin") == {"event": "begun"}
    said = []

    def sleep(_seconds):
        if len(said) == 1 and other.process.poll() is None:
            assert other.close() == 0

    with session(ungreeted(namespace), on_wait=said.append, sleep=sleep):
        pass
    (text,) = said
    assert f"process {other.pid} of user root" in text and " since 20" in text


def test_a_lost_connection_is_an_error_and_the_guard_reverts(host):
    channel = ungreeted(host)
    with pytest.raises(TuningError, match="the guard on the host"), session(channel):
        channel.kill()


def test_a_host_that_is_being_tuned_is_refused_after_a_while(namespace):
    now = iter(range(100))
    with session(ungreeted(namespace)):
        other = session(ungreeted(namespace), clock=lambda: next(now), sleep=lambda s: None)
        with pytest.raises(TuneFault, match="another process tunes"):
            other.__enter__()
        assert namespace.link("mtu") == 9000


def test_the_changes_of_a_dead_session_are_reverted_first(host):
    channel = ungreeted(host)
    session(channel, hold_s=0).__enter__()
    channel.kill_both()
    with session(ungreeted(host), "openlab-2003-normal") as tuned:
        assert {entry["status"] for entry in tuned.result.recovered} == {"restored"}
        mtu = next(e for e in tuned.result.applied if e["knob"] == "mtu")
        assert mtu["old"] == "1500"


class Silent:
    """A channel without answers."""

    def send(self, line):
        pass

    def receive(self, timeout_s):
        raise TimeoutError


def test_a_host_that_does_not_answer_is_an_error():
    with pytest.raises(TuningError, match=r"did not answer in 0\.5 s; the guard"):
        Requests(Silent(), timeout_s=0.5).ask("keepalive")


def test_values_are_encoded_so_that_no_blank_or_newline_passes():
    assert request_line("set", value="4096  1%\nend", name=None) == "set value=4096%20%201%25%0Aend"


def as_found(channel, **options):
    return TuningSession(channel, load_profile("as-found"), "v0", hold_s=0, **options)


def test_as_found_only_reads_and_records_what_it_finds(namespace):
    namespace.link("mtu", 3000)
    before = namespace.dump()
    watched = Watched(ungreeted(namespace))
    with as_found(watched) as tuned:
        assert namespace.dump() == before
        assert tuned.drift() == () and tuned.plan() == ()
    assert namespace.dump() == before and namespace.journals() == []
    assert set(watched.verbs) == {"read"}
    record = json.loads(json.dumps(tuned.result.record()))
    assert not record["applied"] and not record["unchanged"] and not record["unsupported"]
    found = {(entry["knob"], entry["name"]): entry["value"] for entry in record["found"]}
    assert found["mtu", None] == "3000"
    assert found["sysctl", "net.ipv4.tcp_rmem"] == namespace.sysctl("net.ipv4.tcp_rmem")
    assert ("ring", "rx") not in found  # veth has none


def test_a_setting_that_changes_while_hosts_are_measured_as_found_is_drift(namespace):
    with as_found(ungreeted(namespace)) as tuned:
        namespace.link("mtu", 3000)
        (drift,) = tuned.drift()
    assert (drift.knob, drift.expected, drift.found) == ("mtu", "1500", "3000")
    assert namespace.link("mtu") == 3000


def test_an_extra_knob_makes_as_found_a_session_that_reverts(host):
    with as_found(ungreeted(host), extra_knobs=[QUEUE]):
        assert host.link("txqueuelen") == 10000


def test_a_damaged_journal_stops_the_session_and_is_named_with_its_host(namespace):
    with pytest.raises(TuningError), session(ungreeted(namespace)):
        namespace.channels[-1].kill_both()
    (journal,) = namespace.journals()
    data = journal.read_bytes()
    journal.write_bytes(data + b"set knob=later\n")
    with pytest.raises(TuningError, match=rf"^far: the journal {journal} is damaged") as caught:
        session(ungreeted(namespace), host="far").__enter__()
    assert caught.value.code == "E-TUNING-018"
    journal.write_bytes(data)
    channel = namespace.tune()
    assert channel.ask_all("recover", "reverted_all")[-1]["failed"] == 0


def test_an_interface_that_vanished_is_an_error_that_names_recover(namespace):
    expected = pytest.raises(TuningError, match="netlab tune recover")
    with expected as caught, session(ungreeted(namespace), host="far"):
        namespace.sh("ip link del v0")
    assert caught.value.code == "E-TUNING-016"
    assert "no such interface: v0" in str(caught.value)


@pytest.mark.parametrize(
    "error", [HostError("b", "gone"), KeyboardInterrupt(), ZeroDivisionError()]
)
def test_what_stays_changed_is_said_also_beside_another_error(namespace, error):
    """That error is what a command prints, without its notes."""
    said: list[str] = []
    with (
        pytest.raises(type(error)) as caught,
        session(ungreeted(namespace), host="far", on_wait=said.append),
    ):
        namespace.sh("ip link del v0")
        raise error
    assert caught.value is error
    assert any(text.startswith("far: could not be reverted: ") for text in said), said
    assert "netlab tune recover" in said[-1]


def test_a_difference_of_the_host_that_remains_is_a_conflict(namespace):
    namespace.sh("ip addr add 10.9.0.1/24 dev v0; ip route add 10.10.0.0/16 via 10.9.0.2")
    with session(ungreeted(namespace)) as tuned:
        namespace.sh("ip route del 10.10.0.0/16")
    (conflict,) = tuned.result.conflicts
    assert conflict["knob"] == "host" and conflict["found"] is None
    assert re.fullmatch(
        r"not restored: route 10\.10\.0\.0/16 .*, was .*, is absent", conflict["reason"]
    )


def test_settings_are_read_at_once_without_a_session(namespace):
    """As a session reads them one by one, those of the card included."""
    records = load_profile("as-found").records
    argv = reading(str(core.gensink_path()), records, "v0")
    values = settings_read(namespace.sh(shlex.join(argv)), records, "v0").values
    with session(ungreeted(namespace), "as-found", None) as found:
        assert values == {
            HostSetting(kind=one["knob"], name=one["name"]).label: one["value"]
            for one in found.result.found
        }
    assert {"net.ipv4.tcp_congestion_control", "feature gro"} <= values.keys()
