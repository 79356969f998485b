"""The directory of a site: built beside it, moved there when complete."""

from __future__ import annotations

import errno
import glob
import os
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from netlab.errors import BadInput, NetlabError
from netlab.files.reading import read_bytes
from netlab.files.scratch_directory import scratch
from netlab.files.writing import no_inode
from netlab.version import RELEASE

MARKER = ".netlab-site"
"""Marker file of a site, so that building may replace the directory: release, name of the study."""


def study_of_site(site: Path) -> str:
    """Name of the study whose report a directory holds; empty if there is none, or unknown."""
    try:
        _, name, *_ = read_bytes(site / MARKER).decode("utf-8", "replace").splitlines()
    except (OSError, ValueError):
        return ""
    return name


@contextmanager
def replacing(target: Path, study: str = "") -> Iterator[Path]:
    """Directory that takes the place of `target` at the end; a failure leaves the old one."""
    _check(target)
    with ExitStack() as stack:
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            work = stack.enter_context(scratch("site", beside=target))
        except OSError as error:
            text = f"cannot write a site beside {target}: {error.strerror}"
            raise NetlabError(text, code="E-REPORT-003") from None
        try:
            yield work
            (work / MARKER).write_text(f"{RELEASE}\n{study}\n", encoding="utf-8")
            work.chmod(0o755)
            _swap(work, target)
        except OSError as error:
            # the file, by its place in the site; one elsewhere, as in a full TMPDIR, by its own
            place = str(error.filename or target).replace(str(work), str(target), 1)
            text = f"cannot write {place}: {error.strerror or error}"
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                text += no_inode(error.filename or target)
            raise NetlabError(text, code="E-REPORT-004") from None


def _check(target: Path) -> None:
    names: list[str] = []
    try:
        names = os.listdir(target)
    except FileNotFoundError:
        pass
    except NotADirectoryError:  # it, or a directory above it, which making it will say
        if target.parent.is_dir():
            text = "not a directory"
            raise BadInput(text, key="out_dir", value=str(target), code="E-REPORT-005") from None
    # looked for again, as another report may have replaced and removed what was listed
    if names and MARKER not in names and not (target / MARKER).is_file():
        text = "contains files but is not a netlab site; choose another or empty it"
        raise BadInput(text, key="out_dir", value=str(target), code="E-REPORT-006")


def _swap(work: Path, target: Path) -> None:
    """Move the finished site into place, or the old one back; of two reports the later stays."""
    # random, as in a container the next process may have the same number
    own = work.name.rpartition("-")[2]
    old = target.with_name(f".{target.name}.{own}{REPLACED}")
    taken = True
    while taken:
        try:
            with suppress(FileNotFoundError):
                os.rename(target, old)
            os.rename(work, target)
            taken = False
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                raise
        finally:  # also when a signal comes between the two
            if taken and old.exists() and not target.exists():
                os.rename(old, target)
        _remove_replaced(target)


def _remove_replaced(target: Path) -> None:
    """Remove sites that were replaced, those of a report included that ended meanwhile.

    What a site takes the place of may also be a link to one, or an empty directory.
    """
    for old in target.parent.glob(f".{glob.escape(target.name)}.*{REPLACED}"):
        if not target.exists():
            continue
        with suppress(OSError):
            if old.is_symlink():
                old.unlink()
            elif (old / MARKER).is_file():
                shutil.rmtree(old, ignore_errors=True)
            else:
                old.rmdir()


REPLACED = ".old"
