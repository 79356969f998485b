"""Which congestion control a host takes for a name: decided from what its kernel has."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from netlab.errors import Unsupported
from netlab.study import Stack
from netlab.study.stacks import KERNEL

LAWS = ("scalable", "highspeed", "aimd", "fast")
"""Names that are netlab's own laws where the kernel has nothing of that name."""


@dataclass(frozen=True)
class Choice:
    """What a host will use for a name of the study.

    Parameters
    ----------
    name : str
        As the study says it.
    source : str
        ``kernel``: it is there; ``module``: it comes with a module that has to be loaded;
        ``bpf``: netlab brings it.
    stack : Stack or None
        The law to bring.
    """

    name: str
    source: str
    stack: Stack | None = None

    @property
    def module(self) -> str:
        """The kernel's name of its module."""
        return f"tcp_{self.name}"


def choose(
    host: str,
    names: Iterable[str],
    defined: Mapping[str, Stack],
    available: Iterable[str],
    has_module: Callable[[str], bool],
) -> tuple[Choice, ...]:
    """Decide for every name: what the study defines is netlab's own; else the kernel's comes first.

    Parameters
    ----------
    host : str
        Its name, for messages.
    names : iterable of str
        Single names, none twice.
    defined : mapping of str to Stack
        The study's ``stacks``.
    available : iterable of str
        What the host's kernel offers now.
    has_module : callable
        Whether a kernel module of that name can be loaded there.

    Raises
    ------
    Unsupported
        Neither the kernel nor netlab has it.
    """
    there = tuple(available)
    chosen = []
    for name in names:
        if name in defined and defined[name].law != KERNEL:
            chosen.append(Choice(name, "bpf", defined[name]))
        elif name in there:
            chosen.append(Choice(name, "kernel"))
        elif has_module(f"tcp_{name}"):
            chosen.append(Choice(name, "module"))
        elif name in LAWS and name not in defined:
            chosen.append(Choice(name, "bpf", Stack.model_validate({"law": name})))
        else:
            raise Unsupported(
                f"{host}: its kernel has no congestion control {name!r}, built in or as a module, "
                f"and netlab brings none of that name: there are {', '.join(there)}; netlab "
                f"brings {', '.join(LAWS)} and what the study defines under stacks"
            )
    return tuple(chosen)
