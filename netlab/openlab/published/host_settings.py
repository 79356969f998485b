"""Published settings of Linux, FreeBSD, Solaris and Windows as commands of each system.

netlab does not apply them; they are for readers with such a host.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass

from netlab.errors import BadInput, check, require
from netlab.openlab import published

SYSTEMS = ("Linux", "FreeBSD", "Solaris", "Windows")
_REGISTRY_KEY = ("HKEY_LOCAL_MACHINE", "SYSTEM", "CurrentControlSet", "Services", "Tcpip",
                 "Parameters")  # fmt: skip


@dataclass(frozen=True)
class SystemSetting:
    system: str
    mechanism: str
    container: str
    key: str
    value: str

    def command(self) -> str:
        """Command line of the setting, quoted for that system's shell."""
        match self.system, self.mechanism:
            case "Linux", "sysctl":
                return shlex.join(("sysctl", "-w", f"{self.key}={self.value}"))
            case "FreeBSD", "sysctl":
                return shlex.join(("sysctl", f"{self.key}={self.value}"))
            case "Solaris", "ndd":
                return shlex.join(("ndd", "-set", self.container, self.key, self.value))
            case "Windows", "registry":
                return self._reg_add()
        text = f"not a mechanism of {self.system}"
        raise BadInput(text, key="mechanism", value=self.mechanism, code="E-PUBLISHED-013")

    def _reg_add(self) -> str:
        path = self.container
        if path == "".join(_REGISTRY_KEY):  # the backslashes were lost in print
            path = "\\".join(_REGISTRY_KEY)
        fine = self.value.isdecimal() and int(self.value) <= 0xFFFFFFFF
        check(fine, self.key, self.value, "not a DWORD", "E-PUBLISHED-014")
        for text in (path, self.key):
            fine = bool(text) and not any(c in text for c in '"%\r\n')
            check(fine, "registry", text, "cannot be quoted for cmd.exe", "E-PUBLISHED-015")
        return f'reg add "{path}" /v "{self.key}" /t REG_DWORD /d {self.value} /f'


def settings(name: str = "gigabit-settings", **where: str) -> tuple[SystemSetting, ...]:
    """Published settings with these values of their columns, in the order of the document."""
    frame = published.load(name)
    for column, value in where.items():
        choices = sorted(set(frame[column])) if column in frame else []
        require(value, choices or list(frame.columns), key=column, code="E-PUBLISHED-016")
        frame = frame[frame[column] == value]
    fields = ["system", "mechanism", "container", "key", "value"]
    return tuple(SystemSetting(*row) for row in frame[fields].itertuples(index=False, name=None))


def commands(name: str = "gigabit-settings", **where: str) -> list[str]:
    """Published settings as command lines; see `settings`."""
    return [setting.command() for setting in settings(name, **where)]


def listing() -> str:
    """All settings of the articles as commands, under a comment for each system and document."""
    sources = published.load("gigabit-settings")[["system", "document"]].drop_duplicates()
    blocks = []
    for system in SYSTEMS:
        remark = "rem" if system == "Windows" else "#"
        for document in sources.loc[sources["system"] == system, "document"]:
            lines = commands(system=system, document=document)
            blocks.append("\n".join([f"{remark} {system} (document {document})", *lines]))
    return "\n\n".join(blocks)
