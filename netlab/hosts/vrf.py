"""Programs in the VRF of an interface, by `ip vrf exec` of iproute2; netlab's agent needs it not.

A socket outside a VRF has none of its addresses. Other programs do not bind to the interface.
"""

from __future__ import annotations

# A function of the shell: `vrf_ip` prints the path of an `ip` that starts programs in a VRF; that
# of busybox does not.
SCRIPT = r"""
vrf_ip() {
  (
    IFS=:
    for d in $PATH; do
      if "$d/ip" vrf help 2>&1 | grep -q 'vrf exec'; then echo "$d/ip" && exit; fi
    done
  )
}
"""


def called(vrf: str, argv: tuple[str, ...]) -> tuple[str, ...]:
    """A command as a user types it for a VRF; the command itself without one."""
    return ("ip", "vrf", "exec", vrf, *argv) if vrf else argv
