"""Provide a study's congestion controls on a host during a block."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from netlab.congestion import CcChoice, choose
from netlab.errors import HostError, NetlabError, Unsupported
from netlab.hosts.host import Host
from netlab.hosts.line_process import SILENCE_S, LineProcess
from netlab.study import Stack, Study
from netlab.study.base import controls
from netlab.tuning.knobs import Knob

AVAILABLE = "/proc/sys/net/ipv4/tcp_available_congestion_control"
ALLOWED = "/proc/sys/net/ipv4/tcp_allowed_congestion_control"
ALLOWED_KNOB = "net.ipv4.tcp_allowed_congestion_control"
ANSWER_S = 20.0
GONE_S = 5.0
POLL_S = 0.05
MILLION = 1_000_000
IN_MILLIONTHS = {"increase", "decrease", "gamma"}
# kmod knows both, and -n asks its list of forbidden modules too; busybox knows -D only
CAN_LOAD = """
PATH=$PATH:/usr/sbin:/sbin
modprobe -n -q "$1" 2>/dev/null || modprobe -D "$1" >/dev/null 2>&1
"""
SOURCE = "the study's congestion controls"


@dataclass(frozen=True)
class CongestionControl:
    name: str
    kernel_name: str
    source: str
    version: str
    parameters: dict[str, int] = field(default_factory=dict)

    def text(self) -> str:
        """One phrase for a run's record, equal on all hosts with the same control."""
        parameters = "".join(f", {key} {value}" for key, value in self.parameters.items())
        return f"{self.source} {self.version}{parameters}"


@dataclass(frozen=True)
class CcSession:
    """Congestion controls of a host, and the knobs that a tuning must set for them."""

    controls: dict[str, CongestionControl]
    knobs: tuple[Knob, ...] = ()

    def kernel_names(self, congestion: str) -> str:
        """The kernel's name of a congestion control, or of several joined by ``+``."""
        return "+".join(
            f"{count}*" * (count > 1) + self.controls[name].kernel_name
            for count, name in controls(congestion)
        )

    def text(self, congestion: str) -> str:
        """Description of a run's congestion control for its record."""
        return " + ".join(self.controls[name].text() for _, name in controls(congestion))


@contextmanager
def open_cc_session(
    host: Host,
    binary: str,
    names: Iterable[str],
    defined: Mapping[str, Stack],
    *,
    version: str = "",
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> Iterator[CcSession]:
    """Provide congestion controls on a host, and unload netlab's own at the end.

    A process on the host, ``gensink cc``, owns those that netlab loads: they end with it.
    The tuning loads modules and permits names, and reverts both even after a crash.
    """
    wanted = sorted(set(names))
    available = words_of(host, AVAILABLE)
    chosen = choose(host.name, wanted, defined, available, lambda module: can_load(host, module))
    with ExitStack() as stack:
        controls, own = {}, [choice for choice in chosen if choice.source == "bpf"]
        if own:
            process = stack.enter_context(_process(host, binary))
            controls = {each.name: _loaded(process, host.name, each, version) for each in own}
        loaded = [control.kernel_name for control in controls.values()]
        controls |= {each.name: _of_kernel(host, each) for each in chosen if each not in own}
        knobs = _knobs(host, chosen, words_of(host, AVAILABLE))
        yield CcSession({name: controls[name] for name in wanted}, knobs)
    deadline = clock() + GONE_S
    while left := [name for name in loaded if name in words_of(host, AVAILABLE)]:
        if clock() >= deadline:
            raise HostError(
                host.name,
                f"still lists {', '.join(left)} after they were unloaded",
                code="E-RUN-003",
            )
        sleep(POLL_S)


def check_lab_controls(
    study: Study, lack: str | None, *, available: Path = Path(AVAILABLE)
) -> None:
    """Refuse a study before its lab is made if this build lacks its congestion controls."""
    names = study.congestions(study.run_groups(study.groups)) if lack else ()
    if not names:
        return

    def has_module(module: str) -> bool:
        return subprocess.run(("sh", "-c", CAN_LOAD, "sh", module)).returncode == 0

    chosen = choose("lab", names, study.stacks, available.read_text().split(), has_module)
    if ours := [choice.name for choice in chosen if choice.source == "bpf"]:
        raise Unsupported(
            f"{study.name} needs netlab's own congestion control {', '.join(ours)}, and this "
            f"netlab is built without BPF: {lack}",
            code="E-RUN-017",
        )


def words_of(host: Host, path: str) -> tuple[str, ...]:
    return tuple(host.run(("cat", path)).stdout.split())


def can_load(host: Host, module: str) -> bool:
    """True if the host's kernel has a module of that name; does not load it."""
    return host.run(("sh", "-c", CAN_LOAD, "sh", module), check=False).exit_status == 0


def _of_kernel(host: Host, choice: CcChoice) -> CongestionControl:
    """A congestion control of the kernel: built in, or a module, loaded or not."""
    release = host.run(("uname", "-r")).stdout.strip()
    script = (
        'm=/sys/module/$1; if [ -e "$m/initstate" ]; then echo module; cat "$m/srcversion"; '
        'elif [ "$2" = module ]; then echo module; '
        'PATH=$PATH:/usr/sbin:/sbin modinfo -F srcversion "$1"; else echo kernel; fi 2>/dev/null'
    )
    seen = host.run(("sh", "-c", script, "sh", choice.module, choice.source), check=False).stdout
    source, *srcversion = seen.split()
    version = f"{choice.name} (Linux {release}"
    version += f", srcversion {srcversion[0]})" if srcversion else ")"
    return CongestionControl(choice.name, choice.name, source, version)


def _knobs(
    host: Host, chosen: tuple[CcChoice, ...], available: tuple[str, ...]
) -> tuple[Knob, ...]:
    """Modules to load, and names to permit to a user who is not root."""
    knobs = [
        Knob(kind="module", name=choice.module, value="loaded", source=SOURCE)
        for choice in chosen
        if choice.source == "module"
    ]
    if host.is_root:
        return tuple(knobs)
    allowed = words_of(host, ALLOWED)
    asked = [choice.name for choice in chosen if choice.source != "bpf"]
    if any(name not in allowed for name in asked):
        # The kernel's own order, in which it reads back.
        modules = [choice.name for choice in chosen if choice.source == "module"]
        order = (*available, *(name for name in modules if name not in available))
        value = " ".join(name for name in order if name in (*allowed, *asked))
        knobs.append(Knob(kind="sysctl", name=ALLOWED_KNOB, value=value, source=SOURCE))
    return tuple(knobs)


@contextmanager
def _process(host: Host, binary: str) -> Iterator[LineProcess]:
    """``gensink cc`` on a host, as root."""
    argv = (binary, "cc", "--silence-s", str(SILENCE_S))
    process = host.start(argv, sudo=True).keep_alive()
    try:
        ready = process.receive(ANSWER_S)
        if ready.get("event") != "ready":
            raise HostError(host.name, f"gensink cc answered {ready}", code="E-RUN-004")
        if not ready["supported"]:
            raise Unsupported(f"{host.name}: {ready['reason']}", code="E-RUN-005")
        yield process
    finally:
        process.close()


def _loaded(process: LineProcess, host: str, choice: CcChoice, version: str) -> CongestionControl:
    assert choice.stack is not None  # the kernel's own are not loaded
    process.send("load", cc=choice.stack.law, **words_for(choice.stack))
    answer = process.receive(ANSWER_S)
    if answer.get("event") == "error":
        kind = Unsupported if "unsupported" in answer["message"] else NetlabError
        raise kind(f"{host}: {choice.name}: {answer['message']}")
    sha256 = answer["sha256"][:12]
    text = f"{answer['cc']} {answer['revision']} (netlab {version}, sha256 {sha256})"
    named = ("event", "name", "cc", "revision", "sha256")
    parameters = {key: value for key, value in answer.items() if key not in named}
    return CongestionControl(choice.name, answer["name"], "bpf", text, parameters)


def words_for(stack: Stack) -> dict[str, int]:
    """Parameters of a stack for ``load``: shares and segments in millionths."""
    words = {}
    for key, value in stack.parameters().items():
        if key in IN_MILLIONTHS:
            words[f"{key}_millionths"] = round(value * MILLION)
        else:
            words[key] = int(value)
    return words
