"""Wait for the link of an interface: many drivers reset the card to apply a setting."""

from __future__ import annotations

from netlab.errors import HostError
from netlab.hosts.host import Host

CARRIER_S = 30
"""Timeout of a link that comes up again: a switch with spanning tree takes about that long."""

SPARE_S = 20.0

# Arguments: interface, timeout in s. A missing interface is for others to report.
WAIT = r"""
cd "/sys/class/net/$1" 2>/dev/null || exit 0
i=$(($2 * 5))
until [ "$(cat carrier 2>/dev/null)" = 1 ]; do
  if [ "$i" -le 0 ]; then exit 3; fi
  i=$((i - 1))
  sleep 0.2 2>/dev/null || { sleep 1; i=$((i - 4)); }
done
"""


NO_CARRIER = "E-HOST-038"


def wait_for_carrier(host: Host, interface: str, *, timeout_s: int = CARRIER_S) -> None:
    argv = ("sh", "-c", WAIT, "wait", interface, str(timeout_s))
    done = host.run(argv, timeout_s=timeout_s + SPARE_S, check=False)
    if done.exit_status == 3:
        message = (
            f"{interface} has no link {timeout_s} s after its settings were changed; check the "
            "cable, and whether the card takes them"
        )
        raise HostError(host.name, message, code=NO_CARRIER)
