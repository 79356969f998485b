"""Read everything a survey needs from a host with one command that changes nothing."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator

from netlab.hosts.host import Host
from netlab.hosts.host_facts import whole_number
from netlab.hosts.stack import SCRIPT as LAYERS
from netlab.hosts.stack import parsed_layers
from netlab.measure.counter_meanings import losses
from netlab.survey.surveyed import Address, HostSurvey, Interface, Interrupt

TIMEOUT_S = 180.0
"""A host of many interfaces and a slow processor; a lost one is found by its silence."""

# Prints `NAME VALUE` for each fact it finds, and `if INTERFACE NAME VALUE` for those of an
# interface; a name may come again. Every Linux has what it uses; what is missing is left out.
SCRIPT = rf"""
{LAYERS}
"""
SCRIPT += r"""
PATH=$PATH:/usr/sbin:/sbin
LC_ALL=C
export PATH LC_ALL
say() { if [ -n "$2" ]; then printf '%s %s\n' "$1" "$2"; fi; }
first() { if [ -r "$1" ]; then head -n 1 "$1" 2>/dev/null; fi; }
each() { sed "s|^|$1 |"; }
c=/sys/devices/system/cpu
p=/proc/sys/net
only=$1
say clock_s "$(date +%s)"
say boot_id "$(first /proc/sys/kernel/random/boot_id)"
say network_namespace "$(readlink /proc/self/ns/net)"
ip -o addr show dev lo 2>/dev/null | grep -E ' inet6? ' | each loopback
say kernel "$(uname -r)"
say os "$(. /etc/os-release 2>/dev/null && printf %s "$PRETTY_NAME")"
say cpus "$(grep -c '^processor' /proc/cpuinfo)"
say cpu_model "$(sed -n 's/^model name[^:]*: *//p' /proc/cpuinfo | head -n 1)"
set -- $SSH_CONNECTION
say ssh_address "$3"
cat $c/cpu[0-9]*/cpufreq/scaling_governor 2>/dev/null | each governor
for s in $c/cpu0/cpuidle/state*; do
  if [ -r "$s/latency" ]; then
    say idle "$(first "$s/latency") $(first "$s/disable") $(first "$s/name")"
  fi
done
names='irqbalance|firewalld|chronyd|ntpd|systemd-timesyn|ptp4l|phc2sys'
grep -hsxE "$names" /proc/[0-9]*/comm | sort -u | each service
say synchronised "$(timedatectl show -p NTPSynchronized --value 2>/dev/null)"
say congestion "$(first $p/ipv4/tcp_congestion_control)"
say tcp_rmem "$(first $p/ipv4/tcp_rmem)"
say tcp_wmem "$(first $p/ipv4/tcp_wmem)"
say conntrack "$(first $p/netfilter/nf_conntrack_count)"
if [ -e /sys/module/nf_tables ]; then
  say input_chains "$(nft list ruleset 2>/dev/null | grep -c 'hook input')"
fi
if [ -s /proc/net/ip_tables_names ]; then
  iptables -S INPUT 2>/dev/null | grep -v -x -e '-P INPUT ACCEPT' | each iptables
fi
for d in /sys/class/net/*; do
  i=${d##*/}
  if [ "$i" = lo ] || [ ! -e "$d/mtu" ]; then continue; fi
  a=$(ip -o addr show dev "$i" 2>/dev/null | grep -E ' inet6? ')
  if [ -z "$a" ] && [ "$i" != "$only" ]; then continue; fi
  if [ -n "$a" ]; then printf '%s\n' "$a" | each "if $i address"; fi
  for f in operstate mtu speed duplex device/local_cpulist \
    device/current_link_speed device/current_link_width device/max_link_speed \
    device/max_link_width statistics/rx_dropped statistics/rx_missed_errors \
    statistics/rx_fifo_errors statistics/rx_crc_errors
  do
    say "if $i ${f##*/}" "$(first "$d/$f")"
  done
  layers "${d%/*}" "$i" | each "if $i"
  say "if $i bus_address" "$(basename "$(readlink "$d/device")" 2>/dev/null)"
  say "if $i rx_queues" "$(ls -d "$d"/queues/rx-* 2>/dev/null | grep -c .)"
  ethtool -i "$i" 2>/dev/null | each "if $i driver"
  ethtool -l "$i" 2>/dev/null | each "if $i channels"
  ethtool -g "$i" 2>/dev/null | each "if $i rings"
  ethtool -a "$i" 2>/dev/null | each "if $i pause"
  ethtool -k "$i" 2>/dev/null | grep -E '^(tcp-seg|generic-|large-)' | each "if $i features"
  ethtool -S "$i" 2>/dev/null | grep -iE ': [1-9]' | grep -iE \
    'drop|discard|miss|err|crc|buf|alloc|timeout|allowance|no_mem|no_space|too_big' |
    each "if $i counter"
  tc qdisc show dev "$i" 2>/dev/null | each "if $i qdisc"
  for q in "$d"/device/msi_irqs/*; do
    n=${q##*/}
    set -- /proc/irq/"$n"/*/
    if [ -d "$1" ]; then
      say "if $i irq" "$n $(first /proc/irq/"$n"/effective_affinity_list)"
    fi
  done
done
exit 0
"""

_SECTION = re.compile(r"(?P<name>RX|TX|Combined|rx|combined):\s+(?P<value>\d+|on|off|n/a)")
_ADDRESS = re.compile(
    r" inet6? (?P<own>[^ /]+)(?P<length>/\d+)?(?: peer (?P<peer>\S+))?(?:.* scope (?P<scope>\S+))?"
)
ERRORS = ("rx_dropped", "rx_missed_errors", "rx_fifo_errors", "rx_crc_errors")


def survey(host: Host, interface: str = "") -> HostSurvey:
    """Interfaces with an address, and the one named also without."""
    argv = ("sh", "-c", SCRIPT, "survey", interface)
    printed = host.run(argv, timeout_s=TIMEOUT_S).stdout
    return parse(host.name, printed)


class _Facts(defaultdict[str, list[str]]):
    """Values of each name, in their order."""

    def __init__(self) -> None:
        super().__init__(list)

    def text(self, name: str) -> str:
        return self[name][-1] if self[name] else ""

    def number(self, name: str) -> int | None:
        return _number(self.text(name))

    def colons(self, name: str) -> dict[str, str]:
        pairs = (line.partition(":") for line in self[name])
        return {key.strip(): value.strip() for key, _, value in pairs if value.strip()}

    def halves(self, name: str) -> tuple[dict[str, str], dict[str, str]]:
        """Maxima and current settings, as ethtool prints them."""
        sides: tuple[dict[str, str], dict[str, str]] = {}, {}
        current = False
        for line in self[name]:
            current = current or line.startswith("Current")
            if match := _SECTION.match(line.strip()):
                sides[current].setdefault(match["name"].lower(), match["value"])
        return sides


def parse(name: str, text: str) -> HostSurvey:
    facts, interfaces = _Facts(), defaultdict[str, _Facts](_Facts)
    for line in text.splitlines():
        key, _, value = line.partition(" ")
        place = facts
        if key == "if":
            interface, _, rest = value.partition(" ")
            key, _, value = rest.partition(" ")
            place = interfaces[interface]
        if value.strip():
            place[key].append(value.rstrip())
    idle = [line.split() for line in facts["idle"]]
    texts = ("kernel", "os", "cpu_model", "ssh_address", "congestion", "boot_id")
    return HostSurvey(
        name=name,
        **{key: facts.text(key) for key in (*texts, "network_namespace")},
        loopback=tuple(address.own for address in _addresses(facts["loopback"])),
        cpus=facts.number("cpus") or 1,
        clock_s=facts.number("clock_s"),
        governors=tuple(facts["governor"]),
        # the deepest state that is enabled
        idle_us=max((_number(w[0]) or 0 for w in idle if w[1:2] == ["0"]), default=0),
        services=tuple(facts["service"]),
        synchronised={"yes": True, "no": False}.get(facts.text("synchronised")),
        rmem_max_B=_number((facts.text("tcp_rmem").split() or [""])[-1]),
        wmem_max_B=_number((facts.text("tcp_wmem").split() or [""])[-1]),
        conntrack=bool(facts.number("conntrack")),
        filters=(facts.number("input_chains") or 0) + len(facts["iptables"]),
        interfaces=tuple(_interface(name, of_name) for name, of_name in interfaces.items()),
    )


def _interface(name: str, facts: _Facts) -> Interface:
    driver = facts.colons("driver")
    rings_max, rings = facts.halves("rings")
    channels_max, _ = facts.halves("channels")
    pause = facts.halves("pause")[0]
    kernels = {key: facts.number(key) for key in ERRORS}
    counters = {key: _number(text) for key, text in facts.colons("counter").items()}
    own = {key: count for key, count in counters.items() if count is not None}
    irqs = (line.split() for line in facts["irq"])
    stack = parsed_layers(facts["layer"])
    speed_Mbps = stack.speed_Mbps if stack.rows() else facts.number("speed")
    return Interface(
        name=name,
        addresses=tuple(_addresses(facts["address"])),
        link_local=tuple(_addresses(facts["address"], scope="link", version=6)),
        up=facts.text("operstate") in ("up", "unknown"),
        mtu_B=facts.number("mtu") or 0,
        # veth and TUN report 10 Gb/s and 10 Mb/s at any rate
        speed_Mbps=None if driver.get("driver") in ("veth", "tun") else speed_Mbps,
        stack=stack,
        duplex=facts.text("duplex"),
        driver=driver.get("driver", ""),
        driver_version=driver.get("version", ""),
        bus_address=facts.text("bus_address"),
        link_speed=facts.text("current_link_speed"),
        link_width=facts.number("current_link_width"),
        link_max_speed=facts.text("max_link_speed"),
        link_max_width=facts.number("max_link_width"),
        local_cpus=facts.text("local_cpulist"),
        rx_queues=facts.number("rx_queues") or 1,
        channels_max=_number(channels_max.get("combined")) or _number(channels_max.get("rx")),
        ring=_number(rings.get("rx")),
        ring_max=_number(rings_max.get("rx")),
        pauses=tuple(key for key in ("rx", "tx") if pause.get(key) == "on"),
        features={key: value.split()[0] for key, value in facts.colons("features").items()},
        # what the card or its driver lost
        drops={key: count for key, count in kernels.items() if count}
        | losses(driver.get("driver", ""), own),
        qdiscs=tuple(line.split()[1] for line in facts["qdisc"] if len(line.split()) > 1),
        interrupts=tuple(
            Interrupt(number, cpus[0] if cpus else "")
            for text, *cpus in irqs
            if (number := whole_number(text)) is not None
        ),
    )


def _addresses(
    lines: Iterable[str], *, scope: str = "global", version: int | None = None
) -> Iterator[Address]:
    """Addresses of `ip -o addr` of one scope."""
    for line in lines:
        match = _ADDRESS.search(line)
        if match and (match["scope"] or "global") == scope:
            reaches = match["peer"] or match["own"] + (match["length"] or "")
            address = Address.of(match["own"], reaches)
            if address and version in (None, address.version):
                yield address


def _number(text: str | None) -> int | None:
    return None if text is None else whole_number(text)
