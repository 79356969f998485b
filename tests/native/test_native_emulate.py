"""The path emulator, between two hosts of its own: packets see the settings that were requested.

Other work on the machine can only add to a round trip or lower a rate: here no round trip is
shorter and no rate higher, ``tests/nightly/native/test_emulated_rates.py`` has the other bounds.
"""

from __future__ import annotations

import platform
import signal
import threading
import time

import pytest
from native.emulated import DEVICE, OVERHEAD_B, Emulated, emulated, run, transfer

PINGS, PING_S = 15, 0.02
EARLY_MS = 0.2
"""The compensation for the wake-up latency may exceed the latency by this much."""


def links(path: Emulated, side: str) -> str:
    return run("ip", "-n", path.names[side], "-o", "link")


@pytest.mark.parametrize(("there_us", "back_us"), [(0, 0), (5000, 5000), (60_000, 123_200)])
def test_the_least_round_trip_takes_the_requested_time(path, there_us, back_us):
    path.set("ab", delay_us=there_us)
    path.set("ba", delay_us=back_us)
    path.open()
    rtt_ms = (there_us + back_us) / 1000
    least_ms, _ = path.pings_ms(PINGS, PING_S)
    # a delay that is applied twice would show, and here a busy machine does not
    assert rtt_ms - EARLY_MS < least_ms < 1.5 * rtt_ms + 20


def test_an_emulator_without_a_processor_sends_no_packet_early(gensink, address_build):
    """A sender that paces itself goes on meanwhile, and TCP's least round trip tells."""
    halting = address_build / "tests" / "halting"
    with emulated(gensink, "setarch", platform.machine(), "-R", binary=halting) as path:
        path.both(delay_us=20_000)
        path.open(9000)
        # Two segments come every 3.6 ms, so halts of 5 ms meet the next ones.
        settings = {"record_B": 1 << 16, "buffer_B": 1_000_000, "pacing_Bps": 5_000_000}
        with path.agents() as agents:
            result = transfer(path, agents, warmup_ms=500, window_ms=1500, **settings)
    # 7.5 MB on a machine without other work
    assert result["sink"]["window"]["bytes"] > 100_000
    assert result["gen"]["per_stream"][0]["tcp"]["min_rtt_us"] > 40_000 - 300


def test_no_stream_gets_more_than_the_rate(path):
    """Of every packet MTU + 14 bytes count, of which 52 are headers of IP and TCP."""
    path.both(rate_bps=100_000_000, delay_us=1000, queue_B=250_000)
    path.open(1500)
    with path.agents() as agents:
        sink = transfer(path, agents, window_ms=1500, buffer_B=8_000_000)["sink"]
    # from the start, so that no byte that came before is read late and counts
    goodput_bps = sink["total_bytes"] * 8e9 / (sink["t_last_byte_ns"] - sink["t_go_ns"])
    assert 0 < goodput_bps < 1.01 * 100e6 * 1448 / (1500 + OVERHEAD_B)


def test_a_sender_goes_not_beyond_its_buffer(path):
    """Nor when a pause of the path is over, and acknowledgements come all at once."""
    path.both(rate_bps=100_000_000, delay_us=5_000)
    path.open(1500)
    emulator = path.emulator.process
    pause, resume = (
        threading.Timer(after_s, emulator.send_signal, [number])
        for after_s, number in ((1.0, signal.SIGSTOP), (1.3, signal.SIGCONT))
    )
    with path.agents() as agents:
        pause.start()
        resume.start()
        result = transfer(path, agents, window_ms=1500, warmup_ms=500)
    most_B = path.report()["directions"][0]["max_queue_B"]
    assert most_B < 1.1 * result["gen"]["per_stream"][0]["sndbuf_B"]


@pytest.mark.parametrize(
    ("settings", "pace_us", "why", "least", "most"),
    [
        ({"rate_bps": 100_000, "queue_packets": 40}, 0, "queue", 100, 360),
        ({"rate_bps": 100_000, "queue_B": 40 * (1028 + OVERHEAD_B)}, 0, "queue", 100, 360),
        # a bucket of 40, and what the rate fills while the sender sends
        (
            {"rate_bps": 100_000, "burst_B": 40 * (1028 + OVERHEAD_B), "policer": 1},
            *(0, "policer", 100, 360),
        ),
        # standard deviation 4.4
        ({"loss_ppb": 50_000_000, "seed": 7}, 20, "loss", 20 - 17, 20 + 17),
        ({"drop_at": "1,7,8,400"}, 20, "forced", 4, 4),
    ],
)
def test_packets_are_dropped_as_requested(path, settings, pace_us, why, least, most):
    """Of 400 packets; which of them these are `emulator/test_link.c` tests."""
    path.open()
    path.set("ab", **settings)
    arrived = path.datagrams(400, 1000, pace_us)
    direction = path.report()["directions"][0]
    dropped = direction["dropped"]
    assert dropped == dict.fromkeys(dropped, 0) | {why: 400 - len(arrived)}
    assert least <= dropped[why] <= most and arrived == sorted(arrived)
    assert (direction["forced_ns"] is None) == (why != "forced")


def test_jitter_keeps_the_order_and_reorder_does_not(path):
    path.set("ab", delay_us=5000, jitter_us=3000, seed=1)
    path.open()
    assert path.datagrams(1000, 100, 100) == list(range(1000))
    path.set("ab", jitter_us=0, reorder_ppb=50_000_000, reorder_us=2000)
    arrived = path.datagrams(1000, 100, 100)
    direction = path.report()["directions"][0]
    assert sorted(arrived) == list(range(1000)) != arrived
    assert 20 < direction["reordered"] < 90


def test_a_drop_at_a_time_counts_from_the_first_data(path):
    """Counted from the request, which is older than that, the very first would be dropped."""
    path.open()
    path.set("ab", drop_at_ms=200)
    time.sleep(0.3)
    assert path.datagrams(1, 100) == [0]
    time.sleep(0.3)
    assert path.datagrams(3, 100) == [1, 2]


def test_the_report_has_queue_lateness_and_cpu(path):
    # the burst takes 3.3 s to leave, so that a sample comes meanwhile
    path.both(rate_bps=500_000, delay_us=1000, queue_packets=500)
    path.open(sample_ms=10, late_us=5000)
    path.datagrams(200, 1000)
    report = path.report(samples=1)
    samples, direction = report["samples"], report["directions"][0]
    assert max(samples["ab_queue_packets"]) > 50 and max(samples["ba_queue_B"]) == 0
    assert max(samples["ab_queue_B"]) <= direction["max_queue_B"]
    assert samples["t_ns"] == sorted(samples["t_ns"]) and samples["interval_ms"] == 10
    assert sum(direction["lateness"]["count"]) == direction["out_writes"] == 200
    assert len(direction["lateness"]["count"]) == len(direction["lateness"]["below_us"]) + 1
    assert 0 <= direction["lateness"]["late"] <= 200 and direction["lateness"]["max_ns"] > 0
    assert sum(report["process"].values()) > 0
    assert set(report["flags"]) <= {"emulator_late", "emulator_short_of_cpu"}
    assert samples["ab_dropped"] == [0] * len(samples["t_ns"])
    assert samples["cpu_us"] == sorted(samples["cpu_us"])
    assert path.report()["samples"] is None


def test_a_trace_lets_its_packets_pass_and_begins_anew_with_a_report(path, tmp_path):
    """A packet each 20 ms for 2 s, then ten each ms: 100 packets take the first part."""
    lines = [*range(20, 2001, 20), *(ms for ms in range(2001, 2101) for _ in range(10))]
    (file := tmp_path / "steps").write_text("".join(f"{ms}\n" for ms in lines))
    path.set("ab", rate_bps=6_000_000, queue_packets=1000, trace=str(file))
    path.open()
    path.report(restart_ms=100)
    begun_s = time.monotonic()
    assert path.datagrams(90, 1400) == list(range(90))
    # by one packet each 20 ms; a late sender meets opportunities of later
    assert time.monotonic() - begun_s > 1.7
    assert path.emulator.ask("set direction=ab trace=/x")["message"].endswith("before `open`")


def test_samples_and_maxima_begin_anew_and_counts_do_not(path):
    path.both(rate_bps=1_000_000, queue_packets=100)
    path.open(sample_ms=10)
    path.datagrams(400, 1000)
    before = path.report(samples=1, restart_ms=20)
    direction = before["directions"][0]
    assert before["samples"]["ab_dropped"][-1] == direction["dropped"]["queue"] > 0
    path.datagrams(5, 1000, 5000)
    after = path.report(samples=1)
    direction, old = after["directions"][0], direction
    assert after["samples"]["interval_ms"] == 20
    assert after["samples"]["t_ns"][0] > before["t_ns"]
    assert set(after["samples"]["ab_dropped"]) == {old["dropped"]["queue"]}
    assert direction["max_queue_packets"] < old["max_queue_packets"] == 100
    assert direction["in_packets"] >= old["in_packets"] + 5
    assert sum(direction["lateness"]["count"]) >= sum(old["lateness"]["count"]) + 5


@pytest.mark.parametrize(
    ("line", "key", "says"),
    [
        ("set direction=up", "direction", "ab or ba"),
        ("set direction=ab loss_ppb=1000000001", "loss_ppb", "1000000000"),
        ("set direction=ab queue_B=1000", "rate_bps", "needs rate_bps"),
        ("set direction=ab burst_B=1000", "rate_bps", "needs rate_bps"),
        ("set direction=ab rate_bps=1000 policer=1", "policer", "needs burst_B"),
        (
            "set direction=ab rate_bps=1000 policer=1 burst_B=9000 queue_B=9000",
            *("policer", "has no queue"),
        ),
        ("set direction=ab trace=/nowhere", "trace", "needs rate_bps"),
        ("set direction=ab rate_bps=1000 burst_B=9000 trace=/x", "trace", "has no bucket"),
        ("set direction=ab rate_bps=1000 trace=/nowhere", None, "/nowhere"),
        ("set direction=ab rate_bps=1000 trace=/dev/null", "trace", "above 0"),
        ("set direction=ab enter_bad_ppb=1", "leave_bad_ppb", "needs leave_bad_ppb"),
        ("set direction=ab discipline=red", "discipline", "pie or cake"),
        ("set direction=ab rate_bps=1000 discipline=fifo ecn=1", "ecn", "drops early"),
        ("set direction=ab discipline=fifo", "rate_bps", "needs rate_bps"),
        ("set direction=ab rate_bps=1000 discipline=codel", "target_us", "needs target_us"),
        ("set direction=ab drop_at=1", "drop_at", "`open` first"),
        ("set direction=ab drop_at=0,1", "drop_at", "from 1"),
        ("set direction=ab drop_at=", "drop_at", "from 1"),
        ("set direction=ab drop_at=3,", "drop_at", "commas"),
        ("set direction=ab drop_at=5,5", "drop_at", "ascending"),
        ("set direction=ab drop_at=" + ",".join(map(str, range(1, 18))), "drop_at", "to 16"),
        ("open a_netns=x a_device=d b_netns=/y b_device=d", "a_netns", "absolute path"),
        ("open a_netns=/x a_device=d%25d b_netns=/y b_device=d", "a_device", "device name"),
        ("open a_netns=/x a_device=d b_netns=/y", "b_device", "missing"),
        ("open a_netns=/nowhere a_device=d b_netns=/y b_device=d", None, "/nowhere"),
        ("report", None, "no path is open"),
        ("report samples=2", "samples", "from 0 to 1"),
        ("report restart_ms=0", "restart_ms", "from 1"),
    ],
)
def test_a_bad_request_is_named_and_changes_nothing(start_agent, gensink, line, key, says):
    emulator = start_agent(gensink, "emulate")
    event = emulator.ask(line)
    assert event["event"] == "error" and event["key"] == key
    assert says in event["message"]
    assert emulator.ask("ping")["event"] == "pong"


@pytest.mark.parametrize("end", ["input", "signal", "kill"])
def test_its_devices_end_with_it(path, end):
    path.open()
    assert DEVICE in links(path, "a") and DEVICE in links(path, "b")
    process = path.emulator.process
    if end == "input":
        process.stdin.close()
        assert path.emulator.receive()["final"] is True
        assert process.wait(30) == 0
    else:
        process.terminate() if end == "signal" else process.kill()
        assert process.wait(30) == (0 if end == "signal" else -9)
    assert DEVICE not in links(path, "a") and DEVICE not in links(path, "b")


def test_it_ends_when_a_host_is_gone(path):
    path.open()
    run("ip", "-n", path.names["b"], "link", "delete", DEVICE)
    event = path.emulator.receive()
    assert event["event"] == "error" and "device b is gone" in event["message"]
    assert path.emulator.receive()["final"] is True
    assert path.emulator.process.wait(30) == 1


def test_it_sleeps_while_no_packet_arrives(path):
    path.both(delay_us=1000)
    path.open()
    before = path.report()
    time.sleep(1)
    after = path.report()
    used_us = sum(
        after["process"][key] - before["process"][key] for key in ("user_us", "system_us")
    )
    assert used_us < 50_000
