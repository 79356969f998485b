"""Choice of a host's congestion control for a name, by the abilities of its kernel."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from netlab.errors import Unsupported
from netlab.study import Stack
from netlab.study.stacks import KERNEL

OWN_LAWS = ("scalable", "highspeed", "aimd", "fast")
"""Names for which netlab has a law of its own where the kernel has none."""


@dataclass(frozen=True)
class CcChoice:
    """Congestion control that a host uses for a name of the study."""

    name: str
    source: str
    stack: Stack | None = None

    @property
    def module(self) -> str:
        return f"tcp_{self.name}"


def choose(
    host: str,
    names: Iterable[str],
    defined: Mapping[str, Stack],
    available: Iterable[str],
    has_module: Callable[[str], bool],
) -> tuple[CcChoice, ...]:
    """Choose for every name: the study's own stack, else the kernel's, else netlab's law."""
    offered = tuple(available)
    chosen = []
    for name in names:
        if name in defined and defined[name].law != KERNEL:
            chosen.append(CcChoice(name, "bpf", defined[name]))
        elif name in offered:
            chosen.append(CcChoice(name, "kernel"))
        elif has_module(f"tcp_{name}"):
            chosen.append(CcChoice(name, "module"))
        elif name in OWN_LAWS and name not in defined:
            chosen.append(CcChoice(name, "bpf", Stack.model_validate({"law": name})))
        else:
            raise Unsupported(
                f"{host}: no congestion control {name!r} in its kernel, as a module or in netlab; "
                f"the kernel has {', '.join(offered)}; netlab has {', '.join(OWN_LAWS)} and those "
                "that the study defines under stacks",
                code="E-CONGESTION-001",
            )
    return tuple(chosen)
