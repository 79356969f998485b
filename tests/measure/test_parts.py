"""Samples that come in parts are put together, or the run fails."""

import copy

import numpy as np
import pytest

from netlab.errors import RunError
from netlab.measure.exchange import RunEnd, _Inbox


class Scripted:
    """An agent with a list of answers."""

    def __init__(self, answers):
        self.answers = list(answers)

    def poll(self, _timeout_s):
        return self.answers.pop(0) if self.answers else None


def part(table, first, values):
    words = {"event": "samples", "run": 7, "role": "gen", "table": table}
    return {**words, "first": first, "values": values}


RESULT = {
    **{"event": "gen_result", "run": 7, "status": "ok", "t_go_ns": 1, "total_bytes": 2},
    **{"interval_sum_bytes": 2, "per_stream": [], "trace": None},
    "samples": {"interval_ms": 50, "count": 3, "parts": 3},
}
PARTS = [part("t_ns", 0, [1, 2, 3]), part("bytes", 0, [0, 1, 2, 10]), part("bytes", 4, [11, 12])]


def received(answers):
    times = iter(range(1000))
    side = RunEnd("h", Scripted(copy.deepcopy(answers)), "198.18.0.1", "data0", 0, 0)
    return _Inbox(side, [7], lambda: next(times)).wait("gen_result", 7, 100)


def test_the_parts_become_one_table_per_stream():
    samples = received([*PARTS, RESULT])["samples"]
    assert samples["t_ns"].tolist() == [1, 2, 3]
    assert samples["bytes"].tolist() == [[0, 1, 2], [10, 11, 12]]


def test_a_trace_in_parts_has_its_three_tables():
    names = ("rtt_us", "cwnd_segments", "retransmits")
    traced = [part(name, 0, [5, 6, 7, 8, 9, 10]) for name in names]
    samples = {**RESULT["samples"], "parts": 6}
    trace = received([*PARTS, *traced, {**RESULT, "trace": {}, "samples": samples}])["trace"]
    assert set(trace) == set(names)
    assert all(np.array_equal(table, [[5, 6, 7], [8, 9, 10]]) for table in trace.values())


@pytest.mark.parametrize(
    "parts",
    [PARTS[:2], [*PARTS, PARTS[2]], [PARTS[0], PARTS[2], PARTS[1]], [PARTS[0], *PARTS[:2]]],
    ids=["one missing", "one too many", "out of order", "twice"],
)
def test_incomplete_parts_fail_the_run(parts):
    with pytest.raises(RunError, match="h: the samples of its gen_result are") as caught:
        received([*parts, RESULT])
    assert caught.value.code == "E-MEASURE-007" and caught.value.reason == "peer"
