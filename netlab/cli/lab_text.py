"""The state of a lab as lines for a terminal."""

from __future__ import annotations

from netlab.lab import taskgroup
from netlab.lab.lab import Lab


def shown(lab: Lab) -> str:
    """What a lab has made, and whether it is whole."""
    status = lab.status()
    whole = "complete" if status["complete"] else "NOT complete"
    owner = f", owned by process {status['owner_pid']}" if status["owner_pid"] else ""
    lines = [f"lab {status['id']}: study {status['study']}, {whole}{owner}"]
    lines.append(f"  processes: {taskgroup.IN_WORDS[status['task_group']]}")
    for name, host in status["hosts"].items():
        up = "up" if host["up"] else "gone"
        lines.append(f"  host {name}: {up}, namespace {host['namespace']}")
    for name, path in status["paths"].items():
        ends = " -- ".join(
            f"{end['host']} {end['interface']} {' '.join(end['addresses'])}" for end in path["ends"]
        )
        rate = f", {path['rate_bps'] / 1e6:.0f} Mb/s of frames" if path["rate_bps"] else ""
        lines.append(f"  path {name}: {ends}{rate}")
    return "\n".join(lines)
