"""Options of sockets and threads take effect, read back, and show on the wire."""

from __future__ import annotations

import os
import socket
import subprocess
from pathlib import Path

import pytest
from waiting import until

MARKED_DSCP = 46
ETH_P_ALL = 3
PACKET_B = 128
AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="takes privileges that only root has")


def transfer(agent, address: str = "127.0.0.1", **options) -> tuple[dict, dict]:
    """A run between two ends of one agent; the results of sink and gen."""
    ends = agent.transfer(bind=address, to=address, **options)
    assert [end["status"] for end in ends] == ["ok", "ok"], [end["message"] for end in ends]
    return ends


def in_force(end: dict, *names: str) -> list:
    return [tuple(row[name] for name in names) for row in end["per_stream"]]


@pytest.mark.parametrize(
    ("asked", "in_turn"),
    [
        ("reno,3*cubic", ["reno", "cubic", "cubic", "cubic", "reno", "cubic"]),
        ("2*reno,1*cubic", ["reno", "reno", "cubic", "reno", "reno", "cubic"]),
        ("100*reno,cubic", ["reno"] * 6),
    ],
)
def test_a_count_of_streams_takes_one_congestion_control(agent, asked, in_turn):
    for end in transfer(agent, "127.0.0.1", streams=6, congestion=asked):
        assert [name for (name,) in in_force(end, "congestion")] == in_turn


@pytest.mark.parametrize("address", ["127.0.0.1", "::1"])
def test_every_option_takes_effect_on_every_stream_and_is_reported(agent, address):
    options = {"dscp": MARKED_DSCP, "mss_B": 1000, "nodelay": 1, "pacing_Bps": 50_000_000}
    polled_us = 50 if os.geteuid() == 0 else 0
    options |= {"busy_poll_us": polled_us, "congestion": "cubic,reno"}
    ends = transfer(agent, address, streams=3, **options)
    for end in ends:
        names = ("dscp", "nodelay", "busy_poll_us")
        assert in_force(end, *names) == [(MARKED_DSCP, 1, polled_us)] * 3
        assert in_force(end, "congestion") == [("cubic",), ("reno",), ("cubic",)]
        # the timestamps option takes 12 of the 1000
        assert in_force(end, "mss_B") == [(988,)] * 3
        assert [row["tcp"]["mss_B"] for row in end["per_stream"]] == [988] * 3
    assert in_force(ends[1], "pacing_Bps") == [(50_000_000,)] * 3
    assert in_force(ends[0], "pacing_Bps") == [(0,)] * 3


def test_an_omitted_option_keeps_the_kernels_default(agent):
    for end in transfer(agent):
        names = ("dscp", "nodelay", "busy_poll_us", "pacing_Bps", "cpu", "moves")
        assert in_force(end, *names) == [(0, 0, 0, 0, None, 0)]


@pytest.mark.parametrize(
    ("word", "reason"),
    [
        ("mss_B=20", "Invalid argument (errno 22)"),
        ("congestion=cubic,nosuchcc", "No such file or directory (errno 2)"),
    ],
)
def test_a_refusal_names_the_option_and_the_reason(agent, word, reason):
    line = f"sink run=5 bind=127.0.0.1 streams=1 token={'1' * 32} record_B=1 window_ms=1 {word}"
    answer = agent.ask(line)
    assert (answer["event"], answer["run"], answer["code"]) == ("error", 5, "refused")
    assert answer["key"] == word.partition("=")[0]
    assert reason in answer["message"]
    assert agent.ask("ping")["event"] == "pong"


@AS_ROOT
def test_a_privilege_that_is_missing_names_the_option(start_agent, gensink):
    agent = start_agent("setpriv", "--bounding-set=-net_admin", gensink, "agent")
    answer = agent.ask(
        f"sink run=5 bind=127.0.0.1 streams=1 token={'1' * 32} record_B=1 window_ms=1 "
        "buffer_B=65536 force_buffer=1"
    )
    assert (answer["code"], answer["key"]) == ("refused", "buffer_B")
    assert "SO_SNDBUFFORCE" in answer["message"] and "Operation not permitted" in answer["message"]


@pytest.mark.parametrize("address", ["127.0.0.1", "::1"])
def test_a_paced_stream_is_no_faster_than_its_rate(agent, address):
    rate_Bps = 4_000_000
    for end in transfer(agent, address, streams=2, window_ms=1000, pacing_Bps=rate_Bps):
        duration_s = (end["t_last_byte_ns"] - end["t_go_ns"]) / 1e9
        for row in end["per_stream"]:
            # send() fills the socket's buffer at once; pacing never delays its first bytes
            buffered = row["sndbuf_B"] if end["event"] == "gen_result" else 0
            assert row["bytes"] < 1.25 * rate_Bps * duration_s + 500_000 + buffered
            assert row["bytes"] > 100_000


@AS_ROOT
@pytest.mark.parametrize("family", [4, 6])
def test_the_code_point_is_on_every_data_packet(agent, own_network, family):
    with socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(ETH_P_ALL)) as wire:
        wire.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
        wire.bind(("lo", 0))
        port, token = agent.sink(bind={4: "127.0.0.1", 6: "::1"}[family], window_ms=0)
        agent.gen(port, token, to={4: "127.0.0.1", 6: "::1"}[family], bytes=200_000,
                  dscp=MARKED_DSCP)  # fmt: skip
        results = agent.receive_results()
        assert {end["status"] for end in results.values()} == {"ok"}
        wire.settimeout(0.5)
        seen = []
        try:
            while True:
                packet = wire.recv(PACKET_B)
                if packet[0] >> 4 == 4:
                    marked, at = packet[1] >> 2, 20
                else:
                    marked, at = (int.from_bytes(packet[:2], "big") >> 4 & 0xFF) >> 2, 40
                if int.from_bytes(packet[at + 2 : at + 4], "big") == port:
                    seen.append(marked)
        except TimeoutError:
            pass
    # SYN, hello, data and acknowledgements of the gen, each seen leaving and arriving
    assert len(seen) > 6
    assert set(seen) == {MARKED_DSCP}


def test_threads_take_the_listed_cpus_round_robin(agent):
    allowed = sorted(os.sched_getaffinity(0))
    cpus = [allowed[-1], allowed[0]] if len(allowed) > 1 else allowed
    before = os.sched_getaffinity(agent.process.pid)
    for end in transfer(agent, streams=4, cpus=",".join(map(str, cpus))):
        assert [cpu for (cpu,) in in_force(end, "cpu")] == (cpus * 4)[:4]
    assert os.sched_getaffinity(agent.process.pid) == before


def test_threads_of_a_run_without_cpus_are_free(agent):
    if len(os.sched_getaffinity(0)) == 1:
        pytest.skip("on a single CPU every thread is pinned to it")
    for end in transfer(agent, streams=2):
        assert in_force(end, "cpu") == [(None,)] * 2


@pytest.mark.parametrize("engine", ["epoll", "auto"])
def test_threads_that_are_one_a_cpu_keep_to_one(agent, engine):
    allowed = sorted(os.sched_getaffinity(0))
    streams = 33 if engine == "auto" else os.cpu_count() + 1
    # with fewer CPUs than the machine has, threads are not pinned
    expected = allowed if len(allowed) in (1, os.cpu_count()) else [None]
    before = os.sched_getaffinity(agent.process.pid)
    for end in transfer(agent, streams=streams, engine=engine):
        assert end["threads"] == os.cpu_count()
        assert [cpu for (cpu,) in in_force(end, "cpu")] == (expected * streams)[:streams]
    assert os.sched_getaffinity(agent.process.pid) == before


@AS_ROOT
def test_a_thread_follows_its_packets_to_another_cpu(start_agent, gensink):
    """Receive packet steering of the loopback selects the CPU of arrival, and then another."""
    if os.cpu_count() < 2:
        pytest.skip("there is one CPU to come in on")
    steering = "/sys/class/net/lo/queues/rx-0/rps_cpus"
    # a sysfs that shows the namespace's own loopback, in a namespace of mounts that ends with it
    script = f'mount -t sysfs s /sys && ip link set lo up && echo 1 >{steering} && exec "$0" agent'
    agent = start_agent("unshare", "--net", "--mount", "sh", "-c", script, gensink)
    port, token = agent.sink(window_ms=60_000, follow_incoming_cpu=1, streams=2)
    agent.gen(port, token, window_ms=60_000, streams=2, pacing_Bps=20_000_000)

    def are_pinned_to(cpu: str) -> bool:
        tasks = Path(f"/proc/{agent.process.pid}/task").glob("*/status")
        pinned = [f"Cpus_allowed_list:\t{cpu}\n" in task.read_text() for task in tasks]
        return sum(pinned) == 2

    until(lambda: are_pinned_to("0"))
    inside = ("nsenter", "-t", str(agent.process.pid), "--net", "--mount")
    subprocess.run((*inside, "sh", "-c", f"echo 2 >{steering}"), check=True)
    until(lambda: are_pinned_to("1"))
    agent.say("stop run=1")
    results = agent.receive_results()
    sink = results["sink_result", 1]
    assert sink["status"] == "stopped", sink["message"]
    assert in_force(sink, "cpu", "incoming_cpu") == [(1, 1)] * 2
    assert all(moves >= 1 for (moves,) in in_force(sink, "moves"))
    assert in_force(results["gen_result", 1], "moves") == [(0,)] * 2
