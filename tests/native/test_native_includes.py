"""Includes of the C core point one way, and no source escapes the list of sources or the digest."""

from __future__ import annotations

import graphlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

from netlab import core

NATIVE = Path(__file__).parents[2] / "native"
SOURCES = NATIVE / "src"
INCLUDE = re.compile(r'^#include "(.+)"$', re.MULTILINE)
COMMANDS = "commands.h"
"""What main.c calls in the other folders."""
OUTSIDE = {"netlab.h", "nl_digest.h"}
"""The public header, and one that the build generates."""
BELOW: dict[str, set[str]] = {
    "base": set(),
    "net": {"base"},
    "io": {"base", "net"},
    "meter": {"base", "net"},
    "run": {"base", "net", "io", "meter"},
    "tune": {"base", "net"},
    "emulator": {"base"},
    "congestion": {"base"},
    "agent": {"base", "meter", "run"},
    "cli": {"base", "net", "io", "meter", "run"},
}
"""Folder -> the folders whose headers its files may include."""
FILES = {path.relative_to(SOURCES).as_posix(): path for path in sorted(SOURCES.rglob("*.[ch]"))}
INCLUDED = {
    name: sorted(set(INCLUDE.findall(path.read_text())) - OUTSIDE) for name, path in FILES.items()
}


def test_a_folder_includes_only_folders_below_and_headers_that_exist():
    assert {name.partition("/")[0] for name in FILES} == {*BELOW, "main.c", COMMANDS}
    tuple(graphlib.TopologicalSorter(BELOW).static_order())
    wrong = []
    for name, headers in INCLUDED.items():
        folder = name.partition("/")[0]
        allowed = BELOW.get(folder, set(BELOW)) | {folder, COMMANDS}
        wrong += [
            f"{name} includes {header}"
            for header in headers
            if header.partition("/")[0] not in allowed or header not in FILES
        ]
    assert wrong == []


NEWER = {"netinet/udp.h": ("UDP_SEGMENT", "UDP_GRO"), "sys/syscall.h": ("SYS_close_range",)}
"""Header of the C library -> names that one of 2017 lacks."""


def test_sources_compile_with_headers_older_than_the_kernel(tmp_path):
    for header, names in NEWER.items():
        old = tmp_path / header
        old.parent.mkdir()
        undefined = "".join(f"#undef {name}\n" for name in names)
        old.write_text(f"#include_next <{header}>\n{undefined}")
    sources = [path for path in FILES.values() if path.suffix == ".c" and "/bpf/" not in str(path)]
    flags = ("-std=c11", "-D_GNU_SOURCE", "-Werror", "-fsyntax-only", f"-I{tmp_path}")
    used = [path for path in sources if any(h in path.read_text() for h in (*NEWER, "sockopts.h"))]
    include = (f"-I{NATIVE / 'include'}", f"-I{SOURCES}")
    done = subprocess.run(("cc", *flags, *include, *used), capture_output=True, text=True)
    assert len(used) > 2 and done.returncode == 0, done.stderr


def test_no_header_is_included_in_a_circle():
    graph = {name: headers for name, headers in INCLUDED.items() if name.endswith(".h")}
    tuple(graphlib.TopologicalSorter(graph).static_order())


STATIC = re.compile(r"^static [^;={]*?\b(\w+)\([^;{]*\)\n\{", re.MULTILINE)


def test_a_function_of_one_file_has_a_name_that_no_other_file_has():
    """So that a search for it finds it."""
    files: dict[str, list[str]] = {}
    for name, path in FILES.items():
        if name.endswith(".c") and not name.endswith(".bpf.c"):
            for function in STATIC.findall(path.read_text()):
                files.setdefault(function, []).append(name)
    assert len(files) > 500
    assert {name: where for name, where in files.items() if len(where) > 1} == {}
    assert {name for name in files if "_" not in name} == set()


def test_every_source_file_is_listed():
    lines = (NATIVE / "sources.txt").read_text().splitlines()
    listed = [line.split()[1] for line in lines if not line.startswith("#")]
    compiled = {n for n in FILES if n.endswith(".c") and not n.endswith(".bpf.c")}
    assert sorted(compiled - {"main.c"}) == sorted(listed)


@pytest.fixture
def digest_of(monkeypatch):
    """cmake/digest.py's source_digest()."""
    monkeypatch.syspath_prepend(NATIVE / "cmake")
    monkeypatch.delitem(sys.modules, "digest", raising=False)
    from digest import source_digest

    return source_digest


def test_the_tree_the_library_and_the_binary_have_one_digest(digest_of, gensink):
    """An installed extension or binary that is older than the sources is found out."""
    in_tree = digest_of(NATIVE)
    assert core.source_digest() == in_tree
    said = subprocess.run((gensink, "version"), capture_output=True, text=True, check=True).stdout
    assert said.split() == ["gensink", core.version(), in_tree]


def test_a_changed_a_new_and_a_moved_source_change_the_digest(digest_of, tmp_path):
    names = [*FILES.values(), *(NATIVE / "include").rglob("*.h"), NATIVE / "sources.txt"]
    copies = [tmp_path / path.relative_to(NATIVE) for path in names]
    for path, copy in zip(names, copies, strict=True):
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(path.read_bytes())
    digests = [digest_of(NATIVE)]
    assert digest_of(tmp_path) == digests[0]
    for copy in copies:
        with copy.open("ab") as file:
            file.write(b" ")
        digests.append(digest_of(tmp_path))
    for name in ("src/new.c", "src/tune/new.h", "src/tune/deep/er/new.c"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
        digests.append(digest_of(tmp_path))
    (tmp_path / "src/new.c").rename(tmp_path / "src/moved.c")
    assert len({*digests, digest_of(tmp_path)}) == len(digests) + 1
