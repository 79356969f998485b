"""A machine that refuses user namespaces is described by the setting that forbids them."""

import errno
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from netlab.lab.requirements import refusal
from netlab.lab.rootless import reading

SAID = "user namespace: Operation not permitted"


def _sysctls(place: Path, **values: str) -> Path:
    given = {"user/max_user_namespaces": "96365"}
    given |= {name.replace("__", "/"): value for name, value in values.items()}
    for name, value in given.items():
        (place / name).parent.mkdir(exist_ok=True)
        (place / name).write_text(f"{value}\n")
    return place


@pytest.mark.parametrize(
    ("name", "forbids", "permits"),
    [
        ("user__max_user_namespaces", "0", "10000"),
        ("kernel__unprivileged_userns_clone", "0", "1"),
        ("kernel__apparmor_restrict_unprivileged_userns", "1", "0"),
    ],
)
def test_the_setting_that_forbids_is_named_with_the_command_that_permits(
    tmp_path, name, forbids, permits
):
    cause, remedy = refusal(SAID, _sysctls(tmp_path, **{name: forbids}))
    dotted = name.replace("__", ".")
    assert cause == f"{dotted} is {forbids}"
    assert remedy == f", or permit it: sudo sysctl {dotted}={permits}"


def test_a_kernel_without_user_namespaces_is_named(tmp_path):
    assert refusal(SAID, tmp_path) == ("the kernel has none (CONFIG_USER_NS)", "")


def test_without_a_setting_that_forbids_the_error_itself_is_given(tmp_path):
    permitted = {"kernel__unprivileged_userns_clone": "1"}
    cause, remedy = refusal(SAID, _sysctls(tmp_path, **permitted))
    assert cause == f"{SAID}; a container or its seccomp profile may forbid it"
    assert remedy == ""


SCRIPT = """
import os, socket, subprocess, sys
directory = sys.argv[1]
print(open(os.path.join(directory, "kept")).read())
for words in (["-o", "remount,bind,rw"], ["-o", "remount,rw"]):
    subprocess.run(["mount", *words, directory], stderr=subprocess.DEVNULL)
subprocess.run(["umount", directory], stderr=subprocess.DEVNULL)
for act in (
    lambda: open(os.path.join(directory, "kept"), "w"),
    lambda: open(os.path.join(directory, "new"), "w"),
    lambda: socket.create_connection(("127.0.0.1", int(sys.argv[2])), 5),
):
    try:
        act()
    except OSError as error:
        print(error.errno)
"""


def test_a_program_behind_the_wall_reads_a_directory_and_has_no_network(tmp_path):
    """Nor does it get more by what root of its namespaces may do."""
    (tmp_path / "kept").write_text("kept")
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = str(listening.getsockname()[1])
        argv = (*reading(tmp_path), sys.executable, "-c", SCRIPT, str(tmp_path), port)
        done = subprocess.run(argv, capture_output=True, text=True, check=True)
    assert done.stdout.split() == [
        "kept",
        str(errno.EROFS),
        str(errno.EROFS),
        str(errno.ENETUNREACH),
    ]
    assert [file.name for file in tmp_path.iterdir()] == ["kept"]
