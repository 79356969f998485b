"""A passphrase or a second factor: ssh asks a user at a terminal, once, before the first run."""

from __future__ import annotations

import fcntl
import os
import re
import subprocess
import sys
import termios
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from e2e.faults.fault_site import disturbed
from e2e.visitor import Visitor
from waiting import until

ROOT = Path(__file__).resolve().parents[2]
CODE = "271828"
PAM = """\
auth required pam_exec.so expose_authtok quiet {check}
auth required pam_permit.so
account required pam_permit.so
session required pam_permit.so
"""
CHECK = """\
#!/bin/sh
read -r typed
echo asked >>{state}/asked
[ "$typed" = {code} ]
"""
FACTOR = """\
UsePAM yes
KbdInteractiveAuthentication yes
AuthenticationMethods publickey,keyboard-interactive:pam
"""


class Terminal:
    """A command at a terminal of its own, and the answers that a person types."""

    def __init__(self, site: Visitor, argv: list[str], answers: dict[str, str]):
        self._typed, theirs = os.openpty()
        self.printed = ""
        self._answers, self.asked = answers, []
        self.process = subprocess.Popen(
            site.inside("ctl", *argv),
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
            env={**os.environ, "HOME": str(site.state / "home"), "PYTHONPATH": str(ROOT)},
            cwd=site.state,
        )
        os.close(theirs)
        os.set_blocking(self._typed, False)

    def type(self, text: str) -> None:
        os.write(self._typed, text.encode())

    def __repr__(self) -> str:
        return self.printed

    def step(self) -> bool:
        """Read what is printed, and answer a prompt; True once the command has ended."""
        ended = self.process.poll() is not None
        try:
            self.printed += os.read(self._typed, 65536).decode().replace("\r", "")
        except OSError:  # nothing yet, or the end
            return ended
        for prompt, answer in self._answers.items():
            if re.search(f"{prompt}[^\n]*: ?$", self.printed):
                self.asked.append(prompt)
                self.printed += "\n"
                self.type(f"{answer}\n")
        return False

    def finish(self, timeout_s: float = 120) -> int:
        until(self.step, timeout_s)
        return self.process.returncode

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self._typed)


@pytest.fixture
def site(tmp_path) -> Iterator[Visitor]:
    with Visitor(tmp_path) as site:
        site.move_key(site.ssh / "id_ed25519")
        yield site


@pytest.fixture
def at_terminal(site) -> Iterator[Callable[..., Terminal]]:
    opened = []

    def start(*argv: str, **answers: str) -> Terminal:
        named = {key.replace("_", " "): answer for key, answer in answers.items()}
        opened.append(Terminal(site, [sys.executable, *argv], named))
        return opened[-1]

    yield start
    for one in opened:
        one.close()


def lock_key(site: Visitor) -> None:
    change = ("ssh-keygen", "-q", "-p", "-P", "", "-N", CODE, "-f", site.ssh / "id_ed25519")
    subprocess.run(change, check=True)


def ask_second_factor(site: Visitor, name: str) -> None:
    """The host asks for a code by PAM, after the key."""
    services = site.state / "pam.d"
    services.mkdir()
    check = services / "check"
    check.write_text(CHECK.format(state=site.state, code=CODE))
    check.chmod(0o700)
    (services / "sshd").write_text(PAM.format(check=check))
    config = site.state / name / "sshd_config"
    text = config.read_text().replace("UsePAM no\n", "").replace("prohibit-password", "yes")
    config.write_text(FACTOR + text)
    site.serve(name, prefix=f"mount --bind {services} /etc/pam.d && exec")


def times_asked(site: Visitor) -> int:
    file = site.state / "asked"
    return len(file.read_text().splitlines()) if file.exists() else 0


def test_a_second_factor_is_asked_once_for_all_visits_of_a_study(site, at_terminal):
    ask_second_factor(site, "b")
    words = ("run", str(site.study), "--results", str(site.results), "--rounds", "2")
    run = at_terminal("-m", "netlab", *words, "--seconds", "0.3", Password=CODE)
    code = run.finish()
    assert code == 0 or disturbed(code, run.printed), run.printed
    assert times_asked(site) == 1 and len(site.rows()) == 2, run.printed
    assert CODE not in run.printed
    until(lambda: not site.pids("ctl"))


def test_a_passphrase_is_asked_once_of_each_host(site, at_terminal):
    lock_key(site)
    for words in (("check", str(site.study)), ("init", "192.0.2.2", "192.0.2.6", "-o", "mine.yml")):
        command = at_terminal("-m", "netlab", *words, Enter_passphrase=CODE)
        assert command.finish() == 0, command.printed
        assert len(command.asked) == 2, command.printed


def test_measure_asks_once_for_its_survey_and_its_runs(site, at_terminal):
    ask_second_factor(site, "b")
    measured = at_terminal("-m", "netlab", "measure", "192.0.2.2", "192.0.2.6", Password=CODE)
    assert measured.finish() in (0, 4), measured.printed
    assert times_asked(site) == 1 and "MB/s" in measured.printed, measured.printed


def test_a_wrong_answer_is_refused_in_the_words_of_ssh(site, at_terminal):
    ask_second_factor(site, "b")
    checked = at_terminal("-m", "netlab", "check", str(site.study), Password="1")
    assert checked.finish() == 1, checked.printed
    assert "asked as a second factor" in checked.printed, checked.printed
    assert "| root@192.0.2.6: Permission denied (keyboard-interactive)." in checked.printed


def test_an_interrupt_at_the_question_ends_the_command(site, at_terminal):
    lock_key(site)
    checked = at_terminal("-m", "netlab", "check", str(site.study))

    def asked() -> bool:
        checked.step()
        return "Enter passphrase" in checked.printed

    until(asked)
    checked.type("\x03")
    assert checked.finish() == 130, checked.printed


PROGRAM = "import netlab; netlab.Study({study!r}).run(results={results!r})"
INVENTORY = """\
netlab: 1
hosts:
  a: {address: 192.0.2.2, data_address: 198.18.0.1, interface: data0}
  b: {address: 192.0.2.6, data_address: 198.18.0.2, interface: data0}
"""


def test_a_program_is_not_asked(site, at_terminal):
    lock_key(site)
    program = at_terminal("-c", PROGRAM.format(study=str(site.study), results=str(site.results)))
    assert program.finish() == 1, program.printed
    assert "needs a passphrase" in program.printed, program.printed
    assert "Enter passphrase" not in program.printed, program.printed


def test_a_fleet_is_not_asked(site, at_terminal):
    lock_key(site)
    inventory, results = site.state / "hosts.yml", str(site.results)
    inventory.write_text(INVENTORY)
    words = ("run", str(site.study), "--inventory", str(inventory), "--results", results)
    fleet = at_terminal("-m", "netlab", "fleet", *words, "--attempts", "1")
    assert fleet.finish() == 1, fleet.printed
    status = site.start("fleet", "status", results).communicate(timeout=60)
    assert "0 of 3 jobs done, 3 failed" in "".join(status), status
    assert "Enter passphrase" not in fleet.printed, fleet.printed


def test_without_a_terminal_the_remedy_is_named(site):
    lock_key(site)
    code, printed = site.check()
    assert code == 1 and "`ssh-add`" in printed and "only at a terminal" in printed, printed
