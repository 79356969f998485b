"""Devices below a network interface: cards, slaves of a bond, the parent of a VLAN, a VRF above.

A setting of a card has its effect where the card is, a stream takes one slave, and an MTU is
bounded by what carries it. Every other part of netlab that needs one of these asks here.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

# A function of the shell: `layers DIRECTORY INTERFACE` prints `layer NAME KEY VALUE` for the
# interface and all that lies below it. Needs the function `say`. Reads files by itself: a process
# for each takes long on a slow host.
SCRIPT = r"""
layers() {
  n=$1 todo=$2 seen=' ' count=0
  while [ -n "$todo" ] && [ "$count" -lt 64 ]; do
    set -- $todo
    l=$1
    shift
    todo=$*
    case $seen in *" $l "*) continue ;; esac
    if [ ! -e "$n/$l" ]; then continue; fi
    seen="$seen$l " count=$((count + 1))
    for f in mtu speed operstate bonding/mode bonding/xmit_hash_policy bonding/active_slave; do
      v=
      if [ -r "$n/$l/$f" ]; then { read -r v <"$n/$l/$f"; } 2>/dev/null; fi
      say "layer $l ${f##*/}" "$v"
    done
    devtype "$n/$l"
    say "layer $l devtype" "$t"
    if [ -e "$n/$l/device/driver" ]; then
      v=$(readlink "$n/$l/device/driver")
      say "layer $l driver" "${v##*/}"
    fi
    if [ -e "$n/$l/master" ]; then
      m=$(readlink "$n/$l/master")
      devtype "$n/$l/master"
      if [ -e "$n/$l/brport" ]; then t=bridge; fi
      if [ -e "$n/$l/bonding_slave" ]; then t=bond; fi
      case ${m##*/} in ovs-system) t=openvswitch ;; esac
      say "layer $l master" "${m##*/}"
      say "layer $l master_kind" "${t:-vrf}"
    fi
    say "layer $l link" "$(PATH=$PATH:/usr/sbin:/sbin ip -d -j link show dev "$l" 2>/dev/null)"
    for w in "$n/$l"/lower_*; do
      if [ -e "$w" ]; then
        say "layer $l lower" "${w##*/lower_}"
        todo="$todo ${w##*/lower_}"
      fi
    done
  done
}
devtype() {
  t=
  if [ ! -r "$1/uevent" ]; then return; fi
  while read -r v; do
    case $v in DEVTYPE=*) t=${v#DEVTYPE=} ;; esac
  done <"$1/uevent"
}
"""

BOUNDED = ("vlan", "macvlan", "macvtap", "ipvlan", "ipvtap")
"""Kinds whose MTU is at most that of what lies below."""

TUNNELS = {
    **{"vxlan": "VXLAN", "geneve": "Geneve", "wireguard": "WireGuard", "ipip": "IP in IP"},
    **dict.fromkeys(("gre", "gretap", "ip6gre", "ip6gretap", "erspan"), "GRE"),
    **{"sit": "6in4", "ip6tnl": "IPv6", "vti": "IPsec", "xfrm": "IPsec"},
}
GROUPS = ("bond", "team")
ROUND_ROBIN = ("balance-rr", "roundrobin")
ONE_AT_A_TIME = ("active-backup", "activebackup")
BY_ADDRESS = ("layer2", "layer2+3", "vlan+srcmac")
"""Hash policies that give all streams between two addresses one slave."""

MADE_UP_SPEED = ("veth", "tun")
"""Drivers and kinds that report a speed which limits nothing."""

OF_A_CARD = "ring, queues, coalescing, interrupts, pause frames"


@dataclass(frozen=True)
class Layer:
    """One interface; empty or None where the host does not say."""

    name: str
    kind: str = ""
    lower: tuple[str, ...] = ()
    mtu_B: int | None = None
    mtu_max_B: int | None = None
    speed_Mbps: int | None = None
    up: bool = True
    driver: str = ""
    master: str = ""
    master_kind: str = ""
    mode: str = ""
    hash_policy: str = ""
    active: str = ""
    id: int | None = None


@dataclass(frozen=True)
class InterfaceStack:
    """An interface, the first layer, and all that lies below it."""

    layers: tuple[Layer, ...]

    @classmethod
    def of(cls, rows: Iterable[Mapping[str, Any]] | None) -> InterfaceStack:
        """From the `layers` of a host's facts."""
        layers = ({**row, "lower": tuple(row.get("lower") or ())} for row in rows or ())
        return cls(tuple(Layer(**layer) for layer in layers))

    def rows(self) -> list[dict[str, Any]]:
        """Its layers as facts of a host; none of a card that stands alone."""
        plain = len(self.layers) == 1 and self.layers[0].kind in ("", *MADE_UP_SPEED)
        alone = not self.layers or (plain and not self.layers[0].master)
        return [] if alone else [asdict(layer) for layer in self.layers]

    @property
    def _named(self) -> dict[str, Layer]:
        return {layer.name: layer for layer in self.layers}

    def below(self, layer: Layer) -> list[Layer]:
        return [self._named[name] for name in layer.lower if name in self._named]

    @property
    def cards(self) -> tuple[str, ...]:
        """Interfaces at the bottom, which have rings and interrupts; empty of a lone tunnel."""
        ends = (layer for layer in self.layers if not layer.lower)
        return tuple(layer.name for layer in ends if layer.kind not in (*TUNNELS, "openvswitch"))

    @property
    def group(self) -> Layer | None:
        """The first bond or team with more than one slave."""
        groups = (layer for layer in self.layers if layer.kind in GROUPS)
        return next((layer for layer in groups if len(layer.lower) > 1), None)

    @property
    def vrf(self) -> str:
        """The VRF that the interface is in."""
        top = self.layers[:1]
        return "".join(layer.master for layer in top if layer.master_kind == "vrf")

    @property
    def is_port(self) -> bool:
        """True if a bridge, bond or switch takes the packets that arrive at the interface."""
        return any(layer.master and layer.master_kind != "vrf" for layer in self.layers[:1])

    @property
    def speed_Mbps(self) -> int | None:
        """Rate of one stream: of one slave, not of the sum; None if it is unknown."""
        return self._speed(self.layers[0]) if self.layers else None

    def _speed(self, layer: Layer, above: tuple[str, ...] = ()) -> int | None:
        if layer.name in above:  # what no kernel has, a host may print
            return None
        above = (*above, layer.name)
        if layer.driver in MADE_UP_SPEED or layer.kind in MADE_UP_SPEED:
            return None
        below = self.below(layer)
        if layer.kind == "bridge":  # of its ports the card, where there is one
            known = [speed for port in below if (speed := self._speed(port, above)) is not None]
            return known[0] if len(known) == 1 else None
        if layer.kind in ("openvswitch", *TUNNELS) or (layer.lower and not below):
            return None
        if layer.kind in GROUPS:
            below = [slave for slave in below if slave.name == layer.active] or [
                slave for slave in below if slave.up
            ]
        if below:
            speeds = [self._speed(each, above) for each in below]
            return None if None in speeds else min(filter(None, speeds), default=None)
        return layer.speed_Mbps if (layer.speed_Mbps or 0) > 0 else None

    def takes_one_slave(self, streams: int) -> bool:
        """True if all streams between two addresses take one slave of a bond or team."""
        if (group := self.group) is None or group.mode in ROUND_ROBIN:
            return False
        by_address = group.hash_policy in BY_ADDRESS or group.mode in ONE_AT_A_TIME
        return streams == 1 or by_address

    def mtu_bound(self) -> tuple[int, str] | None:
        """The largest MTU that the interface takes, and the interface that bounds it."""
        bounds = []
        for layer in self.layers[:1]:
            if layer.mtu_max_B:
                bounds.append((layer.mtu_max_B, layer.name))
            if layer.kind in BOUNDED:
                bounds += [(low.mtu_B, low.name) for low in self.below(layer) if low.mtu_B]
        return min(bounds, default=None)

    def mtu_refusal(self, mtu_B: int) -> str:
        """Reason that an interface cannot have an MTU; empty if it can."""
        bound = self.mtu_bound()
        if bound is None or mtu_B <= bound[0]:
            return ""
        most_B, by = bound
        name = self.layers[0].name
        if by == name:
            return f"{name} takes an MTU of {most_B} B at most, not {mtu_B} B"
        return (
            f"{name} is a {self.kind_text()}, whose MTU is at most that of {by}, {most_B} B: "
            f"{mtu_B} B needs `ip link set dev {by} mtu {mtu_B}` first; "
            f"`mtus_B: [{most_B}]` fits it"
        )

    def kind_text(self) -> str:
        return _described(self.layers[0]) if self.layers else ""

    def text(self) -> str:
        """Every layer in words; empty of a card that stands alone."""
        parts = []
        for layer in self.layers:
            texts = [_described(layer)] if _described(layer) else []
            if layer.master_kind == "vrf":
                texts.append(f"in the VRF {layer.master}")
            if layer.master_kind == "openvswitch":
                texts.append("a port of Open vSwitch")
            if texts:
                article = "an " if texts[0][0] in "aeiou" else "a "
                described = f"{article if _described(layer) else ''}{', '.join(texts)}"
                parts.append(f"{layer.name} is {described}")
        return "; ".join(parts)

    def settings_text(self) -> str:
        """Interfaces at which the settings of a card apply; empty of a card that stands alone."""
        top = self.layers[:1]
        if not top or not (top[0].lower or top[0].kind in (*TUNNELS, "openvswitch")):
            return ""
        cards, name = self.cards, top[0].name
        if not cards:
            where = f"the card that carries the packets of {name}, which the kernel does not name"
            return f"{OF_A_CARD} are of {where}"
        return f"{OF_A_CARD} and speed are of {' and '.join(cards)}, not of {name}"

    def slave_text(self) -> str:
        """Share of a bond or team that one stream gets; empty without one."""
        if (group := self.group) is None:
            return ""
        rate = f" ({speed} Mb/s)" if (speed := self._speed(group)) else ""
        if group.mode in ROUND_ROBIN:
            return f"{group.name} spreads a stream's packets over its slaves, which reorders them"
        pair = self.takes_one_slave(2)
        which = "all streams between two addresses take" if pair else "a stream takes"
        return f"{which} one slave of {group.name}{rate}, not the sum of its slaves"


def _described(layer: Layer) -> str:
    on = f" on {' and '.join(layer.lower)}" if layer.lower else ""
    if layer.kind in GROUPS:
        hashed = f"hash policy {layer.hash_policy}" if layer.hash_policy else ""
        how = ", ".join(filter(None, (layer.mode, hashed)))
        of = f" of {' and '.join(layer.lower)}" if layer.lower else " without slaves"
        return f"{layer.kind}{of}{f' ({how})' if how else ''}"
    if layer.kind in TUNNELS:
        number = f" {layer.id}" if layer.id is not None else ""
        return f"tunnel ({TUNNELS[layer.kind]}{number}){on}"
    if layer.kind == "vlan":
        return f"VLAN{f' {layer.id}' if layer.id is not None else ''}{on}"
    if layer.kind == "bridge":
        return f"bridge of {' and '.join(layer.lower)}" if layer.lower else "bridge without ports"
    if layer.kind == "vrf":
        return "VRF"
    if layer.kind == "openvswitch":
        return "port of Open vSwitch"
    if layer.kind in ("macvlan", "macvtap", "ipvlan", "ipvtap"):
        mode = f" (mode {layer.mode})" if layer.mode else ""
        return f"{layer.kind}{mode}{on or ' on an interface of another network namespace'}"
    return f"{layer.kind} interface{on}" if layer.kind and layer.kind not in ("veth", "tun") else ""


def parsed_layers(lines: Iterable[str]) -> InterfaceStack:
    """From what :data:`SCRIPT` prints, without the word ``layer``."""
    facts: dict[str, dict[str, list[str]]] = {}
    for line in lines:
        name, _, rest = line.partition(" ")
        key, _, value = rest.partition(" ")
        if name and value.strip():
            facts.setdefault(name, {}).setdefault(key, []).append(value.strip())
    return InterfaceStack(tuple(_layer(name, of) for name, of in facts.items()))


def _layer(name: str, of: Mapping[str, list[str]]) -> Layer:
    def text(key: str) -> str:
        return of[key][-1] if key in of else ""

    link = _object(text("link"))
    info = _mapping(link.get("linkinfo"))
    data = _mapping(info.get("info_data"))
    kind = _word(info.get("info_kind")) or text("devtype")
    return Layer(
        name=name,
        kind=kind if kind not in ("wlan", "wwan") else "",
        lower=tuple(dict.fromkeys(of.get("lower", ()))),
        mtu_B=_count(text("mtu")),
        mtu_max_B=_count(str(link.get("max_mtu", ""))) or None,
        speed_Mbps=_count(text("speed")),
        up=text("operstate") in ("up", "unknown", ""),
        driver=text("driver"),
        master=text("master"),
        master_kind=_word(info.get("info_slave_kind")) or text("master_kind"),
        mode=text("mode").partition(" ")[0] or _word(data.get("mode") or data.get("runner")),
        hash_policy=text("xmit_hash_policy").partition(" ")[0]
        or _word(data.get("xmit_hash_policy")),
        active=text("active_slave") or _word(data.get("active_slave")),
        id=_count(str(data.get("id", ""))),
    )


def _object(text: str) -> Mapping:
    """The interface of `ip -j`; empty if an older ip or a busybox printed none."""
    try:
        entries = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    filled = [entry for entry in entries if entry] if isinstance(entries, list) else []
    return _mapping(filled[0]) if filled else {}


def _mapping(value: object) -> Mapping:
    return value if isinstance(value, dict) else {}


def _word(value: object) -> str:
    return value if isinstance(value, str) else ""


def _count(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else None
