"""Set the congestion control of a tool without an option for it, by a route attribute."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from netlab.errors import HostError
from netlab.hosts.host import Host
from netlab.hosts.line_process import SILENCE_S

APPLIED_S = 10.0
PROTOCOL = 203
"""Protocol number that marks netlab's route, so that no other route is removed."""

# Add a route before the present one, which stays; remove it at end of input or at a signal. Take
# the next hop from the kernel. IPv6 has no prepend, but prefers a low metric.
ROUTE_SCRIPT = r"""
peer=$1 dev=$2 src=$3 name=$4 tag=$5 silence_s=$6 vrf=${7:+vrf "$7"}
PATH=$PATH:/usr/sbin:/sbin LC_ALL=C
export PATH LC_ALL
say() { printf '{"event":"%s"}\n' "$1"; }
case $peer in
  *:*) family=-6 add=add metric='metric 1' ;;
  *) family=-4 add=prepend metric= ;;
esac
undo() { ip "$family" route del "$peer" dev "$dev" proto "$tag" $metric $vrf 2>/dev/null; }
undo
via=$(ip "$family" -o route get "$peer" oif "$dev" | sed -n 's/.* via \([^ ]*\) .*/via \1/p')
trap undo EXIT
trap 'exit 1' HUP INT TERM PIPE
ip "$family" route $add "$peer" $via dev "$dev" src "$src" proto "$tag" $metric $vrf \
  congctl "$name" || exit 1
if ip "$family" route show "$peer" proto "$tag" $vrf | grep -q "congctl $name"; then
  say applied
  # a sign of life arrives every few seconds; without one the controller is gone
  if command -v timeout >/dev/null; then
    while [ -n "$(timeout "$silence_s" dd bs=4096 count=1 2>/dev/null | tr '\n' x)" ]; do :; done
  else
    while read -r _; do :; done
  fi
else
  say refused
fi
"""


@contextmanager
def congestion_route(
    host: Host, *, interface: str, address: str, peer: str, congestion: str, vrf: str = ""
) -> Iterator[None]:
    """Make a congestion control the default of every new socket from a host to a peer.

    The route is removed at the end, also when this process is killed. The congestion control is
    its only attribute: it inherits none from the present route.
    """
    words = (peer, interface, address, congestion, str(PROTOCOL), str(SILENCE_S), vrf)
    process = host.start(("sh", "-c", ROUTE_SCRIPT, "route", *words), sudo=True).keep_alive()
    try:
        if process.receive(APPLIED_S).get("event") != "applied":
            message = f"its route to {peer} did not take {congestion}"
            raise HostError(host.name, message, code="E-TOOL-016")
        yield
    finally:
        process.close()
