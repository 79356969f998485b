"""Hosts in network namespaces on one switch, reached over SSH by aliases, and a controller."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from forked_controller import start_controller
from sshd_config import SSHD, config_with

SSHD_CONFIG = config_with(
    "HostKey {state}/host_key",
    "AuthorizedKeysFile {state}/key.pub",
    "SetEnv HOME={state}/{name} XDG_CACHE_HOME={state}/{name}",
)
ALIAS = """\
Host {name}
    User root
    IdentityFile {state}/key
    ProxyCommand ip netns exec {space} sh {state}/{name}.sh
"""
SERVE = """# a /var/tmp of its own; `ip netns exec` gives each command a mount namespace
mount --bind {state}/{name}/tmp /var/tmp
exec {sshd} -i -f {state}/{name}.conf -E {state}/{name}.log
"""
STUDY = """\
netlab: 1
name: paced
title: A paced stream over every pair
hosts: {{left: {{kind: lab}}, right: {{kind: lab}}}}
paths: {{cable: {{ends: [{{host: left}}, {{host: right}}]}}}}
groups:
  - {{name: there, path: cable, sender: left}}
  - {{name: back, path: cable, sender: right}}
tunings:
  - name: sack-off
    mtus_B: [1500]
    knobs: [{{kind: sysctl, name: net.ipv4.tcp_sack, value: 0}}]
streams: [1]
socket: {{pacing_MBps: {pacing_MBps}}}
noise: {{steal_percent: 100, foreign_cpu_percent: 100, retries: 0}}
timing: {{rounds: {rounds}, seconds: 0.3, warmup_s: 0.1, interval_ms: 50}}
"""


def call(*argv: object) -> str:
    words = [str(word) for word in argv]
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


class FleetLab:
    """Hosts ``n1`` to ``nN``; the directory is the controller's home."""

    def __init__(self, state: Path, count: int):
        self.state, self.names = state, [f"n{number}" for number in range(1, count + 1)]
        self.tag = f"nfl{os.getpid()}"
        self.results, self.study = state / "results", state / "study.yml"
        self.inventory = state / ".ssh" / "config"
        self.controllers: list[subprocess.Popen[str]] = []

    def space(self, name: str) -> str:
        return f"{self.tag}-{name}"

    def up(self, *, rounds: int, pacing_MBps: int = 20) -> None:
        """Make the namespaces, their links to one bridge, keys and configurations."""
        (self.state / ".ssh").mkdir(mode=0o700)
        self.study.write_text(STUDY.format(rounds=rounds, pacing_MBps=pacing_MBps))
        for key in ("key", "host_key"):
            call("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", self.state / key)
        public = (self.state / "host_key.pub").read_text()
        middle = self.space("mid")
        call("ip", "netns", "add", middle)
        call("ip", "-n", middle, "link", "add", "bridge", "type", "bridge")
        call("ip", "-n", middle, "link", "set", "bridge", "up")
        aliases, known = [], []
        for number, name in enumerate(self.names, start=1):
            space, peer = self.space(name), f"to-{name}"
            call("ip", "netns", "add", space)
            call("ip", "-n", space, "link", "set", "lo", "up")
            add = ("link", "add", "data0", "type", "veth", "peer", "name", peer, "netns", middle)
            call("ip", "-n", space, *add)
            call("ip", "-n", space, "addr", "add", f"198.18.0.{number}/24", "dev", "data0")
            call("ip", "-n", space, "link", "set", "data0", "addrgenmode", "none", "up")
            call("ip", "-n", middle, "link", "set", peer, "master", "bridge", "up")
            for place in (self.state / name, self.state / name / "tmp"):
                place.mkdir(mode=0o700)
            config = SSHD_CONFIG.format(state=self.state, name=name)
            (self.state / f"{name}.conf").write_text(config)
            parts = {"name": name, "state": self.state, "space": space, "sshd": SSHD}
            (self.state / f"{name}.sh").write_text(SERVE.format(**parts))
            aliases.append(ALIAS.format(**parts))
            known.append(f"{name} {public}")
        self.inventory.write_text("".join(aliases))
        (self.state / ".ssh" / "known_hosts").write_text("".join(known))

    def start(self, *words: str) -> subprocess.Popen[str]:
        """Start ``netlab fleet`` on the controller, in a session of its own."""
        argv = (sys.executable, "-m", "netlab", "fleet", *words)
        process = start_controller(argv, home=self.state, cwd=self.state)
        self.controllers.append(process)
        return process

    def run(self, *words: str) -> subprocess.Popen[str]:
        """Start a run over a ring."""
        place = ("--inventory", str(self.inventory), "--results", str(self.results))
        return self.start("run", str(self.study), *place, "--pairs", "ring", *words)

    def sysctl(self, name: str, knob: str) -> str:
        return call("ip", "netns", "exec", self.space(name), "sysctl", "-n", knob).strip()

    def processes(self) -> list[int]:
        """Processes in the namespaces of the hosts."""
        found = (call("ip", "netns", "pids", self.space(name)).split() for name in self.names)
        return [int(pid) for pids in found for pid in pids]

    def down(self) -> None:
        for process in self.controllers:
            process.kill()
            process.communicate()
        with contextlib.suppress(subprocess.CalledProcessError):
            for pid in self.processes():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        for name in (*self.names, "mid"):
            subprocess.run(("ip", "netns", "del", self.space(name)), capture_output=True)


@contextlib.contextmanager
def fleet_lab(state: Path, count: int, **options: int) -> Iterator[FleetLab]:
    """A lab that is up."""
    lab = FleetLab(state, count)
    try:
        lab.up(**options)
        yield lab
    finally:
        lab.down()
