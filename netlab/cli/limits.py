"""Limits of this process that netlab needs, and errors of the system in one sentence."""

from __future__ import annotations

import errno
import os
import resource

from netlab.errors import NetlabError

FILES = 256
"""Open files of a campaign: connections, streams of processes, sockets of kernels."""
FILES_WANTED = 4096
MEMORY_MIB = 2048
"""Address space that the libraries map before netlab allocates anything."""


def check_limits() -> None:
    """Raise the limit of open files if necessary."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    unlimited = resource.RLIM_INFINITY
    if soft != unlimited and soft < FILES_WANTED:
        wanted = FILES_WANTED if hard == unlimited else min(FILES_WANTED, hard)
        if wanted > soft:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
            soft = wanted
        if soft < FILES:
            raise NetlabError(
                f"only {soft} open files are allowed, {FILES} are needed: raise the limit "
                "(ulimit -Hn, LimitNOFILE, limits.conf)",
                code="E-CLI-014",
            )
    memory, _ = resource.getrlimit(resource.RLIMIT_AS)
    if memory != unlimited and memory < MEMORY_MIB << 20:
        raise NetlabError(
            f"the address space is limited to {memory >> 20} MiB, {MEMORY_MIB} MiB are needed: "
            "raise the limit (ulimit -v)",
            code="E-CLI-015",
        )


def explained(error: OSError | MemoryError) -> NetlabError:
    """An error of the system as one sentence, with the limit that was reached."""
    if isinstance(error, MemoryError):
        limit, _ = resource.getrlimit(resource.RLIMIT_AS)
        allowed = "" if limit == resource.RLIM_INFINITY else f"; ulimit -v is {limit >> 20} MiB"
        return NetlabError(f"not enough memory{allowed}", code="E-CLI-016")
    where = f"{error.filename}: " if error.filename else ""
    what = os.strerror(error.errno) if error.errno else str(error)
    if error.errno == errno.EMFILE:
        soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        what += f"; {soft} are allowed: raise the limit (ulimit -n)"
    elif error.errno in (errno.EROFS, errno.EACCES, errno.EPERM) and error.filename:
        what += "; choose a directory that this user can write (--results), or change its rights"
    elif error.errno in (errno.ENOSPC, errno.EDQUOT):
        if _no_inode(error.filename):
            what += ", and the file system has no free inode"
        what += "; the records so far are complete: free some space and run it again"
    return NetlabError(f"{where}{what}", code="E-CLI-017")


def _no_inode(filename: object) -> bool:
    """True if the file system of a file that could not be written lacks inodes."""
    if not isinstance(filename, str):
        return False
    try:
        found = os.statvfs(os.path.dirname(filename) or ".")
    except OSError:
        return False
    return found.f_files > 0 and found.f_favail == 0
