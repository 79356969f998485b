"""Runs that are measured again."""

import pytest
import synthetic

from netlab.experiment.retries import disturbed, failed, held_up


@pytest.mark.parametrize(
    ("flags", "is_disturbed"),
    [
        ("", False),
        ("interference", True),
        ("implausible,interference", True),
        ("implausible", False),
        ("stalled,interference", False),
        ("failed", False),
    ],
)
def test_only_runs_that_a_load_alone_explains_are_measured_again(flags, is_disturbed):
    runs = synthetic.runs_of(synthetic.openlab()).head(2)
    runs["flags"] = ["", flags]
    assert disturbed(runs).tolist() == [False, is_disturbed]


def test_runs_whose_ends_got_no_cpu_in_time_are_measured_again():
    runs = synthetic.runs_of(synthetic.openlab()).head(5)
    runs["flags"] = ["failed", "failed,ledger_mismatch,interference", "failed", "stalled", ""]
    closed = "sink: the streams ended before the window did"
    late = "sink: streams did not end in 5000 ms, the sender's watch thread was late by 5.20 s"
    runs["message"] = [closed, f"{late}; foreign CPU load 90 %", "sender: reset", closed, ""]
    assert held_up(runs).tolist() == [True, True, False, False, False]
    assert failed(runs).tolist() == [True, True, True, False, False]
