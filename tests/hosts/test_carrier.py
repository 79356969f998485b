"""The link of an interface that a driver has reset is waited for, up to a timeout."""

import subprocess
import sys
import threading
import time

import pytest
from local_host import LocalHost

from netlab.errors import HostError
from netlab.hosts import path
from netlab.hosts.path import together


@pytest.fixture
def host(tmp_path, monkeypatch):
    """A host whose sysfs is a directory with the interface eth0, which has no carrier."""
    monkeypatch.setattr(path, "WAIT", path.WAIT.replace("/sys/class/net", str(tmp_path)))
    (tmp_path / "eth0").mkdir()
    (tmp_path / "eth0" / "carrier").write_text("0\n")
    return LocalHost(tmp_path / "home")


def test_a_link_that_comes_up_ends_the_wait(host, tmp_path):
    began = time.monotonic()
    timer = threading.Timer(0.5, (tmp_path / "eth0" / "carrier").write_text, ("1\n",))
    timer.start()
    path.wait_for_carrier(host, "eth0", timeout_s=90)
    timer.join()
    assert 0.5 <= time.monotonic() - began < 60


def test_a_link_that_stays_down_is_an_error_and_a_missing_interface_is_not_waited_for(host):
    with pytest.raises(HostError, match="eth0 has no link 1 s after") as caught:
        path.wait_for_carrier(host, "eth0", timeout_s=1)
    assert caught.value.code == "E-HOST-038"
    began = time.monotonic()
    path.wait_for_carrier(host, "eth1", timeout_s=90)
    assert time.monotonic() - began < 60


# Calls at the same time, and what a signal does to them.


def test_results_come_in_the_order_of_the_calls_though_one_fails():
    first_waits = threading.Event()
    calls = [lambda: first_waits.wait(30) and "slow", lambda: first_waits.set() or "quick"]
    assert [done.result() for done in together(calls, at_once=2)] == ["slow", "quick"]
    assert together([], at_once=3) == []
    done = together([lambda: 1 // 0, lambda: "fine"], at_once=1)
    assert isinstance(done[0].exception(), ZeroDivisionError)
    assert done[1].result() == "fine"


IN_A_LOCK = """
import signal, sys, threading
from netlab.hosts.path import together

left = int(sys.argv[1])
main = threading.get_ident()

def enter(condition):
    global left
    held = condition._lock.__enter__()
    if threading.get_ident() == main:
        left -= 1
        if left == 0:
            signal.raise_signal(signal.SIGINT)
    return held

threading.Condition.__enter__ = enter
try:
    together([int] * 4, at_once=2)
except KeyboardInterrupt:
    print("interrupted", len(threading.enumerate()))
"""


@pytest.mark.parametrize("at", range(1, 7))
def test_an_interrupt_between_a_lock_and_its_use_leaves_no_lock_behind(at):
    """A pool whose lock the main thread had taken, and not yet used, hung for ever."""
    done = subprocess.run(
        (sys.executable, "-c", IN_A_LOCK, str(at)), capture_output=True, text=True, timeout=120
    )
    assert done.stdout == "interrupted 1\n", done.stderr
