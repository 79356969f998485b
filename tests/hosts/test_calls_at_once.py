"""Calls at the same time, and what a signal does to them."""

import subprocess
import sys
import threading

import pytest

from netlab.hosts.at_once import together


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
from netlab.hosts.at_once import together

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
