"""A run is flagged for what is wrong with it, and only for that."""

from __future__ import annotations

import pandas as pd
import pytest

from netlab.measure.exchange import Direction, RunOutcome
from netlab.measure.flags import STALL_S, flags_of, interference
from netlab.results import FLAGS
from netlab.study import Timing

TIMING = Timing(rounds=1, seconds=1.0, warmup_s=0.0, interval_ms=100)
FINE = {
    "window_s": 1.0,
    "percent_of_ceiling": 80.0,
    "ceiling_kind": "bus",
    "steal_percent": 0.0,
    "foreign_cpu_percent": 0.0,
}


def outcome(**result) -> RunOutcome:
    """A run whose two agents gave the same result."""
    answer = {"status": "ok", "message": None, "meter": None, **result}
    return RunOutcome((Direction(gen=answer, sink=answer),), started_unix_ns=0, wall_s=1.0)


def intervals(moved: list[int], direction: str = "forward") -> pd.DataFrame:
    """Samples of one stream, 100 ms each, all in the window."""
    rows = [
        {"direction": direction, "t_s": 0.1 * (k + 1), "interval_s": 0.1, "bytes": count}
        for k, count in enumerate(moved)
    ]
    return pd.DataFrame(rows).assign(in_window=True, stream=0, run_id="r")


BUSY = intervals([1000] * 10)


def flagged(row=(), result=(), problems=(), drift=(), samples=BUSY, surplus=()) -> dict[str, str]:
    """Flags of a run that is fine but for what is given."""
    return flags_of(
        FINE | dict(row),
        outcome(**dict(result)),
        list(problems),
        list(drift),
        samples,
        TIMING,
        surplus=surplus,
    )


def test_a_run_without_fault_has_no_flag():
    assert flagged() == {}
    assert flagged(result={"watch_late_us": 700_000}) == {}


def test_a_failed_run_names_the_threads_that_were_late():
    late = {"status": "timeout", "message": "no end", "watch_late_us": 9_240_000}
    said = "sink: no end, the sender's watch thread was late by 9.24 s, the sink's watch thread"
    assert flagged(result=late)["failed"].startswith(said)
    in_time = late | {"watch_late_us": 40_000}
    assert flagged(result=in_time)["failed"] == "sink: no end"


def test_a_failed_run_whose_bytes_had_not_arrived_names_the_key_that_gives_them_time():
    late = {"status": "timeout", "message": "no end"}
    bytes_B = {"sent_B": 66_738_320, "received_B": 62_523_192}
    said = "sink: no end, 4215128 B had not arrived: give them more time, timing.drain_s"
    assert flagged(row=bytes_B, result=late)["failed"] == said
    cut = {"status": "error", "message": "cut"}
    assert flagged(row=bytes_B, result=cut)["failed"] == "sink: cut"


@pytest.mark.parametrize(
    ("fault", "flag", "says"),
    [
        ({"result": {"status": "timeout", "message": "late"}}, "failed", "late"),
        ({"result": {"status": "stopped"}}, "failed", "stopped"),
        ({"row": {"window_s": 0.5}}, "stalled", "ended before"),
        ({"row": {"window_s": None}}, "stalled", "ended before"),
        ({"row": {"window_s": None, "records": 9}}, "stalled", "ended before"),
        ({"row": {"percent_of_ceiling": 101.5}}, "implausible", "101.5 % of the bus"),
        ({"problems": ["sent 2 B, read 1 B"]}, "ledger_mismatch", "read 1 B"),
        ({"row": {"steal_percent": 9.0}}, "interference", "steal 9.0 %"),
        ({"row": {"foreign_cpu_percent": 40.0}}, "interference", "foreign CPU load 40.0 %"),
        (
            {"row": {"foreign_traffic_percent": 1.1}},
            "interference",
            "an interface, 1.1 % of the run",
        ),
        ({"row": {"throttle_events": 2}}, "interference", "throttling of a CPU, 2 events"),
        ({"row": {"cpu_frequency_percent": -10.5}}, "interference", "changed by -10.5 % within"),
        ({"surplus": ["rx saw 9 B"]}, "interference", "rx saw 9 B"),
        ({"drift": ["left: mtu was 9000, is 1500"]}, "tuning_drift", "is 1500"),
        (
            {
                "result": {
                    "meter": {"window": None, "total": {"interface": {"name": "x0", "reset": True}}}
                }
            },
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
    short = {"percent_of_ceiling": 101.4, "window_s": 0.2, "retransmits": 0}
    emulated = {"path_rtt_us": 30_000.0, "emulator_late_us": 200.0, "ceiling_MBps": 60.0}
    timing = Timing(rounds=1, seconds=0.2, warmup_s=0.0, interval_ms=100)
    for percent, flags in ((101.4, []), (104.5, ["implausible"])):
        row = FINE | short | emulated | {"percent_of_ceiling": percent}
        assert list(flags_of(row, outcome(), [], [], BUSY, timing)) == flags


def test_a_run_of_fixed_bytes_may_end_before_the_time_of_the_others():
    assert flagged(row={"window_s": 0.5, "records": 1000}) == {}


def test_a_silence_as_long_as_a_retransmission_timeout_is_a_stall():
    silent = round(STALL_S / 0.1)
    assert "stalled" in flagged(samples=intervals([1000] * 4 + [0] * silent + [1000] * 4))
    pause = intervals([1000] * 4 + [0] * (silent - 1) + [1000] * 4)
    assert flagged(samples=pause) == {}


def test_a_silence_of_a_round_trip_is_none():
    """On a long path the sender pauses after a window until it is acknowledged."""
    silent = intervals([1000] * 4 + [0] * 3 + [1000] * 4)
    assert "stalled" in flagged(row={"min_rtt_us": 50_000.0}, samples=silent)
    assert flagged(row={"min_rtt_us": 183_000.0}, samples=silent) == {}


def test_one_silent_direction_of_two_is_a_stall():
    both = pd.concat([BUSY, intervals([0] * 10, "reverse")])
    assert "reverse" in flagged(samples=both)["stalled"]


def test_a_silent_stream_among_busy_ones_is_not_a_stall():
    quiet = intervals([0] * 10).assign(stream=1)
    assert flagged(samples=pd.concat([BUSY, quiet])) == {}


def test_unknown_shares_are_not_flagged():
    unknown = dict.fromkeys(("percent_of_ceiling", "steal_percent", "foreign_cpu_percent"))
    assert flagged(row=unknown) == {}


def metered(duration_ns: int = 10**9, **clock) -> dict:
    """A run of two ends whose clocks did this."""
    fine = {"steps": 0, "step_ns": 0, "drift_ns": 0, "unsure_ns": 200}
    span = {"t0_ns": 5, "t1_ns": 5 + duration_ns, "interface": None, "clock": fine | clock}
    return {"meter": {"window": span, "total": span}}


@pytest.mark.parametrize("step_ns", [2_000_000_000, -2_000_000_000])
def test_a_clock_that_was_set_is_flagged_with_how_much(step_ns):
    found = flagged(result=metered(steps=1, step_ns=step_ns))
    assert list(found) == ["clock_step"]
    assert f"sink: the clock was set by {step_ns / 1e9:+.3f} s" in found["clock_step"]


@pytest.mark.parametrize("sign", [1, -1])
def test_a_clock_that_runs_too_fast_or_slow_is_flagged(sign):
    bound_ns = 1_000_000  # of 1 s
    assert flagged(result=metered(drift_ns=sign * bound_ns)) == {}
    found = flagged(result=metered(drift_ns=sign * (bound_ns + 1000)))
    assert f"{sign * 1001:+d} ppm" in found["clock_step"]


def test_uncertainty_of_the_clock_readings_is_not_drift():
    assert flagged(result=metered(drift_ns=5_000_000, unsure_ns=4_500_000)) == {}


def test_every_flag_is_one_that_the_results_know():
    faults = [
        flagged(result={"status": "stopped"}, row={"window_s": 0.5, "percent_of_ceiling": 200.0}),
        flagged(problems=["x"], drift=["y"], row={"steal_percent": 9.0}),
        flagged(result=metered(steps=1)),
    ]
    assert {flag for found in faults for flag in found} < set(FLAGS)


@pytest.mark.parametrize(
    ("steal", "foreign", "says"),
    [
        (0.0, 3.9, None),
        (0.0, 4.1, "foreign CPU load 4.1 %"),
        (None, None, None),
        (6.0, 0.0, "steal 6.0 %"),
        (6.0, 20.0, "steal 6.0 %, foreign CPU load 20.0 %"),
    ],
)
def test_steal_and_foreign_load_interfere_from_a_share_on(steal, foreign, says):
    assert interference({"steal_percent": steal, "foreign_cpu_percent": foreign}) == says


@pytest.mark.parametrize(
    "fine",
    [
        {"foreign_traffic_percent": 0.9},
        {"foreign_traffic_percent": None},
        {"throttle_events": 0},
        {"cpu_frequency_percent": -9.0},
        {"cpu_frequency_percent": 30.0},
    ],
)
def test_little_traffic_and_a_steady_or_faster_cpu_do_not_interfere(fine):
    assert flagged(row=fine) == {}


def test_the_largest_foreign_process_is_named():
    row = {"steal_percent": 0.0, "foreign_cpu_percent": 20.0}
    says = "foreign CPU load 20.0 %, most of it by make (process 8)"
    assert interference(row, largest="make (process 8)") == says
