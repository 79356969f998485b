"""Ctrl-C reaches a function that blocks the event loop of its caller."""

from __future__ import annotations

import asyncio
import signal

import pytest

from netlab.files.blocked_loop import interrupts_raise


def test_an_interrupt_within_a_coroutine_ends_the_block_at_once():
    seen, handlers = [], []

    async def measure():
        handlers.append(signal.getsignal(signal.SIGINT))
        try:
            with interrupts_raise():
                signal.raise_signal(signal.SIGINT)
                seen.append("after the signal")
        finally:
            handlers.append(signal.getsignal(signal.SIGINT))

    with pytest.raises(KeyboardInterrupt):
        asyncio.run(measure())
    assert seen == [] and handlers[0] == handlers[1]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_handler_of_the_callers_own_stays_in_a_coroutine():
    numbers = []

    async def measure():
        with interrupts_raise():
            signal.raise_signal(signal.SIGINT)
        return "whole"

    before = signal.signal(signal.SIGINT, lambda number, _frame: numbers.append(number))
    try:
        assert asyncio.run(measure()) == "whole"
    finally:
        signal.signal(signal.SIGINT, before)
    assert numbers == [signal.SIGINT]


def test_a_thread_of_a_coroutine_changes_no_handler():
    inside = []

    def measure():
        with interrupts_raise():
            inside.append(signal.getsignal(signal.SIGINT))

    async def main():
        before = signal.getsignal(signal.SIGINT)
        await asyncio.to_thread(measure)
        return before

    assert inside == [] and asyncio.run(main()) == inside[0]
