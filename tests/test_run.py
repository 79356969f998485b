"""What fails is tried once more where others had the machine, and only there."""

import pytest
import run


@pytest.mark.parametrize(
    ("codes", "stolen", "code", "calls"),
    [
        ([0], 90, 0, 1),
        ([1], 0, 1, 1),
        ([1, 0], 90, 0, 2),
        ([1, 1], 90, 1, 2),
        ([2], 90, 2, 1),  # interrupted
    ],
)
def test_only_failures_are_tried_again(monkeypatch, codes, stolen, code, calls):
    ticks = iter([(10, 1000), (10 + stolen, 2000)])
    called = []

    def pytest_run(argv):
        called.append(argv)
        return run.subprocess.CompletedProcess(argv, codes[len(called) - 1])

    monkeypatch.setattr(run, "_cpu_ticks", lambda: next(ticks))
    monkeypatch.setattr(run.subprocess, "run", pytest_run)
    assert run.main(["-q"]) == code
    assert len(called) == calls
    assert ["--last-failed" in argv for argv in called] == [False, True][:calls]
