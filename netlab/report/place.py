"""The directory of a site: built beside it, moved there when complete."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from netlab import __version__
from netlab.errors import BadInput, NetlabError
from netlab.files.scratch import Scratch

MARKER = ".netlab-site"
"""Marker file of a site, so that building may replace the directory."""


@contextmanager
def replacing(target: Path) -> Iterator[Path]:
    """Directory to build a site in, which takes the place of `target` at the end.

    A failure leaves the old one unchanged. What a killed process left is removed.
    """
    _check(target)
    scratch = Scratch("site", beside=target)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        work = scratch.__enter__()
    except OSError as error:
        raise NetlabError(
            f"cannot write a site beside {target}: {error.strerror}", code="E-REPORT-003"
        ) from None
    try:
        yield work
        (work / MARKER).write_text(f"{__version__}\n", encoding="utf-8")
        work.chmod(0o755)
        _swap(work, target)
    except OSError as error:
        raise NetlabError(
            f"cannot write {target}: {error.strerror or error}", code="E-REPORT-004"
        ) from None
    finally:
        scratch.__exit__()


def _check(target: Path) -> None:
    names: list[str] = []
    try:
        names = os.listdir(target)
    except FileNotFoundError:
        pass
    except NotADirectoryError:  # it, or a directory above it, which making it will say
        if target.parent.is_dir():
            raise BadInput(
                "not a directory", key="out_dir", value=str(target), code="E-REPORT-005"
            ) from None
    # looked for again, as another report may have replaced and removed what was listed
    if names and MARKER not in names and not (target / MARKER).is_file():
        raise BadInput(
            "contains files but is not a netlab site; choose another or empty it",
            key="out_dir",
            value=str(target),
            code="E-REPORT-006",
        )


def _swap(work: Path, target: Path) -> None:
    """Move the finished site into place; restore the old one on failure.

    Another report into the same directory may do so at the same moment: the later one stays.
    """
    old = work.with_name(f".{target.name}.{os.getpid()}.old")
    taken = True
    while taken:
        with suppress(FileNotFoundError):
            os.rename(target, old)
        try:
            os.rename(work, target)
            taken = False
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                if old.exists():
                    os.rename(old, target)
                raise
        shutil.rmtree(old, ignore_errors=True)
