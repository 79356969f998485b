"""Published settings of Linux, FreeBSD, Solaris and Windows as commands of each system.

netlab does not apply them; they are for readers with such a host.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass

from netlab import published
from netlab.errors import BadInput

SYSTEMS = ("Linux", "FreeBSD", "Solaris", "Windows")
_REGISTRY_KEY = ("HKEY_LOCAL_MACHINE", "SYSTEM", "CurrentControlSet", "Services", "Tcpip",
                 "Parameters")  # fmt: skip


@dataclass(frozen=True)
class SystemSetting:
    """One setting of one system."""

    system: str
    mechanism: str
    container: str
    key: str
    value: str

    def command(self) -> str:
        """Command line of the setting, quoted for that system's shell."""
        if self.mechanism == "sysctl" and self.system == "Linux":
            return shlex.join(("sysctl", "-w", f"{self.key}={self.value}"))
        if self.mechanism == "sysctl" and self.system == "FreeBSD":
            return shlex.join(("sysctl", f"{self.key}={self.value}"))
        if self.mechanism == "ndd" and self.system == "Solaris":
            return shlex.join(("ndd", "-set", self.container, self.key, self.value))
        if self.mechanism == "registry" and self.system == "Windows":
            return self._reg_add()
        raise BadInput(
            f"not a mechanism of {self.system}",
            key="mechanism",
            value=self.mechanism,
            code="E-PUBLISHED-013",
        )

    def _reg_add(self) -> str:
        path = self.container
        if path == "".join(_REGISTRY_KEY):  # the backslashes were lost in print
            path = "\\".join(_REGISTRY_KEY)
        if not self.value.isdecimal() or int(self.value) > 0xFFFFFFFF:
            raise BadInput("not a DWORD", key=self.key, value=self.value, code="E-PUBLISHED-014")
        for text in (path, self.key):
            if not text or any(c in text for c in '"%\r\n'):
                raise BadInput(
                    "cannot be quoted for cmd.exe",
                    key="registry",
                    value=text,
                    code="E-PUBLISHED-015",
                )
        return f'reg add "{path}" /v "{self.key}" /t REG_DWORD /d {self.value} /f'


def settings(
    name: str = "gigabit-settings", *, system: str | None = None, **where: str
) -> tuple[SystemSetting, ...]:
    """Published settings, in the order of the document."""
    frame = published.load(name)
    if system is not None:
        where = {"system": system, **where}
    for column, value in where.items():
        if column not in frame or value not in set(frame[column]):
            choices = sorted(set(frame[column])) if column in frame else list(frame.columns)
            raise BadInput(
                f"must be one of {', '.join(choices)}",
                key=column,
                value=value,
                code="E-PUBLISHED-016",
            )
        frame = frame[frame[column] == value]
    fields = ["system", "mechanism", "container", "key", "value"]
    return tuple(SystemSetting(*row) for row in frame[fields].itertuples(index=False, name=None))


def commands(
    name: str = "gigabit-settings", *, system: str | None = None, **where: str
) -> list[str]:
    """Published settings as command lines; see `settings`."""
    return [setting.command() for setting in settings(name, system=system, **where)]


def listing(name: str = "gigabit-settings") -> str:
    """All published settings as commands, under a comment line for each system and source."""
    frame = published.load(name)
    source = frame.columns[0]
    blocks = []
    for system in SYSTEMS:
        own = frame[frame["system"] == system]
        for value in own[source].unique():
            remark = "rem" if system == "Windows" else "#"
            lines = commands(name, system=system, **{source: value})
            blocks.append("\n".join([f"{remark} {system} ({source} {value})", *lines]))
    return "\n\n".join(blocks)
