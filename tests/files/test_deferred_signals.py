"""A signal waits for the end of a block."""

from __future__ import annotations

import signal
import threading

import pytest

from netlab.files.uncut import interrupts_wait


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
