"""Every fault of the table in docs/promises.md: exit code, sentence, and nothing left behind."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest
from e2e.faults.causes import FAULTS
from e2e.faults.fault_site import SSHD, Site, disturbed, promised, resumed, unchanged, until
from e2e.faults.under_way import GONE_S

PROMISES = promised("Faults and what is seen of them")
SIDE_BY_SIDE = 4
"""Faults at a time: most of their time is waiting."""
RESUMED = {
    "a host becomes unreachable while its agent is pushed",
    "a host becomes unreachable while it is tuned",
    "the agent is stopped for 35 s",
    "tune and its guard are killed",
    "the controller is killed",
    "the disk of the results is full",
}
"""Faults after which the same command runs again: each leaves something else behind."""
OF_THE_SITE = {"host_key", "host_key.pub", "sshd_config", "sshd.log", "authorized_keys", "wrapper"}


@pytest.fixture(scope="module")
def before(tmp_path_factory) -> Path:
    """Results of an earlier, shorter run of the study."""
    if os.geteuid() != 0 or not SSHD or not shutil.which("ip"):
        pytest.fail("the faults need root, sshd and iproute2: they work in network namespaces")
    with Site(tmp_path_factory.mktemp("before")) as site:
        site.completed(seconds=0.3)
        return Path(shutil.copytree(site.results, site.state / "kept"))


@pytest.fixture(scope="module")
def endured(request, before, tmp_path_factory) -> Iterator[dict[str, Future]]:
    """The faults that the selected tests are about, under way."""
    chosen = [
        item.callspec.params["fault"]
        for item in request.session.items
        if item.module is request.module and "fault" in getattr(item, "fixturenames", ())
    ]
    with ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
        yield {
            fault: pool.submit(endure, fault, tmp_path_factory.mktemp("site"), before)
            for fault in chosen
        }


def test_the_table_has_every_fault():
    assert set(PROMISES) == set(FAULTS) > RESUMED


@pytest.mark.timeout(600)
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_ends_as_promised_and_leaves_nothing(fault, endured):
    endured[fault].result()


def endure(fault: str, state: Path, before: Path) -> None:
    """Cause a fault on a site of its own, with results from before, and hold it to its promise."""
    exit_code, sentence = PROMISES[fault]
    with Site(state) as site:
        shutil.copytree(before, site.results)
        tables, settings = site.tables(), site.dump()
        code, complaint = FAULTS[fault](site)
        if exit_code == 0 and disturbed(code, complaint):
            code = 0
        assert code == exit_code, complaint
        assert sentence in complaint, complaint
        for unwanted in ("Traceback", "Warning"):
            assert unwanted not in complaint, complaint
        nothing_left(site, settings)
        unchanged(site, tables)
        if fault in RESUMED:
            resumed(site, tables)
            nothing_left(site, settings)


def nothing_left(site: Site, settings: dict[str, str]) -> None:
    """No process, no journal, no file but the cache, and every setting as before."""
    for name in site.addresses:
        until(lambda name=name: not site.processes(name), GONE_S)
    until(lambda: not site.journals(), GONE_S)
    with contextlib.suppress(AssertionError):
        until(lambda: site.dump() == settings)
    after = site.dump()
    for part, text in settings.items():
        assert after[part] == text, part
    leftovers = {
        path.name
        for name in site.addresses
        for path in (site.state / name).rglob("*")
        if path.is_file() and "cache/netlab" not in str(path)
    }
    assert leftovers <= OF_THE_SITE
