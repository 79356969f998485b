"""Columns of a run from two reports of its emulator."""

from __future__ import annotations

import pytest
from emulation import late, report

from netlab import results
from netlab.measure import Emulated
from netlab.measure.exchange import Direction
from netlab.measure.flags import EMULATOR_LATE_US, flags_of

SECOND_NS = 1_000_000_000
FLOWS = (Direction(gen={}, sink={"t_go_ns": 10 * SECOND_NS}),)


def between(before: dict, after: dict, forward: str = "ab") -> Emulated:
    before["t_ns"], after["t_ns"] = 9 * SECOND_NS, 13 * SECOND_NS
    return Emulated(before, after, forward)


def test_counts_are_of_the_run_alone_and_of_both_directions():
    before = report(in_packets=100, in_bytes=1000)
    after = report(in_packets=150, in_bytes=9000, max_queue_B=77)
    before["directions"][0]["dropped"]["queue"] = 3
    after["directions"][0]["dropped"].update(queue=5, loss=1)
    after["directions"][1]["dropped"]["refused"] = 1
    after["directions"][1]["max_queue_B"] = 99
    columns = between(before, after).columns(FLOWS)
    assert columns["path_packets"] == 100 and columns["path_B"] == 16_000
    assert columns["path_drops"] == 4 and columns["path_queue_drops"] == 2
    assert columns["path_queue_max_B"] == 99 and columns["path_rtt_us"] == 10_000
    assert columns["path_forced_drops"] == 0 and columns["forced_loss_s"] is None
    assert set(columns) <= {column.name for column in results.RUN_COLUMNS}


def test_a_forced_loss_is_timed_on_the_axis_of_the_intervals():
    after = report()
    after["directions"][0]["dropped"]["forced"] = 1
    after["directions"][0]["forced_ns"] = 11 * SECOND_NS + SECOND_NS // 2
    assert between(report(), after).columns(FLOWS)["forced_loss_s"] == 1.5
    # one of an earlier run is none of this one
    earlier = report()
    earlier["directions"][0].update(forced_ns=1, dropped=after["directions"][0]["dropped"])
    assert between(earlier, after).columns(FLOWS)["forced_loss_s"] is None


@pytest.mark.parametrize(
    ("writes", "max_us", "late_us"),
    [
        ({10: 4990, 2000: 10}, 1700.0, 10.0),  # of 10,000 a hundred may be later
        ({10: 4940, 2000: 60}, 1700.0, 1700.0),
        ({10: 4940, 2000: 60}, 3000.0, 2000.0),
        ({50: 49, 0: 1}, 90_000.0, 90_000.0),  # two of 100 are late: one may be
        ({50: 50}, 42.0, 42.0),
        ({}, 0.0, None),
    ],
)
def test_lateness_bounds_all_writes_but_one_in_a_hundred(writes, max_us, late_us):
    """Both directions alike."""
    emulated = between(report(), report(lateness=late(writes, max_us)))
    assert emulated.late_us == late_us


def test_a_single_late_write_of_a_few_is_not_flagged():
    after = report(lateness=late({10: 50}, 5.0))
    after["directions"][1]["lateness"] = late({10: 49, 0: 1}, 50_000.0)
    assert between(report(), after).late_us == 10.0


def test_lateness_before_the_run_does_not_count():
    before = report(lateness=late({0: 500}, 70_000.0))
    after = report(lateness=late({10: 1000, 0: 500}, 8.0))
    assert between(before, after).late_us == 8.0


def test_processor_time_is_found_between_samples():
    after = report()
    after["process"] = {"user_us": 300, "system_us": 500, "waited_us": 400_000}
    after["samples"] = {"t_ns": [10 * SECOND_NS, 11 * SECOND_NS], "cpu_us": [0, 600]}
    emulated = between(report(), after)
    assert emulated.cpu_us(10 * SECOND_NS, 11 * SECOND_NS) == 600
    assert emulated.cpu_us(10 * SECOND_NS + SECOND_NS // 2, 12 * SECOND_NS) == 300 + 100
    assert emulated.waited_percent == 10.0
    assert emulated.columns(FLOWS)["emulator_cpu_percent"] == pytest.approx(0.02)


@pytest.mark.parametrize("forward", ["ab", "ba"])
def test_queues_are_rows_from_the_common_start_on(forward):
    after = report()
    after["samples"] = {
        "t_ns": [9 * SECOND_NS + 1, 10 * SECOND_NS, 12 * SECOND_NS],
        "cpu_us": [0, 0, 0],
        **{f"{way}_queue_{unit}": [1, 20, 30] for way in ("ab", "ba") for unit in ("B", "packets")},
        "ab_dropped": [1, 1, 4],
        "ba_dropped": [0, 0, 0],
    }
    frame = between(report(), after, forward).rows("r", FLOWS)
    frame = results.checked(frame, results.PATH_COLUMNS)
    assert frame["t_s"].tolist() == [0.0, 2.0, 0.0, 2.0]
    assert frame["queue_B"].tolist() == [20, 30, 20, 30]
    dropped = frame[frame["direction"] == ("forward" if forward == "ab" else "reverse")]
    assert dropped["drops"].tolist() == [0, 3]
    assert frame["drops"].sum() == 3


def test_a_run_that_never_started_has_no_time_to_count_from():
    after = report(dropped=report()["directions"][0]["dropped"] | {"forced": 1}, forced_ns=5)
    zeros = dict.fromkeys(
        f"{way}_{what}" for way in ("ab", "ba") for what in ("queue_B", "queue_packets", "dropped")
    )
    after["samples"] = {"t_ns": [5], "cpu_us": [0], **{key: [0] for key in zeros}}
    emulated, never = between(report(), after), (Direction(gen={}, sink={"t_go_ns": 0}),)
    assert emulated.rows("r", never).empty
    assert emulated.columns(never)["forced_loss_s"] is None


def test_a_report_without_samples_gives_no_rows_of_the_right_columns():
    frame = between(report(), report()).rows("r", FLOWS)
    assert results.checked(frame, results.PATH_COLUMNS).empty


def faults(after: dict) -> str | None:
    """Flags of a run that is valid except for its emulator."""
    from test_flags import BUSY, FINE, TIMING, outcome

    return flags_of(FINE, outcome(), [], [], BUSY, TIMING, between(report(), after)).get(
        "emulator_late"
    )


def test_a_run_is_flagged_when_its_emulator_was_late_waited_or_had_no_memory():
    edge_us = EMULATOR_LATE_US
    assert faults(report(lateness=late({10: 9000, 1000: 20}, edge_us))) is None
    late_one = report(lateness=late({10: 9000, 2000: 200}, 1900.0))
    assert "over 1000 us late" in faults(late_one)
    waited = report()
    waited["process"]["waited_us"] = 250_000
    assert "6.2 % of the run" in faults(waited)
    full = report()
    full["directions"][0]["dropped"]["memory"] = 2
    assert "no memory for 2 packets" in faults(full)


def test_a_long_path_may_be_later_by_as_small_a_share():
    """1.9 ms is less than half a per cent of 400 ms."""
    after = report(lateness=late({10: 9000, 2000: 200}, 1900.0), delay_us=200_000)
    assert faults(after) is None
