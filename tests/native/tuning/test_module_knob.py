"""Modules of congestion controls as knobs, on a machine that pretends to have some.

The real modprobe and /sys/module are the machine's; here both are a directory and a script.
"""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest
from native.tuning.conftest import PretendedMachine, begun, statuses
from waiting import until

KNOB = "knob=module name=tcp_scalable"
MODPROBE = r"""#!/bin/sh
here=$(dirname "$0")
echo "$*" >> "$here/said"
[ ! -e "$here/slow" ] || sleep 1
case $1 in
--)
	[ "$2" = tcp_scalable ] || { echo "modprobe: FATAL: Module $2 not found." >&2; exit 1; }
	mkdir -p "$here/module/$2" && echo live > "$here/module/$2/initstate" ;;
-r)
	[ -e "$here/in_use" ] && { echo "modprobe: FATAL: Module $3 is in use." >&2; exit 1; }
	rm -r "$here/module/$3" ;;
esac
"""


class Machine(PretendedMachine):
    """A directory that stands for /sys/module and modprobe."""

    def __init__(self, root: Path):
        super().__init__(root)
        self.modules = root / "module"
        self.modules.mkdir()
        (root / "modules").touch()
        script = root / "modprobe"
        script.write_text(MODPROBE)
        script.chmod(0o755)

    def loaded(self) -> list[str]:
        return sorted(path.name for path in self.modules.iterdir())

    def said(self) -> list[str]:
        return (self.root / "said").read_text().splitlines()


def test_a_module_is_loaded_for_a_session_and_gone_after_it(pretended, machine):
    channel = begun(pretended)
    assert channel.ask(f"read {KNOB}")["value"] == "absent"
    answer = channel.ask(f"set {KNOB} value=loaded")
    assert (answer["status"], answer["old"], answer["readback"]) == ("applied", "absent", "loaded")
    assert machine.loaded() == ["tcp_scalable"]
    assert channel.ask("verify")["drifted"] == 0
    assert channel.ask_all("revert", "reverted_all")[0]["status"] == "restored"
    assert machine.loaded() == []
    assert machine.said() == ["-- tcp_scalable", "-r -- tcp_scalable"]
    assert channel.close() == 0


def test_a_module_loaded_before_stays(pretended, machine):
    (machine.modules / "tcp_scalable").mkdir()
    (machine.modules / "tcp_scalable/initstate").write_text("live\n")
    channel = begun(pretended)
    assert channel.ask(f"set {KNOB} value=loaded")["status"] == "unchanged"
    assert channel.close() == 0
    assert machine.loaded() == ["tcp_scalable"]
    assert not (machine.root / "said").exists()


def test_a_built_in_control_is_read_and_left(pretended, machine):
    (machine.modules / "tcp_cubic").mkdir()
    channel = pretended.tune()
    answer = channel.ask("read knob=module name=tcp_cubic")
    assert (answer["value"], answer["writable"]) == ("loaded", False)
    assert answer["reason"] == "built into the kernel"


def test_a_missing_module_is_refused_with_modprobes_message(pretended, machine):
    channel = begun(pretended)
    answer = channel.ask("set knob=module name=tcp_none value=loaded")
    assert answer["status"] == "refused"
    assert answer["reason"] == "modprobe tcp_none: modprobe: FATAL: Module tcp_none not found."


def test_a_kernel_without_modules_has_no_such_knob(pretended, machine):
    (machine.root / "modules").unlink()
    answer = pretended.tune().ask(f"read {KNOB}")
    assert (answer["supported"], answer["reason"]) == (False, "this kernel takes no modules")


def test_a_module_still_in_use_is_waited_for(pretended, machine):
    """Closing connections use it for a moment; the removal is retried until it is free."""
    channel = begun(pretended, f"{KNOB} value=loaded")
    busy = machine.root / "in_use"
    busy.touch()
    timer = threading.Timer(0.4, os.unlink, (busy,))
    timer.start()
    try:
        assert channel.ask_all("revert", "reverted_all")[0]["status"] == "restored"
    finally:
        timer.join()
    assert machine.loaded() == []
    assert len(machine.said()) > 2


def test_a_module_that_stays_in_use_is_reported_and_left_for_recovery(pretended, machine):
    channel = begun(pretended, f"{KNOB} value=loaded")
    (machine.root / "in_use").touch()
    (answer, total) = channel.ask_all("revert", "reverted_all")
    assert answer["status"] == "failed"
    assert "in use" in answer["reason"]
    assert total["failed"] == 1
    (machine.root / "in_use").unlink()
    channel.close()
    assert machine.loaded() == []


@pytest.mark.parametrize("killed", ["process", "process and guard"])
def test_a_kill_while_modprobe_works_waits_for_what_it_does(pretended, machine, killed):
    """It inherits the locks, so that nobody takes the module for absent before it is loaded."""
    (machine.root / "slow").touch()
    channel = begun(pretended)
    channel.send(f"set {KNOB} value=loaded")
    until((machine.root / "said").exists)
    if killed == "process":
        channel.kill()
    else:
        channel.kill_both()
        assert pretended.tune().ask("recover")["code"] == "in_use"
    pretended.settled()
    if killed != "process":
        answers = pretended.tune().ask_all("recover", "reverted_all")
        assert statuses(answers) == ["restored"]
    assert (machine.loaded(), pretended.journals()) == ([], [])
    assert machine.said()[0] == "-- tcp_scalable" and machine.said()[-1] == "-r -- tcp_scalable"
