"""A kernel that executes several notebooks one after the other, each from an empty namespace.

Its imports are paid once, and it imports while the caller goes on.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import threading
from contextlib import AbstractContextManager, ExitStack, nullcontext, suppress
from queue import Empty
from typing import Self

import netlab.notebooks.format  # noqa: F401  isort: skip  # before jupyter_client imports jsonschema
from jupyter_client.kernelspec import KernelSpecManager
from jupyter_client.manager import AsyncKernelManager
from jupyter_core.utils import run_sync

from netlab.errors import NetlabError
from netlab.files.scratch_directory import scratch
from netlab.files.uncut import interrupts_wait
from netlab.notebooks.interrupt_watch import InterruptWatch
from netlab.notebooks.silence import PREPARE, SilenceWatch

LISTEN = """
from netlab.notebooks import progress
progress.listen()
"""

WITHOUT_WINGS = """
import warnings
from netlab.wings import Unusable
warnings.simplefilter("ignore", Unusable)
"""
"""The command that executes a notebook says it once; its page is others' to read."""

START_S = 180.0
"""Time to start and to import, from a slow disk on a busy machine."""
USUAL_START_S = 5.0
CODE_S = 120.0
"""Time for code outside a notebook."""
INTERRUPT_S = 20.0
"""Time for an interrupted notebook to revert its hosts before its kernel is killed."""
IMPORTS = ["--IPKernelApp.ignore_cwd=True"]
"""A kernel imports nothing from the current directory, which may hold files of others."""


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


def _not_of_an_abandoned_execution(record: logging.LogRecord) -> bool:
    """False for what asyncio logs of a cell that an interrupt cut: no task awaits its exception."""
    message = record.getMessage()
    return "never retrieved" not in message or f"{os.sep}nbclient{os.sep}" not in message


class Kernel:
    """A kernel; a context manager that starts it and does not wait for it."""

    def __init__(self, prepare: str = ""):
        self._prepare = prepare
        self._interrupted = threading.Event()

    def __enter__(self) -> Self:
        self._is_ready = False
        self._open = ExitStack()
        sockets = self._open.enter_context(scratch("kernel"))
        self.manager = local_manager(str(sockets))
        self.manager.shutdown_wait_time = INTERRUPT_S
        self.client = self.manager.client()
        try:
            # ipykernel logs an interrupt as an error of its own; what cells print goes another way
            # and jupyter_client cannot end a kernel whose start was cut in the middle
            # a profile of its own: a user's start-up files would change what a notebook shows
            own = {**os.environ, "IPYTHONDIR": str(sockets / "ipython")}
            own.pop("PYTHONSTARTUP", None)  # ipykernel runs it, though no terminal is there
            with open(sockets / "log", "wb") as log, interrupts_wait():
                run_sync(self.manager.start_kernel)(stderr=log, extra_arguments=IMPORTS, env=own)
            self.client.load_connection_info(self.manager.get_connection_info(session=True))
            # without the thread of a heartbeat, which an early end would leave without a socket
            self.client.start_channels(hb=False)
            self.client.allow_stdin = False
            self._stacks = sockets / "stacks"
            self._pid = int(self.manager.provisioner.pid)  # type: ignore[union-attr]
            if threading.current_thread() is not threading.main_thread():
                self._open.enter_context(InterruptWatch(self._interrupt))
            code = PREPARE.format(path=str(self._stacks)) + LISTEN + WITHOUT_WINGS + self._prepare
            # in a namespace of its own, so that the first notebook needs no reset
            self.client.execute(f"exec({code!r}, {{}})", silent=True, store_history=False)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None = None, *_exception: object) -> None:
        """Interrupt what still runs, and end the kernel; without effect the second time."""
        if kind is not None and issubclass(kind, KeyboardInterrupt):
            logging.getLogger("asyncio").addFilter(_not_of_an_abandoned_execution)
        try:
            with suppress(RuntimeError, asyncio.CancelledError):
                run_sync(self.manager.interrupt_kernel)()
            self.client.stop_channels()
            if self.manager.provisioner is not None and self.manager.has_kernel:
                run_sync(self.manager.shutdown_kernel)()
        finally:
            self._open.close()

    def restart(self) -> None:
        self.__exit__()
        self.__enter__()

    def _interrupt(self) -> None:
        self._interrupted.set()
        with suppress(ProcessLookupError):
            os.kill(self._pid, signal.SIGINT)

    def raise_if_interrupted(self) -> None:
        """Raise KeyboardInterrupt after a Ctrl-C that the main thread received, not this one."""
        if self._interrupted.is_set():
            raise KeyboardInterrupt

    def make_ready(self) -> None:
        """Wait until it has started, and empty its namespace; replace it if it has died."""
        self.raise_if_interrupted()
        if not run_sync(self.manager.is_alive)():
            self.restart()
        if not self._is_ready:
            run_sync(self._answers)()
            self._is_ready = True
        else:
            self.execute("get_ipython().reset()")

    async def _answers(self) -> None:
        """Wait until both channels carry its answers."""
        self.client.kernel_info()
        with suppress(Empty):
            await self.client.get_shell_msg(timeout=USUAL_START_S)
            await self.client.get_iopub_msg(timeout=1)
            return
        # sees whether it has died, and takes 0.2 s more
        await self.client.wait_for_ready(timeout=START_S)

    def execute(self, code: str) -> None:
        try:
            reply = run_sync(self._reply)(code)
        except TimeoutError:
            text = f"the kernel does not answer for {CODE_S:g} s"
            raise NetlabError(text, code="E-NOTEBOOKS-015") from None
        if reply["content"]["status"] != "ok":
            reason = reply["content"].get("evalue", "")
            raise NetlabError(f"the kernel failed: {reason}", code="E-NOTEBOOKS-014")

    async def _reply(self, code: str) -> dict:
        # and not until it is idle: that comes on another channel, and is missed if it comes early
        return await self.client.execute(
            code, silent=True, store_history=False, reply=True, timeout=CODE_S
        )

    def watched(self, limit_s: float | None) -> AbstractContextManager[SilenceWatch | None]:
        """End the kernel if a notebook sends no progress for `limit_s`; None for no limit."""
        if limit_s is None:
            return nullcontext()
        return SilenceWatch(self._pid, limit_s, INTERRUPT_S, self._stacks)
