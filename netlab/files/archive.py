"""ZIP files: the same bytes for the same files, and safe to unpack."""

from __future__ import annotations

import errno
import shutil
import stat
import zipfile
import zlib
from pathlib import Path, PurePosixPath

from netlab.errors import BadInput, NetlabError
from netlab.files.reading import open_regular
from netlab.files.writing import replaced

EPOCH = (1980, 1, 1, 0, 0, 0)
"""Time stamp of every entry: the earliest that the format can hold."""

MODE, FOLDER_MODE = stat.S_IFREG | 0o644, stat.S_IFDIR | 0o755
MOST_FILES = 200_000
MOST_B = 8 << 30
"""Largest sum of the unpacked sizes."""

DEEPEST = 12
"""Most parts of a name, so that its path fits PATH_MAX and recursion into it ends soon."""

CHUNK_B = 1 << 20
UNIX = 3
LEVEL = 6


def pack(directory: Path, target: Path) -> Path:
    """Write all files of a directory into a ZIP file, atomically.

    Entries are in order of their names and have a fixed time stamp and mode: the same files give
    the same bytes with the same version of zlib.
    """
    try:
        with (
            replaced(target) as partial,
            zipfile.ZipFile(partial, "w", zipfile.ZIP_DEFLATED, compresslevel=LEVEL) as archive,
        ):
            for path in sorted(directory.rglob("*"), key=Path.as_posix):
                folder, name = path.is_dir(), path.relative_to(directory).as_posix()
                entry = zipfile.ZipInfo(f"{name}/" if folder else name, EPOCH)
                entry.create_system = UNIX
                entry.external_attr = (FOLDER_MODE if folder else MODE) << 16
                if folder:
                    archive.writestr(entry, b"")
                    continue
                entry.compress_type, entry.file_size = zipfile.ZIP_DEFLATED, path.stat().st_size
                with open_regular(path) as source, archive.open(entry, "w") as sink:
                    shutil.copyfileobj(source, sink, CHUNK_B)
    except OSError as error:
        message = f"cannot write {target}: {error.strerror or error}"
        raise NetlabError(message, code="E-FILES-007") from None
    return target


def names_in(directory: Path) -> list[str]:
    """Names of all files below a directory, relative to it, with ``/``, sorted."""
    return sorted(p.relative_to(directory).as_posix() for p in directory.rglob("*") if p.is_file())


def unpack(
    archive: Path, directory: Path, *, most_files: int = MOST_FILES, most_B: int = MOST_B
) -> None:
    """Unpack a ZIP file of somebody else's into an empty directory.

    All names are checked before the first file is written. Nothing is written outside of
    `directory`, and sizes are counted while unpacking, whatever the entries state.
    """
    where = str(archive)
    try:
        with open_regular(archive) as file, zipfile.ZipFile(file) as opened:
            entries = opened.infolist()
            if len(entries) > most_files:
                message = f"has {len(entries)} files; {most_files} are allowed"
                raise BadInput(message, where=where, code="E-FILES-008")
            _check_names(where, entries)
            for entry in entries:
                target = directory / entry.filename
                if entry.is_dir():
                    target.mkdir(parents=True, exist_ok=True)
                    continue
                target.parent.mkdir(parents=True, exist_ok=True)
                with opened.open(entry) as source, open(target, "xb") as sink:
                    while chunk := source.read(CHUNK_B):
                        most_B -= len(chunk)
                        if most_B < 0:
                            message = "is larger than allowed when unpacked"
                            raise BadInput(message, where=where, code="E-FILES-013")
                        sink.write(chunk)
    except FileNotFoundError:
        raise BadInput("no such file", where=where, code="E-FILES-009") from None
    # zipfile raises RuntimeError for encrypted files, and for unknown versions and methods
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, ValueError, OSError) as error:
        if isinstance(error, OSError) and error.errno != errno.EINVAL:  # EINVAL: a bad offset
            error.filename = error.filename or str(directory)  # a write names no file
            raise
        message = f"cannot be unpacked: {error or type(error).__name__}"
        raise BadInput(message, where=where, code="E-FILES-010") from None


def _check_names(where: str, entries: list[zipfile.ZipInfo]) -> None:
    seen: set[str] = set()
    for entry in entries:
        name = entry.filename
        if why := _unsafe(entry) or ("is there twice" if name in seen else ""):
            raise BadInput(why, where=where, key=name, code="E-FILES-011")
        seen.add(name)
    folders = {str(folder) for name in seen for folder in PurePosixPath(name).parents}
    folders |= {name.rstrip("/") for name in seen if name.endswith("/")}
    if both := sorted(seen & folders):
        raise BadInput("is a file and a directory", where=where, key=both[0], code="E-FILES-012")


def _unsafe(entry: zipfile.ZipInfo) -> str:
    """Reason why an entry is refused; empty if it is safe."""
    name = entry.filename
    folder = name.endswith("/")  # is_dir() fails where there is no name
    parts = name.removesuffix("/").split("/")
    if not name.isprintable() or "\\" in name or any(part in ("", ".", "..") for part in parts):
        return "is not a relative path"
    if len(parts) > DEEPEST or any(len(part.encode()) > 255 for part in parts):
        return "has a name that is too long"
    kind = stat.S_IFMT(entry.external_attr >> 16)
    if kind not in (0, stat.S_IFDIR if folder else stat.S_IFREG) or (folder and entry.file_size):
        return "is neither a regular file nor a directory"
    if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        return "is compressed by a method other than deflate"
    return ""
