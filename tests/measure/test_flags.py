"""A run is flagged for what is wrong with it, and only for that."""

import pytest
from measure.flagged_runs import BUSY, FINE, LATE, MISSING, TIMING, intervals, outcome
from measure.scripted import result

from netlab.measure.fairness import STALL_S
from netlab.measure.flags import flags_of, interference
from netlab.measure.steadiness import unsteady
from netlab.results.flags import Flag
from netlab.study import Timing


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
