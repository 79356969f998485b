"""Knobs: one setting, its value and the source of the value; and choices between knobs."""

from __future__ import annotations

import re
from collections.abc import Mapping
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
from netlab.tuning.forms import FORMS, pci_size
from netlab.tuning.shell_lines import command

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


def is_driver_set(label: str, settings: Mapping[str, object]) -> bool:
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
    :mod:`netlab.tuning.forms` for ``qdisc``, ``irq``, ``pci`` and ``governor``.
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
        elif self.kind in FORMS:
            folded = FORMS[self.kind](folded)
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
