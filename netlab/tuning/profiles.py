"""Tunings as data: YAML files of knobs, each with its source, resolved to profiles."""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path
from typing import Annotated, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    model_validator,
)

from netlab.errors import BadInput
from netlab.files import paths
from netlab.files.yaml_file import read_yaml, validated

RX_INT_DELAY_UNIT_NS = 819.2
"""One unit of the ixgb driver's RxIntDelay (preliminary notes, appendix)."""

NAMES: dict[str, tuple[str, ...]] = {
    "mtu": (),
    "txqueuelen": (),
    "ring": ("rx", "tx"),
    "coalesce": ("rx-usecs", "rx-frames", "tx-usecs", "tx-frames"),
    "feature": ("rx-checksum", "tx-checksum", "tso", "gso", "gro", "scatter-gather"),
    "defer": ("gro_flush_timeout", "napi_defer_hard_irqs"),
}
"""Names of each kind of knob but ``sysctl``, which takes those under ``net.``, and ``module``."""

HOSTWIDE = ("sysctl", "module")
"""Kinds that belong to no interface."""

_SYSCTL_NAME = re.compile(r"net(\.(?!/+(?:\.|$))[A-Za-z0-9_/-]+)+")
_MODULE_NAME = re.compile(r"tcp_[a-z0-9_]{1,51}")
_NUMBER = re.compile(r"0|[1-9][0-9]{0,9}")
_PROFILE_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,63}")
_ETHTOOL_FEATURE = {"rx-checksum": "rx", "tx-checksum": "tx", "scatter-gather": "sg"}
_MAX_VALUE = 400

Kind = Literal["sysctl", "mtu", "txqueuelen", "ring", "coalesce", "feature", "defer", "module"]


def _as_text(value: object) -> object:
    # true is a truth value in YAML, and an offload is switched by the word on or off
    if isinstance(value, bool):
        raise ValueError("a value is text or a whole number; write 'on' or 'off' in quotes")
    return str(value) if isinstance(value, int) else value


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Knob(_Frozen):
    """One setting and the value it should have.

    Parameters
    ----------
    kind : str
        ``sysctl``, ``mtu``, ``txqueuelen``, ``ring``, ``coalesce``, ``feature``, ``defer`` or
        ``module``.
    name : str, optional
        Which of that kind; ``mtu`` and ``txqueuelen`` have none.
    value : str
        Blanks are folded. MTU in bytes, queue length in packets, ring sizes in descriptors,
        ``*-usecs`` in microseconds, ``gro_flush_timeout`` in nanoseconds; a module, which is that
        of a congestion control, is ``loaded`` or ``absent``.
    source : str
        Document and section the value comes from.
    note : str, optional
        What a reader should know about it.
    when_missing : str, optional
        What is known about kernels or cards that lack it; added to the host's reason.
    """

    kind: Kind
    name: str | None = None
    value: Annotated[str, BeforeValidator(_as_text)]
    source: str = Field(min_length=1)
    note: str | None = None
    when_missing: str | None = None

    @model_validator(mode="after")
    def _check(self) -> Knob:
        names = NAMES.get(self.kind)
        if self.kind == "module":
            if not _MODULE_NAME.fullmatch(self.name or ""):
                raise ValueError(f"not the name of a module tcp_...: {self.name!r}")
        elif names is None:
            if not self.name or len(self.name) > 200 or not _SYSCTL_NAME.fullmatch(self.name):
                raise ValueError(f"not the name of a sysctl under net.: {self.name!r}")
        elif self.name is not None and self.name not in names:
            choices = ", ".join(names) or "no name"
            raise ValueError(f"a {self.kind} knob takes {choices}, not {self.name!r}")
        elif names and self.name is None:
            raise ValueError(f"a {self.kind} knob needs a name: {', '.join(names)}")
        folded = " ".join(self.value.split())
        if not folded.isascii() or not folded.isprintable() or len(folded) > _MAX_VALUE:
            raise ValueError(f"the value must be at most {_MAX_VALUE} printable ASCII characters")
        if self.kind == "feature":
            if folded not in ("on", "off"):
                raise ValueError(f"an offload is on or off, not {folded!r}")
        elif self.kind == "module":
            if folded not in ("loaded", "absent"):
                raise ValueError(f"a module is loaded or absent, not {folded!r}")
        elif self.kind != "sysctl" and not (
            _NUMBER.fullmatch(folded) and int(folded) < 2 ** (31 if not names else 32)
        ):
            raise ValueError(f"a {self.kind} value is a whole decimal number, not {folded!r}")
        if self.kind == "mtu" and folded == "0":
            raise ValueError("an MTU is at least 1 byte")
        object.__setattr__(self, "value", folded)
        return self

    @property
    def label(self) -> str:
        """``net.ipv4.tcp_sack``, ``mtu``, ``ring rx``, ..."""
        if self.kind == "sysctl":
            return str(self.name)
        return f"{self.kind} {self.name}" if self.name else self.kind

    def command(self, interface: str) -> str:
        """One shell line that sets it, every word quoted."""
        if self.kind == "sysctl":
            return shlex.join(["sysctl", "-w", f"{self.name}={self.value}"])
        if self.kind == "module":
            words = ["modprobe", *(["-r"] if self.value == "absent" else []), str(self.name)]
            return shlex.join(words)
        if self.kind in ("mtu", "txqueuelen"):
            return shlex.join(["ip", "link", "set", "dev", interface, self.kind, self.value])
        if self.kind == "defer":
            path = shlex.quote(f"/sys/class/net/{interface}/{self.name}")
            return f"echo {shlex.quote(self.value)} > {path}"
        flag = {"ring": "-G", "coalesce": "-C", "feature": "-K"}[self.kind]
        name = _ETHTOOL_FEATURE.get(str(self.name), str(self.name))
        return shlex.join(["ethtool", flag, interface, name, self.value])


class Option(_Frozen):
    """One way to have the effect of a :class:`Choice`: knobs that are set together.

    Parameters
    ----------
    knobs : tuple of Knob
        All of them, or the next option is tried.
    needs : str, optional
        ``software_deferral``: only for hosts that ask for it.
    """

    knobs: tuple[Knob, ...] = Field(min_length=1)
    needs: Literal["software_deferral"] | None = None


class Choice(_Frozen):
    """A parameter that hosts have in different forms; the first supported option wins.

    Parameters
    ----------
    parameter : str
        The documents' word for it (``RxIntDelay``).
    published : str
        Its value there.
    first_supported : tuple of Option
        In order of preference.
    """

    parameter: str
    published: Annotated[str, BeforeValidator(_as_text)]
    note: str | None = None
    first_supported: tuple[Option, ...] = Field(min_length=1)


def _item_tag(item: object) -> str:
    if isinstance(item, dict):
        return "choice" if "parameter" in item or "first_supported" in item else "knob"
    return "choice" if isinstance(item, Choice) else "knob"


Item = Annotated[
    Annotated[Knob, Tag("knob")] | Annotated[Choice, Tag("choice")], Discriminator(_item_tag)
]


def _item_key(item: Knob | Choice) -> tuple[str, str | None]:
    if isinstance(item, Choice):
        return ("choice", item.parameter)
    return (item.kind, item.name)


class Tuning(_Frozen):
    """A tuning as its file says it, before ``extends`` is followed."""

    name: str
    title: str
    source: str
    notes: tuple[str, ...] = ()
    extends: str | None = None
    knobs: tuple[Item, ...]

    @model_validator(mode="after")
    def _once(self) -> Tuning:
        seen = set()
        for item in self.knobs:
            if _item_key(item) in seen:
                raise ValueError(f"the knob {' '.join(map(str, _item_key(item)))} is given twice")
            seen.add(_item_key(item))
        return self


class Profile(_Frozen):
    """A named set of knob values, complete: what it extends is merged in.

    Parameters
    ----------
    name, title, source : str
        As in the file.
    lineage : tuple of str
        The tunings merged, from the base to this one.
    notes : tuple of str
        Of the whole lineage.
    items : tuple of Knob or Choice
        In the order they are applied.
    """

    name: str
    title: str
    source: str
    lineage: tuple[str, ...]
    notes: tuple[str, ...]
    items: tuple[Item, ...]

    def options(self, *, software_deferral: bool = False) -> tuple[tuple[Option, ...], ...]:
        """For each item the options a host may use, best first."""
        ways: list[tuple[Option, ...]] = []
        for item in self.items:
            if isinstance(item, Knob):
                ways.append((Option(knobs=(item,)),))
                continue
            ways.append(tuple(o for o in item.first_supported if software_deferral or not o.needs))
        return tuple(ways)

    def value_of(self, kind: str, name: str | None = None) -> str | None:
        """The value of a plain knob, or None when the profile does not set it."""
        for item in self.items:
            if isinstance(item, Knob) and (item.kind, item.name) == (kind, name):
                return item.value
        return None

    def buffer_clamp_B(self) -> tuple[int | None, int | None]:
        """Largest socket buffers this tuning lets a program ask for, in bytes.

        ``net.core.wmem_max`` and ``net.core.rmem_max`` clip what a program passes to SO_SNDBUF
        and SO_RCVBUF. They belong to the whole machine: a network namespace cannot set them, and
        an agent that may force its buffers past them is not clipped either. There the measuring
        code clips the request itself to these figures, which has the same effect on the one
        socket that matters, and records that it did.

        Returns
        -------
        tuple of (int or None, int or None)
            Send and receive limit; None where the profile leaves the host's own.
        """
        limits = (self.value_of("sysctl", f"net.core.{name}") for name in ("wmem_max", "rmem_max"))
        send, receive = (int(limit) if limit is not None else None for limit in limits)
        return send, receive

    def as_commands(self, interface: str, *, software_deferral: bool = False) -> list[str]:
        """Shell lines that do by hand what the profile says, where the host supports it.

        Of a choice the last option open to the host is printed if it asked for software
        deferral, else the first.
        """
        lines: list[str] = []
        for options in self.options(software_deferral=software_deferral):
            if options:
                chosen = options[-1] if software_deferral else options[0]
                lines.extend(knob.command(interface) for knob in chosen.knobs)
        return lines


def data_directory(data_dir: str | os.PathLike[str] | None = None) -> Path:
    """Where netlab's data are.

    Parameters
    ----------
    data_dir : path, optional
        Used as it is. Default: :func:`netlab.files.paths.data_dir`.

    Raises
    ------
    BadInput
        When there is no such directory.
    """
    if data_dir is None:
        return paths.data_dir()
    path = Path(data_dir)
    if not path.is_dir():
        raise BadInput("is not a directory", key="data_dir", value=str(data_dir))
    return path


def profile_names(data_dir: str | os.PathLike[str] | None = None) -> list[str]:
    """Names of the tunings there are, sorted."""
    return sorted(path.stem for path in (data_directory(data_dir) / "tunings").glob("*.yml"))


def read_tuning(path: Path) -> Tuning:
    """Read one file.

    Raises
    ------
    BadInput
        Unreadable, not YAML, keys unknown or twice, values of the wrong form. Names file and key.
    """
    tuning = validated(Tuning, read_yaml(path), str(path))
    if tuning.name != path.stem:
        raise BadInput(
            "differs from the file's name", where=str(path), key="name", value=tuning.name
        )
    return tuning


def load_profile(name: str, data_dir: str | os.PathLike[str] | None = None) -> Profile:
    """A tuning by name, with all it extends merged in.

    Raises
    ------
    BadInput
        No such tuning, a file at fault, or tunings that extend each other in a ring.
    """
    directory = data_directory(data_dir) / "tunings"
    chain: list[Tuning] = []
    wanted: str | None = name
    while wanted is not None:
        where = str(directory / f"{chain[-1].name}.yml") if chain else str(directory)
        key = "extends" if chain else "tuning"
        if any(tuning.name == wanted for tuning in chain):
            raise BadInput("tunings extend each other", where=where, key=key, value=wanted)
        path = directory / f"{wanted}.yml"
        if not _PROFILE_NAME.fullmatch(wanted) or not path.is_file():
            known = ", ".join(profile_names(data_dir)) or "none"
            raise BadInput(f"no such tuning; there are {known}", where=where, key=key, value=wanted)
        chain.append(read_tuning(path))
        wanted = chain[-1].extends
    chain.reverse()
    items: dict[tuple[str, str | None], Knob | Choice] = {}
    for tuning in chain:
        for item in tuning.knobs:
            items[_item_key(item)] = item
    top = chain[-1]
    return Profile(
        name=top.name,
        title=top.title,
        source=top.source,
        lineage=tuple(tuning.name for tuning in chain),
        notes=tuple(note for tuning in chain for note in tuning.notes),
        items=tuple(items.values()),
    )
