"""Knobs: one setting, its value and the source of the value; and choices between knobs."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    model_validator,
)
from pydantic_core import PydanticUndefined

from netlab.tuning.exact import is_exact

# Shell lines that do what a knob does, for people who set it without netlab.

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


# Forms of a knob's value: what is allowed, and the notation that the host reads back.

QDISCS = (
    *("noqueue", "pfifo_fast", "pfifo", "bfifo", "mq"),
    *("fq", "fq_codel", "codel", "sfq", "cake"),
)
"""Queueing disciplines that carry traffic without classes."""

IRQ_WORDS = ("spread", "local")
"""Values that the plan replaces by CPUs: queue i to the i-th of all CPUs, or of the card's node."""

PCI_SIZES_B = (128, 256, 512, 1024, 2048, 4096)

_GOVERNOR = re.compile(r"[a-z_]{1,15}")
_CPUS = r"\d{1,4}(-\d{1,4})?(,\d{1,4}(-\d{1,4})?)*"
_IRQ_ITEM = rf"({_CPUS}(\*[1-9]\d{{0,2}})?|\d{{1,4}}\.\.\d{{1,4}})"
_IRQS = re.compile(rf"{_IRQ_ITEM}(/{_IRQ_ITEM})*")
_RATE = re.compile(r"(\d+(?:\.\d+)?)([kmg]?bit)?")
_SCALE = {"bit": 1, "kbit": 10**3, "mbit": 10**6, "gbit": 10**9}
_MOST_RATE_bps = 8 * (2**32 - 2)
_MOST = {"limit": 2**32 - 1, "flow_limit": 2**32 - 1, "buckets": 2**18}
_DEFAULT = {"limit": 10_000, "flow_limit": 100, "buckets": 1024}


def governor(text: str) -> str:
    if not _GOVERNOR.fullmatch(text):
        raise ValueError(f"a governor is a word such as performance or powersave, not {text!r}")
    return text


def irq_affinity(text: str) -> str:
    """CPUs of the interrupts of an interface, or a word of :data:`IRQ_WORDS`."""
    if text in IRQ_WORDS:
        return text
    if not _IRQS.fullmatch(text):
        raise ValueError(
            f"the CPUs of interrupts are {' or '.join(IRQ_WORDS)}, one list for all as in 0-3, or "
            f"one for each as in 0/1/2-3, not {text!r}"
        )
    irq_lists(text)
    return text


MOST_CPUS = 8192
"""CPUs of the largest kernel."""


def cpus(text: str) -> list[int]:
    numbers: list[int] = []
    for part in text.split(","):
        first, _, last = part.partition("-")
        if not 0 <= int(last or first) - int(first) < MOST_CPUS:
            raise ValueError(f"{part} is not an ascending range of at most {MOST_CPUS} CPUs")
        numbers.extend(range(int(first), int(last or first) + 1))
    if len(set(numbers)) < len(numbers):
        raise ValueError(f"a CPU is named twice in {text!r}")
    return sorted(numbers)


def cpu_list(numbers: Iterable[int]) -> str:
    """The kernel's notation of ascending CPUs."""
    runs: list[list[int]] = []
    for cpu in numbers:
        if runs and cpu == runs[-1][1] + 1:
            runs[-1][1] = cpu
        else:
            runs.append([cpu, cpu])
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in runs)


def governors_text(of: dict[int, str]) -> str:
    """The governor that all CPUs have, else ``powersave:0,3 performance:1-2``."""
    words = list(dict.fromkeys(of.values()))
    if len(words) == 1:
        return words[0]
    each = ((word, [cpu for cpu, other in of.items() if other == word]) for word in words)
    return " ".join(f"{word}:{cpu_list(numbers)}" for word, numbers in each)


def irq_lists(text: str) -> list[str]:
    lists: list[str] = []
    for item in text.split("/"):
        if ".." in item:
            lists.extend(str(cpu) for cpu in cpus(item.replace("..", "-")))
        else:
            listed, _, times = item.partition("*")
            lists.extend([cpu_list(cpus(listed))] * int(times or 1))
    return lists


def irq_text(lists: Iterable[str]) -> str:
    """Short notation: ``X*N`` for N interrupts with the same CPUs, ``A..B`` for A, A+1, .. B."""
    left, items = list(lists), []
    while left:
        count = next((i for i, one in enumerate(left) if one != left[0]), len(left))
        text = f"{left[0]}*{count}" if count > 1 else left[0]
        rises = 1
        while left[0].isdecimal() and left[rises : rises + 1] == [str(int(left[0]) + rises)]:
            rises += 1
        if rises >= 3:
            count, text = rises, f"{left[0]}..{left[rises - 1]}"
        items.append(text)
        del left[:count]
    return "/".join(items)


def pci_size(text: str, name: str) -> str:
    if name == "max-payload":
        raise ValueError("max-payload is set by the system for all devices of a path; read only")
    sizes = [str(size) for size in PCI_SIZES_B if name != "mmrbc" or size >= 512]
    if text not in sizes:
        raise ValueError(f"{name} is one of {', '.join(sizes)} bytes, not {text!r}")
    return text


def qdisc(text: str) -> str:
    words = text.split()
    kinds = words[: 2 if words[:1] == ["mq"] else 1]
    if not kinds or any(kind not in QDISCS for kind in kinds) or kinds[1:] in (["mq"], ["noqueue"]):
        raise ValueError(
            f"a qdisc is one of {', '.join(QDISCS)}, or mq and that of each queue, not {text!r}"
        )
    parameters = words[len(kinds) :]
    if parameters and kinds[-1] != "fq":
        raise ValueError(f"{kinds[-1]} takes no parameters here, as in {text!r}; fq does")
    return " ".join([*kinds, *_fq(iter(parameters), text)])


def _fq(words: Iterable[str], text: str) -> list[str]:
    values: dict[str, int] = {}
    paced = True
    words = iter(words)
    for word in words:
        if word == "nopacing":
            paced = False
        elif word == "maxrate":
            values[word] = _rate_bps(next(words, ""))
        elif word in _MOST:
            values[word] = _number(word, next(words, ""))
        else:
            raise ValueError(
                f"fq takes limit, flow_limit, buckets, maxrate and nopacing, not {word!r} "
                f"(in {text!r})"
            )
    order = ("limit", "flow_limit", "buckets", "maxrate")
    kept = [key for key in order if key in values and values[key] != _DEFAULT.get(key)]
    return [part for key in kept for part in (key, str(values[key]))] + ["nopacing"] * (not paced)


def _number(name: str, text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= _MOST[name]:
        raise ValueError(f"{name} of fq is a whole number, 1 to {_MOST[name]}, not {text!r}")
    if name == "buckets" and int(text) & (int(text) - 1):
        raise ValueError(f"buckets of fq are a power of two, not {text!r}")
    return int(text)


def _rate_bps(text: str) -> int:
    match = _RATE.fullmatch(text)
    rate_bps = float(match[1]) * _SCALE[match[2] or "bit"] if match else 0.0
    if not 8 <= rate_bps <= _MOST_RATE_bps:
        raise ValueError(
            f"maxrate of fq is a rate of a flow such as 2gbit, at most {_MOST_RATE_bps / 1e9:.1f} "
            f"Gbit/s, not {text!r}"
        )
    return int(rate_bps) // 8 * 8


_FORMS = {"qdisc": qdisc, "governor": governor, "irq": irq_affinity}

RX_INT_DELAY_UNIT_NS = 819.2
"""One unit of the ixgb driver's RxIntDelay (preliminary notes, appendix)."""

NAMES: dict[str, tuple[str, ...]] = {
    "mtu": (),
    "txqueuelen": (),
    "ring": ("rx", "tx"),
    "coalesce": ("rx-usecs", "rx-frames", "tx-usecs", "tx-frames"),
    "feature": ("rx-checksum", "tx-checksum", "tso", "gso", "gro", "scatter-gather"),
    "defer": ("gro_flush_timeout", "napi_defer_hard_irqs"),
    "adaptive": ("rx", "tx"),
    "pause": ("autoneg", "rx", "tx"),
    "channels": ("combined", "rx", "tx"),
    "napi": ("threaded",),
    "qdisc": (),
    "offload": ("gso_max_size", "gro_max_size", "gso_ipv4_max_size", "gro_ipv4_max_size"),
    "governor": (),
    "irq": ("affinity",),
    "pci": ("max-read-request", "mmrbc", "max-payload"),
}
"""Names of each kind of knob but ``sysctl``, see ``SYSCTL_PREFIXES``, and ``module``."""


def is_driver_set(label: str, settings: Mapping[str, str]) -> bool:
    """True of a value of coalescing that the driver overwrites, as it adapts to the traffic."""
    kind, _, name = label.partition(" ")
    return kind == "coalesce" and settings.get(f"adaptive {name.partition('-')[0]}") == "on"


HOSTWIDE = ("sysctl", "module", "governor")
"""Kinds that belong to no interface."""

SYSCTL_PREFIXES = {
    "net.": "the network stack",
    "kernel.numa_balancing": "moves pages and threads between nodes",
    "kernel.sched_": "when and where a thread runs",
    "kernel.timer_migration": "timers wake idle CPUs",
    "kernel.nmi_watchdog": "takes a performance counter and interrupts",
    "vm.min_free_kbytes": "memory that drivers get without waiting",
    "vm.swappiness": "swapping delays threads",
    "vm.stat_interval": "interrupts each CPU so often",
    "vm.zone_reclaim_mode": "memory of a far node or a wait",
}
"""Beginnings of the sysctls that a tuning may set: others run programs or cannot be put back."""

_SYSCTL_NAME = re.compile(r"(net|kernel|vm)(\.(?!/+(?:\.|$))[A-Za-z0-9_/-]+)+")
_MODULE_NAME = re.compile(r"tcp_[a-z0-9_]{1,51}")
_NUMBER = re.compile(r"0|[1-9][0-9]{0,9}")
_MAX_VALUE = 800

RISK = "the host forwards for nobody; its redirects are compared"

MOST, WITH_MOST = "max", ("ring", "channels")
"""Value of kinds whose device states what it takes at most; the plan shows the number."""

SWITCHES = ("feature", "adaptive", "pause")
"""Kinds whose value is on or off."""

RESOLVED = ("irq", "qdisc")
"""Kinds whose value the host turns into the one that it would read back, for the plan."""

Kind = Literal[
    "sysctl",
    "mtu",
    "txqueuelen",
    "ring",
    "coalesce",
    "feature",
    "defer",
    "adaptive",
    "pause",
    "channels",
    "napi",
    "offload",
    "qdisc",
    "module",
    "governor",
    "irq",
    "pci",
]


def _as_text(value: object) -> object:
    # YAML reads a bare on or off as a truth value; an offload's switch is a word.
    if isinstance(value, bool):
        raise ValueError("a value is text or a whole number; write 'on' or 'off' in quotes")
    return str(value) if isinstance(value, int) else value


class Frozen(BaseModel):
    """Base of the models of a tuning: frozen, no unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


def key(description: str, example: object, default: Any = PydanticUndefined, **limits: Any) -> Any:
    """A key of a file: the schema, the guide and the errors describe it so."""
    return Field(default, description=description, examples=[example], **limits)


class HostSetting(Frozen, title="`records` of a tuning"):
    """One setting of a host, without a value."""

    kind: Annotated[Kind, key("Kind of the setting.", "sysctl")]
    name: Annotated[
        str | None,
        key("Setting of that kind; `mtu` and `txqueuelen` have none.", "net.ipv4.tcp_sack"),
    ] = None

    @model_validator(mode="after")
    def _check_name(self) -> Self:
        names = NAMES.get(self.kind)
        if self.kind == "module":
            if not _MODULE_NAME.fullmatch(self.name or ""):
                raise ValueError(f"not the name of a module tcp_...: {self.name!r}")
        elif names is None:
            named = self.name or ""
            if len(named) > 200 or not _SYSCTL_NAME.fullmatch(named):
                raise ValueError(f"not the name of a sysctl: {self.name!r}")
            if not named.startswith(tuple(SYSCTL_PREFIXES)):
                allowed = ", ".join(SYSCTL_PREFIXES)
                raise ValueError(f"{named}: a tuning sets sysctls of {allowed} only")
        elif self.name is not None and self.name not in names:
            choices = ", ".join(names) or "no name"
            raise ValueError(f"a {self.kind} knob takes {choices}, not {self.name!r}")
        elif names and self.name is None:
            raise ValueError(f"a {self.kind} knob needs a name: {', '.join(names)}")
        return self

    @property
    def label(self) -> str:
        if self.kind == "sysctl":
            return str(self.name)
        return f"{self.kind} {self.name}" if self.name else self.kind


class Knob(HostSetting, title="A knob"):
    """One setting and the value it should have.

    Runs of blanks become one. MTU in bytes, queue length in packets, ring sizes in descriptors,
    ``*-usecs`` in microseconds, ``gro_flush_timeout`` in nanoseconds; ``on`` or ``off`` for a
    switch; ``loaded`` or ``absent`` for the module of a congestion control; see
    :mod:`netlab.tuning.knobs` for ``qdisc``, ``irq``, ``pci`` and ``governor``.
    """

    value: Annotated[
        str,
        BeforeValidator(_as_text, json_schema_input_type=str | int),
        key("Value to set: a whole number, or text; on and off in quotes.", 1),
    ]
    source: Annotated[str, key("Where the value is from.", "appendix D", min_length=1)]
    note: Annotated[str | None, key("Remark for readers.", "In pages.")] = None
    when_missing: Annotated[
        str | None, key("Known reason why a kernel or card lacks it.", "left Linux in 4.12")
    ] = None
    risk: Annotated[
        str | None,
        key("Why a setting that is not known to revert exactly is set.", RISK, min_length=1),
    ] = None

    @model_validator(mode="after")
    def _check_value(self) -> Self:
        names = NAMES.get(self.kind)
        folded = " ".join(self.value.split())
        if not folded.isascii() or not folded.isprintable() or len(folded) > _MAX_VALUE:
            raise ValueError(f"the value must be at most {_MAX_VALUE} printable ASCII characters")
        if self.kind in SWITCHES:
            if folded not in ("on", "off"):
                what = "an offload" if self.kind == "feature" else f"{self.kind} {self.name}"
                raise ValueError(f"{what} is on or off, not {folded!r}")
        elif self.kind in _FORMS:
            folded = _FORMS[self.kind](folded)
        elif self.kind == "pci":
            folded = pci_size(folded, str(self.name))
        elif self.kind == "module":
            if folded not in ("loaded", "absent"):
                raise ValueError(f"a module is loaded or absent, not {folded!r}")
        elif not (
            self.kind == "sysctl"
            or (self.kind in WITH_MOST and folded == MOST)
            or (_NUMBER.fullmatch(folded) and int(folded) < 2 ** (31 if not names else 32))
        ):
            raise ValueError(f"a {self.kind} value is a whole decimal number, not {folded!r}")
        if self.kind == "napi" and folded not in ("0", "1"):
            raise ValueError(f"{self.name} is 0 or 1, not {folded!r}")
        if self.kind == "mtu" and folded == "0":
            raise ValueError("an MTU is at least 1 byte")
        object.__setattr__(self, "value", folded)
        return self

    @property
    def is_exact(self) -> bool:
        """True if a value written back leaves the host as it was, see ``exact.py``."""
        return is_exact(self.kind, self.name)

    @property
    def needs_risk(self) -> bool:
        """True if it may not revert exactly, and states no risk."""
        return not self.is_exact and self.risk is None

    def command(self, interface: str) -> str:
        return command(self.kind, self.name, self.value, interface)


_RING = {"kind": "ring", "name": "rx", "value": 2048}
_NOW = {"knobs": [{"kind": "coalesce", "name": "rx-usecs", "value": 0}]}


class KnobOption(Frozen, title="`first_supported` of a choice"):
    """One way to get the effect of a :class:`Choice`: knobs that are set together.

    All or none are set; without one of them the next option is tried.
    """

    knobs: Annotated[tuple[Knob, ...], key("Knobs that are set together.", [_RING], min_length=1)]
    needs: Annotated[
        Literal["software_deferral"] | None,
        key("Only for hosts that defer interrupts in software.", "software_deferral"),
    ] = None


class Choice(Frozen, title="A choice between knobs"):
    """A parameter that hosts offer in different forms; the first supported option is set."""

    parameter: Annotated[str, key("Name of the parameter in a document.", "RxIntDelay")]
    published: Annotated[
        str, BeforeValidator(_as_text, json_schema_input_type=str | int), key("Its value there.", 0)
    ]
    note: Annotated[str | None, key("Remark for readers.", "In units of 0.8192 µs.")] = None
    first_supported: Annotated[
        tuple[KnobOption, ...],
        key(
            "Ways to get its effect; the first that the host supports is taken.",
            [_NOW],
            min_length=1,
        ),
    ]


def _item_tag(item: object) -> str:
    if isinstance(item, dict):
        return "choice" if "parameter" in item or "first_supported" in item else "knob"
    return "choice" if isinstance(item, Choice) else "knob"


Item = Annotated[
    Annotated[Knob, Tag("knob")] | Annotated[Choice, Tag("choice")], Discriminator(_item_tag)
]


def item_key(item: Knob | Choice) -> tuple[str, str | None]:
    """Key under which a knob or choice replaces that of an extended tuning."""
    if isinstance(item, Choice):
        return ("choice", item.parameter)
    return (item.kind, item.name)
