"""A run is flagged for what is wrong with it, and only for that."""

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st
from measure.flagged_runs import (
    BUSY,
    FINE,
    LATE,
    MISSING,
    MSS_B,
    MTU_B,
    TIMING,
    foreign_traffic_run,
    interface,
    intervals,
    outcome,
)
from measure.scripted import HEADERS_B, result

from netlab.measure.cpu_frequency import throttling
from netlab.measure.exchange import Direction, RunOutcome
from netlab.measure.fairness import STALL_S
from netlab.measure.flags import flags_of, interference
from netlab.measure.most_goodput import BASE_PERCENT, READ_LATE_S, most_percent
from netlab.measure.others_cpu import ForeignLoad, foreign_load
from netlab.measure.others_traffic import SLACK_B, SLACK_PACKETS, foreign_traffic
from netlab.measure.shared_machines import controller_processes
from netlab.measure.steadiness import unsteady
from netlab.results.flags import Flag
from netlab.study import Timing

FINE |= {"steal_percent": 0.0, "foreign_cpu_percent": 0.0}


def with_silent_stream(window_s: float) -> dict:
    """A result of two streams, one of them without a byte in a window of this length."""
    answer = result("sink")
    answer["per_stream"][1]["window_bytes"] = 0
    answer["window"]["t1_ns"] = answer["window"]["t0_ns"] + round(window_s * 1e9)
    return answer | {"meter": None}


def flagged(row=(), result=(), problems=(), drift=(), samples=BUSY, surplus=()) -> dict[str, str]:
    """Flags of a run that is fine but for what is given."""
    ends = outcome(**dict(result))
    problems, drift = list(problems), list(drift)
    found = flags_of(FINE | dict(row), ends, problems, drift, samples, TIMING, surplus=surplus)
    assert set(found) <= set(Flag)
    return found


RESET = {"meter": {"window": None, "total": {"interface": {"name": "x0", "reset": True}}}}
CUT = {"status": "error", "message": "cut"}


@pytest.mark.parametrize(
    ("row", "result", "says"),
    [
        (
            {},
            LATE | {"watch_late_us": 9_240_000},
            "sink: no end, the sender's watch thread was late by 9.24 s, "
            "the sink's watch thread was late by 9.24 s",
        ),
        ({}, LATE | {"watch_late_us": 40_000}, "sink: no end"),
        (
            MISSING,
            LATE,
            "sink: no end, 4215128 B had not arrived: give them more time, timing.drain_s",
        ),
        (MISSING, CUT, "sink: cut"),
    ],
)
def test_a_failed_run_names_late_threads_and_the_key_that_gives_bytes_time(row, result, says):
    assert flagged(row=row, result=result)["failed"] == says


@pytest.mark.parametrize(
    ("fault", "flag", "says"),
    [
        ({"result": {"status": "timeout", "message": "late"}}, "failed", "late"),
        ({"result": {"status": "stopped"}}, "failed", "stopped"),
        ({"row": {"window_s": 0.5}}, "stalled", "ended before"),
        ({"row": {"window_s": None}}, "stalled", "ended before"),
        ({"row": {"window_s": None, "records": 9}}, "stalled", "ended before"),
        ({"result": with_silent_stream(1.0)}, "starved", "1 of 2 streams had no byte in 1.00 s"),
        ({"row": {"percent_of_ceiling": 101.5}}, "implausible", "101.5 % of the bus"),
        ({"problems": ["sent 2 B, read 1 B"]}, "ledger_mismatch", "read 1 B"),
        ({"row": {"steal_percent": 9.0}}, "interference", "steal 9.0 %"),
        ({"row": {"foreign_cpu_percent": 40.0}}, "interference", "foreign CPU load 40.0 %"),
        ({"row": {"foreign_traffic_percent": 1.1}}, "interference", "interface, 1.1 % of the run"),
        ({"row": {"throttle_events": 2}}, "interference", "throttling of a CPU, 2 events"),
        ({"row": {"cpu_frequency_percent": -10.5}}, "interference", "changed by -10.5 % within"),
        ({"surplus": ["rx saw 9 B"]}, "interference", "rx saw 9 B"),
        ({"drift": ["left: mtu was 9000, is 1500"]}, "tuning_drift", "is 1500"),
        (
            {"result": RESET},
            "counter_reset",
            "sink: the counters of x0 went back, or it was replaced",
        ),
    ],
)
def test_each_fault_has_its_flag_and_its_reason(fault, flag, says):
    found = flagged(**fault)
    assert list(found) == [flag]
    assert says in found[flag]


def test_a_short_window_over_a_long_path_may_show_more_than_its_ceiling():
    short = {"window_s": 0.2, "retransmits": 0, "path_rtt_us": 30_000.0}
    short |= {"emulator_late_us": 200.0, "ceiling_MBps": 60.0}
    timing = Timing(rounds=1, seconds=0.2, warmup_s=0.0, interval_ms=100)
    for percent, flags in ((101.4, []), (104.5, ["implausible"])):
        row = FINE | short | {"percent_of_ceiling": percent}
        assert list(flags_of(row, outcome(), [], [], BUSY, timing)) == flags


def test_a_path_whose_pace_is_timeouts_is_not_stalled():
    """A policer drops whole bursts, and TCP waits for its timeout again and again."""
    paced = [1000, 1000, 0, 0] * 4
    assert "stalled" not in flagged(samples=intervals(paced))
    assert "stalled" in flagged(samples=intervals([1000] * 4 + [0] * 2 + [1000] * 8))
    assert "stalled" in flagged(samples=intervals([*paced, *[0] * 5, 1000]))


def test_a_burst_is_flagged_unless_a_load_on_a_host_explains_it():
    step = unsteady(intervals([9000] * 10 + [1000] * 20), halved=True)
    row, disturbed = {**FINE}, FINE | {"steal_percent": 9.0}
    given = (outcome(), [], [], BUSY, TIMING)
    assert "until 1 s, then 0.01 MB/s" in flags_of(row, *given, step=step)["unsteady"]
    assert list(flags_of(disturbed, *given, step=step)) == ["interference"]


DEEP = {"link_MBps": 1.25, "path_rtt_us": 40_000.0, "path_queue_max_B": 800_000}


def silence(count: int) -> list[dict]:
    return intervals([1000] * 4 + [0] * count + [1000] * 4)


@pytest.mark.parametrize(
    ("row", "samples", "stalled"),
    [
        # a silence as long as a retransmission timeout is a stall
        ({}, silence(round(STALL_S / 0.1)), "forward"),
        ({}, silence(round(STALL_S / 0.1) - 1), None),
        # on a long path the sender pauses after a window until it is acknowledged
        ({"min_rtt_us": 50_000.0}, silence(3), "forward"),
        ({"min_rtt_us": 183_000.0}, silence(3), None),
        # behind a lost segment nothing comes for the loaded round trip: 0.04 s and a queue of 0.64
        ({"min_rtt_us": 40_000.0} | DEEP, silence(6), None),
        ({"min_rtt_us": 40_000.0} | DEEP, silence(9), "forward"),
        ({"min_rtt_us": 40_000.0, "rtt_us": 600_000.0}, silence(6), None),
        ({"min_rtt_us": 40_000.0, "rtt_loaded_max_us": 600_000.0}, silence(6), None),
        # one silent direction of two is a stall; a silent stream among busy ones is starved
        ({}, BUSY + intervals([0] * 10, direction="reverse"), "reverse"),
        ({}, intervals([1000] * 10, [0] * 10), None),
    ],
)
def test_a_silence_longer_than_a_timeout_and_a_round_trip_is_a_stall(row, samples, stalled):
    found = flagged(row=row, samples=samples)
    assert list(found) == ["stalled"] * bool(stalled)
    assert stalled is None or stalled in found["stalled"]


def metered(duration_ns: int = 10**9, **clock) -> dict:
    """A run of two ends whose clocks did this."""
    fine = {"steps": 0, "step_ns": 0, "drift_ns": 0, "unsure_ns": 200}
    span = {"t0_ns": 5, "t1_ns": 5 + duration_ns, "interface": None, "clock": fine | clock}
    return {"meter": {"window": span, "total": span}}


@pytest.mark.parametrize(
    ("clock", "says"),
    [
        ({"steps": 1, "step_ns": 2_000_000_000}, "sink: the clock was set by +2.000 s"),
        ({"steps": 1, "step_ns": -2_000_000_000}, "sink: the clock was set by -2.000 s"),
        # 1000 ppm of 1 s are allowed, and what the readings leave unsure
        ({"drift_ns": 1_000_000}, None),
        ({"drift_ns": -1_000_000}, None),
        ({"drift_ns": 1_001_000}, "+1001 ppm"),
        ({"drift_ns": -1_001_000}, "-1001 ppm"),
        ({"drift_ns": 5_000_000, "unsure_ns": 4_500_000}, None),
    ],
)
def test_a_clock_that_was_set_or_runs_too_fast_or_slow_is_flagged_with_how_much(clock, says):
    found = flagged(result=metered(**clock))
    assert list(found) == ["clock_step"] * bool(says)
    assert says is None or says in found["clock_step"]


@pytest.mark.parametrize(
    ("steal", "foreign", "largest", "says"),
    [
        (0.0, 3.9, "", None),
        (0.0, 4.1, "", "foreign CPU load 4.1 %"),
        (None, None, "", None),
        (6.0, 0.0, "", "steal 6.0 %"),
        (6.0, 20.0, "", "steal 6.0 %, foreign CPU load 20.0 %"),
        (0.0, 20.0, "make (process 8)", "foreign CPU load 20.0 %, most of it by make (process 8)"),
    ],
)
def test_steal_and_foreign_load_interfere_from_a_share_on(steal, foreign, largest, says):
    row = {"steal_percent": steal, "foreign_cpu_percent": foreign}
    assert interference(row, largest=largest) == says


@pytest.mark.parametrize(
    "fine",
    [
        *({"foreign_traffic_percent": 0.9}, {"foreign_traffic_percent": None}),
        *({"throttle_events": 0}, {"cpu_frequency_percent": -9.0}),
        *({"cpu_frequency_percent": 30.0}, {"window_s": 0.5, "records": 1000}, {}),
        dict.fromkeys(("percent_of_ceiling", "steal_percent", "foreign_cpu_percent")),
    ],
)
def test_a_run_without_fault_or_with_little_traffic_or_unknown_shares_has_no_flag(fine):
    assert flagged(row=fine) == flagged(row=fine, result={"watch_late_us": 700_000}) == {}


# Foreign load is what processes other than the run's own used, on the more loaded host.


def end(pid: int, *top: tuple[int, str, int], more_us: int = 0) -> dict:
    """A result with the processes of its host: pid, name and CPU time in us."""
    processes = [{"pid": p, "born_ticks": 10 * p, "name": n, "cpu_us": us} for p, n, us in top]
    used_us = sum(us for _, _, us in top) + more_us
    others = {"pid": pid, "born_ticks": 10 * pid, "t0_ns": 0, "t1_ns": 10**9, "top": processes}
    return {"others": {**others, "cpu_us": used_us}, "meter": {"total": {"cpu": [{}, {}]}}}


def run(gen: dict, sink: dict) -> RunOutcome:
    return RunOutcome((Direction(gen=gen, sink=sink),), started_unix_ns=0, wall_s=1.0)


class Emulator:
    """An emulator that used some CPU time."""

    def __init__(self, us: float) -> None:
        self.us = us

    def cpu_us(self, t0_ns: int, t1_ns: int) -> float:
        assert (t0_ns, t1_ns) == (0, 10**9)
        return self.us


def test_the_more_loaded_host_counts_with_its_largest_process_and_without_the_emulator():
    found = foreign_load(
        run(end(5, (9, "cron", 100_000)), end(6, (8, "make", 300_000), (7, "cc", 100_000)))
    )
    assert found == ForeignLoad(pytest.approx(19.5), "make (process 8)")
    gen = end(5, (6, "gensink-1", 500_000), (7, "gensink-1", 400_000), more_us=20_000)
    sink = end(6, (5, "gensink-1", 500_000), (7, "gensink-1", 400_000), more_us=20_000)
    found = foreign_load(run(gen, sink), emulated=Emulator(400_000))  # type: ignore[arg-type]
    assert found == ForeignLoad(pytest.approx(0.5), "")


def test_agents_of_one_machine_see_each_other_and_neither_is_foreign():
    gen = end(5, (6, "gensink-1", 800_000), (9, "make", 100_000))
    sink = end(6, (5, "gensink-1", 900_000), (9, "make", 100_000))
    assert foreign_load(run(gen, sink)) == ForeignLoad(pytest.approx(4.5), "make (process 9)")
    # another PID namespace has other ids, and the same times of start
    sink["others"]["top"][0]["pid"] = 7005
    assert foreign_load(run(gen, sink)) == ForeignLoad(pytest.approx(4.5), "make (process 9)")
    # the agent of another measurement is foreign, and so is a process that began with an agent
    gen["others"]["top"] += [{"pid": 1, "born_ticks": 60, "name": "make", "cpu_us": 200_000}]
    gen["others"]["top"][0]["born_ticks"] = 61
    found = foreign_load(run(gen, sink))
    assert found == ForeignLoad(pytest.approx(44.5), "gensink-1 (process 6)")


def test_the_controller_is_not_foreign_on_its_own_machine():
    (name, born), *_ = controller_processes()
    gen = end(5, (os.getpid(), name, 300_000), (9, "make", 100_000))
    assert foreign_load(run(gen, end(6))) == ForeignLoad(
        pytest.approx(19.5), f"{name} (process {os.getpid()})"
    )
    gen["others"]["top"][0]["born_ticks"] = born
    assert foreign_load(run(gen, end(6))) == ForeignLoad(pytest.approx(4.5), "make (process 9)")
    # another program of that name, born in the same tick
    gen["others"]["top"][1] |= {"pid": 8, "name": name, "born_ticks": born, "cpu_us": 400_000}
    gen["others"]["cpu_us"] += 300_000
    assert foreign_load(run(gen, end(6))) == ForeignLoad(pytest.approx(19.5), f"{name} (process 8)")


UNREAD = {"others": None, "meter": {"total": {"cpu": [{}]}}}


@pytest.mark.parametrize(
    ("gen", "sink", "load"),
    [
        # processes below the longest list count; a single tick is below the resolution
        (end(5, more_us=200_000), end(6), ForeignLoad(pytest.approx(9.5), "")),
        (end(5), end(6), ForeignLoad(0.0)),
        (end(5, (9, "cron", 10_000)), end(6), ForeignLoad(0.0)),
        # a host that cannot be read gives no load
        (end(5), UNREAD, None),
        ({}, {}, None),
    ],
)
def test_little_or_no_foreign_load(gen, sink, load):
    assert foreign_load(run(gen, sink)) == load


# Foreign traffic: bytes that the interfaces of a run carried beyond its own segments.

ENDS = [(end, prefix) for end in ("gen", "sink") for prefix in ("tx", "rx")]


def percent(outcome: RunOutcome) -> float | None:
    return foreign_traffic(outcome, mtu_B=MTU_B)


@given(streams=st.integers(1, 20), each_B=st.integers(2000, 10**9))
def test_a_run_alone_on_its_interfaces_has_none(streams, each_B):
    assert percent(foreign_traffic_run(streams, each_B)) == 0


@pytest.mark.parametrize(("end", "prefix"), ENDS)
def test_bytes_and_packets_of_others_are_seen_at_each_end_in_each_direction(end, prefix):
    outcome = foreign_traffic_run()
    counts = interface(outcome, end)
    own_B = max(counts["tx_bytes"], counts["rx_bytes"])
    counts[f"{prefix}_bytes"] += 3_000_000
    assert percent(outcome) == pytest.approx(100 * (3_000_000 - SLACK_B) / own_B, rel=0.15)
    outcome = foreign_traffic_run()
    interface(outcome, end)[f"{prefix}_packets"] += 2000
    assert percent(outcome) > 5


def test_retransmissions_offload_and_a_little_besides_are_not_foreign():
    outcome = foreign_traffic_run()
    for end, prefix in ENDS:
        interface(outcome, end)[f"{prefix}_bytes"] += SLACK_B
        interface(outcome, end)[f"{prefix}_packets"] += SLACK_PACKETS
    assert percent(outcome) == 0
    outcome = foreign_traffic_run()
    tcp = outcome.flows[0].gen["per_stream"][0]["tcp"]
    tcp["bytes_sent"] += 3_000_000
    tcp["segs_out"] += 3_000_000 // MSS_B + 1
    interface(outcome, "gen")["tx_bytes"] += 3_000_000
    assert percent(outcome) == 0
    outcome = foreign_traffic_run()
    for end, prefix in (("gen", "tx"), ("sink", "rx")):
        counts = interface(outcome, end)
        counts[f"{prefix}_packets"] //= 40
        counts[f"{prefix}_bytes"] -= 39 * counts[f"{prefix}_packets"] * HEADERS_B
    assert percent(outcome) == 0


def test_the_interface_of_two_directions_carries_both():
    flows = foreign_traffic_run().flows + foreign_traffic_run().flows
    whole = [interface(RunOutcome(flows[:1], 0, 1.0), end) for end in ("gen", "sink")]
    both_B = {
        unit: whole[0][f"tx_{unit}"] + whole[0][f"rx_{unit}"] for unit in ("bytes", "packets")
    }
    for counts in whole:
        for unit, count in both_B.items():
            counts[f"tx_{unit}"] = counts[f"rx_{unit}"] = count
    outcome = RunOutcome(flows, started_unix_ns=0, wall_s=1.0)
    assert percent(outcome) == 0
    whole[1]["rx_bytes"] += 3_000_000
    assert percent(outcome) > 5


@pytest.mark.parametrize("lacks", ["meter", "reset"])
def test_without_a_count_of_an_interface_nothing_is_claimed(lacks):
    outcome = foreign_traffic_run()
    if lacks == "meter":
        outcome.flows[0].gen["meter"] = None
    else:
        interface(outcome, "gen")["reset"] = True
    assert percent(outcome) is None


def without_segments(outcome: RunOutcome, lacks: str) -> None:
    gen = outcome.flows[0].gen
    tcp = gen["per_stream"][0]["tcp"]
    if lacks == "tcp":
        gen["per_stream"][0]["tcp"] = None
    elif lacks == "zero":  # of a kernel before 4.19
        tcp["bytes_sent"] = 0
    elif lacks == "wrapped":
        tcp["segs_out"] = 1
    else:
        tcp.pop(lacks)


@pytest.mark.parametrize("offload", [False, True])
@pytest.mark.parametrize("lacks", ["segs_out", "bytes_sent", "zero", "tcp", "wrapped"])
def test_without_a_count_of_segments_what_the_other_end_did_not_send_is_foreign(lacks, offload):
    """So of iperf3, whose port others flood with half a handshake each, and of UDP."""
    outcome = foreign_traffic_run()
    without_segments(outcome, lacks)
    segments = interface(outcome, "gen")["tx_packets"]
    if offload:
        interface(outcome, "gen")["tx_packets"] //= 40
    interface(outcome, "sink")["rx_packets"] += SLACK_PACKETS
    assert percent(outcome) == 0
    outcome.flows[0].gen["losses_unknown"] = True
    assert percent(outcome) is None
    outcome.flows[0].gen["losses_unknown"] = False
    interface(outcome, "sink")["rx_packets"] += 2 * segments
    assert percent(outcome) > 40


def test_a_loopback_interface_carries_both_directions_each_way():
    outcome = foreign_traffic_run()
    for end in ("gen", "sink"):
        counts = interface(outcome, end)
        counts["name"] = "lo"
        for unit in ("bytes", "packets"):
            both = counts[f"tx_{unit}"] + counts[f"rx_{unit}"]
            counts[f"tx_{unit}"] = counts[f"rx_{unit}"] = both
    assert percent(outcome) == 0
    interface(outcome, "sink")["rx_bytes"] += 3_000_000
    assert percent(outcome) > 5


def test_a_card_that_cuts_super_packets_into_more_frames_adds_no_foreign_traffic():
    """Counted on QEMU's e1000e: 13,241 segments left in 2,945 packets and came as 14,927."""
    outcome = foreign_traffic_run()
    segments = interface(outcome, "gen")["tx_packets"]
    interface(outcome, "gen")["tx_packets"] = segments // 4
    interface(outcome, "sink")["rx_packets"] = segments + segments // 8
    assert percent(outcome) == 0
    interface(outcome, "sink")["rx_packets"] = 2 * segments
    assert percent(outcome) > 50


# The largest plausible goodput follows from window, lateness, and data held after a loss.

PATH = {
    **{"window_s": 0.2, "ceiling_MBps": 60.0, "link_MBps": 62.5, "retransmits": 0, "streams": 1},
    **{"rtt_us": 60_000.0, "path_rtt_us": 30_000.0, "path_queue_max_B": 1_875_000},
    **{"emulator_late_us": 500.0, "rcvbuf_B": 16_000_000.0},
}


def plausible_percent(**changes: object) -> float:
    return most_percent(PATH | changes).percent


def test_a_window_allows_what_reader_and_emulator_may_be_late():
    late_s = READ_LATE_S + 500e-6 + 65_536 / 60e6
    assert plausible_percent() == pytest.approx(100 + BASE_PERCENT + 100 * late_s / 0.2)
    assert plausible_percent() < 104
    assert plausible_percent(window_s=1.0) == pytest.approx(100 + BASE_PERCENT + 100 * late_s)
    assert plausible_percent(window_s=600.0) == pytest.approx(100 + BASE_PERCENT, abs=0.01)
    for none in (None, 0.0):
        assert plausible_percent(window_s=none) == 100 + BASE_PERCENT


def test_a_window_allows_what_a_bucket_of_tokens_holds():
    """A bucket of 6 MB that fills at 60 MB/s passes 0.1 s of the rate at once."""
    waits_s = READ_LATE_S + 500e-6
    bucket = plausible_percent(burst_B=6_000_000, window_s=1.0)
    assert bucket == pytest.approx(100 + BASE_PERCENT + 100 * (waits_s + 0.1))
    assert plausible_percent(burst_B=1514) == plausible_percent(burst_B=None) == plausible_percent()


def test_after_a_loss_it_allows_what_a_round_trip_its_queue_and_the_receive_buffer_hold():
    held = most_percent(PATH | {"retransmits": 3})
    assert held.held_s == pytest.approx(0.030 + 1_875_000 / 62.5e6)
    assert held.percent == pytest.approx(plausible_percent() + 100 * held.held_s / 0.2)
    assert plausible_percent(retransmits=None) == plausible_percent(retransmits=1)
    small = most_percent(PATH | {"retransmits": 3, "rcvbuf_B": 600_000.0})
    assert small.held_s == pytest.approx(0.01), "the receive buffer bounds it"
    assert most_percent(PATH | {"retransmits": 3, "rcvbuf_B": 300_000.0, "streams": 2}) == small
    cable = {"window_s": 1.0, "ceiling_MBps": 1000.0, "retransmits": 9, "rtt_us": 300.0}
    assert most_percent(cable).held_s == pytest.approx(300e-6)


@given(st.floats(0.05, 600), st.floats(0.05, 600), st.integers(0, 10))
def test_a_longer_window_never_allows_more(one_s, other_s, retransmits):
    short, long = sorted((one_s, other_s))
    assert plausible_percent(window_s=long, retransmits=retransmits) <= plausible_percent(
        window_s=short, retransmits=retransmits
    )


# Throttling of the CPUs is read from the meters of both ends.

THROTTLED = ("throttle_events", "cpu_frequency_percent")


def cpu(first_kHz=None, last_kHz=None, throttled=None, busy_us=900_000) -> dict:
    """One CPU over a second."""
    spent = {"cpu": 0, "user_us": busy_us, "idle_us": 1_000_000 - busy_us, "throttled": throttled}
    return {**spent, "first_frequency_kHz": first_kHz, "frequency_kHz": last_kHz}


def cpus(*cpus: dict) -> dict:
    return {"meter": {part: {"cpu": list(cpus)} for part in ("window", "total")}}


FASTER, SLOWER = cpu(3_000_000, 3_300_000), cpu(3_000_000, 2_400_000)
IDLE = cpu(3_000_000, 800_000, busy_us=300_000)


@pytest.mark.parametrize(
    ("gen", "sink", "events", "percent"),
    [
        # hosts without counts tell nothing
        (cpus(cpu()), cpus(cpu()), None, None),
        ({"meter": None}, {}, None, None),
        (cpus({"cpu": 0, "user_us": 1, "idle_us": 0}), cpus(), None, None),
        # the CPU with most events counts at either end
        (
            cpus(cpu(throttled=0)),
            cpus(cpu(throttled=3), cpu(throttled=1)),
            3,
            None,
        ),
        (cpus(cpu(throttled=0)), cpus(), 0, None),
        # the busy CPU that slowed most counts; an idle one may slow down
        (cpus(FASTER, SLOWER), cpus(), None, pytest.approx(-20)),
        (cpus(FASTER), cpus(), None, pytest.approx(10)),
        (cpus(IDLE), cpus(), None, None),
        (
            cpus(IDLE, cpu(3_000_000, 2_999_000)),
            cpus(),
            None,
            pytest.approx(-0.033, abs=0.01),
        ),
    ],
)
def test_events_and_the_change_of_frequency_are_those_of_the_worst_cpu(gen, sink, events, percent):
    found = throttling(RunOutcome((Direction(gen, sink),), started_unix_ns=0, wall_s=1.0))
    assert found == dict(zip(THROTTLED, (events, percent), strict=True))
