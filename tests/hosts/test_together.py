"""Calls at the same time, and what a signal does to them."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading

import pytest

from netlab.hosts.together import interrupts_wait, together


def test_results_come_in_the_order_of_the_calls():
    first_waits = threading.Event()
    calls = [lambda: first_waits.wait(5) and "slow", lambda: first_waits.set() or "quick"]
    assert [done.result() for done in together(calls, at_once=2)] == ["slow", "quick"]


def test_no_call_is_no_result():
    assert together([], at_once=3) == []


def test_a_call_that_fails_is_told_and_the_others_end():
    done = together([lambda: 1 // 0, lambda: "fine"], at_once=1)
    assert isinstance(done[0].exception(), ZeroDivisionError)
    assert done[1].result() == "fine"


def test_an_interrupt_waits_for_the_end_of_the_block():
    seen = []
    with pytest.raises(KeyboardInterrupt):
        with interrupts_wait():
            signal.raise_signal(signal.SIGINT)
            seen.append("after the signal")
        seen.append("after the block")
    assert seen == ["after the signal"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_interrupt_is_told_even_if_the_block_fails():
    with pytest.raises(KeyboardInterrupt) as raised, interrupts_wait():
        signal.raise_signal(signal.SIGINT)
        raise ValueError("of the block")
    assert str(raised.value.__context__) == "of the block"


def test_a_signal_keeps_its_own_handler():
    numbers = []
    before = signal.signal(signal.SIGTERM, lambda number, _frame: numbers.append(number))
    try:
        with interrupts_wait():
            signal.raise_signal(signal.SIGTERM)
            signal.raise_signal(signal.SIGTERM)
            assert numbers == []
        assert numbers == [signal.SIGTERM]
    finally:
        signal.signal(signal.SIGTERM, before)


def test_a_block_in_a_block_waits_for_the_outer_one():
    seen = []
    with pytest.raises(KeyboardInterrupt), interrupts_wait():
        with interrupts_wait():
            signal.raise_signal(signal.SIGINT)
        seen.append("after the inner block")
    assert seen == ["after the inner block"]


def test_in_another_thread_the_handlers_stay():
    found = []

    def look() -> None:
        with interrupts_wait():
            found.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    assert found == [signal.default_int_handler]


IN_A_LOCK = """
import signal, sys, threading
from netlab.hosts.together import together

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
        (sys.executable, "-c", IN_A_LOCK, str(at)), capture_output=True, text=True, timeout=30
    )
    assert done.stdout == "interrupted 1\n", done.stderr
