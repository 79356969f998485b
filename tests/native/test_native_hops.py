"""Two links in a row: which packets pass each, and that the counts of each close."""

from __future__ import annotations

import platform

import pytest
from native.emulated import ADDRESS, Emulated, emulated, run, transfer

FIRST, SECOND, BOTH = range(10_240, 11_000), range(11_000, 12_000), range(12_000, 13_000)
RATES_BPS = (8_000_000, 4_000_000)
WITHOUT_IPV6 = "echo 1 > /proc/sys/net/ipv6/conf/default/disable_ipv6"
"""Its reports of multicast groups are packets that no test sends."""


def two_hops(path: Emulated, *rates_bps: int, delay_us: int = 1000, **options: int) -> None:
    """A path of two links, the ports of each by their names."""
    for hop, rate_bps in enumerate(rates_bps, 1):
        path.both(hop=hop, rate_bps=rate_bps, delay_us=hop * delay_us, **options)
    spans = " ".join(f"{n}={r[0]}-{r[-1]}" for n, r in (("first", FIRST), ("second", SECOND)))
    assert path.emulator.ask(f"span {spans}")["event"] == "set"
    for side in "ab":
        run(*path.inside(side, "sh", "-c", WITHOUT_IPV6))
    path.open()


def links(path: Emulated) -> dict[tuple[str, int], dict]:
    """Report of each link, of which every packet is accounted for."""
    report = path.report()
    of = {
        (link["direction"], hop): link
        for hop, name in enumerate(("directions", "second"), 1)
        for link in report[name]
    }
    for link in of.values():
        gone = link["out_packets"] + sum(link["dropped"].values()) + link["stored_packets"]
        assert link["in_packets"] == gone, link
        assert link["passed_packets"] <= link["out_packets"]
    assert of["ab", 2]["in_packets"] >= of["ab", 1]["passed_packets"]
    assert of["ba", 1]["in_packets"] >= of["ba", 2]["passed_packets"]
    assert not of["ab", 2]["passed_packets"] and not of["ba", 1]["passed_bytes"]
    return of


def sent(path: Emulated, agents: tuple, **options: object) -> dict:
    """Result of the sink of a transfer from a to b."""
    ends = transfer(path, agents, **{"from": ADDRESS["a"]}, **options)
    assert [end["status"] for end in ends.values()] == ["ok", "ok"], ends
    return ends["sink"]


OTHER_B = 2000
"""More than the bytes of the connection that starts a run, which has a port of the kernel's."""


@pytest.mark.parametrize(("ports", "hops"), [(FIRST, {1}), (SECOND, {2}), (BOTH, {1, 2})])
def test_tcp_passes_the_links_of_its_ports_alone_each_way(path, ports, hops):
    two_hops(path, *RATES_BPS, queue_packets=20)
    with path.agents() as agents:
        sink = sent(path, agents, window_ms=400, source_ports=ports[0], source_span=len(ports))
    path.wait_until_empty()
    of = links(path)
    for (direction, hop), link in of.items():
        if hop not in hops:
            assert link["in_bytes"] < OTHER_B
        elif direction == "ab":
            assert link["out_bytes"] > sink["total_bytes"] > OTHER_B
        else:
            assert link["in_bytes"] > max(
                (of["ba", n]["in_bytes"] for n in {1, 2} - hops), default=0
            )


def test_what_leaves_the_first_link_enters_the_second(path):
    """Also where the second one is slower: the queue and its drops are there."""
    two_hops(path, 50_000_000, 1_000_000, queue_packets=100)
    path.set("ab", hop=1, queue_packets=1000)
    came = path.datagrams(300, 1000)
    of = links(path)
    assert of["ab", 1]["in_packets"] == of["ab", 1]["out_packets"] == 300
    assert of["ab", 1]["passed_packets"] == of["ab", 2]["in_packets"] == 300
    assert of["ab", 1]["passed_bytes"] == of["ab", 2]["in_bytes"] == of["ab", 1]["out_bytes"]
    assert of["ab", 2]["out_packets"] == of["ab", 2]["out_datagrams"] == len(came)
    assert of["ab", 2]["dropped"]["queue"] == 300 - len(came) > 0
    assert of["ab", 2]["max_queue_packets"] == 100
    assert not of["ba", 1]["in_packets"] and not of["ba", 2]["in_packets"]


def test_the_other_direction_passes_the_second_link_first(path):
    """A second link that loses everything leaves the first one nothing of the way back."""
    two_hops(path, 0, 0)
    path.set("ba", hop=2, loss_ppb=10**9)
    with pytest.raises(AssertionError):
        path.pings_ms(1)
    of = links(path)
    assert of["ab", 1]["in_packets"] == of["ab", 2]["out_packets"] > 0
    assert of["ba", 2]["dropped"]["loss"] == of["ba", 2]["in_packets"] > 0
    assert of["ba", 1]["in_packets"] == 0


def test_a_round_trip_has_the_delays_of_both_links(path):
    two_hops(path, 0, 0, delay_us=4000)
    least_ms, _ = path.pings_ms(10)
    assert least_ms > 2 * (4 + 8) - 0.2


def test_each_link_carries_no_more_than_its_rate(path):
    """Three flows at once: bytes of a link over the time since its first packet."""
    two_hops(path, *RATES_BPS, queue_packets=30)
    begun_ns = path.report()["t_ns"]
    with path.agents() as agents:
        starts = ",".join(str(ports[0]) for ports in (FIRST, SECOND, BOTH))
        sink = sent(path, agents, window_ms=1500, streams=3, source_ports=starts, source_span=700)
    assert all(stream["bytes"] > 0 for stream in sink["per_stream"])
    elapsed_s = (path.report()["t_ns"] - begun_ns) / 1e9
    of = links(path)
    for hop, rate_bps in enumerate(RATES_BPS, 1):
        assert 0 < 8 * of["ab", hop]["out_bytes"] / elapsed_s < rate_bps


def test_samples_have_the_queues_of_both_links(path):
    two_hops(path, 50_000_000, 500_000, queue_packets=100)
    path.report(restart_ms=10)
    path.datagrams(60, 1000)
    samples = path.report(samples=1)["samples"]
    assert max(samples["ab_second_queue_packets"]) > 20
    assert max(samples["ba_second_queue_packets"]) == 0
    assert {len(values) for key, values in samples.items() if key != "interval_ms"} == {
        len(samples["t_ns"])
    }


@pytest.mark.parametrize(
    ("lines", "key", "says"),
    [
        (["set direction=ab hop=3"], "hop", "from 1 to 2"),
        (["span first=1-2"], None, "hop=2"),
        (["set direction=ab hop=2", "span first=2-1"], "first", "FIRST-LAST"),
        (["set direction=ab hop=2", "span second=1-2,"], "second", "FIRST-LAST"),
        (["set direction=ab hop=2", "span second=1-70000"], "second", "FIRST-LAST"),
        (["set direction=ab hop=2", "span third=1-2"], "third", "third"),
    ],
)
def test_a_bad_span_is_named(start_agent, gensink, lines, key, says):
    emulator = start_agent(gensink, "emulate")
    for line in lines:
        event = emulator.ask(line)
    assert event["event"] == "error" and event["key"] == key
    assert says in event["message"]


def test_a_path_of_one_link_gets_no_second_one_while_it_is_open(path):
    path.open()
    event = path.emulator.ask("set direction=ab hop=2 delay_us=5")
    assert event["event"] == "error" and event["key"] == "hop"
    path.set("ab", hop=1, delay_us=5)


def test_a_sanitized_emulator_moves_packets_over_two_links(gensink, sanitized):
    """Super-packets of TCP, datagrams, drops, queues of disciplines and a full ring of samples."""
    layout = ("setarch", platform.machine(), "-R")
    with emulated(gensink, *layout, binary=sanitized / "gensink") as path:
        for hop in (1, 2):
            path.both(hop=hop, jitter_us=200, reorder_ppb=10**7, reorder_us=500, loss_ppb=10**6)
        path.both(hop=2, discipline="fq_codel", target_us=5000, interval_us=100_000, rate_bps=10**7)
        two_hops(path, 20_000_000, 10_000_000, queue_packets=40)
        path.datagrams(200, 1000)
        with path.agents() as agents:
            starts = ",".join(str(ports[0]) for ports in (FIRST, SECOND, BOTH))
            sent(path, agents, window_ms=500, streams=3, source_ports=starts, source_span=700)
        path.wait_until_empty()
        links(path)
        process = path.emulator.process
        process.stdin.close()
        final = path.emulator.receive()
        assert final["final"] is True and len(final["second"]) == 2
        said = process.stderr.read().decode()
        assert process.wait(30) == 0 and said == "", said
