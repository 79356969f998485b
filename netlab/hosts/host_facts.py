"""Facts of a host (kernel, CPU, NIC, bus), read by one command."""

from __future__ import annotations

import re
from typing import Any

from netlab.errors import printable
from netlab.files.recorded_facts import NUMBERS, TEXTS, HostFacts, NamespaceFacts, host_facts
from netlab.hosts.stack import SCRIPT as LAYERS
from netlab.hosts.stack import parsed_layers

# Prints `NAME VALUE` for each fact it finds; uses only what every Linux host has.
SCRIPT = rf"""
i=$1
say() {{ if [ -n "$2" ]; then printf '%s %s\n' "$1" "$2"; fi; }}
first() {{ if [ -r "$1" ]; then head -n 1 "$1" 2>/dev/null; fi; }}
{LAYERS}
"""
SCRIPT += r"""
say hostname "$(uname -n)"
say kernel "$(uname -r)"
say machine "$(uname -m)"
say boot_id "$(first /proc/sys/kernel/random/boot_id)"
say network_namespace "$(readlink /proc/self/ns/net)"
say os "$(. /etc/os-release 2>/dev/null && printf %s "$PRETTY_NAME")"
say cpus "$(grep -c '^processor' /proc/cpuinfo)"
say cpu_model "$(sed -n 's/^model name[^:]*: *//p' /proc/cpuinfo | head -n 1)"
say memory_kB "$(sed -n 's/^MemTotal: *\([0-9]*\) kB/\1/p' /proc/meminfo)"
cpus=${2:-/sys/devices/system/cpu}
c=$cpus/cpu0
case $(first "$cpus/smt/active") in 1) say smt on ;; 0) say smt off ;; esac
# an entry for each IOMMU in use
if [ -d /sys/class/iommu ]; then
  units=$(ls /sys/class/iommu | wc -l)
  if [ "$units" -gt 0 ]; then say iommu on; else say iommu off; fi
fi
say governor "$(first "$c/cpufreq/scaling_governor")"
has() { if [ -r "$2" ]; then say "$1" "read in each run"; else say "$1" "unsupported: no $3"; fi; }
has cpu_frequency "$c/cpufreq/scaling_cur_freq" cpufreq
has thermal_throttling "$c/thermal_throttle/core_throttle_count" "count of throttling"
# a VLAN, or a bond with one slave, has the bus and the driver of the card below it
card() {
  set -- "$e"/lower_*
  if [ ! -e "$e/device" ] && [ $# -eq 1 ] && [ -e "$1" ]; then
    e=$1 c=${1##*/lower_}
    card
  fi
}
if [ -n "$i" ]; then
  d=/sys/class/net/$i
  if [ ! -e "$d" ]; then  # one of its other names
    i=$(PATH=$PATH:/usr/sbin:/sbin ip -o link show dev "$i" 2>/dev/null |
      sed -n 's/^[0-9]*: \([^:@]*\).*/\1/p')
    d=/sys/class/net/${i:-/none}
  fi
  if [ -e "$d" ]; then
    say interface_exists 1
    say interface "$i"
    say mtu_B "$(first "$d/mtu")"
    say link_speed_Mbps "$(first "$d/speed")"
    say duplex "$(first "$d/duplex")"
    say operstate "$(first "$d/operstate")"
    say mac_address "$(first "$d/address")"
    for port in "$d"/brif/*; do
      if [ ! -e "$port" ]; then continue; fi
      ports="$ports${ports:+, }${port##*/} $(first "/sys/class/net/${port##*/}/mtu") B"
    done
    say bridge_ports "$ports"
    layers "${d%/*}" "$i"
    e=$d c=$i
    card
    say nic_driver "$(basename "$(readlink "$e/device/driver")" 2>/dev/null)"
    say pci_vendor "$(first "$e/device/vendor")"
    say pci_device "$(first "$e/device/device")"
    say bus_address "$(basename "$(readlink "$e/device")" 2>/dev/null)"
    say bus_width "$(first "$e/device/current_link_width")"
    say bus_speed "$(first "$e/device/current_link_speed")"
    s=$e/device/config
    if [ ! -e "$s" ]; then s=$e/device/../config; fi  # of virtio the PCI device is the parent
    # from a capability of the configuration space, for root only. 16, PCI Express:
    # Max_Payload_Size, bits 7:5 of device control. 7, PCI-X: bit 16 of its status, a 64 bit device
    capability() { od -An -v -tu1 -N256 "$s" 2>/dev/null | awk -v id="$1" '
      { for (f = 1; f <= NF; f++) b[n++] = $f }
      END {
        at = b[52] - b[52] % 4
        for (k = 0; n == 256 && k < 48 && at >= 64 && at < 244; k++) {
          if (b[at] == id && id == 7) {
            print (b[at + 6] % 2 ? 64 : 32)
            exit
          }
          if (b[at] == id) {  # no ^: an awk of busybox may lack it
            size = 128
            for (v = int(b[at + 8] / 32) % 8; v > 0; v--) size *= 2
            print size
            exit
          }
          at = b[at + 1] - b[at + 1] % 4
        }
      }'; }
    say bus_max_payload_B "$(capability 16)"
    say bus_pci_x_bits "$(capability 7)"
    p=${3:-/sys/bus/pci}
    a=$(basename "$(readlink "$e/device")" 2>/dev/null)
    case $a in *:*:*.*)
      for t in "$p"/slots/*; do
        if [ "$(first "$t/address")" = "${a%.*}" ]; then
          say bus_slot_speed "$(first "$t/cur_bus_speed")"
        fi
      done
      say bus_devices "$(ls "$p/devices" 2>/dev/null |
        sed -n "s/^\(${a%:*}:[^.]*\)\..*/\1/p" | sort -u | wc -l)"
    ;; esac
    say numa_node "$(first "$e/device/numa_node")"
    say bus_max_width "$(first "$e/device/max_link_width")"
    say bus_max_speed "$(first "$e/device/max_link_speed")"
    PATH=$PATH:/usr/sbin:/sbin
    ethtool -i "$c" 2>/dev/null | sed -n \
      -e 's/^driver: */nic_driver /p' -e 's/^version: */nic_driver_version /p' \
      -e 's/^firmware-version: */nic_firmware /p'
  else
    say interface_exists 0
  fi
fi
"""

ONE_HOST = (
    "log in to one host (its network namespace): the kernel passes packets between its own "
    "addresses inside, and no card carries them; take two hosts, or move one card into a network "
    "namespace with an sshd of its own (`ip netns add`, `ip link set CARD netns NAME`)"
)


def is_one_host(one: NamespaceFacts, other: NamespaceFacts) -> bool:
    """True if the facts of two logins name the same network namespace of the same boot."""
    places = [(facts["boot_id"], facts["network_namespace"]) for facts in (one, other)]
    return places[0] == places[1] and all(places[0])


def whole_number(text: str) -> int | None:
    """The number that a host printed; None for other text, and beyond 64 bits."""
    return int(text) if re.fullmatch(r"[0-9]{1,18}", text.strip()) else None


def facts_argv(interface: str | None = None) -> tuple[str, ...]:
    return ("sh", "-c", SCRIPT, "facts", interface or "")


def parsed_facts(text: str, interface: str | None = None) -> HostFacts:
    layered = (line[6:] for line in text.splitlines() if line.startswith("layer "))
    stack = parsed_layers(layered)
    lines = (line.partition(" ") for line in text.splitlines())
    texts = {name: printable(value.strip()) for name, _, value in lines if value.strip()}
    facts: dict[str, Any] = {name: texts.get(name) for name in TEXTS}
    for name in NUMBERS:
        value = texts.get(name, "")
        # The kernel reports -1 for an unknown speed, and 0 or 255 for an unknown width.
        unknown = name.startswith("bus") and value in {"0", "255"}
        facts[name] = None if unknown else whole_number(value)
    facts["interface"] = interface and texts.get("interface", interface)
    facts["interface_exists"] = None if interface is None else texts.get("interface_exists") == "1"
    if facts["nic_driver"] == "veth" or stack.rows():
        # veth reports 10 Gb/s at any rate, which would look like a limit, and a bond a sum
        facts["link_speed_Mbps"] = None if facts["nic_driver"] == "veth" else stack.speed_Mbps
    return host_facts({**facts, "layers": rows} if (rows := stack.rows()) else facts)
