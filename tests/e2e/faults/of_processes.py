"""Causes of faults in processes of the hosts."""

from __future__ import annotations

import contextlib
import os
import signal
import time

from e2e.faults.fault_site import Site
from e2e.faults.under_way import STOPPED_S, Result, under_way


def killed(site: Site, *kinds: str) -> Result:
    process = under_way(site)
    site.kill("a", *kinds)
    return site.finished(process)


def tune_killed(site: Site) -> Result:
    before = len(site.rows())
    result = killed(site, "tune")
    rows = site.rows()
    failed = rows[rows["flags"] == "failed"]
    assert len(failed) == 1 and len(rows) <= before + 1, rows[["run_id", "flags", "message"]]
    assert "the connection to the host is gone" in failed["message"].iloc[0]
    return result


def tune_and_guard_killed(site: Site) -> Result:
    result = killed(site, "tune", "guard")
    assert len(site.journals()) == 1
    recovering = site.start("tune", "recover", str(site.study))
    out, complaint = recovering.communicate(timeout=60)
    assert recovering.returncode == 0, complaint
    assert "a: mtu restored" in out and "a: sysctl net.ipv4.tcp_sack restored" in out
    return result


def stopped(site: Site, kind: str) -> Result:
    process = under_way(site)
    began = time.monotonic()
    pid = site.harm("a", kind, signal.SIGSTOP)
    try:
        result = site.finished(process)
        time.sleep(max(0.0, began + STOPPED_S - time.monotonic()))
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)
    return result
