"""Power cuts: the faults of docs/promises.md that need machines of their own.

The kernel of a machine that loses power writes nothing more: what was not synchronised is gone."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from e2e.faults.fault_site import promised, resumed, until
from nightly.vm.vm_site import KNOBS, Machines

PROMISES = promised("Machines that lose power")
Result = tuple[int, str]
MTU = "/sys/class/net/e1000e/mtu"
REVERTED = "the tuning is reverted"
AWAY_S = 60.0
"""Longer than the 15 s after which a guard reverts: interpreted processors are slow."""
JOURNAL = "/run/netlab/tune-*.journal"


def during_a_run(site: Machines) -> Result:
    """Host b, after its tuning is complete; its journal is gone with it."""
    process = site.under_way()
    assert " readback=" in site.guests["b"].sh(f"cat {JOURNAL}")
    site.guests["b"].cut()
    result = site.finished(process, 300)
    site.guests["b"].boot()
    assert not site.journals()
    recovering = site.start("tune", "recover", str(site.study))
    out, complaint = recovering.communicate(timeout=300)
    assert recovering.returncode == 0, complaint
    assert "b: nothing to recover" in out, out
    return result


def while_tuned(site: Machines) -> Result:
    """Host b, after the record of its second knob."""
    records = f"cat {JOURNAL} 2>/dev/null | grep -c '^set '"
    site.guests["b"].when(f'[ "$({records})" -ge 2 ]', "echo b >/proc/sysrq-trigger")
    result = site.finished(site.measure(), 300)
    assert site.guests["b"].lost_power()
    site.guests["b"].boot()
    assert not site.journals()
    return result


def both(site: Machines) -> Result:
    """Both hosts; a has no disk."""
    process = site.under_way()
    for guest in site.guests.values():
        guest.cut()
    result = site.finished(process, 300)
    booted(site)
    return result


def booted(site: Machines) -> None:
    for guest in site.guests.values():
        guest.start()
    for guest in site.guests.values():
        guest.wait()


def of_the_controller(site: Machines) -> Result:
    """The hosts revert while it is away, and say so on their consoles."""
    process = site.under_way()
    for guest in site.guests.values():
        guest.when(
            f"{{ sleep 0.3; [ $(cat {MTU}) = 1500 ]; }}", f"echo {REVERTED} >/dev/{guest.CONSOLE}"
        )
        assert guest.sh(f"cat {MTU}") == "9000\n"
    site.lose_controller(process)
    for guest in site.guests.values():
        until(lambda guest=guest: REVERTED in guest.console(), AWAY_S)
    site.find_controller()
    return site.finished(process)


def of_all(site: Machines) -> Result:
    process = site.under_way()
    site.lose_controller(process)
    for guest in site.guests.values():
        guest.cut()
    site.find_controller()
    booted(site)
    return site.finished(process)


FAULTS: dict[str, Callable[[Machines], Result]] = {
    "a host loses power during a run": during_a_run,
    "a host loses power while it is tuned": while_tuned,
    "both hosts lose power": both,
    "the controller loses power during a run": of_the_controller,
    "the controller and both hosts lose power": of_all,
}


def test_the_table_has_every_fault():
    assert set(PROMISES) == set(FAULTS)


@pytest.fixture(scope="module")
def before(two_machines: Machines) -> Path:
    """Results of an earlier, shorter run of the study."""
    two_machines.write_study([{"name": "big", "mtus_B": [9000], "knobs": KNOBS[:3]}])
    shutil.rmtree(two_machines.results, ignore_errors=True)
    two_machines.completed(seconds=0.5)
    return Path(shutil.copytree(two_machines.results, two_machines.state / "kept"))


@pytest.mark.timeout(600)
@pytest.mark.parametrize("fault", FAULTS)
def test_a_machine_comes_back_clean_and_the_next_run_completes(fault, two_machines, before):
    site, (exit_code, sentence) = two_machines, PROMISES[fault]
    shutil.rmtree(site.results)
    shutil.copytree(before, site.results)
    tables = site.tables()
    code, complaint = FAULTS[fault](site)
    assert code == exit_code, complaint
    assert sentence in complaint, complaint
    for unwanted in ("Traceback", "Warning"):
        assert unwanted not in complaint, complaint
    site.restored()
    resumed(site, tables)
    site.clean()
