"""A small study of lab hosts, and the netlab command as a user runs it."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import apart
import pytest
import yaml
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from studies import LAB, two_hosts
from waiting import until

from netlab.files.dated import documents
from netlab.lab import reaper

ROOT = Path(__file__).resolve().parents[2]
NETLAB = (sys.executable, "-m", "netlab")

EARLY_US = 400
"""An arrival is taken to be as early as the emulator usually wakes late: 0.2 ms each way."""


def small_study(name: str) -> dict:
    """Two lab hosts, two tunings, eight runs of 0.2 s, none of which is flagged as disturbed."""
    bus = {"bandwidth_MBps": 1064.0, "label": "a test bus"}
    tunings = [
        {"name": "openlab-2003-normal", "mtus_B": [1500]},
        {"name": "openlab-2003-full", "mtus_B": [9000]},
    ]
    return two_hosts(
        name,
        None,
        {"name": "left -> right"},
        {"name": "left <-> right", "direction": "<->"},
        hosts={host: {**LAB, "bus": {**bus}} for host in ("left", "right")},
        **{"title": "A small study", "tunings": tunings, "streams": [1, 4], "force_buffer": True},
        timing={"rounds": 1, "seconds": 0.2, "warmup_s": 0.05, "interval_ms": 20},
        seed=7,
    )


# These change by themselves: counters, clocks and random material, never settings.
LIVE_SYSCTLS = re.compile(
    r"^(fs\.(dentry-state|file-nr|inode-nr|inode-state|quota\.|aio-nr|epoll|mqueue)"
    r"|kernel\.(random\.|ns_last_pid|pty\.nr|tainted|sched_domain|perf_event_max_sample_rate"
    r"|arch|threads-max|keys\.)"
    r"|vm\.(stat|numa_stat)|net\.netfilter\.nf_conntrack_count|dev\.cdrom|debug\.)"
)
# A stack is registered for the whole machine: a worker also sees those of the other one's tests.
STACKS_OF_OTHERS = re.compile(r" nl_\w+") if apart.is_wanted() else re.compile(r"(?!)")


def _text(*argv: str) -> str:
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    return done.stdout


def dump() -> dict[str, str]:
    """Sysctls, links, addresses, qdiscs and device settings of the machine, without counters."""
    sysctls = [
        STACKS_OF_OTHERS.sub("", line) if "congestion_control = " in line else line
        for line in _text("sysctl", "-a").splitlines()
        if not LIVE_SYSCTLS.match(line)
    ]
    parts = {
        "sysctl": "\n".join(sysctls),
        "link": _text("ip", "-d", "link"),
        "address": re.sub(r"valid_lft \S+|preferred_lft \S+", "", _text("ip", "address")),
        "route": _text("ip", "route", "show", "table", "all"),
        "qdisc": _text("tc", "qdisc", "show"),
    }
    for name in os.listdir("/sys/class/net"):
        for flag in ("-k", "-g", "-c"):
            parts[f"ethtool {flag} {name}"] = _text("ethtool", flag, name)
        for file in ("gro_flush_timeout", "napi_defer_hard_irqs", "tx_queue_len", "mtu"):
            parts[f"{file} of {name}"] = _text("cat", f"/sys/class/net/{name}/{file}")
    return parts


def made() -> set[str]:
    """Names of the network namespaces and task groups that netlab has made on this machine."""
    namespaces = _text("ip", "netns", "list").split()
    groups = (
        f"{mount}/{name}"
        for mount, _ in reaper.cpu_hierarchies()
        for name in os.listdir(mount)
        if name.startswith(reaper.PREFIX)
    )
    return {name for name in namespaces if name.startswith(reaper.PREFIX)} | set(groups)


def difference(before: dict[str, str], after: dict[str, str]) -> list[tuple[str, str]]:
    """Part and line of all that one dump has and the other has not."""
    lines = [
        {(part, line) for part, text in one.items() for line in text.splitlines()}
        for one in (before, after)
    ]
    return sorted(lines[0] ^ lines[1])


def assert_machine_is(before: dict[str, str]) -> None:
    """Others may be at work on this machine for a moment; what stays different is a failure."""
    with contextlib.suppress(AssertionError):
        until(lambda: not difference(before, dump()))
    assert difference(before, dump()) == []


@contextlib.contextmanager
def untouched() -> Iterator[None]:
    """The machine's own settings and namespaces are the same after the block as before."""
    before, names = dump(), made()
    yield
    assert_machine_is(before)
    until(lambda: made() <= names)


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[webdriver.Chrome]:
    """Headless Chromium with its console and network recorded."""
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    for argument in (
        *("--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"),
        *("--no-first-run", "--disable-background-networking", "--disable-component-update"),
        *("--disable-sync", "--window-size=1280,1600"),
        f"--user-data-dir={tmp_path_factory.mktemp('profile')}",
    ):
        options.add_argument(argument)
    driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
    driver.set_page_load_timeout(120)
    driver.set_script_timeout(120)
    yield driver
    driver.quit()


@pytest.fixture
def machine_untouched():
    """The machine's own settings and namespaces are the same after the test as before."""
    with untouched():
        yield


def stored(parent: Path, name: str) -> dict:
    """The document of the only run that a command has stored."""
    (document,), damaged = documents(parent, name)
    assert not damaged
    return document.content


def run_netlab(*argv: str, timeout_s: float = 120) -> subprocess.CompletedProcess:
    return subprocess.run(
        (*NETLAB, *argv),
        cwd=ROOT,
        env={**os.environ, "COLUMNS": "100"},
        capture_output=True,
        text=True,
        timeout=timeout_s,
    )


def run_on_lab(folder: Path, content: dict, timeout_s: float = 120) -> subprocess.CompletedProcess:
    """Run a study with its file and its results, `r`, in a folder."""
    file = folder / "study.yml"
    file.write_text(yaml.safe_dump(content, sort_keys=False))
    return run_netlab("run", str(file), "--results", str(folder / "r"), timeout_s=timeout_s)


def measured_through(done: subprocess.CompletedProcess) -> None:
    """Assert that a study was measured.

    Exit code 4 is right where noise of the machine had all runs of a cell flagged, or more than 5 %
    of all; a test that needs valid runs looks at them.
    """
    noisy = done.returncode == 4 and "no valid run" in done.stderr
    assert done.returncode == 0 or noisy or below_gate(done), done.stderr


def below_gate(done: subprocess.CompletedProcess) -> bool:
    """True if a report was written and is below the quality gate."""
    return done.returncode == 4 and "below the quality gate" in done.stderr
