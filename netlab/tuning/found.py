"""Settings of a host that need no tool to read: sysctls and files of the interface."""

from __future__ import annotations

import shlex
from collections.abc import Iterable

from netlab.tuning.commands import IN_SYSFS
from netlab.tuning.knobs import HostSetting

_OF_INTERFACE = {"mtu": "mtu", "txqueuelen": "tx_queue_len"}


def reading(settings: Iterable[HostSetting], interface: str) -> tuple[str, ...]:
    """Command that prints one line for each setting: its label, a tab and its value.

    Settings that only ethtool reads are left out, and so are those that the host lacks.
    """
    files = ((setting.label, _file(setting, interface)) for setting in settings)
    pairs = " ".join(shlex.quote(f"{label}\t{file}") for label, file in files if file)
    script = (
        f"for pair in {pairs}; do "
        'file=${pair#*\t}; [ -r "$file" ] && printf "%s\\t" "${pair%%\t*}" && cat "$file"; '
        "done; :"
    )
    return ("sh", "-c", script)


def _file(setting: HostSetting, interface: str) -> str | None:
    if setting.kind == "sysctl":
        # as in sysctl(8): a slash stands for a dot inside of a name
        return f"/proc/sys/{str(setting.name).translate(str.maketrans('./', '/.'))}"
    name = setting.name if setting.kind in IN_SYSFS else _OF_INTERFACE.get(setting.kind)
    return f"/sys/class/net/{interface}/{name}" if name else None


def parsed(text: str) -> dict[str, str]:
    """Value of each setting by its label, from what :func:`reading` prints."""
    lines = (line.partition("\t") for line in text.splitlines() if "\t" in line)
    return {label: " ".join(value.split()) for label, _, value in lines}
