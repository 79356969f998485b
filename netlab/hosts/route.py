"""The interface by which packets of an address leave a host, and the one that has the address."""

from __future__ import annotations

from dataclasses import dataclass

from netlab.hosts.host import Host

# Arguments: the two data addresses, interface. Prints the interface that packets leave by, and the
# one that has the first address; the third argument if a bond, a bridge or a VLAN lies upon it. The
# fourth: the VRF to ask. An address of `lo`, a dummy or a VRF is of no card.
SCRIPT = r"""
PATH=$PATH:/usr/sbin:/sbin
upon() { [ -e "/sys/class/net/$1/lower_$2" ] || [ -e "/sys/class/net/$1/upper_$2" ]; }
d=$(ip -o route get "$2" from "$1" ${4:+oif "$4"} 2>/dev/null | sed -n 's/.* dev \([^ ]*\).*/\1/p')
h=$(ip -o addr show to "$1" 2>/dev/null | sed -n '1s/^[0-9]*: *\([^ ]*\) .*/\1/p')
if upon "$d" "$3"; then d=$3; fi
if upon "$h" "$3"; then h=$3; fi
case $(ip -d link show dev "${h:-lo}" 2>/dev/null) in
  *LOOPBACK*|*' dummy '*|*' vrf '*) h= ;;
esac
printf '%s\n' "$d" "$h"
"""


@dataclass(frozen=True)
class Route:
    """Way of packets from ``own``; interfaces are empty where the host cannot tell."""

    own: str
    peer: str
    card: str
    leaves: str
    has_address: str

    @property
    def fault(self) -> str:
        """Why the card does not carry what is sent; empty if it does."""
        if self.leaves in ("", "lo", self.card):
            return ""
        text = f"packets from {self.own} to {self.peer} leave by {self.leaves}, not by {self.card}"
        if self.has_address == self.card:
            return (
                f"{text}: take an address of {self.leaves}, or route by source (`ip rule add from "
                f"{self.own} table 100`, and in that table the route by {self.card})"
            )
        return (
            f"{text}: name {self.leaves} in the study, or change the host's routes (`ip route get`)"
        )

    @property
    def doubt(self) -> str:
        """Why the card may not carry what is received; empty if the address is its own."""
        if self.has_address in ("", self.card):
            return ""
        return (
            f"{self.own} is an address of {self.has_address}, not of {self.card}: packets to it "
            f"may arrive by {self.has_address}, and a run is then flagged, since {self.card} does "
            f"not count them; take an address of {self.card}, or name {self.has_address}"
        )


def route_of(host: Host, own: str, peer: str, card: str, vrf: str = "") -> Route:
    """Ask a host for the way of packets between two addresses."""
    done = host.run(("sh", "-c", SCRIPT, "leaves", own, peer, card, vrf))
    leaves, has_address, *_ = (*done.stdout.splitlines(), "", "")
    return Route(own, peer, card, leaves.strip(), has_address.strip())
