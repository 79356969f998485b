"""Congestion control for a tool that has no option for it: an attribute of the route."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from netlab.errors import HostError
from netlab.hosts.host import Host

HELD_S = 10.0
PROTOCOL = 203
"""By this number of ours the route is told from any other, and nothing but it is removed."""

# A route is added before the one there is, which stays; the end of input or a signal removes it.
# The way to the peer is the kernel's own answer. IPv6 has no prepend, and prefers a low metric.
SCRIPT = r"""
peer=$1 dev=$2 src=$3 name=$4 tag=$5
PATH=$PATH:/usr/sbin:/sbin LC_ALL=C
export PATH LC_ALL
say() { printf '{"event":"%s"}\n' "$1"; }
case $peer in
  *:*) family=-6 add=add metric='metric 1' ;;
  *) family=-4 add=prepend metric= ;;
esac
undo() { ip "$family" route del "$peer" dev "$dev" proto "$tag" $metric 2>/dev/null; }
undo
via=$(ip "$family" -o route get "$peer" oif "$dev" | sed -n 's/.* via \([^ ]*\) .*/via \1/p')
trap undo EXIT
trap 'exit 1' HUP INT TERM PIPE
ip "$family" route $add "$peer" $via dev "$dev" src "$src" proto "$tag" $metric congctl "$name" ||
  exit 1
if ip "$family" route show "$peer" proto "$tag" | grep -q "congctl $name"; then
  say held
  while read -r _; do :; done
else
  say refused
fi
"""


@contextmanager
def congestion_route(
    host: Host, *, interface: str, address: str, peer: str, congestion: str
) -> Iterator[None]:
    """Make a congestion control what every new socket of a host to a peer starts with.

    The route is gone at the end, also when this process is killed. It has no attribute but the
    congestion control: those that the route to the peer had are not taken over.

    Raises
    ------
    HostError
        The host is lost, lets nobody change routes, or did not take the congestion control.
    """
    words = (peer, interface, address, congestion, str(PROTOCOL))
    process = host.start(("sh", "-c", SCRIPT, "route", *words), sudo=True)
    try:
        if process.receive(HELD_S).get("event") != "held":
            raise HostError(host.name, f"its route to {peer} did not take {congestion}")
        yield
    finally:
        process.close()
