"""A machine that refuses user namespaces is described by the setting that forbids them."""

from __future__ import annotations

from pathlib import Path

import pytest

from netlab.lab.userns import refusal

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
