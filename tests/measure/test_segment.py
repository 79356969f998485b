"""The largest packet of a path, by segments that arrive or are lost."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from measure.scripted import Clock, good_agent, request, result, side, tcp

from netlab.measure.segment import PacketSize, packet_size

MSS_B, HEADERS_B = 1448, 40


def size_of(arrives: Callable[[int, int], bool]) -> PacketSize:
    """Size of a path on which the n-th segment of so many bytes arrives or not."""
    clock = Clock()
    probes: list[int] = []

    def sink(words: dict) -> list[dict]:
        size_B = words["record_B"]
        probes.append(size_B)
        done = result("sink", run=words["run"], streams=1)
        done["total_bytes"] = size_B if arrives(len(probes), size_B) else 0
        return [{"event": "listening", "run": words["run"], "port": 40000}, done]

    def gen(words: dict) -> list[dict]:
        done = result("gen", run=words["run"], streams=1)
        done["per_stream"][0] |= {"mss_B": MSS_B, "tcp": tcp(words["record_B"], mss_B=MSS_B)}
        return [done]

    ends = side("a", good_agent(clock, gen=gen)), side("b", good_agent(clock, sink=sink))
    return packet_size(*ends, request())


def test_a_sound_path_takes_three_segments():
    counted = []
    size = size_of(lambda n, _: bool(counted.append(n)) or True)
    assert size.passes and size.full_B == MSS_B + HEADERS_B
    assert counted[-1] == 3


@pytest.mark.parametrize("lost", [range(2, 3), range(3, 4), range(2, 6)])
def test_a_burst_of_losses_is_not_a_smaller_mtu(lost):
    size = size_of(lambda n, _: n not in lost)
    assert size.passes, size.text()


@pytest.mark.parametrize("most_B", [1400, 1460, 600])
@pytest.mark.parametrize("through", [(), (3,)], ids=["none through", "one through"])
def test_what_a_link_never_carries_is_too_large(most_B, through):
    size = size_of(lambda n, size_B: size_B + HEADERS_B <= most_B or n in through)
    assert not size.passes and size.passed_B == most_B
    assert f"up to {most_B} B arrive: a link between them has a smaller MTU" in size.text()
