"""Shell lines that do what a knob does, for people who set it without netlab."""

from __future__ import annotations

import shlex

from netlab.tuning.forms import IRQ_WORDS, irq_lists

IN_SYSFS = ("defer", "napi")
"""Kinds that are files of the interface in sysfs."""

_ETHTOOL_FEATURE = {"rx-checksum": "rx", "tx-checksum": "tx", "scatter-gather": "sg"}
_ETHTOOL_FLAG = {"ring": "-G", "pause": "-A", "channels": "-L", "feature": "-K"}
_ETHTOOL_FLAG |= dict.fromkeys(("coalesce", "adaptive"), "-C")
_PCI_REGISTERS = {
    "max-read-request": ("CAP_EXP+8", 7, 12, 0x7000),
    "mmrbc": ("CAP_PCIX+2", 9, 2, 0xC),
}
"""Register as setpci names it, exponent of the field's 0, its lowest bit, and its mask."""


def command(kind: str, name: str | None, value: str, interface: str) -> str:
    if kind == "sysctl":
        return shlex.join(["sysctl", "-w", f"{name}={value}"])
    if kind == "module":
        return shlex.join(["modprobe", *(["-r"] if value == "absent" else []), str(name)])
    if kind in ("mtu", "txqueuelen", "offload"):
        return shlex.join(["ip", "link", "set", "dev", interface, name or kind, value])
    if kind == "qdisc":
        return _qdisc(value, interface)
    if kind == "governor":
        files = "/sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_governor"
        return f"for f in {files}; do echo {shlex.quote(value)} > $f; done"
    if kind == "irq":
        return _irq(value, interface)
    if kind == "pci":
        return _pci(str(name), value, interface)
    if kind in IN_SYSFS:
        path = shlex.quote(f"/sys/class/net/{interface}/{name}")
        return f"echo {shlex.quote(value)} > {path}"
    word = _ETHTOOL_FEATURE.get(str(name), str(name))
    word = f"adaptive-{word}" if kind == "adaptive" else word
    return shlex.join(["ethtool", _ETHTOOL_FLAG[kind], interface, word, value])


def _qdisc(value: str, interface: str) -> str:
    root, *leaf = value.split()
    replace = ["tc", "qdisc", "replace", "dev", interface]
    if root != "mq" or not leaf:
        return shlex.join([*replace, "root", root, *leaf])
    queues = shlex.quote(f"/sys/class/net/{interface}/queues")
    return (
        f"{shlex.join([*replace, 'root', 'handle', '6e6c:', 'mq'])}; n=1; "
        f"for q in {queues}/tx-*; do {shlex.join(replace)} parent 6e6c:$(printf %x $n) "
        f"{shlex.join(leaf)}; n=$((n + 1)); done"
    )


def _irq(value: str, interface: str) -> str:
    """One interrupt after the other, those that are not requested passed over."""
    items = [value] if value in IRQ_WORDS else irq_lists(value)
    where = shlex.quote(f"/sys/class/net/{interface}/device/msi_irqs")
    advance = "shift" if len(items) > 1 else ":"
    return (
        f"set -- {shlex.join(items)}; for n in $(ls {where} | sort -n); do "
        "if ls -d /proc/irq/$n/*/ >/dev/null 2>&1; then "
        f"echo $1 > /proc/irq/$n/smp_affinity_list; {advance}; fi; done"
    )


def _pci(name: str, value: str, interface: str) -> str:
    register, exponent, low, mask = _PCI_REGISTERS[name]
    field = (int(value).bit_length() - 1 - exponent) << low
    device = shlex.quote(f"/sys/class/net/{interface}/device")
    return f"setpci -s $(basename $(readlink -f {device})) {register}.w={field:x}:{mask:x}"
