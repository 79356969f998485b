"""The difference of two snapshots of an agent's meter."""

import pytest

from netlab.generators.tool_meters import difference


def snapshot(t_ns, busy_us, **cpu):
    return {
        "t_ns": t_ns,
        "interface": {"name": "v0", "tx_bytes": t_ns, "rx_bytes": 0},
        "cpu": [{"cpu": 0, "user_us": busy_us, "idle_us": 0, **cpu}],
        "interrupts": 1,
        "context_switches": 1,
        "softnet": {"processed": 1},
        "process": {"user_us": busy_us},
    }


UNKNOWN = {"frequency_kHz": None, "first_frequency_kHz": None, "throttled": None}


def test_a_host_without_cpufreq_has_no_frequency():
    (cpu,) = difference(snapshot(1, 10, **UNKNOWN), snapshot(5, 30, **UNKNOWN))["cpu"]
    assert cpu == {"cpu": 0, "user_us": 20, "idle_us": 0, **UNKNOWN}


def test_frequencies_are_those_of_both_snapshots_and_events_are_counted():
    early = {"frequency_kHz": 3_000_000, "first_frequency_kHz": None, "throttled": 4}
    late = {"frequency_kHz": 2_000_000, "first_frequency_kHz": None, "throttled": 9}
    (cpu,) = difference(snapshot(1, 10, **early), snapshot(5, 30, **late))["cpu"]
    assert cpu["first_frequency_kHz"] == 3_000_000 and cpu["frequency_kHz"] == 2_000_000
    assert cpu["throttled"] == 5 and cpu["user_us"] == 20


def test_a_host_without_backlog_counters_has_no_difference_of_them():
    known, masked = snapshot(1, 1, **UNKNOWN), {**snapshot(2, 1, **UNKNOWN), "softnet": None}
    assert difference(known, snapshot(2, 1, **UNKNOWN))["softnet"] == {"processed": 0}
    assert difference(masked, masked)["softnet"] is difference(known, masked)["softnet"] is None


@pytest.mark.parametrize("grown", [4, -1])
def test_a_count_that_decreased_is_a_reset(grown):
    made = difference(snapshot(5, 1, **UNKNOWN), snapshot(5 + grown, 1, **UNKNOWN))
    assert made["interface"]["tx_bytes"] == grown
    assert made["interface"]["reset"] is (grown < 0)
