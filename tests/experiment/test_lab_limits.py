"""The records of a lab made without root name the settings that it does not have."""

from __future__ import annotations

from pathlib import Path

import pytest

from netlab.lab.rootless_limits import lab_limits

WHOLE = {
    "wanted": {"interrupt_delay_ns": 52_429, "queues": 2},
    "interrupt_delay_ns": 52_429,
    "sending_cpus": ["1", "2"],
}


@pytest.fixture
def limits(tmp_path: Path) -> Path:
    (tmp_path / "wmem_max").write_text("212992\n")
    (tmp_path / "rmem_max").write_text("4194304\n")
    return tmp_path


def _knobs(link: dict, limits: Path, **sizes: int) -> list[str]:
    return [entry["knob"] for entry in lab_limits("left", link, limits=limits, **sizes)]


@pytest.mark.parametrize("link", [{}, WHOLE])
def test_a_whole_lab_and_a_host_of_its_own_lack_nothing(link, limits):
    assert _knobs(link, limits) == []


def test_a_delay_that_was_not_set_is_named(limits):
    assert _knobs(WHOLE | {"interrupt_delay_ns": 0}, limits) == ["interrupt_delay_us"]


def test_queues_without_cpus_of_their_own_are_named(limits):
    link = WHOLE | {"sending_cpus": ["00000000,00000000", "0"]}
    assert _knobs(link, limits) == ["CPUs of each queue (xps_cpus)"]


def test_only_buffers_beyond_the_limit_of_the_machine_are_named(limits):
    assert _knobs({}, limits, sndbuf_B=212_992, rcvbuf_B=4_194_304) == []
    (entry,) = lab_limits("left", {}, sndbuf_B=524_288, rcvbuf_B=524_288, limits=limits)
    assert (entry["host"], entry["knob"]) == ("left", "force_buffer beyond net.core.wmem_max")
    assert entry["reason"].startswith("a socket gets 212992 B instead of 524288 B: ")
