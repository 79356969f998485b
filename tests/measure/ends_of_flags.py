"""Ends of a run with its processes, for tests of flags."""

from netlab.measure.exchange import Direction, RunOutcome


def end(pid: int, *top: tuple[int, str, int], more_us: int = 0) -> dict:
    """A result with the processes of its host: pid, name and CPU time in us."""
    processes = [{"pid": p, "born_ticks": 10 * p, "name": n, "cpu_us": us} for p, n, us in top]
    used_us = sum(us for _, _, us in top) + more_us
    others = {"pid": pid, "born_ticks": 10 * pid, "t0_ns": 0, "t1_ns": 10**9, "top": processes}
    return {"others": {**others, "cpu_us": used_us}, "meter": {"total": {"cpu": [{}, {}]}}}


def run(gen: dict, sink: dict) -> RunOutcome:
    return RunOutcome((Direction(gen=gen, sink=sink),), started_unix_ns=0, wall_s=1.0)
