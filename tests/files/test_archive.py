"""ZIP files: the same bytes for the same files; nothing unsafe or too large is unpacked."""

from __future__ import annotations

import os
import stat
import zipfile

import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refused

from netlab.errors import BadInput, NetlabError
from netlab.files.archive import EPOCH, names_in, pack, unpack


@pytest.fixture
def folder(tmp_path):
    """A few files, made in another order than that of their names."""
    made = tmp_path / "folder"
    for name, content in (("b/two.txt", b"two" * 999), ("a.txt", b""), ("b/a/one", b"\0\1")):
        (made / name).parent.mkdir(parents=True, exist_ok=True)
        (made / name).write_bytes(content)
    return made


def test_a_packed_directory_unpacks_to_the_same_files(folder, tmp_path):
    unpack(pack(folder, tmp_path / "x" / "f.zip"), tmp_path / "again")
    assert names_in(tmp_path / "again") == ["a.txt", "b/a/one", "b/two.txt"]
    for name in names_in(folder):
        assert (tmp_path / "again" / name).read_bytes() == (folder / name).read_bytes()


def test_times_modes_and_order_of_making_do_not_change_the_bytes(folder, tmp_path):
    first = pack(folder, tmp_path / "1.zip").read_bytes()
    os.utime(folder / "a.txt", (1, 1))
    (folder / "b" / "two.txt").chmod(0o700)
    (folder / "a.txt").rename(folder / "z")
    (folder / "z").rename(folder / "a.txt")
    assert pack(folder, tmp_path / "2.zip").read_bytes() == first
    with zipfile.ZipFile(tmp_path / "2.zip") as archive:
        assert {entry.date_time for entry in archive.infolist()} == {EPOCH}


def test_a_place_that_cannot_be_written_is_an_error_and_leaves_nothing(folder, tmp_path):
    (tmp_path / "file").write_text("")
    with refused(NetlabError, "E-FILES-007"):
        pack(folder, tmp_path / "file" / "f.zip")
    (tmp_path / "directory.zip").mkdir()
    with refused(NetlabError, "E-FILES-007"):
        pack(folder, tmp_path / "directory.zip")
    assert not list(tmp_path.glob(".*.partial"))


def zipped(path, *entries, method=zipfile.ZIP_STORED):
    """A ZIP file with entries of any name."""
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, content, mode in entries:
            entry = zipfile.ZipInfo("placeholder")
            entry.filename, entry.external_attr, entry.compress_type = name, mode << 16, method
            archive.writestr(entry, content)
    return path


REGULAR = stat.S_IFREG | 0o644


FOLDER = stat.S_IFDIR | 0o755
REFUSED = {
    **{
        f"name {name[:9]!r}": ([("first", b"1", REGULAR), (name, b"2", REGULAR)], "011")
        for name in (
            *("../out", "/etc/out", "a/../../out", "a/./b", "a//b", "a\\..\\b", "folder/"),
            *("a\nb", "a" * 256, "b/" * 950 + "b"),
        )
    },
    **{
        f"{name} of kind {kind:o}": ([(name, b"/etc/passwd", kind | 0o777)], "011")
        for name, kind in (
            *(("link", k) for k in (stat.S_IFLNK, stat.S_IFDIR, stat.S_IFIFO, stat.S_IFCHR)),
            *(("folder/", k) for k in (stat.S_IFLNK, stat.S_IFDIR)),
        )
    },
    "a name twice": ([("a", b"1", REGULAR), ("a", b"2", REGULAR)], "011"),
    "a file with a file below": ([("a", b"1", REGULAR), ("a/b", b"2", REGULAR)], "012"),
    "a file and a directory": ([("a", b"1", REGULAR), ("a/", b"", FOLDER)], "012"),
}


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize("name", REFUSED)
def test_an_unsafe_archive_is_refused_before_a_file_is_written(tmp_path, name):
    entries, code = REFUSED[name]
    archive = zipped(tmp_path / "f.zip", *entries)
    with refused(BadInput, f"E-FILES-{code}"):
        unpack(archive, tmp_path / "target")
    assert names_in(tmp_path) == ["f.zip"], "nothing is written before all names are checked"


@given(name=st.text(st.sampled_from("./ab\\"), min_size=1, max_size=8))
def test_no_name_leads_outside_of_the_directory(tmp_path_factory, name):
    place = tmp_path_factory.mktemp("names")
    archive = zipped(place / "f.zip", (name, b"x", REGULAR))
    try:
        unpack(archive, place / "target")
    except BadInput as error:
        assert error.code == "E-FILES-011"
    assert all(one == "f.zip" or one.startswith("target/") for one in names_in(place))


def test_empty_directories_are_packed_as_well(folder, tmp_path):
    (folder / "empty").mkdir()
    unpack(pack(folder, tmp_path / "f.zip"), tmp_path / "again")
    assert (tmp_path / "again" / "empty").is_dir()
    with zipfile.ZipFile(tmp_path / "f.zip") as archive:
        assert archive.namelist() == ["a.txt", "b/", "b/a/", "b/a/one", "b/two.txt", "empty/"]


def test_what_is_not_a_zip_file_or_of_another_compression_is_refused(tmp_path):
    archive = zipped(tmp_path / "f.zip", ("a", b"1" * 99, REGULAR), method=zipfile.ZIP_BZIP2)
    with refused(BadInput, "E-FILES-011"):
        unpack(archive, tmp_path / "target")
    with refused(BadInput, "E-FILES-009"):
        unpack(tmp_path / "none.zip", tmp_path / "target")
    (tmp_path / "f.zip").write_text("text")
    with refused(BadInput, "E-FILES-010"):
        unpack(tmp_path / "f.zip", tmp_path / "target")


def test_sizes_and_numbers_are_bounded(tmp_path):
    content = b"\0" * 1_000_000
    bomb = zipped(tmp_path / "f.zip", ("a", content, REGULAR), method=zipfile.ZIP_DEFLATED)
    assert bomb.stat().st_size < 2000
    with refused(BadInput, "E-FILES-013"):
        unpack(bomb, tmp_path / "target", most_B=len(content) - 1)
    unpack(bomb, tmp_path / "whole", most_B=len(content))
    two = zipped(tmp_path / "two.zip", ("a", b"", REGULAR), ("b", b"", REGULAR))
    with refused(BadInput, "E-FILES-008"):
        unpack(two, tmp_path / "other", most_files=1)


def test_a_size_that_lies_does_not_pass(folder, tmp_path):
    """The size of `b/two.txt` in the central directory is made smaller."""
    raw = pack(folder, tmp_path / "f.zip").read_bytes()
    size = (2997).to_bytes(4, "little")
    assert raw.count(size) >= 2
    (tmp_path / "f.zip").write_bytes(raw.replace(size, (5).to_bytes(4, "little")))
    with refused(BadInput, "E-FILES-010"):
        unpack(tmp_path / "f.zip", tmp_path / "target")


@given(at=st.integers(0, 10**6), bits=st.integers(1, 255))
def test_a_damaged_file_is_refused_or_unpacks_to_the_same(tmp_path_factory, at, bits):
    place = tmp_path_factory.mktemp("damaged")
    (place / "folder").mkdir()
    (place / "folder" / "a.txt").write_bytes(b"some content, " * 9)
    raw = bytearray(pack(place / "folder", place / "f.zip").read_bytes())
    raw[at % len(raw)] ^= bits
    (place / "f.zip").write_bytes(raw)
    try:
        unpack(place / "f.zip", place / "target")
    except BadInput as error:
        assert error.code.startswith("E-FILES-0")
        return
    (only,) = names_in(place / "target")
    assert (place / "target" / only).read_bytes() == b"some content, " * 9
