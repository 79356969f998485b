"""Only regular files are opened where a stranger's files are read."""

import os
import socket

import pytest

from netlab.files.reading import NotRegularFile, open_regular, read_bytes, read_text


def test_a_regular_file_is_read_through_a_link_unless_links_are_refused(tmp_path):
    (tmp_path / "file").write_text("µ")
    (tmp_path / "link").symlink_to("file")
    assert read_text(tmp_path / "link") == "µ" and read_bytes(tmp_path / "file") == b"\xc2\xb5"
    with pytest.raises(OSError, match="symbolic links"):
        open_regular(tmp_path / "link", follow=False)


@pytest.mark.timeout(30)
@pytest.mark.parametrize("mode", ["rb", "ab", "a+b"])
def test_whatever_is_not_a_regular_file_is_refused_at_once(tmp_path, mode):
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "to-fifo").symlink_to("fifo")
    with socket.socket(socket.AF_UNIX) as unix:
        unix.bind(str(tmp_path / "socket"))
        for path in (tmp_path / "fifo", tmp_path / "to-fifo", tmp_path / "socket", "/dev/zero"):
            with pytest.raises(NotRegularFile, match="is not a regular file"):
                open_regular(path, mode)
    with pytest.raises(IsADirectoryError):
        open_regular(tmp_path, mode)


def test_a_file_is_made_with_the_mode_that_the_umask_leaves(tmp_path):
    with open_regular(tmp_path / "log", "ab") as file:
        file.write(b"x")
    plain = tmp_path / "plain"
    plain.write_bytes(b"x")
    assert (tmp_path / "log").stat().st_mode == plain.stat().st_mode


def test_a_pipe_that_a_shell_hands_over_is_read_but_not_a_link_to_it(tmp_path):
    reader, writer = os.pipe()
    try:
        os.write(writer, b"from a command")
        os.close(writer)
        (tmp_path / "link").symlink_to(f"/dev/fd/{reader}")
        with pytest.raises(NotRegularFile, match="is not a regular file"):
            read_bytes(tmp_path / "link")
        assert read_bytes(f"/dev/fd/{reader}") == b"from a command"
    finally:
        os.close(reader)
