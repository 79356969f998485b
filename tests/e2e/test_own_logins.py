"""Logins as people have them: a key in ~/.ssh, an agent, a Host block; no option of netlab."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from faults.site import STUDY, Site
from waiting import until

from netlab.study import load

NO_KEY = STUDY.replace(", user: root, identity_file: {state}/key", "")
BLOCK = """\
Host left
    HostName {a[0]}
Host right
    HostName {b[0]}
Host left right
    User root
    IdentityFile {key}
"""


class Visitor(Site):
    """A site whose hosts know only the key that its user has."""

    def __init__(self, state: Path):
        super().__init__(state, study=NO_KEY)
        self.ssh = state / "home" / ".ssh"
        self.agents: list[subprocess.Popen[bytes]] = []

    def down(self) -> None:
        super().down()
        for process in self.agents:
            process.kill()
            process.wait()

    def move_key(self, target: Path) -> None:
        target.parent.mkdir(exist_ok=True)
        shutil.move(self.state / "key", target)
        shutil.copy(self.state / "key.pub", f"{target}.pub")

    def use_aliases(self) -> None:
        text = self.study.read_text()
        for name, alias in (("a", "left"), ("b", "right")):
            text = text.replace(f"address: {self.addresses[name][0]}", f"address: {alias}")
        self.study.write_text(text)


def default_key(site: Visitor) -> tuple[str, tuple[str, str]]:
    site.move_key(site.ssh / "id_ed25519")
    return "", ("192.0.2.2", "192.0.2.6")


def agent(site: Visitor) -> tuple[str, tuple[str, str]]:
    socket = site.state / "agent"
    started = subprocess.Popen(("ssh-agent", "-D", "-a", socket), stdout=subprocess.DEVNULL)
    site.agents.append(started)
    until(socket.exists)
    subprocess.run(
        ("ssh-add", "-q", site.state / "key"),
        env={"SSH_AUTH_SOCK": str(socket), "PATH": "/usr/bin:/bin"},
        check=True,
    )
    (site.state / "key").unlink()
    return f"SSH_AUTH_SOCK={socket}", ("192.0.2.2", "192.0.2.6")


def host_block(site: Visitor) -> tuple[str, tuple[str, str]]:
    site.move_key(site.ssh / "for_the_lab")
    config = BLOCK.format(key="~/.ssh/for_the_lab", **site.addresses)
    (site.ssh / "config").write_text(config)
    site.use_aliases()
    return "", ("left", "right")


@pytest.fixture(params=[default_key, agent, host_block], ids=lambda case: case.__name__)
def login(request, tmp_path) -> Iterator[tuple[Visitor, str, tuple[str, str]]]:
    with Visitor(tmp_path) as site:
        arrange: Callable[[Visitor], tuple[str, tuple[str, str]]] = request.param
        environment, names = arrange(site)
        yield site, f"env {environment}", names


def test_whoever_can_log_in_with_ssh_checks_finds_and_measures(login):
    site, prefix, names = login

    def done(*words: str) -> str:
        process = site.start(*words, prefix=prefix)
        out, complaint = process.communicate(timeout=240)
        assert process.returncode in (0, 4), out + complaint  # 4: other work on this machine
        assert "E-HOST" not in complaint, complaint
        return out

    assert "packets of 9000 B pass both ways" in done("check", str(site.study))
    assert "mine.yml: a study of" in done("init", *names, "-o", "mine.yml")
    assert all(host.identity_file is None for host in load(site.state / "mine.yml").hosts.values())
    assert "MB/s" in done("measure", *names)
    site.finished(site.measure(seconds=0.3, prefix=prefix))
    (row,) = site.rows().itertuples()
    assert row.ledger_error_B == 0, (row.flags, row.message)
