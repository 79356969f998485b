"""A site of tests/e2e/faults whose user logs in as people do."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from e2e.faults.fault_site import STUDY, Site

NO_KEY = STUDY.replace(", user: root, identity_file: {state}/key", "")


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
