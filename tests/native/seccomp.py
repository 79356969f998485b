"""A filter of the kernel that refuses system calls with EPERM, as those of containers do."""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct
from collections.abc import Callable

PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2
LOAD_NUMBER, JUMP_EQUAL, RETURN = 0x20, 0x15, 0x06
ALLOW, REFUSE = 0x7FFF0000, 0x00050000 | errno.EPERM

NUMBERS = {
    "x86_64": {"sched_setaffinity": 203, "close_range": 436},
    "aarch64": {"sched_setaffinity": 122, "close_range": 436},
}
"""Numbers of system calls by the architecture of the machine."""


def refusing(*names: str) -> Callable[[], None]:
    """A function for ``preexec_fn``: the process and its children may not make these calls."""
    numbers = [NUMBERS[platform.machine()][name] for name in names]
    program = [(LOAD_NUMBER, 0, 0, 0)]
    for left, number in zip(range(len(numbers), 0, -1), numbers, strict=True):
        program.append((JUMP_EQUAL, left, 0, number))
    program += [(RETURN, 0, 0, ALLOW), (RETURN, 0, 0, REFUSE)]
    code = b"".join(struct.pack("HBBI", *step) for step in program)
    libc = ctypes.CDLL(None, use_errno=True)

    def install() -> None:
        steps = ctypes.create_string_buffer(code)
        filter_ = struct.pack("HxxxxxxP", len(program), ctypes.addressof(steps))
        for call in (
            (PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0),
            (PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.create_string_buffer(filter_), 0, 0),
        ):
            if libc.prctl(*call):
                raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))

    return install
