"""The lab: a study's hosts as network namespaces of this machine, joined by links.

Everything is created inside the namespaces. All names follow from the id of the lab, so that it
can be removed even if the process that created it crashed.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import secrets
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Self

from netlab.errors import BadInput, HostError, Unsupported
from netlab.files.bounded_json import read_json
from netlab.files.recorded_facts import TaskGroupKind
from netlab.files.uncut import interrupts_wait
from netlab.hosts.ssh import SshHost
from netlab.lab import emulator, link, namespaces, reaper, rootless, sshd, switch, task_group
from netlab.lab.making import make
from netlab.lab.namespaces import inside
from netlab.lab.requirements import check, check_rights
from netlab.lab.topology import Topology, topology
from netlab.study import Study


class Guard:
    """The process that removes a lab if the process that made it dies."""

    def __init__(self, lab_id: str, token: str):
        owner = os.pidfd_open(os.getpid())
        try:
            self._process = subprocess.Popen(
                (sys.executable, "-I", "-S", reaper.__file__, lab_id, token, str(owner)),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                cwd="/",
                start_new_session=True,
                pass_fds=(owner,),
            )
        finally:
            os.close(owner)
        assert self._process.stdin is not None and self._process.stdout is not None
        self._stdin, self._stdout = self._process.stdin, self._process.stdout
        if self._stdout.readline() != b"ready\n":
            self._process.kill()
            self._process.communicate()
            message = "the process that cleans up after a crash did not start"
            raise HostError("lab", message, code="E-LAB-014")

    def release(self) -> None:
        with contextlib.suppress(OSError):
            self._stdin.write(b"release\n")
            self._stdin.close()
        self._process.wait()
        self._stdout.close()


LAB_ID = re.compile(r"^[0-9a-z]{1,8}$")
STATE_FILE = "lab.json"
ROOTS = Path("/run/netlab")
"""Stands for the state of root's labs, which others cannot read."""


class Lab:
    """A lab that is up, from :meth:`up` or :func:`find`; removed at the end of its context."""

    def __init__(self, state: Path):
        self.state = state
        self.id = state.name
        content = _read(state)
        self.study: str | None = content.get("study")
        self.complete: bool = content.get("complete", False)
        self.made_at: str | None = content.get("made_at")
        self.owner_pid: int | None = content.get("owner_pid")
        self.topology: Topology = content.get("topology", Topology(hosts=(), paths=()))
        self._guard: Guard | None = None

    @classmethod
    def up(cls, study: Study, *, lab_id: str | None = None, owned: bool = False) -> Lab:
        check_rights()
        plan = topology(study)
        delays = {path.settings.interrupt_delay_ns for path in plan.paths if path.settings.card}
        if rootless.rootless() and len(delays) > 1:
            message = (
                "the study compares values of interrupt_delay_us, which only root of the machine "
                "can set: run netlab with sudo"
            )
            raise Unsupported(message, code="E-LAB-032")
        if lab_id is not None and not LAB_ID.fullmatch(lab_id):
            message = "a lab id has one to eight lower-case letters or digits"
            raise BadInput(message, value=lab_id, code="E-LAB-006")
        if any(path.emulator is not None for path in plan.paths):
            emulator.check()
        check(
            shaped=any(path.settings.rate_bps is not None for path in plan.paths),
            queues=max((path.settings.queues for path in plan.paths), default=1),
        )
        lab_id = lab_id or secrets.token_hex(3)
        token = secrets.token_hex(8)
        guard = None
        try:
            # the guard starts first, so that the lab never exists without it
            guard = Guard(lab_id, token)
            state = reaper.reserve(lab_id, token)
            if state is None:
                raise BadInput("a lab with this id exists already", value=lab_id, code="E-LAB-007")
            content = {
                "study": study.name,
                "made_at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
                "owner_pid": os.getpid() if owned else None,
                "complete": False,
                "topology": plan.as_dict(),
            }
            _write(state, content)
            with open(state / reaper.BUSY, "w") as busy:
                fcntl.flock(busy, fcntl.LOCK_EX)
                if os.fstat(busy.fileno()).st_nlink == 0:
                    raise HostError("lab", "was removed while it was created", code="E-LAB-008")
                make(state, plan, busy.fileno())
            _write(state, content | {"complete": True})
        except BaseException as problem:
            with interrupts_wait():
                reaper.remove_own(lab_id, token)
                if guard is not None:
                    guard.release()
            if isinstance(problem, OSError):
                message = f"could not be created: {problem}"
                raise HostError("lab", message, code="E-LAB-009") from problem
            raise
        lab = cls(state)
        if owned:
            lab._guard = guard
        else:
            guard.release()
        return lab

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.down()

    def down(self) -> None:
        """Remove the lab, if it exists. A Ctrl-C is delayed until the end."""
        if self.foreign:
            message = f"lab {self.id} was made by root: remove it with sudo"
            raise Unsupported(message, code="E-LAB-010")
        with interrupts_wait():
            reaper.remove(self.id)
            if self._guard is not None:
                self._guard.release()
                self._guard = None

    @property
    def hosts(self) -> tuple[str, ...]:
        return self.topology.hosts

    def namespace(self, host: str) -> str:
        if host not in self.hosts:
            message = f"lab {self.id} has the hosts {', '.join(self.hosts) or '(none)'}"
            raise BadInput(message, where="hosts", value=host, code="E-LAB-012")
        return f"{reaper.PREFIX}{self.id}-{host}"

    @property
    def foreign(self) -> bool:
        """True if root made it and this user is another, who sees its names only."""
        return self.state.parent != reaper.base()

    @property
    def user_namespace(self) -> bool:
        return rootless.rootless() and not self.foreign

    @property
    def task_group(self) -> TaskGroupKind:
        """Task groups of the ends, in the words of :mod:`netlab.lab.task_group`."""
        return task_group.task_group_kind(self.state)

    def inside(self, host: str, argv: Sequence[str]) -> tuple[str, ...]:
        return (*task_group.in_task_group(self.state), *inside(self.namespace(host), argv))

    def host(self, name: str) -> SshHost:
        self.namespace(name)  # refuses a host that it does not have
        return SshHost(
            name,
            name,
            user=sshd.login(),
            port=22,
            identity_file=str(self.state / "user_key"),
            proxy_command=sshd.proxy_command(self.state, self.id, name),
            known_hosts=self.state / "known_hosts",
            # ssh refuses a user whom no account lists
            prefix=namespaces.as_account(self.id) if self.user_namespace else (),
        )

    def emulator(self, path: str) -> emulator.LabEmulator:
        emulated = [wire.name for wire in self.topology.paths if wire.emulator is not None]
        if path not in emulated:
            message = f"lab {self.id} has emulators on the paths {', '.join(emulated) or '(none)'}"
            raise BadInput(message, where="paths", value=path, code="E-LAB-011")
        return emulator.LabEmulator(self.state, path)

    def emulated_with(self, path: str) -> str | None:
        """Return the emulator of a path: ``netlab``, ``netem``, or None for a plain cable."""
        return next((p.emulated_with for p in self.topology.paths if p.name == path), None)

    @property
    def switches(self) -> dict[str, str]:
        """Namespaces of switches by the names of their paths."""
        return switch.namespaces(self.id, self.topology.paths)

    @property
    def whole(self) -> bool:
        """True if all of it was made and no namespace of it is gone."""
        names = {*map(self.namespace, self.hosts), *self.switches.values()}
        return self.complete and names <= {*reaper.namespaces_of(self.id)}

    def fits(self, study: Study) -> bool:
        return self.whole and self.topology == topology(study)

    def describe(self) -> dict[str, dict[str, dict]]:
        """Settings of each end as the kernel has them: path name -> host name -> values."""
        return {path.name: self.describe_path(path.name) for path in self.topology.paths}

    def describe_path(self, name: str) -> dict[str, dict]:
        """Settings of each end of a path as the kernel has them: host name -> values."""
        path = next(path for path in self.topology.paths if path.name == name)
        return {
            end.host: link.describe(self.namespace(end.host), end.interface, path.settings)
            for end in path.every_end
        }

    def status(self) -> dict:
        present = set(reaper.namespaces_of(self.id))

        def of(name: str) -> dict[str, object]:
            up = name in present
            processes = len(reaper.processes_in([name])) if up else 0
            return {"namespace": name, "up": up, "processes": processes}

        return {
            "id": self.id,
            "study": self.study,
            "complete": self.whole,
            "made_at": self.made_at,
            "owner_pid": self.owner_pid,
            "task_group": self.task_group,
            "state": str(self.state),
            "hosts": {host: of(self.namespace(host)) for host in self.hosts},
            "switches": {path: of(name) for path, name in self.switches.items()},
            "paths": {
                path.name: {
                    "ends": [
                        {key: getattr(end, key) for key in ("host", "interface")}
                        | {"addresses": list(end.addresses)}
                        for end in path.every_end
                    ],
                    "rate_bps": path.settings.rate_bps,
                    "emulated_with": path.emulated_with,
                }
                for path in self.topology.paths
            },
        }


def labs() -> list[Lab]:
    """Return all labs of this user and of root, incomplete ones included, sorted by id."""
    where = reaper.base()
    directories = set()
    if os.access(where, os.R_OK | os.X_OK):
        directories |= {
            where / entry.name for entry in where.iterdir() if LAB_ID.fullmatch(entry.name)
        }
    if reaper.NAMESPACES.is_dir():
        # a namespace without state is left by a damaged lab, and can still be removed; only root
        # can read the state of root's labs
        for name in os.listdir(reaper.NAMESPACES):
            match = re.match(rf"^{reaper.PREFIX}([0-9a-z]{{1,8}})-", name)
            if match:
                directories.add((where if os.geteuid() == 0 else ROOTS) / match[1])
    return [Lab(state) for state in sorted(directories, key=lambda state: state.name)]


def find(study: Study) -> Lab | None:
    """Return a lab without owner that equals the one `study` needs, or None."""
    for lab in labs():
        if lab.owner_pid is None and lab.fits(study):
            return lab
    return None


def down(lab_id: str | None = None) -> list[str]:
    """Remove one lab, or all without a living owner; return their ids."""
    present = labs()
    if lab_id is None:
        own = [lab for lab in present if not lab.foreign]
        chosen = [lab for lab in own if not os.path.isdir(f"/proc/{lab.owner_pid or 0}")]
    else:
        chosen = [lab for lab in present if lab.id == lab_id]
        if not chosen:
            raise BadInput("no lab has this id", value=lab_id, code="E-LAB-013")
    for lab in chosen:
        lab.down()
    return [lab.id for lab in chosen]


def _read(state: Path) -> dict:
    try:
        content = read_json(state / STATE_FILE)
        return content | {"topology": Topology.from_dict(content["topology"])}
    except (OSError, ValueError, KeyError, TypeError):
        return {}


def _write(state: Path, content: dict) -> None:
    partial = state / f"{STATE_FILE}.partial"
    partial.write_text(json.dumps(content, indent=1))
    partial.replace(state / STATE_FILE)
