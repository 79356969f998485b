"""Every fault of the table in docs/promises.md: exit code, sentence, and nothing left behind."""

from __future__ import annotations

import os
import re
import signal
import time

import pytest

from .conftest import ADDRESSES, ROOT, Site, until

pytestmark = [pytest.mark.e2e, pytest.mark.slow]
ROW = re.compile(r"\| (?P<fault>[^|`]+) \| (?P<exit>-?\d+) \| (?:`(?P<sentence>[^`]+)`)? ?\|")
PROMISES = {
    match["fault"]: (int(match["exit"]), match["sentence"] or "")
    for line in (ROOT / "docs" / "promises.md").read_text().splitlines()
    if (match := ROW.fullmatch(line))
}
GONE_S = 45.0
"""Time for hosts to notice a silent controller, end and revert."""


def none(site: Site):
    return site.finished(site.measure())


def unreachable(site: Site, *names: str):
    for name in names:
        site.ip(name, "link set mgmt down")
    try:
        return site.finished(site.measure())
    finally:
        for name in names:
            site.ip(name, "link set mgmt up")


def unknown_key(site: Site):
    known = site.state / "home" / ".ssh" / "known_hosts"
    known.write_text(known.read_text().splitlines(keepends=True)[0])
    return site.finished(site.measure())


def no_key(site: Site):
    text = site.study.read_text()
    site.study.write_text(re.sub(r", identity_file: [^}]*", "", text))
    return site.finished(site.measure(prefix="unset SSH_AUTH_SOCK; exec"))


def killed(site: Site, *kinds: str):
    process = site.measure(seconds=4)
    until(site.sending, 60)
    site.kill("a", *kinds)
    return site.finished(process)


def tune_and_guard_killed(site: Site):
    result = killed(site, "tune", "guard")
    assert len(site.journals()) == 1
    recovering = site.start("tune", "recover", str(site.study))
    out, complaint = recovering.communicate(timeout=60)
    assert recovering.returncode == 0, complaint
    assert "a: mtu restored" in out and "a: sysctl net.ipv4.tcp_sack restored" in out
    return result


def stopped(site: Site):
    process = site.measure(seconds=2)
    until(site.sending, 60)
    pid = site.only("a", "agent")
    os.kill(pid, signal.SIGSTOP)
    try:
        return site.finished(process)
    finally:
        os.kill(pid, signal.SIGKILL)


def controller(site: Site, number: int):
    process = site.measure(seconds=4)
    until(site.sending, 60)
    os.killpg(process.pid, number) if number == signal.SIGKILL else process.send_signal(number)
    return site.finished(process)


def controller_stopped(site: Site):
    process = site.measure(seconds=60)
    until(site.sending, 60)
    site.signal_controller(signal.SIGSTOP)
    for name in ADDRESSES:
        until(lambda name=name: not site.processes(name), GONE_S)
    site.signal_controller(signal.SIGKILL)
    return site.finished(process)


def links_cut(site: Site):
    process = site.measure(seconds=60)
    until(site.sending, 60)
    for name in ADDRESSES:
        site.ip(name, "link set mgmt down")
    result = site.finished(process)
    for name in ADDRESSES:
        until(lambda name=name: not site.processes(name), GONE_S)
        site.ip(name, "link set mgmt up")
    return result


def data_link_cut(site: Site):
    process = site.measure(seconds=4)
    until(site.sending, 60)
    site.ip("b", "link set data0 down")
    try:
        return site.finished(process)
    finally:
        site.ip("b", "link set data0 up")


def two_controllers(site: Site):
    first = site.measure(seconds=30)
    until(site.sending, 60)
    second = site.start(
        "run", str(site.study), "--results", str(site.state / "other"), "--rounds", "1"
    )
    result = site.finished(second)
    first.send_signal(signal.SIGTERM)
    site.finished(first)
    return result


def limited(site: Site, limit: str):
    return site.finished(site.measure(prefix=f"ulimit {limit}; exec"))


def mounted(site: Site, options: str):
    """`ip netns exec` has given the process a mount namespace of its own."""
    results = site.state / "results"
    results.mkdir()
    return site.finished(site.measure(prefix=f"mount -t tmpfs -o {options} x {results}; exec"))


FAULTS = {
    "none": none,
    "a host is unreachable": lambda site: unreachable(site, "b"),
    "both hosts are unreachable": lambda site: unreachable(site, "a", "b"),
    "the host key is unknown": unknown_key,
    "the user has no SSH key": no_key,
    "the agent is killed": lambda site: killed(site, "agent"),
    "the agent is stopped": stopped,
    "tune is killed": lambda site: killed(site, "tune"),
    "the guard is killed": lambda site: killed(site, "guard"),
    "tune and its guard are killed": tune_and_guard_killed,
    "the controller gets SIGTERM": lambda site: controller(site, signal.SIGTERM),
    "the controller gets SIGHUP": lambda site: controller(site, signal.SIGHUP),
    "the controller is killed": lambda site: controller(site, signal.SIGKILL),
    "the controller is stopped": controller_stopped,
    "both management links are cut": links_cut,
    "the data link is cut": data_link_cut,
    "another controller is at work": two_controllers,
    "32 open files are allowed": lambda site: limited(site, "-n 32"),
    "600 MB of memory are allowed": lambda site: limited(site, "-v 600000"),
    "the results are read-only": lambda site: mounted(site, "ro"),
    "the disk of the results is full": lambda site: mounted(site, "size=4k"),
}


def test_the_table_has_every_fault():
    assert set(PROMISES) == set(FAULTS)


@pytest.mark.timeout(240)
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_ends_as_promised_and_leaves_nothing(site, fault):
    exit_code, sentence = PROMISES[fault]
    before = site.dump()
    code, complaint = FAULTS[fault](site)
    if exit_code == 0 and "foreign CPU load" in complaint:
        code = 0  # other programs of this machine: the run is flagged
    assert code == exit_code, complaint
    assert sentence in complaint
    assert "Traceback" not in complaint
    for name in ADDRESSES:
        until(lambda name=name: not site.processes(name), GONE_S)
    until(lambda: not site.journals(), GONE_S)
    time.sleep(0.2)
    after = site.dump()
    for part, text in before.items():
        assert after[part] == text, part
    leftovers = {
        path.name
        for name in ADDRESSES
        for path in (site.state / name).rglob("*")
        if path.is_file() and "cache/netlab" not in str(path)
    }
    assert leftovers <= {"host_key", "host_key.pub", "sshd_config", "sshd.log"}
