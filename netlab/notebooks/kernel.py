"""A kernel that executes several notebooks one after the other.

Starting a kernel and importing netlab and pandas takes two to three seconds. Each notebook still is
an execution of its own by papermill, from an empty namespace.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Self

from jupyter_client.kernelspec import KernelSpecManager
from jupyter_client.manager import AsyncKernelManager
from jupyter_core.utils import run_sync
from papermill.clientwrap import PapermillNotebookClient
from papermill.engines import NBClientEngine, papermill_engines

from netlab.errors import NetlabError
from netlab.files.interrupts import interrupts_wait
from netlab.files.scratch import Scratch
from netlab.notebooks.forkserver import Call, ForkProvisioner, ForkServer, running
from netlab.notebooks.progress import MIME
from netlab.notebooks.silence import PREPARE, SilenceWatch

ENGINE = "netlab"
START_S = 60.0
CODE_S = 120.0
"""Time for code outside a notebook, such as imports from a slow disk."""
INTERRUPT_S = 20.0
"""Time for an interrupted notebook to revert its hosts before its kernel is killed."""
IMPORTS = ["--IPKernelApp.ignore_cwd=True"]
"""A kernel imports nothing from the current directory, which may hold files of others."""
BACKEND = """
import sys
if "matplotlib.pyplot" in sys.modules:
    get_ipython().run_line_magic("matplotlib", "inline")
elif "matplotlib" in sys.modules:
    sys.modules["matplotlib"].use("module://matplotlib_inline.backend_inline")
"""
"""Code for a forked kernel: a new interpreter chooses its backend when it imports matplotlib."""


def local_manager(directory: str) -> AsyncKernelManager:
    """A manager of a kernel whose sockets are files in a directory of this user, not TCP ports."""
    manager = AsyncKernelManager(
        kernel_name="python3",
        # that of this interpreter: a kernel of the same name in the user's directory is another
        kernel_spec_manager=KernelSpecManager(kernel_dirs=[]),
        transport="ipc",
        ip=f"{directory}/kernel",
    )
    manager.kernel_spec.argv.insert(1, "-P")  # type: ignore[union-attr]
    return manager


def _provisioner(manager: AsyncKernelManager, server: ForkServer, log: Path) -> ForkProvisioner:
    made = ForkProvisioner(kernel_id="", kernel_spec=manager.kernel_spec, parent=manager)
    made.server, made.log_file = server, log
    return made


class Kernel:
    """A running kernel; a context manager.

    Parameters
    ----------
    prepare : str
        Code to execute first.
    shared : Call, optional
        A call before that whose effects all kernels may share: inside
        :func:`netlab.notebooks.forkserver.fork_server` it is made once.
    """

    def __init__(self, prepare: str = "", shared: Call | None = None):
        self._prepare, self._shared = prepare, shared

    def __enter__(self) -> Self:
        self._scratch = Scratch("kernel")
        sockets = self._scratch.__enter__()
        self.manager = local_manager(str(sockets))
        self.manager.shutdown_wait_time = INTERRUPT_S
        prepare = (self._shared.code if self._shared else "") + self._prepare
        try:
            if (server := running()) is not None:
                if self._shared:
                    server.call(self._shared)
                prepare = BACKEND + self._prepare
                self.manager.provisioner = _provisioner(self.manager, server, sockets / "log")
            # ipykernel logs an interrupt as an error of its own; what cells print goes another way
            # and jupyter_client cannot end a kernel whose start was cut in the middle
            with open(sockets / "log", "wb") as log, interrupts_wait():
                run_sync(self.manager.start_kernel)(stderr=log, extra_arguments=IMPORTS)
            self.client = self.manager.client()
            self.client.start_channels()
            run_sync(self.client.wait_for_ready)(timeout=START_S)
            self.client.allow_stdin = False
            self._stacks = sockets / "stacks"
            self._pid = int(self.manager.provisioner.pid)  # type: ignore[union-attr]
            self.execute(PREPARE.format(path=str(self._stacks)) + prepare)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None = None, *_exception: object) -> None:
        """Interrupt what still runs, and end the kernel."""
        if kind is not None and issubclass(kind, KeyboardInterrupt):
            # the abandoned execution ends with an exception that no task awaits
            logging.getLogger("asyncio").setLevel(logging.CRITICAL)
        try:
            with suppress(RuntimeError, asyncio.CancelledError):
                run_sync(self.manager.interrupt_kernel)()
            if hasattr(self, "client"):
                self.client.stop_channels()
            if self.manager.provisioner is not None and self.manager.has_kernel:
                run_sync(self.manager.shutdown_kernel)()
        finally:
            self._scratch.__exit__()

    def execute(self, code: str) -> None:
        """Execute code outside any notebook.

        Raises
        ------
        NetlabError
            The code failed, or did not end in time.
        """
        try:
            reply = run_sync(self.client.execute_interactive)(
                code,
                silent=True,
                store_history=False,
                output_hook=lambda message: None,
                timeout=CODE_S,
            )
        except TimeoutError:
            raise NetlabError(
                f"the kernel does not answer for {CODE_S:g} s", code="E-NOTEBOOKS-015"
            ) from None
        if reply["content"]["status"] != "ok":
            reason = reply["content"].get("evalue", "")
            raise NetlabError(f"the kernel failed: {reason}", code="E-NOTEBOOKS-014")

    def clear(self) -> None:
        """Empty the namespace; imported modules stay loaded."""
        self.execute("get_ipython().reset()")

    @contextmanager
    def watched(self, limit_s: float | None) -> Iterator[SilenceWatch | None]:
        """End the kernel if a notebook sends no progress for `limit_s`; None for no limit."""
        if limit_s is None:
            yield None
            return
        with SilenceWatch(self._pid, limit_s, INTERRUPT_S, self._stacks) as watch:
            yield watch


class _Client(PapermillNotebookClient):
    """Executes a notebook; progress messages go to a callback and are not stored."""

    on_progress: Callable[[str], None] | None = None

    def process_message(self, msg: dict, *args: object, **kwargs: object) -> object:
        data = msg["content"].get("data", {}) if msg["msg_type"] == "display_data" else {}
        if MIME in data:
            if self.on_progress is not None:
                self.on_progress(data[MIME])
            return None
        return super().process_message(msg, *args, **kwargs)


class _Engine(NBClientEngine):
    """Papermill's engine over a kernel that stays."""

    @classmethod
    def execute_managed_notebook(
        cls,
        nb_man,
        kernel_name,
        *,
        kernel: Kernel,
        on_progress: Callable[[str], None] | None = None,
        **_settings: object,
    ):
        kernel.clear()
        client = _Client(nb_man, km=kernel.manager, kernel_name=kernel_name, timeout=None)
        client.kc = kernel.client
        client.on_progress = on_progress
        return client.execute()


papermill_engines.register(ENGINE, _Engine)
