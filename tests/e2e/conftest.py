"""A small study of lab hosts, and the netlab command as a user runs it."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from selenium import webdriver
from selenium.webdriver.chrome.service import Service

from netlab.files.writing import documents
from netlab.lab.reaper import processes_in
from tests.e2e import dumps

ROOT = Path(__file__).resolve().parents[2]
PROCESSES_END_S = 10.0
NETLAB = (sys.executable, "-m", "netlab")
ANY_NOISE = {"steal_percent": 100.0, "foreign_cpu_percent": 100.0}
"""Limits that no noise exceeds: beside other tests nearly every run would be measured twice."""


def small_study(name: str) -> dict:
    """Two lab hosts, two tunings, eight runs of 0.2 s, none of which is flagged as disturbed."""
    bus = {"bandwidth_MBps": 1064.0, "label": "a test bus"}
    return {
        "netlab": 1,
        "name": name,
        "title": "A small study",
        "hosts": {"left": {"kind": "lab", "bus": bus}, "right": {"kind": "lab", "bus": bus}},
        "paths": {"cable": {"ends": [{"host": "left"}, {"host": "right"}], "link": {}}},
        "groups": [
            {"name": "left -> right", "path": "cable", "sender": "left"},
            {"name": "left <-> right", "path": "cable", "sender": "left", "direction": "<->"},
        ],
        "tunings": [
            {"name": "openlab-2003-normal", "mtus_B": [1500]},
            {"name": "openlab-2003-full", "mtus_B": [9000]},
        ],
        "streams": [1, 4],
        "force_buffer": True,
        "timing": {"rounds": 1, "seconds": 0.2, "warmup_s": 0.05, "interval_ms": 20},
        "noise": ANY_NOISE,
        "seed": 7,
    }


@contextlib.contextmanager
def untouched() -> Iterator[None]:
    """The machine's own settings and namespaces are the same after the block as before."""
    before, names = dumps.dump(), dumps.made()
    yield
    assert dumps.difference(before, dumps.dump()) == {}
    assert dumps.made() <= names


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


def run_netlab(*argv: str, timeout_s: float = 120, **more) -> subprocess.CompletedProcess:
    """Run the netlab command from the checkout's root."""
    environment = {**os.environ, "COLUMNS": "100", **more.pop("env", {})}
    return subprocess.run(
        (*NETLAB, *argv),
        cwd=more.pop("cwd", ROOT),
        env=environment,
        capture_output=True,
        text=True,
        timeout=timeout_s,
        **more,
    )


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


def nothing_more(names: list[str], before: set) -> None:
    """Wait until no process was added; a host's sshd takes a moment to end those of a session."""
    deadline = time.monotonic() + PROCESSES_END_S
    while more := set(processes_in(names)) - before:
        assert time.monotonic() < deadline, more
        time.sleep(0.1)
